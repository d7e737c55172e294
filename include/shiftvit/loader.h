/* Loaders: shuffled and augmented batches of a dataset. */
#ifndef SHIFTVIT_LOADER_H
#define SHIFTVIT_LOADER_H

#include <shiftvit/dataset.h>
#include <shiftvit/pipeline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A loader reads a dataset batch by batch, epoch after epoch. A thread of its own prepares batches
 * ahead. The contents of a batch depend only on the dataset, the configuration, the epoch and the
 * batch number. One thread at a time may use a loader. */
typedef struct svit_loader svit_loader;

/* Which samples an epoch of a shuffled loader reads. */
enum {
    SVIT_SAMPLING_SHUFFLE = 0, /* each sample once */
    SVIT_SAMPLING_BALANCED = 1 /* as many as the dataset has, in each class equally many: the
                                  classes take turns, each in random order through its samples again
                                  and again. Small classes repeat, and each reading of a sample is
                                  augmented by itself; large ones are not read to their end */
};

/* The configuration of a loader, copied at creation. */
typedef struct svit_loader_config {
    uint32_t struct_size; /* sizeof(svit_loader_config) */
    uint32_t batch;       /* samples in a batch, 1..65536; the last of an epoch may have fewer */
    uint64_t seed;        /* of the order and the augmentation */
    int32_t shuffle;      /* 1: a new order in each epoch; 0: the order of the dataset */
    int32_t augment;      /* 1: the training pipeline; 0: the evaluation pipeline */
    uint32_t prefetch;    /* batches that are prepared ahead, 0..16; 0: each batch is
                             prepared on the calling thread */
    int32_t sampling;     /* SVIT_SAMPLING_*, with `shuffle` */
    uint32_t leaves;      /* 0..65536: parts of a batch, of which a rank makes some (reducer.h); 0:
                             one */
    uint32_t rank;        /* 0..ranks - 1: which part of each batch the loader makes: the images of
                             the leaves from svit_partition_begin(leaves, ranks, rank) on and before
                             that of rank + 1. They have the bits that they have in a whole batch,
                             also where Mixup and CutMix take partners from other ranks */
    uint32_t ranks;       /* 1..leaves: loaders that share the batches; 1: the loader makes whole
                             ones */
    uint32_t shuffle_window; /* with `shuffle`: 0: an epoch is a permutation of all samples; else
                                the shards of the dataset (svit_dataset_shards) are read in random
                                order, and a sample less than this many places from its own in that
                                order. A dataset without shards is one shard */
} svit_loader_config;

/* With `shuffle_window` and L leaves the samples of the S full batches of an epoch are cut into L
 * contiguous parts of the order of the shards. Part l has S times as many samples as leaf l has in
 * a batch (svit_partition_begin), and leaf l of each batch takes the next of them. So a rank reads
 * the shards of its own parts alone, besides those of its partners of Mixup and CutMix. The samples
 * behind the L parts are the last batch, if it is not full. Which sample is where depends on the
 * bounds of the shards, the seed, the epoch, the batch, the leaves and the window, and not on the
 * ranks. */

/* Fills `config` with the defaults: batch 256, seed 0, no shuffling, no augmentation, 2 batches
 * ahead, SVIT_SAMPLING_SHUFFLE, whole batches, permutations of all samples. `size` is
 * sizeof(svit_loader_config) as the caller was compiled. Any thread may call it. */
SVIT_API svit_status svit_loader_config_init(svit_loader_config *config, size_t size);

/* Fills `config` from a JSON object whose keys are the names of the fields; a missing one takes its
 * default. Words: sampling "shuffle", "balanced". `config` is written only on success.
 * SVIT_E_ARGUMENT names an unknown key or a value that is not accepted; SVIT_E_FORMAT means that
 * the text is no JSON object. SVIT_E_VERSION: a struct of this `size` lacks a field that is not at
 * its default. Any thread may call it. */
SVIT_API svit_status svit_loader_config_from_json(svit_loader_config *config, size_t size,
                                                  const char *json, svit_error *err);

/* Writes `config` as the JSON object that svit_loader_config_from_json reads. `buffer`, `capacity`
 * and `needed` are as in svit_context_describe. SVIT_E_ARGUMENT names a field that is out of range.
 * Any thread may call it. */
SVIT_API svit_status svit_loader_config_to_json(const svit_loader_config *config, char *buffer,
                                                size_t capacity, size_t *needed, svit_error *err);

/* Creates a loader that stands before batch 0 of epoch 0. It keeps the dataset alive and copies the
 * configurations. `config` may be NULL for the defaults. The caller owns *out and frees it with
 * svit_loader_free. SVIT_E_ARGUMENT names the field that is out of range, or the channels of
 * dataset and pipeline that differ. SVIT_E_UNSUPPORTED: a dataset with targets, or whose labels are
 * known by reading its images alone, has no balanced sampling; float images have no antialiased
 * source step and no augmentation that works on bytes. */
SVIT_API svit_status svit_loader_create(svit_loader **out, svit_dataset *dataset,
                                        const svit_pipeline_config *pipeline,
                                        const svit_loader_config *config, svit_error *err);

/* Ends the loader's thread and frees the loader. NULL is allowed. */
SVIT_API void svit_loader_free(svit_loader *loader);

/* Returns the height of an image in a batch, in pixels; 0 for NULL. */
SVIT_API size_t svit_loader_height(const svit_loader *loader);

/* Returns the width of an image in a batch, in pixels; 0 for NULL. */
SVIT_API size_t svit_loader_width(const svit_loader *loader);

/* Returns the number of batches in an epoch; 0 for NULL. */
SVIT_API uint64_t svit_loader_batches(const svit_loader *loader);

/* Copies the next batch into images[batch, height, width, channels] and labels[batch], and its
 * number of samples into *n. At the end of an epoch *n is 0, and the next call starts the
 * following epoch. With several ranks *n counts the rank's images, and is 0 also for a batch of
 * which it has none; svit_loader_batches tells where the epoch ends. If a call fails, because an
 * image cannot be read or a callback stops (SVIT_E_STOPPED), the loader stays at this batch and
 * *n as it is; what the arrays then hold is undefined. SVIT_E_ARGUMENT: a sample of floats
 * has a value that svit_pipeline_apply_evaluation_f32 does not accept. SVIT_E_STATE: there are no
 * labels (svit_loader_has_targets). */
SVIT_API svit_status svit_loader_next(svit_loader *loader, float *images, int32_t *labels,
                                      size_t *n, svit_error *err);

/* Copies the next batch as svit_loader_next does, with targets[batch, classes] in place of labels:
 * the targets of the dataset, or 1 for the label and 0 for the other classes, mixed as the images
 * are by Mixup and CutMix. It works with every dataset and pipeline. */
SVIT_API svit_status svit_loader_next_targets(svit_loader *loader, float *images, float *targets,
                                              size_t *n, svit_error *err);

/* Returns 1 if svit_loader_next cannot be used, because the dataset has targets or the pipeline
 * mixes images; otherwise, and for NULL, 0. */
SVIT_API int32_t svit_loader_has_targets(const svit_loader *loader);

/* Moves the loader before `batch` of `epoch`, both from 0. `batch` may be svit_loader_batches, the
 * end of the epoch. SVIT_E_ARGUMENT: `batch` is beyond it, or `epoch` is 2^52 or more. */
SVIT_API svit_status svit_loader_seek(svit_loader *loader, uint64_t epoch, uint64_t batch,
                                      svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
