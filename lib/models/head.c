/* A model with a head of another number of classes. */
#include "base/size.h"
#include "models/architecture.h"
#include "models/config.h"
#include "models/initial.h"
#include "models/model.h"

#include <string.h>

/* Creates a model with initial weights of the same configuration, but for the classes. */
static svit_status open_with(svit_model **out, const svit_model *model, uint32_t num_classes,
                             uint64_t seed, svit_error *err)
{
    svit_model_config config = model->config;
    config.num_classes = num_classes;
    config.classifier = 1;
    SVIT_TRY(sv_model_config_check(&config, err));
    SVIT_TRY(sv_model_open_zero(out, model->context, &config, err));
    sv_initial_weights((*out)->weights, &(*out)->parameters, &config, seed, model->context->pool);
    return SVIT_OK;
}

/* Whether the first axis of a parameter is the classes: in a table for one more class it has one
 * more row. */
static bool is_classifier(const sv_parameter *parameter, const sv_parameter_table *one_more)
{
    const sv_parameter *other = sv_parameter_find(one_more, parameter->name);
    return other && other->desc.shape[0] == parameter->desc.shape[0] + 1;
}

/* Copies what the model has: all but the classifier, and of that the rows of the classes that
 * exist, if `keep_rows`. */
static void copy_weights(svit_model *to, const svit_model *from, const sv_parameter_table *one_more,
                         bool keep_rows)
{
    for (size_t i = 0; i < to->parameters.count; i++) {
        sv_parameter *parameter = &to->parameters.list[i];
        const sv_parameter *old = sv_parameter_find(&from->parameters, parameter->name);
        if (!old)
            continue;
        parameter->frozen = old->frozen;
        if (is_classifier(parameter, one_more) && !keep_rows)
            continue;
        memcpy(to->weights + parameter->offset, from->weights + old->offset,
               sv_size_min(old->desc.elements, parameter->desc.elements) * sizeof *to->weights);
    }
}

static svit_status change_head(svit_model *model, uint32_t num_classes, uint64_t seed,
                               bool keep_rows, svit_error *err)
{
    svit_model *changed;
    sv_parameter_table one_more;
    SVIT_TRY(sv_model_check_alone(model, "its head changes", err));
    SVIT_TRY(open_with(&changed, model, num_classes, seed, err));
    svit_model_config more = changed->config;
    more.num_classes++;
    svit_status status = sv_model_parameters(&one_more, &model->context->allocator, &more, err);
    if (status == SVIT_OK) {
        copy_weights(changed, model, &one_more, keep_rows);
        sv_parameter_table_free(&one_more);
        sv_model_release_classes(model);
        sv_model_exchange(model, changed);
    }
    svit_model_free(changed);
    return status;
}

SVIT_API svit_status svit_model_replace_head(svit_model *model, uint32_t num_classes, uint64_t seed,
                                             svit_error *err)
{
    SV_REQUIRE(model);
    return change_head(model, num_classes, seed, false, err);
}

SVIT_API svit_status svit_model_add_classes(svit_model *model, uint32_t count, uint64_t seed,
                                            svit_error *err)
{
    SV_REQUIRE(model);
    if (!model->config.classifier)
        return sv_fail(err, SVIT_E_STATE,
                       "the model has no classifier; svit_model_replace_head gives it one");
    if (count < 1 || count > UINT32_MAX - model->config.num_classes)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "count is %u; it is at least 1, and the model has %u classes already", count,
                       model->config.num_classes);
    return change_head(model, model->config.num_classes + count, seed, true, err);
}
