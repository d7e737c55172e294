/* GELU and dropout as layers, for a classifier head of several linear layers. */
#include "layers/create.h"
#include "layers/dropout_bits.h"
#include "layers/linear/linear.h"

#include <string.h>

typedef struct element_layer {
    sv_layer base;
    uint32_t threshold; /* of dropout: the rate is threshold / 65536 */
    real scale;         /* of the elements that dropout keeps */
} element_layer;

/* A row is an image. A task takes 32 of them, the rows of one word of a dropout mask. */
enum { ROWS = 32 };

typedef struct element_call {
    const element_layer *layer;
    const sv_run *run;
    uint32_t *mask;
    real *out;
    const real *in, *x;
    size_t width; /* elements of a row: one image */
} element_call;

static size_t width_of(const sv_layer *layer)
{
    return sv_shape_elements(layer->in);
}

static void run_tasks(sv_task task, const sv_layer *layer, const sv_run *run, void *saved,
                      real *out, const real *in, const real *x)
{
    element_call call = {(const element_layer *)layer, run, saved, out, in, x, width_of(layer)};
    sv_run_tasks(&run->exec, task, &call, sv_block_count(run->pass.n, ROWS));
}

static sv_rows rows_of(const element_call *call, size_t task)
{
    size_t first = task * ROWS;
    return (sv_rows){first, sv_block_length(call->run->pass.n, first, ROWS), call->width,
                     call->width};
}

static void gelu_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const element_call *call = argument;
    sv_rows rows = rows_of(call, task);
    size_t at = rows.first_token * call->width;
    call->run->exec.context->kernels->gelu(call->out + at, NULL, call->in + at, SV_NO_DROPOUT,
                                           rows);
}

static void gelu_forward(const sv_layer *layer, const sv_run *run, void *saved, real *y,
                         const real *x)
{
    run_tasks(gelu_task, layer, run, saved, y, x, NULL);
}

static void gelu_backward_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const element_call *call = argument;
    sv_rows rows = rows_of(call, task);
    size_t at = rows.first_token * call->width;
    memcpy(call->out + at, call->in + at, rows.tokens * call->width * sizeof(real));
    call->run->exec.context->kernels->gelu_backward(NULL, call->out + at, call->x + at,
                                                    SV_NO_DROPOUT, rows);
}

static void gelu_backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                          const real *dy, const real *x)
{
    run_tasks(gelu_backward_task, layer, run, saved, dx, dy, x);
}

static const sv_layer_ops GELU_OPS = {
    .name = "gelu", .keeps_input = 1, .forward = gelu_forward, .backward = gelu_backward};

static void plan_dropout(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory)
{
    sv_arena saved = {0}, none = {0};
    if (run->pass.training)
        sv_arena_take(&saved, sv_block_count(run->pass.n, ROWS), width_of(layer), sizeof(uint32_t));
    sv_layer_memory_set(memory, &saved, &none, &none);
}

/* y = keep * scale * x, and in the backward dx = keep * scale * dy: the same kernel. */
static void mask_rows(const element_call *call, size_t task)
{
    sv_rows rows = rows_of(call, task);
    size_t at = rows.first_token * call->width;
    sv_dropout dropped = {call->mask, call->layer->scale};
    call->run->exec.context->kernels->residual_backward(call->out + at, call->in + at, dropped,
                                                        NULL, 1, rows);
}

static void dropout_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const element_call *call = argument;
    sv_dropout_mask(call->run, call->layer->base.number, 0, call->layer->threshold,
                    call->mask + task * call->width, task, 1, call->width);
    mask_rows(call, task);
}

static void dropout_forward(const sv_layer *layer, const sv_run *run, void *saved, real *y,
                            const real *x)
{
    run_tasks(dropout_task, layer, run, saved, y, x, NULL);
}

static void dropout_backward_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    mask_rows(argument, task);
}

static void dropout_backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                             const real *dy, const real *x)
{
    run_tasks(dropout_backward_task, layer, run, saved, dx, dy, x);
}

static const sv_layer_ops DROPOUT_OPS = {.name = "dropout",
                                         .training_only = 1,
                                         .plan_workspace = plan_dropout,
                                         .forward = dropout_forward,
                                         .backward = dropout_backward};

static sv_layer *create(const sv_layer_source *source, const sv_layer_ops *ops, sv_shape shape,
                        double rate)
{
    element_layer *layer = sv_layer_new(source, sizeof *layer, ops);
    if (!layer)
        return NULL;
    layer->base.in = layer->base.out = shape;
    sv_dropout_rate(&layer->threshold, &layer->scale, rate);
    return &layer->base;
}

sv_layer *sv_gelu_create(const sv_layer_source *source, sv_shape shape)
{
    return create(source, &GELU_OPS, shape, 0);
}

sv_layer *sv_dropout_create(const sv_layer_source *source, sv_shape shape, double rate)
{
    return create(source, &DROPOUT_OPS, shape, rate);
}
