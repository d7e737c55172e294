/* The source step of pipelines and folder datasets. */
#include "data/source.h"

#include "context/context.h"
#include "data/antialias.h"
#include "data/checks.h"
#include "data/pipeline_config.h"

#include <shiftvit/image.h>

svit_status sv_source_filter_check(int32_t filter, const char *where, const char *what,
                                   svit_error *err)
{
    if (filter == SVIT_SOURCE_NEAREST || filter == SVIT_SOURCE_SHORTER_SIDE)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "%s: %s is %d; SVIT_SOURCE_NEAREST (0) and SVIT_SOURCE_SHORTER_SIDE (1) are "
                   "accepted",
                   where, what, (int)filter);
}

bool sv_source_is_antialias(int32_t filter, size_t height, size_t width, size_t out_height,
                            size_t out_width)
{
    return filter == SVIT_SOURCE_SHORTER_SIDE && (height != out_height || width != out_width);
}

svit_status sv_source_step(const sv_allocator *allocator, int32_t filter, const uint8_t *rgb,
                           size_t height, size_t width, uint8_t *out, size_t out_height,
                           size_t out_width, svit_error *err)
{
    if (sv_source_is_antialias(filter, height, width, out_height, out_width))
        return sv_antialias_resize(allocator, rgb, height, width, out, out_height, out_width, true,
                                   err);
    return svit_resize_nearest_u8(rgb, height, width, out, out_height, out_width, err);
}

SVIT_API svit_status svit_pipeline_apply_source(svit_context *context,
                                                const svit_pipeline_config *config,
                                                const uint8_t *rgb, size_t height, size_t width,
                                                uint8_t *out, svit_error *err)
{
    SV_REQUIRE(context);
    SV_REQUIRE(config);
    SV_REQUIRE(rgb);
    SV_REQUIRE(out);
    svit_pipeline_config local;
    SVIT_TRY(sv_pipeline_config_read(&local, config, err));
    SVIT_TRY(sv_check_sides(__func__, "", height, width, err));
    SVIT_TRY(sv_check_distinct(__func__, rgb, out, err));
    return sv_source_step(&context->allocator, local.source_filter, rgb, height, width, out,
                          local.source_height, local.source_width, err);
}
