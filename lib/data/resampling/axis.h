/* The source coordinates of resampling along one axis. Resizing has pixel centres at half-integers,
 * reflection at integers. */
#ifndef SV_AXIS_H
#define SV_AXIS_H

#include <stddef.h>
#include <stdint.h>

/* A linear interpolation: line[low] + (line[high] - line[low]) * fraction. */
typedef struct sv_tap {
    uint32_t low;
    uint32_t high;
    float fraction;
} sv_tap;

/* Nearest neighbour: the source line floor((o + 0.5) * in / out) of output line `o`. */
size_t sv_axis_nearest(size_t o, size_t in, size_t out);

/* Bilinear: the source coordinate (o + 0.5) * in / out - 0.5, clamped to 0..in - 1. */
sv_tap sv_axis_bilinear(size_t o, size_t in, size_t out);

/* Reflects the coordinate v into 0..lines-1, as in d c b a | a b c d | d c b a. NaN, which an
 * overflown coordinate gives, becomes 0. */
double sv_axis_reflect(double v, size_t lines);

#endif
