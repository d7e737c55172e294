/* The layers of a ViT (Dosovitskiy et al. 2020) or SL-ViT (Lee, Lee, Song 2021): patch embedding,
 * position embedding, blocks of attention and MLP, norm and pooling, head. */
#include "models/architecture.h"
#include "models/layer_list.h"
#include "models/parts/conv_stem.h"
#include "models/vit/vit.h"
#include "models/vit/vit_rotary.h"

#include <stdio.h>
#include <string.h>

/* The patches of an image. */
typedef struct patch_grid {
    size_t rows, columns;
} patch_grid;

/* What is made for one size of the input refuses others: position embeddings, and a head that reads
 * all tokens. Otherwise an input of any size is whole patches, or has at least one. */
static svit_status check_input(const sv_builder *build)
{
    const svit_model_config *config = build->config;
    const size_t height = build->shape.height, width = build->shape.width;
    const size_t size = config->patch_size;
    if (sv_vit_has_positions(config))
        return sv_builder_check_size(build, "position embedding is");
    if (config->pool == SVIT_POOL_FLATTEN)
        return sv_builder_check_size(build, "head is");
    const bool is_valid = config->patch_padding == SVIT_PADDING_VALID;
    if (is_valid ? height >= size && width >= size : height % size == 0 && width % size == 0)
        return SVIT_OK;
    return sv_fail(build->source.err, SVIT_E_ARGUMENT, "input is %zu x %zu; both are %s, %zu",
                   height, width, is_valid ? "at least patch_size" : "multiples of patch_size",
                   size);
}

static svit_status add_tokens(sv_builder *build)
{
    const svit_model_config *config = build->config;
    const sv_vit_names *names = sv_vit_names_of(config);
    if (config->tokenizer == SVIT_TOKENIZER_CONV)
        return sv_conv_stem_layers(build);
    if (config->tokenizer == SVIT_TOKENIZER_PATCH) {
        sv_patch_options options = {.in = build->shape,
                                    .size = config->patch_size,
                                    .channels_out = config->dim,
                                    .name = names->patch};
        return sv_builder_append(build, sv_patch_create(&build->source, &options));
    }
    sv_shifted_options options = {.in = build->shape,
                                  .size = config->patch_size,
                                  .channels_out = config->dim,
                                  .paper_order = config->spt_order == SVIT_SPT_PAPER,
                                  .eps = config->norm_eps,
                                  .norm = names->patch_norm,
                                  .projection = names->patch};
    return sv_builder_append(build, sv_shifted_tokens_create(&build->source, &options));
}

static svit_status add_position(sv_builder *build)
{
    const svit_model_config *config = build->config;
    const sv_vit_names *names = sv_vit_names_of(config);
    const sv_position_options options = {
        .in = build->shape,
        .position = sv_vit_has_positions(config) ? names->position : NULL,
        .class_token = sv_vit_has_class_token(config) ? names->class_token : NULL,
        .distillation_token = config->distilled ? names->distillation_token : NULL,
        .register_tokens = names->register_tokens,
        .register_count = config->register_tokens,
        .positioned_prefix = sv_vit_positioned_prefix(config)};
    SVIT_TRY(sv_builder_append(build, sv_position_create(&build->source, &options)));
    return config->pre_norm ? sv_builder_norm(build, names->pre_norm, false) : SVIT_OK;
}

static sv_attention_options attention_of(const sv_builder *build, size_t index,
                                         const patch_grid *grid)
{
    const svit_model_config *config = build->config;
    const sv_vit_names *names = sv_vit_names_of(config);
    return (sv_attention_options){.shape = build->shape,
                                  .heads = config->heads,
                                  .head_dim = config->head_dim,
                                  .per_head = config->temperature == SVIT_TEMPERATURE_MULTIPLY,
                                  .masked = config->attention == SVIT_ATTENTION_LSA,
                                  .eps = config->norm_eps,
                                  .dropout = config->attention_dropout,
                                  .no_key_bias = config->no_key_bias,
                                  .lora_alpha = config->lora_alpha,
                                  .lambda_init = sv_vit_lambda_init(index),
                                  .output_eps = SV_VIT_OUTPUT_EPS,
                                  .drop_path = sv_drop_path_rate(config, index, 0, config->depth),
                                  .rotary = sv_vit_rotary(config, grid->rows, grid->columns),
                                  .names = {.norm = names->norm1,
                                            .qkv = names->qkv,
                                            .proj = names->projection,
                                            .temperature = names->temperature,
                                            .layer_scale = names->scale1,
                                            .query_norm = names->query_norm,
                                            .key_norm = names->key_norm,
                                            .attention_norm = names->attention_norm,
                                            .frequencies = names->frequencies,
                                            .lambda = names->lambda,
                                            .output_norm = names->output_norm}};
}

static const sv_activation ACTIVATIONS[] = {[SVIT_ACTIVATION_GELU] = SV_GELU,
                                            [SVIT_ACTIVATION_GELU_TANH] = SV_GELU_TANH,
                                            [SVIT_ACTIVATION_QUICK_GELU] = SV_QUICK_GELU};

/* In a parallel block it has the norm and the factors of the attention. */
static sv_mlp_options mlp_of(const sv_builder *build, size_t index)
{
    const svit_model_config *config = build->config;
    const sv_vit_names *names = sv_vit_names_of(config);
    const bool parallel = config->block != SVIT_BLOCK_SEQUENTIAL;
    return (sv_mlp_options){.shape = build->shape,
                            .hidden_channels = config->mlp_dim,
                            .last_gelu = config->mlp_last_gelu,
                            .activation = ACTIVATIONS[config->activation],
                            .gated = config->mlp == SVIT_MLP_SWIGLU,
                            .eps = config->norm_eps,
                            .dropout = config->dropout,
                            .drop_path = sv_drop_path_rate(config, index, 0, config->depth),
                            .names = {parallel ? names->norm1 : names->norm2, names->fc1,
                                      names->fc2, parallel ? names->scale1 : names->scale2,
                                      names->mlp_norm}};
}

static svit_status add_block(sv_builder *build, size_t index, const patch_grid *grid)
{
    const sv_attention_options attention = attention_of(build, index, grid);
    const sv_mlp_options mlp = mlp_of(build, index);
    if (build->config->block != SVIT_BLOCK_SEQUENTIAL)
        return sv_builder_append(build, sv_parallel_create(&build->source, &attention, &mlp));
    SVIT_TRY(sv_builder_append(build, sv_attention_create(&build->source, &attention)));
    return sv_builder_append(build, sv_mlp_create(&build->source, &mlp));
}

/* Attention pooling and the MLP block of the one token that it leaves. */
static svit_status add_attention_pool(sv_builder *build)
{
    const svit_model_config *config = build->config;
    const sv_vit_names *names = sv_vit_names_of(config);
    const sv_attention_pool_options options = {build->shape,       config->pool_heads,
                                               names->pool_latent, names->pool_q,
                                               names->pool_kv,     names->pool_proj};
    SVIT_TRY(sv_builder_append(build, sv_attention_pool_create(&build->source, &options)));
    const sv_mlp_options mlp = {
        .shape = build->shape,
        .hidden_channels = config->pool_mlp_dim,
        .activation = ACTIVATIONS[config->activation],
        .eps = config->norm_eps,
        .names = {.norm = names->pool_norm, .fc1 = names->pool_fc1, .fc2 = names->pool_fc2}};
    return sv_builder_append(build, sv_mlp_create(&build->source, &mlp));
}

static svit_status add_final_norm(sv_builder *build)
{
    const svit_model_config *config = build->config;
    return config->final_norm ? sv_builder_norm(build, sv_vit_names_of(config)->norm, false)
                              : SVIT_OK;
}

static svit_status add_masking(sv_builder *build, sv_masking_kind kind, const char *token)
{
    const svit_model_config *config = build->config;
    const sv_masking_options options = {
        kind, build->shape, sv_vit_prefix(config), sv_model_patches(config), sv_vit_visible(config),
        token};
    return sv_builder_append(build, sv_masking_create(&build->source, &options));
}

/* The decoder's blocks see all patches, and no tokens before them. */
static svit_status add_decoder(sv_builder *build, const patch_grid *grid)
{
    const svit_model_config *config = build->config, decoder = sv_vit_decoder(config);
    const sv_position_options position = {{1, sv_model_patches(config), decoder.dim},
                                          .position = "decoder_pos_embed"};
    SVIT_TRY(add_final_norm(build));
    SVIT_TRY(sv_builder_dense(build, decoder.dim, "decoder_embed"));
    SVIT_TRY(add_masking(build, SV_MASKING_RESTORE, "mask_token"));
    SVIT_TRY(sv_builder_append(build, sv_position_create(&build->source, &position)));
    svit_status status = SVIT_OK;
    build->config = &decoder;
    for (size_t i = 0; i < decoder.depth && status == SVIT_OK; i++) {
        sv_builder_prefix(build, "decoder_blocks.%zu.", i);
        status = add_block(build, i, grid);
    }
    build->config = config;
    build->source.prefix = "";
    SVIT_TRY(status);
    SVIT_TRY(sv_builder_norm(build, "decoder_norm", false));
    SVIT_TRY(sv_builder_dense(build, sv_vit_patch_elements(config), "decoder_pred"));
    return add_masking(build, SV_MASKING_SILENCE, NULL);
}

/* The final norm acts on each token alone. A pooling that takes single tokens comes before it, so
 * that only these tokens are normalised. */
static svit_status add_pooling(sv_builder *build)
{
    const svit_model_config *config = build->config;
    if (config->pool == SVIT_POOL_CLASS_TOKEN) {
        SVIT_TRY(sv_builder_append(build, sv_first_tokens_create(&build->source, build->shape,
                                                                 config->distilled ? 2 : 1)));
        return add_final_norm(build);
    }
    SVIT_TRY(add_final_norm(build));
    switch (config->pool) {
    case SVIT_POOL_MEAN:
        return sv_builder_append(build, sv_mean_create(&build->source, build->shape));
    case SVIT_POOL_MEAN_PATCHES:
    case SVIT_POOL_CLASS_MEAN:
        return sv_builder_append(build, sv_patch_mean_create(&build->source, build->shape,
                                                             sv_vit_prefix(config),
                                                             config->pool == SVIT_POOL_CLASS_MEAN));
    case SVIT_POOL_ATTENTION:
        return add_attention_pool(build);
    default: /* The next layer reads all tokens as one vector; no layer is needed for that. */
        build->shape = (sv_shape){1, 1, sv_shape_elements(build->shape)};
        return SVIT_OK;
    }
}

static svit_status add_dropout(sv_builder *build)
{
    const double rate = build->config->head_dropout;
    return rate > 0
               ? sv_builder_append(build, sv_dropout_create(&build->source, build->shape, rate))
               : SVIT_OK;
}

static svit_status add_head(sv_builder *build)
{
    const svit_model_config *config = build->config;
    const char *head = sv_vit_names_of(config)->head;
    char name[64];
    if (!config->classifier)
        return config->distilled
                   ? sv_builder_append(build, sv_mean_create(&build->source, build->shape))
                   : SVIT_OK;
    SVIT_TRY(add_dropout(build));
    for (size_t i = 0; i < config->head_layers; i++) {
        snprintf(name, sizeof name, "%s%zu", head, i + 1);
        SVIT_TRY(sv_builder_dense(build, config->head_units[i], name));
        SVIT_TRY(sv_builder_append(build, sv_gelu_create(&build->source, build->shape)));
        SVIT_TRY(add_dropout(build));
    }
    snprintf(name, sizeof name, "%s%zu", head, (size_t)config->head_layers + 1);
    if (config->distilled)
        return sv_builder_append(
            build, sv_distilled_head_create(&build->source, build->shape, config->num_classes, name,
                                            sv_vit_names_of(config)->distilled_head));
    return sv_builder_dense(build, config->num_classes, name);
}

/* The pooled features are the output of the last layer before the head, unless that is a block:
 * then the head reads the tokens of the block one after the other. */
static void name_features(sv_builder *build)
{
    const sv_layer_list *list = build->list;
    if (strncmp(list->layers[list->training_count - 1]->name, "blocks.", 7) != 0)
        sv_builder_name(build, "features");
}

svit_status sv_vit_layers(sv_builder *build)
{
    const svit_model_config *config = build->config;
    const patch_grid grid = {build->shape.height / config->patch_size,
                             build->shape.width / config->patch_size};
    SVIT_TRY(check_input(build));
    SVIT_TRY(add_tokens(build));
    sv_builder_name(build, "patch_embed");
    SVIT_TRY(add_position(build));
    sv_builder_name(build, "tokens");
    if (config->mask_ratio > 0)
        SVIT_TRY(add_masking(build, SV_MASKING_HIDE, NULL));
    for (size_t i = 0; i < config->depth; i++) {
        sv_builder_prefix(build, "%s%zu.", sv_vit_names_of(config)->layer, i);
        SVIT_TRY(add_block(build, i, &grid));
        sv_builder_name(build, "blocks.%zu", i);
    }
    build->source.prefix = "";
    if (config->mask_ratio > 0)
        return add_decoder(build, &grid);
    SVIT_TRY(add_pooling(build));
    if (config->head_norm)
        SVIT_TRY(sv_builder_norm(build, sv_vit_names_of(config)->head_norm, false));
    name_features(build);
    return add_head(build);
}
