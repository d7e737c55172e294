/* Patch embedding, patch merging, the patches of a ViT, and their backward. Patch merging is
 * reference_norm, then reference_convolution with patches of 2 x 2 pixels and no bias. */
#include "reference.h"

void reference_patch_padding(reference_patch_shape *shape, int same)
{
    const size_t size = shape->size, round_up = same ? size - 1 : 0;
    shape->rows = (shape->height + round_up) / size;
    shape->columns = (shape->width + round_up) / size;
    shape->top = same ? (shape->rows * size - shape->height) / 2 : 0;
    shape->left = same ? (shape->columns * size - shape->width) / 2 : 0;
}

/* The place of a value in a batch of patches. */
typedef struct place {
    size_t image, row, column; /* of the patch */
    size_t ky, kx, channel;    /* of the value in the patch */
} place;

/* The index in x of a patch's value; -1: it lies outside the map and is zero. */
static ptrdiff_t patch_source(const reference_patch_shape *shape, place at)
{
    const size_t y = at.row * shape->size + at.ky, x = at.column * shape->size + at.kx;
    if (y < shape->top || y >= shape->top + shape->height || x < shape->left ||
        x >= shape->left + shape->width)
        return -1;
    const size_t row = at.image * shape->height + y - shape->top;
    return (ptrdiff_t)((row * shape->width + x - shape->left) * shape->channels + at.channel);
}

/* The next place, in the order of rows [images, rows, columns, size, size, channels]; 0: none. */
static int next_place(place *at, const reference_patch_shape *shape)
{
    size_t *const digits[] = {&at->channel, &at->kx, &at->ky, &at->column, &at->row, &at->image};
    const size_t limits[] = {shape->channels, shape->size, shape->size,
                             shape->columns,  shape->rows, shape->images};
    for (size_t i = 0; i < 6; i++) {
        if (++*digits[i] < limits[i])
            return 1;
        *digits[i] = 0;
    }
    return 0;
}

/* x[images, height, width, channels] -> y[images * rows * columns, size * size * channels] */
void reference_patch_rows(double *y, const double *x, const reference_patch_shape *shape)
{
    place at = {0};
    do {
        const ptrdiff_t from = patch_source(shape, at);
        *y++ = from < 0 ? 0 : x[from];
    } while (next_place(&at, shape));
}

/* dy -> dx.  Of y[i] = x[source(i)]:  dx[source(i)] += dy[i] */
void reference_patch_rows_backward(double *dx, const double *dy, const reference_patch_shape *shape)
{
    place at = {0};
    do {
        const ptrdiff_t from = patch_source(shape, at);
        if (from >= 0)
            dx[from] += *dy;
        dy++;
    } while (next_place(&at, shape));
}

/* Index of a convolution's weight [out, channels, size, size]. */
static size_t weight_index(const reference_patch_shape *shape, size_t o, place at)
{
    return ((o * shape->channels + at.channel) * shape->size + at.ky) * shape->size + at.kx;
}

static size_t output_index(const reference_patch_shape *shape, size_t out, place at)
{
    return ((at.image * shape->rows + at.row) * shape->columns + at.column) * out;
}

/* x[images, height, width, channels], weight[out, channels, size, size], bias[out]
 * -> y[images, rows, columns, out]
 *   y[row, column, o] = bias[o] + sum over ky, kx, c of
 *                       x[size row + ky - top, size column + kx - left, c] weight[o, c, ky, kx] */
void reference_convolution(double *y, const double *x, const double *weight, const double *bias,
                           const reference_patch_shape *shape, size_t out)
{
    const size_t patches = shape->images * shape->rows * shape->columns;
    for (size_t i = 0; i < patches * out; i++)
        y[i] = bias ? bias[i % out] : 0;
    place at = {0};
    do {
        const ptrdiff_t from = patch_source(shape, at);
        for (size_t o = 0; from >= 0 && o < out; o++)
            y[output_index(shape, out, at) + o] += x[from] * weight[weight_index(shape, o, at)];
    } while (next_place(&at, shape));
}

/* dy[images, rows, columns, out] -> dx, dweight, dbias.  Of
 *   y[.., o] = bias[o] + sum x[..] weight[o, c, ky, kx]:
 *   dbias[o] += dy[.., o];  dweight[o, c, ky, kx] += x[..] dy[.., o]
 *   dx[..] += sum over o of weight[o, c, ky, kx] dy[.., o] */
void reference_convolution_backward(double *dx, double *dweight, double *dbias, const double *dy,
                                    const double *x, const double *weight,
                                    const reference_patch_shape *shape, size_t out)
{
    const size_t patches = shape->images * shape->rows * shape->columns;
    for (size_t i = 0; dbias && i < patches * out; i++)
        dbias[i % out] += dy[i];
    place at = {0};
    do {
        const ptrdiff_t from = patch_source(shape, at);
        for (size_t o = 0; from >= 0 && o < out; o++) {
            const double d = dy[output_index(shape, out, at) + o];
            dweight[weight_index(shape, o, at)] += x[from] * d;
            dx[from] += weight[weight_index(shape, o, at)] * d;
        }
    } while (next_place(&at, shape));
}
