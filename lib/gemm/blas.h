/* The CBLAS of the process: loaded at its first use, linked, or absent, as the build says. It is
 * never unloaded, so what is known of it belongs to the process (law 8 of docs/architecture.md). */
#ifndef SV_BLAS_H
#define SV_BLAS_H

#include "base/real.h"
#include "base/status.h"

/* What cblas.h calls CblasRowMajor, CblasNoTrans and CblasTrans, in every CBLAS. */
enum { SV_BLAS_ROW_MAJOR = 101, SV_BLAS_NO_TRANS = 111, SV_BLAS_TRANS = 112 };

/* cblas_sgemm, in the build in double cblas_dgemm. */
typedef void (*sv_blas_gemm)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                             real alpha, const real *a, int lda, const real *b, int ldb, real beta,
                             real *c, int ldc);

/* Loads the CBLAS and makes it single-threaded, for the whole process. SVIT_E_UNSUPPORTED: the
 * build has none, or it cannot be loaded. Any thread may call it, and again. */
svit_status sv_blas_load(svit_error *err);

/* The GEMM of the loaded CBLAS; sv_blas_load must have succeeded before. */
sv_blas_gemm sv_blas_gemm_of_process(void);

/* The description that the CBLAS gives of itself, and the CPU type whose kernels it runs; "" if it
 * does not tell, is not loaded, or the build has none. */
#ifdef SV_HAVE_BLAS
const char *sv_blas_description(void);
const char *sv_blas_core(void);
#else
static inline const char *sv_blas_description(void)
{
    return "";
}

static inline const char *sv_blas_core(void)
{
    return "";
}
#endif

#endif
