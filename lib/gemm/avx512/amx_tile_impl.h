/* The AMX tile: 16 rows of 64 bytes, of which packed A and packed B consist where they hold
 * bfloat16 or int8. AMX loads one into a tile register; for VNNI its rows are copied into
 * micropanels. For instruction sets that have AVX-512.
 *
 * A row has 16 lanes of 4 bytes, and a lane holds the V steps of k that one dot product adds up:
 * V = 2 in bfloat16 and V = 4 in int8 (VNNI interleaving). So a tile covers 16 V steps of k.
 *
 *     tile of packed A                      tile of packed B
 *
 *             16 lanes: V steps of k each           16 lanes: columns of B
 *            +---------------------------+         +---------------------------+
 *     16     | a[0, k0]  ...  a[0, k15]  |    16   | b[k0, 0]   ... b[k0, 15]  |
 *     rows   |   :              :        |    x V  |   :               :       |
 *     of A   | a[15, k0] ...  a[15, k15] |    of k | b[k15, 0]  ... b[k15, 15] |
 *            +---------------------------+         +---------------------------+
 *
 * Here a[i, k0] are the V elements of row i in lane 0. Which V steps of k share a lane does not
 * matter to a sum as long as A and B agree: see bf16_pack_impl.h and int8_pack_impl.h. The tile of
 * packed A is the transpose, lane by lane, of the tile that B = A^T would have. */
#ifndef SV_AMX_TILE_IMPL_H
#define SV_AMX_TILE_IMPL_H

#include "kernels/transpose.h"

#include <immintrin.h>

enum {
    TILE_ROWS = 16,     /* and lanes of 4 bytes in a row */
    MR = 2 * TILE_ROWS, /* a microtile of C has 2 x 2 tiles of 4-byte sums */
    NR = 2 * TILE_ROWS
};

typedef struct amx_tile {
    __m512i rows[TILE_ROWS];
} amx_tile;

/* What is packed: X[rows, k], which is A or the transpose of B. */
typedef struct amx_source {
    const float
        *x; /* element (i, p) at x[i * row_stride + p * k_stride]; one of the strides is 1 */
    size_t row_stride, k_stride;
    size_t rows, k; /* rows and steps of k that are left, from x on */
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
