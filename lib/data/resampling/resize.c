/* Resizing and mirroring for callers, without tables or allocations, so that only the arguments can
 * be wrong. Pipelines use the faster augmentation/pipeline.c. */
#include <shiftvit/image.h>

#include "base/threads/fp_env.h"
#include "data/resampling/resize.h"

#include "data/checks.h"
#include "data/resampling/axis.h"
#include "data/resampling/by_channels.h"

#include <string.h>

SV_OF_CHANNELS nearest_of(const size_t channels, uint8_t *out, size_t out_height, size_t out_width,
                          const uint8_t *in, size_t height, size_t width)
{
    for (size_t y = 0; y < out_height; y++) {
        const uint8_t *row = in + sv_axis_nearest(y, height, out_height) * width * channels;
        for (size_t x = 0; x < out_width; x++, out += channels)
            memcpy(out, row + sv_axis_nearest(x, width, out_width) * channels, channels);
    }
}

void sv_resize_nearest(uint8_t *out, size_t out_height, size_t out_width, const uint8_t *in,
                       size_t height, size_t width, size_t channels)
{
    SV_BY_CHANNELS(channels, nearest_of, out, out_height, out_width, in, height, width);
}

SVIT_API svit_status svit_resize_nearest_u8(const uint8_t *in, size_t height, size_t width,
                                            uint8_t *out, size_t out_height, size_t out_width,
                                            svit_error *err)
{
    SV_REQUIRE(in);
    SV_REQUIRE(out);
    SVIT_TRY(sv_check_sides(__func__, "", height, width, err));
    SVIT_TRY(sv_check_sides(__func__, "out_", out_height, out_width, err));
    SVIT_TRY(sv_check_distinct(__func__, in, out, err));
    sv_resize_nearest(out, out_height, out_width, in, height, width, SV_RGB);
    return SVIT_OK;
}

/* out[x,c] = rows a and b, interpolated along the columns, then between the rows by `fraction`. */
static void row_bilinear(float *out, const float *a, const float *b, float fraction, size_t width,
                         size_t channels, size_t out_width)
{
    for (size_t x = 0; x < out_width; x++, out += channels) {
        sv_tap tap = sv_axis_bilinear(x, width, out_width);
        size_t low = tap.low * channels;
        size_t high = tap.high * channels;
        for (size_t c = 0; c < channels; c++) {
            float above = a[low + c] + (a[high + c] - a[low + c]) * tap.fraction;
            float below = b[low + c] + (b[high + c] - b[low + c]) * tap.fraction;
            out[c] = above + (below - above) * fraction;
        }
    }
}

SVIT_API svit_status svit_resize_bilinear_f32(const float *in, size_t height, size_t width,
                                              size_t channels, float *out, size_t out_height,
                                              size_t out_width, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(in);
    SV_REQUIRE(out);
    SVIT_TRY(sv_check_sides(__func__, "", height, width, err));
    SVIT_TRY(sv_check_range(__func__, "channels", channels, 1, SV_CHANNEL_LIMIT, err));
    SVIT_TRY(sv_check_sides(__func__, "out_", out_height, out_width, err));
    SVIT_TRY(sv_check_distinct(__func__, in, out, err));
    size_t row = width * channels;
    for (size_t y = 0; y < out_height; y++, out += out_width * channels) {
        sv_tap tap = sv_axis_bilinear(y, height, out_height);
        row_bilinear(out, in + tap.low * row, in + tap.high * row, tap.fraction, width, channels,
                     out_width);
    }
    return SVIT_OK;
}

SVIT_API svit_status svit_flip_horizontal_f32(const float *in, size_t height, size_t width,
                                              size_t channels, float *out, svit_error *err)
{
    SV_REQUIRE(in);
    SV_REQUIRE(out);
    SVIT_TRY(sv_check_sides(__func__, "", height, width, err));
    SVIT_TRY(sv_check_range(__func__, "channels", channels, 1, SV_CHANNEL_LIMIT, err));
    SVIT_TRY(sv_check_distinct(__func__, in, out, err));
    for (size_t y = 0; y < height; y++, in += width * channels)
        for (size_t x = width; x > 0; x--, out += channels)
            memcpy(out, in + (x - 1) * channels, channels * sizeof *out);
    return SVIT_OK;
}
