/* Plans a session's memory. The same functions lay it out twice: first without a base address, to
 * measure it, and then in the allocated memory. */
#include "base/size.h"
#include "layers/linear/prepack.h"
#include "session/fused_chain.h"
#include "session/packed_weights.h"

/* The run of a layer for the largest batch. */
static sv_run max_batch_run(const svit_session *session, const sv_layer *layer, bool training)
{
    sv_run run = sv_session_run(session, session->config.max_batch, training);
    return sv_session_layer_run(session, &run, layer);
}

static sv_layer_memory layer_memory(const svit_session *session, const sv_layer *layer,
                                    bool training)
{
    sv_run run = max_batch_run(session, layer, training);
    return sv_layer_plan_workspace(layer, &run);
}

/* Takes the activations of a layer's input or output for the largest batch. */
static real *take_activations(sv_arena *arena, const svit_session *session, sv_shape shape)
{
    size_t elements = 0, factors[] = {session->config.max_batch, shape.height, shape.width};
    arena->overflow = arena->overflow || !sv_size_product(&elements, factors, 3);
    return sv_arena_take(arena, elements, shape.channels, sizeof(real));
}

/* Bytes of these activations; SIZE_MAX if they do not fit. */
static size_t activation_bytes(const svit_session *session, sv_shape shape)
{
    sv_arena arena = {0};
    take_activations(&arena, session, shape);
    return arena.overflow ? SIZE_MAX : arena.bytes;
}

svit_status sv_session_choose_segments(svit_session *session, svit_error *err)
{
    const svit_context *context = session->context;
    if (!session->trains)
        return SVIT_OK;
    const size_t first = session->active.first_recorded;
    const size_t count = session->layers.training_count - first;
    void *memory;
    SVIT_TRY(sv_allocate_array(&context->allocator, &memory, count, sizeof(sv_layer_cost),
                               "the choice of segments", err));
    sv_layer_cost *costs = memory;
    for (size_t i = 0; i < count; i++) {
        const sv_layer *layer = session->layers.layers[first + i];
        costs[i] = (sv_layer_cost){.saved = layer_memory(session, layer, true).saved,
                                   .input = activation_bytes(session, layer->in),
                                   .keeps_input = layer->ops->keeps_input};
    }
    svit_status status =
        sv_segments_choose(&session->segments, context, costs, count, session->config.memory, err);
    for (size_t i = 0; status == SVIT_OK && i < session->segments.count; i++) {
        session->segments.list[i].first += first;
        session->segments.list[i].end += first;
    }
    sv_release(&context->allocator, costs, count * sizeof *costs);
    return status;
}

/* Raises *max to what the chains of the first `limit` layers of the inference graph need. */
static void add_chains(sv_layer_memory *max, const svit_session *session, size_t limit)
{
    for (size_t i = 0; i < limit;) {
        sv_fused_chain chain = sv_fused_chain_from(session, i, limit, session->config.max_batch);
        if (chain.images) {
            sv_layer_memory memory = sv_fused_chain_plan_workspace(session, &chain);
            sv_layer_memory_max(max, &memory);
        }
        i = chain.end;
    }
}

/* The largest workspace and worker scratch of any layer or fused chain. A session that trains can
 * also infer, so both graphs count. */
static sv_layer_memory max_layer_memory(const svit_session *session)
{
    sv_layer_memory max = {0};
    const sv_layer_list *list = &session->layers;
    for (size_t i = session->active.frozen_end; session->trains && i < list->training_count; i++) {
        sv_layer_memory memory =
            layer_memory(session, list->layers[i], i >= session->active.first_recorded);
        sv_layer_memory_max(&max, &memory);
    }
    for (size_t i = 0; i < list->inference_count; i++) {
        sv_layer_memory memory = layer_memory(session, list->inference[i], false);
        sv_layer_memory_max(&max, &memory);
    }
    add_chains(&max, session, list->inference_count);
    add_chains(&max, session, session->active.frozen_inference);
    return max;
}

static bool keeps_input(const svit_session *session, size_t i)
{
    return session->layers.layers[i]->ops->keeps_input;
}

/* Lays out what a segment's layers save, except for the input of the first one. */
static void layout_segment(svit_session *session, sv_arena *arena, const sv_segment *segment)
{
    bool placed = arena->base != NULL;
    sv_arena_take(arena, segment->temporary, 1, 1);
    for (size_t i = segment->first; i < segment->end; i++) {
        if (i > segment->first && keeps_input(session, i)) {
            real *input = take_activations(arena, session, session->layers.layers[i]->in);
            if (placed)
                session->outputs[i - 1] = input;
        }
        size_t bytes = layer_memory(session, session->layers.layers[i], true).saved;
        char *saved = sv_arena_take(arena, bytes, 1, 1);
        if (placed)
            session->saved[i] = saved;
    }
}

/* Lays out the input of a segment, if the backward or the recomputation reads it. If no
 * layer runs before the first segment, its input is a copy of the caller's array. */
static void layout_input(svit_session *session, sv_arena *arena, const sv_segment *segment)
{
    size_t first = segment->first;
    if (!segment->recomputed && !keeps_input(session, first))
        return;
    real *input = take_activations(arena, session, session->layers.layers[first]->in);
    if (first == session->active.first)
        session->saved_input = input;
    else if (arena->base)
        session->outputs[first - 1] = input;
}

/* Lays out all saved activations. First comes the region, memory that several segments use one
 * after the other: each of them begins at its start, and so does the third buffer of recomputation.
 */
static void layout_segments(svit_session *session, sv_arena *arena)
{
    sv_arena region = *arena;
    size_t end = arena->bytes;
    session->temporary = sv_arena_take(&region, 0, 1, 1);
    for (size_t i = 0; i < session->segments.count; i++) {
        if (!session->segments.list[i].in_region)
            continue;
        sv_arena segment = *arena;
        layout_segment(session, &segment, &session->segments.list[i]);
        end = sv_size_max(end, segment.bytes);
        arena->overflow = arena->overflow || segment.overflow;
    }
    arena->bytes = end;
    for (size_t i = 0; i < session->segments.count; i++) {
        const sv_segment *segment = &session->segments.list[i];
        layout_input(session, arena, segment);
        if (!segment->in_region)
            layout_segment(session, arena, segment);
    }
}

/* Lays out the prepacked weights of all layers. Those of a session that only infers are shared. */
static void layout_packed(svit_session *session, sv_arena *arena)
{
    const sv_layer_list *list = &session->layers;
    for (size_t i = 0; session->trains && i < list->count; i++) {
        if (!sv_session_runs_layer(session, list->layers[i]))
            continue;
        sv_run run = sv_session_pack_run(session, list->layers[i]);
        char *packed = sv_arena_take(arena, sv_prepack_bytes(list->layers[i], &run), 1, 1);
        if (arena->base)
            session->packed[list->layers[i]->number] = packed;
    }
    if (session->shared && arena->base)
        sv_packed_weights_place(session);
}

/* Lays out two buffers, each for the output of any layer that runs. */
static void layout_buffers(svit_session *session, sv_arena *arena)
{
    size_t bytes = 0;
    for (size_t i = 0; i < session->layers.count; i++) {
        sv_arena output = {0};
        if (!sv_session_runs_layer(session, session->layers.layers[i]))
            continue;
        take_activations(&output, session, session->layers.layers[i]->out);
        bytes = sv_size_max(bytes, output.bytes);
        arena->overflow = arena->overflow || output.overflow;
    }
    session->buffers[0] = sv_arena_take(arena, bytes, 1, 1);
    session->buffers[1] = sv_arena_take(arena, bytes, 1, 1);
}

/* Lays out the workspace and the scratch of the workers. */
static void layout_scratch(svit_session *session, sv_arena *arena)
{
    sv_layer_memory max = max_layer_memory(session);
    arena->overflow = arena->overflow || max.overflow;
    session->workspace = sv_arena_take(arena, max.workspace, 1, 1);
    session->worker_bytes = (max.worker_scratch + SV_ALIGNMENT - 1) / SV_ALIGNMENT * SV_ALIGNMENT;
    session->worker_scratch =
        sv_arena_take(arena, svit_context_threads(session->context), session->worker_bytes, 1);
}

/* Lays out all memory of the session. */
static void layout_all(svit_session *session, sv_arena *arena)
{
    const size_t count = session->layers.training_count, record_count = session->trains ? count : 0;
    session->saved = sv_arena_take(arena, count, 1, sizeof *session->saved);
    session->outputs = sv_arena_take(arena, count, 1, sizeof *session->outputs);
    session->packed = sv_arena_take(arena, session->layers.count, 1, sizeof *session->packed);
    for (size_t i = 0; arena->base && i < count; i++) {
        session->saved[i] = NULL;
        session->outputs[i] = NULL;
    }
    sv_record *records = sv_arena_take(arena, record_count, 1, sizeof *records);
    session->tape = (sv_tape){.records = records, .capacity = record_count};
    session->gradients.values = NULL;
    layout_packed(session, arena);
    if (session->trains) {
        session->gradients.values =
            sv_arena_take(arena, session->gradients.subset.elements, 1, sizeof(real));
        layout_segments(session, arena);
    }
    layout_buffers(session, arena);
    layout_scratch(session, arena);
}

svit_status sv_session_plan_memory(svit_session *session, size_t *bytes, svit_error *err)
{
    sv_arena measured = {0};
    layout_all(session, &measured);
    if (measured.overflow)
        return sv_fail(err, SVIT_E_MEMORY,
                       "a session of max_batch %u does not fit the address space",
                       session->config.max_batch);
    *bytes = measured.bytes;
    return SVIT_OK;
}

void sv_session_layout_memory(svit_session *session)
{
    sv_arena arena = {.base = session->memory};
    layout_all(session, &arena);
}
