/* Position embeddings of another grid of patches. */
#include "models/load/load_internal.h"

#include <math.h>

/* Keys' kernel. PyTorch has a = -0.5 with antialiasing and -0.75 without. */
static double cubic(double x, double a)
{
    const double v = fabs(x);
    if (v < 1)
        return ((a + 2) * v - (a + 3)) * v * v + 1;
    return v < 2 ? (((v - 5) * v + 8) * v - 4) * a : 0;
}

/* The inputs that an output reads: a kernel of 2 inputs to each side. With antialiasing it is widened
 * by the scale where the axis shrinks, and ends at the edges; without it, inputs beyond the edges are
 * those at the edges. */
typedef struct taps {
    ptrdiff_t first, end, last; /* `last`: of the axis */
    double centre, widening, a;
} taps;

static taps taps_of(size_t o, size_t out, size_t in, bool antialias)
{
    const double scale = (double)in / (double)out, centre = scale * ((double)o + 0.5);
    const double widening = antialias ? fmax(scale, 1) : 1;
    taps t = {.last = (ptrdiff_t)in - 1, .centre = centre, .widening = widening, .a = -0.75};
    if (!antialias) {
        t.first = (ptrdiff_t)floor(centre - 0.5) - 1;
        t.end = t.first + 4;
        return t;
    }
    const double low = trunc(centre - 2 * widening + 0.5),
                 high = trunc(centre + 2 * widening + 0.5);
    t.first = low > 0 ? (ptrdiff_t)low : 0;
    t.end = high < (double)in ? (ptrdiff_t)high : (ptrdiff_t)in;
    t.a = -0.5;
    return t;
}

static double weight_of(const taps *t, ptrdiff_t j)
{
    return cubic(((double)j + 0.5 - t->centre) / t->widening, t->a);
}

static size_t within(const taps *t, ptrdiff_t j)
{
    return (size_t)(j < 0 ? 0 : j > t->last ? t->last : j);
}

/* One row of `c` channels: out = sum over j of w[j] in[j * stride], the weights normalised. */
static void mix(float *out, const float *in, size_t stride, const taps *t, size_t c)
{
    double total = 0;
    for (ptrdiff_t j = t->first; j < t->end; j++)
        total += weight_of(t, j);
    for (size_t i = 0; i < c; i++) {
        double sum = 0;
        for (ptrdiff_t j = t->first; j < t->end; j++)
            sum += weight_of(t, j) * in[within(t, j) * stride + i];
        out[i] = (float)(sum / total);
    }
}

void sv_position_resize(float *out, size_t out_height, size_t out_width, const float *in,
                        size_t height, size_t width, size_t c, bool antialias, float *temporary)
{
    for (size_t x = 0; x < out_width; x++) {
        taps t = taps_of(x, out_width, width, antialias);
        for (size_t y = 0; y < height; y++)
            mix(temporary + (y * out_width + x) * c, in + y * width * c, c, &t, c);
    }
    for (size_t y = 0; y < out_height; y++) {
        taps t = taps_of(y, out_height, height, antialias);
        for (size_t x = 0; x < out_width; x++)
            mix(out + (y * out_width + x) * c, temporary + x * c, out_width * c, &t, c);
    }
}
