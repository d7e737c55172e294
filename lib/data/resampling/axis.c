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
