/* The source step of pipelines and of datasets of image files. */
#include "data/augmentation/source.h"

#include "base/threads/fp_env.h"
#include "context/context.h"
#include "data/augmentation/pipeline_config.h"
#include "data/checks.h"
#include "data/decoding/image_file.h"
#include "data/resampling/resize.h"

#include <string.h>

/* How each of SVIT_SOURCE_* but the first resizes. */
static const struct form {
    sv_antialias_filter filter;
    bool cover, across_first, rounds; /* as in sv_antialias_options */
} FORMS[] = {
    [SVIT_SOURCE_SHORTER_SIDE] = {SV_ANTIALIAS_BILINEAR, .cover = true},
    [SVIT_SOURCE_BICUBIC] = {SV_ANTIALIAS_BICUBIC, .cover = true},
    [SVIT_SOURCE_SHORTER_SIDE_PILLOW_12] = {SV_ANTIALIAS_BILINEAR, true, .across_first = true},
    [SVIT_SOURCE_BICUBIC_PILLOW_12] = {SV_ANTIALIAS_BICUBIC, true, .across_first = true},
    [SVIT_SOURCE_SQUASH] = {SV_ANTIALIAS_BILINEAR, .cover = false},
    [SVIT_SOURCE_SQUASH_BICUBIC] = {SV_ANTIALIAS_BICUBIC, .cover = false},
    [SVIT_SOURCE_KEEP_RATIO] = {SV_ANTIALIAS_BILINEAR, .cover = true, .rounds = true},
    [SVIT_SOURCE_KEEP_RATIO_BICUBIC] = {SV_ANTIALIAS_BICUBIC, .cover = true, .rounds = true},
};
enum { FORM_COUNT = sizeof FORMS / sizeof *FORMS };

svit_status sv_source_filter_check(int32_t filter, const char *where, const char *what,
                                   svit_error *err)
{
    if (filter >= SVIT_SOURCE_NEAREST && filter < FORM_COUNT)
        return SVIT_OK;
    return sv_fail(
        err, SVIT_E_ARGUMENT,
        "%s: %s is %d; SVIT_SOURCE_NEAREST (0) to SVIT_SOURCE_KEEP_RATIO_BICUBIC (%d) are "
        "accepted",
        where, what, (int)filter, FORM_COUNT - 1);
}

sv_source sv_source_make(int32_t filter, size_t height, size_t width, size_t channels)
{
    return (sv_source){filter, height, width, channels, height, width, false};
}

sv_source sv_source_of(const svit_pipeline_config *config)
{
    sv_source step = sv_source_make(config->source_filter, config->source_height,
                                    config->source_width, config->channels);
    step.floors = sv_evaluation_floors(config);
    /* The crop follows the source step directly if the resize between them changes nothing. */
    if (sv_evaluation_crops(config) && config->resize_height == config->source_height &&
        config->resize_width == config->source_width) {
        step.seen_height = config->output_height;
        step.seen_width = config->output_width;
    }
    return step;
}

svit_status sv_source_of_files(sv_source *out, const char *where,
                               const svit_pipeline_config *pipeline, svit_error *err)
{
    svit_pipeline_config local;
    SVIT_TRY(sv_config_read(&sv_pipeline_config_type, &local, pipeline, err));
    SVIT_TRY(sv_check_file_channels(where, local.channels, err));
    *out = sv_source_of(&local);
    return SVIT_OK;
}

bool sv_source_is_antialias(const sv_source *step, size_t height, size_t width)
{
    return step->filter != SVIT_SOURCE_NEAREST && (height != step->height || width != step->width);
}

sv_antialias_options sv_source_options(const sv_source *step, size_t height, size_t width)
{
    const struct form *form = &FORMS[step->filter];
    return (sv_antialias_options){.height = height,
                                  .width = width,
                                  .channels = step->channels,
                                  .out_height = step->height,
                                  .out_width = step->width,
                                  .cover = form->cover,
                                  .rounds = form->rounds,
                                  .floors = step->floors,
                                  .seen_height = step->seen_height,
                                  .seen_width = step->seen_width,
                                  .filter = form->filter,
                                  .across_first = form->across_first};
}

svit_status sv_source_step(const sv_allocator *allocator, const sv_source *step,
                           const uint8_t *pixels, size_t height, size_t width, uint8_t *out,
                           svit_error *err)
{
    if (!sv_source_is_antialias(step, height, width)) {
        sv_resize_nearest(out, step->height, step->width, pixels, height, width, step->channels);
        return SVIT_OK;
    }
    const sv_antialias_options options = sv_source_options(step, height, width);
    return sv_antialias_resize(allocator, &options, pixels, out, err);
}

/* Moves the rows of the box to the front, one behind the other. */
static void cut(uint8_t *pixels, size_t width, size_t channels, const sv_crop_box *box)
{
    const size_t row = box->width * channels;
    for (size_t y = 0; y < box->height; y++)
        memmove(pixels + y * row, pixels + ((box->top + y) * width + box->left) * channels, row);
}

svit_status sv_source_crop(const sv_allocator *allocator, const sv_source *step,
                           const sv_first_crop *crop, uint8_t *pixels, size_t height, size_t width,
                           uint8_t *out, svit_error *err)
{
    if (!crop)
        return sv_source_step(allocator, step, pixels, height, width, out, err);
    const sv_crop_box box = sv_augment_draw_box(crop, height, width);
    cut(pixels, width, step->channels, &box);
    sv_antialias_options options = sv_source_options(step, box.height, box.width);
    options.cover = false;
    options.filter = sv_augment_crop_filter(crop->step);
    return sv_antialias_resize(allocator, &options, pixels, out, err);
}

svit_status sv_source_read(const svit_context *context, const sv_source *step, const char *path,
                           const sv_first_crop *crop, uint8_t *out, svit_error *err)
{
    const sv_allocator *allocator = &context->allocator;
    sv_pixels pixels;
    SVIT_TRY(sv_image_file_read(&pixels, context, path, step->channels, err));
    const svit_status status =
        sv_source_crop(allocator, step, crop, pixels.data, pixels.height, pixels.width, out, err);
    sv_release(allocator, pixels.data, pixels.bytes);
    return sv_fail_memory_in(err, status, path);
}

SVIT_API svit_status svit_pipeline_apply_source(svit_context *context,
                                                const svit_pipeline_config *config,
                                                const uint8_t *pixels, size_t height, size_t width,
                                                uint8_t *out, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(context);
    SV_REQUIRE(config);
    SV_REQUIRE(pixels);
    SV_REQUIRE(out);
    svit_pipeline_config local;
    SVIT_TRY(sv_config_read(&sv_pipeline_config_type, &local, config, err));
    SVIT_TRY(sv_check_sides(__func__, "", height, width, err));
    SVIT_TRY(sv_check_distinct(__func__, pixels, out, err));
    const sv_source step = sv_source_of(&local);
    return sv_source_step(&context->allocator, &step, pixels, height, width, out, err);
}
