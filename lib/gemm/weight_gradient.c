/* The weight gradient, computed by any backend, and helper functions for backends that read B in
 * place or cannot add a bias. */
#include "gemm/gemm.h"

#include <string.h>

/* A backend that packs B packs KC x NC elements at a time, which stay in L2 for all m rows. */
void sv_gemm_weight_gradient(const sv_gemm *gemm, const sv_kernels *kernels, real *c, size_t ldc,
                             const real *a, size_t lda, const real *b, size_t ldb, size_t m,
                             size_t n, size_t k, void *scratch)
{
    const sv_gemm *backend = gemm->activations;
    int packs = backend->packed_b_bytes(kernels, k, n) > 0;
    size_t kc = packs ? SV_GEMM_KC : k, nc = packs ? SV_GEMM_NC : n;
    for (size_t p = 0; p < k; p += kc)
        for (size_t j = 0; j < n; j += nc) {
            sv_gemm_b block = {.b = b + p * ldb + j,
                               .k = sv_size_min(k - p, kc),
                               .n = sv_size_min(n - j, nc),
                               .row_stride = ldb,
                               .column_stride = 1,
                               .packed = scratch};
            sv_gemm_a transposed_a = {a + p * lda, 1, lda, NULL};
            sv_gemm_c sum = {c + j, ldc, 1, NULL, NULL};
            backend->pack_b(kernels, &block);
            backend->matmul(kernels, &sum, &transposed_a, &block, m, 0, block.n);
        }
}

size_t sv_gemm_b_in_place_bytes(const sv_kernels *kernels, size_t k, size_t n)
{
    (void)kernels;
    (void)k;
    (void)n;
    return 0;
}

void sv_gemm_b_in_place_pack(const sv_kernels *kernels, const sv_gemm_b *b)
{
    (void)kernels;
    (void)b;
}

int sv_gemm_write_bias(const sv_gemm_c *c, size_t m, size_t first, size_t count)
{
    if (c->accumulate || !c->bias)
        return c->accumulate;
    for (size_t i = 0; i < m; i++)
        memcpy(c->c + i * c->ldc + first, c->bias + first, count * sizeof(real));
    return 1;
}
