/* Matmuls of weights and of their gradients. Layers derive weights from parameters with them, and
 * the gradients of these parameters from the gradients of the derived weights; the Newton-Schulz
 * iteration of Muon uses them too. They run on the calling thread, in float32 whatever the session
 * computes in, so that a derived weight is rounded only once. */
#ifndef SV_SMALL_MATMUL_H
#define SV_SMALL_MATMUL_H

#include "layers/linear/linear.h"

/* Element (i, j) is x[i * row + j * column]; one of row and column is 1. */
typedef struct sv_matrix {
    const real *x;
    size_t row, column;
} sv_matrix;

/* c[m,n] += a[m,k] b[k,n], c in rows of ldc elements. */
typedef struct sv_small_matmul {
    real *c;
    size_t ldc;
    sv_matrix a, b;
    size_t m, k, n;
} sv_small_matmul;

/* Bytes of scratch that sv_add_matmul needs for b[k, n]. */
size_t sv_small_matmul_bytes(const sv_exec *exec, size_t k, size_t n);

/* Computes *matmul, with sv_small_matmul_bytes bytes of scratch. */
void sv_add_matmul(const sv_exec *exec, const sv_small_matmul *matmul, void *scratch);

#endif
