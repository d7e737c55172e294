/* Loaders: batches of a dataset, in an order and with an augmentation drawn from a seed. */
#ifndef SHIFTVIT_LOADER_H
#define SHIFTVIT_LOADER_H

#include <shiftvit/dataset.h>
#include <shiftvit/pipeline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One thread at a time. Batches are prepared ahead by a worker of the loader's own; what they hold
 * depends on (dataset, configuration, epoch, batch) alone. */
typedef struct svit_loader svit_loader;

typedef struct svit_loader_config {
    uint32_t struct_size; /* sizeof(svit_loader_config) */
    uint32_t batch;       /* samples a batch, 1..65536; the last of an epoch may be shorter */
    uint64_t seed;        /* of order and augmentation */
    int32_t shuffle;      /* 1: a new order each epoch, from (seed, epoch); 0: as numbered */
    int32_t augment;      /* 1: the training pipeline; 0: the evaluation pipeline */
    uint32_t
        prefetch; /* batches prepared ahead, 0..16; 0: none, everything on the caller's thread */
    uint32_t reserved; /* 0; another value is SVIT_E_VERSION */
} svit_loader_config;

/* Fills `config`: batch 256, seed 0, no shuffle, no augmentation, 2 batches ahead. */
SVIT_API svit_status svit_loader_config_init(svit_loader_config *config, size_t size);

/* Fills `config` from a JSON object, and back. A field left out takes its default; one that is
 * unknown, of the wrong kind or out of range is SVIT_E_ARGUMENT and named, text that is no JSON
 * object is SVIT_E_FORMAT. `config` is written only on success. Names are those of the fields.
 * Buffer rules as svit_context_describe. Any thread. */
SVIT_API svit_status svit_loader_config_from_json(svit_loader_config *config, size_t size,
                                                  const char *json, svit_error *err);
SVIT_API svit_status svit_loader_config_to_json(const svit_loader_config *config, char *buffer,
                                                size_t capacity, size_t *needed, svit_error *err);

/* Creates a loader at epoch 0, batch 0; `*out` is owned by the caller, free with svit_loader_free.
 * `config` may be NULL for the defaults. */
SVIT_API svit_status svit_loader_create(svit_loader **out, svit_dataset *dataset,
                                        const svit_pipeline_config *pipeline,
                                        const svit_loader_config *config, svit_error *err);

/* NULL allowed. */
SVIT_API void svit_loader_free(svit_loader *loader);

/* The size of one image of a batch: height, width (channels are 3). 0 for NULL. */
SVIT_API size_t svit_loader_height(const svit_loader *loader);
SVIT_API size_t svit_loader_width(const svit_loader *loader);

/* Batches in an epoch; 0 for NULL. */
SVIT_API uint64_t svit_loader_batches(const svit_loader *loader);

/* Copies the next batch into images[batch, height, width, 3] and labels[batch], and its size into
 * *n. At the end of an epoch *n is 0, and the call after that begins the next epoch. On failure (a
 * image that cannot be read, SVIT_E_STOPPED from a callback) the loader stays at this batch. */
SVIT_API svit_status svit_loader_next(svit_loader *loader, float *images, int32_t *labels,
                                      size_t *n, svit_error *err);

/* Goes to a batch of an epoch, both from 0; `batch` at most svit_loader_batches (the epoch's end).
 */
SVIT_API svit_status svit_loader_seek(svit_loader *loader, uint64_t epoch, uint64_t batch,
                                      svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
