/* Matrix products of 64-bit Arm (SMMLA, BFMMLA): one instruction multiplies two rows of A by two
 * columns of B, over 8 steps of k in int8 or 4 in bfloat16, into 2 x 2 sums. A vector of sums holds
 * them row by row until the last step; then they are put into rows of a microtile. */
#ifndef SV_TILE_MATRIX_IMPL_H
#define SV_TILE_MATRIX_IMPL_H

#include "gemm/tile/tile_panel_impl.h"

/* A vector of sums: integers in a file that defines SV_INTEGER_SUMS, otherwise reals. One type for
 * both would be cast in the loop, and gcc copies a register for each cast. */
#ifdef SV_INTEGER_SUMS
typedef vlane vsums;
#else
typedef vreal vsums;
#endif

/* sum[2, 2] += a[2, k] b[2, k]^T */
SV_INLINE vsums matrix_multiply_add(vsums sum, vreal a, vreal b, const sv_packed_type type)
{
#if defined(SV_INTEGER_SUMS) && defined(__ARM_FEATURE_MATMUL_INT8)
    if (type == SV_PACKED_INT8X8)
        return (vsums)vmmlaq_s32((int32x4_t)sum, (int8x16_t)a, (int8x16_t)b);
#elif !defined(SV_INTEGER_SUMS) && defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
    if (type == SV_PACKED_BF16X4)
        return (vsums)vbfmmlaq_f32((float32x4_t)sum, (bfloat16x8_t)a, (bfloat16x8_t)b);
#endif
    (void)a;
    (void)b;
    (void)type;
    return sum;
}

enum { MAX_PAIRS = 4 };

/* Adds the products of the steps of k of one vector. The sums of rows r and r + 1 and of columns
 * 4 v to 4 v + 3 are in sum[r, v], the first two columns, and in sum[r + 1, v]. The rows of A stay
 * in registers, since they are fewer vectors than those of B. */
SV_INLINE void matrix_add_step(vsums sum[MAX_MR][MAX_VECTORS], const real *a, size_t row_stride,
                               const char *panel, const size_t rows, const size_t vectors,
                               const sv_packed_type type)
{
    vreal pairs[MAX_PAIRS];
    SV_UNROLLED(MAX_PAIRS)
    for (size_t r = 0; 2 * r < rows; r++)
        pairs[r] = v_load(a + 2 * r * row_stride);
    SV_UNROLLED(MAX_VECTORS)
    for (size_t v = 0; v < vectors; v++)
        SV_UNROLLED(2)
    for (size_t half = 0; half < 2; half++) {
        vreal columns = ((const vreal *)(const void *)panel)[2 * v + half];
        SV_UNROLLED(MAX_PAIRS)
        for (size_t r = 0; 2 * r < rows; r++)
            sum[2 * r + half][v] =
                matrix_multiply_add(sum[2 * r + half][v], pairs[r], columns, type);
    }
}

/* Puts the sums of matrix_add_step into rows: sum[r, v] has columns 4 v to 4 v + 3 of row r. */
SV_INLINE void matrix_order_sums(vsums sum[MAX_MR][MAX_VECTORS], const size_t rows,
                                 const size_t vectors)
{
    (void)sum;
    (void)rows;
    (void)vectors;
#if SV_LANES == 4
    SV_UNROLLED(MAX_PAIRS)
    for (size_t r = 0; r < rows; r += 2)
        SV_UNROLLED(MAX_VECTORS)
    for (size_t v = 0; v < vectors; v++) {
        const vsums first = sum[r][v], second = sum[r + 1][v];
        sum[r][v] = SV_SHUFFLE(first, second, 0, 1, 4, 5);
        sum[r + 1][v] = SV_SHUFFLE(first, second, 2, 3, 6, 7);
    }
#endif
}

#endif
