/* Cuts feature maps into patches, and the backward. Compared with it: the patches of a ViT and of
 * shifted patch tokenization. */
#include "reference.h"

void reference_patch_padding(reference_patch_shape *shape, int same)
{
    const size_t size = shape->size, round_up = same ? size - 1 : 0;
    shape->rows = (shape->height + round_up) / size;
    shape->columns = (shape->width + round_up) / size;
    shape->top = same ? (shape->rows * size - shape->height) / 2 : 0;
    shape->left = same ? (shape->columns * size - shape->width) / 2 : 0;
}

ptrdiff_t reference_patch_pixel(const reference_patch_shape *shape, size_t image, size_t row,
                                size_t column)
{
    if (row < shape->top || row >= shape->top + shape->height || column < shape->left ||
        column >= shape->left + shape->width)
        return -1;
    const size_t line = image * shape->height + row - shape->top;
    return (ptrdiff_t)((line * shape->width + column - shape->left) * shape->channels);
}

/* x[images, height, width, channels] -> y[images, rows, columns, size, size, channels]
 *   y[n, row, column, ky, kx, c] = x[n, size row + ky - top, size column + kx - left, c] */
void reference_patch_rows(double *y, const double *x, const reference_patch_shape *shape)
{
    const size_t size = shape->size;
    for (size_t n = 0; n < shape->images; n++)
        for (size_t row = 0; row < shape->rows; row++)
            for (size_t column = 0; column < shape->columns; column++)
                for (size_t i = 0; i < size * size; i++) {
                    const size_t ky = i / size, kx = i % size;
                    const ptrdiff_t from =
                        reference_patch_pixel(shape, n, row * size + ky, column * size + kx);
                    for (size_t c = 0; c < shape->channels; c++)
                        *y++ = from < 0 ? 0 : x[from + (ptrdiff_t)c];
                }
}

/* dy -> dx.  Of y[n, row, column, ky, kx, c] = x[pixel, c]:
 *   dx[pixel, c] += dy[n, row, column, ky, kx, c] */
void reference_patch_rows_backward(double *dx, const double *dy, const reference_patch_shape *shape)
{
    const size_t size = shape->size;
    for (size_t n = 0; n < shape->images; n++)
        for (size_t row = 0; row < shape->rows; row++)
            for (size_t column = 0; column < shape->columns; column++)
                for (size_t i = 0; i < size * size; i++, dy += shape->channels) {
                    const size_t ky = i / size, kx = i % size;
                    const ptrdiff_t from =
                        reference_patch_pixel(shape, n, row * size + ky, column * size + kx);
                    for (size_t c = 0; from >= 0 && c < shape->channels; c++)
                        dx[from + (ptrdiff_t)c] += dy[c];
                }
}
