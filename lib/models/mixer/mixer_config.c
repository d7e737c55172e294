/* The configuration of an MLP-Mixer: its fields, presets and parameters. Parameters
 * have the names, shapes and order of timm's state dict. */
#include "models/config.h"
#include "models/config_fields.h"

#include <stdio.h>

static const sv_field FIELDS[] = {
    SV_MODEL_FIELDS_INPUT,
    SV_MODEL_SIZE(depth, 1, 1000),
    SV_MODEL_SIZE(token_mlp_dim, 1, 1048576),
    SV_MODEL_SIZE(mlp_dim, 1, 1048576),
    SV_MODEL_FIELDS_CLASSIFIER,
    SV_MODEL_FIELDS_DROP_PATH,
    SV_MODEL_WORD(init, "seed"),
};
const sv_field_table sv_mixer_fields = SV_MODEL_FIELD_TABLE(FIELDS);

size_t sv_mixer_features(const svit_model_config *config)
{
    return config->dim;
}

svit_status sv_mixer_check(const svit_model_config *config, svit_error *err)
{
    return sv_model_config_check_patches(config, err);
}

/* The columns: input, classes, patch_size, dim, depth, token_mlp_dim, mlp_dim and drop_path. */
#define PRESET(side, classes, patch, width, blocks, tokens, channels, rate)                        \
    {                                                                                              \
        .struct_size = sizeof(svit_model_config), .architecture = SVIT_ARCHITECTURE_MIXER,         \
        .input_height = side, .input_width = side, .in_channels = 3, .num_classes = classes,       \
        .patch_size = patch, .dim = width, .depth = blocks, .token_mlp_dim = tokens,               \
        .mlp_dim = channels, .classifier = 1, .norm_eps = 1e-6, .drop_path = rate,                 \
        .drop_path_rule = SVIT_DROP_PATH_NETWORK, .init = SVIT_INIT_KERAS                          \
    }

/* A small model for CIFAR-10, and two of the paper's sizes. */
const sv_preset sv_mixer_presets[] = {
    {"mixer-cifar10", PRESET(32, 10, 4, 256, 8, 64, 512, 0.1)},
    {"mixer-s32-224", PRESET(224, 1000, 32, 512, 8, 256, 2048, 0)},
    {"mixer-b16-224", PRESET(224, 1000, 16, 768, 12, 384, 3072, 0)},
    {.name = NULL},
};

static svit_status add_mlp(const sv_scope *in, const char *fc1, const char *fc2, size_t hidden,
                           size_t width)
{
    SVIT_TRY(sv_scope_linear(in, fc1, hidden, width, true));
    return sv_scope_linear(in, fc2, width, hidden, true);
}

static svit_status add_block(const sv_scope *top, const svit_model_config *config, uint32_t index)
{
    char prefix[48];
    snprintf(prefix, sizeof prefix, "blocks.%u.", index);
    const sv_scope in = {top->table, prefix, top->err, index + 1, false};
    SVIT_TRY(sv_scope_norm(&in, "norm1", config->dim));
    SVIT_TRY(add_mlp(&in, "mlp_tokens.fc1", "mlp_tokens.fc2", config->token_mlp_dim,
                     sv_model_patches(config)));
    SVIT_TRY(sv_scope_norm(&in, "norm2", config->dim));
    return add_mlp(&in, "mlp_channels.fc1", "mlp_channels.fc2", config->mlp_dim, config->dim);
}

svit_status sv_mixer_parameters(sv_scope *top, const svit_model_config *config)
{
    SVIT_TRY(sv_scope_convolution(top, "stem.proj", config->dim, config->in_channels,
                                  config->patch_size, true));
    for (uint32_t i = 0; i < config->depth; i++)
        SVIT_TRY(add_block(top, config, i));
    top->depth = top->table->depths;
    SVIT_TRY(sv_scope_norm(top, "norm", config->dim));
    return config->classifier ? sv_scope_classifier(top, "head", config->num_classes, config->dim)
                              : SVIT_OK;
}
