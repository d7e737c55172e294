/* Partial gradients: the gradient of a parameter that is a sum over a batch is summed per reduction
 * chunk, some images each, while a chunk's operands are in cache; then the chunks' sums are added
 * in index order. The number of chunks depends on shapes alone, so the bits do not depend on the
 * number of threads. */
#ifndef SV_PARTIAL_GRADIENTS_H
#define SV_PARTIAL_GRADIENTS_H

#include "layers/create.h"
#include "layers/linear/linear.h"

/* The partial gradients of one parameter. */
typedef struct sv_partial_gradient {
    size_t parameter; /* offset; SV_NO_PARAMETER: the layer reduces the sums itself */
    size_t elements;
    real *sums; /* [chunks, elements] */
} sv_partial_gradient;

/* The number of images in a full chunk, for a batch of n. `bytes` is the size of one chunk's sums.
 */
size_t sv_reduction_chunk_images(size_t n, size_t bytes);

/* The largest number of chunks that any batch of up to n images has. */
size_t sv_reduction_chunks_max(size_t n, size_t bytes);

/* Lays out the sums of `count` parameters. */
void sv_partial_gradients_take(sv_arena *arena, sv_partial_gradient *list, size_t count,
                               size_t chunks);

/* Clears the sums of one chunk. */
void sv_partial_gradients_clear(const sv_partial_gradient *list, size_t count, size_t chunk);

/* The sums of one chunk: [elements]. */
static inline real *sv_partial_gradient_of(const sv_partial_gradient *partial, size_t chunk)
{
    return partial->sums + chunk * partial->elements;
}

/* The same; NULL if nothing reads the sums, because the parameter is frozen. */
real *sv_partial_gradient_if_read(const sv_run *run, const sv_partial_gradient *partial,
                                  size_t chunk);

/* Adds the sums of all chunks to those of the first, in index order, and returns them, for a layer
 * that reduces them itself. */
real *sv_partial_gradient_total(const sv_run *run, const sv_partial_gradient *partial,
                                size_t chunks);

/* Adds the sums to the gradients of their parameters, in index order. Runs tasks. */
void sv_partial_gradients_reduce(const sv_run *run, const sv_partial_gradient *list, size_t count,
                                 size_t chunks);

#endif
