/* A session's memory, laid out twice by the same functions: to measure it and to use it. */
#include "base/size.h"
#include "layers/prepack.h"
#include "session/fused_chain.h"

static void grow(size_t *most, size_t bytes)
{
    if (bytes > *most)
        *most = bytes;
}

/* A run of the largest batch, as the layer sees it. */
static sv_run largest_run(const svit_session *session, const sv_layer *layer, int training)
{
    sv_run run = sv_session_run(session, session->config.max_batch, training);
    return sv_session_layer_run(session, &run, layer);
}

static sv_layer_memory measure_layer(const svit_session *session, const sv_layer *layer,
                                     int training)
{
    sv_run run = largest_run(session, layer, training);
    return sv_layer_plan_workspace(layer, &run);
}

/* The map of a whole batch. */
static real *take_map(sv_arena *arena, const svit_session *session, sv_shape map)
{
    size_t elements = 0, factors[] = {session->config.max_batch, map.height, map.width};
    arena->overflow = arena->overflow || !sv_size_product(&elements, factors, 3);
    return sv_arena_take(arena, elements, map.channels, sizeof(real));
}

static size_t map_bytes(const svit_session *session, sv_shape map)
{
    sv_arena arena = {0};
    take_map(&arena, session, map);
    return arena.overflow ? SIZE_MAX : arena.bytes;
}

svit_status sv_session_choose_segments(svit_session *session, svit_error *err)
{
    const svit_context *context = session->model->context;
    size_t count = session->layers.training_count;
    void *memory;
    SVIT_TRY(sv_allocate_array(&context->allocator, &memory, count, sizeof(sv_layer_cost), "costs",
                               err));
    sv_layer_cost *costs = memory;
    for (size_t i = 0; i < count && session->trains; i++) {
        const sv_layer *layer = session->layers.layers[i];
        costs[i] = (sv_layer_cost){measure_layer(session, layer, 1).saved,
                                   map_bytes(session, layer->in), layer->ops->keeps_input};
    }
    svit_status status =
        sv_segments_choose(&session->segments, context, costs, count,
                           session->trains ? session->config.memory : SVIT_MEMORY_STORE, err);
    sv_release(&context->allocator, costs, count * sizeof *costs);
    return status;
}

/* What all layers need: of shared and worker scratch the most of any. A session that trains also
 * infers, so both count, and fused chains of layers do. */
static sv_layer_memory measure_scratch(const svit_session *session)
{
    sv_layer_memory most = {0};
    const sv_layer_list *list = &session->layers;
    for (size_t i = 0; session->trains && i < list->training_count; i++) {
        sv_layer_memory memory = measure_layer(session, list->layers[i], 1);
        sv_layer_memory_max(&most, &memory);
    }
    for (size_t i = 0; i < list->inference_count; i++) {
        sv_layer_memory memory = measure_layer(session, list->inference[i], 0);
        sv_layer_memory_max(&most, &memory);
    }
    for (size_t i = 0; i < list->inference_count;) {
        sv_fused_chain chain = sv_fused_chain_from(session, i, session->config.max_batch);
        if (chain.images) {
            sv_layer_memory memory = sv_fused_chain_plan_workspace(session, &chain);
            sv_layer_memory_max(&most, &memory);
        }
        i = chain.end;
    }
    return most;
}

static int keeps_input(const svit_session *session, size_t i)
{
    return session->layers.layers[i]->ops->keeps_input;
}

/* What the layers of a segment keep, its first one's input apart. */
static void lay_segment(svit_session *session, sv_arena *arena, const sv_segment *segment)
{
    bool placed = arena->base != NULL;
    sv_arena_take(arena, segment->passing, 1, 1);
    for (size_t i = segment->first; i < segment->end; i++) {
        if (i > segment->first && keeps_input(session, i)) {
            real *input = take_map(arena, session, session->layers.layers[i]->in);
            if (placed)
                session->outputs[i - 1] = input;
        }
        char *saved =
            sv_arena_take(arena, measure_layer(session, session->layers.layers[i], 1).saved, 1, 1);
        if (placed)
            session->saved[i] = saved;
    }
}

/* The map that a segment begins with. The first one reads the caller's array, unless a backward
 * needs it too. */
static void lay_input(svit_session *session, sv_arena *arena, const sv_segment *segment)
{
    size_t first = segment->first;
    if (!segment->again && !keeps_input(session, first))
        return;
    real *input = take_map(arena, session, session->layers.layers[first]->in);
    if (first == 0)
        session->saved_input = input;
    else if (arena->base)
        session->outputs[first - 1] = input;
}

/* What is kept from forward to backward. The shared segments all begin where the region begins. */
static void lay_segments(svit_session *session, sv_arena *arena)
{
    sv_arena region = *arena;
    size_t end = arena->bytes;
    session->passing = sv_arena_take(&region, 0, 1, 1);
    for (size_t i = 0; i < session->segments.count; i++) {
        sv_arena shared = *arena;
        if (!session->segments.list[i].shared)
            continue;
        lay_segment(session, &shared, &session->segments.list[i]);
        grow(&end, shared.bytes);
        arena->overflow = arena->overflow || shared.overflow;
    }
    arena->bytes = end;
    for (size_t i = 0; i < session->segments.count; i++) {
        const sv_segment *segment = &session->segments.list[i];
        lay_input(session, arena, segment);
        if (!segment->shared)
            lay_segment(session, arena, segment);
    }
}

static void lay_packed(svit_session *session, sv_arena *arena)
{
    const sv_layer_list *list = &session->layers;
    sv_layer *const *layers = session->trains ? list->layers : list->inference;
    for (size_t i = 0; i < (session->trains ? list->count : list->inference_count); i++) {
        sv_run run = sv_session_pack_run(session, layers[i]);
        char *packed = sv_arena_take(arena, sv_prepack_bytes(layers[i], &run), 1, 1);
        if (arena->base)
            session->packed[layers[i]->number] = packed;
    }
}

/* Two places, each for any layer's output. */
static void lay_buffers(svit_session *session, sv_arena *arena)
{
    sv_arena none = {0}, largest = {0};
    for (size_t i = 0; i < session->layers.count; i++) {
        sv_arena map = none;
        take_map(&map, session, session->layers.layers[i]->out);
        grow(&largest.bytes, map.bytes);
        arena->overflow = arena->overflow || map.overflow;
    }
    session->buffers[0] = sv_arena_take(arena, largest.bytes, 1, 1);
    session->buffers[1] = sv_arena_take(arena, largest.bytes, 1, 1);
}

static void lay_scratch(svit_session *session, sv_arena *arena)
{
    sv_layer_memory most = measure_scratch(session);
    arena->overflow = arena->overflow || most.overflow;
    session->shared = sv_arena_take(arena, most.workspace, 1, 1);
    session->worker_bytes = (most.worker_scratch + SV_ALIGNMENT - 1) / SV_ALIGNMENT * SV_ALIGNMENT;
    session->worker = sv_arena_take(arena, svit_context_threads(session->model->context),
                                    session->worker_bytes, 1);
}

/* Lays all memory out; with a base, for use. */
static void lay_all(svit_session *session, sv_arena *arena)
{
    size_t count = session->layers.training_count, trained = session->trains ? count : 0;
    session->saved = sv_arena_take(arena, count, 1, sizeof *session->saved);
    session->outputs = sv_arena_take(arena, count, 1, sizeof *session->outputs);
    session->packed = sv_arena_take(arena, session->layers.count, 1, sizeof *session->packed);
    for (size_t i = 0; arena->base && i < count; i++) {
        session->saved[i] = NULL;
        session->outputs[i] = NULL;
    }
    sv_record *records = sv_arena_take(arena, trained, 1, sizeof *records);
    session->tape = (sv_tape){.records = records, .capacity = count};
    session->gradients = NULL;
    lay_packed(session, arena);
    if (session->trains) {
        session->gradients =
            sv_arena_take(arena, session->model->parameters.elements, 1, sizeof(real));
        lay_segments(session, arena);
    }
    lay_buffers(session, arena);
    lay_scratch(session, arena);
}

svit_status sv_session_memory_needed(svit_session *session, size_t *bytes, svit_error *err)
{
    sv_arena measured = {0};
    lay_all(session, &measured);
    if (measured.overflow)
        return sv_fail(err, SVIT_E_MEMORY,
                       "a session of max_batch %u does not fit the address space",
                       session->config.max_batch);
    *bytes = measured.bytes;
    return SVIT_OK;
}

void sv_session_place(svit_session *session)
{
    sv_arena arena = {.base = session->memory};
    lay_all(session, &arena);
}
