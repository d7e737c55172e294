/* Patches: what a convolution with kernel = stride reads, laid out as rows of a matrix. */
#include "base/size.h"
#include "kernels/local.h"

/* Where a patch's line y meets the map: the first pixel and the number of those that exist. */
typedef struct patch_line {
    size_t pixel;  /* of the batch's input, the first that exists */
    size_t before; /* pixels of the line left of the map */
    size_t count;
} patch_line;

static patch_line find_line(const sv_patch_geometry *map, size_t token, size_t line)
{
    size_t column = token % map->columns, row = token / map->columns % map->rows;
    size_t image = token / (map->columns * map->rows);
    size_t y = row * map->size + line, x = column * map->size;
    patch_line found = {0, 0, 0};
    if (y < map->top || y - map->top >= map->height)
        return found;
    found.before = x < map->left ? map->left - x : 0;
    size_t start = x + found.before - map->left;
    size_t wanted = found.before < map->size ? map->size - found.before : 0;
    found.count = start < map->width ? sv_size_min(map->width - start, wanted) : 0;
    found.pixel = (image * map->height + y - map->top) * map->width + start;
    return found;
}

/* y[token, (line, column, channel)] = x[n, h, w, c] under the patch, 0 outside the map; tokens
 * first_token.. of the batch. */
void SV_ISA(sv_patch_gather)(real *y, const real *x, const sv_patch_geometry *map,
                             size_t first_token, size_t tokens)
{
    size_t c = map->channels, line_elements = map->size * c;
    for (size_t t = 0; t < tokens; t++)
        for (size_t line = 0; line < map->size; line++, y += line_elements) {
            patch_line found = find_line(map, first_token + t, line);
            size_t from = found.before * c, count = found.count * c;
            if (count < line_elements)
                memset(y, 0, line_elements * sizeof(real));
            if (count)
                copy_or_clear(y + from, x + found.pixel * c, 1, count);
        }
}

/* The adjoint: dx[n, h, w, c] = dy[token, (line, column, channel)]. Patches do not overlap, so each
 * pixel has one source or none; pixels with none are left as they are. */
void SV_ISA(sv_patch_scatter)(real *dx, const real *dy, const sv_patch_geometry *map,
                              size_t first_token, size_t tokens)
{
    size_t c = map->channels, line_elements = map->size * c;
    for (size_t t = 0; t < tokens; t++)
        for (size_t line = 0; line < map->size; line++, dy += line_elements) {
            patch_line found = find_line(map, first_token + t, line);
            if (found.count)
                memcpy(dx + found.pixel * c, dy + found.before * c, found.count * c * sizeof(real));
        }
}

/* Where each copy of shifted patch tokenization reads: in[y + down * half, x + right * half], where
 * half is size / 2, rounded down. The original, left-up, left-down, right-up, right-down; the
 * paper's code has the last four reversed by pairs: right-down, left-down, right-up, left-up. */
enum { COPY_COUNT = 5, RGB = 3 };
static const int COPIES[2][COPY_COUNT][2] = {{{0, 0}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1}},
                                             {{0, 0}, {-1, -1}, {-1, 1}, {1, -1}, {1, 1}}};

/* count pixels that lie side by side in x, each `apart` numbers from the last in y; x NULL: zeros.
 */
SV_INLINE void spread_pixels(real *y, const real *x, size_t count, size_t apart,
                             const size_t channels)
{
    for (size_t i = 0; i < count; i++, y += apart)
        if (x)
            memcpy(y, x + i * channels, channels * sizeof(real));
        else
            memset(y, 0, channels * sizeof(real));
}

/* Those of `size` pixels, from number `column` of the line of `width` that x points to, that lie in
 * it; the others are zeros. */
SV_INLINE void spread_line(real *y, const real *x, ptrdiff_t column, size_t size, size_t width,
                           size_t apart, const size_t channels)
{
    size_t before = column < 0 ? sv_size_min((size_t)-column, size) : 0;
    size_t start = column < 0 ? 0 : (size_t)column;
    size_t here = start < width ? sv_size_min(width - start, size - before) : 0;
    spread_pixels(y, NULL, before, apart, channels);
    spread_pixels(y + before * apart, here ? x + start * channels : NULL, here, apart, channels);
    spread_pixels(y + (before + here) * apart, NULL, size - before - here, apart, channels);
}

/* y[column, copy, channel] of one line of a patch, which begins at pixel (row, column) of the
 * image, where some copies leave the image. */
SV_INLINE void edge_line(real *y, const real *image, const sv_patch_geometry *map, ptrdiff_t row,
                         ptrdiff_t column, const int moves[COPY_COUNT][2], const size_t channels)
{
    const ptrdiff_t half = (ptrdiff_t)(map->size / 2);
    const size_t apart = COPY_COUNT * channels;
    for (size_t copy = 0; copy < COPY_COUNT; copy++, y += channels) {
        ptrdiff_t from = row + moves[copy][0] * half;
        if (from < 0 || from >= (ptrdiff_t)map->height)
            spread_pixels(y, NULL, map->size, apart, channels);
        else
            spread_line(y, image + (size_t)from * map->width * channels,
                        column + moves[copy][1] * half, map->size, map->width, apart, channels);
    }
}

/* The same where none does. Four numbers are copied sooner than three: the fourth is the next
 * pixel's, and is written over; the last pixel has no next. */
SV_INLINE void whole_line(real *y, const real *image, const sv_patch_geometry *map, ptrdiff_t row,
                          ptrdiff_t column, const int moves[COPY_COUNT][2], const size_t channels)
{
    const ptrdiff_t half = (ptrdiff_t)(map->size / 2), width = (ptrdiff_t)map->width;
    const real *from[COPY_COUNT];
    for (size_t copy = 0; copy < COPY_COUNT; copy++)
        from[copy] =
            image + ((row + moves[copy][0] * half) * width + column + moves[copy][1] * half) *
                        (ptrdiff_t)channels;
    size_t at = 0;
    for (; at < (map->size - 1) * channels; at += channels)
        for (size_t copy = 0; copy < COPY_COUNT; copy++, y += channels)
            memcpy(y, from[copy] + at, (channels + 1) * sizeof(real));
    for (size_t copy = 0; copy < COPY_COUNT; copy++, y += channels)
        memcpy(y, from[copy] + at, channels * sizeof(real));
}

/* y[line, column, copy, channel] of one patch of one image; `channels` a constant where pixels
 * are red, green and blue: a call of memcpy for each would take longer than the copy. */
SV_INLINE void shifted_patch(real *y, const real *image, const sv_patch_geometry *map,
                             ptrdiff_t top, ptrdiff_t left, int paper_order, const size_t channels)
{
    const ptrdiff_t size = (ptrdiff_t)map->size, half = size / 2;
    const int across = left >= half && left + size + half <= (ptrdiff_t)map->width;
    for (ptrdiff_t row = top; row < top + size; row++, y += map->size * COPY_COUNT * channels)
        if (across && row >= half && row + half < (ptrdiff_t)map->height)
            whole_line(y, image, map, row, left, COPIES[paper_order], channels);
        else
            edge_line(y, image, map, row, left, COPIES[paper_order], channels);
}

/* y[token, (line, column, copy, channel)] of x[n, h, w, c] and its four shifted copies; tokens
 * first_token.. of the batch. Lee, Lee, Song 2021. */
void SV_ISA(sv_shifted_patches)(real *y, const real *x, const sv_patch_geometry *map,
                                int paper_order, size_t first_token, size_t tokens)
{
    const size_t per_image = map->rows * map->columns, c = map->channels;
    const size_t image = map->height * map->width * c, row = map->size * map->size * COPY_COUNT * c;
    for (size_t t = first_token; t < first_token + tokens; t++, y += row) {
        const real *from = x + t / per_image * image;
        ptrdiff_t top = (ptrdiff_t)(t % per_image / map->columns * map->size);
        ptrdiff_t left = (ptrdiff_t)(t % map->columns * map->size);
        if (c == RGB)
            shifted_patch(y, from, map, top, left, paper_order, RGB);
        else
            shifted_patch(y, from, map, top, left, paper_order, c);
    }
}
