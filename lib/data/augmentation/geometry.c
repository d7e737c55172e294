/* The operations that move pixels: an affine map from output to input positions, and three ways to
 * read between the input's pixels, with Pillow's arithmetic. */
#include "data/augmentation/operations.h"

#include <math.h>
#include <string.h>

enum { CHANNELS = 3 };

/* Output pixel (x, y), centre (x + 1/2, y + 1/2), reads the input at
 * X = m[0] (x + 1/2) + m[1] (y + 1/2) + m[2],  Y = m[3] (x + 1/2) + m[4] (y + 1/2) + m[5]. */
typedef struct affine_map {
    double m[6];
} affine_map;

/* Pillow rounds the sine and the cosine of a rotation to 15 decimals. */
static double round_15(double x)
{
    return round(x * 1e15) / 1e15;
}

static affine_map rotation(double degrees, size_t height, size_t width)
{
    const double pi = 3.14159265358979323846;
    double angle = -(fmod(degrees, 360) * pi / 180);
    double c = round_15(cos(angle)), s = round_15(sin(angle));
    double x = (double)width / 2, y = (double)height / 2;
    return (affine_map){{c, s, (-c * x - s * y) + x, -s, c, (s * x - c * y) + y}};
}

static affine_map map_of(sv_operation operation, double value, size_t height, size_t width)
{
    switch (operation) {
    case SV_SHEAR_X:
        return (affine_map){{1, value, 0, 0, 1, 0}};
    case SV_SHEAR_Y:
        return (affine_map){{1, 0, 0, value, 1, 0}};
    case SV_TRANSLATE_X:
        return (affine_map){{1, 0, -value, 0, 1, 0}};
    case SV_TRANSLATE_Y:
        return (affine_map){{1, 0, 0, 0, 1, -value}};
    default: /* SV_ROTATE */
        return rotation(value, height, width);
    }
}

/* 16.16 fixed point. */
static int64_t fixed(double x)
{
    return (int64_t)floor(x * 65536 + 0.5);
}

static void sample_nearest(uint8_t *out, const uint8_t *in, int64_t height, int64_t width,
                           const affine_map *map, const uint8_t *fill)
{
    const double *m = map->m;
    const int64_t dx_dx = fixed(m[0]), dx_dy = fixed(m[1]), dy_dx = fixed(m[3]),
                  dy_dy = fixed(m[4]);
    int64_t first_x = fixed(m[2] + (m[0] + m[1]) / 2), first_y = fixed(m[5] + (m[3] + m[4]) / 2);
    for (int64_t y = 0; y < height; y++, first_x += dx_dy, first_y += dy_dy) {
        int64_t at_x = first_x, at_y = first_y;
        for (int64_t x = 0; x < width; x++, out += CHANNELS, at_x += dx_dx, at_y += dy_dx) {
            int64_t column = at_x >> 16, row = at_y >> 16;
            const uint8_t *from = column >= 0 && column < width && row >= 0 && row < height
                                      ? in + (row * width + column) * CHANNELS
                                      : fill;
            out[0] = from[0];
            out[1] = from[1];
            out[2] = from[2];
        }
    }
}

static int64_t clamp(int64_t i, int64_t count)
{
    return i < 0 ? 0 : i >= count ? count - 1 : i;
}

/* The cubic through four neighbours (Keys 1981, a = -1) at the distance d from the second. */
static double cubic(const double v[4], double d)
{
    double p2 = -v[0] + v[2];
    double p3 = 2 * (v[0] - v[1]) + v[2] - v[3];
    double p4 = -v[0] + v[1] - v[2] + v[3];
    return v[1] + d * (p2 + d * (p3 + d * p4));
}

/* The line through two neighbours. */
static double linear(const double v[2], double d)
{
    return v[0] + (v[1] - v[0]) * d;
}

/* Interpolates one channel among count x count neighbours, whose first is pixel (x, y): linearly if
 * `count` is 2, by cubics if it is 4. (dx, dy), each in [0, 1), is the distance in pixels from the
 * first of 2 neighbours in each direction, or from the second of 4. A neighbour outside the image
 * has the value of the nearest pixel at the border. */
static uint8_t interpolate(const uint8_t *in, int64_t height, int64_t width, int64_t x, int64_t y,
                           double dx, double dy, int count)
{
    double lines[4], values[4];
    for (int j = 0; j < count; j++) {
        const uint8_t *row = in + clamp(y + j, height) * width * CHANNELS;
        for (int i = 0; i < count; i++)
            values[i] = row[clamp(x + i, width) * CHANNELS];
        lines[j] = count == 2 ? linear(values, dx) : cubic(values, dx);
    }
    double value = count == 2 ? linear(lines, dy) : cubic(lines, dy);
    return (uint8_t)(value <= 0 ? 0 : value >= 255 ? 255 : value);
}

static void sample_between(uint8_t *out, const uint8_t *in, int64_t height, int64_t width,
                           const affine_map *map, const sv_geometry *geometry)
{
    const double *m = map->m;
    int count = geometry->sampling == SV_SAMPLE_BILINEAR ? 2 : 4;
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++, out += CHANNELS) {
            double at_x = m[0] * ((double)x + 0.5) + m[1] * ((double)y + 0.5) + m[2];
            double at_y = m[3] * ((double)x + 0.5) + m[4] * ((double)y + 0.5) + m[5];
            if (!(at_x >= 0 && at_x < (double)width && at_y >= 0 && at_y < (double)height)) {
                memcpy(out, geometry->fill, CHANNELS);
                continue;
            }
            double left = floor(at_x - 0.5), top = floor(at_y - 0.5);
            for (size_t c = 0; c < CHANNELS; c++)
                out[c] = interpolate(in + c, height, width, (int64_t)left - (count == 4),
                                     (int64_t)top - (count == 4), at_x - 0.5 - left,
                                     at_y - 0.5 - top, count);
        }
}

void sv_geometry_apply(uint8_t *out, const uint8_t *in, size_t height, size_t width,
                       sv_operation operation, double value, const sv_geometry *geometry)
{
    affine_map map = map_of(operation, value, height, width);
    if (geometry->sampling == SV_SAMPLE_NEAREST)
        sample_nearest(out, in, (int64_t)height, (int64_t)width, &map, geometry->fill);
    else
        sample_between(out, in, (int64_t)height, (int64_t)width, &map, geometry);
}
