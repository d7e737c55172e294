/* Sessions: all memory is planned and taken at creation. */
#include "train/session.h"

#include "base/config.h"
#include "base/size.h"
#include "kernels/gemm.h"

#include <string.h>

enum { BATCH_LIMIT = 65536, SIDE_LIMIT = 8192 };

SVIT_API svit_status svit_session_config_init(svit_session_config *config, size_t size)
{
    svit_session_config own = {.struct_size = sizeof own, .max_batch = 256};
    return sv_config_export(config, size, &own, sizeof own, "svit_session_config", NULL);
}

static svit_status check_config(const svit_session_config *config, svit_error *err)
{
    if (config->max_batch < 1 || config->max_batch > BATCH_LIMIT)
        return sv_fail(err, SVIT_E_ARGUMENT, "max_batch is %u; 1 to %d are accepted",
                       config->max_batch, BATCH_LIMIT);
    if (config->mode != SVIT_MODE_INFER && config->mode != SVIT_MODE_TRAIN)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "mode is %d; SVIT_MODE_INFER (0) and SVIT_MODE_TRAIN (1) are accepted",
                       (int)config->mode);
    if (config->compute < SVIT_COMPUTE_F32 || config->compute > SVIT_COMPUTE_INT8)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "compute is %d; SVIT_COMPUTE_F32 (0), SVIT_COMPUTE_BF16 (1) and "
                       "SVIT_COMPUTE_INT8 (2) are accepted",
                       (int)config->compute);
    if (config->compute == SVIT_COMPUTE_INT8 && config->mode == SVIT_MODE_TRAIN)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "compute is SVIT_COMPUTE_INT8, which only infers; SVIT_COMPUTE_F32 and "
                       "SVIT_COMPUTE_BF16 are accepted in SVIT_MODE_TRAIN");
    if (config->input_height > SIDE_LIMIT || config->input_width > SIDE_LIMIT)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "input_height, input_width are %u, %u; 0 (the model's) to %d are accepted",
                       config->input_height, config->input_width, SIDE_LIMIT);
    return SVIT_OK;
}

/* Elements of the largest map that one image has between two layers. */
static size_t largest_map(const sv_layer_list *layers, bool *overflow)
{
    size_t largest = 1;
    for (size_t i = 0; i < layers->count; i++) {
        sv_map out = layers->layers[i]->out;
        size_t elements, factors[] = {out.height, out.width, out.channels};
        if (!sv_size_product(&elements, factors, 3))
            *overflow = true;
        else if (elements > largest)
            largest = elements;
    }
    return largest;
}

static void grow(size_t *most, size_t bytes)
{
    if (bytes > *most)
        *most = bytes;
}

static sv_layer_memory measure_layer(const svit_session *session, size_t i, int training)
{
    const sv_layer *layer = session->layers.layers[i];
    sv_layer_memory memory = {0};
    sv_run run = sv_session_run(session, session->config.max_batch, training);
    if (layer->class->measure)
        layer->class->measure(layer, &run, &memory);
    return memory;
}

/* What all layers need: of shared and worker scratch the most of any. A session that trains also
 * infers, so both count. */
static void measure_scratch(const svit_session *session, size_t *shared, size_t *worker,
                            bool *overflow)
{
    *shared = *worker = 0;
    for (size_t i = 0; i < session->layers.count; i++)
        for (int training = 0; training <= session->trains; training++) {
            sv_layer_memory memory = measure_layer(session, i, training);
            grow(shared, memory.shared);
            grow(worker, memory.worker);
            *overflow = *overflow || memory.overflow;
        }
}

/* Memory of layer i alone: what it saves, its output where the next layer keeps it, its packed
 * weights. */
static void plan_layer(svit_session *session, sv_arena *arena, size_t i)
{
    const sv_layer *layer = session->layers.layers[i];
    size_t n = session->config.max_batch;
    bool placed = arena->base != NULL;
    sv_layer_memory memory = {0};
    if (session->trains)
        memory = measure_layer(session, i, 1);
    char *saved = sv_arena_take(arena, memory.saved, 1, 1);
    bool kept = i + 1 < session->layers.count && session->trains &&
                session->layers.layers[i + 1]->class->keeps_input;
    size_t tokens = kept ? n * sv_map_tokens(layer->out) : 0;
    real *output = sv_arena_take(arena, tokens, layer->out.channels, sizeof(real));
    sv_run run = sv_session_run(session, n, session->trains);
    size_t bytes = layer->class->pack_bytes ? layer->class->pack_bytes(layer, &run) : 0;
    char *packed = sv_arena_take(arena, bytes, 1, 1);
    if (!placed)
        return;
    session->saved[i] = saved;
    session->outputs[i] = kept ? output : NULL;
    session->packed[i] = packed;
}

/* Lays all memory out; with a base, for use. */
static void plan(svit_session *session, sv_arena *arena)
{
    size_t count = session->layers.count, n = session->config.max_batch, shared, worker;
    bool overflow = false;
    size_t map = largest_map(&session->layers, &overflow);
    measure_scratch(session, &shared, &worker, &overflow);
    char **saved = sv_arena_take(arena, count, 1, sizeof *saved);
    real **outputs = sv_arena_take(arena, count, 1, sizeof *outputs);
    char **packed = sv_arena_take(arena, count, 1, sizeof *packed);
    sv_record *records = sv_arena_take(arena, session->trains ? count : 0, 1, sizeof *records);
    real *gradients = sv_arena_take(arena, session->trains ? session->model->parameters.total : 0,
                                    1, sizeof(real));
    session->saved = saved;
    session->outputs = outputs;
    session->packed = packed;
    session->tape = (sv_tape){.records = records, .capacity = count};
    session->gradients = session->trains ? gradients : NULL;
    for (size_t i = 0; i < count; i++)
        plan_layer(session, arena, i);
    session->buffers[0] = sv_arena_take(arena, n, map, sizeof(real));
    session->buffers[1] = sv_arena_take(arena, n, map, sizeof(real));
    session->shared = sv_arena_take(arena, shared, 1, 1);
    session->worker_bytes = (worker + SV_ALIGNMENT - 1) / SV_ALIGNMENT * SV_ALIGNMENT;
    session->worker = sv_arena_take(arena, svit_context_threads(session->model->context),
                                    session->worker_bytes, 1);
    arena->overflow = arena->overflow || overflow;
}

static svit_status measure_memory(svit_session *session, size_t *bytes, svit_error *err)
{
    sv_arena measured = {0};
    plan(session, &measured);
    if (measured.overflow)
        return sv_fail(err, SVIT_E_MEMORY,
                       "a session of max_batch %u does not fit the address space",
                       session->config.max_batch);
    *bytes = measured.bytes;
    return SVIT_OK;
}

static svit_status take_memory(svit_session *session, svit_error *err)
{
    const sv_allocator *allocator = &session->model->context->allocator;
    size_t bytes = 0;
    SVIT_TRY(measure_memory(session, &bytes, err));
    session->memory = sv_allocate(allocator, bytes);
    if (!session->memory)
        return sv_fail_memory(err, bytes, "a session");
    session->memory_bytes = bytes;
    sv_arena arena = {.base = session->memory};
    plan(session, &arena);
    if (session->trains)
        memset(session->gradients, 0, session->model->parameters.total * sizeof(real));
    return SVIT_OK;
}

static svit_status find_layers(svit_session *session, svit_error *err)
{
    const svit_model_config *config = &session->model->config;
    session->input =
        (sv_map){session->config.input_height ? session->config.input_height : config->input_height,
                 session->config.input_width ? session->config.input_width : config->input_width,
                 config->in_channels};
    SVIT_TRY(sv_model_layers(&session->layers, session->model, session->input.height,
                             session->input.width, err));
    sv_map out = session->layers.layers[session->layers.count - 1]->out;
    session->classes = sv_map_tokens(out) * out.channels;
    return SVIT_OK;
}

/* A session that infers this many images at the most has few rows in each product. */
enum { FEW_IMAGES = 8 };

static const struct sv_gemm *find_gemm(const svit_session *session)
{
    int few = !session->trains && session->config.max_batch <= FEW_IMAGES;
    return sv_gemm_for(session->model->context, session->config.compute, few);
}

/* A session without its memory. */
static svit_status prepare(svit_session **out, svit_model *model, const svit_session_config *config,
                           svit_error *err)
{
    svit_session_config own;
    svit_session_config_init(&own, sizeof own);
    if (config)
        SVIT_TRY(
            sv_config_import(&own, sizeof own, config, sizeof own, "svit_session_config", err));
    SVIT_TRY(check_config(&own, err));
    void *memory;
    SVIT_TRY(sv_allocate_array(&model->context->allocator, &memory, 1, sizeof(svit_session),
                               "a session", err));
    svit_session *session = memory;
    session->model = sv_model_retain(model);
    session->config = own;
    session->trains = own.mode == SVIT_MODE_TRAIN;
    session->mode = own.mode;
    session->gemm = find_gemm(session);
    svit_status status = find_layers(session, err);
    if (status != SVIT_OK) {
        svit_session_free(session);
        return status;
    }
    *out = session;
    return SVIT_OK;
}

SVIT_API svit_status svit_session_create(svit_session **out, svit_model *model,
                                         const svit_session_config *config, svit_error *err)
{
    SV_REQUIRE(out);
    SV_REQUIRE(model);
    svit_session *session;
    SVIT_TRY(prepare(&session, model, config, err));
    svit_status status = take_memory(session, err);
    if (status != SVIT_OK) {
        svit_session_free(session);
        return status;
    }
    *out = session;
    return SVIT_OK;
}

SVIT_API svit_status svit_session_plan(uint64_t *bytes, svit_model *model,
                                       const svit_session_config *config, svit_error *err)
{
    SV_REQUIRE(bytes);
    SV_REQUIRE(model);
    svit_session *session;
    size_t measured = 0;
    SVIT_TRY(prepare(&session, model, config, err));
    svit_status status = measure_memory(session, &measured, err);
    if (status == SVIT_OK)
        *bytes = measured;
    svit_session_free(session);
    return status;
}

SVIT_API void svit_session_free(svit_session *session)
{
    if (!session)
        return;
    svit_model *model = session->model;
    const sv_allocator *allocator = &model->context->allocator;
    sv_release(allocator, session->memory, session->memory_bytes);
    if (session->layers.layers)
        sv_layer_list_free(model->context, &session->layers);
    sv_release(allocator, session, sizeof *session);
    svit_model_free(model);
}

SVIT_API uint64_t svit_session_memory(const svit_session *session)
{
    return session ? session->memory_bytes : 0;
}

SVIT_API svit_status svit_session_set_mode(svit_session *session, int32_t mode, svit_error *err)
{
    SV_REQUIRE(session);
    if (mode != SVIT_MODE_INFER && mode != SVIT_MODE_TRAIN)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "mode is %d; SVIT_MODE_INFER (0) and SVIT_MODE_TRAIN (1) are accepted",
                       (int)mode);
    if (mode == SVIT_MODE_TRAIN && !session->trains)
        return sv_fail(err, SVIT_E_STATE,
                       "the session was created to infer; create one with SVIT_MODE_TRAIN");
    session->mode = mode;
    sv_tape_clear(&session->tape);
    return SVIT_OK;
}

SVIT_API uint64_t svit_session_counter(const svit_session *session)
{
    return session ? session->counter : 0;
}

SVIT_API svit_status svit_session_set_counter(svit_session *session, uint64_t counter,
                                              svit_error *err)
{
    SV_REQUIRE(session);
    session->counter = counter;
    return SVIT_OK;
}

real *sv_session_gradients(svit_session *session)
{
    return session->gradients;
}

svit_model *sv_session_model(const svit_session *session)
{
    return session->model;
}

uint64_t sv_session_seed(const svit_session *session)
{
    return session->config.seed;
}
