/* Packs weights, for one session or for all that share a copy. */
#include "session/packed_weights.h"

#include "layers/linear/prepack.h"
#include "models/model_map.h"

#include <assert.h>

/* The copy of one layer of the inference graph. */
typedef struct packed_layer {
    uint32_t number;     /* of the layer */
    const sv_gemm *gemm; /* backend of its matmuls */
    char *memory;        /* sv_prepack_bytes */
} packed_layer;

struct sv_packed_weights {
    sv_packed_weights *next; /* of the model; this and all that follows is guarded by its lock */
    size_t sessions;
    uint64_t version; /* 1 + the version of the model that is packed; 0: none */

    /* Constant. */
    size_t bytes; /* of this allocation, the layers' memory included */
    sv_shape image;
    const sv_kernels *kernels;
    size_t count;
    packed_layer *layers; /* [count]: in the order of the inference graph */
};

/* Lays out a copy, or measures one if the arena has no memory; then it returns NULL. */
static sv_packed_weights *lay_out(const svit_session *session, sv_arena *arena)
{
    const sv_layer_list *list = &session->layers;
    sv_packed_weights *packed = sv_arena_take(arena, 1, 1, sizeof *packed);
    packed_layer *layers = sv_arena_take(arena, list->inference_count, 1, sizeof *layers);
    if (packed)
        *packed = (sv_packed_weights){.image = session->image,
                                      .kernels = session->context->kernels,
                                      .count = list->inference_count,
                                      .layers = layers};
    for (size_t i = 0; i < list->inference_count; i++) {
        sv_run run = sv_session_pack_run(session, list->inference[i]);
        char *memory = sv_arena_take(arena, sv_prepack_bytes(list->inference[i], &run), 1, 1);
        if (packed)
            layers[i] = (packed_layer){list->inference[i]->number, run.exec.gemm, memory};
    }
    return packed;
}

svit_status sv_packed_weights_plan(const svit_session *session, size_t *bytes, svit_error *err)
{
    sv_arena measured = {0};
    if (!session->trains)
        lay_out(session, &measured);
    if (measured.overflow)
        return sv_fail(err, SVIT_E_MEMORY, "packed weights do not fit the address space");
    *bytes = measured.bytes;
    return SVIT_OK;
}

/* Whether the copy has the bytes that the session would pack. */
static bool has_same_bytes(const sv_packed_weights *packed, const svit_session *session)
{
    if (packed->kernels != session->context->kernels ||
        packed->image.height != session->image.height ||
        packed->image.width != session->image.width ||
        packed->count != session->layers.inference_count)
        return false;
    for (size_t i = 0; i < packed->count; i++) {
        const sv_layer *layer = session->layers.inference[i];
        sv_run run = sv_session_pack_run(session, layer);
        if (layer->number != packed->layers[i].number || run.exec.gemm != packed->layers[i].gemm)
            return false;
    }
    return true;
}

/* Finds a copy for the session, counts the session as a user, and returns it; otherwise adds
 * `made`, unless it is NULL, and returns it. The caller holds the lock. */
static sv_packed_weights *find_or_add(const svit_session *session, sv_packed_weights *made)
{
    svit_model *model = session->model;
    sv_packed_weights *packed = model->packed_weights;
    while (packed && !has_same_bytes(packed, session))
        packed = packed->next;
    if (!packed && made) {
        packed = made;
        packed->next = model->packed_weights;
        model->packed_weights = packed;
    }
    if (packed)
        packed->sessions++;
    return packed;
}

/* The same with the lock, which is not held while memory is allocated: an allocator is the
 * program's own function. */
static sv_packed_weights *find_or_add_locked(const svit_session *session, sv_packed_weights *made)
{
    sv_mutex_lock(session->model->packed_lock);
    sv_packed_weights *packed = find_or_add(session, made);
    sv_mutex_unlock(session->model->packed_lock);
    return packed;
}

svit_status sv_packed_weights_join(svit_session *session, svit_error *err)
{
    const sv_allocator *allocator = &session->model->context->allocator;
    size_t bytes = 0;
    if (session->trains)
        return SVIT_OK;
    session->shared = find_or_add_locked(session, NULL);
    if (session->shared)
        return SVIT_OK;
    SVIT_TRY(sv_packed_weights_plan(session, &bytes, err));
    sv_arena arena = {.base = sv_allocate(allocator, bytes)};
    if (!arena.base)
        return sv_fail_memory(err, bytes, "the packed weights of a model");
    sv_packed_weights *made = lay_out(session, &arena);
    made->bytes = bytes;
    session->shared = find_or_add_locked(session, made);
    if (session->shared != made)
        sv_release(allocator, made, bytes);
    return SVIT_OK;
}

/* Counts one user less. If that was the last one, removes the copy from the model and returns it;
 * otherwise returns NULL. */
static sv_packed_weights *remove_user(svit_model *model, sv_packed_weights *packed)
{
    if (--packed->sessions > 0)
        return NULL;
    sv_packed_weights **link = &model->packed_weights;
    while (*link != packed)
        link = &(*link)->next;
    *link = packed->next;
    return packed;
}

/* In a child by fork the lock is not taken: the child has one thread, and a lock that another
 * thread of the parent held at the fork would never be released. */
void sv_packed_weights_leave(svit_session *session)
{
    svit_model *model = session->model;
    if (!session->shared)
        return;
    bool locks = sv_pool_process(model->context->pool) == sv_process_id();
    if (locks)
        sv_mutex_lock(model->packed_lock);
    sv_packed_weights *unused = remove_user(model, session->shared);
    if (locks)
        sv_mutex_unlock(model->packed_lock);
    session->shared = NULL;
    if (unused)
        sv_release(&model->context->allocator, unused, unused->bytes);
}

size_t sv_packed_weights_bytes(const svit_session *session)
{
    return session->shared ? session->shared->bytes : 0;
}

void sv_packed_weights_place(svit_session *session)
{
    for (size_t i = 0; i < session->layers.inference_count; i++)
        session->packed[session->layers.inference[i]->number] = session->shared->layers[i].memory;
}

/* The arguments of pack_task. Each layer has one task, for the copy that the forward reads; with
 * copies 2 it has another one, for the copy that the backward reads. */
typedef struct pack_call {
    svit_session *session;
    sv_layer *const *layers;
    size_t count, copies;
} pack_call;

static void discard_weight(const void *model, size_t weight)
{
    sv_model_discard_weight(model, weight);
}

/* Packs one copy of the weights of one layer. The last layers are packed first. They are the
 * largest, so a mapped model discards the most pages before the packed copies take much memory. */
static void pack_task(void *argument, size_t task, uint32_t worker)
{
    pack_call *call = argument;
    sv_layer *layer = call->layers[call->count - 1 - task / call->copies];
    sv_run run = sv_session_pack_run(call->session, layer);
    bool backward = task % call->copies != 0;
    run.exec.on_packed = discard_weight;
    run.exec.packed_argument = call->session->model;
    sv_prepack(layer, &run, call->session->packed[layer->number], backward, worker);
}

static void pack_layers(svit_session *session, sv_layer *const *layers, size_t count, size_t copies)
{
    pack_call call = {session, layers, count, copies};
    if (session->shared)
        sv_pool_run_locked(session->context->pool, pack_task, &call, count * copies);
    else
        sv_pool_run(session->context->pool, pack_task, &call, count * copies);
}

/* Packs the weights of the mode's graph to session->packed: in training the layers below the first
 * trained one for the forward alone. */
static void pack_graph(svit_session *session, int32_t mode)
{
    const sv_layer_list *list = &session->layers;
    const size_t first = session->active.first_recorded;
    if (mode != SVIT_MODE_TRAIN) {
        pack_layers(session, list->inference, list->inference_count, 1);
        return;
    }
    pack_layers(session, list->inference, session->active.frozen_inference, 1);
    pack_layers(session, list->layers + session->active.frozen_end,
                first - session->active.frozen_end, 1);
    pack_layers(session, list->layers + first, list->training_count - first, 2);
}

/* Lets the layers of this session read the shared copy. */
static void attach_layers(svit_session *session)
{
    for (size_t i = 0; i < session->layers.inference_count; i++) {
        sv_layer *layer = session->layers.inference[i];
        sv_run run = sv_session_pack_run(session, layer);
        sv_prepack_place(layer, &run, session->packed[layer->number]);
    }
}

static void update_shared(svit_session *session, uint64_t version)
{
    sv_packed_weights *packed = session->shared;
    sv_mutex_lock(session->model->packed_lock);
    if (packed->version != version) {
        assert(!session->model->packed_once || packed->version == 0);
        pack_graph(session, SVIT_MODE_INFER);
        packed->version = version;
    }
    sv_mutex_unlock(session->model->packed_lock);
    attach_layers(session);
}

void sv_packed_weights_update(svit_session *session, int32_t mode)
{
    uint64_t version = atomic_load(&session->model->version) + 1;
    if (session->packed_version[mode] == version)
        return;
    if (session->shared)
        update_shared(session, version);
    else
        pack_graph(session, mode);
    session->packed_version[mode] = version;
}
