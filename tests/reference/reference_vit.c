/* ViT and SL-ViT, layer by layer. Dosovitskiy et al. 2021; Lee, Lee, Song 2021. */
#include "reference_layer.h"
#include "reference_vit_names.h"

#include <stdio.h>

static void print_name(char name[64], const reference_model *model, size_t index,
                       const char *suffix)
{
    snprintf(name, 64, "%s%zu.%s", NAMES[model->config.names].layer, index, suffix);
}

/* Patches as rows, then a projection to dim. Shifted patch tokenization cuts the image and its
 * shifted copies into patches, and has a norm before the projection. */
static void add_tokens(reference_model *model)
{
    const svit_model_config *config = &model->config;
    const int names = config->names;
    if (config->tokenizer == SVIT_TOKENIZER_PATCH) {
        reference_add_patch_rows(model, config->patch_size);
        reference_add_dense(model, config->dim, 0, NAMES[names].patch);
        return;
    }
    reference_add_spt_copies(model, config->patch_size / 2, config->spt_order == SVIT_SPT_PAPER);
    reference_add_patch_rows(model, config->patch_size);
    reference_add_norm(model, 0, NAMES[names].patch_norm);
    reference_add_dense(model, config->dim, 0, NAMES[names].patch_spt);
}

static int temperature_of(const svit_model_config *config)
{
    if (config->attention != SVIT_ATTENTION_LSA)
        return REFERENCE_NO_TEMPERATURE;
    return config->temperature == SVIT_TEMPERATURE_MULTIPLY ? REFERENCE_MULTIPLY_FOR_EACH_HEAD
                                                            : REFERENCE_DIVIDE_BY_ONE;
}

/* The paper's code has no projection if there is one head and head_dim is dim. */
static int has_projection(const svit_model_config *config)
{
    return config->names != SVIT_NAMES_PAPER || config->heads > 1 ||
           config->head_dim != config->dim;
}

static void add_attention(reference_model *model, size_t index)
{
    const svit_model_config *config = &model->config;
    const reference_attention_shape shape = {.heads = config->heads,
                                             .head_dim = config->head_dim,
                                             .temperature = temperature_of(config),
                                             .masked = config->attention == SVIT_ATTENTION_LSA,
                                             .eps = config->norm_eps};
    reference_attention_names names;
    print_name(names.norm, model, index, NAMES[config->names].norm1);
    print_name(names.qkv, model, index, NAMES[config->names].qkv);
    print_name(names.proj, model, index, NAMES[config->names].proj);
    print_name(names.temperature, model, index, NAMES[config->names].temperature);
    reference_add_attention(model, shape, config->qkv_bias, has_projection(config), &names);
}

static void add_mlp(reference_model *model, size_t index)
{
    const svit_model_config *config = &model->config;
    const reference_block_shape shape = {
        .hidden = config->mlp_dim, .last_gelu = config->mlp_last_gelu, .eps = config->norm_eps};
    reference_block_names names;
    print_name(names.norm, model, index, NAMES[config->names].norm2);
    print_name(names.fc1, model, index, NAMES[config->names].fc1);
    print_name(names.fc2, model, index, NAMES[config->names].fc2);
    reference_add_block(model, shape, &names);
}

/* A norm, then all tokens as one row, their mean, or the class token. */
static void add_pooling(reference_model *model)
{
    const svit_model_config *config = &model->config;
    reference_add_norm(model, 0, NAMES[config->names].norm);
    if (config->pool == SVIT_POOL_FLATTEN)
        reference_flatten(model);
    else if (config->pool == SVIT_POOL_CLASS_TOKEN)
        reference_add_mean(model, 1);
    else
        reference_add_mean(model, model->height * model->width);
}

/* Dense layers with GELU, then the classifier. */
static void add_head(reference_model *model)
{
    const svit_model_config *config = &model->config;
    for (size_t i = 0; i <= config->head_layers; i++) {
        const int is_last = i == config->head_layers;
        char name[96];
        snprintf(name, sizeof name, "%s%zu", NAMES[config->names].head, i + 1);
        reference_add_dense(model, is_last ? config->num_classes : config->head_units[i], !is_last,
                            name);
    }
}

/* Tokens, position embedding, layers of an attention and an MLP block, pooling, head. */
void reference_add_vit(reference_model *model)
{
    const svit_model_config *config = &model->config;
    add_tokens(model);
    reference_add_position(model, NAMES[config->names].position,
                           config->pool == SVIT_POOL_CLASS_TOKEN ? "cls_token" : NULL);
    for (size_t i = 0; i < config->depth; i++) {
        add_attention(model, i);
        add_mlp(model, i);
    }
    add_pooling(model);
    if (config->classifier)
        add_head(model);
}
