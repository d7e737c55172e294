/* The library's own tiles as a provider. */
#include "kernels/gemm.h"

static size_t packed_bytes(const sv_kernels *kernels, size_t k, size_t n)
{
    return kernels->tile_packed_elements(k, n) * sizeof(real);
}

static void pack(const sv_kernels *kernels, const sv_operand *operand)
{
    kernels->tile_pack(operand->packed, operand->b, operand->row, operand->column, operand->k,
                       operand->n);
}

static void multiply(const sv_kernels *kernels, const sv_output *c, const sv_left *a,
                     const sv_operand *b, size_t m, size_t first, size_t count)
{
    kernels->tile_multiply(c->c + first, c->ldc, a->a, a->row, a->column,
                           (const real *)b->packed + first * b->k, m, count, b->k, c->accumulate);
}

static void multiply_transposed(const sv_kernels *kernels, real *c, size_t ldc, const real *a,
                                size_t lda, const real *b, size_t ldb, size_t m, size_t n, size_t k,
                                void *scratch)
{
    sv_gemm_transposed_by_parts(&sv_gemm_tile, kernels, c, ldc, a, lda, b, ldb, m, n, k, scratch);
}

const sv_gemm sv_gemm_tile = {"tile", packed_bytes, pack, multiply, multiply_transposed};
