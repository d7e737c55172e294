/* Products of weights. */
#include "layers/small_matmul.h"

/* Packed at once, so that scratch stays small. */
enum { COLUMNS = 192 };

/* Float32's, whatever the run computes in: what they make is rounded once. */
static const sv_gemm *gemm_of(const sv_exec *exec)
{
    return exec->context->gemm->activations;
}

size_t sv_small_matmul_bytes(const sv_exec *exec, size_t k, size_t n)
{
    return sv_packed_b_bytes(gemm_of(exec), exec, k, sv_size_min(n, COLUMNS));
}

void sv_add_matmul(const sv_exec *exec, const sv_small_matmul *of, void *scratch)
{
    const sv_gemm *gemm = gemm_of(exec);
    const sv_gemm_a a = {of->a.x, of->a.row, of->a.column, NULL};
    for (size_t j = 0; j < of->n; j += COLUMNS) {
        const size_t columns = sv_size_min(of->n - j, COLUMNS);
        const real *from = of->b.x + j * of->b.column;
        sv_gemm_b b = {from, of->k, columns, of->b.row, of->b.column, scratch, 0};
        sv_gemm_c c = {of->c + j, of->ldc, 1, NULL, NULL};
        gemm->pack_b(exec->context->kernels, &b);
        gemm->matmul(exec->context->kernels, &c, &a, &b, of->m, 0, columns);
    }
}
