/* Patches of images as rows of a matrix (im2col), for convolutions and for shifted patch
 * tokenization. */
#include "base/size.h"
#include "kernels/local.h"

/* The pixels of one line of a patch that lie inside the image. */
typedef struct patch_line {
    size_t pixel;  /* index in the batch of the first pixel inside */
    size_t before; /* pixels of the line to the left of the image */
    size_t count;  /* pixels inside */
} patch_line;

/* Line `line` of the patch of token `token` of the batch. */
static patch_line find_line(const sv_patch_geometry *patches, size_t token, size_t line)
{
    size_t column = token % patches->columns, row = token / patches->columns % patches->rows;
    size_t image = token / (patches->columns * patches->rows);
    size_t y = row * patches->stride + line, x = column * patches->stride;
    patch_line found = {0, 0, 0};
    if (y < patches->top || y - patches->top >= patches->height)
        return found;
    found.before = x < patches->left ? patches->left - x : 0;
    size_t start = x + found.before - patches->left;
    size_t wanted = found.before < patches->size ? patches->size - found.before : 0;
    found.count = start < patches->width ? sv_size_min(patches->width - start, wanted) : 0;
    found.pixel = (image * patches->height + y - patches->top) * patches->width + start;
    return found;
}

/* y[tokens, size * size * c]: row t holds the patch of token first_token + t of x[n, h, w, c] in
 * the order (line, column, channel), 0 outside the image. */
void SV_ISA(sv_patch_gather)(real *y, const real *x, const sv_patch_geometry *patches,
                             size_t first_token, size_t tokens)
{
    size_t c = patches->channels, line_elements = patches->size * c;
    for (size_t t = 0; t < tokens; t++)
        for (size_t line = 0; line < patches->size; line++, y += line_elements) {
            patch_line found = find_line(patches, first_token + t, line);
            size_t from = found.before * c, count = found.count * c;
            if (count < line_elements)
                memset(y, 0, line_elements * sizeof(real));
            if (count)
                copy_or_clear(y + from, x + found.pixel * c, 1, count);
        }
}

/* The adjoint of sv_patch_gather: writes dy[tokens, size * size * c] to dx[n, h, w, c]. Patches do
 * not overlap, so no pixel gets a sum. Pixels of no patch keep their value. */
void SV_ISA(sv_patch_scatter)(real *dx, const real *dy, const sv_patch_geometry *patches,
                              size_t first_token, size_t tokens)
{
    size_t c = patches->channels, line_elements = patches->size * c;
    for (size_t t = 0; t < tokens; t++)
        for (size_t line = 0; line < patches->size; line++, dy += line_elements) {
            patch_line found = find_line(patches, first_token + t, line);
            if (found.count)
                memcpy(dx + found.pixel * c, dy + found.before * c, found.count * c * sizeof(real));
        }
}

/* The same for patches that may overlap: adds each element of dy to its pixel. */
void SV_ISA(sv_patch_scatter_add)(real *dx, const real *dy, const sv_patch_geometry *patches,
                                  size_t first_token, size_t tokens)
{
    size_t c = patches->channels, line_elements = patches->size * c;
    for (size_t t = 0; t < tokens; t++)
        for (size_t line = 0; line < patches->size; line++, dy += line_elements) {
            patch_line found = find_line(patches, first_token + t, line);
            SV_ISA(sv_add)(dx + found.pixel * c, dy + found.before * c, found.count * c);
        }
}

enum { RGB = 3 };

/* Copies `count` adjacent pixels of x to y; in y they are `apart` elements apart. x NULL: zeros. */
SV_INLINE void spread_pixels(real *y, const real *x, size_t count, size_t apart,
                             const size_t channels)
{
    for (size_t i = 0; i < count; i++, y += apart)
        if (x)
            memcpy(y, x + i * channels, channels * sizeof(real));
        else
            memset(y, 0, channels * sizeof(real));
}

/* Copies pixels column..column + size - 1 of the line x[width, channels] to y; in y they are
 * `apart` elements apart. Pixels outside the line are zeros. */
SV_INLINE void spread_line(real *y, const real *x, ptrdiff_t column, size_t size, size_t width,
                           size_t apart, const size_t channels)
{
    size_t before = column < 0 ? sv_size_min((size_t)-column, size) : 0;
    size_t start = column < 0 ? 0 : (size_t)column;
    size_t inside = start < width ? sv_size_min(width - start, size - before) : 0;
    spread_pixels(y, NULL, before, apart, channels);
    spread_pixels(y + before * apart, inside ? x + start * channels : NULL, inside, apart,
                  channels);
    spread_pixels(y + (before + inside) * apart, NULL, size - before - inside, apart, channels);
}

/* y[size, copies, channels]: pixels column..column + size - 1 of line `row` of the image, which are
 * one line of a patch, and the same line of its shifted copies. A copy is moved by `shifts`, (down,
 * right) in half patches (SV_COPY_SHIFTS). Any copy may lie outside the image, where it is 0. */
SV_INLINE void edge_line(real *y, const real *image, const sv_patch_geometry *patches,
                         ptrdiff_t row, ptrdiff_t column, const int shifts[SV_COPIES][2],
                         const size_t channels)
{
    const ptrdiff_t half = (ptrdiff_t)(patches->size / 2);
    const size_t apart = SV_COPIES * channels;
    for (size_t copy = 0; copy < SV_COPIES; copy++, y += channels) {
        ptrdiff_t from = row + shifts[copy][0] * half;
        if (from < 0 || from >= (ptrdiff_t)patches->height)
            spread_pixels(y, NULL, patches->size, apart, channels);
        else
            spread_line(y, image + (size_t)from * patches->width * channels,
                        column + shifts[copy][1] * half, patches->size, patches->width, apart,
                        channels);
    }
}

/* The same if all copies lie inside the image. It copies one channel too many for each pixel but
 * the last, since 4 floats are one vector and 3 are not; the next pixel overwrites it. */
SV_INLINE void inner_line(real *y, const real *image, const sv_patch_geometry *patches,
                          ptrdiff_t row, ptrdiff_t column, const int shifts[SV_COPIES][2],
                          const size_t channels)
{
    const ptrdiff_t half = (ptrdiff_t)(patches->size / 2), width = (ptrdiff_t)patches->width;
    const real *from[SV_COPIES];
    for (size_t copy = 0; copy < SV_COPIES; copy++)
        from[copy] =
            image + ((row + shifts[copy][0] * half) * width + column + shifts[copy][1] * half) *
                        (ptrdiff_t)channels;
    size_t at = 0;
    for (; at < (patches->size - 1) * channels; at += channels)
        for (size_t copy = 0; copy < SV_COPIES; copy++, y += channels)
            memcpy(y, from[copy] + at, (channels + 1) * sizeof(real));
    for (size_t copy = 0; copy < SV_COPIES; copy++, y += channels)
        memcpy(y, from[copy] + at, channels * sizeof(real));
}

/* y[size, size, copies, channels]: one patch of one image. `channels` is a constant for RGB images,
 * so that memcpy is inlined: calls would take longer than the copies. */
SV_INLINE void shifted_patch(real *y, const real *image, const sv_patch_geometry *patches,
                             ptrdiff_t top, ptrdiff_t left, int paper_order, const size_t channels)
{
    const ptrdiff_t size = (ptrdiff_t)patches->size, half = size / 2;
    const int across = left >= half && left + size + half <= (ptrdiff_t)patches->width;
    for (ptrdiff_t row = top; row < top + size; row++, y += patches->size * SV_COPIES * channels)
        if (across && row >= half && row + half < (ptrdiff_t)patches->height)
            inner_line(y, image, patches, row, left, SV_COPY_SHIFTS[paper_order], channels);
        else
            edge_line(y, image, patches, row, left, SV_COPY_SHIFTS[paper_order], channels);
}

/* y[tokens, size * size * 5 * c]: row t holds the patch of token first_token + t of x[n, h, w, c]
 * and of its four shifted copies in the order (line, column, copy, channel). Lee, Lee, Song 2021.
 */
void SV_ISA(sv_shifted_patches)(real *y, const real *x, const sv_patch_geometry *patches,
                                int paper_order, size_t first_token, size_t tokens)
{
    const size_t per_image = patches->rows * patches->columns, c = patches->channels;
    const size_t image = patches->height * patches->width * c,
                 row = patches->size * patches->size * SV_COPIES * c;
    for (size_t t = first_token; t < first_token + tokens; t++, y += row) {
        const real *from = x + t / per_image * image;
        ptrdiff_t top = (ptrdiff_t)(t % per_image / patches->columns * patches->size);
        ptrdiff_t left = (ptrdiff_t)(t % patches->columns * patches->size);
        if (c == RGB)
            shifted_patch(y, from, patches, top, left, paper_order, RGB);
        else
            shifted_patch(y, from, patches, top, left, paper_order, c);
    }
}

/* Adds dy[copies, channels], the gradients of pixel (row, column) of the image and of its copies,
 * to the pixels of dx[h, w, channels] that they are copied from. */
static void add_copies(real *dx, const real *dy, const sv_patch_geometry *patches, ptrdiff_t row,
                       ptrdiff_t column, const int shifts[SV_COPIES][2])
{
    const ptrdiff_t half = (ptrdiff_t)(patches->size / 2);
    const size_t c = patches->channels;
    for (size_t copy = 0; copy < SV_COPIES; copy++, dy += c) {
        const ptrdiff_t y = row + shifts[copy][0] * half, x = column + shifts[copy][1] * half;
        if (y < 0 || y >= (ptrdiff_t)patches->height || x < 0 || x >= (ptrdiff_t)patches->width)
            continue;
        real *to = dx + ((size_t)y * patches->width + (size_t)x) * c;
        for (size_t i = 0; i < c; i++)
            to[i] += dy[i];
    }
}

/* The adjoint of sv_shifted_patches: adds dy[tokens, size * size * 5 * c] to dx[n, h, w, c]. */
void SV_ISA(sv_shifted_patches_add)(real *dx, const real *dy, const sv_patch_geometry *patches,
                                    int paper_order, size_t first_token, size_t tokens)
{
    const size_t per_image = patches->rows * patches->columns, c = patches->channels;
    const size_t image = patches->height * patches->width * c, size = patches->size;
    for (size_t t = first_token; t < first_token + tokens; t++) {
        const size_t top = t % per_image / patches->columns * size,
                     left = t % patches->columns * size;
        for (size_t pixel = 0; pixel < size * size; pixel++, dy += SV_COPIES * c)
            add_copies(dx + t / per_image * image, dy, patches, (ptrdiff_t)(top + pixel / size),
                       (ptrdiff_t)(left + pixel % size), SV_COPY_SHIFTS[paper_order]);
    }
}
