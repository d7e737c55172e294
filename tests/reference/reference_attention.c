/* The attention block of a ViT, with locality self-attention (LSA), and its backward. Vaswani et
 * al. 2017; Lee, Lee, Song 2021. Derivation: docs/derivations/attention.md */
#include "reference.h"

#include <math.h>

/* One head of one image: its queries, keys and values, a row of `stride` elements for each token,
 * its outputs and its attention weights. The same for their gradients. */
typedef struct head {
    double *q, *k, *v; /* [tokens, head_dim] */
    double *o;         /* [tokens, head_dim] */
    double *p;         /* [tokens, tokens] */
    size_t qkv_stride, o_stride;
} head;

static head find_head(const reference_attention_activations *of,
                      const reference_attention_shape *shape, size_t image, size_t h)
{
    const size_t width = shape->heads * shape->head_dim, tokens = shape->tokens;
    head found = {.qkv_stride = 3 * width, .o_stride = width};
    found.q = of->qkv + image * tokens * 3 * width + h * shape->head_dim;
    found.k = found.q + width;
    found.v = found.k + width;
    found.o = of->o + image * tokens * width + h * shape->head_dim;
    found.p = of->p + (image * shape->heads + h) * tokens * tokens;
    return found;
}

static double score_scale(const reference_attention_shape *shape, const double *temperature,
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

/* dscale -> dtemperature.  Of scale = 1 / temperature[0], scale = temperature[h], or a constant. */
static void score_scale_backward(double *dtemperature, const reference_attention_shape *shape,
                                 double dscale, double scale, size_t h)
{
    if (shape->temperature == REFERENCE_DIVIDE_BY_ONE)
        dtemperature[0] -= dscale * scale * scale;
    if (shape->temperature == REFERENCE_MULTIPLY_FOR_EACH_HEAD)
        dtemperature[h] += dscale;
}

static double dot(const double *a, const double *b, size_t elements)
{
    double sum = 0;
    for (size_t i = 0; i < elements; i++)
        sum += a[i] * b[i];
    return sum;
}

/* y[i] += factor * x[i] */
static void add_scaled(double *y, double factor, const double *x, size_t elements)
{
    for (size_t i = 0; i < elements; i++)
        y[i] += factor * x[i];
}

/* s[tokens] -> softmax(s), in place. A masked element has the score -infinity and becomes 0; if
 * there is no other element, it stays 0. */
static void softmax(double *s, size_t tokens)
{
    double largest = -INFINITY, sum = 0;
    for (size_t u = 0; u < tokens; u++)
        largest = fmax(largest, s[u]);
    for (size_t u = 0; u < tokens; u++)
        sum += s[u] = s[u] > -INFINITY ? exp(s[u] - largest) : 0;
    for (size_t u = 0; u < tokens; u++)
        s[u] /= sum > 0 ? sum : 1;
}

/* q, k, v -> o, p
 *   s[t, u] = scale * q[t] . k[u]    (masked: -infinity where t = u)
 *   p[t] = softmax(s[t]);  o[t] = sum_u p[t, u] v[u] */
static void head_forward(const head *a, const reference_attention_shape *shape, double scale)
{
    const size_t tokens = shape->tokens, head_dim = shape->head_dim;
    for (size_t t = 0; t < tokens; t++) {
        const double *q = a->q + t * a->qkv_stride;
        double *p = a->p + t * tokens, *o = a->o + t * a->o_stride;
        for (size_t u = 0; u < tokens; u++)
            p[u] = shape->masked && t == u ? -INFINITY
                                           : scale * dot(q, a->k + u * a->qkv_stride, head_dim);
        softmax(p, tokens);
        for (size_t i = 0; i < head_dim; i++)
            o[i] = 0;
        for (size_t u = 0; u < tokens; u++)
            add_scaled(o, p[u], a->v + u * a->qkv_stride, head_dim);
    }
}

/* do -> dq, dk, dv, and the gradient of scale is returned.  Of
 *   o[t] = sum_u p[t, u] v[u]:               dp[t, u] = do[t] . v[u];  dv[u] += p[t, u] do[t]
 *   p[t] = softmax(s[t]):                    ds[t] = p[t] * (dp[t] - p[t] . dp[t])
 *   s[t, u] = scale * q[t] . k[u]:           dq[t] += scale ds[t, u] k[u];  dk[u] likewise */
static double head_backward(const head *d, const head *a, const reference_attention_shape *shape,
                            double scale)
{
    const size_t tokens = shape->tokens, head_dim = shape->head_dim;
    double dscale = 0;
    for (size_t t = 0; t < tokens; t++) {
        const double *p = a->p + t * tokens, *dout = d->o + t * d->o_stride;
        const double *q = a->q + t * a->qkv_stride;
        double *dp = d->p + t * tokens;
        for (size_t u = 0; u < tokens; u++) {
            dp[u] = dot(dout, a->v + u * a->qkv_stride, head_dim);
            add_scaled(d->v + u * d->qkv_stride, p[u], dout, head_dim);
        }
        const double average = dot(p, dp, tokens);
        for (size_t u = 0; u < tokens; u++) {
            const double ds = p[u] * (dp[u] - average), *k = a->k + u * a->qkv_stride;
            dscale += ds * dot(q, k, head_dim);
            add_scaled(d->q + t * d->qkv_stride, scale * ds, k, head_dim);
            add_scaled(d->k + u * d->qkv_stride, scale * ds, q, head_dim);
        }
    }
    return dscale;
}

static reference_norm_shape norm_of(const reference_attention_shape *shape)
{
    return (reference_norm_shape){shape->images * shape->tokens, shape->channels, shape->channels,
                                  shape->eps};
}

/* x[images, tokens, channels] -> y[images, tokens, channels]
 *   qkv = norm(x) qkv_weight^T + qkv_bias;  o = heads(qkv);  y = x + o proj_weight^T + proj_bias */
void reference_attention(double *y, const reference_attention_activations *saved, const double *x,
                         const reference_attention_parameters *parameters,
                         const reference_attention_shape *shape)
{
    const size_t rows = shape->images * shape->tokens, channels = shape->channels;
    const size_t width = shape->heads * shape->head_dim;
    const reference_norm_shape norm = norm_of(shape);
    const reference_epilogue qkv = {.bias = parameters->qkv_bias};
    const reference_epilogue proj = {.bias = parameters->proj_bias, .residual = x};
    reference_norm(saved->normalized, x, parameters->norm_weight, parameters->norm_bias, &norm);
    reference_matmul(saved->qkv, saved->normalized, parameters->qkv_weight, &qkv, rows, 3 * width,
                     channels);
    for (size_t n = 0; n < shape->images; n++)
        for (size_t h = 0; h < shape->heads; h++) {
            const head a = find_head(saved, shape, n, h);
            head_forward(&a, shape, score_scale(shape, parameters->temperature, h));
        }
    if (parameters->proj_weight)
        reference_matmul(y, saved->o, parameters->proj_weight, &proj, rows, channels, width);
    else
        for (size_t i = 0; i < rows * channels; i++)
            y[i] = x[i] + saved->o[i];
}

/* dy[images, tokens, channels] -> dx and the parameters' gradients.  Of
 *   y = x + o proj_weight^T + proj_bias;  o = heads(qkv);
 *   qkv = norm(x) qkv_weight^T + qkv_bias, in this order. */
void reference_attention_backward(double *dx, const reference_attention_parameters *gradients,
                                  const reference_attention_activations *dsaved, const double *dy,
                                  const double *x, const reference_attention_activations *saved,
                                  const reference_attention_parameters *parameters,
                                  const reference_attention_shape *shape)
{
    const size_t rows = shape->images * shape->tokens, channels = shape->channels;
    const size_t width = shape->heads * shape->head_dim;
    const reference_norm_shape norm = norm_of(shape);
    const reference_epilogue plain = {.bias = NULL};
    if (parameters->proj_weight)
        reference_matmul_backward(dsaved->o, gradients->proj_weight, gradients->proj_bias, dx, dy,
                                  saved->o, parameters->proj_weight, &plain, rows, channels, width);
    else
        for (size_t i = 0; i < rows * channels; i++) {
            dx[i] += dy[i];
            dsaved->o[i] += dy[i];
        }
    for (size_t n = 0; n < shape->images; n++)
        for (size_t h = 0; h < shape->heads; h++) {
            const head a = find_head(saved, shape, n, h), d = find_head(dsaved, shape, n, h);
            const double scale = score_scale(shape, parameters->temperature, h);
            const double dscale = head_backward(&d, &a, shape, scale);
            score_scale_backward(gradients->temperature, shape, dscale, scale, h);
        }
    reference_matmul_backward(dsaved->normalized, gradients->qkv_weight, gradients->qkv_bias, NULL,
                              dsaved->qkv, saved->normalized, parameters->qkv_weight, &plain, rows,
                              3 * width, channels);
    reference_norm_backward(dx, gradients->norm_weight, gradients->norm_bias, dsaved->normalized, x,
                            parameters->norm_weight, &norm);
}
