/* The layers of an MLP-Mixer (Tolstikhin et al. 2021): patch embedding, blocks of a token MLP and a
 * channel MLP, norm, mean over the tokens, classifier. */
#include "models/architecture.h"
#include "models/layer_list.h"

static svit_status add_stem(sv_builder *build)
{
    const sv_patch_options options = {.in = build->shape,
                                      .size = build->config->patch_size,
                                      .channels_out = build->config->dim,
                                      .name = "stem.proj"};
    return sv_builder_append(build, sv_patch_create(&build->source, &options));
}

static svit_status add_block(sv_builder *build, size_t index)
{
    const svit_model_config *config = build->config;
    const double rate = sv_drop_path_rate(config, index, 0, config->depth);
    const sv_token_mlp_options tokens = {
        .shape = build->shape,
        .hidden = config->token_mlp_dim,
        .eps = config->norm_eps,
        .dropout = config->dropout,
        .drop_path = rate,
        .names = {.norm = "norm1", .fc1 = "mlp_tokens.fc1", .fc2 = "mlp_tokens.fc2"}};
    const sv_mlp_options channels = {
        .shape = build->shape,
        .hidden_channels = config->mlp_dim,
        .eps = config->norm_eps,
        .dropout = config->dropout,
        .drop_path = rate,
        .names = {.norm = "norm2", .fc1 = "mlp_channels.fc1", .fc2 = "mlp_channels.fc2"}};
    SVIT_TRY(sv_builder_append(build, sv_token_mlp_create(&build->source, &tokens)));
    return sv_builder_append(build, sv_mlp_create(&build->source, &channels));
}

static svit_status add_head(sv_builder *build)
{
    SVIT_TRY(sv_builder_norm(build, "norm", false));
    SVIT_TRY(sv_builder_append(build, sv_mean_create(&build->source, build->shape)));
    sv_builder_name(build, "features");
    return build->config->classifier ? sv_builder_dense(build, build->config->num_classes, "head")
                                     : SVIT_OK;
}

svit_status sv_mixer_layers(sv_builder *build)
{
    const svit_model_config *config = build->config;
    SVIT_TRY(sv_builder_check_size(build, "token MLPs are"));
    SVIT_TRY(add_stem(build));
    sv_builder_name(build, "patch_embed");
    for (size_t i = 0; i < config->depth; i++) {
        sv_builder_prefix(build, "blocks.%zu.", i);
        SVIT_TRY(add_block(build, i));
        sv_builder_name(build, "blocks.%zu", i);
    }
    build->source.prefix = "";
    return add_head(build);
}
