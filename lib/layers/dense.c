/* A linear layer over every token. */
#include "layers/create.h"
#include "layers/linear.h"

typedef struct dense_layer {
    sv_layer base;
    sv_linear linear;
    size_t bias;
} dense_layer;

typedef struct dense_call {
    const dense_layer *dense;
    const sv_run *run;
    real *out;
    const real *in;
    size_t tokens, tile;
} dense_call;

static void measure(const sv_layer *layer, size_t n, int training, sv_layer_memory *memory)
{
    (void)layer;
    (void)n;
    *memory = (sv_layer_memory){.worker = training ? SV_WEIGHT_SCRATCH : 0};
}

static dense_call start_call(const dense_layer *dense, const sv_run *run, real *out, const real *in)
{
    size_t tokens = run->n * sv_map_tokens(dense->base.in);
    size_t width = dense->linear.in > dense->linear.out ? dense->linear.in : dense->linear.out;
    return (dense_call){dense, run, out, in, tokens, sv_tile_tokens(tokens, width)};
}

static size_t task_tokens(const dense_call *call, size_t first)
{
    return call->tokens - first < call->tile ? call->tokens - first : call->tile;
}

static void forward_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const dense_call *call = argument;
    const sv_linear *linear = &call->dense->linear;
    size_t first = task * call->tile, tokens = task_tokens(call, first);
    real *y = call->out + first * linear->out;
    sv_linear_forward(linear, call->run, y, call->in + first * linear->in, tokens);
    call->run->context->kernels->add_bias(y, call->run->weights + call->dense->bias, tokens,
                                          linear->out);
}

static void forward(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x)
{
    (void)saved;
    dense_call call = start_call((const dense_layer *)layer, run, y, x);
    sv_pool_run(run->context->pool, forward_task, &call, sv_tile_count(call.tokens, call.tile));
}

static void backward_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const dense_call *call = argument;
    const sv_linear *linear = &call->dense->linear;
    size_t first = task * call->tile;
    sv_linear_backward(linear, call->run, call->out + first * linear->in,
                       call->in + first * linear->out, task_tokens(call, first));
}

static void backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                     const real *dy, const real *x)
{
    (void)saved;
    const dense_layer *dense = (const dense_layer *)layer;
    const sv_linear *linear = &dense->linear;
    dense_call call = start_call(dense, run, dx, dy);
    sv_weight_job job = {
        run->gradients + linear->weight, dy, x, linear->out, linear->in, call.tokens};
    sv_weight_gradients(run, &job, 1);
    run->context->kernels->add_rows(run->gradients + dense->bias, dy, call.tokens, linear->out);
    if (dx)
        sv_pool_run(run->context->pool, backward_task, &call,
                    sv_tile_count(call.tokens, call.tile));
}

static size_t pack_bytes(const sv_layer *layer, const svit_context *context, int training)
{
    return sv_linear_pack_bytes(&((const dense_layer *)layer)->linear, context, training);
}

static void pack(sv_layer *layer, const sv_run *run, char *memory)
{
    sv_linear_pack(&((dense_layer *)layer)->linear, run, memory);
}

static const sv_layer_class DENSE_CLASS = {.name = "dense",
                                           .keeps_input = 1,
                                           .measure = measure,
                                           .forward = forward,
                                           .backward = backward,
                                           .pack_bytes = pack_bytes,
                                           .pack = pack};

svit_status sv_dense_create(sv_layer **out, svit_context *context, const sv_parameter_table *table,
                            sv_map in, size_t channels_out, const char *name, svit_error *err)
{
    void *memory;
    SVIT_TRY(sv_layer_allocate(&memory, context, sizeof(dense_layer), &DENSE_CLASS, err));
    dense_layer *dense = memory;
    dense->base.in = in;
    dense->base.out = (sv_map){in.height, in.width, channels_out};
    sv_linear_init(&dense->linear, channels_out, in.channels,
                   sv_layer_parameter(table, name, ".weight"));
    dense->bias = sv_layer_parameter(table, name, ".bias");
    *out = &dense->base;
    return SVIT_OK;
}
