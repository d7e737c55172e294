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
    *memory =
        (sv_layer_memory){.workspace = sv_packed_a_bytes(&run->exec, SV_SMALL_M_TOKENS, width),
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
        sv_add_rows_to_gradient(run, linear->bias, dy, tokens, linear->out);
    }
    if (dx)
        sv_linear_backward_parallel(linear, run, dx, dy, tokens, run->exec.workspace);
}

static const sv_layer_ops DENSE_OPS = {.name = "dense",
                                       .keeps_input = 1,
                                       .plan_workspace = plan_workspace,
                                       .forward = forward,
                                       .backward = backward};

sv_layer *sv_dense_create(const sv_layer_source *source, sv_shape in, size_t channels_out,
                          const char *name)
{
    dense_layer *dense = sv_layer_new(source, sizeof *dense, &DENSE_OPS);
    if (!dense)
        return NULL;
    dense->base.in = in;
    dense->base.out = (sv_shape){in.height, in.width, channels_out};
    sv_layer_linear(&dense->base, &dense->linear, source, name, channels_out, in.channels);
    return &dense->base;
}
