/* The attention block of a ViT, and its backward: a norm, the heads, a projection. Vaswani et al.
 * 2017. Compared with it: all paths of lib/layers/attention, which are the general one, with its
 * blocks of queries and recomputed scores, folded weights, and small M. */
#include "reference_head.h"

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
            const reference_head a = reference_find_head(saved, shape, n, h);
            reference_head_forward(&a, shape,
                                   reference_score_scale(shape, parameters->temperature, h));
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
            const reference_head a = reference_find_head(saved, shape, n, h),
                                 d = reference_find_head(dsaved, shape, n, h);
            const double scale = reference_score_scale(shape, parameters->temperature, h);
            const double dscale = reference_head_backward(&d, &a, shape, scale);
            reference_score_scale_backward(gradients->temperature, shape, dscale, scale, h);
        }
    reference_matmul_backward(dsaved->normalized, gradients->qkv_weight, gradients->qkv_bias, NULL,
                              dsaved->qkv, saved->normalized, parameters->qkv_weight, &plain, rows,
                              3 * width, channels);
    reference_norm_backward(dx, gradients->norm_weight, gradients->norm_bias, dsaved->normalized, x,
                            parameters->norm_weight, &norm);
}
