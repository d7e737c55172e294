/* Chooses fused chains of layers and infers through them. */
#include "session/fused_chain.h"

#include "layers/linear/linear.h"

enum {
    CHAIN_TOKENS = 144, /* of a task: a multiple of MR of most microkernels */
    /* A layer's output for one task has at most so many bytes, so that L2 holds input, output and
     * scratch of a layer. */
    ACTIVATION_BYTES = 256 << 10,
    MIN_TASKS = 8 /* with fewer tasks in a batch, workers would be idle */
};

/* Bytes of a layer's output for so many images. */
static size_t output_bytes(const sv_layer *layer, size_t images)
{
    return images * sv_shape_elements(layer->out) * sizeof(real);
}

/* Images that a task takes through a layer; 0: the layer cannot be in a chain. */
static size_t task_images(const sv_layer *layer, size_t n)
{
    size_t tokens = sv_shape_tokens(layer->out);
    size_t images = tokens < CHAIN_TOKENS ? CHAIN_TOKENS / tokens : 1;
    if (n / images < MIN_TASKS)
        return 0;
    return output_bytes(layer, images) <= ACTIVATION_BYTES ? images : 0;
}

/* The longest chain from layer `first` on whose layers all take the same number of images. */
static sv_fused_chain uniform_chain(const svit_session *session, size_t first, size_t limit,
                                    size_t n)
{
    sv_layer *const *layers = session->layers.inference;
    sv_fused_chain chain = {first, first + 1, task_images(layers[first], n), first, 0};
    while (chain.images && chain.end < limit && task_images(layers[chain.end], n) == chain.images)
        chain.end++;
    return chain;
}

/* Joins a chain with the one behind it, if that one takes a multiple of its images and the
 * activations between the two are small enough. */
static bool join(sv_fused_chain *joined, const svit_session *session, const sv_fused_chain *inner,
                 size_t limit, size_t n)
{
    const size_t end = inner->end;
    if (end == limit)
        return false;
    const sv_fused_chain outer = uniform_chain(session, end, limit, n);
    if (outer.images <= inner->images || outer.images % inner->images != 0 ||
        output_bytes(session->layers.inference[end - 1], outer.images) > ACTIVATION_BYTES)
        return false;
    *joined = (sv_fused_chain){inner->first, outer.end, outer.images, end, inner->images};
    return true;
}

sv_fused_chain sv_fused_chain_from(const svit_session *session, size_t first, size_t limit,
                                   size_t n)
{
    sv_fused_chain chain = uniform_chain(session, first, limit, n), joined;
    if (chain.images && join(&joined, session, &chain, limit, n))
        return joined;
    if (chain.end == first + 1)
        chain.images = 0;
    return chain;
}

/* What the scratch of one worker holds: two buffers for activations, the activations between the
 * inner layers and the others, and the memory of the layer that is running. */
typedef struct chain_sizes {
    size_t buffer, between; /* elements */
    sv_layer_memory layer;
} chain_sizes;

typedef struct chain_scratch {
    real *buffers[2], *between;
    char *workspace, *worker_scratch;
} chain_scratch;

/* The run of a layer for `images` images on the thread of one task. */
static sv_run serial_run(const svit_session *session, const sv_run *run, const sv_layer *layer,
                         size_t images)
{
    sv_run serial = sv_session_layer_run(session, run, layer);
    serial.pass.n = images;
    serial.exec.serial = true;
    return serial;
}

static chain_sizes sizes_of(const svit_session *session, const sv_fused_chain *chain)
{
    sv_layer *const *layers = session->layers.inference;
    const sv_run run = sv_session_run(session, 0, false);
    chain_sizes sizes = {0};
    for (size_t i = chain->first; i < chain->end; i++) {
        size_t images = i < chain->inner_end ? chain->inner_images : chain->images;
        sv_run layer_run = serial_run(session, &run, layers[i], images);
        sv_layer_memory memory = sv_layer_plan_workspace(layers[i], &layer_run);
        sv_layer_memory_max(&sizes.layer, &memory);
        sizes.buffer = sv_size_max(sizes.buffer, sv_shape_elements(layers[i]->out) * images);
    }
    if (chain->inner_images)
        sizes.between = sv_shape_elements(layers[chain->inner_end]->in) * chain->images;
    return sizes;
}

static chain_scratch layout_scratch(sv_arena *arena, const chain_sizes *sizes)
{
    chain_scratch scratch;
    for (int i = 0; i < 2; i++)
        scratch.buffers[i] = sv_arena_take(arena, sizes->buffer, 1, sizeof(real));
    scratch.between = sv_arena_take(arena, sizes->between, 1, sizeof(real));
    scratch.workspace = sv_arena_take(arena, sizes->layer.workspace, 1, 1);
    scratch.worker_scratch = sv_arena_take(arena, sizes->layer.worker_scratch, 1, 1);
    return scratch;
}

sv_layer_memory sv_fused_chain_plan_workspace(const svit_session *session,
                                              const sv_fused_chain *chain)
{
    sv_arena arena = {0};
    chain_sizes sizes = sizes_of(session, chain);
    layout_scratch(&arena, &sizes);
    return (sv_layer_memory){.worker_scratch = arena.bytes,
                             .overflow = sizes.layer.overflow || arena.overflow};
}

typedef struct chain_call {
    const svit_session *session;
    const sv_run *run;
    const sv_fused_chain *chain;
    chain_sizes sizes;
    real *y;
    const real *x;
} chain_call;

/* Takes `images` images through layers first..end - 1, from x to y. */
static void forward_layers(const chain_call *call, const chain_scratch *scratch, size_t first,
                           size_t end, size_t images, real *y, const real *x)
{
    sv_layer *const *layers = call->session->layers.inference;
    for (size_t i = first; i < end; i++) {
        sv_run run = serial_run(call->session, call->run, layers[i], images);
        run.exec.workspace = scratch->workspace;
        run.exec.worker_scratch = scratch->worker_scratch;
        real *out = i + 1 == end ? y : scratch->buffers[x == scratch->buffers[0]];
        layers[i]->ops->forward(layers[i], &run, NULL, out, x);
        x = out;
    }
}

/* One task: `images` images of the batch through the whole chain. */
static void chain_task(void *argument, size_t task, uint32_t worker)
{
    const chain_call *call = argument;
    const sv_fused_chain *chain = call->chain;
    sv_layer *const *layers = call->session->layers.inference;
    sv_arena arena = {.base = sv_worker_scratch(&call->run->exec, worker)};
    chain_scratch scratch = layout_scratch(&arena, &call->sizes);
    size_t image = task * chain->images;
    size_t images = sv_block_length(call->run->pass.n, image, chain->images);
    size_t in = sv_shape_elements(layers[chain->first]->in);
    size_t between = sv_shape_elements(layers[chain->inner_end]->in);
    const real *x = call->x + image * in;
    for (size_t i = 0; i < images && chain->inner_images; i += chain->inner_images)
        forward_layers(call, &scratch, chain->first, chain->inner_end,
                       sv_block_length(images, i, chain->inner_images),
                       scratch.between + i * between, x + i * in);
    forward_layers(call, &scratch, chain->inner_end, chain->end, images,
                   call->y + image * sv_shape_elements(layers[chain->end - 1]->out),
                   chain->inner_images ? scratch.between : x);
}

void sv_fused_chain_forward(const svit_session *session, const sv_run *run,
                            const sv_fused_chain *chain, real *y, const real *x)
{
    chain_call call = {session, run, chain, sizes_of(session, chain), y, x};
    sv_pool_run(run->exec.context->pool, chain_task, &call,
                sv_block_count(run->pass.n, chain->images));
}
