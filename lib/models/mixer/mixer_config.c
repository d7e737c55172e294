/* The configuration of an MLP-Mixer: its fields, presets, parameters and arithmetic. Parameters
 * have the names, shapes and order of timm's state dict. */
#include "models/config.h"
#include "models/config_fields.h"
#include "models/scope.h"

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

/* Tokens of an image, which are its patches. */
static size_t tokens_of(const svit_model_config *config)
{
    size_t size = config->patch_size;
    return config->input_height / size * (config->input_width / size);
}

size_t sv_mixer_features(const svit_model_config *config)
{
    return config->dim;
}

svit_status sv_mixer_check(const svit_model_config *config, svit_error *err)
{
    return sv_model_config_check_patches(config, err);
}

size_t sv_mixer_block_count(const svit_model_config *config)
{
    return config->depth;
}

sv_weight_rule sv_mixer_weight_rule(const svit_model_config *config)
{
    (void)config;
    return SV_WEIGHTS_GLOROT_UNIFORM;
}

/* The presets: a small model for CIFAR-10, and two of the paper's sizes. */
typedef struct preset {
    const char *name;
    uint32_t input, num_classes, patch_size, dim, depth, token_mlp_dim, mlp_dim;
    double drop_path;
} preset;

static const preset PRESETS[] = {
    {"mixer-cifar10", 32, 10, 4, 256, 8, 64, 512, 0.1},
    {"mixer-s32-224", 224, 1000, 32, 512, 8, 256, 2048, 0},
    {"mixer-b16-224", 224, 1000, 16, 768, 12, 384, 3072, 0},
};
enum { PRESET_COUNT = sizeof PRESETS / sizeof *PRESETS };

bool sv_mixer_preset(const char **name, svit_model_config *config, size_t index)
{
    if (index >= PRESET_COUNT)
        return false;
    const preset *row = &PRESETS[index];
    *name = row->name;
    *config = (svit_model_config){.struct_size = sizeof(svit_model_config),
                                  .architecture = SVIT_ARCHITECTURE_MIXER,
                                  .input_height = row->input,
                                  .input_width = row->input,
                                  .in_channels = 3,
                                  .num_classes = row->num_classes,
                                  .patch_size = row->patch_size,
                                  .dim = row->dim,
                                  .depth = row->depth,
                                  .token_mlp_dim = row->token_mlp_dim,
                                  .mlp_dim = row->mlp_dim,
                                  .classifier = 1,
                                  .norm_eps = 1e-6,
                                  .drop_path = row->drop_path,
                                  .drop_path_rule = SVIT_DROP_PATH_NETWORK,
                                  .init = SVIT_INIT_KERAS};
    return true;
}

static svit_status add_stem(const sv_scope *in, const svit_model_config *config)
{
    const int64_t side = config->patch_size;
    const int64_t shape[4] = {config->dim, config->in_channels, side, side};
    SVIT_TRY(sv_scope_add(in, "stem.proj", ".weight", SV_ROLE_WEIGHT, shape, 4));
    return sv_scope_vector(in, "stem.proj", ".bias", SV_ROLE_BIAS, config->dim);
}

/* The norm and the MLP [hidden, width] of a half of a block. */
static svit_status add_mlp(const sv_scope *in, const char *norm, size_t dim, const char *mlp,
                           size_t hidden, size_t width)
{
    char name[32];
    SVIT_TRY(sv_scope_norm(in, norm, dim));
    snprintf(name, sizeof name, "%s.fc1", mlp);
    SVIT_TRY(sv_scope_linear(in, name, hidden, width, true));
    snprintf(name, sizeof name, "%s.fc2", mlp);
    return sv_scope_linear(in, name, width, hidden, true);
}

static svit_status add_block(const sv_scope *top, const svit_model_config *config, uint32_t index)
{
    char prefix[48];
    snprintf(prefix, sizeof prefix, "blocks.%u.", index);
    const sv_scope in = {top->table, prefix, top->err, index + 1};
    SVIT_TRY(
        add_mlp(&in, "norm1", config->dim, "mlp_tokens", config->token_mlp_dim, tokens_of(config)));
    return add_mlp(&in, "norm2", config->dim, "mlp_channels", config->mlp_dim, config->dim);
}

svit_status sv_mixer_parameters(sv_parameter_table *table, const svit_model_config *config,
                                svit_error *err)
{
    sv_scope top = {table, "", err, 0};
    table->depths = (uint32_t)sv_mixer_block_count(config) + 1;
    SVIT_TRY(add_stem(&top, config));
    for (uint32_t i = 0; i < config->depth; i++)
        SVIT_TRY(add_block(&top, config, i));
    top.depth = table->depths;
    SVIT_TRY(sv_scope_norm(&top, "norm", config->dim));
    return config->classifier
               ? sv_scope_linear(&top, "head", config->num_classes, config->dim, true)
               : SVIT_OK;
}

sv_multiply_adds sv_mixer_multiply_adds(const svit_model_config *config)
{
    const uint64_t tokens = tokens_of(config), dim = config->dim;
    const uint64_t patch = (uint64_t)config->patch_size * config->patch_size * config->in_channels;
    const uint64_t stem = tokens * patch * dim;
    const uint64_t block = 2 * tokens * dim * ((uint64_t)config->token_mlp_dim + config->mlp_dim);
    const uint64_t head = config->classifier ? dim * config->num_classes : 0;
    return (sv_multiply_adds){stem + config->depth * block + head, stem};
}
