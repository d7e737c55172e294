/* The copies of shifted patch tokenization (SPT), and their backward. Lee, Lee, Song 2021. The
 * tokenization is reference_spt_copies, reference_patch_rows, reference_norm and reference_matmul.
 * Compared with it: lib/layers/shifted_patches.c, which does not store the copies. */
#include "reference.h"

enum { COPIES = 5 };

/* The index in x of the value that becomes y[image, row, column, copy, channel]; -1: it is zero.
 * The copies are the image itself, left-up, left-down, right-up, right-down; the paper's code has
 * them in the opposite order: right-down, left-down, right-up, left-up. */
static ptrdiff_t copy_source(const reference_spt_shape *shape, size_t image, size_t row,
                             size_t column, size_t copy, size_t channel)
{
    static const int keras_rows[COPIES] = {0, 1, -1, 1, -1};
    static const int keras_columns[COPIES] = {0, 1, 1, -1, -1};
    static const int paper_rows[COPIES] = {0, -1, -1, 1, 1};
    static const int paper_columns[COPIES] = {0, -1, 1, -1, 1};
    const int down = shape->paper_order ? paper_rows[copy] : keras_rows[copy];
    const int right = shape->paper_order ? paper_columns[copy] : keras_columns[copy];
    const ptrdiff_t height = (ptrdiff_t)shape->height, width = (ptrdiff_t)shape->width;
    const ptrdiff_t from_row = (ptrdiff_t)row + down * (ptrdiff_t)shape->half;
    const ptrdiff_t from_column = (ptrdiff_t)column + right * (ptrdiff_t)shape->half;
    if (from_row < 0 || from_row >= height || from_column < 0 || from_column >= width)
        return -1;
    return (((ptrdiff_t)image * height + from_row) * width + from_column) *
               (ptrdiff_t)shape->channels +
           (ptrdiff_t)channel;
}

/* x[images, height, width, channels] -> y[images, height, width, 5, channels]; left-up is
 *   y[h, w] = x[h + half, w + half], the other copies likewise, zero outside of x. */
void reference_spt_copies(double *y, const double *x, const reference_spt_shape *shape)
{
    for (size_t n = 0; n < shape->images; n++)
        for (size_t h = 0; h < shape->height; h++)
            for (size_t w = 0; w < shape->width; w++)
                for (size_t i = 0; i < COPIES * shape->channels; i++) {
                    ptrdiff_t from =
                        copy_source(shape, n, h, w, i / shape->channels, i % shape->channels);
                    *y++ = from < 0 ? 0 : x[from];
                }
}

/* dy -> dx.  Of y[i] = x[source(i)]:  dx[source(i)] += dy[i] */
void reference_spt_copies_backward(double *dx, const double *dy, const reference_spt_shape *shape)
{
    for (size_t n = 0; n < shape->images; n++)
        for (size_t h = 0; h < shape->height; h++)
            for (size_t w = 0; w < shape->width; w++)
                for (size_t i = 0; i < COPIES * shape->channels; i++, dy++) {
                    ptrdiff_t from =
                        copy_source(shape, n, h, w, i / shape->channels, i % shape->channels);
                    if (from >= 0)
                        dx[from] += *dy;
                }
}
