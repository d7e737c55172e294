/* Batches made ahead by a thread. The thread rests until batches are asked for from some place, and
 * again after a batch that failed. All functions are for one thread, the loader's; in a child by
 * fork only sv_prefetch_free may be called, which releases memory alone. */
#ifndef SV_PREFETCH_H
#define SV_PREFETCH_H

#include "data/batcher.h"

typedef struct sv_prefetch sv_prefetch;

/* A ring of `slots` batches, of `batch` samples at the most; `batcher` belongs to the thread until
 * sv_prefetch_free, which stops the thread, wherever it is. */
svit_status sv_prefetch_create(sv_prefetch **out, const sv_allocator *allocator,
                               sv_batcher *batcher, uint32_t slots, size_t batch, svit_error *err);
void sv_prefetch_free(sv_prefetch *prefetch);

/* Copies out batch `batch` of `epoch`: made already where it follows the last one taken. */
svit_status sv_prefetch_take(sv_prefetch *prefetch, uint64_t epoch, uint64_t batch, float *images,
                             int32_t *labels, svit_error *err);

/* Throws away what has been made; the next one taken may be any. */
void sv_prefetch_drop(sv_prefetch *prefetch);

#endif
