/* Checks configurations of ViT: patches that fit the image, heads and sizes that can be had. */
#include "base/size.h"
#include "models/config.h"

/* Of all heads together, as of a model's channels. */
enum { HEADS_WIDTH = 65536 };

size_t sv_vit_tokens(const svit_model_config *config)
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
    return sv_vit_tokens(config) + (config->pool == SVIT_POOL_CLASS_TOKEN);
}

int sv_vit_has_projection(const svit_model_config *config)
{
    return config->names != SVIT_NAMES_PAPER || config->heads != 1 ||
           config->head_dim != config->dim;
}

size_t sv_vit_features(const svit_model_config *config)
{
    return config->pool == SVIT_POOL_FLATTEN ? sv_vit_tokens(config) * config->dim : config->dim;
}

static svit_status check_side(const svit_model_config *config, const char *field, uint32_t input,
                              svit_error *err)
{
    uint32_t size = config->patch_size;
    if (input % size != 0)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s is %u; it is a multiple of patch_size %u, such as %u", field, input,
                       size, input < size ? size : input / size * size);
    return SVIT_OK;
}

static svit_status check_patches(const svit_model_config *config, svit_error *err)
{
    SVIT_TRY(check_side(config, "input_height", config->input_height, err));
    return check_side(config, "input_width", config->input_width, err);
}

static svit_status check_heads(const svit_model_config *config, svit_error *err)
{
    if (config->head_dim > HEADS_WIDTH / config->heads)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "head_dim is %u; %u heads of it are more than %d channels, so it is at most "
                       "%u",
                       config->head_dim, config->heads, HEADS_WIDTH, HEADS_WIDTH / config->heads);
    return SVIT_OK;
}

static svit_status check_head(const svit_model_config *config, svit_error *err)
{
    size_t features;
    if (config->pool == SVIT_POOL_FLATTEN &&
        !sv_size_multiply(&features, sv_vit_tokens(config), config->dim))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "pool is 'flatten'; %zu patches of %u channels are more than fit memory, "
                       "'mean' takes them",
                       sv_vit_tokens(config), config->dim);
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

svit_status sv_vit_config_check(const svit_model_config *config, svit_error *err)
{
    SVIT_TRY(check_patches(config, err));
    SVIT_TRY(check_heads(config, err));
    return check_head(config, err);
}
