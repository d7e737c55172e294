/* The operations that move pixels: an affine map from output to input positions, of which each
 * takes the pixel that it lies on, with Pillow's arithmetic. Outside the image is black. */
#include "data/augmentation/operations.h"

#include <math.h>

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

static void sample(uint8_t *out, const uint8_t *in, int64_t height, int64_t width,
                   const affine_map *map)
{
    static const uint8_t black[CHANNELS];
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
                                      : black;
            out[0] = from[0];
            out[1] = from[1];
            out[2] = from[2];
        }
    }
}

void sv_geometry_apply(uint8_t *out, const uint8_t *in, size_t height, size_t width,
                       sv_operation operation, double value)
{
    const affine_map map = map_of(operation, value, height, width);
    sample(out, in, (int64_t)height, (int64_t)width, &map);
}
