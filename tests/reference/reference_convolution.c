/* Patch embedding and patch merging, which are convolutions whose stride is the kernel's side, and
 * their backward. Patch merging is reference_norm, then reference_convolution with patches of 2 x 2
 * pixels and no bias. Compared with it: lib/layers/patch_embedding.c, also fused with its norm. */
#include "reference.h"

/* The output of one patch, from the pixel (top, left) of the padded map: y[out] += x weight. */
static void patch_forward(double *y, const double *x, const double *weight,
                          const reference_patch_shape *shape, size_t out, size_t image, size_t top,
                          size_t left)
{
    const size_t size = shape->size, channels = shape->channels;
    for (size_t ky = 0; ky < size; ky++)
        for (size_t kx = 0; kx < size; kx++) {
            const ptrdiff_t from = reference_patch_pixel(shape, image, top + ky, left + kx);
            for (size_t c = 0; from >= 0 && c < channels; c++)
                for (size_t o = 0; o < out; o++)
                    y[o] += x[from + (ptrdiff_t)c] *
                            weight[((o * channels + c) * size + ky) * size + kx];
        }
}

/* The gradients of one patch, from its dy[out]. */
static void patch_backward(double *dx, double *dweight, const double *dy, const double *x,
                           const double *weight, const reference_patch_shape *shape, size_t out,
                           size_t image, size_t top, size_t left)
{
    const size_t size = shape->size, channels = shape->channels;
    for (size_t ky = 0; ky < size; ky++)
        for (size_t kx = 0; kx < size; kx++) {
            const ptrdiff_t from = reference_patch_pixel(shape, image, top + ky, left + kx);
            for (size_t c = 0; from >= 0 && c < channels; c++)
                for (size_t o = 0; o < out; o++) {
                    const size_t w = ((o * channels + c) * size + ky) * size + kx;
                    dweight[w] += x[from + (ptrdiff_t)c] * dy[o];
                    dx[from + (ptrdiff_t)c] += weight[w] * dy[o];
                }
        }
}

/* x[images, height, width, channels], weight[out, channels, size, size], bias[out]
 * -> y[images, rows, columns, out]
 *   y[row, column, o] = bias[o] + sum over ky, kx, c of
 *                       x[size row + ky - top, size column + kx - left, c] weight[o, c, ky, kx] */
void reference_convolution(double *y, const double *x, const double *weight, const double *bias,
                           const reference_patch_shape *shape, size_t out)
{
    for (size_t n = 0; n < shape->images; n++)
        for (size_t row = 0; row < shape->rows; row++)
            for (size_t column = 0; column < shape->columns; column++, y += out) {
                for (size_t o = 0; o < out; o++)
                    y[o] = bias ? bias[o] : 0;
                patch_forward(y, x, weight, shape, out, n, row * shape->size, column * shape->size);
            }
}

/* dy[images, rows, columns, out] -> dx, dweight, dbias.  Of
 *   y[.., o] = bias[o] + sum x[..] weight[o, c, ky, kx]:
 *   dbias[o] += dy[.., o];  dweight[o, c, ky, kx] += x[..] dy[.., o]
 *   dx[..] += sum over o of weight[o, c, ky, kx] dy[.., o] */
void reference_convolution_backward(double *dx, double *dweight, double *dbias, const double *dy,
                                    const double *x, const double *weight,
                                    const reference_patch_shape *shape, size_t out)
{
    for (size_t n = 0; n < shape->images; n++)
        for (size_t row = 0; row < shape->rows; row++)
            for (size_t column = 0; column < shape->columns; column++, dy += out) {
                for (size_t o = 0; dbias && o < out; o++)
                    dbias[o] += dy[o];
                patch_backward(dx, dweight, dy, x, weight, shape, out, n, row * shape->size,
                               column * shape->size);
            }
}
