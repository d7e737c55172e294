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
