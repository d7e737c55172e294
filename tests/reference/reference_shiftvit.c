/* ShiftViT, layer by layer. Wang, Zhao, Tang, Luo, Zeng 2022. */
#include "reference_layer.h"

#include <stdio.h>

static size_t stage_channels(const svit_model_config *config, size_t stage)
{
    return (size_t)config->dim << stage;
}

/* Channels of each group that shifts: C / num_div, or those of one of C / num_div sections. */
static size_t stage_group(const svit_model_config *config, size_t stage)
{
    const size_t channels = stage_channels(config, stage), quotient = channels / config->num_div;
    return config->groups == SVIT_GROUPS_SECTIONS ? channels / quotient : quotient;
}

static void print_name(char name[64], size_t stage, size_t block, const char *suffix)
{
    snprintf(name, 64, "layers.%zu.blocks.%zu.%s", stage, block, suffix);
}

static void add_block(reference_model *model, size_t stage, size_t block)
{
    const svit_model_config *config = &model->config;
    const reference_block_shape shape = {
        .shift = {.group = stage_group(config, stage),
                  .pixels = config->shift_pixel,
                  .crop = config->shift == SVIT_SHIFT_KERAS},
        .hidden = (size_t)(config->mlp_ratio * (double)stage_channels(config, stage)),
        .group_norm = config->norm == SVIT_NORM_GROUP,
        .eps = config->norm_eps};
    reference_block_names names;
    print_name(names.norm, stage, block, "norm2");
    print_name(names.fc1, stage, block, "mlp.fc1");
    print_name(names.fc2, stage, block, "mlp.fc2");
    reference_add_block(model, shape, &names);
}

static void add_merging(reference_model *model, size_t stage)
{
    const svit_model_config *config = &model->config;
    char norm[96], reduction[96];
    snprintf(norm, sizeof norm, "layers.%zu.downsample.norm", stage);
    snprintf(reduction, sizeof reduction, "layers.%zu.downsample.reduction", stage);
    reference_add_norm(model, config->norm == SVIT_NORM_GROUP, norm);
    reference_add_convolution(model, 2, config->merge_padding == SVIT_PADDING_SAME,
                              stage_channels(config, stage + 1), 0, reduction);
}

/* Patch embedding, stages of shift blocks with a patch merging between them, global average
 * pooling, classifier. */
void reference_add_shiftvit(reference_model *model)
{
    const svit_model_config *config = &model->config;
    const int group_norm = config->norm == SVIT_NORM_GROUP;
    reference_add_convolution(model, config->patch_size, config->patch_padding == SVIT_PADDING_SAME,
                              config->dim, 1, "patch_embed.proj");
    if (config->patch_norm)
        reference_add_norm(model, group_norm, "patch_embed.norm");
    for (size_t stage = 0; stage < config->stages; stage++) {
        for (size_t block = 0; block < config->blocks[stage]; block++)
            add_block(model, stage, block);
        if (stage + 1 < config->stages)
            add_merging(model, stage);
    }
    if (config->final_norm)
        reference_add_norm(model, group_norm, "norm");
    reference_add_mean(model, model->height * model->width);
    if (config->classifier)
        reference_add_dense(model, config->num_classes, 0, "head");
}
