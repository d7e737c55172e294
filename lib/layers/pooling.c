/* Global average pooling as a layer. */
#include "layers/create.h"
#include "layers/linear/linear.h"

enum { TASK_IMAGES = 8 };

typedef struct pool_call {
    const sv_layer *layer;
    const sv_run *run;
    real *out;
    const real *in;
} pool_call;

static size_t images_of(const pool_call *call, size_t task)
{
    return sv_block_length(call->run->pass.n, task * TASK_IMAGES, TASK_IMAGES);
}

static void forward_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const pool_call *call = argument;
    size_t tokens = sv_shape_tokens(call->layer->in), c = call->layer->in.channels;
    size_t first = task * TASK_IMAGES;
    call->run->exec.context->kernels->mean_tokens(
        call->out + first * c, call->in + first * tokens * c, images_of(call, task), tokens, c);
}

static void forward(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x)
{
    (void)saved;
    pool_call call = {layer, run, y, x};
    sv_run_tasks(&run->exec, forward_task, &call, sv_block_count(run->pass.n, TASK_IMAGES));
}

static void backward_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const pool_call *call = argument;
    size_t tokens = sv_shape_tokens(call->layer->in), c = call->layer->in.channels;
    size_t first = task * TASK_IMAGES;
    call->run->exec.context->kernels->mean_tokens_backward(
        call->out + first * tokens * c, call->in + first * c, images_of(call, task), tokens, c);
}

static void backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                     const real *dy, const real *x)
{
    (void)saved;
    (void)x;
    pool_call call = {layer, run, dx, dy};
    sv_run_tasks(&run->exec, backward_task, &call, sv_block_count(run->pass.n, TASK_IMAGES));
}

static const sv_layer_ops MEAN_OPS = {
    .name = "mean pooling", .forward = forward, .backward = backward};

sv_layer *sv_mean_create(const sv_layer_source *source, sv_shape in)
{
    sv_layer *layer = sv_layer_new(source, sizeof *layer, &MEAN_OPS);
    if (!layer)
        return NULL;
    layer->in = in;
    layer->out = (sv_shape){1, 1, in.channels};
    return layer;
}
