/* The parameters of a ShiftViT: names, shapes and order of the paper's own state dict. */
#include "models/config.h"
#include "models/parameters.h"

#include <stdio.h>

/* Where parameters go, and what comes before their names. */
typedef struct scope {
    sv_parameter_table *table;
    const char *prefix;
    svit_error *err;
} scope;

static svit_status add(const scope *in, const char *name, sv_parameter_role role,
                       const int64_t *shape, size_t rank)
{
    char full[sizeof((sv_parameter *)NULL)->name];
    snprintf(full, sizeof full, "%s%s", in->prefix, name);
    size_t index;
    return sv_parameter_add(in->table, &index, full, role, shape, rank, in->err);
}

/* weight [out, in, size, size] */
static svit_status add_convolution(const scope *in, const char *name, size_t out, size_t c,
                                   size_t size)
{
    int64_t shape[4] = {(int64_t)out, (int64_t)c, (int64_t)size, (int64_t)size};
    return add(in, name, SV_ROLE_WEIGHT, shape, 4);
}

static svit_status add_vector(const scope *in, const char *name, sv_parameter_role role, size_t c)
{
    int64_t shape[1] = {(int64_t)c};
    return add(in, name, role, shape, 1);
}

static svit_status add_norm(const scope *in, const char *weight, const char *bias, size_t c)
{
    SVIT_TRY(add_vector(in, weight, SV_ROLE_NORM_WEIGHT, c));
    return add_vector(in, bias, SV_ROLE_NORM_BIAS, c);
}

static svit_status add_patch_embedding(const scope *in, const svit_model_config *config)
{
    SVIT_TRY(add_convolution(in, "patch_embed.proj.weight", config->dim, config->in_channels,
                             config->patch_size));
    SVIT_TRY(add_vector(in, "patch_embed.proj.bias", SV_ROLE_BIAS, config->dim));
    if (!config->patch_norm)
        return SVIT_OK;
    return add_norm(in, "patch_embed.norm.weight", "patch_embed.norm.bias", config->dim);
}

static svit_status add_block(const scope *in, size_t c, size_t hidden)
{
    SVIT_TRY(add_norm(in, "norm2.weight", "norm2.bias", c));
    SVIT_TRY(add_convolution(in, "mlp.fc1.weight", hidden, c, 1));
    SVIT_TRY(add_vector(in, "mlp.fc1.bias", SV_ROLE_BIAS, hidden));
    SVIT_TRY(add_convolution(in, "mlp.fc2.weight", c, hidden, 1));
    return add_vector(in, "mlp.fc2.bias", SV_ROLE_BIAS, c);
}

/* The reduction stands before its norm though it is applied after it. */
static svit_status add_merge(const scope *in, size_t c)
{
    SVIT_TRY(add_convolution(in, "downsample.reduction.weight", 2 * c, c, 2));
    return add_norm(in, "downsample.norm.weight", "downsample.norm.bias", c);
}

static svit_status add_stage(const scope *in, const svit_model_config *config, uint32_t stage)
{
    char prefix[48];
    scope inner = {in->table, prefix, in->err};
    size_t c = sv_stage_channels(config, stage);
    for (uint32_t block = 0; block < config->blocks[stage]; block++) {
        snprintf(prefix, sizeof prefix, "layers.%u.blocks.%u.", stage, block);
        SVIT_TRY(add_block(&inner, c, sv_stage_hidden(config, stage)));
    }
    if (stage + 1 == config->stages)
        return SVIT_OK;
    snprintf(prefix, sizeof prefix, "layers.%u.", stage);
    return add_merge(&inner, c);
}

static svit_status add_head(const scope *in, const svit_model_config *config)
{
    size_t c = sv_stage_channels(config, config->stages - 1);
    if (config->final_norm)
        SVIT_TRY(add_norm(in, "norm.weight", "norm.bias", c));
    if (!config->classifier)
        return SVIT_OK;
    int64_t shape[2] = {config->num_classes, (int64_t)c};
    SVIT_TRY(add(in, "head.weight", SV_ROLE_WEIGHT, shape, 2));
    return add_vector(in, "head.bias", SV_ROLE_BIAS, config->num_classes);
}

svit_status sv_shiftvit_parameters(sv_parameter_table *table, const svit_model_config *config,
                                   svit_error *err)
{
    scope top = {table, "", err};
    SVIT_TRY(add_patch_embedding(&top, config));
    for (uint32_t stage = 0; stage < config->stages; stage++)
        SVIT_TRY(add_stage(&top, config, stage));
    return add_head(&top, config);
}
