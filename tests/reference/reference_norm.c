/* Layer norm and group norm, and their backward. Ba, Kiros, Hinton 2016; Wu, He 2018. Compared with
 * it: the norm layer, and the norms that inference fuses into patch embedding, patch merging, MLP
 * and attention blocks. */
#include "reference.h"

#include <math.h>

/* mean and rstd = 1 / sqrt(variance + eps) of x[elements]; the variance is the biased one. */
static void moments(double *mean, double *rstd, const double *x, size_t elements, double eps)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < elements; i++)
        sum += x[i];
    *mean = sum / (double)elements;
    for (size_t i = 0; i < elements; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    *rstd = 1 / sqrt(squares / (double)elements + eps);
}

/* x[groups, elements], weight[channels], bias[channels] -> y[groups, elements]
 *   y = weight * xhat + bias,  xhat = (x - mean) * rstd */
void reference_norm(double *y, const double *x, const double *weight, const double *bias,
                    const reference_norm_shape *shape)
{
    const size_t elements = shape->elements, channels = shape->channels;
    for (size_t g = 0; g < shape->groups; g++, x += elements, y += elements) {
        double mean, rstd;
        moments(&mean, &rstd, x, elements, shape->eps);
        for (size_t i = 0; i < elements; i++)
            y[i] = weight[i % channels] * ((x[i] - mean) * rstd) + bias[i % channels];
    }
}

/* dy[groups, elements] -> dx[groups, elements], dweight[channels], dbias[channels].  Of
 *   y = weight * xhat + bias,  xhat = (x - mean) * rstd,  with dxhat = weight * dy:
 *   dweight += dy * xhat;  dbias += dy
 *   dx += rstd * (dxhat - average(dxhat) - xhat * average(dxhat * xhat))
 * Derivation: docs/derivations/layer-norm.md */
void reference_norm_backward(double *dx, double *dweight, double *dbias, const double *dy,
                             const double *x, const double *weight,
                             const reference_norm_shape *shape)
{
    const size_t elements = shape->elements, channels = shape->channels;
    for (size_t g = 0; g < shape->groups; g++, x += elements, dy += elements, dx += elements) {
        double mean, rstd, average = 0, average_xhat = 0;
        moments(&mean, &rstd, x, elements, shape->eps);
        for (size_t i = 0; i < elements; i++) {
            const double xhat = (x[i] - mean) * rstd, dxhat = weight[i % channels] * dy[i];
            dweight[i % channels] += dy[i] * xhat;
            dbias[i % channels] += dy[i];
            average += dxhat / (double)elements;
            average_xhat += dxhat * xhat / (double)elements;
        }
        for (size_t i = 0; i < elements; i++) {
            const double xhat = (x[i] - mean) * rstd, dxhat = weight[i % channels] * dy[i];
            dx[i] += rstd * (dxhat - average - xhat * average_xhat);
        }
    }
}
