/* A depthwise 3 x 3 convolution with a residual connection: y = x + conv(x, w) + b. The residual is
 * 1 added to the centre tap. */
#include "layers/create.h"
#include "layers/linear/partial_gradients.h"

#include <string.h>

enum { TAPS = 9, CENTRE = 4, PARTIALS = 2 };

typedef struct depthwise_layer {
    sv_layer base;
    size_t weight, bias; /* offsets of [c, 3, 3] and [c] */
} depthwise_layer;

typedef struct depthwise_call {
    const depthwise_layer *layer;
    const sv_run *run;
    real *out;
    const real *in, *x;
    size_t chunk_images;
    sv_partial_gradient partials[PARTIALS]; /* of [9, c] and [c] */
} depthwise_call;

static sv_depthwise_geometry geometry_of(const sv_layer *layer)
{
    return (sv_depthwise_geometry){layer->in.height, layer->in.width, layer->in.channels};
}

/* packed[tap, c] = w[c, tap], with the residual in the centre. The adjoint reads in the opposite
 * direction, so its taps are in reverse order. */
static void pack_taps(real *packed, const depthwise_call *call, bool reverse)
{
    const size_t c = call->layer->base.in.channels;
    const real *w = call->run->weights + call->layer->weight;
    for (size_t tap = 0; tap < TAPS; tap++)
        for (size_t k = 0; k < c; k++)
            packed[(reverse ? TAPS - 1 - tap : tap) * c + k] = w[k * TAPS + tap] + (tap == CENTRE);
}

static size_t first_image(const depthwise_call *call, size_t task)
{
    return task * call->chunk_images;
}

static size_t end_image(const depthwise_call *call, size_t task)
{
    size_t end = (task + 1) * call->chunk_images;
    return end < call->run->pass.n ? end : call->run->pass.n;
}

static void forward_task(void *argument, size_t task, uint32_t worker)
{
    const depthwise_call *call = argument;
    const sv_depthwise_geometry map = geometry_of(&call->layer->base);
    const size_t elements = sv_shape_elements(call->layer->base.in);
    real *packed = (real *)(void *)sv_worker_scratch(&call->run->exec, worker);
    pack_taps(packed, call, false);
    for (size_t i = first_image(call, task); i < end_image(call, task); i++)
        call->run->exec.context->kernels->depthwise(call->out + i * elements,
                                                    call->in + i * elements, packed,
                                                    call->run->weights + call->layer->bias, &map);
}

/* Images of a full reduction chunk of a batch of n: the bytes of its partial gradients decide. */
static size_t chunk_images(const depthwise_layer *layer, size_t n)
{
    return sv_reduction_chunk_images(n, (TAPS + 1) * layer->base.in.channels * sizeof(real));
}

static void run_tasks(sv_task task, depthwise_call *call)
{
    const size_t n = call->run->pass.n;
    sv_run_tasks(&call->run->exec, task, call, (n + call->chunk_images - 1) / call->chunk_images);
}

static void forward(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x)
{
    (void)saved;
    depthwise_call call = {.layer = (const depthwise_layer *)layer, .run = run, .out = y, .in = x};
    call.chunk_images = chunk_images(call.layer, run->pass.n);
    run_tasks(forward_task, &call);
}

static void layout_partials(sv_arena *arena, sv_partial_gradient partials[PARTIALS],
                            const depthwise_layer *layer, size_t chunks)
{
    const size_t c = layer->base.in.channels;
    partials[0] = (sv_partial_gradient){SV_NO_PARAMETER, TAPS * c, NULL};
    partials[1] = (sv_partial_gradient){layer->bias, c, NULL};
    sv_partial_gradients_take(arena, partials, PARTIALS, chunks);
}

static void plan_workspace(const sv_layer *base, const sv_run *run, sv_layer_memory *memory)
{
    const depthwise_layer *layer = (const depthwise_layer *)base;
    const size_t bytes = (TAPS + 1) * base->in.channels * sizeof(real);
    sv_arena saved = {0}, workspace = {0}, worker = {0};
    sv_partial_gradient partials[PARTIALS];
    sv_arena_reals(&worker, TAPS, base->in.channels);
    if (run->pass.training)
        layout_partials(&workspace, partials, layer, sv_reduction_chunks_max(run->pass.n, bytes));
    sv_layer_memory_set(memory, &saved, &workspace, &worker);
}

/* dw[9,c] += dy x, db += dy, dx = the adjoint convolution of dy, for the images of a chunk. */
static void backward_task(void *argument, size_t task, uint32_t worker)
{
    const depthwise_call *call = argument;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    const sv_depthwise_geometry map = geometry_of(&call->layer->base);
    const sv_shape shape = call->layer->base.in;
    const size_t elements = sv_shape_elements(shape);
    real *packed = (real *)(void *)sv_worker_scratch(&call->run->exec, worker);
    pack_taps(packed, call, true);
    sv_partial_gradients_clear(call->partials, PARTIALS, task);
    for (size_t i = first_image(call, task); i < end_image(call, task); i++) {
        const real *dy = call->in + i * elements;
        if (call->layer->base.trained) {
            kernels->depthwise_weight_gradient(sv_partial_gradient_of(&call->partials[0], task), dy,
                                               call->x + i * elements, &map);
            kernels->add_rows(sv_partial_gradient_of(&call->partials[1], task), dy,
                              sv_shape_tokens(shape), shape.channels);
        }
        if (call->out)
            kernels->depthwise(call->out + i * elements, dy, packed, NULL, &map);
    }
}

/* dw[c, tap] += the chunks' sums [tap, c], in index order. */
static void reduce_weight(const depthwise_call *call, size_t chunks)
{
    const size_t c = call->layer->base.in.channels;
    real *dw = sv_gradient(call->run, call->layer->weight);
    for (size_t chunk = 0; dw && chunk < chunks; chunk++) {
        const real *sums = sv_partial_gradient_of(&call->partials[0], chunk);
        for (size_t tap = 0; tap < TAPS; tap++)
            for (size_t k = 0; k < c; k++)
                dw[k * TAPS + tap] += sums[tap * c + k];
    }
}

static void backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                     const real *dy, const real *x)
{
    (void)saved;
    depthwise_call call = {
        .layer = (const depthwise_layer *)layer, .run = run, .out = dx, .in = dy, .x = x};
    call.chunk_images = chunk_images(call.layer, run->pass.n);
    const size_t chunks = (run->pass.n + call.chunk_images - 1) / call.chunk_images;
    sv_arena workspace = {.base = run->exec.workspace};
    layout_partials(&workspace, call.partials, call.layer, chunks);
    run_tasks(backward_task, &call);
    if (!layer->trained)
        return;
    reduce_weight(&call, chunks);
    sv_partial_gradients_reduce(run, &call.partials[1], 1, chunks);
}

static const sv_layer_ops DEPTHWISE_OPS = {.name = "depthwise convolution",
                                           .keeps_input = true,
                                           .plan_workspace = plan_workspace,
                                           .forward = forward,
                                           .backward = backward};

sv_layer *sv_depthwise_create(const sv_layer_source *source, sv_shape shape, const char *name)
{
    depthwise_layer *layer = sv_layer_new(source, sizeof *layer, &DEPTHWISE_OPS);
    if (!layer)
        return NULL;
    layer->base.in = layer->base.out = shape;
    layer->weight = sv_layer_parameter(&layer->base, source, name, ".weight");
    layer->bias = sv_layer_parameter(&layer->base, source, name, ".bias");
    return &layer->base;
}
