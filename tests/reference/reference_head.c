/* Finds the arrays of an attention head and the scale of its scores, with LSA's temperature: Lee,
 * Lee, Song 2021. */
#include "reference_head.h"

#include <math.h>

reference_head reference_find_head(const reference_attention_activations *of,
                                   const reference_attention_shape *shape, size_t image, size_t h)
{
    const size_t width = shape->heads * shape->head_dim, tokens = shape->tokens;
    reference_head found = {.qkv_stride = 3 * width, .o_stride = width};
    found.q = of->qkv + image * tokens * 3 * width + h * shape->head_dim;
    found.k = found.q + width;
    found.v = found.k + width;
    found.o = of->o + image * tokens * width + h * shape->head_dim;
    found.p = of->p + (image * shape->heads + h) * tokens * tokens;
    return found;
}

double reference_score_scale(const reference_attention_shape *shape, const double *temperature,
                             size_t h)
{
    switch (shape->temperature) {
    case REFERENCE_DIVIDE_BY_ONE:
        return 1 / temperature[0];
    case REFERENCE_MULTIPLY_FOR_EACH_HEAD:
        return temperature[h];
    default:
        return 1 / sqrt((double)shape->head_dim);
    }
}

void reference_score_scale_backward(double *dtemperature, const reference_attention_shape *shape,
                                    double dscale, double scale, size_t h)
{
    if (shape->temperature == REFERENCE_DIVIDE_BY_ONE)
        dtemperature[0] -= dscale * scale * scale;
    if (shape->temperature == REFERENCE_MULTIPLY_FOR_EACH_HEAD)
        dtemperature[h] += dscale;
}

double reference_dot(const double *a, const double *b, size_t elements)
{
    double sum = 0;
    for (size_t i = 0; i < elements; i++)
        sum += a[i] * b[i];
    return sum;
}

void reference_add_scaled(double *y, double factor, const double *x, size_t elements)
{
    for (size_t i = 0; i < elements; i++)
        y[i] += factor * x[i];
}
