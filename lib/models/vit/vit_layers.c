/* The layers of a ViT (Dosovitskiy et al. 2020) or SL-ViT (Lee, Lee, Song 2021): patch embedding,
 * position embedding, blocks of attention and MLP, norm and pooling, head. */
#include "models/architecture.h"
#include "models/layer_list.h"
#include "models/vit/vit.h"

#include <stdio.h>
#include <string.h>

/* A block is two layers. Patch embedding, position embedding, the norms before and after the blocks
 * and of the head, pooling, head dropout and classifier (or the mean of two tokens) are one layer
 * each. A hidden layer of the head is a linear map, GELU and dropout. */
size_t sv_vit_layer_count(const svit_model_config *config)
{
    return 8 + 2 * (size_t)config->depth + 3 * (size_t)config->head_layers;
}

static svit_status add_norm(sv_builder *build, const char *name)
{
    sv_norm_options options = {build->shape, name, false, build->model->config.norm_eps};
    SV_APPEND(build, sv_norm_create(&layer, build->model->context, &build->model->parameters,
                                    &options, build->err));
    return SVIT_OK;
}

static svit_status add_dense(sv_builder *build, size_t channels, const char *name)
{
    SV_APPEND(build, sv_dense_create(&layer, build->model->context, &build->model->parameters,
                                     build->shape, channels, name, build->err));
    return SVIT_OK;
}

static svit_status add_tokens(sv_builder *build)
{
    const svit_model *model = build->model;
    const svit_model_config *config = &model->config;
    const sv_vit_names *names = sv_vit_names_of(config);
    if (config->tokenizer == SVIT_TOKENIZER_PATCH) {
        sv_patch_options options = {.in = build->shape,
                                    .size = config->patch_size,
                                    .channels_out = config->dim,
                                    .name = names->patch};
        SV_APPEND(build, sv_patch_create(&layer, model->context, &model->parameters, &options,
                                         build->err));
        return SVIT_OK;
    }
    sv_shifted_options options = {.in = build->shape,
                                  .size = config->patch_size,
                                  .channels_out = config->dim,
                                  .paper_order = config->spt_order == SVIT_SPT_PAPER,
                                  .eps = config->norm_eps,
                                  .norm = names->patch_norm,
                                  .projection = names->patch};
    SV_APPEND(build, sv_shifted_tokens_create(&layer, model->context, &model->parameters, &options,
                                              build->err));
    return SVIT_OK;
}

static svit_status add_position(sv_builder *build)
{
    const svit_model *model = build->model;
    const svit_model_config *config = &model->config;
    const sv_vit_names *names = sv_vit_names_of(config);
    const sv_position_options options = {
        .in = build->shape,
        .position = names->position,
        .class_token = sv_vit_has_class_token(config) ? names->class_token : NULL,
        .distillation_token = config->distilled ? names->distillation_token : NULL,
        .register_tokens = names->register_tokens,
        .register_count = config->register_tokens,
        .positioned_prefix = sv_vit_positioned_prefix(config)};
    SV_APPEND(build,
              sv_position_create(&layer, model->context, &model->parameters, &options, build->err));
    return config->pre_norm ? add_norm(build, names->pre_norm) : SVIT_OK;
}

/* The DropPath rate of a block grows from 0 to drop_path over the network, or is constant. */
static double drop_path_rate(const svit_model_config *config, size_t index)
{
    return config->drop_path_rule == SVIT_DROP_PATH_CONSTANT
               ? config->drop_path
               : sv_linspace(config->drop_path, index, config->depth);
}

/* Writes the whole name of a parameter of layer `index`. */
static void print_name(char out[64], const sv_vit_names *names, size_t index, const char *name)
{
    snprintf(out, 64, "%s%zu.%s", names->layer, index, name);
}

static svit_status add_attention(sv_builder *build, size_t index)
{
    const svit_model *model = build->model;
    const svit_model_config *config = &model->config;
    sv_attention_options options = {.shape = build->shape,
                                    .heads = config->heads,
                                    .head_dim = config->head_dim,
                                    .per_head = config->temperature == SVIT_TEMPERATURE_MULTIPLY,
                                    .masked = config->attention == SVIT_ATTENTION_LSA,
                                    .eps = config->norm_eps,
                                    .dropout = config->attention_dropout,
                                    .lora_alpha = config->lora_alpha,
                                    .drop_path = drop_path_rate(config, index)};
    const sv_vit_names *names = sv_vit_names_of(config);
    print_name(options.names.norm, names, index, names->norm1);
    print_name(options.names.qkv, names, index, names->qkv);
    print_name(options.names.proj, names, index, names->projection);
    print_name(options.names.temperature, names, index, names->temperature);
    print_name(options.names.layer_scale, names, index, names->scale1);
    SV_APPEND(build, sv_attention_create(&layer, model->context, &model->parameters, &options,
                                         build->err));
    return SVIT_OK;
}

static const sv_activation ACTIVATIONS[] = {[SVIT_ACTIVATION_GELU] = SV_GELU,
                                            [SVIT_ACTIVATION_GELU_TANH] = SV_GELU_TANH,
                                            [SVIT_ACTIVATION_QUICK_GELU] = SV_QUICK_GELU};

static svit_status add_mlp(sv_builder *build, size_t index)
{
    const svit_model *model = build->model;
    const svit_model_config *config = &model->config;
    sv_mlp_options options = {.shape = build->shape,
                              .hidden_channels = config->mlp_dim,
                              .last_gelu = config->mlp_last_gelu,
                              .activation = ACTIVATIONS[config->activation],
                              .gated = config->mlp == SVIT_MLP_SWIGLU,
                              .eps = config->norm_eps,
                              .dropout = config->dropout,
                              .drop_path = drop_path_rate(config, index)};
    const sv_vit_names *names = sv_vit_names_of(config);
    print_name(options.names.norm, names, index, names->norm2);
    print_name(options.names.fc1, names, index, names->fc1);
    print_name(options.names.fc2, names, index, names->fc2);
    print_name(options.names.layer_scale, names, index, names->scale2);
    SV_APPEND(build,
              sv_mlp_create(&layer, model->context, &model->parameters, &options, build->err));
    return SVIT_OK;
}

static svit_status add_final_norm(sv_builder *build)
{
    const svit_model_config *config = &build->model->config;
    return config->final_norm ? add_norm(build, sv_vit_names_of(config)->norm) : SVIT_OK;
}

static svit_status add_first_tokens(sv_builder *build, size_t count)
{
    SV_APPEND(build, sv_first_tokens_create(&layer, build->model->context, build->shape, count,
                                            build->err));
    return SVIT_OK;
}

static svit_status add_mean(sv_builder *build)
{
    SV_APPEND(build, sv_mean_create(&layer, build->model->context, build->shape, build->err));
    return SVIT_OK;
}

/* The final norm acts on each token alone. Where the pooling takes single tokens, it comes first,
 * so that only these tokens are normalised. */
static svit_status add_pooling(sv_builder *build)
{
    const svit_model *model = build->model;
    const svit_model_config *config = &model->config;
    if (config->pool == SVIT_POOL_CLASS_TOKEN) {
        SVIT_TRY(add_first_tokens(build, config->distilled ? 2 : 1));
        return add_final_norm(build);
    }
    SVIT_TRY(add_final_norm(build));
    switch (config->pool) {
    case SVIT_POOL_MEAN:
        return add_mean(build);
    case SVIT_POOL_MEAN_PATCHES:
    case SVIT_POOL_CLASS_MEAN:
        SV_APPEND(build,
                  sv_patch_mean_create(&layer, model->context, build->shape, sv_vit_prefix(config),
                                       config->pool == SVIT_POOL_CLASS_MEAN, build->err));
        return SVIT_OK;
    default: /* The next layer reads all tokens as one vector; no layer is needed for that. */
        build->shape = (sv_shape){1, 1, sv_shape_elements(build->shape)};
        return SVIT_OK;
    }
}

static svit_status add_dropout(sv_builder *build)
{
    double rate = build->model->config.head_dropout;
    if (rate > 0)
        SV_APPEND(build,
                  sv_dropout_create(&layer, build->model->context, build->shape, rate, build->err));
    return SVIT_OK;
}

static svit_status add_head(sv_builder *build)
{
    const svit_model_config *config = &build->model->config;
    const char *head = sv_vit_names_of(config)->head;
    char name[64];
    if (!config->classifier)
        return config->distilled ? add_mean(build) : SVIT_OK;
    SVIT_TRY(add_dropout(build));
    for (size_t i = 0; i < config->head_layers; i++) {
        snprintf(name, sizeof name, "%s%zu", head, i + 1);
        SVIT_TRY(add_dense(build, config->head_units[i], name));
        SV_APPEND(build, sv_gelu_create(&layer, build->model->context, build->shape, build->err));
        SVIT_TRY(add_dropout(build));
    }
    snprintf(name, sizeof name, "%s%zu", head, (size_t)config->head_layers + 1);
    if (config->distilled) {
        SV_APPEND(build,
                  sv_distilled_head_create(&layer, build->model->context, &build->model->parameters,
                                           build->shape, config->num_classes, name,
                                           sv_vit_names_of(config)->distilled_head, build->err));
        return SVIT_OK;
    }
    return add_dense(build, config->num_classes, name);
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
    const svit_model_config *config = &build->model->config;
    if (build->shape.height != config->input_height || build->shape.width != config->input_width)
        return sv_fail(build->err, SVIT_E_ARGUMENT,
                       "input is %zu x %zu; this model's position embedding is for %u x %u only",
                       build->shape.height, build->shape.width, config->input_height,
                       config->input_width);
    SVIT_TRY(add_tokens(build));
    sv_builder_name(build, "patch_embed");
    SVIT_TRY(add_position(build));
    sv_builder_name(build, "tokens");
    for (size_t i = 0; i < config->depth; i++) {
        SVIT_TRY(add_attention(build, i));
        SVIT_TRY(add_mlp(build, i));
        sv_builder_name(build, "blocks.%zu", i);
    }
    SVIT_TRY(add_pooling(build));
    if (config->head_norm)
        SVIT_TRY(add_norm(build, sv_vit_names_of(config)->head_norm));
    name_features(build);
    return add_head(build);
}
