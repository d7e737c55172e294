/* Affine resampling for pipelines, interpolated in float32. Coordinates are reflected only if they
 * lie outside the image. */
#include "data/resampling/affine.h"

#include "data/resampling/axis.h"
#include "data/resampling/by_channels.h"

/* out[c] = the bilinear sample of `in` at (x, y), which lies inside the image. */
SV_OF_CHANNELS sample_point(const size_t channels, float *restrict out, const float *restrict in,
                            size_t height, size_t width, double x, double y)
{
    ptrdiff_t left = (ptrdiff_t)x;
    ptrdiff_t top = (ptrdiff_t)y;
    float across = (float)(x - (double)left);
    float down = (float)(y - (double)top);
    size_t right = (size_t)left + 1 < width ? channels : 0;
    size_t below = (size_t)top + 1 < height ? width * channels : 0;
    const float *a = in + ((size_t)top * width + (size_t)left) * channels;
    const float *b = a + below;
    for (size_t c = 0; c < channels; c++) {
        float upper = a[c] + (a[right + c] - a[c]) * across;
        float lower = b[c] + (b[right + c] - b[c]) * across;
        out[c] = upper + (lower - upper) * down;
    }
}

SV_OF_CHANNELS resample(const size_t channels, float *out, const float *in, size_t height,
                        size_t width, const double transform[6])
{
    const double *t = transform;
    double last_x = (double)(width - 1);
    double last_y = (double)(height - 1);
    for (size_t y = 0; y < height; y++) {
        double start_x = t[1] * (double)y + t[2];
        double start_y = t[4] * (double)y + t[5];
        for (size_t x = 0; x < width; x++, out += channels) {
            double from_x = t[0] * (double)x + start_x;
            double from_y = t[3] * (double)x + start_y;
            if (!(from_x >= 0 && from_x <= last_x))
                from_x = sv_axis_reflect(from_x, width);
            if (!(from_y >= 0 && from_y <= last_y))
                from_y = sv_axis_reflect(from_y, height);
            sample_point(channels, out, in, height, width, from_x, from_y);
        }
    }
}

void sv_affine_pixels(float *out, const float *in, size_t height, size_t width, size_t channels,
                      const double transform[6])
{
    SV_BY_CHANNELS(channels, resample, out, in, height, width, transform);
}
