/* The layers of a ShiftViT (Wang et al. 2022): patch embedding, stages of shift blocks with patch
 * merging between them, mean, classifier. */
#include "models/architecture.h"
#include "models/layer_list.h"
#include "models/parts/conv_stem.h"
#include "models/shiftvit/shiftvit.h"

/* The prefix of the classifier's parameters. */
#define HEAD "head"

/* A session may have another input size than the model, so its shapes are checked here. */
static svit_status check_shape(const sv_builder *build, size_t size, int32_t padding,
                               const char *name)
{
    sv_shape in = build->shape;
    if (!sv_shiftvit_strided(in.height, size, padding) ||
        !sv_shiftvit_strided(in.width, size, padding))
        return sv_fail(build->source.err, SVIT_E_ARGUMENT,
                       "%s%s: a feature map of %zux%zu has no pixel left after a stride of %zu; a "
                       "larger input is needed",
                       build->source.prefix, name, in.height, in.width, size);
    return SVIT_OK;
}

static svit_status add_patch_layer(sv_builder *build, const sv_patch_options *options)
{
    return sv_builder_append(build, sv_patch_create(&build->source, options));
}

static svit_status add_norm(sv_builder *build, const char *name)
{
    return sv_builder_norm(build, name, build->config->norm == SVIT_NORM_GROUP);
}

static svit_status add_gelu(sv_builder *build)
{
    return sv_builder_append(build, sv_gelu_create(&build->source, build->shape));
}

static svit_status add_embedding(sv_builder *build)
{
    const svit_model_config *config = build->config;
    if (config->stem == SVIT_STEM_CONV) {
        SVIT_TRY(sv_conv_stem_layers(build));
        return config->patch_norm ? add_norm(build, "patch_embed.norm") : SVIT_OK;
    }
    bool is_whitened = config->stem == SVIT_STEM_WHITENED;
    const char *name = is_whitened ? SV_SHIFTVIT_WHITEN : SV_SHIFTVIT_EMBED;
    SVIT_TRY(check_shape(build, config->patch_size, config->patch_padding, name));
    sv_patch_options options = {.in = build->shape,
                                .size = config->patch_size,
                                .channels_out = is_whitened ? sv_shiftvit_whitened_channels(config)
                                                            : config->dim,
                                .same_padding = config->patch_padding == SVIT_PADDING_SAME,
                                .name = name};
    SVIT_TRY(add_patch_layer(build, &options));
    if (is_whitened) {
        SVIT_TRY(add_gelu(build));
        SVIT_TRY(sv_builder_dense(build, config->dim, SV_SHIFTVIT_EMBED));
    }
    return config->patch_norm ? add_norm(build, "patch_embed.norm") : SVIT_OK;
}

static sv_mlp_options block_options(const svit_model_config *config, sv_shape shape, size_t stage,
                                    size_t block)
{
    size_t before = 0;
    for (size_t i = 0; i < stage; i++)
        before += config->blocks[i];
    return (sv_mlp_options){
        .shape = shape,
        .hidden_channels = sv_shiftvit_stage_hidden(config, stage),
        .shift = {.group_channels = sv_shiftvit_stage_group(config, stage),
                  .pixels = config->mixer == SVIT_MIXER_SHIFT ? config->shift_pixel : 0,
                  .crop = config->shift == SVIT_SHIFT_KERAS},
        .norm_per_image = config->norm == SVIT_NORM_GROUP,
        .eps = config->norm_eps,
        .dropout = config->dropout,
        .drop_path = sv_drop_path_rate(config, before + block, before, config->blocks[stage]),
        .names = {.norm = "norm2", .fc1 = "mlp.fc1", .fc2 = "mlp.fc2"}};
}

static svit_status add_block(sv_builder *build, size_t stage, size_t block)
{
    sv_builder_prefix(build, "layers.%zu.blocks.%zu.", stage, block);
    if (build->config->mixer == SVIT_MIXER_DEPTHWISE)
        SVIT_TRY(
            sv_builder_append(build, sv_depthwise_create(&build->source, build->shape, "dwconv")));
    const sv_mlp_options options = block_options(build->config, build->shape, stage, block);
    SVIT_TRY(sv_builder_append(build, sv_mlp_create(&build->source, &options)));
    sv_builder_name(build, "layers.%zu.blocks.%zu", stage, block);
    return SVIT_OK;
}

/* Patch merging: a norm, then a linear map of each 2 x 2 tokens to one token. In the inference
 * graph the two are fused if the norm is a layer norm. */
static svit_status add_merge(sv_builder *build, size_t stage)
{
    const svit_model_config *config = build->config;
    const char *name = "downsample.reduction";
    const sv_norm_options norm = {.name = "downsample.norm", .eps = config->norm_eps};
    sv_builder_prefix(build, "layers.%zu.", stage);
    SVIT_TRY(add_norm(build, norm.name));
    SVIT_TRY(check_shape(build, 2, config->merge_padding, name));
    sv_patch_options options = {.in = build->shape,
                                .size = 2,
                                .channels_out = sv_shiftvit_stage_channels(config, stage + 1),
                                .same_padding = config->merge_padding == SVIT_PADDING_SAME,
                                .name = name};
    SVIT_TRY(add_patch_layer(build, &options));
    options.norm = &norm;
    return config->norm == SVIT_NORM_LAYER
               ? sv_builder_fuse(build, 2, sv_patch_create(&build->source, &options))
               : SVIT_OK;
}

/* The blocks of a stage, and patch merging unless it is the last one. */
static svit_status add_stage(sv_builder *build, size_t stage)
{
    const svit_model_config *config = build->config;
    for (size_t block = 0; block < config->blocks[stage]; block++)
        SVIT_TRY(add_block(build, stage, block));
    return stage + 1 < config->stages ? add_merge(build, stage) : SVIT_OK;
}

/* Fuses the last block, the mean and the classifier in the inference graph, unless a norm is
 * between them. `shape` is that of the block. */
static svit_status fuse_head(sv_builder *build, sv_shape shape)
{
    const svit_model_config *config = build->config;
    size_t stage = config->stages - 1;
    if (config->final_norm || config->blocks[stage] == 0)
        return SVIT_OK;
    const size_t last = config->blocks[stage] - 1;
    const sv_mlp_options block = block_options(config, shape, stage, last);
    sv_builder_prefix(build, "layers.%zu.blocks.%zu.", stage, last);
    return sv_builder_fuse(build, 3,
                           sv_mlp_head_create(&build->source, &block, config->num_classes, HEAD));
}

/* The mean over tokens and the classifier. */
static svit_status add_head(sv_builder *build)
{
    const sv_shape shape = build->shape;
    SVIT_TRY(sv_builder_append(build, sv_mean_create(&build->source, shape)));
    sv_builder_name(build, "features");
    if (!build->config->classifier)
        return SVIT_OK;
    SVIT_TRY(sv_builder_dense(build, build->config->num_classes, HEAD));
    return fuse_head(build, shape);
}

svit_status sv_shiftvit_layers(sv_builder *build)
{
    const svit_model_config *config = build->config;
    SVIT_TRY(add_embedding(build));
    sv_builder_name(build, "patch_embed");
    for (size_t stage = 0; stage < config->stages; stage++)
        SVIT_TRY(add_stage(build, stage));
    build->source.prefix = "";
    if (config->final_norm)
        SVIT_TRY(add_norm(build, "norm"));
    return add_head(build);
}
