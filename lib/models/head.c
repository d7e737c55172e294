/* Gives a model a head for another number of classes. */
#include "base/threads/fp_env.h"
#include "models/config.h"
#include "models/initial.h"
#include "models/model.h"
#include "models/parts/text_head.h"

/* Creates a model with initial weights. */
static svit_status open_initial(svit_model **out, svit_context *context,
                                const svit_model_config *config, uint64_t seed, svit_error *err)
{
    SVIT_TRY(sv_config_check(&sv_model_config_type, config, err));
    SVIT_TRY(sv_model_open_zero(out, context, config, err));
    sv_initial_weights((*out)->weights, &(*out)->parameters, config, seed, context->pool);
    return SVIT_OK;
}

svit_status sv_model_rebuild(svit_model *model, const svit_model_config *config, uint64_t seed,
                             bool classes, const char *change, svit_error *err)
{
    svit_model *rebuilt;
    SVIT_TRY(sv_model_check_alone(model, change, err));
    SVIT_TRY(open_initial(&rebuilt, model->context, config, seed, err));
    sv_model_copy_parameters(rebuilt, model, classes);
    sv_model_release_classes(model);
    sv_model_release_text_head(model);
    model->threshold = 0;
    sv_model_exchange(model, rebuilt);
    svit_model_free(rebuilt);
    return SVIT_OK;
}

static svit_status change_head(svit_model *model, uint32_t num_classes, uint64_t seed,
                               bool keep_rows, svit_error *err)
{
    svit_model_config config = model->config;
    config.num_classes = num_classes;
    config.classifier = 1;
    config.mask_ratio = 0;
    return sv_model_rebuild(model, &config, seed, keep_rows, "its head changes", err);
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
