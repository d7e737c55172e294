/* Products by which a layer makes weights of others, and the gradients of those: on this thread. */
#ifndef SV_SMALL_MATMUL_H
#define SV_SMALL_MATMUL_H

#include "layers/linear.h"

/* Element (i, j) at x[i * row + j * column], one of row and column being 1. */
typedef struct sv_matrix {
    const real *x;
    size_t row, column;
} sv_matrix;

/* c[m,n] += a[m,k] b[k,n], with scratch of sv_small_matmul_bytes. */
typedef struct sv_small_matmul {
    real *c;
    size_t ldc;
    sv_matrix a, b;
    size_t m, k, n;
} sv_small_matmul;

size_t sv_small_matmul_bytes(const sv_exec *exec, size_t k, size_t n);
void sv_add_matmul(const sv_exec *exec, const sv_small_matmul *of, void *scratch);

#endif
