/* The configuration of a ViT: its fields, the sizes that follow from it, and its checks. */
#include "base/size.h"
#include "base/status.h"
#include "models/config.h"
#include "models/config_fields.h"
#include "models/vit/vit.h"

static const sv_field FIELDS[] = {
    SV_MODEL_FIELDS_INPUT,
    SV_MODEL_SIZE(depth, 1, 1000),
    SV_MODEL_SIZE(heads, 1, 65536),
    SV_MODEL_SIZE(head_dim, 1, 65536),
    SV_MODEL_SIZE(mlp_dim, 1, 1048576),
    SV_MODEL_WORD(tokenizer, "patch", "spt"),
    SV_MODEL_WORD(spt_order, "seed", "paper"),
    SV_MODEL_WORD(attention, "global", "lsa"),
    SV_MODEL_WORD(temperature, "divide", "multiply"),
    SV_MODEL_FLAG(qkv_bias),
    SV_MODEL_FLAG(mlp_last_gelu),
    SV_MODEL_WORD(pool, "flatten", "class_token", "mean"),
    SV_MODEL_LIST(head_units, head_layers, 0, SVIT_MAX_HEAD_LAYERS, 1, 1048576),
    SV_MODEL_FIELDS_CLASSIFIER,
    SV_MODEL_RATE(attention_dropout),
    SV_MODEL_RATE(head_dropout),
    SV_MODEL_FIELDS_DROP_PATH,
    SV_MODEL_WORD(names, "seed", "paper"),
    SV_MODEL_FIELD_INIT,
};
const sv_field_table sv_vit_fields = SV_MODEL_FIELD_TABLE(FIELDS);

/* The largest heads * head_dim. The limit of the field `dim` is the same. */
enum { HEADS_CHANNELS_MAX = 65536 };

size_t sv_vit_patches(const svit_model_config *config)
{
    size_t size = config->patch_size;
    return config->input_height / size * (config->input_width / size);
}

size_t sv_vit_patch_elements(const svit_model_config *config)
{
    size_t copies = config->tokenizer == SVIT_TOKENIZER_SPT ? 5 : 1;
    return (size_t)config->patch_size * config->patch_size * config->in_channels * copies;
}

size_t sv_vit_sequence(const svit_model_config *config)
{
    return sv_vit_patches(config) + (config->pool == SVIT_POOL_CLASS_TOKEN);
}

bool sv_vit_has_projection(const svit_model_config *config)
{
    return config->names != SVIT_NAMES_PAPER || config->heads != 1 ||
           config->head_dim != config->dim;
}

size_t sv_vit_features(const svit_model_config *config)
{
    return config->pool == SVIT_POOL_FLATTEN ? sv_vit_patches(config) * config->dim : config->dim;
}

static svit_status check_heads(const svit_model_config *config, svit_error *err)
{
    if (config->head_dim > HEADS_CHANNELS_MAX / config->heads)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "head_dim is %u; %u heads of it are more than %d channels, so it is at most "
                       "%u",
                       config->head_dim, config->heads, HEADS_CHANNELS_MAX,
                       HEADS_CHANNELS_MAX / config->heads);
    return SVIT_OK;
}

/* Checks the classifier: its input must fit memory, and its hidden layers need one. */
static svit_status check_head(const svit_model_config *config, svit_error *err)
{
    size_t features;
    if (config->pool == SVIT_POOL_FLATTEN &&
        !sv_size_multiply(&features, sv_vit_patches(config), config->dim))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "pool is 'flatten'; %zu patches of %u channels do not fit memory; use "
                       "'mean'",
                       sv_vit_patches(config), config->dim);
    if (config->head_layers == 0)
        return SVIT_OK;
    if (!config->classifier)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "head_units has %u layers; without a classifier it is []",
                       config->head_layers);
    if (config->names == SVIT_NAMES_PAPER)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "head_units has %u layers; with names 'paper' it is []: the paper's files "
                       "have one linear layer",
                       config->head_layers);
    return SVIT_OK;
}

svit_status sv_vit_check(const svit_model_config *config, svit_error *err)
{
    SVIT_TRY(sv_model_config_check_patches(config, err));
    SVIT_TRY(check_heads(config, err));
    return check_head(config, err);
}

size_t sv_vit_block_count(const svit_model_config *config)
{
    return config->depth;
}

sv_weight_rule sv_vit_weight_rule(const svit_model_config *config)
{
    return config->init == SVIT_INIT_PAPER ? SV_WEIGHTS_XAVIER_NORMAL : SV_WEIGHTS_GLOROT_UNIFORM;
}
