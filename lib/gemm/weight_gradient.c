/* A weight gradient by any backend: of one that packs, the right-hand side in parts that stay in
 * cache. And what backends share that leave a part of the work to others. */
#include "gemm/gemm.h"

#include <string.h>

void sv_gemm_weight_gradient(const sv_gemm *gemm, const sv_kernels *kernels, real *c, size_t ldc,
                             const real *a, size_t lda, const real *b, size_t ldb, size_t m,
                             size_t n, size_t k, void *scratch)
{
    const sv_gemm *by = gemm->activations;
    int packs = by->packed_b_bytes(kernels, k, n) > 0;
    size_t tokens = packs ? SV_GEMM_KC : k, width = packs ? SV_GEMM_NC : n;
    for (size_t p = 0; p < k; p += tokens)
        for (size_t j = 0; j < n; j += width) {
            sv_gemm_b right = {.b = b + p * ldb + j,
                               .k = sv_size_min(k - p, tokens),
                               .n = sv_size_min(n - j, width),
                               .row_stride = ldb,
                               .column_stride = 1,
                               .packed = scratch};
            sv_gemm_a left = {a + p * lda, 1, lda, NULL};
            sv_gemm_c sum = {c + j, ldc, 1, NULL, NULL};
            by->pack_b(kernels, &right);
            by->matmul(kernels, &sum, &left, &right, m, 0, right.n);
        }
}

size_t sv_gemm_b_in_place_bytes(const sv_kernels *kernels, size_t k, size_t n)
{
    (void)kernels;
    (void)k;
    (void)n;
    return 0;
}

void sv_gemm_b_in_place_pack(const sv_kernels *kernels, const sv_gemm_b *operand)
{
    (void)kernels;
    (void)operand;
}

int sv_gemm_write_bias(const sv_gemm_c *c, size_t m, size_t first, size_t count)
{
    if (c->accumulate || !c->bias)
        return c->accumulate;
    for (size_t i = 0; i < m; i++)
        memcpy(c->c + i * c->ldc + first, c->bias + first, count * sizeof(real));
    return 1;
}
