/* Patches: what a convolution with kernel = stride reads, laid out as rows of a matrix. */
#include "kernels/local.h"

/* Where a patch's line y meets the map: the first pixel and the number of those that exist. */
typedef struct patch_line {
    size_t pixel;  /* of the batch's input, the first that exists */
    size_t before; /* pixels of the line left of the map */
    size_t count;
} patch_line;

static patch_line find_line(const sv_patch_map *map, size_t token, size_t line)
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
    found.count = start >= map->width           ? 0
                  : map->width - start < wanted ? map->width - start
                                                : wanted;
    found.pixel = (image * map->height + y - map->top) * map->width + start;
    return found;
}

/* y[token, (line, column, channel)] = x[n, h, w, c] under the patch, 0 outside the map; tokens
 * first_token.. of the batch. */
void SV_ISA(sv_patch_gather)(real *y, const real *x, const sv_patch_map *map, size_t first_token,
                             size_t tokens)
{
    size_t c = map->channels, line_elements = map->size * c;
    for (size_t t = 0; t < tokens; t++)
        for (size_t line = 0; line < map->size; line++, y += line_elements) {
            patch_line found = find_line(map, first_token + t, line);
            size_t from = found.before * c, count = found.count * c;
            if (count < line_elements)
                memset(y, 0, line_elements * sizeof(real));
            if (count)
                memcpy(y + from, x + found.pixel * c, count * sizeof(real));
        }
}

/* The adjoint: dx[n, h, w, c] = dy[token, (line, column, channel)]. Patches do not overlap, so each
 * pixel has one source or none; pixels with none are left as they are. */
void SV_ISA(sv_patch_scatter)(real *dx, const real *dy, const sv_patch_map *map, size_t first_token,
                              size_t tokens)
{
    size_t c = map->channels, line_elements = map->size * c;
    for (size_t t = 0; t < tokens; t++)
        for (size_t line = 0; line < map->size; line++, dy += line_elements) {
            patch_line found = find_line(map, first_token + t, line);
            if (found.count)
                memcpy(dx + found.pixel * c, dy + found.before * c, found.count * c * sizeof(real));
        }
}

/* Where each copy of shifted patch tokenization reads: in[y + down * half, x + right * half]. The
 * original, left-up, left-down, right-up, right-down; the paper's code has the last four reversed
 * by pairs: right-down, left-down, right-up, left-up. */
static const int COPIES[2][5][2] = {{{0, 0}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1}},
                                    {{0, 0}, {-1, -1}, {-1, 1}, {1, -1}, {1, 1}}};

/* One pixel of one copy; zeros outside the image. */
static void copy_pixel(real *y, const real *image, const sv_patch_map *map, ptrdiff_t row,
                       ptrdiff_t column)
{
    if (row < 0 || row >= (ptrdiff_t)map->height || column < 0 || column >= (ptrdiff_t)map->width)
        copy_or_clear(y, NULL, 0, map->channels);
    else
        copy_or_clear(y, image + ((size_t)row * map->width + (size_t)column) * map->channels, 1,
                      map->channels);
}

/* y[token, (line, column, copy, channel)] of x[n, h, w, c] and its four shifted copies; tokens
 * first_token.. of the batch. Lee, Lee, Song 2021. */
void SV_ISA(sv_shifted_patches)(real *y, const real *x, const sv_patch_map *map, int paper_order,
                                size_t first_token, size_t tokens)
{
    ptrdiff_t half = (ptrdiff_t)(map->size / 2);
    for (size_t t = first_token; t < first_token + tokens; t++) {
        size_t per_image = map->rows * map->columns;
        const real *image = x + t / per_image * map->height * map->width * map->channels;
        ptrdiff_t top = (ptrdiff_t)(t % per_image / map->columns * map->size);
        ptrdiff_t left = (ptrdiff_t)(t % map->columns * map->size);
        for (ptrdiff_t line = 0; line < (ptrdiff_t)map->size; line++)
            for (ptrdiff_t column = 0; column < (ptrdiff_t)map->size; column++)
                for (size_t copy = 0; copy < 5; copy++, y += map->channels) {
                    const int *move = COPIES[paper_order][copy];
                    copy_pixel(y, image, map, top + line + move[0] * half,
                               left + column + move[1] * half);
                }
    }
}
