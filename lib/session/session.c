/* Creates sessions, plans and allocates all their memory, and frees them. */
#include "base/size.h"
#include "base/threads/fp_env.h"
#include "gemm/small_m.h"
#include "layers/linear/linear.h"
#include "session/packed_weights.h"

#include <inttypes.h>
#include <string.h>

const sv_gemm *sv_session_gemm(const svit_context *context, int32_t compute, bool small_m)
{
#ifdef SV_LOW_PRECISION
    if (compute == SVIT_COMPUTE_INT8)
        return sv_gemm_int8(context->isa);
    if (compute == SVIT_COMPUTE_BF16)
        return sv_gemm_bf16(context->isa, small_m);
#else
    if (compute != SVIT_COMPUTE_F32)
        return context->gemm;
#endif
    return small_m ? context->small_m_gemm : context->gemm;
}

svit_status sv_session_check_compute(int32_t compute, svit_error *err)
{
#ifdef SV_F32_ONLY
    if (compute != SVIT_COMPUTE_F32)
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "compute is %s; this build of shiftvit computes in SVIT_COMPUTE_F32 alone, "
                       "and its build option -Dlow_precision=true adds the others",
                       compute == SVIT_COMPUTE_BF16 ? "SVIT_COMPUTE_BF16" : "SVIT_COMPUTE_INT8");
#endif
    (void)compute;
    (void)err;
    return SVIT_OK;
}

static svit_status allocate_memory(svit_session *session, svit_error *err)
{
    const sv_allocator *allocator = &session->context->allocator;
    size_t bytes = 0;
    SVIT_TRY(sv_packed_weights_join(session, err));
    SVIT_TRY(sv_session_plan_memory(session, &bytes, err));
    session->memory = sv_allocate(allocator, bytes);
    if (!session->memory)
        return sv_fail_memory(err, bytes, "a session");
    session->memory_bytes = bytes;
    sv_session_layout_memory(session);
    if (session->trains)
        sv_pool_clear(session->context->pool, session->gradients.values,
                      session->gradients.subset.elements * sizeof(real));
    return SVIT_OK;
}

/* The caller's arrays of a batch are counted in sizes, too. */
static svit_status check_images(const svit_session *session, svit_error *err)
{
    const sv_shape shapes[] = {session->image, session->input};
    for (size_t i = 0; i < 2; i++) {
        const size_t factors[] = {session->config.max_batch, shapes[i].height, shapes[i].width,
                                  shapes[i].channels, sizeof(real)};
        size_t bytes;
        if (!sv_size_product(&bytes, factors, 5))
            return sv_fail(
                err, SVIT_E_MEMORY, "%u images of %zu x %zu x %zu numbers do not fit memory",
                session->config.max_batch, shapes[i].height, shapes[i].width, shapes[i].channels);
    }
    return SVIT_OK;
}

/* The most rows or columns of a matmul with weights. */
static uint64_t largest_side(const svit_session *session)
{
    uint64_t most = 0;
    for (size_t i = 0; i < session->layers.count; i++) {
        const sv_layer *layer = session->layers.layers[i];
        uint64_t side = sv_count_times(session->config.max_batch, sv_layer_rows(layer));
        most = side > most ? side : most;
        for (size_t k = 0; k < SV_LAYER_LINEARS && layer->linears[k]; k++) {
            side = sv_size_max(layer->linears[k]->in, layer->linears[k]->out);
            most = side > most ? side : most;
        }
    }
    return most;
}

static svit_status check_sides(const svit_session *session, svit_error *err)
{
    const sv_gemm *gemm = session->gemm;
    const uint64_t side = largest_side(session);
    if (gemm->side_max == 0 || side <= gemm->side_max)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_UNSUPPORTED,
                   "a matmul has %" PRIu64 " rows or columns; the backend '%s' has up to %zu, and "
                   "'tile' any number",
                   side, gemm->name, gemm->side_max);
}

static svit_status create_layers(svit_session *session, svit_error *err)
{
    const svit_model_config *config = &session->model->config;
    session->image = (sv_shape){
        session->config.input_height ? session->config.input_height : config->input_height,
        session->config.input_width ? session->config.input_width : config->input_width,
        config->in_channels};
    session->input = session->image;
    SVIT_TRY(sv_model_layers(&session->layers, session->model, session->image.height,
                             session->image.width, err));
    if (session->config.features)
        sv_layer_list_unfuse(&session->layers);
    SVIT_TRY(sv_session_begin_at_input_layer(session, err));
    sv_shape out = session->layers.layers[session->layers.training_count - 1]->out;
    session->classes = sv_shape_elements(out);
    SVIT_TRY(check_images(session, err));
    return check_sides(session, err);
}

/* Whether the results of two contexts have the same bits. */
static bool compute_alike(const svit_context *a, const svit_context *b)
{
    return a->isa == b->isa && a->kernels == b->kernels && a->gemm == b->gemm &&
           a->small_m_gemm == b->small_m_gemm;
}

svit_context *sv_session_context(const svit_model *model, svit_context *wanted)
{
    svit_context *of_model = model->context;
    if (compute_alike(wanted, of_model))
        return wanted;
    sv_context_warn(wanted,
                    "the context has the GEMM backend '%s' and the kernels '%s', that of the model "
                    "'%s' and '%s': the model runs on its own",
                    wanted->gemm->name, sv_isa_name(wanted->isa), of_model->gemm->name,
                    sv_isa_name(of_model->isa));
    return of_model;
}

/* Weights are packed once for all sessions of a model, and results are the same in all of them, so
 * the contexts compute alike. */
static svit_status check_context(const svit_context *context, const svit_context *of_model,
                                 svit_error *err)
{
    if (compute_alike(context, of_model))
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "context has the GEMM backend '%s' and the kernels '%s'; the context of the "
                   "model has '%s' and '%s', and both are the same",
                   context->gemm->name, sv_isa_name(context->isa), of_model->gemm->name,
                   sv_isa_name(of_model->isa));
}

/* Creates a session without its memory. */
static svit_status create_unallocated(svit_session **out, svit_model *model,
                                      const svit_session_config *config, svit_error *err)
{
    svit_session_config local;
    SVIT_TRY(sv_config_read(&sv_session_config_type, &local, config, err));
    SVIT_TRY(sv_session_check_compute(local.compute, err));
    svit_context *context = local.context ? local.context : model->context;
    SVIT_TRY(check_context(context, model->context, err));
    void *memory;
    SVIT_TRY(
        sv_allocate_array(&context->allocator, &memory, 1, sizeof(svit_session), "a session", err));
    svit_session *session = memory;
    session->model = sv_model_retain(model);
    session->context = sv_context_retain(context);
    session->config = local;
    session->trains = local.mode == SVIT_MODE_TRAIN;
    session->mode = local.mode;
    session->small_m = !session->trains && local.max_batch <= SV_SMALL_M_MAX_BATCH;
    session->gemm = sv_session_gemm(context, local.compute, false);
    session->small_m_gemm = sv_session_gemm(context, local.compute, session->small_m);
    svit_status status = create_layers(session, err);
    if (status == SVIT_OK)
        status = sv_session_find_active(session, err);
    if (status == SVIT_OK)
        status = sv_session_choose_segments(session, err);
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
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(model);
    svit_session *session;
    SVIT_TRY(svit_context_check(model->context, err));
    SVIT_TRY(create_unallocated(&session, model, config, err));
    svit_status status = svit_context_check(session->context, err);
    if (status == SVIT_OK)
        status = allocate_memory(session, err);
    if (status != SVIT_OK) {
        svit_session_free(session);
        return status;
    }
    *out = session;
    return SVIT_OK;
}

SVIT_API svit_status svit_session_memory_needed(uint64_t *bytes, svit_model *model,
                                                const svit_session_config *config, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(bytes);
    SV_REQUIRE(model);
    svit_session *session;
    size_t planned = 0, shared = 0;
    SVIT_TRY(create_unallocated(&session, model, config, err));
    svit_status status = sv_session_plan_memory(session, &planned, err);
    if (status == SVIT_OK)
        status = sv_packed_weights_plan(session, &shared, err);
    if (status == SVIT_OK)
        *bytes = (uint64_t)planned + shared;
    svit_session_free(session);
    return status;
}

SVIT_API void svit_session_free(svit_session *session)
{
    if (!session)
        return;
    svit_model *model = session->model;
    svit_context *context = session->context;
    const sv_allocator *allocator = &context->allocator;
    sv_packed_weights_leave(session);
    sv_leaves_free(context, session->leaves);
    sv_release(allocator, session->memory, session->memory_bytes);
    sv_segments_free(context, &session->segments);
    sv_parameter_subset_free(&session->gradients.subset, &model->context->allocator);
    if (session->layers.layers)
        sv_layer_list_free(model->context, &session->layers);
    sv_release(allocator, session, sizeof *session);
    svit_model_free(model);
    svit_context_free(context);
}

SVIT_API uint64_t svit_session_memory(const svit_session *session)
{
    return session ? (uint64_t)session->memory_bytes + sv_packed_weights_bytes(session) +
                         sv_leaves_bytes(session->leaves)
                   : 0;
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

svit_status sv_session_finish_gradients(svit_session *session, svit_error *err)
{
    return session->leaves ? sv_leaves_finish(session->leaves, err) : SVIT_OK;
}

void sv_session_restart_gradients(svit_session *session)
{
    if (session->leaves)
        sv_leaves_restart(session->context, session->leaves);
}

const sv_gradients *sv_session_gradients(const svit_session *session)
{
    return session->trains ? &session->gradients : NULL;
}

svit_status sv_session_check_trainable(const svit_session *session, svit_error *err)
{
    if (!session->trains || session->trainable_version == session->model->trainable_version)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_STATE,
                   "the trainable parameters of the model have changed since the session was "
                   "created; create another one");
}

svit_model *sv_session_model(const svit_session *session)
{
    return session->model;
}

uint64_t sv_session_seed(const svit_session *session)
{
    return session->config.seed;
}
