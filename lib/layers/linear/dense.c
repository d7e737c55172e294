/* A linear layer on every token: y = x W^T + b. */
#include "layers/create.h"
#include "layers/linear/linear.h"

typedef struct dense_layer {
    sv_layer base;
    sv_linear linear;
} dense_layer;

static void plan_workspace(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory)
{
    const sv_linear *linear = &((const dense_layer *)layer)->linear;
    size_t width = sv_size_max(linear->in, linear->out);
    *memory = (sv_layer_memory){.workspace = sv_packed_a_bytes(&run->exec, SV_SMALL_M, width),
                                .worker_scratch = run->pass.training ? SV_GEMM_SCRATCH : 0};
}

static void forward(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x)
{
    (void)saved;
    const sv_linear *linear = &((const dense_layer *)layer)->linear;
    size_t tokens = run->pass.n * sv_shape_tokens(layer->in);
    sv_linear_forward_parallel(linear, run, y, x, tokens, run->exec.workspace);
}

/* Of y = x W^T + b:  dW += dy^T x;  db += dy;  dx = dy W */
static void backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                     const real *dy, const real *x)
{
    (void)saved;
    const sv_linear *linear = &((const dense_layer *)layer)->linear;
    size_t tokens = run->pass.n * sv_shape_tokens(layer->in);
    if (layer->trained) {
        sv_weight_gradient_job job = {
            sv_gradient(run, linear->weight), dy, x, linear->out, linear->in, tokens};
        sv_weight_gradients(run, &job, 1);
        run->exec.context->kernels->add_rows(sv_gradient(run, linear->bias), dy, tokens,
                                             linear->out);
    }
    if (dx)
        sv_linear_backward_parallel(linear, run, dx, dy, tokens, run->exec.workspace);
}

static const sv_layer_ops DENSE_OPS = {.name = "dense",
                                       .keeps_input = 1,
                                       .plan_workspace = plan_workspace,
                                       .forward = forward,
                                       .backward = backward};

svit_status sv_dense_create(sv_layer **out, svit_context *context, const sv_parameter_table *table,
                            sv_shape in, size_t channels_out, const char *name, svit_error *err)
{
    void *memory;
    SVIT_TRY(sv_layer_allocate(&memory, context, sizeof(dense_layer), &DENSE_OPS, err));
    dense_layer *dense = memory;
    dense->base.in = in;
    dense->base.out = (sv_shape){in.height, in.width, channels_out};
    sv_linear_init(&dense->linear, &dense->base, channels_out, in.channels,
                   sv_layer_parameter(&dense->base, table, name, ".weight"),
                   sv_layer_parameter(&dense->base, table, name, ".bias"));
    *out = &dense->base;
    return SVIT_OK;
}
