/* Predictors: how they are made of a model and its preprocessing, and what they say of it. */
#include "predictor/predictor.h"

#include "base/size.h"
#include "base/threads/fp_env.h"
#include "config/config.h"
#include "data/augmentation/pipeline.h"
#include "gemm/gemm.h"
#include "models/parts/text_head.h"
#include "session/session.h"

#include <shiftvit/session.h>

#include <stddef.h>

static const svit_predictor_config DEFAULTS = {.max_batch = 32};

static svit_status check_config(const void *config, svit_error *err)
{
    const svit_predictor_config *self = config;
    return sv_model_check_output(self->output, err);
}

static const sv_field FIELDS[] = {
    {SV_FIELD(svit_predictor_config, max_batch, U32), .min = 1, .max = 65536}};

static const sv_config_type TYPE = {
    SV_CONFIG(svit_predictor_config, FIELDS, "the predictor configuration"),
    .min_size = offsetof(svit_predictor_config, tta),
    .reserved = offsetof(svit_predictor_config, reserved),
    .defaults = &DEFAULTS,
    .null_is_default = true,
    .check = check_config};

SV_CONFIG_INIT(svit_predictor_config, TYPE)

static svit_status create_session(svit_predictor *predictor, size_t height, size_t width,
                                  int32_t compute, svit_error *err)
{
    svit_session_config session;
    SVIT_TRY(svit_session_config_init(&session, sizeof session));
    session.max_batch = (uint32_t)predictor->max_batch;
    session.mode = SVIT_MODE_INFER;
    session.compute = compute;
    session.input_height = (uint32_t)height;
    session.input_width = (uint32_t)width;
    session.context = predictor->context;
    return svit_session_create(&predictor->session, predictor->model, &session, err);
}

static svit_status create_steps(svit_predictor *predictor, int32_t compute, svit_error *err)
{
    const svit_model *model = predictor->model;
    SVIT_TRY(svit_model_get_pipeline(model, &predictor->pipeline, sizeof predictor->pipeline, err));
    predictor->pipeline.augment_count = 0; /* of training, and images need no scratch for them */
    if (model->config.in_channels != predictor->pipeline.channels)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "the model has in_channels %u; channels of its pipeline is %u, and both are "
                       "the same",
                       model->config.in_channels, predictor->pipeline.channels);
    sv_views *views = &predictor->views;
    sv_arrays *arrays = &predictor->arrays;
    const size_t batch = predictor->max_batch, row = model->config.num_classes * sizeof(float);
    SVIT_TRY(
        svit_pipeline_evaluation_size(&predictor->pipeline, &views->height, &views->width, err));
    views->channels = model->config.in_channels;
    views->classes = model->config.num_classes;
    SVIT_TRY(create_session(predictor, views->height, views->width, compute, err));
    size_t image, factors[] = {views->height, views->width, views->channels, sizeof(float)};
    if (!sv_size_product(&image, factors, 4))
        return sv_fail(err, SVIT_E_MEMORY, "an image does not fit memory");
    SVIT_TRY(sv_arrays_add(arrays, &predictor->inputs, batch, image, "a batch of images", err));
    /* The logits of a model with a text head are embeddings, from which its classes follow. */
    if (model->text_head)
        SVIT_TRY(sv_arrays_add(arrays, &predictor->embeddings, batch, row, "embeddings", err));
    return sv_views_allocate(views, arrays, batch, err);
}

SVIT_API svit_status svit_predictor_create_from_model(svit_predictor **out, svit_model *model,
                                                      const svit_predictor_config *config,
                                                      svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(model);
    svit_predictor_config local;
    SVIT_TRY(sv_config_read(&TYPE, &local, config, err));
    SVIT_TRY(sv_views_check(local.tta, model, err));
    svit_predictor *predictor;
    svit_context *context = local.context ? local.context : model->context;
    SVIT_TRY(sv_allocate_array(&context->allocator, (void **)&predictor, 1, sizeof *predictor,
                               "a predictor", err));
    predictor->context = sv_context_retain(context);
    predictor->model = sv_model_retain(model);
    predictor->arrays.allocator = &context->allocator;
    predictor->max_batch = local.max_batch;
    predictor->views.tta = local.tta;
    predictor->output = local.output == SVIT_OUTPUT_AUTO ? svit_model_output(model) : local.output;
    predictor->threshold = svit_model_threshold(model);
    svit_status status = create_steps(predictor, local.compute, err);
    if (status == SVIT_OK)
        *out = predictor;
    else
        svit_predictor_free(predictor);
    return status;
}

/* Says that the model's weights may be discarded after packing. This predictor alone uses the
 * model, so its weights never change and are packed only once. Where GEMM reads nothing but the
 * packed copies, the memory pages of the originals are then given back. */
static void discard_after_packing(const svit_predictor *predictor)
{
    predictor->model->packed_once =
        predictor->session->gemm->packed_b_bytes != sv_gemm_b_in_place_bytes;
}

/* Creates a predictor from a model that no other handle uses, and drops the caller's reference to
 * it. `name` is the name of the model in messages. */
static svit_status create_alone(svit_predictor **out, svit_model *model, const char *name,
                                const svit_predictor_config *config, svit_error *err)
{
    svit_status status = SVIT_OK;
    if (!model->has_pipeline)
        status = sv_fail(err, SVIT_E_ARGUMENT,
                         "%s has no preprocessing; set a pipeline on the model and use "
                         "svit_predictor_create_from_model",
                         name);
    if (status == SVIT_OK)
        status = svit_predictor_create_from_model(out, model, config, err);
    if (status == SVIT_OK)
        discard_after_packing(*out);
    svit_model_free(model);
    return status;
}

SVIT_API svit_status svit_predictor_create(svit_predictor **out, svit_context *context,
                                           const char *path, const svit_predictor_config *config,
                                           svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(path);
    svit_predictor_config local;
    SVIT_TRY(sv_config_read(&TYPE, &local, config, err));
    svit_model *model;
    SVIT_TRY(svit_model_map(&model, context, path, err));
    return create_alone(out, model, path, &local, err);
}

SVIT_API svit_status svit_predictor_create_from_memory(svit_predictor **out, svit_context *context,
                                                       const void *data, size_t bytes,
                                                       const svit_predictor_config *config,
                                                       svit_error *err)
{
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(data);
    svit_predictor_config local;
    SVIT_TRY(sv_config_read(&TYPE, &local, config, err));
    svit_model *model;
    SVIT_TRY(svit_model_load_memory(&model, context, data, bytes, err));
    return create_alone(out, model, "the model in memory", &local, err);
}

SVIT_API void svit_predictor_free(svit_predictor *predictor)
{
    if (!predictor)
        return;
    svit_context *context = predictor->context;
    sv_arrays_free(&predictor->arrays);
    svit_session_free(predictor->session);
    svit_model_free(predictor->model);
    sv_release(&context->allocator, predictor, sizeof *predictor);
    svit_context_free(context);
}

SVIT_API size_t svit_predictor_classes(const svit_predictor *predictor)
{
    if (!predictor)
        return 0;
    return predictor->embeddings ? predictor->model->text_head->classes
                                 : predictor->model->config.num_classes;
}

SVIT_API size_t svit_predictor_channels(const svit_predictor *predictor)
{
    return predictor ? predictor->pipeline.channels : 0;
}

SVIT_API const char *svit_predictor_class_name(const svit_predictor *predictor, size_t label)
{
    if (!predictor)
        return NULL;
    return (predictor->embeddings ? svit_model_text_class_name
                                  : svit_model_class_name)(predictor->model, label);
}

SVIT_API int32_t svit_predictor_output(const svit_predictor *predictor)
{
    return predictor ? predictor->output : 0;
}
