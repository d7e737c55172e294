/* The linear map of all layers, y = x W^T + b: its weights, their packed copies, its forward and
 * its backward; and matmuls of two activations. */
#ifndef SV_LINEAR_H
#define SV_LINEAR_H

#include "autograd/layer.h"
#include "autograd/parameter.h"
#include "gemm/gemm.h"
#include "layers/linear/partition.h"
#include "layers/linear/weight_gradient.h"

/* A weight [out, in] and a bias [out]. They are parameters of the model, or the layer derives them
 * from parameters of the model. */
typedef struct sv_linear {
    size_t out, in;
    size_t weight, bias; /* offsets in the flat arrays; SV_NO_PARAMETER: none, or derived */
    const real *derived, *derived_bias; /* NULL: they are parameters, or there is none */
    sv_gemm_b forward;                  /* B of y = x W^T + b: [in, out] */
    sv_gemm_b backward;                 /* B of dx = dy W: [out, in] */
} sv_linear;

/* Initialises `linear` and registers it with the layer, which may have up to SV_LAYER_LINEARS, so
 * that its weight is packed. With `weight` SV_NO_PARAMETER it is not registered. */
void sv_linear_init(sv_linear *linear, sv_layer *layer, size_t out, size_t in, size_t weight,
                    size_t bias);

/* The same for a weight and bias that the layer derives (sv_layer_ops.derive_weights). */
void sv_linear_init_derived(sv_linear *linear, sv_layer *layer, size_t out, size_t in);

/* Lets a derived map find its weight [out, in] and, behind it, its bias [out] in `memory`. */
void sv_linear_place_derived(sv_linear *linear, const real *memory);

/* The bias [out]; NULL: none. */
const real *sv_linear_bias(const sv_linear *linear, const sv_run *run);

/* y[tokens, out] = x[tokens, in] W^T + b, then the epilogue unless it is NULL. On this thread. */
void sv_linear_forward(const sv_linear *linear, const sv_run *run, real *y, const real *x,
                       size_t tokens, const sv_epilogue *epilogue);

/* dx[tokens, in] = dy[tokens, out] W, then the epilogue unless it is NULL. On this thread. */
void sv_linear_backward(const sv_linear *linear, const sv_run *run, real *dx, const real *dy,
                        size_t tokens, const sv_epilogue *epilogue);

/* Computes these columns of sv_linear_forward's y, from an x that may be packed. */
void sv_linear_forward_columns(const sv_linear *linear, const sv_run *run, real *y,
                               const sv_gemm_a *x, size_t tokens, sv_column_range columns,
                               const sv_epilogue *epilogue);

/* Computes these columns of sv_linear_backward's dx, from a dy that may be packed. */
void sv_linear_backward_columns(const sv_linear *linear, const sv_run *run, real *dx,
                                const sv_gemm_a *dy, size_t tokens, sv_column_range columns,
                                const sv_epilogue *epilogue);

/* y = x W^T + b on all workers, split by sv_linear_partition_of. `packed_a` has sv_packed_a_bytes
 * of SV_SMALL_M_TOKENS tokens and the wider of in and out. */
void sv_linear_forward_parallel(const sv_linear *linear, const sv_run *run, real *y, const real *x,
                                size_t tokens, void *packed_a);

/* dx = dy W on all workers, likewise. */
void sv_linear_backward_parallel(const sv_linear *linear, const sv_run *run, real *dx,
                                 const real *dy, size_t tokens, void *packed_a);

/* c[m, n] = a[m, k] b[k, n] of two matrices of activations, += if c->accumulate. On this thread. */
void sv_matmul(const sv_exec *exec, const sv_gemm_c *c, const sv_gemm_a *a, const sv_gemm_b *b,
               size_t m);

/* Packs activations b[k, n], element (p, j) at b[p * row_stride + j * column_stride], for
 * sv_matmul, into packed->packed, and sets the rest of *packed. */
void sv_pack_b(const sv_exec *exec, sv_gemm_b *packed, const real *b, size_t row_stride,
               size_t column_stride, size_t k, size_t n);

/* Bytes of packed B for a [k, n] matrix, rounded up to whole cache lines. */
size_t sv_packed_b_bytes(const sv_gemm *gemm, const sv_exec *exec, size_t k, size_t n);

/* Bytes of packed A for x[tokens, width]; 0 if a caller cannot pack A for the backend. */
size_t sv_packed_a_bytes(const sv_exec *exec, size_t tokens, size_t width);

/* x[tokens, width] as A of several matmuls; packed into `memory` of sv_packed_a_bytes if a caller
 * can pack A for the backend. */
sv_gemm_a sv_pack_a(const sv_exec *exec, const real *x, size_t tokens, size_t width, void *memory);

#endif
