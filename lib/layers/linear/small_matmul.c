/* Matmuls of small matrices in float32, whatever the session computes in. B is packed a few columns
 * at a time. The backend does not depend on the CPU, and neither do the bits of the weights that
 * are derived in this way. */
#include "layers/linear/small_matmul.h"

/* Columns of b that are packed at once, so that the scratch stays small. */
enum { COLUMNS = 192 };

size_t sv_small_matmul_bytes(const sv_exec *exec, size_t k, size_t n)
{
    return sv_packed_b_bytes(&sv_gemm_tile, exec, k, sv_size_min(n, COLUMNS));
}

void sv_add_matmul(const sv_exec *exec, const sv_small_matmul *matmul, void *scratch)
{
    const sv_kernels *kernels = exec->context->kernels;
    const sv_gemm_a a = {matmul->a.x, matmul->a.row, matmul->a.column, NULL};
    for (size_t j = 0; j < matmul->n; j += COLUMNS) {
        const size_t columns = sv_size_min(matmul->n - j, COLUMNS);
        const real *first = matmul->b.x + j * matmul->b.column;
        sv_gemm_b b = {first, matmul->k, columns, matmul->b.row, matmul->b.column, scratch, 0};
        sv_gemm_c c = {matmul->c + j, matmul->ldc, 1, NULL, NULL};
        sv_gemm_tile.pack_b(kernels, &b);
        sv_gemm_tile.matmul(kernels, &c, &a, &b, matmul->m, 0, columns);
    }
}
