/* What the plain models read images and feature maps with: convolutions and patches. Shifted patch
 * tokenization (SPT): Lee, Lee, Song 2021. */
#include "plain_operations.h"

#include <string.h>

plain_convolution plain_add_convolution(plain_model *model, const char *prefix, const char *name,
                                        plain_convolution shape, int has_bias)
{
    const size_t taps = shape.size * shape.size;
    shape.weight = plain_add_part(model, prefix, name, ".weight", shape.out,
                                  shape.out * shape.channels * taps);
    shape.bias = has_bias ? plain_add_part(model, prefix, name, ".bias", 0, shape.out) : NULL;
    return shape;
}

/* The index in x of channel 0 of the pixel that tap (ky, kx) of output pixel (row, column) reads;
 * -1: it reads a zero of the padding. */
static ptrdiff_t tap_pixel(const plain_convolution *of, size_t image, size_t row, size_t column,
                           size_t ky, size_t kx)
{
    const size_t h = row * of->stride + ky, w = column * of->stride + kx; /* of the padded map */
    if (h < of->top || h >= of->top + of->height || w < of->left || w >= of->left + of->width)
        return -1;
    return (ptrdiff_t)(((image * of->height + h - of->top) * of->width + w - of->left) *
                       of->channels);
}

/* y[row, column, o] = bias[o] + sum over ky, kx, c of
 *     x[stride row + ky - top, stride column + kx - left, c] weight[o, c, ky, kx] */
void plain_convolution_forward(double *y, const double *x, const plain_convolution *of)
{
    const size_t size = of->size, taps = size * size, pixels = of->rows * of->columns;
    for (size_t i = 0; i < of->images * pixels; i++, y += of->out) {
        for (size_t o = 0; o < of->out; o++)
            y[o] = of->bias ? of->bias->value[o] : 0;
        for (size_t tap = 0; tap < taps; tap++) {
            const ptrdiff_t from = tap_pixel(of, i / pixels, i % pixels / of->columns,
                                             i % of->columns, tap / size, tap % size);
            for (size_t c = 0; from >= 0 && c < of->channels; c++)
                for (size_t o = 0; o < of->out; o++)
                    y[o] += x[from + (ptrdiff_t)c] *
                            of->weight->value[(o * of->channels + c) * taps + tap];
        }
    }
}

/* dbias[o] += dy[.., o];  dweight[o, c, ky, kx] += x[..] dy[.., o]
 *   dx[..] += sum over o of weight[o, c, ky, kx] dy[.., o] */
void plain_convolution_backward(double *dx, const double *dy, const double *x,
                                const plain_convolution *of)
{
    const size_t size = of->size, taps = size * size, pixels = of->rows * of->columns;
    memset(dx, 0, of->images * of->height * of->width * of->channels * sizeof *dx);
    for (size_t i = 0; i < of->images * pixels; i++, dy += of->out) {
        for (size_t o = 0; of->bias && o < of->out; o++)
            of->bias->gradient[o] += dy[o];
        for (size_t tap = 0; tap < taps; tap++) {
            const ptrdiff_t from = tap_pixel(of, i / pixels, i % pixels / of->columns,
                                             i % of->columns, tap / size, tap % size);
            for (size_t c = 0; from >= 0 && c < of->channels; c++)
                for (size_t o = 0; o < of->out; o++) {
                    const size_t w = (o * of->channels + c) * taps + tap;
                    of->weight->gradient[w] += x[from + (ptrdiff_t)c] * dy[o];
                    dx[from + (ptrdiff_t)c] += of->weight->value[w] * dy[o];
                }
        }
    }
}

/* Where in x the value comes from that becomes y[patch, ky, kx, copy, c] of an image; -1: a zero.
 * The copies are the image itself, then left-up, left-down, right-up, right-down by half a patch;
 * the paper's code has right-down, left-down, right-up, left-up. Left-up is
 * x[h + half, w + half]. */
static ptrdiff_t patch_source(const plain_patches *of, size_t patch, size_t element)
{
    static const int rows[2][5] = {{0, 1, -1, 1, -1}, {0, -1, -1, 1, 1}};
    static const int columns[2][5] = {{0, 1, 1, -1, -1}, {0, -1, 1, -1, 1}};
    const size_t across = of->width / of->size, c = element % of->channels;
    const size_t copy = element / of->channels % of->copies;
    const size_t pixel = element / of->channels / of->copies;
    const ptrdiff_t half = (ptrdiff_t)of->size / 2, height = (ptrdiff_t)of->height;
    const ptrdiff_t h = (ptrdiff_t)(patch / across * of->size + pixel / of->size) +
                        half * rows[of->paper_order][copy];
    const ptrdiff_t w = (ptrdiff_t)(patch % across * of->size + pixel % of->size) +
                        half * columns[of->paper_order][copy];
    if (h < 0 || h >= height || w < 0 || w >= (ptrdiff_t)of->width)
        return -1;
    return (h * (ptrdiff_t)of->width + w) * (ptrdiff_t)of->channels + (ptrdiff_t)c;
}

/* x[images, height, width, channels] -> y[images, patches, size, size, copies, channels] */
void plain_patches_forward(double *y, const double *x, const plain_patches *of)
{
    const size_t patches = (of->height / of->size) * (of->width / of->size);
    for (size_t n = 0; n < of->images; n++, x += of->height * of->width * of->channels)
        for (size_t t = 0; t < patches; t++)
            for (size_t i = 0; i < of->size * of->size * of->copies * of->channels; i++) {
                const ptrdiff_t from = patch_source(of, t, i);
                *y++ = from < 0 ? 0 : x[from];
            }
}

/* dx[source(i)] += dy[i], from 0. */
void plain_patches_backward(double *dx, const double *dy, const plain_patches *of)
{
    const size_t patches = (of->height / of->size) * (of->width / of->size);
    memset(dx, 0, of->images * of->height * of->width * of->channels * sizeof *dx);
    for (size_t n = 0; n < of->images; n++, dx += of->height * of->width * of->channels)
        for (size_t t = 0; t < patches; t++)
            for (size_t i = 0; i < of->size * of->size * of->copies * of->channels; i++, dy++) {
                const ptrdiff_t from = patch_source(of, t, i);
                if (from >= 0)
                    dx[from] += *dy;
            }
}
