/* The AMX tile, 16 rows of 64 bytes: what packed A and packed B of bfloat16 and int8 consist of.
 * AMX loads one into a tile register. The VNNI backend copies its rows into micropanels. For
 * instruction sets that have AVX-512.
 *
 * A row has 16 lanes of 4 bytes. A lane holds V steps of k, which one dot product adds up: V is 2
 * in bfloat16 and 4 in int8 (VNNI interleaving). So a tile covers 16 V steps of k:
 *
 *     a tile of packed A                       a tile of packed B
 *
 *              lanes: V steps of k each                lanes: columns of B
 *             +----------------------------+           +----------------------------+
 *     rows    | a[0, k0]   ...  a[0, k15]  |   rows:   | b[k0, 0]   ...  b[k0, 15]  |
 *     of A    |    :               :       |   V steps |    :               :       |
 *             | a[15, k0]  ...  a[15, k15] |   of k    | b[k15, 0]  ...  b[k15, 15] |
 *             +----------------------------+   each    +----------------------------+
 *
 * a[i, k0] stands for the V elements of row i in lane 0. Which V steps of k share a lane makes no
 * difference to a sum as long as A and B agree: see bf16_pack_impl.h and int8_pack_impl.h of
 * low_precision/. As a matrix of lanes, a tile of packed A is the transpose of the tile of packed
 * B = A^T. */
#ifndef SV_AMX_TILE_IMPL_H
#define SV_AMX_TILE_IMPL_H

#include "kernels/transpose.h"

#include <immintrin.h>

enum {
    TILE_ROWS = 16,     /* also the number of lanes in a row */
    MR = 2 * TILE_ROWS, /* a microtile of C is 2 x 2 tiles, whose lanes are sums */
    NR = 2 * TILE_ROWS
};

typedef struct amx_tile {
    __m512i rows[TILE_ROWS];
} amx_tile;

/* The matrix to be packed, X[rows, k], which is A or the transpose of B. Element (i, p) is
 * x[i * row_stride + p * k_stride], and one of the strides is 1. */
typedef struct amx_source {
    const float *x;
    size_t row_stride, k_stride;
    size_t rows, k; /* counted from x to the end of the matrix; may be more than a tile has */
} amx_source;

/* Transposes the 16 x 16 lanes of a tile. */
SV_INLINE void transpose_tile(amx_tile *tile)
{
    vreal rows[TILE_ROWS];
    memcpy(rows, tile, sizeof rows);
    v_transpose(rows);
    memcpy(tile, rows, sizeof rows);
}

#endif
