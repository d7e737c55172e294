/* The source coordinates of resampling along one axis. */
#include "data/resampling/axis.h"

#include <math.h>

size_t sv_axis_nearest(size_t o, size_t in, size_t out)
{
    return (2 * o + 1) * in / (2 * out);
}

sv_tap sv_axis_bilinear(size_t o, size_t in, size_t out)
{
    double s = ((double)o + 0.5) * (double)in / (double)out - 0.5;
    double last = (double)(in - 1);
    s = s < 0 ? 0 : s > last ? last : s;
    uint32_t low = (uint32_t)s;
    uint32_t high = low + 1 < in ? low + 1 : low;
    return (sv_tap){.low = low, .high = high, .fraction = (float)(s - (double)low)};
}

double sv_axis_reflect(double v, size_t lines)
{
    double n = (double)lines;
    if (v < 0)
        v = -v - 1;
    v = fmod(v, 2 * n);
    if (v >= n)
        v = 2 * n - v - 1;
    if (!(v > 0))
        return 0;
    return v < n - 1 ? v : n - 1;
}

static double triangle(double x)
{
    x = fabs(x);
    return x < 1 ? 1 - x : 0;
}

const sv_filter sv_filter_triangle = {triangle, 1};

/* The filter at a line of the input. */
static double weight_at(const sv_window *window, const sv_filter *filter, size_t line)
{
    return filter->weight(((double)line - window->centre + 0.5) * window->slope);
}

sv_window sv_axis_window(const sv_filter *filter, size_t position, double scale, size_t in)
{
    const double stretch = scale < 1 ? 1 : scale;
    const double support = filter->support * stretch;
    sv_window window = {.centre = ((double)position + 0.5) * scale, .slope = 1 / stretch};
    const double low = window.centre - support + 0.5, high = window.centre + support + 0.5;
    window.first = low > 0 ? (size_t)low : 0;
    window.count = (high < (double)in ? (size_t)high : in) - window.first;
    for (size_t i = 0; i < window.count; i++)
        window.sum += weight_at(&window, filter, window.first + i);
    return window;
}

double sv_window_weight(const sv_window *window, const sv_filter *filter, size_t i)
{
    return weight_at(window, filter, window->first + i) / window->sum;
}
