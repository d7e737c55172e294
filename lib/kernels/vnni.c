/* Products of units of bytes by the vector unit's dot products of four: some rows of a block, both
 * its panels at once. */
#include "kernels/int8_product.h"

enum { ROWS_AT_ONCE = 12 };

/* sums[row..row+rows-1, 32] */
SV_INLINE void sum_rows(int32_t *sums, const unit_rows *left, const unit_rows *first,
                        const unit_rows *second, size_t steps, size_t row, const size_t rows)
{
    __m512i sum[ROWS_AT_ONCE][2];
    SV_REGISTERS
    for (size_t r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = _mm512_setzero_si512();
    for (size_t s = 0; s < steps; s++, left += 2)
        for (size_t p = 0; p < UNIT; p++) {
            __m512i one = first[s].rows[p], two = second[s].rows[p];
            SV_REGISTERS
            for (size_t r = 0; r < rows; r++) {
                __m512i four = spread_lane(left, row + r, p);
                sum[r][0] = _mm512_dpbusd_epi32(sum[r][0], four, one);
                sum[r][1] = _mm512_dpbusd_epi32(sum[r][1], four, two);
            }
        }
    SV_REGISTERS
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < 2; v++)
            _mm512_storeu_si512(sums + (row + r) * BLOCK + v * UNIT, sum[r][v]);
}

static void sums(int32_t *sums, const unit_rows *left, const unit_rows *first,
                 const unit_rows *second, size_t steps, size_t rows)
{
    size_t row = 0;
    for (; row + ROWS_AT_ONCE <= rows; row += ROWS_AT_ONCE)
        sum_rows(sums, left, first, second, steps, row, ROWS_AT_ONCE);
    for (; row + 4 <= rows; row += 4)
        sum_rows(sums, left, first, second, steps, row, 4);
    for (; row < rows; row++)
        sum_rows(sums, left, first, second, steps, row, 1);
}

static void nothing(void)
{
}

SV_INT8_PROVIDER(sv_gemm_vnni_int8, "vnni-int8", sums, nothing, nothing, &sv_gemm_tile);
