/* ViT and SL-ViT, layer by layer. Dosovitskiy et al. 2020; Lee, Lee, Song 2021. */
#include "reference_layer.h"

#include <stdio.h>

/* The names of parameters: those of the Keras code, and those of the paper's code. */
static const struct {
    const char *position, *patch, *patch_spt, *patch_norm, *layer;
    const char *norm1, *qkv, *proj, *temperature, *norm2, *fc1, *fc2, *norm, *head;
} NAMES[] = {[SVIT_NAMES_TIMM] = {.position = "pos_embed",
                                  .patch = "patch_embed.proj",
                                  .patch_spt = "patch_embed.proj",
                                  .patch_norm = "patch_embed.norm",
                                  .layer = "blocks.",
                                  .norm1 = "norm1",
                                  .qkv = "attn.qkv",
                                  .proj = "attn.proj",
                                  .temperature = "attn.tau",
                                  .norm2 = "norm2",
                                  .fc1 = "mlp.fc1",
                                  .fc2 = "mlp.fc2",
                                  .norm = "norm",
                                  .head = "head.fc"},
             [SVIT_NAMES_PAPER] = {.position = "pos_embedding",
                                   .patch = "to_patch_embedding.1",
                                   .patch_spt = "to_patch_embedding.merging.2",
                                   .patch_norm = "to_patch_embedding.merging.1",
                                   .layer = "transformer.layers.",
                                   .norm1 = "0.norm",
                                   .qkv = "0.fn.to_qkv",
                                   .proj = "0.fn.to_out.0",
                                   .temperature = "0.fn.scale",
                                   .norm2 = "1.norm",
                                   .fc1 = "1.fn.net.0",
                                   .fc2 = "1.fn.net.3",
                                   .norm = "mlp_head.0",
                                   .head = "mlp_head."}};

static void print_name(char name[64], const reference_model *model, size_t index,
                       const char *suffix)
{
    snprintf(name, 64, "%s%zu.%s", NAMES[model->config.names].layer, index, suffix);
}

/* Patches as rows, then a projection to dim. With shifted patch tokenization they are patches of
 * shifted copies, too, and a norm comes before the projection. */
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

/* The paper's code has no projection if there is one head, as wide as a token. */
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
