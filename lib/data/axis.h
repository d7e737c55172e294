/* Where the lines of a resampled image come from, along one axis. In resizing, pixel centres are
 * at half; in reflection, at whole numbers. */
#ifndef SV_AXIS_H
#define SV_AXIS_H

#include <stddef.h>
#include <stdint.h>

/* value = line[low] + (line[high] - line[low]) * fraction */
typedef struct sv_tap {
    uint32_t low;
    uint32_t high;
    float fraction;
} sv_tap;

/* The source line floor((o + 0.5) * in / out) of line `o`. */
size_t sv_axis_nearest(size_t o, size_t in, size_t out);

/* Bilinear: s = (o + 0.5) * in / out - 0.5, clamped to the lines that there are. */
sv_tap sv_axis_bilinear(size_t o, size_t in, size_t out);

/* d c b a | a b c d | d c b a: v folded into 0..lines-1. Not-a-number becomes 0, as where a
 * coordinate has overflown. */
double sv_axis_reflect(double v, size_t lines);

#endif
