/* The CBLAS backend: the only file that includes cblas.h. */
#include "gemm/gemm.h"

#include <cblas.h>

#ifdef SV_DOUBLE
#define GEMM cblas_dgemm
#else
#define GEMM cblas_sgemm
#endif

/* Functions that only some implementations have are weak, so that any CBLAS links. */
#define WEAK __attribute__((weak))
extern char *openblas_get_config(void) WEAK;
extern char *openblas_get_corename(void) WEAK;
extern void openblas_set_num_threads(int threads) WEAK;
extern const char *bli_info_get_version_str(void) WEAK;
extern void bli_thread_set_num_threads(long threads) WEAK;

const char *sv_blas_description(void)
{
    if (openblas_get_config)
        return openblas_get_config();
    return bli_info_get_version_str ? bli_info_get_version_str() : "";
}

const char *sv_blas_core(void)
{
    return openblas_get_corename ? openblas_get_corename() : "";
}

/* The layers already split each matmul over the workers. Threads inside the BLAS would compete with
 * them, and the order of its sums would depend on the number of threads. */
void sv_blas_use_one_thread(void)
{
    if (openblas_set_num_threads)
        openblas_set_num_threads(1);
    if (bli_thread_set_num_threads)
        bli_thread_set_num_threads(1);
}

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
    GEMM(CblasRowMajor, a_is_row_major ? CblasNoTrans : CblasTrans,
         b_is_row_major ? CblasNoTrans : CblasTrans, (int)m, (int)count, (int)b->k, 1, a->a, lda,
         b->b + first * b->column_stride, ldb, beta, c->c + first, (int)c->ldc);
    sv_gemm_apply_epilogue(kernels, c, 0, m, first, count);
}

const sv_gemm sv_gemm_cblas = {
    .name = "cblas",
    .packed_b_bytes = sv_gemm_b_in_place_bytes,
    .pack_b = sv_gemm_b_in_place_pack,
    .matmul = matmul,
    .activations = &sv_gemm_cblas,
};
