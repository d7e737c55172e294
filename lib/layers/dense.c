/* A linear layer over every token. */
#include "layers/create.h"
#include "layers/linear.h"

typedef struct dense_layer {
    sv_layer base;
    sv_linear linear;
} dense_layer;

typedef struct dense_call {
    const dense_layer *dense;
    const sv_run *run;
    real *out;
    sv_left in;
    sv_linear_cut cut;
} dense_call;

static void measure(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory)
{
    const sv_linear *linear = &((const dense_layer *)layer)->linear;
    size_t width = linear->in > linear->out ? linear->in : linear->out;
    *memory = (sv_layer_memory){.shared = sv_left_bytes(run, SV_FEW_TOKENS, width),
                                .worker = run->training ? SV_GEMM_SCRATCH : 0};
}

/* Of a product of `in` [tokens, depth]; few tokens, whose columns are shared out, are made ready
 * for all parts. */
static dense_call start_call(const dense_layer *dense, const sv_run *run, real *out, const real *in,
                             size_t depth, size_t columns)
{
    const sv_linear *linear = &dense->linear;
    size_t tokens = run->n * sv_map_tokens(dense->base.in);
    dense_call call = {dense,
                       run,
                       out,
                       {in, depth, 1, NULL},
                       sv_linear_cut_of(run->gemm, tokens, columns, linear->in, linear->out)};
    if (tokens <= SV_FEW_TOKENS && call.cut.parts > 1)
        call.in = sv_left_make(run, in, tokens, depth, run->shared);
    return call;
}

static sv_left rows_from(const dense_call *call, size_t first)
{
    sv_left rows = call->in;
    rows.a += first * rows.row;
    return rows;
}

static void run_call(dense_call *call, sv_task task)
{
    sv_run_tasks(call->run, task, call, sv_linear_cut_tasks(&call->cut));
}

static void forward_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const dense_call *call = argument;
    const sv_linear *linear = &call->dense->linear;
    sv_linear_part part = sv_linear_part_of(&call->cut, task);
    sv_left rows = rows_from(call, part.first);
    sv_linear_forward_part(linear, call->run, call->out + part.first * linear->out, &rows,
                           part.tokens, part.columns, NULL);
}

static void forward(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x)
{
    (void)saved;
    const dense_layer *dense = (const dense_layer *)layer;
    dense_call call = start_call(dense, run, y, x, dense->linear.in, dense->linear.out);
    run_call(&call, forward_task);
}

static void backward_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const dense_call *call = argument;
    const sv_linear *linear = &call->dense->linear;
    sv_linear_part part = sv_linear_part_of(&call->cut, task);
    sv_left rows = rows_from(call, part.first);
    sv_linear_backward_part(linear, call->run, call->out + part.first * linear->in, &rows,
                            part.tokens, part.columns, NULL);
}

static void backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                     const real *dy, const real *x)
{
    (void)saved;
    const dense_layer *dense = (const dense_layer *)layer;
    const sv_linear *linear = &dense->linear;
    dense_call call = start_call(dense, run, dx, dy, linear->out, linear->in);
    sv_weight_job job = {
        run->gradients + linear->weight, dy, x, linear->out, linear->in, call.cut.tokens};
    sv_weight_gradients(run, &job, 1);
    run->context->kernels->add_rows(run->gradients + linear->bias, dy, call.cut.tokens,
                                    linear->out);
    if (dx)
        run_call(&call, backward_task);
}

static const sv_layer_class DENSE_CLASS = {.name = "dense",
                                           .keeps_input = 1,
                                           .measure = measure,
                                           .forward = forward,
                                           .backward = backward};

svit_status sv_dense_create(sv_layer **out, svit_context *context, const sv_parameter_table *table,
                            sv_map in, size_t channels_out, const char *name, svit_error *err)
{
    void *memory;
    SVIT_TRY(sv_layer_allocate(&memory, context, sizeof(dense_layer), &DENSE_CLASS, err));
    dense_layer *dense = memory;
    dense->base.in = in;
    dense->base.out = (sv_map){in.height, in.width, channels_out};
    sv_linear_init(&dense->linear, &dense->base, channels_out, in.channels,
                   sv_layer_parameter(table, name, ".weight"),
                   sv_layer_parameter(table, name, ".bias"));
    *out = &dense->base;
    return SVIT_OK;
}
