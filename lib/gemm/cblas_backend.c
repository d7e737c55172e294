/* The backend "cblas": each matmul is one call of the CBLAS, which reads A and B in place. */
#include "gemm/blas.h"
#include "gemm/gemm.h"

#include <limits.h>

/* BLAS refuses a leading dimension below the `length` of a row, even if the matrix has one row only
 * and does not use it. */
static int leading_dimension(size_t stride, size_t length)
{
    return (int)(stride > length ? stride : length);
}

static void matmul(const sv_kernels *kernels, const sv_gemm_c *c, const sv_gemm_a *a,
                   const sv_gemm_b *b, size_t m, size_t first, size_t count)
{
    int a_is_row_major = a->column_stride == 1, b_is_row_major = b->column_stride == 1;
    int lda = a_is_row_major ? leading_dimension(a->row_stride, b->k)
                             : leading_dimension(a->column_stride, m);
    int ldb = b_is_row_major ? leading_dimension(b->row_stride, count)
                             : leading_dimension(b->column_stride, b->k);
    real beta = (real)sv_gemm_write_bias(c, m, first, count);
    sv_blas_gemm_of_process()(SV_BLAS_ROW_MAJOR, a_is_row_major ? SV_BLAS_NO_TRANS : SV_BLAS_TRANS,
                              b_is_row_major ? SV_BLAS_NO_TRANS : SV_BLAS_TRANS, (int)m, (int)count,
                              (int)b->k, 1, a->a, lda, b->b + first * b->column_stride, ldb, beta,
                              c->c + first, (int)c->ldc);
    sv_gemm_apply_epilogue(kernels, c, 0, m, first, count);
}

const sv_gemm sv_gemm_cblas = {
    .name = "cblas",
    .side_max = INT_MAX,
    .packed_b_bytes = sv_gemm_b_in_place_bytes,
    .pack_b = sv_gemm_b_in_place_pack,
    .matmul = matmul,
    .activations = &sv_gemm_cblas,
};
