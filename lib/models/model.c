/* Models: their creation and release, and access to parameters, class names and pipeline. */
#include "models/model.h"

#include "base/numbers/finite.h"
#include "base/size.h"
#include "base/text/names.h"
#include "base/text/pattern.h"
#include "base/threads/fp_env.h"
#include "data/augmentation/pipeline_config.h"
#include "models/architecture.h"
#include "models/config.h"
#include "models/initial.h"
#include "models/parts/text_head.h"

#include <string.h>

void sv_model_take_names(svit_model *model, char **names)
{
    sv_names_free(&model->context->allocator, model->classes, model->config.num_classes);
    model->classes = names;
}

/* In a child by fork the lock may be held by a thread that does not exist. */
static void free_lock(svit_model *model)
{
    const svit_context *context = model->context;
    if (sv_pool_process(context->pool) == sv_process_id())
        sv_mutex_free(&context->allocator, model->packed_lock);
    else
        sv_mutex_abandon(&context->allocator, model->packed_lock);
}

static void destroy(svit_model *model)
{
    svit_context *context = model->context;
    sv_model_take_names(model, NULL);
    sv_model_release_text_head(model);
    if (model->weights && !model->mapping.base)
        sv_release(&context->allocator, model->weights,
                   model->parameters.elements * sizeof *model->weights);
    sv_mapping_free(&model->mapping);
    free_lock(model);
    sv_parameter_table_free(&model->parameters);
    sv_release(&context->allocator, model, sizeof *model);
    svit_context_free(context);
}

svit_status sv_model_open(svit_model **out, svit_context *context, const svit_model_config *config,
                          svit_error *err)
{
    svit_model *model;
    SVIT_TRY(svit_context_check(context, err));
    SVIT_TRY(
        sv_allocate_array(&context->allocator, (void **)&model, 1, sizeof *model, "a model", err));
    atomic_init(&model->references, 1);
    atomic_init(&model->version, SV_FIRST_VERSION);
    model->context = sv_context_retain(context);
    model->config = *config;
    model->stored_grid = (sv_stored_grid){config->position_height, config->position_width};
    model->config.position_height = model->config.position_width = 0;
    model->packed_lock = sv_mutex_create(&context->allocator);
    svit_status status =
        model->packed_lock
            ? sv_model_parameters(&model->parameters, &context->allocator, config, err)
            : sv_fail(err, SVIT_E_MEMORY, "no memory for the lock of a model");
    if (status == SVIT_OK)
        *out = model;
    else
        destroy(model);
    return status;
}

svit_status sv_model_allocate_weights(svit_model *model, svit_error *err)
{
    return sv_pool_allocate(model->context->pool, &model->context->allocator,
                            (void **)&model->weights, model->parameters.elements,
                            sizeof *model->weights, "the weights of a model", err);
}

svit_status sv_model_open_zero(svit_model **out, svit_context *context,
                               const svit_model_config *config, svit_error *err)
{
    svit_model *model;
    SVIT_TRY(sv_model_open(&model, context, config, err));
    svit_status status = sv_model_allocate_weights(model, err);
    if (status == SVIT_OK)
        *out = model;
    else
        destroy(model);
    return status;
}

SVIT_API svit_status svit_model_create(svit_model **out, svit_context *context,
                                       const svit_model_config *config, uint64_t seed,
                                       svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(config);
    svit_model_config local;
    SVIT_TRY(sv_config_read(&sv_model_config_type, &local, config, err));
    svit_model *model;
    SVIT_TRY(sv_model_open_zero(&model, context, &local, err));
    sv_initial_weights(model->weights, &model->parameters, &local, seed, context->pool);
    *out = model;
    return SVIT_OK;
}

svit_status sv_model_check_alone(const svit_model *model, const char *change, svit_error *err)
{
    if (atomic_load(&model->references) == 1)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_STATE,
                   "sessions, optimisers or predictors of the model exist; free them before %s",
                   change);
}

svit_model *sv_model_retain(svit_model *model)
{
    atomic_fetch_add_explicit(&model->references, 1, memory_order_relaxed);
    return model;
}

SVIT_API void svit_model_free(svit_model *model)
{
    if (model && atomic_fetch_sub_explicit(&model->references, 1, memory_order_acq_rel) == 1)
        destroy(model);
}

void sv_model_touch(svit_model *model)
{
    atomic_fetch_add_explicit(&model->version, 1, memory_order_release);
}

void sv_model_drop_threshold(svit_model *model, const char *why)
{
    if (model->threshold == 0)
        return;
    sv_context_warn(model->context,
                    "the threshold %g, below which an image is none of the classes, is left out: "
                    "%s; another can be chosen then",
                    model->threshold, why);
    model->threshold = 0;
}

void sv_model_exchange(svit_model *model, svit_model *with)
{
    const svit_model_config config = model->config;
    const sv_parameter_table parameters = model->parameters;
    real *weights = model->weights;
    if (model->mapping.base) {
        sv_mapping_free(&model->mapping);
        weights = NULL;
    }
    model->config = with->config;
    model->parameters = with->parameters;
    model->weights = with->weights;
    with->config = config;
    with->parameters = parameters;
    with->weights = weights;
    model->trainable_version++;
    sv_model_touch(model);
}

void sv_model_copy_parameters(svit_model *to, const svit_model *from, bool classes)
{
    for (size_t i = 0; i < to->parameters.count; i++) {
        sv_parameter *parameter = &to->parameters.list[i];
        const sv_parameter *old = sv_parameter_find(&from->parameters, parameter->name);
        if (!old)
            continue;
        parameter->frozen = old->frozen;
        if (classes || !parameter->classes)
            memcpy(to->weights + parameter->offset, from->weights + old->offset,
                   sv_size_min(old->desc.elements, parameter->desc.elements) * sizeof *to->weights);
    }
}

SVIT_API svit_status svit_model_get_config(const svit_model *model, svit_model_config *config,
                                           size_t size, svit_error *err)
{
    SV_REQUIRE(model);
    SV_REQUIRE(config);
    return sv_config_write(&sv_model_config_type, config, size, &model->config, err);
}

SVIT_API size_t svit_model_parameter_count(const svit_model *model)
{
    return model ? model->parameters.count : 0;
}

SVIT_API uint64_t svit_model_parameter_elements(const svit_model *model)
{
    return model ? model->parameters.elements : 0;
}

SVIT_API const char *svit_model_parameter_name(const svit_model *model, size_t index)
{
    return model && index < model->parameters.count ? model->parameters.list[index].name : NULL;
}

static svit_status find_parameter(const sv_parameter **out, const svit_model *model,
                                  const char *name, svit_error *err)
{
    *out = sv_parameter_find(&model->parameters, name);
    if (!*out)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "the model has no parameter '%.96s'; svit_model_parameter_name lists them",
                       name);
    return SVIT_OK;
}

/* Finds a parameter and checks that a caller's array has its size. */
static svit_status find_parameter_sized(const sv_parameter **out, const svit_model *model,
                                        const char *name, size_t elements, svit_error *err)
{
    SVIT_TRY(find_parameter(out, model, name, err));
    if (elements != (*out)->desc.elements)
        return sv_fail(err, SVIT_E_ARGUMENT, "elements is %zu; parameter '%s' has %zu", elements,
                       name, (*out)->desc.elements);
    return SVIT_OK;
}

SVIT_API svit_status svit_model_parameter_shape(const svit_model *model, const char *name,
                                                int64_t shape[8], size_t *rank, svit_error *err)
{
    SV_REQUIRE(model);
    SV_REQUIRE(name);
    SV_REQUIRE(shape);
    SV_REQUIRE(rank);
    const sv_parameter *parameter;
    SVIT_TRY(find_parameter(&parameter, model, name, err));
    memcpy(shape, parameter->desc.shape, sizeof parameter->desc.shape);
    *rank = parameter->desc.rank;
    return SVIT_OK;
}

SVIT_API svit_status svit_model_get_parameter(const svit_model *model, const char *name, float *out,
                                              size_t elements, svit_error *err)
{
    SV_REQUIRE(model);
    SV_REQUIRE(name);
    SV_REQUIRE(out);
    const sv_parameter *parameter;
    SVIT_TRY(find_parameter_sized(&parameter, model, name, elements, err));
    sv_parameter_export(parameter, out, model->weights);
    return SVIT_OK;
}

SVIT_API svit_status svit_model_set_parameter(svit_model *model, const char *name, const float *in,
                                              size_t elements, svit_error *err)
{
    SV_REQUIRE(model);
    SV_REQUIRE(name);
    SV_REQUIRE(in);
    const sv_parameter *parameter;
    SVIT_TRY(find_parameter_sized(&parameter, model, name, elements, err));
    size_t bad = sv_first_not_finite(in, elements);
    if (bad < elements)
        return sv_fail(err, SVIT_E_NUMERIC,
                       "element %zu for parameter '%s' is %g; weights are finite", bad, name,
                       (double)in[bad]);
    bad = sv_parameter_first_not_zero(parameter, in);
    if (bad < elements)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "element %zu for parameter '%s' is %g; with no_key_bias it is 0", bad, name,
                       (double)in[bad]);
    sv_parameter_import(parameter, model->weights, in);
    sv_model_touch(model);
    return SVIT_OK;
}

SVIT_API svit_status svit_model_set_trainable(svit_model *model, const char *pattern,
                                              int32_t trainable, svit_error *err)
{
    SV_REQUIRE(model);
    SV_REQUIRE(pattern);
    size_t found = 0;
    if (trainable != 0 && trainable != 1)
        return sv_fail(err, SVIT_E_ARGUMENT, "trainable is %d; 0 and 1 are accepted",
                       (int)trainable);
    for (size_t i = 0; i < model->parameters.count; i++) {
        sv_parameter *parameter = &model->parameters.list[i];
        if (!sv_pattern_matches(pattern, parameter->name))
            continue;
        parameter->frozen = !trainable;
        found++;
    }
    if (found == 0)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "pattern '%.95s' matches no parameter of the model; "
                       "svit_model_parameter_name lists them",
                       pattern);
    model->trainable_version++;
    return SVIT_OK;
}

SVIT_API svit_status svit_model_get_trainable(const svit_model *model, const char *name,
                                              int32_t *trainable, svit_error *err)
{
    SV_REQUIRE(model);
    SV_REQUIRE(name);
    SV_REQUIRE(trainable);
    const sv_parameter *parameter;
    SVIT_TRY(find_parameter(&parameter, model, name, err));
    *trainable = !parameter->frozen;
    return SVIT_OK;
}

SVIT_API svit_status svit_model_set_classes(svit_model *model, const char *const *names,
                                            size_t count, svit_error *err)
{
    SV_REQUIRE(model);
    if (count == 0) {
        sv_model_take_names(model, NULL);
        return SVIT_OK;
    }
    SV_REQUIRE(names);
    if (count != model->config.num_classes)
        return sv_fail(err, SVIT_E_ARGUMENT, "count is %zu; the model has %u classes", count,
                       model->config.num_classes);
    char **copies;
    SVIT_TRY(sv_names_copy(&copies, &model->context->allocator, names, count, "names", err));
    sv_model_take_names(model, copies);
    return SVIT_OK;
}

SVIT_API const char *svit_model_class_name(const svit_model *model, size_t label)
{
    return model && model->classes && label < model->config.num_classes ? model->classes[label]
                                                                        : NULL;
}

SVIT_API svit_status svit_model_set_pipeline(svit_model *model, const svit_pipeline_config *config,
                                             svit_error *err)
{
    SV_REQUIRE(model);
    if (!config) {
        model->has_pipeline = 0;
        return SVIT_OK;
    }
    svit_pipeline_config copy;
    SVIT_TRY(sv_config_read(&sv_pipeline_config_type, &copy, config, err));
    model->pipeline = copy;
    model->has_pipeline = 1;
    model->has_colours = 0; /* `pipeline` is no longer that of the pretraining */
    return SVIT_OK;
}

SVIT_API svit_status svit_model_get_pipeline(const svit_model *model, svit_pipeline_config *config,
                                             size_t size, svit_error *err)
{
    SV_REQUIRE(model);
    SV_REQUIRE(config);
    if (!model->has_pipeline)
        return sv_fail(err, SVIT_E_STATE,
                       "the model has no pipeline; svit_model_set_pipeline gives it one");
    return sv_config_write(&sv_pipeline_config_type, config, size, &model->pipeline, err);
}

svit_status sv_model_check_output(int32_t output, svit_error *err)
{
    if (output < SVIT_OUTPUT_AUTO || output > SVIT_OUTPUT_LOGITS)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "output is %d; SVIT_OUTPUT_AUTO (0) to SVIT_OUTPUT_LOGITS (%d) are accepted",
                       (int)output, SVIT_OUTPUT_LOGITS);
    return SVIT_OK;
}

SVIT_API svit_status svit_model_set_threshold(svit_model *model, double threshold, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(model);
    if (!(threshold >= 0 && threshold <= 1))
        return sv_fail(err, SVIT_E_ARGUMENT, "threshold is %g; it is a probability, 0..1",
                       threshold);
    model->threshold = threshold;
    return SVIT_OK;
}

SVIT_API double svit_model_threshold(const svit_model *model)
{
    return model ? model->threshold : 0;
}

SVIT_API svit_status svit_model_set_output(svit_model *model, int32_t output, svit_error *err)
{
    SV_REQUIRE(model);
    SVIT_TRY(sv_model_check_output(output, err));
    model->output = output;
    if (svit_model_output(model) != SVIT_OUTPUT_SOFTMAX)
        sv_model_drop_threshold(model, "the model's output is not softmax");
    return SVIT_OK;
}

SVIT_API int32_t svit_model_output(const svit_model *model)
{
    if (model && model->output == SVIT_OUTPUT_AUTO)
        return SVIT_OUTPUT_SOFTMAX;
    return model ? model->output : 0;
}
