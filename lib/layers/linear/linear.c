/* The linear map on one thread, and matmuls of activations. Parallel: linear_parallel.c. */
#include "layers/linear/linear.h"

#include <assert.h>

static void register_linear(sv_layer *layer, sv_linear *linear)
{
    size_t index = 0;
    while (index < SV_LAYER_LINEARS && layer->linears[index])
        index++;
    assert(index < SV_LAYER_LINEARS);
    layer->linears[index] = linear;
}

void sv_linear_init(sv_linear *linear, sv_layer *layer, size_t out, size_t in, size_t weight,
                    size_t bias)
{
    *linear = (sv_linear){.out = out, .in = in, .weight = weight, .bias = bias};
    linear->forward = (sv_gemm_b){.k = in, .n = out, .row_stride = 1, .column_stride = in};
    linear->backward = (sv_gemm_b){.k = out, .n = in, .row_stride = in, .column_stride = 1};
    if (weight != SV_NO_PARAMETER)
        register_linear(layer, linear);
}

void sv_linear_init_derived(sv_linear *linear, sv_layer *layer, size_t out, size_t in)
{
    sv_linear_init(linear, layer, out, in, SV_NO_PARAMETER, SV_NO_PARAMETER);
    register_linear(layer, linear);
}

void sv_linear_place_derived(sv_linear *linear, const real *memory)
{
    linear->derived = memory;
    linear->derived_bias = memory + linear->out * linear->in;
}

const real *sv_linear_bias(const sv_linear *linear, const sv_run *run)
{
    return linear->bias == SV_NO_PARAMETER ? linear->derived_bias : run->weights + linear->bias;
}

/* Computes the given columns of C = A B, where B is a packed weight. */
static void weight_matmul(const sv_exec *exec, const sv_gemm_c *c, const sv_gemm_a *a,
                          const sv_gemm_b *b, size_t tokens, sv_column_range columns)
{
    exec->gemm->matmul(exec->context->kernels, c, a, b, tokens, columns.first, columns.count);
}

/* y = x W^T + b */
void sv_linear_forward_columns(const sv_linear *linear, const sv_run *run, real *y,
                               const sv_gemm_a *x, size_t tokens, sv_column_range columns,
                               const sv_epilogue *epilogue)
{
    sv_gemm_c c = {y, linear->out, 0, sv_linear_bias(linear, run), epilogue};
    weight_matmul(&run->exec, &c, x, &linear->forward, tokens, columns);
}

/* Of y = x W^T + b:  dx = dy W */
void sv_linear_backward_columns(const sv_linear *linear, const sv_run *run, real *dx,
                                const sv_gemm_a *dy, size_t tokens, sv_column_range columns,
                                const sv_epilogue *epilogue)
{
    sv_gemm_c c = {dx, linear->in, 0, NULL, epilogue};
    weight_matmul(&run->exec, &c, dy, &linear->backward, tokens, columns);
}

void sv_linear_forward(const sv_linear *linear, const sv_run *run, real *y, const real *x,
                       size_t tokens, const sv_epilogue *epilogue)
{
    sv_gemm_a a = {x, linear->in, 1, NULL};
    sv_linear_forward_columns(linear, run, y, &a, tokens, (sv_column_range){0, linear->out},
                              epilogue);
}

void sv_linear_backward(const sv_linear *linear, const sv_run *run, real *dx, const real *dy,
                        size_t tokens, const sv_epilogue *epilogue)
{
    sv_gemm_a a = {dy, linear->out, 1, NULL};
    sv_linear_backward_columns(linear, run, dx, &a, tokens, (sv_column_range){0, linear->in},
                               epilogue);
}

void sv_matmul(const sv_exec *exec, const sv_gemm_c *c, const sv_gemm_a *a, const sv_gemm_b *b,
               size_t m)
{
    exec->gemm->activations->matmul(exec->context->kernels, c, a, b, m, 0, b->n);
}

void sv_pack_b(const sv_exec *exec, sv_gemm_b *packed, const real *b, size_t row_stride,
               size_t column_stride, size_t k, size_t n)
{
    *packed = (sv_gemm_b){b, k, n, row_stride, column_stride, packed->packed, 0};
    exec->gemm->activations->pack_b(exec->context->kernels, packed);
}

size_t sv_packed_b_bytes(const sv_gemm *gemm, const sv_exec *exec, size_t k, size_t n)
{
    sv_arena arena = {0};
    sv_arena_take(&arena, sv_gemm_packed_b_bytes(gemm, exec->context->kernels, k, n), 1, 1);
    return arena.overflow ? SIZE_MAX : arena.bytes;
}

size_t sv_packed_a_bytes(const sv_exec *exec, size_t tokens, size_t width)
{
    return exec->gemm->packed_a_bytes ? exec->gemm->packed_a_bytes(tokens, width) : 0;
}

sv_gemm_a sv_pack_a(const sv_exec *exec, const real *x, size_t tokens, size_t width, void *memory)
{
    sv_gemm_a a = {x, width, 1, NULL};
    if (!exec->gemm->pack_a)
        return a;
    exec->gemm->pack_a(&a, tokens, width, memory);
    a.packed = memory;
    return a;
}
