/* The reference of a matmul with its epilogue, in plain loops and double precision. Arrays are
 * row-major, and a weight is [out, in]. The forward overwrites y, the backward adds (+=) to every
 * gradient that it computes, so the caller clears the gradients first. */
#ifndef REFERENCE_MATMUL_H
#define REFERENCE_MATMUL_H

#include <stddef.h>

/* The epilogue of a matmul. A field that is NULL or 0 is left out. */
typedef struct reference_epilogue {
    const double *bias;            /* [n] */
    double *pre_gelu;              /* [m, n]: if given, GELU is applied and its input saved here */
    const double *dropout;         /* [m, n]: 0 where an element is dropped, else 1 / (1 - rate) */
    const double *drop_path_scale; /* [m / image_tokens]: 0 or 1 / (1 - rate) for each image */
    size_t image_tokens;           /* rows of an image; needed with drop_path_scale */
    const double *residual;        /* [m, n] */
    int accumulate;                /* the sums are added to what y holds; then without a bias */
} reference_epilogue;

void reference_matmul(double *y, const double *x, const double *weight,
                      const reference_epilogue *epilogue, size_t m, size_t n, size_t k);

/* dbias and dresidual may be NULL. Not for a matmul that accumulates. */
void reference_matmul_backward(double *dx, double *dweight, double *dbias, double *dresidual,
                               const double *dy, const double *x, const double *weight,
                               const reference_epilogue *epilogue, size_t m, size_t n, size_t k);

#endif
