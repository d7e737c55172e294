/* The layers of an MLP-Mixer (Tolstikhin et al. 2021): patch embedding, blocks of a token MLP and a
 * channel MLP, norm, mean over the tokens, classifier. */
#include "models/architecture.h"
#include "models/layer_list.h"

#include <stdio.h>

/* A block is two layers. Patch embedding, norm, mean and classifier are one layer each. */
size_t sv_mixer_layer_count(const svit_model_config *config)
{
    return 4 + 2 * (size_t)config->depth;
}

static svit_status add_stem(sv_builder *build)
{
    const svit_model *model = build->model;
    const sv_patch_options options = {.in = build->shape,
                                      .size = model->config.patch_size,
                                      .channels_out = model->config.dim,
                                      .name = "stem.proj"};
    SV_APPEND(build,
              sv_patch_create(&layer, model->context, &model->parameters, &options, build->err));
    return SVIT_OK;
}

/* The DropPath rate of both halves of a block grows from 0 to drop_path over the network, or is
 * constant. */
static double drop_path_rate(const svit_model_config *config, size_t index)
{
    return config->drop_path_rule == SVIT_DROP_PATH_CONSTANT
               ? config->drop_path
               : sv_linspace(config->drop_path, index, config->depth);
}

/* The names of the parameters of half a block. */
static sv_mlp_names names_of(size_t index, const char *norm, const char *mlp)
{
    sv_mlp_names names = {.layer_scale = ""};
    snprintf(names.norm, sizeof names.norm, "blocks.%zu.%s", index, norm);
    snprintf(names.fc1, sizeof names.fc1, "blocks.%zu.%s.fc1", index, mlp);
    snprintf(names.fc2, sizeof names.fc2, "blocks.%zu.%s.fc2", index, mlp);
    return names;
}

static svit_status add_token_mlp(sv_builder *build, size_t index)
{
    const svit_model *model = build->model;
    const svit_model_config *config = &model->config;
    const sv_token_mlp_options options = {.shape = build->shape,
                                          .hidden = config->token_mlp_dim,
                                          .eps = config->norm_eps,
                                          .dropout = config->dropout,
                                          .drop_path = drop_path_rate(config, index),
                                          .names = names_of(index, "norm1", "mlp_tokens")};
    SV_APPEND(build, sv_token_mlp_create(&layer, model->context, &model->parameters, &options,
                                         build->err));
    return SVIT_OK;
}

static svit_status add_channel_mlp(sv_builder *build, size_t index)
{
    const svit_model *model = build->model;
    const svit_model_config *config = &model->config;
    const sv_mlp_options options = {.shape = build->shape,
                                    .hidden_channels = config->mlp_dim,
                                    .eps = config->norm_eps,
                                    .dropout = config->dropout,
                                    .drop_path = drop_path_rate(config, index),
                                    .names = names_of(index, "norm2", "mlp_channels")};
    SV_APPEND(build,
              sv_mlp_create(&layer, model->context, &model->parameters, &options, build->err));
    return SVIT_OK;
}

static svit_status add_head(sv_builder *build)
{
    const svit_model *model = build->model;
    const svit_model_config *config = &model->config;
    const sv_norm_options norm = {build->shape, "norm", false, config->norm_eps};
    SV_APPEND(build, sv_norm_create(&layer, model->context, &model->parameters, &norm, build->err));
    SV_APPEND(build, sv_mean_create(&layer, model->context, build->shape, build->err));
    sv_builder_name(build, "features");
    if (config->classifier)
        SV_APPEND(build, sv_dense_create(&layer, model->context, &model->parameters, build->shape,
                                         config->num_classes, "head", build->err));
    return SVIT_OK;
}

svit_status sv_mixer_layers(sv_builder *build)
{
    const svit_model_config *config = &build->model->config;
    if (build->shape.height != config->input_height || build->shape.width != config->input_width)
        return sv_fail(build->err, SVIT_E_ARGUMENT,
                       "input is %zu x %zu; this model's token MLPs are for %u x %u only",
                       build->shape.height, build->shape.width, config->input_height,
                       config->input_width);
    SVIT_TRY(add_stem(build));
    sv_builder_name(build, "patch_embed");
    for (size_t i = 0; i < config->depth; i++) {
        SVIT_TRY(add_token_mlp(build, i));
        SVIT_TRY(add_channel_mlp(build, i));
        sv_builder_name(build, "blocks.%zu", i);
    }
    return add_head(build);
}
