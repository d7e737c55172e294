/* Gradients that are sums over a batch, made as shares: images are taken in groups, each group adds
 * up a share of its own while what it is made of is in cache, and the shares are added in the order
 * of the groups. How many there are depends on the shapes alone, so the sums do not depend on the
 * threads. */
#ifndef SV_SHARES_H
#define SV_SHARES_H

#include "layers/create.h"
#include "layers/linear.h"

/* Images of one group of a batch of n, for shares of `bytes` each. */
size_t sv_share_images(size_t n, size_t bytes);

/* The most groups that any batch of up to n images has. */
size_t sv_share_groups_most(size_t n, size_t bytes);

/* A number of shares of `elements` each, of a parameter's gradient; SV_NO_PARAMETER: the layer adds
 * them itself, or needs none. */
typedef struct sv_share {
    size_t parameter, elements;
    real *shares; /* [groups, elements] */
} sv_share;

/* Lays out the shares of a list. */
void sv_shares_take(sv_arena *arena, sv_share *list, size_t count, size_t groups);

/* Sets the shares of one group to 0. */
void sv_shares_clear(const sv_share *list, size_t count, size_t group);

static inline real *sv_share_of(const sv_share *share, size_t group)
{
    return share->shares + group * share->elements;
}

/* Adds the shares to the gradients of their parameters, in the order of the groups. */
void sv_shares_add(const sv_run *run, const sv_share *list, size_t count, size_t groups);

#endif
