/* A thread that makes batches ahead of the loader. It pauses until the first batch is taken, after
 * sv_prefetch_drop, and after a batch that failed. All functions are for one thread, the loader's.
 * In a forked child only sv_prefetch_free may be called, which then only releases the memory. */
#ifndef SV_PREFETCH_H
#define SV_PREFETCH_H

#include "data/loading/batcher.h"

typedef struct sv_prefetch sv_prefetch;

/* Makes a ring of `slots` batches of at most `batch` samples and starts the thread, which alone
 * uses `batcher` until sv_prefetch_free stops it. SVIT_E_MEMORY. */
svit_status sv_prefetch_create(sv_prefetch **out, const sv_allocator *allocator,
                               sv_batcher *batcher, uint32_t slots, size_t batch, svit_error *err);
void sv_prefetch_free(sv_prefetch *prefetch);

/* Copies batch `batch` of `epoch`, and waits for it if necessary. It must follow the last batch
 * taken, unless that failed or sv_prefetch_drop was called. Returns the status of making it. */
svit_status sv_prefetch_take(sv_prefetch *prefetch, uint64_t epoch, uint64_t batch, float *images,
                             const sv_batch_targets *to, svit_error *err);

/* Discards all batches made so far. Any batch may be taken next. */
void sv_prefetch_drop(sv_prefetch *prefetch);

#endif
