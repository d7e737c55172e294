/* The shift block of ShiftViT, the MLP block of a ViT, and their backward. Wang, Zhao, Tang, Luo,
 * Zeng 2022. Compared with it: all paths of lib/layers/mlp, which are the general one, small M,
 * zero skipping, chunks of images in the backward, and the head fused with the last block. */
#include "reference.h"

static size_t block_tokens(const reference_block_shape *shape)
{
    return shape->shift.images * shape->shift.height * shape->shift.width;
}

static reference_norm_shape block_norm(const reference_block_shape *shape)
{
    const reference_shift_shape *map = &shape->shift;
    if (shape->group_norm)
        return (reference_norm_shape){map->images, map->height * map->width * map->channels,
                                      map->channels, shape->eps};
    return (reference_norm_shape){block_tokens(shape), map->channels, map->channels, shape->eps};
}

/* x[tokens, channels] -> y[tokens, channels]
 *   x_shifted = shift(x);  normalized = norm(x_shifted)
 *   hidden = gelu(fc1(normalized))
 *   y = x_shifted + fc2(hidden)    (last_gelu: y = x_shifted + gelu(fc2(hidden))) */
void reference_block(double *y, const reference_block_activations *saved, const double *x,
                     const reference_block_parameters *parameters,
                     const reference_block_shape *shape)
{
    const size_t tokens = block_tokens(shape), channels = shape->shift.channels;
    const reference_norm_shape norm = block_norm(shape);
    const reference_epilogue fc1 = {.bias = parameters->fc1_bias, .pre_gelu = saved->pre_gelu};
    const reference_epilogue fc2 = {.bias = parameters->fc2_bias,
                                    .pre_gelu = shape->last_gelu ? saved->last_pre_gelu : NULL,
                                    .residual = saved->x_shifted};
    reference_shift(saved->x_shifted, x, &shape->shift);
    reference_norm(saved->normalized, saved->x_shifted, parameters->norm_weight,
                   parameters->norm_bias, &norm);
    reference_matmul(saved->hidden, saved->normalized, parameters->fc1_weight, &fc1, tokens,
                     shape->hidden, channels);
    reference_matmul(y, saved->hidden, parameters->fc2_weight, &fc2, tokens, channels,
                     shape->hidden);
}

/* dy[tokens, channels] -> dx[tokens, channels] and the parameters' gradients.  Of
 *   y = x_shifted + fc2(hidden);  hidden = gelu(fc1(normalized));
 *   normalized = norm(x_shifted);  x_shifted = shift(x), in this order. */
void reference_block_backward(double *dx, const reference_block_parameters *gradients,
                              const reference_block_activations *dsaved, const double *dy,
                              const reference_block_activations *saved,
                              const reference_block_parameters *parameters,
                              const reference_block_shape *shape)
{
    const size_t tokens = block_tokens(shape), channels = shape->shift.channels;
    const reference_norm_shape norm = block_norm(shape);
    const reference_epilogue fc1 = {.pre_gelu = saved->pre_gelu};
    const reference_epilogue fc2 = {.pre_gelu = shape->last_gelu ? saved->last_pre_gelu : NULL};
    reference_matmul_backward(dsaved->hidden, gradients->fc2_weight, gradients->fc2_bias,
                              dsaved->x_shifted, dy, saved->hidden, parameters->fc2_weight, &fc2,
                              tokens, channels, shape->hidden);
    reference_matmul_backward(dsaved->normalized, gradients->fc1_weight, gradients->fc1_bias, NULL,
                              dsaved->hidden, saved->normalized, parameters->fc1_weight, &fc1,
                              tokens, shape->hidden, channels);
    reference_norm_backward(dsaved->x_shifted, gradients->norm_weight, gradients->norm_bias,
                            dsaved->normalized, saved->x_shifted, parameters->norm_weight, &norm);
    reference_shift_backward(dx, dsaved->x_shifted, &shape->shift);
}
