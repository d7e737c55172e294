/* Pipeline configurations: defaults, ranges of the fields, and JSON: the object `preprocessing` of
 * model files. */
#include "data/augmentation/pipeline_config.h"

#include "base/size.h"
#include "data/augmentation/step_fields.h"
#include "data/checks.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

enum { MAX_SIDE = 8192 };

#define SIDE(field)                                                                                \
    {                                                                                              \
        SV_FIELD(svit_pipeline_config, field, U32), .min = 1, .max = MAX_SIDE                      \
    }
#define REAL(field, ...)                                                                           \
    {                                                                                              \
        SV_FIELD(svit_pipeline_config, field, REAL), __VA_ARGS__                                   \
    }

#define BY_CHANNEL(field)                                                                          \
    SV_FIELD(svit_pipeline_config, field, REALS),                                                  \
        .count_name = "channels", .count_offset = offsetof(svit_pipeline_config, channels),        \
        .one_above = SVIT_MAX_CHANNELS

/* The constant `filter` names the only filter of the resize for other readers of model files. */
static const sv_field FIELDS[] = {
    SIDE(source_height),
    SIDE(source_width),
    {SV_FIELD(svit_pipeline_config, source_filter, WORD),
     .words = (sv_words){[SVIT_SOURCE_NEAREST] = "nearest",
                         [SVIT_SOURCE_SHORTER_SIDE] = "shorter-side",
                         [SVIT_SOURCE_BICUBIC] = "bicubic",
                         [SVIT_SOURCE_SHORTER_SIDE_PILLOW_12] = "shorter-side-pillow-12",
                         [SVIT_SOURCE_BICUBIC_PILLOW_12] = "bicubic-pillow-12",
                         [SVIT_SOURCE_SQUASH] = "squash",
                         [SVIT_SOURCE_SQUASH_BICUBIC] = "squash-bicubic",
                         [SVIT_SOURCE_KEEP_RATIO] = "keep-ratio",
                         [SVIT_SOURCE_KEEP_RATIO_BICUBIC] = "keep-ratio-bicubic"}},
    SIDE(resize_height),
    SIDE(resize_width),
    {.name = "filter", .kind = SV_FIELD_CONSTANT, .words = (sv_words){"bilinear"}},
    SIDE(output_height),
    SIDE(output_width),
    {SV_FIELD(svit_pipeline_config, evaluation, WORD),
     .words = (sv_words){[SVIT_EVALUATE_RESIZE] = "resize",
                         [SVIT_EVALUATE_KEEP] = "keep",
                         [SVIT_EVALUATE_CROP] = "crop",
                         [SVIT_EVALUATE_CROP_FLOOR] = "crop-floor"}},
    {SV_FIELD(svit_pipeline_config, per_batch, FLAG)},
    REAL(flip_probability, .max = 1),
    REAL(scale, .min_is_open = 1, .max = DBL_MAX),
    {SV_FIELD(svit_pipeline_config, channels, U32), .min = 1, .max = SV_CHANNEL_LIMIT},
    {BY_CHANNEL(mean), .min = -DBL_MAX, .max = DBL_MAX},
    {BY_CHANNEL(variance), .min_is_open = 1, .max = DBL_MAX},
    REAL(rotation, .max = 1),
    REAL(zoom, .max = 1, .max_is_open = 1),
    {SV_FIELD(svit_pipeline_config, augment, ELEMENTS), .count_name = "augment_count",
     .count_offset = offsetof(svit_pipeline_config, augment_count),
     .max_count = SVIT_MAX_AUGMENT_STEPS, .is_optional = 1, .elements = &sv_augment_elements},
};
/* The pipeline of the Keras ShiftViT example. */
static void set_defaults(void *out)
{
    svit_pipeline_config *config = out;
    config->source_height = 32;
    config->source_width = 32;
    config->resize_height = 52;
    config->resize_width = 52;
    config->output_height = 48;
    config->output_width = 48;
    config->evaluation = SVIT_EVALUATE_RESIZE;
    config->flip_probability = 0.5;
    config->scale = 1.0 / 255;
    config->channels = SV_RGB;
    for (size_t c = 0; c < SVIT_MAX_CHANNELS; c++)
        config->variance[c] = 1;
    config->source_filter = SVIT_SOURCE_NEAREST;
}

/* The resized image must be at least as large as the crop. */
static svit_status check_crop(const char *side, uint32_t resize, uint32_t output, svit_error *err)
{
    if (resize >= output)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "resize_%s is %" PRIu32 "; at least output_%s, %" PRIu32 ", is accepted", side,
                   resize, side, output);
}

/* The values of bytes, and the difference of two of them, are finite floats. */
static svit_status check_values(const svit_pipeline_config *config, svit_error *err)
{
    for (uint32_t c = 0; c < sv_pipeline_means(config->channels); c++) {
        const double deviation = sqrt(config->variance[c]), limit = FLT_MAX / 2;
        const double low = -config->mean[c] / deviation,
                     high = (255 * config->scale - config->mean[c]) / deviation;
        if (!(fabs(low) <= limit && fabs(high) <= limit))
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "svit_pipeline_config: with scale %g, mean[%u] %g and variance[%u] %g "
                           "the values of bytes are beyond what a float holds",
                           config->scale, c, config->mean[c], c, config->variance[c]);
    }
    return SVIT_OK;
}

double sv_pipeline_limit(const svit_pipeline_config *config)
{
    /* Resampling may enlarge values a little, and check_values leaves half of the range to the
     * mean. */
    double limit = FLT_MAX / 8;
    for (uint32_t c = 0; c < sv_pipeline_means(config->channels); c++)
        limit = fmin(limit, FLT_MAX / 8 * sqrt(config->variance[c]) / config->scale);
    return limit;
}

/* An antialiased resize has sums for SVIT_MAX_CHANNELS channels. */
static svit_status check_antialias(const svit_pipeline_config *config, svit_error *err)
{
    if (config->channels <= SVIT_MAX_CHANNELS || config->source_filter == SVIT_SOURCE_NEAREST)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "channels is %" PRIu32 "; above %d source_filter must be 'nearest'",
                   config->channels, SVIT_MAX_CHANNELS);
}

/* An image of the source size and a resized one have sizes, of floats and a copy of them, that
 * memory could have. */
static svit_status check_bytes(const svit_pipeline_config *config, svit_error *err)
{
    enum { BYTES = 2 * sizeof(float) };
    const size_t source[] = {config->source_height, config->source_width, config->channels, BYTES};
    const size_t resized[] = {config->resize_height, config->resize_width, config->channels, BYTES};
    size_t bytes;
    if (sv_size_product(&bytes, source, 4) && sv_size_product(&bytes, resized, 4))
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "images of %" PRIu32 " channels, %" PRIu32 " x %" PRIu32
                   " pixels and resized %" PRIu32 " x %" PRIu32 ", do not fit memory",
                   config->channels, config->source_height, config->source_width,
                   config->resize_height, config->resize_width);
}

static svit_status check(const void *checked, svit_error *err)
{
    const svit_pipeline_config *config = checked;
    SVIT_TRY(check_antialias(config, err));
    SVIT_TRY(check_bytes(config, err));
    SVIT_TRY(check_values(config, err));
    SVIT_TRY(sv_augment_check_order(config, err));
    SVIT_TRY(sv_augment_check_channels(config, err));
    SVIT_TRY(check_crop("height", config->resize_height, config->output_height, err));
    return check_crop("width", config->resize_width, config->output_width, err);
}

const sv_config_type sv_pipeline_config_type = {
    SV_CONFIG(svit_pipeline_config, FIELDS, "preprocessing"),
    .table.prefix = "svit_pipeline_config", .set_defaults = set_defaults, .check = check};

SV_CONFIG_FUNCTIONS(svit_pipeline_config, sv_pipeline_config_type)

SVIT_API svit_status svit_pipeline_evaluation_size(const svit_pipeline_config *config,
                                                   size_t *height, size_t *width, svit_error *err)
{
    SV_REQUIRE(config);
    SV_REQUIRE(height);
    SV_REQUIRE(width);
    svit_pipeline_config local;
    SVIT_TRY(sv_config_read(&sv_pipeline_config_type, &local, config, err));
    *height = sv_evaluation_height(&local);
    *width = sv_evaluation_width(&local);
    return SVIT_OK;
}
