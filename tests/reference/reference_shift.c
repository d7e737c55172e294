/* The shift of ShiftViT and its backward. Wang, Zhao, Tang, Luo, Zeng 2022. Derivation of the
 * backward: docs/derivations/shift.md. Compared with it: the shift within the MLP blocks of the
 * library, which also skips the matmul operands that it fills with zeros. */
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
