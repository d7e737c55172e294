/* The source step, which resizes an image of any size to the source size of a pipeline. Pipelines
 * share it with the datasets of image files, so training and prediction see the same bytes. */
#ifndef SV_SOURCE_H
#define SV_SOURCE_H

#include "base/memory.h"
#include "base/status.h"
#include "data/augmentation/steps.h"
#include "data/resampling/antialias.h"

#include <shiftvit/pipeline.h>

#include <stdbool.h>

/* SVIT_E_ARGUMENT, naming the argument `what`, unless `filter` is one of SVIT_SOURCE_*. */
svit_status sv_source_filter_check(int32_t filter, const char *where, const char *what,
                                   svit_error *err);

/* The source step of a pipeline. */
typedef struct sv_source {
    int32_t filter;                 /* SVIT_SOURCE_* */
    size_t height, width;           /* of its output */
    size_t channels;                /* of its input and output */
    size_t seen_height, seen_width; /* the central part that the crop of evaluation keeps; height
                                       and width without that crop */
    bool floors;                    /* as in sv_antialias_options */
} sv_source;

/* The source step of a checked configuration. */
sv_source sv_source_of(const svit_pipeline_config *config);

/* Fills *out with the source step of a caller's configuration, for images of files, which have 1, 3
 * or 4 channels. `where` begins messages. SVIT_E_ARGUMENT, SVIT_E_VERSION. */
svit_status sv_source_of_files(sv_source *out, const char *where,
                               const svit_pipeline_config *pipeline, svit_error *err);

/* A source step without a crop after it. */
sv_source sv_source_make(int32_t filter, size_t height, size_t width, size_t channels);

/* Whether the step resizes an image of height x width pixels with antialiasing. Otherwise it is
 * nearest neighbour or a copy. */
bool sv_source_is_antialias(const sv_source *step, size_t height, size_t width);

/* The options of that resize for an image of height x width pixels. */
sv_antialias_options sv_source_options(const sv_source *step, size_t height, size_t width);

/* Resizes pixels[height, width, channels] to out[step->height, step->width, channels], a different
 * array. SVIT_E_MEMORY. */
svit_status sv_source_step(const sv_allocator *allocator, const sv_source *step,
                           const uint8_t *pixels, size_t height, size_t width, uint8_t *out,
                           svit_error *err);

/* Does the same for the box of pixels[height, width, channels] that `crop` draws, as torchvision's
 * RandomResizedCrop: it has scales of its own for each axis and the filter of the crop. The pixels
 * of the box are moved to the front of `pixels`. `crop` NULL: sv_source_step. */
svit_status sv_source_crop(const sv_allocator *allocator, const sv_source *step,
                           const sv_first_crop *crop, uint8_t *pixels, size_t height, size_t width,
                           uint8_t *out, svit_error *err);

/* Reads an image file of the step's channels and does that with its pixels. */
svit_status sv_source_read(const svit_context *context, const sv_source *step, const char *path,
                           const sv_first_crop *crop, uint8_t *out, svit_error *err);

#endif
