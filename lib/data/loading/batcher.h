/* Makes batches by their index: the contents are a function of (dataset, configuration, epoch,
 * batch) alone. A batcher is for one thread at a time. */
#ifndef SV_BATCHER_H
#define SV_BATCHER_H

#include "data/augmentation/pipeline.h"
#include "data/datasets/dataset_ops.h"

#include <shiftvit/loader.h>

typedef struct sv_batcher sv_batcher;

/* Makes a batcher, which holds a reference to the dataset. Both configurations have been
 * checked. */
svit_status sv_batcher_create(sv_batcher **out, svit_dataset *dataset,
                              const svit_pipeline_config *pipeline,
                              const svit_loader_config *config, svit_error *err);
void sv_batcher_free(sv_batcher *batcher);

/* The number of batches in an epoch. */
uint64_t sv_batcher_batches(const sv_batcher *batcher);

/* The size of an image in a batch. */
size_t sv_batcher_height(const sv_batcher *batcher);
size_t sv_batcher_width(const sv_batcher *batcher);

/* Elements of one image in a batch. */
size_t sv_batcher_elements(const sv_batcher *batcher);

/* Samples of a batch that this batcher makes: those of its rank's leaves. The last batch may have
 * fewer than the others. */
size_t sv_batcher_samples(const sv_batcher *batcher, uint64_t batch);

/* The largest value of sv_batcher_samples. */
size_t sv_batcher_samples_max(const sv_batcher *batcher);

/* Whether batches have targets instead of labels. */
bool sv_batcher_has_targets(const sv_batcher *batcher);

/* Elements of the targets of one image. */
size_t sv_batcher_classes(const sv_batcher *batcher);

/* Sets each row of targets[n, classes] to 1 for the label and 0 for the other classes. */
void sv_labels_expand(float *targets, const int32_t *labels, size_t n, size_t classes);

/* The labels or the targets of a batch. */
typedef struct sv_batch_targets {
    int32_t *labels; /* [samples]; not written if the batcher has targets */
    float *targets;  /* [samples, classes] if the batcher has targets; otherwise not written */
} sv_batch_targets;

/* Makes the images [samples, height, width, channels] and the labels or targets of a batch. A seek
 * of the loader starts a new generation: if `generation` is not NULL, the call stops with
 * SVIT_E_STOPPED as soon as *generation differs from `wanted_generation`. Errors name the
 * sample. */
svit_status sv_batcher_make(sv_batcher *batcher, uint64_t epoch, uint64_t batch, float *images,
                            const sv_batch_targets *to, const atomic_uint *generation,
                            unsigned wanted_generation, svit_error *err);

#endif
