/* Adds adapters of LoRA (Hu et al. 2021) to a model, and merges them into its weights. */
#include "models/parts/lora.h"

#include "base/threads/fp_env.h"
#include "models/architecture.h"
#include "models/config.h"
#include "models/initial.h"
#include "models/parts/text_head.h"

#include <shiftvit/load.h>

#include <string.h>

/* Creates a model with weights of zero, of the same configuration but for the adapters. */
static svit_status open_with(svit_model **out, const svit_model *model, uint32_t rank, double alpha,
                             svit_error *err)
{
    svit_model_config config = model->config;
    config.lora_rank = rank;
    config.lora_alpha = alpha;
    SVIT_TRY(sv_config_check(&sv_model_config_type, &config, err));
    return sv_model_open_zero(out, model->context, &config, err);
}

/* Whether the adapters leave the parameter trainable: they themselves, and the linear maps of the
 * head. */
static bool stays_trainable(const sv_parameter_table *table, const sv_parameter *parameter)
{
    switch (parameter->role) {
    case SV_ROLE_LORA_A:
    case SV_ROLE_LORA_B:
        return true;
    default:
        return sv_parameter_is_of_head(table, parameter);
    }
}

static svit_status check_architecture(const svit_model *model, svit_error *err)
{
    const sv_architecture *architecture = sv_architecture_of(&model->config);
    if (sv_fields_find_member(architecture->fields, "lora_rank"))
        return SVIT_OK;
    return sv_fail(
        err, SVIT_E_UNSUPPORTED,
        "the model is a '%s', which has no attention; LoRA is for models of architecture "
        "'vit'",
        architecture->name);
}

SVIT_API svit_status svit_model_add_lora(svit_model *model, uint32_t rank, double alpha,
                                         uint64_t seed, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(model);
    SVIT_TRY(check_architecture(model, err));
    if (sv_model_has_lora(model))
        return sv_fail(err, SVIT_E_STATE,
                       "the model has adapters of rank %u already; svit_model_merge_lora merges "
                       "them",
                       model->config.lora_rank);
    if (rank == 0)
        return sv_fail(err, SVIT_E_ARGUMENT, "rank is 0; it is at least 1");
    SVIT_TRY(sv_model_check_alone(model, "adapters are added", err));
    svit_model *adapted;
    SVIT_TRY(open_with(&adapted, model, rank, alpha, err));
    sv_initial_weights(adapted->weights, &adapted->parameters, &adapted->config, seed,
                       model->context->pool);
    sv_model_copy_parameters(adapted, model, true);
    for (size_t i = 0; i < adapted->parameters.count; i++) {
        sv_parameter *parameter = &adapted->parameters.list[i];
        parameter->frozen = !stays_trainable(&adapted->parameters, parameter);
    }
    sv_model_exchange(model, adapted);
    svit_model_free(adapted);
    return SVIT_OK;
}

/* w[out, in] += scale b[out, rank] a[rank, in]; each sum is rounded once */
static void add_product(real *w, const real *b, const real *a, size_t out, size_t in, size_t rank,
                        double scale)
{
    for (size_t o = 0; o < out; o++)
        for (size_t i = 0; i < in; i++) {
            double sum = 0;
            for (size_t k = 0; k < rank; k++)
                sum += (double)b[o * rank + k] * (double)a[k * in + i];
            w[o * in + i] = (real)((double)w[o * in + i] + scale * sum);
        }
}

/* The parameter of `table` whose name is that of the adapter with `end` in place of ".lora_a". */
static const sv_parameter *sibling(const sv_parameter_table *table, const sv_parameter *adapter,
                                   const char *end)
{
    char name[sizeof adapter->name + 8];
    const size_t length = strlen(adapter->name) - strlen(".lora_a");
    memcpy(name, adapter->name, length);
    memcpy(name + length, end, strlen(end) + 1);
    return sv_parameter_find(table, name);
}

static void merge(svit_model *merged, const svit_model *model)
{
    const double scale = model->config.lora_alpha / model->config.lora_rank;
    for (size_t i = 0; i < model->parameters.count; i++) {
        const sv_parameter *a = &model->parameters.list[i];
        if (a->role != SV_ROLE_LORA_A)
            continue;
        const sv_parameter *b = sibling(&model->parameters, a, ".lora_b");
        const sv_parameter *weight = sibling(&merged->parameters, a, ".weight");
        add_product(merged->weights + weight->offset, model->weights + b->offset,
                    model->weights + a->offset, (size_t)b->desc.shape[0], (size_t)a->desc.shape[1],
                    model->config.lora_rank, scale);
    }
}

/* Copies what a model has beside configuration and parameters. */
static svit_status copy_rest(svit_model *to, const svit_model *from, svit_error *err)
{
    to->pipeline = from->pipeline;
    to->has_pipeline = from->has_pipeline;
    to->has_colours = from->has_colours;
    to->output = from->output;
    to->threshold = from->threshold;
    SVIT_TRY(sv_model_copy_text_head(to, from, err));
    if (!from->classes)
        return SVIT_OK;
    return svit_model_set_classes(to, (const char *const *)from->classes, from->config.num_classes,
                                  err);
}

svit_status sv_model_merged(svit_model **out, const svit_model *model, svit_error *err)
{
    svit_model *merged;
    SVIT_TRY(open_with(&merged, model, 0, 0, err));
    sv_model_copy_parameters(merged, model, true);
    merge(merged, model);
    svit_status status = copy_rest(merged, model, err);
    if (status == SVIT_OK)
        *out = merged;
    else
        svit_model_free(merged);
    return status;
}

SVIT_API svit_status svit_model_merge_lora(svit_model *model, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(model);
    if (!sv_model_has_lora(model))
        return sv_fail(err, SVIT_E_STATE,
                       "the model has no adapters; svit_model_add_lora gives it some");
    SVIT_TRY(sv_model_check_alone(model, "adapters are merged", err));
    svit_model *merged;
    SVIT_TRY(sv_model_merged(&merged, model, err));
    sv_model_exchange(model, merged);
    svit_model_free(merged);
    return SVIT_OK;
}
