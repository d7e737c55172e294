/* A depthwise convolution of 3 x 3 taps with zero padding, and its weight gradient. Weights are
 * [9, c], tap by tap, so that the channels of a tap fill vectors. */
#include "kernels/local.h"

enum { SIZE = 3, TAPS = SIZE * SIZE };

/* The taps of one token that lie inside the feature map: the token that each reads, and its index
 * among the nine. */
typedef struct token_taps {
    size_t count;
    const real *from[TAPS];
    size_t tap[TAPS];
} token_taps;

/* Finds the taps of token (row, column) of one image x[h, w, c]. */
SV_INLINE token_taps find_taps(const real *x, const sv_depthwise_geometry *map, size_t row,
                               size_t column)
{
    token_taps taps;
    taps.count = 0;
    for (size_t tap = 0; tap < TAPS; tap++) {
        /* One more than the row and the column that the tap reads, so that neither is negative. */
        size_t y = row + tap / SIZE, x_after = column + tap % SIZE;
        if (y < 1 || y > map->height || x_after < 1 || x_after > map->width)
            continue;
        taps.from[taps.count] = x + ((y - 1) * map->width + x_after - 1) * map->channels;
        taps.tap[taps.count++] = tap;
    }
    return taps;
}

/* y[h,w,c] = bias[c] + sum over the taps of weight[tap,c] x[h+i-1,w+j-1,c], tap = 3 i + j, of one
 * image; bias NULL is 0. y is not x. */
void SV_ISA(sv_depthwise)(real *y, const real *x, const real *weight, const real *bias,
                          const sv_depthwise_geometry *map)
{
    const size_t c = map->channels;
    for (size_t row = 0; row < map->height; row++)
        for (size_t column = 0; column < map->width; column++, y += c) {
            token_taps taps = find_taps(x, map, row, column);
            for (size_t k = 0; k < c; k += LANES) {
                vreal sum = bias ? v_load_some(bias + k, c - k) : (vreal){0};
                for (size_t t = 0; t < taps.count; t++)
                    sum = v_multiply_add(v_load_some(weight + taps.tap[t] * c + k, c - k),
                                         v_load_some(taps.from[t] + k, c - k), sum);
                v_store_some(y + k, sum, c - k);
            }
        }
}

/* dweight[tap,c] += sum over the tokens of dy[h,w,c] x[h+i-1,w+j-1,c], of one image. */
void SV_ISA(sv_depthwise_weight_gradient)(real *dweight, const real *dy, const real *x,
                                          const sv_depthwise_geometry *map)
{
    const size_t c = map->channels;
    for (size_t row = 0; row < map->height; row++)
        for (size_t column = 0; column < map->width; column++, dy += c) {
            token_taps taps = find_taps(x, map, row, column);
            for (size_t k = 0; k < c; k += LANES) {
                vreal gradient = v_load_some(dy + k, c - k);
                for (size_t t = 0; t < taps.count; t++) {
                    real *sum = dweight + taps.tap[t] * c + k;
                    v_store_some(sum,
                                 v_load_some(sum, c - k) +
                                     gradient * v_load_some(taps.from[t] + k, c - k),
                                 c - k);
                }
            }
        }
}
