/* Affine resampling with reflection at the borders, and the transforms of rotation and zoom.
 * Pipelines use the faster resampling of affine_pixels.c. */
#include "data/resampling/affine.h"

#include "base/threads/fp_env.h"

#include <shiftvit/image.h>

#include "data/checks.h"
#include "data/resampling/axis.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* out[c] = the bilinear sample of `in` at (x, y). */
static void sample_point(float *out, const float *in, size_t height, size_t width, size_t channels,
                         double x, double y)
{
    size_t left = (size_t)x;
    size_t top = (size_t)y;
    size_t right = left + 1 < width ? left + 1 : left;
    size_t bottom = top + 1 < height ? top + 1 : top;
    double across = x - (double)left;
    double down = y - (double)top;
    const float *a = in + (top * width + left) * channels;
    const float *b = in + (top * width + right) * channels;
    const float *c = in + (bottom * width + left) * channels;
    const float *d = in + (bottom * width + right) * channels;
    for (size_t i = 0; i < channels; i++) {
        double above = (1 - across) * a[i] + across * b[i];
        double below = (1 - across) * c[i] + across * d[i];
        out[i] = (float)((1 - down) * above + down * below);
    }
}

SVIT_API svit_status svit_affine_f32(const float *in, size_t height, size_t width, size_t channels,
                                     const double transform[6], float *out, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(in);
    SVIT_TRY(sv_check_sides(__func__, "", height, width, err));
    SVIT_TRY(sv_check_range(__func__, "channels", channels, 1, SV_CHANNEL_LIMIT, err));
    SV_REQUIRE(transform);
    SV_REQUIRE(out);
    SVIT_TRY(sv_check_distinct(__func__, in, out, err));
    const double *t = transform;
    for (size_t i = 0; i < 6; i++)
        if (!isfinite(t[i]))
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "%s: transform[%zu] is %g; finite values are accepted", __func__, i,
                           t[i]);
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++, out += channels) {
            double from_x = t[0] * (double)x + t[1] * (double)y + t[2];
            double from_y = t[3] * (double)x + t[4] * (double)y + t[5];
            sample_point(out, in, height, width, channels, sv_axis_reflect(from_x, width),
                         sv_axis_reflect(from_y, height));
        }
    return SVIT_OK;
}

void sv_affine_rotation(double transform[6], double turns, size_t height, size_t width)
{
    double angle = 2 * pi * turns;
    double centre_x = ((double)width - 1) / 2;
    double centre_y = ((double)height - 1) / 2;
    double *t = transform;
    t[0] = cos(angle);
    t[1] = -sin(angle);
    t[2] = centre_x - centre_x * t[0] - centre_y * t[1];
    t[3] = sin(angle);
    t[4] = cos(angle);
    t[5] = centre_y - centre_x * t[3] - centre_y * t[4];
}

void sv_affine_zoom(double transform[6], double height_factor, double width_factor, size_t height,
                    size_t width)
{
    double *t = transform;
    t[0] = 1 + width_factor;
    t[1] = 0;
    t[2] = ((double)width - 1) / 2 * (1 - t[0]);
    t[3] = 0;
    t[4] = 1 + height_factor;
    t[5] = ((double)height - 1) / 2 * (1 - t[4]);
}

SVIT_API svit_status svit_affine_rotation(double turns, size_t height, size_t width,
                                          double transform[6], svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    if (!isfinite(turns))
        return sv_fail(err, SVIT_E_ARGUMENT, "%s: turns is %g; a finite value is accepted",
                       __func__, turns);
    SVIT_TRY(sv_check_sides(__func__, "", height, width, err));
    SV_REQUIRE(transform);
    sv_affine_rotation(transform, turns, height, width);
    return SVIT_OK;
}

SVIT_API svit_status svit_affine_zoom(double height_factor, double width_factor, size_t height,
                                      size_t width, double transform[6], svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    if (!isfinite(height_factor) || !isfinite(width_factor))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s: height_factor is %g, width_factor %g; finite values are accepted",
                       __func__, height_factor, width_factor);
    SVIT_TRY(sv_check_sides(__func__, "", height, width, err));
    SV_REQUIRE(transform);
    sv_affine_zoom(transform, height_factor, width_factor, height, width);
    return SVIT_OK;
}
