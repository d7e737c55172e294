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

/* A filter: its weight at a distance in lines, and the distance from which on it is 0. */
typedef struct sv_filter {
    double (*weight)(double x);
    double support;
} sv_filter;

/* 1 - |x|, the filter of antialiased bilinear interpolation. */
extern const sv_filter sv_filter_triangle;

/* The input lines that an output line combines: `count` of them from `first` on. */
typedef struct sv_window {
    size_t first, count;
    double centre, slope, sum;
} sv_window;

/* The window of the output line with the centre (position + 0.5) * scale in input lines, of which
 * there are `in`. `scale` is input lines for an output line; the filter stretches if it is above 1.
 * Sums are in Pillow's order, so that weights have the same bits. */
sv_window sv_axis_window(const sv_filter *filter, size_t position, double scale, size_t in);

/* The weight of line first + i of the window; those of all lines have the sum 1. */
double sv_window_weight(const sv_window *window, const sv_filter *filter, size_t i);

/* Reflects the coordinate v into 0..lines-1, as in d c b a | a b c d | d c b a. NaN, which an
 * overflown coordinate gives, becomes 0. */
double sv_axis_reflect(double v, size_t lines);

#endif
