/* Stretches of layers, and inference through them. */
#include "train/stretch.h"

#include "layers/linear.h"

enum {
    TOKENS = 144,          /* at a time, or an image: whole blocks of every panel */
    MAP_BYTES = 256 << 10, /* at most: two maps and a layer's own rows fill a second cache */
    GROUPS_LEAST = 8       /* for as many workers */
};

/* Images of a layer's outputs that are taken at a time; 0: all of them. */
static size_t images_of(const sv_layer *layer, size_t n)
{
    size_t tokens = sv_map_tokens(layer->out);
    size_t images = tokens < TOKENS ? TOKENS / tokens : 1;
    if (n / images < GROUPS_LEAST)
        return 0;
    return images * sv_map_elements(layer->out) * sizeof(real) <= MAP_BYTES ? images : 0;
}

sv_stretch sv_stretch_from(const svit_session *session, size_t first, size_t n)
{
    sv_layer *const *layers = session->layers.infer;
    sv_stretch stretch = {first, first + 1, images_of(layers[first], n)};
    while (stretch.images && stretch.end < session->layers.infer_count &&
           images_of(layers[stretch.end], n) == stretch.images)
        stretch.end++;
    if (stretch.end == first + 1)
        stretch.images = 0;
    return stretch;
}

/* What a worker's scratch has to hold: two maps in passing, and what any of the layers needs. */
typedef struct stretch_sizes {
    size_t map; /* numbers */
    sv_layer_memory layer;
} stretch_sizes;

typedef struct stretch_scratch {
    real *maps[2];
    char *shared, *worker;
} stretch_scratch;

static sv_run layer_run(const svit_session *session, const sv_run *run, const sv_layer *layer,
                        size_t images)
{
    sv_run own = sv_session_layer_run(session, run, layer);
    own.n = images;
    own.alone = 1;
    return own;
}

static stretch_sizes sizes_of(const svit_session *session, const sv_stretch *stretch)
{
    const sv_run run = sv_session_run(session, 0, 0);
    stretch_sizes sizes = {0};
    for (size_t i = stretch->first; i < stretch->end; i++) {
        const sv_layer *layer = session->layers.infer[i];
        sv_run own = layer_run(session, &run, layer, stretch->images);
        sv_layer_memory memory = sv_layer_measure(layer, &own);
        sv_layer_memory_most(&sizes.layer, &memory);
        size_t map = sv_map_elements(layer->out) * stretch->images;
        sizes.map = map > sizes.map ? map : sizes.map;
    }
    return sizes;
}

static stretch_scratch lay_scratch(sv_arena *arena, const stretch_sizes *sizes)
{
    stretch_scratch scratch;
    for (int i = 0; i < 2; i++)
        scratch.maps[i] = sv_arena_take(arena, sizes->map, 1, sizeof(real));
    scratch.shared = sv_arena_take(arena, sizes->layer.shared, 1, 1);
    scratch.worker = sv_arena_take(arena, sizes->layer.worker, 1, 1);
    return scratch;
}

sv_layer_memory sv_stretch_measure(const svit_session *session, const sv_stretch *stretch)
{
    sv_arena arena = {0};
    stretch_sizes sizes = sizes_of(session, stretch);
    lay_scratch(&arena, &sizes);
    return (sv_layer_memory){.worker = arena.bytes,
                             .overflow = sizes.layer.overflow || arena.overflow};
}

typedef struct stretch_call {
    const svit_session *session;
    const sv_run *run;
    const sv_stretch *stretch;
    stretch_sizes sizes;
    real *y;
    const real *x;
} stretch_call;

static void images_task(void *argument, size_t task, uint32_t worker)
{
    const stretch_call *call = argument;
    const sv_stretch *stretch = call->stretch;
    sv_layer *const *layers = call->session->layers.infer;
    sv_arena arena = {.base = sv_worker_scratch(call->run, worker)};
    stretch_scratch scratch = lay_scratch(&arena, &call->sizes);
    size_t image = task * stretch->images, left = call->run->n - image;
    const real *x = call->x + image * sv_map_elements(layers[stretch->first]->in);
    for (size_t i = stretch->first; i < stretch->end; i++) {
        const sv_layer *layer = layers[i];
        sv_run own = layer_run(call->session, call->run, layer,
                               left < stretch->images ? left : stretch->images);
        own.shared = scratch.shared;
        own.worker = scratch.worker;
        real *y = i + 1 == stretch->end ? call->y + image * sv_map_elements(layer->out)
                                        : scratch.maps[x == scratch.maps[0]];
        layer->class->forward(layer, &own, NULL, y, x);
        x = y;
    }
}

void sv_stretch_forward(const svit_session *session, const sv_run *run, const sv_stretch *stretch,
                        real *y, const real *x)
{
    stretch_call call = {session, run, stretch, sizes_of(session, stretch), y, x};
    sv_pool_run(run->context->pool, images_task, &call, sv_tile_count(run->n, stretch->images));
}
