/* Pipelines at work: tables made once for a configuration and the size of the images that come
 * in, then images one by one, with nothing allocated. A plan does not change: any number of
 * threads may use it, each with scratch of its own. */
#ifndef SV_PIPELINE_PLAN_H
#define SV_PIPELINE_PLAN_H

#include "base/memory.h"
#include "base/status.h"

#include <shiftvit/pipeline.h>

#include <stdbool.h>

typedef struct sv_pipeline sv_pipeline;

/* A plan of `config` (checked already) for images rgb[height, width, 3]. */
svit_status sv_pipeline_create(sv_pipeline **out, const sv_allocator *allocator,
                               const svit_pipeline_config *config, size_t height, size_t width,
                               svit_error *err);
void sv_pipeline_free(const sv_allocator *allocator, sv_pipeline *plan);

/* Floats of scratch that a thread needs. */
size_t sv_pipeline_scratch(const sv_pipeline *plan);

/* The size of an image that comes out. */
size_t sv_pipeline_height(const sv_pipeline *plan, bool training);
size_t sv_pipeline_width(const sv_pipeline *plan, bool training);

/* The evaluation pipeline on one image. */
void sv_pipeline_evaluate(const sv_pipeline *plan, float *out, const uint8_t *rgb, float *scratch);

/* What training draws for one image: a function of (seed, epoch, sample), and the offset with
 * per_batch of (seed, epoch, batch). Epochs have 55 bits. */
typedef struct sv_augmentation {
    uint32_t top; /* of the crop, and left */
    uint32_t left;
    bool mirror;
    double turns;         /* in +-rotation */
    double height_factor; /* in +-zoom, and width_factor; positive zooms out */
    double width_factor;
} sv_augmentation;
sv_augmentation sv_pipeline_draw(const sv_pipeline *plan, uint64_t seed, uint64_t epoch,
                                 uint32_t sample, uint32_t batch);

/* The training pipeline on one image: cropped, mirrored, turned and zoomed as drawn. */
void sv_pipeline_train(const sv_pipeline *plan, float *out, const uint8_t *rgb,
                       const sv_augmentation *drawn, float *scratch);

#endif
