/* The layers of a ShiftViT (Wang et al. 2022): patch embedding, stages of shift blocks with patch
 * merging between them, mean, classifier. */
#include "models/architecture.h"
#include "models/layer_list.h"
#include "models/shiftvit/shiftvit.h"

#include <stdio.h>

/* The prefix of the classifier's parameters. */
#define HEAD "head"

/* Each stage has its blocks, of one layer or two, and two layers of patch merging. Seven more
 * layers are the patch embedding with the GELU and the second map of another stem, its norm, the
 * final norm, the mean and the classifier. */
size_t sv_shiftvit_layer_count(const svit_model_config *config)
{
    size_t block = config->mixer == SVIT_MIXER_DEPTHWISE ? 2 : 1;
    return block * sv_shiftvit_block_count(config) + 2 * config->stages + 7;
}

/* A session may have another input size than the model, so its shapes are checked here. */
static svit_status check_shape(const sv_builder *build, size_t size, int32_t padding,
                               const char *name)
{
    sv_shape in = build->shape;
    if (!sv_shiftvit_strided(in.height, size, padding) ||
        !sv_shiftvit_strided(in.width, size, padding))
        return sv_fail(
            build->err, SVIT_E_ARGUMENT,
            "%s: a feature map of %zux%zu has no pixel left after a stride of %zu; a larger "
            "input is needed",
            name, in.height, in.width, size);
    return SVIT_OK;
}

static svit_status add_patch_layer(sv_builder *build, const sv_patch_options *options)
{
    const svit_model *model = build->model;
    SV_APPEND(build,
              sv_patch_create(&layer, model->context, &model->parameters, options, build->err));
    return SVIT_OK;
}

static sv_norm_options norm_options(const svit_model_config *config, sv_shape shape,
                                    const char *name)
{
    return (sv_norm_options){shape, name, config->norm == SVIT_NORM_GROUP, config->norm_eps};
}

static svit_status add_norm(sv_builder *build, const char *name)
{
    sv_norm_options options = norm_options(&build->model->config, build->shape, name);
    SV_APPEND(build, sv_norm_create(&layer, build->model->context, &build->model->parameters,
                                    &options, build->err));
    return SVIT_OK;
}

/* The GELU and the second linear map of SVIT_STEM_WHITENED. */
static svit_status add_whitened_map(sv_builder *build)
{
    const svit_model *model = build->model;
    SV_APPEND(build, sv_gelu_create(&layer, model->context, build->shape, build->err));
    SV_APPEND(build, sv_dense_create(&layer, model->context, &model->parameters, build->shape,
                                     model->config.dim, SV_SHIFTVIT_EMBED, build->err));
    return SVIT_OK;
}

static svit_status add_convolution(sv_builder *build, const char *name, size_t channels,
                                   size_t stride)
{
    const sv_patch_options options = {
        .in = build->shape, .size = 3, .channels_out = channels, .name = name, .stride = stride};
    return add_patch_layer(build, &options);
}

/* The two convolutions of SVIT_STEM_CONV. */
static svit_status add_convolutions(sv_builder *build)
{
    const svit_model *model = build->model;
    const svit_model_config *config = &model->config;
    SVIT_TRY(add_convolution(build, SV_SHIFTVIT_CONV1, config->dim / 2, config->patch_size / 2));
    SV_APPEND(build, sv_gelu_create(&layer, model->context, build->shape, build->err));
    SVIT_TRY(add_convolution(build, SV_SHIFTVIT_CONV2, config->dim, 2));
    return config->patch_norm ? add_norm(build, "patch_embed.norm") : SVIT_OK;
}

static svit_status add_embedding(sv_builder *build)
{
    const svit_model_config *config = &build->model->config;
    if (config->stem == SVIT_STEM_CONV)
        return add_convolutions(build);
    bool is_whitened = config->stem == SVIT_STEM_WHITENED;
    const char *name = is_whitened ? SV_SHIFTVIT_WHITEN : SV_SHIFTVIT_EMBED;
    SVIT_TRY(check_shape(build, config->patch_size, config->patch_padding, name));
    sv_patch_options options = {.in = build->shape,
                                .size = config->patch_size,
                                .channels_out =
                                    is_whitened ? sv_shiftvit_whitened(config) : config->dim,
                                .same_padding = config->patch_padding == SVIT_PADDING_SAME,
                                .name = name};
    SVIT_TRY(add_patch_layer(build, &options));
    if (is_whitened)
        SVIT_TRY(add_whitened_map(build));
    return config->patch_norm ? add_norm(build, "patch_embed.norm") : SVIT_OK;
}

/* The DropPath rate of a block grows from 0 to drop_path over the blocks of a stage, over those of
 * the network, or is constant. */
static double drop_path_rate(const svit_model_config *config, size_t stage, size_t block)
{
    size_t before = 0;
    for (size_t i = 0; i < stage; i++)
        before += config->blocks[i];
    switch (config->drop_path_rule) {
    case SVIT_DROP_PATH_STAGE:
        return sv_linspace(config->drop_path, block, config->blocks[stage]);
    case SVIT_DROP_PATH_NETWORK:
        return sv_linspace(config->drop_path, before + block, sv_shiftvit_block_count(config));
    default:
        return config->drop_path;
    }
}

static sv_mlp_options block_options(const svit_model_config *config, sv_shape shape, size_t stage,
                                    size_t block)
{
    sv_mlp_options options = {
        .shape = shape,
        .hidden_channels = sv_shiftvit_stage_hidden(config, stage),
        .shift = {.group_channels = sv_shiftvit_stage_group(config, stage),
                  .pixels = config->mixer == SVIT_MIXER_SHIFT ? config->shift_pixel : 0,
                  .crop = config->shift == SVIT_SHIFT_KERAS},
        .norm_per_image = config->norm == SVIT_NORM_GROUP,
        .eps = config->norm_eps,
        .dropout = config->dropout,
        .drop_path = drop_path_rate(config, stage, block)};
    sv_mlp_names *names = &options.names;
    snprintf(names->norm, sizeof names->norm, "layers.%zu.blocks.%zu.norm2", stage, block);
    snprintf(names->fc1, sizeof names->fc1, "layers.%zu.blocks.%zu.mlp.fc1", stage, block);
    snprintf(names->fc2, sizeof names->fc2, "layers.%zu.blocks.%zu.mlp.fc2", stage, block);
    return options;
}

static svit_status add_depthwise(sv_builder *build, size_t stage, size_t block)
{
    const svit_model *model = build->model;
    char name[64];
    snprintf(name, sizeof name, "layers.%zu.blocks.%zu.dwconv", stage, block);
    SV_APPEND(build, sv_depthwise_create(&layer, model->context, &model->parameters, build->shape,
                                         name, build->err));
    return SVIT_OK;
}

static svit_status add_block(sv_builder *build, size_t stage, size_t block)
{
    if (build->model->config.mixer == SVIT_MIXER_DEPTHWISE)
        SVIT_TRY(add_depthwise(build, stage, block));
    sv_mlp_options options = block_options(&build->model->config, build->shape, stage, block);
    SV_APPEND(build, sv_mlp_create(&layer, build->model->context, &build->model->parameters,
                                   &options, build->err));
    sv_builder_name(build, "layers.%zu.blocks.%zu", stage, block);
    return SVIT_OK;
}

/* Patch merging: a norm, then a linear map of each 2 x 2 tokens to one token. In the inference
 * graph the two are fused if it is a layer norm. */
static svit_status add_merge(sv_builder *build, size_t stage)
{
    const svit_model *model = build->model;
    const svit_model_config *config = &model->config;
    char norm_name[64], name[64];
    snprintf(norm_name, sizeof norm_name, "layers.%zu.downsample.norm", stage);
    snprintf(name, sizeof name, "layers.%zu.downsample.reduction", stage);
    SVIT_TRY(add_norm(build, norm_name));
    SVIT_TRY(check_shape(build, 2, config->merge_padding, name));
    const sv_norm_options norm = norm_options(config, build->shape, norm_name);
    sv_patch_options options = {.in = build->shape,
                                .size = 2,
                                .channels_out = sv_shiftvit_stage_channels(config, stage + 1),
                                .same_padding = config->merge_padding == SVIT_PADDING_SAME,
                                .name = name};
    SVIT_TRY(add_patch_layer(build, &options));
    options.norm = &norm;
    if (!norm.per_image)
        SV_FUSE(build, 2,
                sv_patch_create(&layer, model->context, &model->parameters, &options, build->err));
    return SVIT_OK;
}

/* The blocks of a stage, and patch merging unless it is the last one. */
static svit_status add_stage(sv_builder *build, size_t stage)
{
    const svit_model_config *config = &build->model->config;
    for (size_t block = 0; block < config->blocks[stage]; block++)
        SVIT_TRY(add_block(build, stage, block));
    return stage + 1 < config->stages ? add_merge(build, stage) : SVIT_OK;
}

/* Fuses the last block, the mean and the classifier in the inference graph, unless a norm is
 * between them. `shape` is that of the block. */
static svit_status fuse_head(sv_builder *build, sv_shape shape)
{
    const svit_model *model = build->model;
    const svit_model_config *config = &model->config;
    size_t stage = config->stages - 1;
    if (config->final_norm || config->blocks[stage] == 0)
        return SVIT_OK;
    sv_mlp_options block = block_options(config, shape, stage, config->blocks[stage] - 1);
    SV_FUSE(build, 3,
            sv_mlp_head_create(&layer, model->context, &model->parameters, &block,
                               config->num_classes, HEAD, build->err));
    return SVIT_OK;
}

/* The mean over tokens and the classifier. */
static svit_status add_head(sv_builder *build)
{
    const svit_model *model = build->model;
    const sv_shape shape = build->shape;
    SV_APPEND(build, sv_mean_create(&layer, model->context, shape, build->err));
    sv_builder_name(build, "features");
    if (!model->config.classifier)
        return SVIT_OK;
    SV_APPEND(build, sv_dense_create(&layer, model->context, &model->parameters, build->shape,
                                     model->config.num_classes, HEAD, build->err));
    return fuse_head(build, shape);
}

svit_status sv_shiftvit_layers(sv_builder *build)
{
    const svit_model_config *config = &build->model->config;
    SVIT_TRY(add_embedding(build));
    sv_builder_name(build, "patch_embed");
    for (size_t stage = 0; stage < config->stages; stage++)
        SVIT_TRY(add_stage(build, stage));
    if (config->final_norm)
        SVIT_TRY(add_norm(build, "norm"));
    return add_head(build);
}
