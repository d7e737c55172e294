/* Products with a weight, and weight gradients, by one of several providers. All run on the calling
 * thread alone: the work is split by the layers. */
#ifndef SV_GEMM_H
#define SV_GEMM_H

#include "kernels/kernels.h"

/* A right-hand side b[k,n] that many products share: element (p, j) at b[p * row + j * column], one
 * of row and column being 1. */
typedef struct sv_operand {
    const real *b;
    size_t k, n, row, column;
    real *packed; /* what the provider made of b; NULL where it needs nothing */
} sv_operand;

typedef struct sv_gemm {
    const char *name;

    /* Numbers that `packed` needs; 0: b is read in place. */
    size_t (*packed_elements)(const sv_kernels *kernels, size_t k, size_t n);
    void (*pack)(const sv_kernels *kernels, sv_operand *operand);

    /* c[m, first..first+count-1] = a[m,k] b[k, the same columns]: a's rows next to each other, c's
     * n apart. first is a multiple of SV_GEMM_COLUMNS that leaves at least SV_GEMM_REST columns,
     * and so is the part's end where it is not n. */
    void (*multiply)(const sv_kernels *kernels, real *c, const real *a, const sv_operand *b,
                     size_t m, size_t first, size_t count);

    /* c[m,n] += a[k,m]^T b[k,n]: a weight gradient, k tokens. Leading dimensions lda, ldb, ldc;
     * `scratch` has SV_GEMM_SCRATCH(n) numbers. */
    void (*multiply_transposed)(const sv_kernels *kernels, real *c, size_t ldc, const real *a,
                                size_t lda, const real *b, size_t ldb, size_t m, size_t n, size_t k,
                                real *scratch);
} sv_gemm;

/* Where a product may be cut into columns: whole panels of every instruction set, and not within
 * the last few, whose widths depend on how many are left. */
enum { SV_GEMM_COLUMNS = 48, SV_GEMM_REST = 144 };

/* Numbers of scratch for one multiply_transposed. */
enum { SV_GEMM_SCRATCH = 192 * 448 };

extern const sv_gemm sv_gemm_tile;
extern const sv_gemm sv_gemm_cblas;

/* NULL for a name that is no provider's. */
const sv_gemm *sv_gemm_find(const char *name);

/* What the CBLAS says of itself, and the core it runs as; "" where it does not tell. */
const char *sv_blas_description(void);
const char *sv_blas_core(void);

/* Makes the process's CBLAS single-threaded; called where a context chooses it. */
void sv_blas_use_one_thread(void);

#endif
