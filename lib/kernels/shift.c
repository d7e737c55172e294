/* The shift of ShiftViT and its adjoint. Wang, Zhao, Tang, Luo, Zeng 2022. */
#include "kernels/local.h"

/* One token of a map: group k of y is group k of x at the token that lies `pixels` in the direction
 * of group k (left, right, up, down), zero where there is none. sign is 1 for the shift and -1 for
 * its adjoint, which moves the other way. */
static void shift_token(real *y, const real *x, const sv_shift_geometry *map, size_t row,
                        size_t column, ptrdiff_t sign)
{
    size_t g = map->group, c = map->channels, p = map->pixels;
    int after = column + p < map->width, before = column >= p;
    int below = row + p < map->height, above = row >= p;
    ptrdiff_t across = sign * (ptrdiff_t)(p * c), down = across * (ptrdiff_t)map->width;
    if (map->crop)
        across = down = 0;
    else if (sign < 0) {
        int swap = after;
        after = before;
        before = swap;
        swap = below;
        below = above;
        above = swap;
    }
    copy_or_clear(y, x + (after ? across : 0), after, g);
    copy_or_clear(y + g, x + g - (before ? across : 0), before, g);
    copy_or_clear(y + 2 * g, x + 2 * g + (below ? down : 0), below, g);
    copy_or_clear(y + 3 * g, x + 3 * g - (above ? down : 0), above, g);
    copy_or_clear(y + 4 * g, x + 4 * g, 1, c - 4 * g);
}

static void shift_tokens(real *y, const real *x, const sv_shift_geometry *map, size_t first_token,
                         size_t tokens, ptrdiff_t sign)
{
    size_t c = map->channels, column = first_token % map->width;
    size_t row = first_token / map->width % map->height;
    x += first_token * c;
    for (size_t t = 0; t < tokens; t++, x += c, y += c) {
        shift_token(y, x, map, row, column, sign);
        if (++column == map->width) {
            column = 0;
            row = row + 1 == map->height ? 0 : row + 1;
        }
    }
}

/* y[tokens,c] = shift(x) for tokens first_token.. of the batch x[n,h,w,c]; y is not x.
 * out[h,w] = x[h,w+p], x[h,w-p], x[h+p,w], x[h-p,w] for the four groups, the rest stays. */
void SV_ISA(sv_shift)(real *y, const real *x, const sv_shift_geometry *map, size_t first_token,
                      size_t tokens)
{
    shift_tokens(y, x, map, first_token, tokens, 1);
}

/* dx[tokens,c] = the adjoint of out[h,w] = x[h,w+p] ...: dx[h,w] = dy[h,w-p] ..., zero where the
 * source lies outside. With `crop`, where nothing moves, the shift is its own adjoint. */
void SV_ISA(sv_shift_backward)(real *dx, const real *dy, const sv_shift_geometry *map,
                               size_t first_token, size_t tokens)
{
    shift_tokens(dx, dy, map, first_token, tokens, -1);
}
