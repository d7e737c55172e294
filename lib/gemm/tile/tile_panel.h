/* How the right-hand side of a product by tiles is packed: panels of a few vectors, one after
 * another, each [k, its width], zeros where the last vector is not full. Numbers in bfloat16 lie in
 * pairs, those of two rows in one lane: to widen them takes one operation each. */
#ifndef SV_TILE_PANEL_H
#define SV_TILE_PANEL_H

#include "gemm/tile/tile_kernels.h"
#include "kernels/local.h"

/* AVX-512 and NEON have 32 registers, AVX2 and SSE2 16. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define FOUR_VECTORS
#endif

/* The widest panel. */
enum {
#if defined(FOUR_VECTORS)
    WIDEST = 4
#else
    WIDEST = 3
#endif
};

/* Bytes of a number in a panel. */
SV_INLINE size_t number_bytes(sv_number_type type)
{
    return type == SV_NUMBER_BF16 ? 2 : type == SV_NUMBER_INT8 ? 1 : sizeof(real);
}

/* The vectors of the next panel where `columns` are left: threes, and at the end what avoids a
 * panel of one vector, whose rows are too short to keep the multipliers busy. */
SV_INLINE size_t vectors_of(size_t columns)
{
    size_t vectors = (columns + LANES - 1) / LANES;
    if (WIDEST == 4)
        return vectors == 4 || vectors == 8 ? 4 : vectors < 3 ? vectors : 3;
    return vectors == 4 ? 2 : vectors < 3 ? vectors : 3;
}

/* Rows of a panel that lie in one, number beside number; the last one alone is with zeros. */
SV_INLINE size_t rows_together(sv_number_type type)
{
    return type == SV_NUMBER_BF16 ? 2 : 1;
}

/* Bytes of `columns` columns of panels: numbers, and before them a factor a column. */
SV_INLINE size_t panel_bytes(sv_number_type type, size_t k, size_t columns)
{
    const size_t together = rows_together(type), rows = (k + together - 1) / together * together;
    return columns * (rows * number_bytes(type) + (type == SV_NUMBER_INT8 ? sizeof(real) : 0));
}

size_t SV_ISA(sv_tile_packed_bytes)(sv_number_type type, size_t k, size_t n);
void SV_ISA(sv_tile_pack)(void *packed, sv_number_type type, const real *b, size_t row,
                          size_t column, size_t k, size_t n);
void SV_ISA(sv_tile_multiply)(const sv_tile_product *product, sv_number_type type, size_t m,
                              size_t first, size_t count);

#endif
