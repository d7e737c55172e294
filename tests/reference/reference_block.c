/* The shift block of ShiftViT, the MLP block of a ViT, and their backward. Wang, Zhao, Tang, Luo,
 * Zeng 2022. Derivation of the shift's backward: docs/derivations/shift.md */
#include "reference.h"

/* The index in x of the element that becomes y[image, row, column, channel]; -1: it becomes zero.
 * Groups 0 to 3 move left, right, up and down; the channels after them stay. */
static ptrdiff_t shift_source(const reference_shift_shape *shape, size_t image, size_t row,
                              size_t column, size_t channel)
{
    static const int row_step[5] = {0, 0, 1, -1, 0}, column_step[5] = {1, -1, 0, 0, 0};
    const int group = channel < 4 * shape->group ? (int)(channel / shape->group) : 4;
    const ptrdiff_t pixels = (ptrdiff_t)shape->pixels;
    const ptrdiff_t height = (ptrdiff_t)shape->height, width = (ptrdiff_t)shape->width;
    ptrdiff_t from_row = (ptrdiff_t)row + row_step[group] * pixels;
    ptrdiff_t from_column = (ptrdiff_t)column + column_step[group] * pixels;
    if (from_row < 0 || from_row >= height || from_column < 0 || from_column >= width)
        return -1;
    if (shape->crop) {
        from_row = (ptrdiff_t)row;
        from_column = (ptrdiff_t)column;
    }
    return (((ptrdiff_t)image * height + from_row) * width + from_column) *
               (ptrdiff_t)shape->channels +
           (ptrdiff_t)channel;
}

/* x[images, height, width, channels] -> y, with p = pixels:
 *   y[h, w] = x[h, w + p], x[h, w - p], x[h + p, w], x[h - p, w] for the four groups, x[h, w] else
 */
void reference_shift(double *y, const double *x, const reference_shift_shape *shape)
{
    for (size_t n = 0; n < shape->images; n++)
        for (size_t h = 0; h < shape->height; h++)
            for (size_t w = 0; w < shape->width; w++)
                for (size_t c = 0; c < shape->channels; c++) {
                    ptrdiff_t from = shift_source(shape, n, h, w, c);
                    *y++ = from < 0 ? 0 : x[from];
                }
}

/* dy -> dx.  Of y[i] = x[source(i)]:  dx[source(i)] += dy[i] */
void reference_shift_backward(double *dx, const double *dy, const reference_shift_shape *shape)
{
    for (size_t n = 0; n < shape->images; n++)
        for (size_t h = 0; h < shape->height; h++)
            for (size_t w = 0; w < shape->width; w++)
                for (size_t c = 0; c < shape->channels; c++, dy++) {
                    ptrdiff_t from = shift_source(shape, n, h, w, c);
                    if (from >= 0)
                        dx[from] += *dy;
                }
}

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
