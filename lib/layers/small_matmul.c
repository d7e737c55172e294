/* Products of weights. */
#include "layers/small_matmul.h"

/* Packed at once, so that scratch stays small. */
enum { COLUMNS = 192 };

/* Float32's, whatever the run computes in: what they make is rounded once. */
static const sv_gemm *gemm_of(const sv_run *run)
{
    return run->context->gemm->activations;
}

size_t sv_small_product_bytes(const sv_run *run, size_t k, size_t n)
{
    return sv_packed_bytes(gemm_of(run), run, k, sv_at_most(n, COLUMNS));
}

void sv_add_product(const sv_run *run, const sv_small_product *of, void *scratch)
{
    const sv_gemm *gemm = gemm_of(run);
    const sv_left a = {of->a.x, of->a.row, of->a.column, NULL};
    for (size_t j = 0; j < of->n; j += COLUMNS) {
        const size_t columns = sv_at_most(of->n - j, COLUMNS);
        const real *from = of->b.x + j * of->b.column;
        sv_operand b = {from, of->k, columns, of->b.row, of->b.column, scratch, 0};
        sv_output c = {of->c + j, of->ldc, 1, NULL, NULL};
        gemm->pack(run->context->kernels, &b);
        gemm->multiply(run->context->kernels, &c, &a, &b, of->m, 0, columns);
    }
}
