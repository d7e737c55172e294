/* Products of bfloat16 units by the vector unit's dot products of pairs: some rows of a block, all
 * its columns at once. */
#include "kernels/bf16_product.h"

enum { ROWS_AT_ONCE = 8 };

SV_INLINE void add_rows(const bf16_block *block, size_t row, const int two_columns)
{
    float *c = block->c + row * block->ldc;
    __m512 sum[ROWS_AT_ONCE][2];
    SV_REGISTERS
    for (size_t r = 0; r < ROWS_AT_ONCE; r++)
        for (size_t v = 0; v < 2; v++)
            sum[r][v] =
                block->start && v <= (size_t)two_columns
                    ? _mm512_loadu_ps(block->start + (row + r) * block->start_row + v * UNIT)
                    : _mm512_setzero_ps();
    for (size_t s = 0; s < block->steps; s++)
        for (size_t p = 0; p < UNIT; p++) {
            __m512i first = block->right[0][s].rows[p],
                    second = block->right[two_columns][s].rows[p];
            SV_REGISTERS
            for (size_t r = 0; r < ROWS_AT_ONCE; r++) {
                __m512i left = spread_lane(block->left + 2 * s, row + r, p);
                sum[r][0] = _mm512_dpbf16_ps(sum[r][0], (__m512bh)left, (__m512bh)first);
                if (two_columns)
                    sum[r][1] = _mm512_dpbf16_ps(sum[r][1], (__m512bh)left, (__m512bh)second);
            }
        }
    SV_REGISTERS
    for (size_t r = 0; r < ROWS_AT_ONCE; r++)
        for (size_t v = 0; v <= (size_t)two_columns; v++)
            _mm512_storeu_ps(c + r * block->ldc + v * UNIT, sum[r][v]);
}

/* The vector units are busy with the sums: nothing is made beside them. */
static void sums(const bf16_block *block, int two_rows, int two_columns)
{
    for (size_t row = 0; row < (two_rows ? BLOCK : UNIT); row += ROWS_AT_ONCE)
        if (two_columns)
            add_rows(block, row, 1);
        else
            add_rows(block, row, 0);
}

static void nothing(void)
{
}

SV_BF16_PROVIDER(sv_gemm_dot_bf16, "dot-bf16", 1, sums, nothing, nothing);
