/* The token MLP of an MLP-Mixer, and its backward: the MLP acts on the tokens of each channel.
 * Tolstikhin et al. 2021. Compared with it: lib/layers/token_mlp.c. */
#include "reference.h"

static reference_norm_shape norm_of(const reference_token_mlp_shape *shape)
{
    return (reference_norm_shape){shape->images * shape->tokens, shape->channels, shape->channels,
                                  shape->eps};
}

/* y[image, j, i] += x[image, i, j] */
static void add_transposed(double *y, const double *x, size_t images, size_t rows, size_t columns)
{
    for (size_t n = 0; n < images; n++, x += rows * columns, y += rows * columns)
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < columns; j++)
                y[j * rows + i] += x[i * columns + j];
}

static void clear(double *x, size_t elements)
{
    for (size_t i = 0; i < elements; i++)
        x[i] = 0;
}

/* x[images, tokens, channels] -> y[images, tokens, channels]
 *   normalized = norm(x);  normalized_t = normalized^T
 *   hidden = gelu(fc1(normalized_t));  branch_t = fc2(hidden);  y = x + branch_t^T */
void reference_token_mlp(double *y, const reference_token_mlp_activations *saved, const double *x,
                         const reference_block_parameters *parameters,
                         const reference_token_mlp_shape *shape)
{
    const size_t tokens = shape->tokens, channels = shape->channels, hidden = shape->hidden;
    const size_t elements = shape->images * tokens * channels, rows = shape->images * channels;
    const reference_norm_shape norm = norm_of(shape);
    const reference_epilogue fc1 = {.bias = parameters->fc1_bias, .pre_gelu = saved->pre_gelu};
    const reference_epilogue fc2 = {.bias = parameters->fc2_bias};
    reference_norm(saved->normalized, x, parameters->norm_weight, parameters->norm_bias, &norm);
    clear(saved->normalized_t, elements);
    add_transposed(saved->normalized_t, saved->normalized, shape->images, tokens, channels);
    reference_matmul(saved->hidden, saved->normalized_t, parameters->fc1_weight, &fc1, rows, hidden,
                     tokens);
    reference_matmul(saved->branch_t, saved->hidden, parameters->fc2_weight, &fc2, rows, tokens,
                     hidden);
    for (size_t i = 0; i < elements; i++)
        y[i] = x[i];
    add_transposed(y, saved->branch_t, shape->images, channels, tokens);
}

/* dy[images, tokens, channels] -> dx and the parameters' gradients.  Of
 *   y = x + branch_t^T;  branch_t = fc2(hidden);  hidden = gelu(fc1(normalized_t));
 *   normalized_t = norm(x)^T, in this order. */
void reference_token_mlp_backward(double *dx, const reference_block_parameters *gradients,
                                  const reference_token_mlp_activations *dsaved, const double *dy,
                                  const double *x, const reference_token_mlp_activations *saved,
                                  const reference_block_parameters *parameters,
                                  const reference_token_mlp_shape *shape)
{
    const size_t tokens = shape->tokens, channels = shape->channels, hidden = shape->hidden;
    const size_t elements = shape->images * tokens * channels, rows = shape->images * channels;
    const reference_norm_shape norm = norm_of(shape);
    const reference_epilogue fc1 = {.pre_gelu = saved->pre_gelu};
    const reference_epilogue fc2 = {.bias = NULL};
    for (size_t i = 0; i < elements; i++)
        dx[i] += dy[i];
    add_transposed(dsaved->branch_t, dy, shape->images, tokens, channels);
    reference_matmul_backward(dsaved->hidden, gradients->fc2_weight, gradients->fc2_bias, NULL,
                              dsaved->branch_t, saved->hidden, parameters->fc2_weight, &fc2, rows,
                              tokens, hidden);
    reference_matmul_backward(dsaved->normalized_t, gradients->fc1_weight, gradients->fc1_bias,
                              NULL, dsaved->hidden, saved->normalized_t, parameters->fc1_weight,
                              &fc1, rows, hidden, tokens);
    add_transposed(dsaved->normalized, dsaved->normalized_t, shape->images, channels, tokens);
    reference_norm_backward(dx, gradients->norm_weight, gradients->norm_bias, dsaved->normalized, x,
                            parameters->norm_weight, &norm);
}
