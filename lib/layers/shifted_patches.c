/* Shifted patch tokenization's first half: patches of an image and of four shifted copies of it. */
#include "layers/create.h"
#include "layers/linear.h"

#include <assert.h>

typedef struct shifted_layer {
    sv_layer base;
    sv_patch_map map;
    int paper_order;
} shifted_layer;

typedef struct shifted_call {
    const shifted_layer *layer;
    const sv_run *run;
    real *out;
    const real *in;
    size_t tokens;
} shifted_call;

enum { TOKENS_A_TASK = 64 };

static void forward_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const shifted_call *call = argument;
    size_t first = task * TOKENS_A_TASK, left = call->tokens - first;
    call->run->context->kernels->shifted_patches(
        call->out + first * call->layer->base.out.channels, call->in, &call->layer->map,
        call->layer->paper_order, first, left < TOKENS_A_TASK ? left : TOKENS_A_TASK);
}

static void forward(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x)
{
    (void)saved;
    shifted_call call = {(const shifted_layer *)layer, run, y, x,
                         run->n * sv_map_tokens(layer->out)};
    sv_pool_run(run->context->pool, forward_task, &call, sv_tile_count(call.tokens, TOKENS_A_TASK));
}

/* The image has no gradient, and there are no parameters. */
static void backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                     const real *dy, const real *x)
{
    (void)layer;
    (void)run;
    (void)saved;
    (void)dy;
    (void)x;
    assert(dx == NULL);
    (void)dx;
}

static const sv_layer_class SHIFTED_CLASS = {
    .name = "shifted patches", .forward = forward, .backward = backward};

svit_status sv_shifted_patches_create(sv_layer **out, svit_context *context, sv_map in, size_t size,
                                      int paper_order, svit_error *err)
{
    void *memory;
    SVIT_TRY(sv_layer_allocate(&memory, context, sizeof(shifted_layer), &SHIFTED_CLASS, err));
    shifted_layer *layer = memory;
    layer->map = (sv_patch_map){.height = in.height,
                                .width = in.width,
                                .channels = in.channels,
                                .rows = in.height / size,
                                .columns = in.width / size,
                                .size = size};
    layer->paper_order = paper_order;
    layer->base.in = in;
    layer->base.out = (sv_map){layer->map.rows, layer->map.columns, size * size * in.channels * 5};
    *out = &layer->base;
    return SVIT_OK;
}
