/* Batches by their number: the contents are a function of (dataset, configuration, epoch, batch)
 * alone. Used by one thread at a time. */
#ifndef SV_BATCHER_H
#define SV_BATCHER_H

#include "data/dataset_ops.h"
#include "data/pipeline_plan.h"

#include <shiftvit/loader.h>

typedef struct sv_batcher sv_batcher;

/* Both configurations are checked already. */
svit_status sv_batcher_create(sv_batcher **out, svit_dataset *dataset,
                              const svit_pipeline_config *pipeline,
                              const svit_loader_config *config, svit_error *err);
void sv_batcher_free(sv_batcher *batcher);

uint64_t sv_batcher_batches(const sv_batcher *batcher);
size_t sv_batcher_height(const sv_batcher *batcher);
size_t sv_batcher_width(const sv_batcher *batcher);

/* Floats of one image. */
size_t sv_batcher_elements(const sv_batcher *batcher);

/* Samples in a batch: fewer in the last. */
size_t sv_batcher_samples(const sv_batcher *batcher, uint64_t batch);

/* Makes a batch. Gives up, with SVIT_E_STOPPED, once *current is no longer `wanted`; `current` may
 * be NULL. */
svit_status sv_batcher_make(sv_batcher *batcher, uint64_t epoch, uint64_t batch, float *images,
                            int32_t *labels, const atomic_uint *current, unsigned wanted,
                            svit_error *err);

#endif
