/* What providers share: of those that pack, a weight gradient whose right-hand side is taken in
 * parts that stay in cache; of those that read b in place, nothing to pack. */
#include "kernels/gemm.h"

static size_t at_most(size_t count, size_t most)
{
    return count < most ? count : most;
}

void sv_gemm_transposed_by_parts(const sv_gemm *gemm, const sv_kernels *kernels, real *c,
                                 size_t ldc, const real *a, size_t lda, const real *b, size_t ldb,
                                 size_t m, size_t n, size_t k, void *scratch)
{
    for (size_t p = 0; p < k; p += SV_GEMM_TOKENS)
        for (size_t j = 0; j < n; j += SV_GEMM_WIDTH) {
            sv_operand right = {.b = b + p * ldb + j,
                                .k = at_most(k - p, SV_GEMM_TOKENS),
                                .n = at_most(n - j, SV_GEMM_WIDTH),
                                .row = ldb,
                                .column = 1,
                                .packed = scratch};
            sv_left left = {a + p * lda, 1, lda};
            sv_output sum = {c + j, ldc, 1};
            gemm->pack(kernels, &right);
            gemm->multiply(kernels, &sum, &left, &right, m, 0, right.n);
        }
}

size_t sv_gemm_no_bytes(const sv_kernels *kernels, size_t k, size_t n)
{
    (void)kernels;
    (void)k;
    (void)n;
    return 0;
}

void sv_gemm_no_packing(const sv_kernels *kernels, const sv_operand *operand)
{
    (void)kernels;
    (void)operand;
}

void sv_gemm_transposed_at_once(const sv_gemm *gemm, const sv_kernels *kernels, real *c, size_t ldc,
                                const real *a, size_t lda, const real *b, size_t ldb, size_t m,
                                size_t n, size_t k)
{
    sv_output sum = {c, ldc, 1};
    sv_left left = {a, 1, lda};
    sv_operand right = {.b = b, .k = k, .n = n, .row = ldb, .column = 1};
    gemm->multiply(kernels, &sum, &left, &right, m, 0, n);
}
