/* Products by which a layer makes weights of others, and the gradients of those: on this thread. */
#ifndef SV_SMALL_PRODUCT_H
#define SV_SMALL_PRODUCT_H

#include "layers/linear.h"

/* Element (i, j) at x[i * row + j * column], one of row and column being 1. */
typedef struct sv_matrix {
    const real *x;
    size_t row, column;
} sv_matrix;

/* c[m,n] += a[m,k] b[k,n], with scratch of sv_small_product_bytes. */
typedef struct sv_small_product {
    real *c;
    size_t ldc;
    sv_matrix a, b;
    size_t m, k, n;
} sv_small_product;

size_t sv_small_product_bytes(const sv_run *run, size_t k, size_t n);
void sv_add_product(const sv_run *run, const sv_small_product *of, void *scratch);

#endif
