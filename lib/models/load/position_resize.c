/* Position embeddings of another grid of patches. */
#include "models/load/load_internal.h"

#include <math.h>

/* Keys' kernel with a = -0.5. */
static double cubic(double x)
{
    const double a = -0.5, v = fabs(x);
    if (v < 1)
        return ((a + 2) * v - (a + 3)) * v * v + 1;
    return v < 2 ? (((v - 5) * v + 8) * v - 4) * a : 0;
}

/* The inputs that an output reads: a kernel of 2 inputs to each side, widened by the scale where
 * the axis shrinks. */
typedef struct taps {
    size_t first, end;
    double centre, widening;
} taps;

static taps taps_of(size_t o, size_t out, size_t in)
{
    double scale = (double)in / (double)out;
    taps t = {.centre = scale * ((double)o + 0.5), .widening = fmax(scale, 1)};
    double low = trunc(t.centre - 2 * t.widening + 0.5),
           high = trunc(t.centre + 2 * t.widening + 0.5);
    t.first = low > 0 ? (size_t)low : 0;
    t.end = high < (double)in ? (size_t)high : in;
    return t;
}

static double weight_of(const taps *t, size_t j)
{
    return cubic(((double)j + 0.5 - t->centre) / t->widening);
}

/* One row of `c` channels: out = sum over j of w[j] in[j * stride], the weights normalised. */
static void mix(float *out, const float *in, size_t stride, const taps *t, size_t c)
{
    double total = 0;
    for (size_t j = t->first; j < t->end; j++)
        total += weight_of(t, j);
    for (size_t i = 0; i < c; i++) {
        double sum = 0;
        for (size_t j = t->first; j < t->end; j++)
            sum += weight_of(t, j) * in[j * stride + i];
        out[i] = (float)(sum / total);
    }
}

void sv_position_resize(float *out, size_t out_height, size_t out_width, const float *in,
                        size_t height, size_t width, size_t c, float *temporary)
{
    for (size_t x = 0; x < out_width; x++) {
        taps t = taps_of(x, out_width, width);
        for (size_t y = 0; y < height; y++)
            mix(temporary + (y * out_width + x) * c, in + y * width * c, c, &t, c);
    }
    for (size_t y = 0; y < out_height; y++) {
        taps t = taps_of(y, out_height, height);
        for (size_t x = 0; x < out_width; x++)
            mix(out + (y * out_width + x) * c, temporary + x * c, out_width * c, &t, c);
    }
}
