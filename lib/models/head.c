/* Gives a model a head for another number of classes. */
#include "base/threads/fp_env.h"
#include "models/config.h"
#include "models/initial.h"
#include "models/model.h"
#include "models/parts/text_head.h"

void sv_model_become(svit_model *model, svit_model *with, bool classes, const char *why)
{
    sv_model_drop_threshold(model, why); /* whoever is told of it sees the model as it was */
    sv_model_copy_parameters(with, model, classes);
    sv_model_take_names(model, NULL);
    sv_model_release_text_head(model);
    model->output = SVIT_OUTPUT_AUTO;
    sv_model_exchange(model, with);
    svit_model_free(with);
}

static svit_status change_head(svit_model *model, uint32_t num_classes, uint64_t seed,
                               bool keep_rows, svit_error *err)
{
    svit_model_config config = model->config;
    svit_model *changed;
    const int32_t output = model->output;
    config.num_classes = num_classes;
    config.classifier = 1;
    config.mask_ratio = 0;
    SVIT_TRY(sv_model_check_alone(model, "its head changes", err));
    SVIT_TRY(sv_config_check(&sv_model_config_type, &config, err));
    SVIT_TRY(sv_model_open_zero(&changed, model->context, &config, err));
    sv_initial_weights(changed->weights, &changed->parameters, &config, seed, model->context->pool);
    sv_model_become(model, changed, keep_rows, "the model gets another head");
    if (keep_rows)
        model->output = output;
    return SVIT_OK;
}

SVIT_API svit_status svit_model_replace_head(svit_model *model, uint32_t num_classes, uint64_t seed,
                                             svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(model);
    return change_head(model, num_classes, seed, false, err);
}

SVIT_API svit_status svit_model_add_classes(svit_model *model, uint32_t count, uint64_t seed,
                                            svit_error *err)
{
    SV_DEFAULT_FP_ENV;
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
