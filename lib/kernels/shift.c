/* The shift of ShiftViT and its adjoint. Wang, Zhao, Tang, Luo, Zeng 2022. */
#include "kernels/local.h"

/* One token (row, column): y[c] = the shifted x[c]. The four groups come from the tokens `pixels`
 * after it in its row, before it, below it and above it; a group without such a token is 0. sign is
 * 1 for the shift and -1 for its adjoint, which reads in the opposite direction. */
static void shift_token(real *y, const real *x, const sv_shift_geometry *shift, size_t row,
                        size_t column, ptrdiff_t sign)
{
    size_t g = shift->group, c = shift->channels, p = shift->pixels;
    int after = column + p < shift->width, before = column >= p;
    int below = row + p < shift->height, above = row >= p;
    ptrdiff_t across = sign * (ptrdiff_t)(p * c), down = across * (ptrdiff_t)shift->width;
    if (shift->crop)
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

/* y[tokens, c] = the shift, or its adjoint, of tokens first_token.. of the batch x[n, h, w, c]. */
static void shift_tokens(real *y, const real *x, const sv_shift_geometry *shift, size_t first_token,
                         size_t tokens, ptrdiff_t sign)
{
    size_t c = shift->channels, column = first_token % shift->width;
    size_t row = first_token / shift->width % shift->height;
    x += first_token * c;
    for (size_t t = 0; t < tokens; t++, x += c, y += c) {
        shift_token(y, x, shift, row, column, sign);
        if (++column == shift->width) {
            column = 0;
            row = row + 1 == shift->height ? 0 : row + 1;
        }
    }
}

/* y[tokens,c] = shift(x) for tokens first_token.. of the batch x[n,h,w,c]; y is not x. The four
 * groups of y[h,w] are x[h,w+p], x[h,w-p], x[h+p,w] and x[h-p,w]; the other channels are x[h,w]. */
void SV_ISA(sv_shift)(real *y, const real *x, const sv_shift_geometry *shift, size_t first_token,
                      size_t tokens)
{
    shift_tokens(y, x, shift, first_token, tokens, 1);
}

/* dx[tokens,c] = the adjoint of the shift: the four groups of dx[h,w] are dy[h,w-p], dy[h,w+p],
 * dy[h-p,w] and dy[h+p,w], 0 outside the feature map. With `crop` nothing moves: a group is 0
 * where it would come from outside, so the shift is its own adjoint. */
void SV_ISA(sv_shift_backward)(real *dx, const real *dy, const sv_shift_geometry *shift,
                               size_t first_token, size_t tokens)
{
    shift_tokens(dx, dy, shift, first_token, tokens, -1);
}
