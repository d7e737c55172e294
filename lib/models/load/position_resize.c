/* Position embeddings of another grid of patches. */
#include "models/load/load_internal.h"

#include <math.h>
#include <stdio.h>

sv_interpolation sv_position_interpolation(const sv_name_map *map, const sv_safetensors *file)
{
    char name[SV_TENSOR_NAME];
    for (const sv_interpolation_rule *rule = map->interpolations; rule && rule->tensor; rule++)
        for (const char *const *prefix = map->prefixes; *prefix; prefix++) {
            snprintf(name, sizeof name, "%s%s", *prefix, rule->tensor);
            const sv_safetensors_entry *entry = sv_safetensors_find(file, name);
            if (entry && entry->desc.rank == rule->rank)
                return rule->interpolation;
        }
    return map->interpolation;
}

/* Keys' kernel. PyTorch has a = -0.5 with antialiasing and -0.75 without. */
static double cubic(double x, double a)
{
    const double v = fabs(x);
    if (v < 1)
        return ((a + 2) * v - (a + 3)) * v * v + 1;
    return v < 2 ? (((v - 5) * v + 8) * v - 4) * a : 0;
}

/* The inputs that an output reads: a kernel of 2 inputs to each side, bilinearly 1. With
 * antialiasing it is widened by the scale where the axis shrinks, and ends at the edges; without
 * it, inputs beyond the edges are those at the edges. */
typedef struct taps {
    ptrdiff_t first, end, last; /* `last`: of the axis */
    double centre, widening;
    sv_interpolation interpolation;
} taps;

static taps taps_of(size_t o, size_t out, size_t in, sv_interpolation interpolation)
{
    const double scale = (double)in / (double)out, centre = scale * ((double)o + 0.5);
    taps t = {
        .last = (ptrdiff_t)in - 1, .centre = centre, .widening = 1, .interpolation = interpolation};
    if (interpolation == SV_BICUBIC) {
        t.first = (ptrdiff_t)floor(centre - 0.5) - 1;
        t.end = t.first + 4;
        return t;
    }
    t.widening = fmax(scale, 1);
    const double radius = (interpolation == SV_BILINEAR_ANTIALIASED ? 1 : 2) * t.widening;
    const double low = trunc(centre - radius + 0.5), high = trunc(centre + radius + 0.5);
    t.first = low > 0 ? (ptrdiff_t)low : 0;
    t.end = high < (double)in ? (ptrdiff_t)high : (ptrdiff_t)in;
    return t;
}

static double weight_of(const taps *t, ptrdiff_t j)
{
    const double x = ((double)j + 0.5 - t->centre) / t->widening;
    if (t->interpolation == SV_BILINEAR_ANTIALIASED)
        return fmax(1 - fabs(x), 0);
    return cubic(x, t->interpolation == SV_BICUBIC ? -0.75 : -0.5);
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
                        size_t height, size_t width, size_t c, sv_interpolation interpolation,
                        float *temporary)
{
    for (size_t x = 0; x < out_width; x++) {
        taps t = taps_of(x, out_width, width, interpolation);
        for (size_t y = 0; y < height; y++)
            mix(temporary + (y * out_width + x) * c, in + y * width * c, c, &t, c);
    }
    for (size_t y = 0; y < out_height; y++) {
        taps t = taps_of(y, out_height, height, interpolation);
        for (size_t x = 0; x < out_width; x++)
            mix(out + (y * out_width + x) * c, temporary + x * c, out_width * c, &t, c);
    }
}
