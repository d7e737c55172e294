/* Runs matmuls of a backend of the library on the arrays of a reference. */
#ifndef LIBRARY_MATMUL_H
#define LIBRARY_MATMUL_H

#include "backends.h"
#include "reference_matmul.h"

/* The layout of the operands and the division of the work, which do not change the result. */
typedef struct library_layout {
    bool transposed_x, transposed_weight;
    size_t first_token; /* of row 0; with a drop_path_scale a multiple of image_tokens */
    size_t split;       /* columns from `split` on are computed by a second call; 0: one call */
} library_layout;

/* A column where a matmul of n columns may be split, selected by `choice`; 0: there is none. */
size_t library_split(size_t n, size_t choice);

/* As reference_matmul. Elements of the arrays are rounded to the library's type. */
void library_matmul(const subject *of, const sv_kernels *kernels, const library_layout *layout,
                    double *y, const double *x, const double *weight,
                    const reference_epilogue *epilogue, size_t m, size_t n, size_t k);

/* y[m, n] = dropout * gelu'(pre_gelu) * (x weight^T)  and  hidden[m, n] = dropout * gelu(pre_gelu):
 * the matmul in the backward of an MLP, with the derivative of GELU as its epilogue. */
void library_matmul_gelu_backward(const subject *of, const sv_kernels *kernels,
                                  const library_layout *layout, double *y, double *hidden,
                                  const double *x, const double *weight, const double *pre_gelu,
                                  const double *dropout, size_t m, size_t n, size_t k);

/* y[m, n] += x[k, m]^T z[k, n]: a weight gradient of k tokens. */
void library_weight_gradient(const subject *of, const sv_kernels *kernels, double *y,
                             const double *x, const double *z, size_t m, size_t n, size_t k);

/* The relative error of a term of a weight gradient that the rounding of its operands causes; 0:
 * they are not rounded. */
double library_weight_gradient_rounding(const subject *of);

#endif
