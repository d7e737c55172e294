/* The public calls for optimisers: they check the arguments and call the optimiser of a model. */
#include "session/optimizer_handle.h"

#include "base/threads/fp_env.h"
#include "session/session.h"

#include <stddef.h>
#include <string.h>

svit_status sv_optimizer_create(svit_optimizer **out, svit_model *model, svit_context *context,
                                const svit_session *session, const svit_optimizer_config *config,
                                svit_error *err)
{
    svit_optimizer_config local;
    SVIT_TRY(sv_optim_config_import(&local, config, err));
    const sv_allocator *allocator = &model->context->allocator;
    svit_optimizer *optimizer;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&optimizer, 1, sizeof *optimizer, "an optimiser",
                               err));
    svit_status status =
        sv_optim_create(&optimizer->core, context, &model->parameters,
                        session ? &session->gradients.subset : NULL, model->weights, &local, err);
    if (status != SVIT_OK) {
        sv_release(allocator, optimizer, sizeof *optimizer);
        return status;
    }
    optimizer->model = sv_model_retain(model);
    optimizer->trainable_version = model->trainable_version;
    *out = optimizer;
    return SVIT_OK;
}

SVIT_API svit_status svit_optimizer_create(svit_optimizer **out, svit_model *model,
                                           const svit_optimizer_config *config, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(model);
    /* For all parameters, because any session of the model may step it. */
    return sv_optimizer_create(out, model, model->context, NULL, config, err);
}

SVIT_API void svit_optimizer_free(svit_optimizer *optimizer)
{
    if (!optimizer)
        return;
    svit_model *model = optimizer->model;
    sv_optim_free(optimizer->core);
    sv_release(&model->context->allocator, optimizer, sizeof *optimizer);
    svit_model_free(model);
}

svit_status sv_optimizer_check_trainable(const svit_optimizer *optimizer, svit_error *err)
{
    if (optimizer->trainable_version == optimizer->model->trainable_version)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_STATE,
                   "the trainable parameters of the model have changed since the optimizer was "
                   "created; create another one");
}

SVIT_API svit_status svit_step(svit_optimizer *optimizer, svit_session *session, svit_error *err)
{
    SV_REQUIRE(optimizer);
    SV_REQUIRE(session);
    SVIT_TRY(svit_context_check(optimizer->model->context, err));
    if (sv_session_model(session) != optimizer->model)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "session is of another model than optimizer; both must be of one");
    const sv_gradients *gradients = sv_session_gradients(session);
    if (!gradients)
        return sv_fail(err, SVIT_E_STATE,
                       "session was created with mode SVIT_MODE_INFER and has no gradients; "
                       "SVIT_MODE_TRAIN is needed");
    SVIT_TRY(sv_session_check_trainable(session, err));
    SVIT_TRY(sv_optimizer_check_trainable(optimizer, err));
    SVIT_TRY(sv_session_finish_gradients(session, err));
    sv_fp_env before = sv_fp_env_begin();
    svit_status status =
        sv_optim_update(optimizer->core, optimizer->model->weights, gradients, err);
    sv_fp_env_end(before);
    if (status == SVIT_OK) {
        sv_model_touch(optimizer->model);
        sv_model_drop_threshold(optimizer->model, "the model is trained further");
        sv_session_restart_gradients(session);
    }
    return status;
}

SVIT_API uint64_t svit_optimizer_steps(const svit_optimizer *optimizer)
{
    return optimizer ? optimizer->core->steps : 0;
}

SVIT_API svit_status svit_optimizer_set_f64(svit_optimizer *optimizer, const char *key,
                                            double value, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(optimizer);
    SV_REQUIRE(key);
    double min, max;
    SVIT_TRY(svit_optimizer_bounds(optimizer, key, &min, &max, err));
    if (!(value >= min && value <= max))
        return sv_fail(err, SVIT_E_ARGUMENT, "value for '%s' is %g; it is in [%g, %.17g]", key,
                       value, min, max);
    const sv_field *field;
    SVIT_TRY(sv_optim_field_find(&field, key, "", err));
    if (field->offset == offsetof(svit_optimizer_config, weight_decay))
        SVIT_TRY(sv_optim_set_parameter(optimizer->core, NULL, key, value, err));
    memcpy((char *)&optimizer->core->config + field->offset, &value, sizeof value);
    return SVIT_OK;
}

SVIT_API svit_status svit_optimizer_set_parameter_f64(svit_optimizer *optimizer,
                                                      const char *pattern, const char *key,
                                                      double value, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(optimizer);
    SV_REQUIRE(pattern);
    SV_REQUIRE(key);
    return sv_optim_set_parameter(optimizer->core, pattern, key, value, err);
}

SVIT_API svit_status svit_optimizer_get_f64(const svit_optimizer *optimizer, const char *key,
                                            double *value, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(optimizer);
    SV_REQUIRE(key);
    SV_REQUIRE(value);
    if (strcmp(key, "gradient_norm") == 0) {
        *value = optimizer->core->gradient_norm;
        return SVIT_OK;
    }
    const sv_field *field;
    SVIT_TRY(sv_optim_field_find(&field, key, ", gradient_norm", err));
    memcpy(value, (const char *)&optimizer->core->config + field->offset, sizeof *value);
    return SVIT_OK;
}

SVIT_API svit_status svit_optimizer_bounds(const svit_optimizer *optimizer, const char *key,
                                           double *min, double *max, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(optimizer);
    SV_REQUIRE(key);
    SV_REQUIRE(min);
    SV_REQUIRE(max);
    const sv_field *field;
    SVIT_TRY(sv_optim_field_find(&field, key, "", err));
    sv_optim_field_range(field, &optimizer->core->config, min, max);
    return SVIT_OK;
}

SVIT_API svit_status svit_optimizer_swap_ema(svit_optimizer *optimizer, svit_error *err)
{
    SV_REQUIRE(optimizer);
    SVIT_TRY(sv_optim_swap_ema(optimizer->core, optimizer->model->weights, err));
    sv_model_touch(optimizer->model);
    return SVIT_OK;
}
