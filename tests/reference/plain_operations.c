/* The operations that the plain models share: linear maps, norms, activations, residuals. */
#include "plain_operations.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

plain_tensor *plain_add_part(plain_model *model, const char *prefix, const char *name,
                             const char *suffix, size_t out, size_t elements)
{
    char whole[96];
    snprintf(whole, sizeof whole, "%s%s", name, suffix);
    return plain_add_tensor(model, prefix, whole, out, elements);
}

plain_linear plain_add_linear(plain_model *model, const char *prefix, const char *name, size_t out,
                              size_t in, int has_bias)
{
    plain_linear map = {.out = out, .in = in};
    map.weight = plain_add_part(model, prefix, name, ".weight", out, out * in);
    map.bias = has_bias ? plain_add_part(model, prefix, name, ".bias", 0, out) : NULL;
    return map;
}

void plain_add_lora(plain_model *model, plain_linear *map, const char *prefix, const char *name)
{
    const size_t rank = map->rank = model->config.lora_rank;
    map->lora_scale = model->config.lora_alpha / (double)rank;
    map->lora_a = plain_add_part(model, prefix, name, ".lora_a", rank, rank * map->in);
    map->lora_b = plain_add_part(model, prefix, name, ".lora_b", map->out, map->out * rank);
    map->merged = plain_array(model, map->out * map->in);
    map->dmerged = plain_array(model, map->out * map->in);
}

/* Returns the weight that the map has: weight, or merged = weight + lora_scale * B A.
 * Hu et al. 2021. */
static const double *weight_forward(const plain_linear *map)
{
    for (size_t i = 0; map->rank > 0 && i < map->out * map->in; i++) {
        const size_t o = i / map->in, p = i % map->in;
        map->merged[i] = map->weight->value[i];
        for (size_t r = 0; r < map->rank; r++)
            map->merged[i] += map->lora_scale * map->lora_b->value[o * map->rank + r] *
                              map->lora_a->value[r * map->in + p];
    }
    return map->rank > 0 ? map->merged : map->weight->value;
}

/* dweight += dmerged;  dB += lora_scale * dmerged A^T;  dA += lora_scale * B^T dmerged */
static void weight_backward(const plain_linear *map)
{
    for (size_t i = 0; map->rank > 0 && i < map->out * map->in; i++) {
        const size_t o = i / map->in, p = i % map->in;
        const double d = map->lora_scale * map->dmerged[i];
        map->weight->gradient[i] += map->dmerged[i];
        for (size_t r = 0; r < map->rank; r++) {
            map->lora_b->gradient[o * map->rank + r] += d * map->lora_a->value[r * map->in + p];
            map->lora_a->gradient[r * map->in + p] += d * map->lora_b->value[o * map->rank + r];
        }
    }
}

/* y[i, o] = bias[o] + sum over p of x[i, p] weight[o, p] */
void plain_linear_forward(double *y, const double *x, const plain_linear *map, size_t rows)
{
    const size_t in = map->in;
    const double *weight = weight_forward(map);
    for (size_t i = 0; i < rows; i++)
        for (size_t o = 0; o < map->out; o++) {
            double sum = map->bias ? map->bias->value[o] : 0;
            for (size_t p = 0; p < in; p++)
                sum += x[i * in + p] * weight[o * in + p];
            y[i * map->out + o] = sum;
        }
}

/* dbias[o] += dy[i, o];  dweight[o, p] += dy[i, o] x[i, p]
 *   dx[i, p] = sum over o of dy[i, o] weight[o, p] */
void plain_linear_backward(double *dx, const double *dy, const double *x, const plain_linear *map,
                           size_t rows)
{
    const size_t in = map->in;
    const double *weight = weight_forward(map);
    double *dweight = map->rank > 0 ? map->dmerged : map->weight->gradient;
    memset(dx, 0, rows * in * sizeof *dx);
    if (map->rank > 0)
        memset(dweight, 0, map->out * in * sizeof *dweight);
    for (size_t i = 0; i < rows; i++)
        for (size_t o = 0; o < map->out; o++) {
            const double d = dy[i * map->out + o];
            if (map->bias)
                map->bias->gradient[o] += d;
            for (size_t p = 0; p < in; p++) {
                dweight[o * in + p] += d * x[i * in + p];
                dx[i * in + p] += d * weight[o * in + p];
            }
        }
    weight_backward(map);
}

plain_norm plain_add_norm(plain_model *model, const char *prefix, const char *name, size_t channels)
{
    plain_norm norm = {.channels = channels, .eps = model->config.norm_eps};
    norm.weight = plain_add_part(model, prefix, name, ".weight", 0, channels);
    if (!model->config.rms_norm)
        norm.bias = plain_add_part(model, prefix, name, ".bias", 0, channels);
    return norm;
}

/* mean and rstd = 1 / sqrt(variance + eps) of x[elements]; the variance is the biased one. Without
 * a bias the mean is not subtracted (Zhang, Sennrich 2019). */
static void moments(double *mean, double *rstd, const double *x, size_t elements,
                    const plain_norm *norm)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < elements && norm->bias; i++)
        sum += x[i];
    *mean = sum / (double)elements;
    for (size_t i = 0; i < elements; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    *rstd = 1 / sqrt(squares / (double)elements + norm->eps);
}

/* y = weight * xhat + bias,  xhat = (x - mean) * rstd.  Ba, Kiros, Hinton 2016; Wu, He 2018. */
void plain_norm_forward(double *y, const double *x, const plain_norm *norm, size_t groups,
                        size_t elements)
{
    if (!norm->weight) {
        plain_copy(y, x, groups * elements);
        return;
    }
    for (size_t g = 0; g < groups; g++, x += elements, y += elements) {
        double mean, rstd;
        moments(&mean, &rstd, x, elements, norm);
        for (size_t i = 0; i < elements; i++) {
            const size_t c = i % norm->channels;
            y[i] = norm->weight->value[c] * ((x[i] - mean) * rstd);
            y[i] += norm->bias ? norm->bias->value[c] : 0;
        }
    }
}

/* dweight += dy * xhat;  dbias += dy;  with dxhat = weight * dy:
 *   dx = rstd * (dxhat - average(dxhat) - xhat * average(dxhat * xhat))
 * without average(dxhat) if the mean is not subtracted.
 * Derivation: docs/derivations/layer-norm.md */
void plain_norm_backward(double *dx, const double *dy, const double *x, const plain_norm *norm,
                         size_t groups, size_t elements)
{
    if (!norm->weight) {
        plain_copy(dx, dy, groups * elements);
        return;
    }
    for (size_t g = 0; g < groups; g++, x += elements, dy += elements, dx += elements) {
        double mean, rstd, average = 0, average_xhat = 0;
        moments(&mean, &rstd, x, elements, norm);
        for (size_t i = 0; i < elements; i++) {
            const size_t c = i % norm->channels;
            const double xhat = (x[i] - mean) * rstd, dxhat = norm->weight->value[c] * dy[i];
            norm->weight->gradient[c] += dy[i] * xhat;
            if (norm->bias) {
                norm->bias->gradient[c] += dy[i];
                average += dxhat / (double)elements;
            }
            average_xhat += dxhat * xhat / (double)elements;
        }
        for (size_t i = 0; i < elements; i++) {
            const double xhat = (x[i] - mean) * rstd;
            const double dxhat = norm->weight->value[i % norm->channels] * dy[i];
            dx[i] = rstd * (dxhat - average - xhat * average_xhat);
        }
    }
}

void plain_norm_step(const plain_model *model, double *y, const double *x, const plain_norm *norm,
                     size_t groups, size_t elements)
{
    plain_norm_forward(y, x, norm, groups, elements);
    if (norm->weight)
        plain_step(model, y, groups * elements / norm->channels, norm->channels);
}

void plain_norm_step_backward(const plain_model *model, double *dx, const double *dy,
                              const double *x, const plain_norm *norm, size_t groups,
                              size_t elements)
{
    plain_norm_backward(dx, dy, x, norm, groups, elements);
    if (norm->weight)
        plain_step(model, dx, groups * elements / norm->channels, norm->channels);
}

/* GELU (Hendrycks, Gimpel 2016) is u Phi(u), with the distribution function Phi of the standard
 * normal distribution. Its tanh form is u / 2 (1 + tanh(z)), z = sqrt(2 / pi) (u + 0.044715 u^3);
 * quick GELU is u sigmoid(1.702 u). */
static double tanh_argument(double u)
{
    return sqrt(2 / acos(-1)) * (u + 0.044715 * u * u * u);
}

double plain_activation(double u, int32_t activation)
{
    switch (activation) {
    case SVIT_ACTIVATION_GELU_TANH:
        return u / 2 * (1 + tanh(tanh_argument(u)));
    case SVIT_ACTIVATION_QUICK_GELU:
        return u / (1 + exp(-1.702 * u));
    default:
        return u * erfc(-u / sqrt(2)) / 2;
    }
}

/* gelu'(u) = Phi(u) + u phi(u), with the density phi; the other forms by the product rule:
 *   tanh'(z) = 1 - tanh(z)^2;  sigmoid'(z) = sigmoid(z) (1 - sigmoid(z)) */
double plain_activation_derivative(double u, int32_t activation)
{
    const double pi = acos(-1);
    const double t = tanh(tanh_argument(u)), dz = sqrt(2 / pi) * (1 + 3 * 0.044715 * u * u);
    const double s = 1 / (1 + exp(-1.702 * u));
    switch (activation) {
    case SVIT_ACTIVATION_GELU_TANH:
        return (1 + t) / 2 + u / 2 * (1 - t * t) * dz;
    case SVIT_ACTIVATION_QUICK_GELU:
        return s + 1.702 * u * s * (1 - s);
    default:
        return erfc(-u / sqrt(2)) / 2 + u * exp(-u * u / 2) / sqrt(2 * pi);
    }
}

void plain_activation_forward(double *y, const double *u, size_t elements, int32_t activation)
{
    for (size_t i = 0; i < elements; i++)
        y[i] = plain_activation(u[i], activation);
}

void plain_activation_backward(double *du, const double *dy, const double *u, size_t elements,
                               int32_t activation)
{
    for (size_t i = 0; i < elements; i++)
        du[i] = dy[i] * plain_activation_derivative(u[i], activation);
}

/* y[rows, hidden] = silu(u) * w of x[rows, 2 hidden] = (u, w),  silu(u) = u sigmoid(u).
 * Shazeer 2020. */
void plain_swiglu_forward(double *y, const double *x, size_t rows, size_t hidden)
{
    for (size_t i = 0; i < rows * hidden; i++) {
        const size_t at = i / hidden * 2 * hidden + i % hidden;
        y[i] = x[at] / (1 + exp(-x[at])) * x[at + hidden];
    }
}

/* du = dy w silu'(u),  silu'(u) = s + u s (1 - s),  s = sigmoid(u);  dw = dy silu(u) */
void plain_swiglu_backward(double *dx, const double *dy, const double *x, size_t rows,
                           size_t hidden)
{
    for (size_t i = 0; i < rows * hidden; i++) {
        const size_t at = i / hidden * 2 * hidden + i % hidden;
        const double u = x[at], s = 1 / (1 + exp(-u));
        dx[at] = dy[i] * x[at + hidden] * (s + u * s * (1 - s));
        dx[at + hidden] = dy[i] * u * s;
    }
}

/* y = x + scale * branch, or x + branch without LayerScale.  Touvron et al. 2021. */
void plain_residual_forward(double *y, const double *x, const double *branch,
                            const plain_tensor *scale, size_t rows, size_t dim)
{
    for (size_t i = 0; i < rows * dim; i++)
        y[i] = x[i] + (scale ? scale->value[i % dim] : 1) * branch[i];
}

/* dbranch = scale * dy;  dscale += branch * dy;  dx = dy is left to the caller. */
void plain_residual_backward(double *dbranch, const double *dy, const double *branch,
                             const plain_tensor *scale, size_t rows, size_t dim)
{
    for (size_t i = 0; i < rows * dim; i++) {
        dbranch[i] = (scale ? scale->value[i % dim] : 1) * dy[i];
        if (scale)
            scale->gradient[i % dim] += branch[i] * dy[i];
    }
}

/* y[n, c] = sum over t of x[n, t, c] / tokens */
void plain_mean_forward(double *y, const double *x, size_t images, size_t tokens, size_t channels)
{
    memset(y, 0, images * channels * sizeof *y);
    for (size_t i = 0; i < images * tokens; i++)
        for (size_t c = 0; c < channels; c++)
            y[i / tokens * channels + c] += x[i * channels + c] / (double)tokens;
}

/* dx[n, t, c] = dy[n, c] / tokens */
void plain_mean_backward(double *dx, const double *dy, size_t images, size_t tokens,
                         size_t channels)
{
    for (size_t i = 0; i < images * tokens; i++)
        for (size_t c = 0; c < channels; c++)
            dx[i * channels + c] = dy[i / tokens * channels + c] / (double)tokens;
}

void plain_copy(double *y, const double *x, size_t elements)
{
    memcpy(y, x, elements * sizeof *y);
}

void plain_add(double *y, const double *x, size_t elements)
{
    for (size_t i = 0; i < elements; i++)
        y[i] += x[i];
}
