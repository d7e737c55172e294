/* Pipelines within the library. A plan, sv_pipeline, is the tables computed once for a
 * configuration and a size of input images; images are then processed one by one without
 * allocation. A plan is immutable, so any number of threads may use it, each with its own
 * scratch. */
#ifndef SV_PIPELINE_H
#define SV_PIPELINE_H

#include "base/memory.h"
#include "base/status.h"
#include "data/augmentation/steps.h"
#include "data/decoding/image_shape.h"

#include <shiftvit/pipeline.h>

#include <stdbool.h>

typedef struct sv_pipeline sv_pipeline;

/* Makes a plan for images [height, width, config->channels] of bytes, or of floats with `is_f32`.
 * `config` has been checked. SVIT_E_MEMORY if its tables cannot be allocated. SVIT_E_UNSUPPORTED if
 * floats need an antialiased source step. The plan keeps `allocator`. */
svit_status sv_pipeline_create(sv_pipeline **out, const sv_allocator *allocator,
                               const svit_pipeline_config *config, size_t height, size_t width,
                               bool is_f32, svit_error *err);

/* Frees a plan. NULL is allowed. */
void sv_pipeline_free(sv_pipeline *plan);

/* Floats of scratch for one thread. */
size_t sv_pipeline_scratch(const sv_pipeline *plan);

/* The sides in pixels of an output image, of training or of evaluation. */
size_t sv_pipeline_height(const sv_pipeline *plan, bool training);
size_t sv_pipeline_width(const sv_pipeline *plan, bool training);

/* Runs the evaluation pipeline on one image. `out` is [sv_pipeline_height, sv_pipeline_width,
 * channels], those of evaluation. */
void sv_pipeline_evaluate(const sv_pipeline *plan, float *out, const void *pixels, float *scratch);

/* Checks images[n] of `shape`, the argument of the public function `where`. SVIT_E_ARGUMENT, also
 * for a float that `config` does not keep finite. */
svit_status sv_pipeline_check_images(const char *where, const svit_pipeline_config *config,
                                     const void *images, size_t n, const sv_image_shape *shape,
                                     svit_error *err);

/* Runs it on the images pixels[n] of `shape`, for which the plan was made and which have been
 * checked, to out[n], each image as a task of the context's pool. SVIT_E_MEMORY. */
svit_status sv_pipeline_evaluate_batch(const sv_pipeline *plan, svit_context *context,
                                       const void *pixels, size_t n, const sv_image_shape *shape,
                                       float *out, svit_error *err);

/* Who takes images that have been through the evaluation pipeline, a batch at a time. */
typedef struct sv_pipeline_taker {
    const svit_pipeline_config *config; /* checked */
    svit_context *context;
    size_t batch;  /* images, at most */
    float *inputs; /* [batch] */
    /* Takes the first n of `inputs`, the images from `first` on. */
    svit_status (*take)(void *user, size_t first, size_t n, svit_error *err);
    void *user;
} sv_pipeline_taker;

/* Checks images[n] of `shape`, the argument of the public function `where`, and brings them to the
 * taker. The stop function of the context is asked before each batch but the first. Errors are
 * those of sv_pipeline_check_images, sv_pipeline_create, svit_context_check and `take`;
 * SVIT_E_STOPPED. */
svit_status sv_pipeline_evaluate_for(const sv_pipeline_taker *taker, const char *where,
                                     const void *images, size_t n, const sv_image_shape *shape,
                                     svit_error *err);

/* The random augmentation of one image. It is a function of its key, except that with per_batch the
 * crop is a function of the seed, the epoch and the batch. Epochs are below 2^52. */
typedef struct sv_augmentation {
    sv_augment_key key; /* of the steps of svit_pipeline_config.augment */
    uint32_t top;       /* the crop's first row and column */
    uint32_t left;
    bool mirror;
    bool is_cut;          /* the resized crop that the steps begin with has been run before */
    double turns;         /* full turns, in +-rotation */
    double height_factor; /* in +-zoom, as width_factor; positive zooms out */
    double width_factor;
} sv_augmentation;

/* Draws the augmentation of one sample. `batch` has the seed, the epoch and the number of the batch
 * in place of the sample. */
sv_augmentation sv_pipeline_draw(const sv_pipeline *plan, const sv_augment_key *key,
                                 const sv_augment_key *batch);

/* Runs the training pipeline on one image: the steps on bytes, crop, mirror, rotation, zoom and the
 * steps on values, as `drawn` says. Steps on batches are not run (mix.h). `out` is [output_height,
 * output_width, channels]. */
void sv_pipeline_train(const sv_pipeline *plan, float *out, const void *pixels,
                       const sv_augmentation *drawn, float *scratch);

#endif
