/* The library's own tiles as a provider. */
#include "kernels/gemm.h"

/* Of the right-hand side of a weight gradient, so much is packed at once that it stays in the
 * second cache. */
enum { TOKENS_AT_ONCE = 192, COLUMNS_AT_ONCE = 384 };

static size_t packed_elements(const sv_kernels *kernels, size_t k, size_t n)
{
    return kernels->tile_packed_elements(k, n);
}

static void pack(const sv_kernels *kernels, sv_operand *operand)
{
    kernels->tile_pack(operand->packed, operand->b, operand->row, operand->column, operand->k,
                       operand->n);
}

static void multiply(const sv_kernels *kernels, real *c, const real *a, const sv_operand *b,
                     size_t m, size_t first, size_t count)
{
    kernels->tile_multiply(c + first, b->n, a, b->k, 1, b->packed + first * b->k, m, count, b->k,
                           0);
}

static void multiply_transposed(const sv_kernels *kernels, real *c, size_t ldc, const real *a,
                                size_t lda, const real *b, size_t ldb, size_t m, size_t n, size_t k,
                                real *scratch)
{
    for (size_t p = 0; p < k; p += TOKENS_AT_ONCE)
        for (size_t j = 0; j < n; j += COLUMNS_AT_ONCE) {
            size_t tokens = k - p < TOKENS_AT_ONCE ? k - p : TOKENS_AT_ONCE;
            size_t columns = n - j < COLUMNS_AT_ONCE ? n - j : COLUMNS_AT_ONCE;
            kernels->tile_pack(scratch, b + p * ldb + j, ldb, 1, tokens, columns);
            kernels->tile_multiply(c + j, ldc, a + p * lda, 1, lda, scratch, m, columns, tokens, 1);
        }
}

const sv_gemm sv_gemm_tile = {"tile", packed_elements, pack, multiply, multiply_transposed};
