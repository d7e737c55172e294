/* Ends a model after one of its blocks. */
#include "base/threads/fp_env.h"
#include "models/architecture.h"
#include "models/config.h"
#include "models/model.h"

#include <shiftvit/load.h>

#include <stdio.h>
#include <string.h>

/* In a model without stages. Returns whether `layer` is the name of a block. */
static bool end_at_block(svit_model_config *config, const char *layer)
{
    char name[32];
    for (uint32_t block = 0; block < config->depth; block++) {
        snprintf(name, sizeof name, "blocks.%u", block);
        if (strcmp(name, layer) != 0)
            continue;
        config->depth = block + 1;
        return true;
    }
    return false;
}

/* The final norm has the channels of the last stage, so it goes with it. */
static void keep_stages(svit_model_config *config, uint32_t count)
{
    if (count < config->stages)
        config->final_norm = 0;
    for (uint32_t stage = count; stage < config->stages; stage++)
        config->blocks[stage] = 0;
    config->stages = count;
}

/* In a model of stages. Returns whether `layer` is the name of a block. */
static bool end_at_stage_block(svit_model_config *config, const char *layer)
{
    char name[48];
    for (uint32_t stage = 0; stage < config->stages; stage++)
        for (uint32_t block = 0; block < config->blocks[stage]; block++) {
            snprintf(name, sizeof name, "layers.%u.blocks.%u", stage, block);
            if (strcmp(name, layer) != 0)
                continue;
            keep_stages(config, stage + 1);
            config->blocks[stage] = block + 1;
            return true;
        }
    return false;
}

static void remove_head(svit_model_config *config, const sv_architecture *architecture)
{
    config->classifier = 0;
    config->head_layers = 0;
    memset(config->head_units, 0, sizeof config->head_units);
    config->mask_ratio = 0;
    config->num_classes = (uint32_t)architecture->features(config);
}

SVIT_API svit_status svit_model_truncate(svit_model *model, const char *layer, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(model);
    SV_REQUIRE(layer);
    svit_model_config config = model->config;
    const sv_architecture *architecture = sv_architecture_of(&config);
    const bool has_stages = !sv_fields_find_member(architecture->fields, "depth");
    if (!(has_stages ? end_at_stage_block : end_at_block)(&config, layer))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "layer is '%.64s'; a model ends after one of its blocks, such as '%s', and "
                       "svit_session_layer_name lists them",
                       layer, has_stages ? "layers.0.blocks.0" : "blocks.0");
    remove_head(&config, architecture);
    svit_model *part;
    SVIT_TRY(sv_model_check_alone(model, "it is truncated", err));
    SVIT_TRY(sv_config_check(&sv_model_config_type, &config, err));
    /* Each of its parameters is one of the model, so none needs an initial value. */
    SVIT_TRY(sv_model_open_zero(&part, model->context, &config, err));
    sv_model_become(model, part, true, "the model loses its head");
    return SVIT_OK;
}
