/* Gradients that are sums over a batch, made as shares: images are taken in groups, each group adds
 * up a share of its own while what it is made of is in cache, and the shares are added in the order
 * of the groups. How many there are depends on the shapes alone, so the sums do not depend on the
 * threads. */
#ifndef SV_PARTIAL_GRADIENTS_H
#define SV_PARTIAL_GRADIENTS_H

#include "layers/create.h"
#include "layers/linear.h"

/* Images of one group of a batch of n, for shares of `bytes` each. */
size_t sv_reduction_chunk_images(size_t n, size_t bytes);

/* The most groups that any batch of up to n images has. */
size_t sv_reduction_chunks_max(size_t n, size_t bytes);

/* A number of shares of `elements` each, of a parameter's gradient; SV_NO_PARAMETER: the layer adds
 * them itself, or needs none. */
typedef struct sv_partial_gradient {
    size_t parameter, elements;
    real *shares; /* [groups, elements] */
} sv_partial_gradient;

/* Lays out the shares of a list. */
void sv_partial_gradients_take(sv_arena *arena, sv_partial_gradient *list, size_t count,
                               size_t groups);

/* Sets the shares of one group to 0. */
void sv_partial_gradients_clear(const sv_partial_gradient *list, size_t count, size_t group);

static inline real *sv_partial_gradient_of(const sv_partial_gradient *share, size_t group)
{
    return share->shares + group * share->elements;
}

/* Adds the shares to the gradients of their parameters, in the order of the groups. */
void sv_partial_gradients_reduce(const sv_run *run, const sv_partial_gradient *list, size_t count,
                                 size_t groups);

#endif
