/* Pipeline configurations: defaults, and the ranges of their fields. */
#include "data/pipeline_config.h"

#include "base/config.h"
#include "data/source.h"

#include <math.h>
#include <stdbool.h>

enum { SIDE_LIMIT = 8192 };

static const char TYPE[] = "svit_pipeline_config";

svit_pipeline_config sv_pipeline_config_default(void)
{
    return (svit_pipeline_config){
        .struct_size = sizeof(svit_pipeline_config),
        .source_height = 32,
        .source_width = 32,
        .resize_height = 52,
        .resize_width = 52,
        .output_height = 48,
        .output_width = 48,
        .evaluation = SVIT_EVALUATE_RESIZE,
        .per_batch = 0,
        .flip_probability = 0.5,
        .scale = 1.0 / 255,
        .mean = {0, 0, 0},
        .variance = {1, 1, 1},
        .rotation = 0,
        .zoom = 0,
        .source_filter = SVIT_SOURCE_NEAREST,
        .reserved = 0,
    };
}

static svit_status check_sides(const svit_pipeline_config *config, svit_error *err)
{
    const struct {
        const char *name;
        uint32_t value;
    } sides[] = {
        {"source_height", config->source_height}, {"source_width", config->source_width},
        {"resize_height", config->resize_height}, {"resize_width", config->resize_width},
        {"output_height", config->output_height}, {"output_width", config->output_width},
    };
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        if (sides[i].value < 1 || sides[i].value > SIDE_LIMIT)
            return sv_fail(err, SVIT_E_ARGUMENT, "%s: %s is %u; 1..%d pixels are accepted", TYPE,
                           sides[i].name, (unsigned)sides[i].value, SIDE_LIMIT);
    if (config->resize_height < config->output_height)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s: resize_height is %u; at least output_height, %u, is accepted", TYPE,
                       (unsigned)config->resize_height, (unsigned)config->output_height);
    if (config->resize_width < config->output_width)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s: resize_width is %u; at least output_width, %u, is accepted", TYPE,
                       (unsigned)config->resize_width, (unsigned)config->output_width);
    return SVIT_OK;
}

static svit_status check_choices(const svit_pipeline_config *config, svit_error *err)
{
    if (config->evaluation != SVIT_EVALUATE_RESIZE && config->evaluation != SVIT_EVALUATE_KEEP)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s: evaluation is %d; SVIT_EVALUATE_RESIZE (0) and SVIT_EVALUATE_KEEP (1) "
                       "are accepted",
                       TYPE, (int)config->evaluation);
    if (config->per_batch != 0 && config->per_batch != 1)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s: per_batch is %d; 0 and 1 are accepted", TYPE,
                       (int)config->per_batch);
    if (config->reserved != 0)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s: reserved is %u; 0 is accepted", TYPE,
                       (unsigned)config->reserved);
    return sv_source_filter_check(config->source_filter, TYPE, "source_filter", err);
}

static svit_status check_numbers(const svit_pipeline_config *config, svit_error *err)
{
    double flip = config->flip_probability;
    if (!(flip >= 0 && flip <= 1))
        return sv_fail(err, SVIT_E_ARGUMENT, "%s: flip_probability is %g; 0..1 is accepted", TYPE,
                       flip);
    if (!(config->scale > 0) || !isfinite(config->scale))
        return sv_fail(err, SVIT_E_ARGUMENT, "%s: scale is %g; a finite number above 0 is accepted",
                       TYPE, config->scale);
    for (size_t c = 0; c < 3; c++) {
        if (!isfinite(config->mean[c]))
            return sv_fail(err, SVIT_E_ARGUMENT, "%s: mean[%zu] is %g; finite numbers are accepted",
                           TYPE, c, config->mean[c]);
        if (!(config->variance[c] > 0) || !isfinite(config->variance[c]))
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "%s: variance[%zu] is %g; finite numbers above 0 are accepted", TYPE, c,
                           config->variance[c]);
    }
    return SVIT_OK;
}

static svit_status check_affine(const svit_pipeline_config *config, svit_error *err)
{
    if (!(config->rotation >= 0 && config->rotation <= 1))
        return sv_fail(err, SVIT_E_ARGUMENT, "%s: rotation is %g; 0..1 circles are accepted", TYPE,
                       config->rotation);
    if (!(config->zoom >= 0 && config->zoom < 1))
        return sv_fail(err, SVIT_E_ARGUMENT, "%s: zoom is %g; 0 and more, below 1, is accepted",
                       TYPE, config->zoom);
    return SVIT_OK;
}

svit_status sv_pipeline_config_check(const svit_pipeline_config *config, svit_error *err)
{
    SVIT_TRY(check_sides(config, err));
    SVIT_TRY(check_choices(config, err));
    SVIT_TRY(check_numbers(config, err));
    return check_affine(config, err);
}

svit_status sv_pipeline_config_read(svit_pipeline_config *out, const svit_pipeline_config *in,
                                    svit_error *err)
{
    svit_pipeline_config config = sv_pipeline_config_default();
    SVIT_TRY(sv_config_import(&config, sizeof config, in, SV_PIPELINE_CONFIG_LEAST, TYPE, err));
    SVIT_TRY(sv_pipeline_config_check(&config, err));
    *out = config;
    return SVIT_OK;
}

SVIT_API svit_status svit_pipeline_config_init(svit_pipeline_config *config, size_t size)
{
    svit_pipeline_config own = sv_pipeline_config_default();
    return sv_config_export(config, size, &own, sizeof own, TYPE, NULL);
}

SVIT_API svit_status svit_pipeline_evaluation_size(const svit_pipeline_config *config,
                                                   size_t *height, size_t *width, svit_error *err)
{
    SV_REQUIRE(config);
    SV_REQUIRE(height);
    SV_REQUIRE(width);
    svit_pipeline_config own;
    SVIT_TRY(sv_pipeline_config_read(&own, config, err));
    bool keep = own.evaluation == SVIT_EVALUATE_KEEP;
    *height = keep ? own.resize_height : own.output_height;
    *width = keep ? own.resize_width : own.output_width;
    return SVIT_OK;
}
