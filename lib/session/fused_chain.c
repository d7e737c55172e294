/* Fused chains of layers, and inference through them. */
#include "session/fused_chain.h"

#include "layers/linear.h"

enum {
    TOKENS = 144,          /* at a time, or an image: whole blocks of every panel */
    MAP_BYTES = 256 << 10, /* at most: two maps and a layer's own rows fill a L2 */
    GROUPS_LEAST = 8       /* for as many workers */
};

static size_t map_bytes(const sv_layer *layer, size_t images)
{
    return images * sv_shape_elements(layer->out) * sizeof(real);
}

/* Images of a layer's outputs that are taken at a time; 0: all of them. */
static size_t images_of(const sv_layer *layer, size_t n)
{
    size_t tokens = sv_shape_tokens(layer->out);
    size_t images = tokens < TOKENS ? TOKENS / tokens : 1;
    if (n / images < GROUPS_LEAST)
        return 0;
    return map_bytes(layer, images) <= MAP_BYTES ? images : 0;
}

/* Layers from number `first` on that take as many images at a time. */
static sv_fused_chain even_chain(const svit_session *session, size_t first, size_t n)
{
    sv_layer *const *layers = session->layers.inference;
    sv_fused_chain chain = {first, first + 1, images_of(layers[first], n), first, 0};
    while (chain.images && chain.end < session->layers.inference_count &&
           images_of(layers[chain.end], n) == chain.images)
        chain.end++;
    return chain;
}

/* Two fused chains on end, where the map between them has room for all images of the second. */
static bool join(sv_fused_chain *joined, const svit_session *session, const sv_fused_chain *inner,
                 size_t n)
{
    const size_t end = inner->end;
    if (end == session->layers.inference_count)
        return false;
    const sv_fused_chain outer = even_chain(session, end, n);
    if (outer.images <= inner->images || outer.images % inner->images != 0 ||
        map_bytes(session->layers.inference[end - 1], outer.images) > MAP_BYTES)
        return false;
    *joined = (sv_fused_chain){inner->first, outer.end, outer.images, end, inner->images};
    return true;
}

sv_fused_chain sv_fused_chain_from(const svit_session *session, size_t first, size_t n)
{
    sv_fused_chain chain = even_chain(session, first, n), joined;
    if (chain.images && join(&joined, session, &chain, n))
        return joined;
    if (chain.end == first + 1)
        chain.images = 0;
    return chain;
}

/* What a worker's scratch has to hold: two maps in passing, the one between the inner layers and
 * the others, and what any of the layers needs. */
typedef struct chain_sizes {
    size_t map, between; /* numbers */
    sv_layer_memory layer;
} chain_sizes;

typedef struct chain_scratch {
    real *maps[2], *between;
    char *shared, *worker;
} chain_scratch;

static sv_run layer_run(const svit_session *session, const sv_run *run, const sv_layer *layer,
                        size_t images)
{
    sv_run own = sv_session_layer_run(session, run, layer);
    own.pass.n = images;
    own.exec.serial = 1;
    return own;
}

static chain_sizes sizes_of(const svit_session *session, const sv_fused_chain *chain)
{
    sv_layer *const *layers = session->layers.inference;
    const sv_run run = sv_session_run(session, 0, 0);
    chain_sizes sizes = {0};
    for (size_t i = chain->first; i < chain->end; i++) {
        size_t images = i < chain->inner_end ? chain->inner_images : chain->images;
        sv_run own = layer_run(session, &run, layers[i], images);
        sv_layer_memory memory = sv_layer_plan_workspace(layers[i], &own);
        sv_layer_memory_max(&sizes.layer, &memory);
        sizes.map = sv_size_max(sizes.map, sv_shape_elements(layers[i]->out) * images);
    }
    if (chain->inner_images)
        sizes.between = sv_shape_elements(layers[chain->inner_end]->in) * chain->images;
    return sizes;
}

static chain_scratch lay_scratch(sv_arena *arena, const chain_sizes *sizes)
{
    chain_scratch scratch;
    for (int i = 0; i < 2; i++)
        scratch.maps[i] = sv_arena_take(arena, sizes->map, 1, sizeof(real));
    scratch.between = sv_arena_take(arena, sizes->between, 1, sizeof(real));
    scratch.shared = sv_arena_take(arena, sizes->layer.workspace, 1, 1);
    scratch.worker = sv_arena_take(arena, sizes->layer.worker_scratch, 1, 1);
    return scratch;
}

sv_layer_memory sv_fused_chain_plan_workspace(const svit_session *session,
                                              const sv_fused_chain *chain)
{
    sv_arena arena = {0};
    chain_sizes sizes = sizes_of(session, chain);
    lay_scratch(&arena, &sizes);
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

/* Some images through layers first..end-1. */
static void pass_layers(const chain_call *call, const chain_scratch *scratch, size_t first,
                        size_t end, size_t images, real *y, const real *x)
{
    sv_layer *const *layers = call->session->layers.inference;
    for (size_t i = first; i < end; i++) {
        sv_run own = layer_run(call->session, call->run, layers[i], images);
        own.exec.workspace = scratch->shared;
        own.exec.worker_scratch = scratch->worker;
        real *out = i + 1 == end ? y : scratch->maps[x == scratch->maps[0]];
        layers[i]->ops->forward(layers[i], &own, NULL, out, x);
        x = out;
    }
}

static void images_task(void *argument, size_t task, uint32_t worker)
{
    const chain_call *call = argument;
    const sv_fused_chain *chain = call->chain;
    sv_layer *const *layers = call->session->layers.inference;
    sv_arena arena = {.base = sv_worker_scratch(&call->run->exec, worker)};
    chain_scratch scratch = lay_scratch(&arena, &call->sizes);
    size_t image = task * chain->images;
    size_t images = sv_block_length(call->run->pass.n, image, chain->images);
    size_t in = sv_shape_elements(layers[chain->first]->in);
    size_t between = sv_shape_elements(layers[chain->inner_end]->in);
    const real *x = call->x + image * in;
    for (size_t i = 0; i < images && chain->inner_images; i += chain->inner_images)
        pass_layers(call, &scratch, chain->first, chain->inner_end,
                    sv_block_length(images, i, chain->inner_images), scratch.between + i * between,
                    x + i * in);
    pass_layers(call, &scratch, chain->inner_end, chain->end, images,
                call->y + image * sv_shape_elements(layers[chain->end - 1]->out),
                chain->inner_images ? scratch.between : x);
}

void sv_fused_chain_forward(const svit_session *session, const sv_run *run,
                            const sv_fused_chain *chain, real *y, const real *x)
{
    chain_call call = {session, run, chain, sizes_of(session, chain), y, x};
    sv_pool_run(run->exec.context->pool, images_task, &call,
                sv_block_count(run->pass.n, chain->images));
}
