/* The parameters of a ViT: their shapes, and their order in files with either kind of names. */
#include "models/architecture.h"
#include "models/parts/conv_stem.h"
#include "models/vit/vit.h"

#include <stdio.h>

static svit_status add_prefix(const sv_scope *in, const svit_model_config *config, const char *name,
                              uint32_t count)
{
    int64_t shape[3] = {1, count, config->dim};
    return count > 0 ? sv_scope_add(in, name, "", SV_ROLE_POSITION, shape, 3) : SVIT_OK;
}

/* The position embedding is [rows, dim], in the paper's files [1, rows, dim]: rows of the prefix
 * tokens that have one, then those of the patches. */
static svit_status add_position_embedding(const sv_scope *in, const svit_model_config *config)
{
    if (!sv_vit_has_positions(config))
        return SVIT_OK;
    size_t rows = sv_vit_positioned_prefix(config) + sv_model_patches(config);
    int64_t shape[3] = {1, (int64_t)rows, config->dim};
    size_t dropped = config->names == SVIT_NAMES_TIMM; /* leading dimensions */
    SVIT_TRY(sv_scope_add(in, sv_vit_names_of(config)->position, "", SV_ROLE_POSITION,
                          shape + dropped, 3 - dropped));
    sv_parameter *position = &in->table->list[in->table->count - 1];
    position->grid_prefix = sv_vit_positioned_prefix(config);
    position->grid_height = config->input_height / config->patch_size;
    position->grid_width = config->input_width / config->patch_size;
    return SVIT_OK;
}

/* The position embedding and the prefix tokens, those of one kind [1, count, dim]. */
static svit_status add_tokens(const sv_scope *in, const svit_model_config *config)
{
    const sv_vit_names *names = sv_vit_names_of(config);
    SVIT_TRY(add_position_embedding(in, config));
    SVIT_TRY(add_prefix(in, config, names->class_token, sv_vit_has_class_token(config)));
    SVIT_TRY(add_prefix(in, config, names->distillation_token, config->distilled != 0));
    return add_prefix(in, config, names->register_tokens, config->register_tokens);
}

static svit_status add_patches(const sv_scope *in, const svit_model_config *config)
{
    const sv_vit_names *names = sv_vit_names_of(config);
    size_t elements = sv_vit_patch_elements(config);
    if (config->tokenizer == SVIT_TOKENIZER_SPT)
        SVIT_TRY(sv_scope_norm(in, names->patch_norm, elements));
    const size_t index = in->table->count;
    SVIT_TRY(config->tokenizer == SVIT_TOKENIZER_CONV
                 ? sv_conv_stem_parameters(in, config)
                 : sv_scope_linear(in, names->patch, config->dim, elements, config->patch_bias));
    if (config->tokenizer == SVIT_TOKENIZER_PATCH) {
        in->table->list[index].patch_size = config->patch_size;
        in->table->list[index].patch_channels = config->in_channels;
    }
    return config->pre_norm ? sv_scope_norm(in, names->pre_norm, config->dim) : SVIT_OK;
}

/* The factors of LayerScale that end a residual branch. */
static svit_status add_scale(const sv_scope *in, const svit_model_config *config, const char *name)
{
    return config->layer_scale ? sv_scope_vector(in, name, "", SV_ROLE_LAYER_SCALE, config->dim)
                               : SVIT_OK;
}

/* Sets the fans of a weight as Keras up to 3.14 counts them. In Keras attention weights have three
 * dimensions, [dim, heads, head_dim] or [heads, head_dim, dim]. These versions treat the first one
 * as the area of a convolution kernel and multiply both fans by it. */
static void set_convolution_fans(sv_parameter *parameter, double area, double in, double out)
{
    parameter->fan_in = area * in;
    parameter->fan_out = area * out;
}

/* The adapters of LoRA of the linear map `name` with a weight [out, c]. */
static svit_status add_lora(const sv_scope *in, const svit_model_config *config, const char *name,
                            size_t out, size_t c)
{
    const int64_t rank = config->lora_rank, a[2] = {rank, (int64_t)c}, b[2] = {(int64_t)out, rank};
    if (rank == 0)
        return SVIT_OK;
    SVIT_TRY(sv_scope_add(in, name, ".lora_a", SV_ROLE_LORA_A, a, 2));
    return sv_scope_add(in, name, ".lora_b", SV_ROLE_LORA_B, b, 2);
}

/* One weight [3 * width, dim] of queries, keys and values. Keras initialises it as three weights,
 * so the fan out is that of one of them. */
static svit_status add_qkv(const sv_scope *in, const svit_model_config *config)
{
    size_t width = (size_t)config->heads * config->head_dim, index = in->table->count;
    SVIT_TRY(sv_scope_linear(in, sv_vit_names_of(config)->qkv, 3 * width, config->dim,
                             config->qkv_bias));
    sv_parameter *qkv = &in->table->list[index];
    if (config->no_key_bias) {
        qkv[1].zeros_first = width;
        qkv[1].zeros_end = 2 * width;
    }
    if (config->init == SVIT_INIT_KERAS)
        qkv->fan_out = (double)width;
    if (config->init == SVIT_INIT_KERAS_3_14)
        set_convolution_fans(qkv, config->dim, config->heads, config->head_dim);
    return add_lora(in, config, sv_vit_names_of(config)->qkv, 3 * width, config->dim);
}

/* The vectors of lambda, and the norm of each head's output, which has no bias. */
static svit_status add_difference(const sv_scope *in, const svit_model_config *config)
{
    static const char *const vectors[4] = {"q1", "k1", "q2", "k2"};
    const sv_vit_names *names = sv_vit_names_of(config);
    if (config->attention != SVIT_ATTENTION_DIFFERENTIAL)
        return SVIT_OK;
    for (size_t i = 0; i < 4; i++)
        SVIT_TRY(
            sv_scope_vector(in, names->lambda, vectors[i], SV_ROLE_LAMBDA, config->head_dim / 2));
    return sv_scope_vector(in, names->output_norm, ".weight", SV_ROLE_NORM_WEIGHT,
                           config->head_dim);
}

/* The norms of queries and keys, and the learnt frequencies [2, heads, head_dim / 2] of a rotary
 * position embedding: of the first axis of the grid, then of the second. */
static svit_status add_queries_and_keys(const sv_scope *in, const svit_model_config *config)
{
    const sv_vit_names *names = sv_vit_names_of(config);
    const int64_t frequencies[3] = {2, config->heads, config->head_dim / 2};
    if (config->qk_norm) {
        SVIT_TRY(sv_scope_norm(in, names->query_norm, config->head_dim));
        SVIT_TRY(sv_scope_norm(in, names->key_norm, config->head_dim));
    }
    if (config->rope != SVIT_ROPE_MIXED)
        return SVIT_OK;
    return sv_scope_add(in, names->frequencies, "", SV_ROLE_FREQUENCIES, frequencies, 3);
}

static svit_status add_projection(const sv_scope *in, const svit_model_config *config)
{
    if (!sv_vit_has_projection(config))
        return SVIT_OK;
    size_t index = in->table->count;
    SVIT_TRY(sv_scope_linear(in, sv_vit_names_of(config)->projection, config->dim,
                             (size_t)config->heads * config->head_dim,
                             config->block != SVIT_BLOCK_PARALLEL_FUSED));
    if (config->init == SVIT_INIT_KERAS_3_14)
        set_convolution_fans(&in->table->list[index], config->heads, config->head_dim, config->dim);
    return add_lora(in, config, sv_vit_names_of(config)->projection, config->dim,
                    (size_t)config->heads * config->head_dim);
}

static svit_status add_temperature(const sv_scope *in, const svit_model_config *config)
{
    if (config->attention != SVIT_ATTENTION_LSA)
        return SVIT_OK;
    size_t count = config->temperature == SVIT_TEMPERATURE_MULTIPLY ? config->heads : 1;
    return sv_scope_vector(in, sv_vit_names_of(config)->temperature, "", SV_ROLE_TEMPERATURE,
                           count);
}

/* The temperature is the last parameter of the block with SVIT_NAMES_TIMM, and follows the norm
 * with SVIT_NAMES_PAPER. */
static svit_status add_attention(const sv_scope *in, const svit_model_config *config)
{
    bool first = config->names == SVIT_NAMES_PAPER;
    SVIT_TRY(sv_scope_norm(in, sv_vit_names_of(config)->norm1, config->dim));
    if (first)
        SVIT_TRY(add_temperature(in, config));
    SVIT_TRY(add_qkv(in, config));
    SVIT_TRY(add_queries_and_keys(in, config));
    SVIT_TRY(add_difference(in, config));
    if (config->attention_norm)
        SVIT_TRY(sv_scope_norm(in, sv_vit_names_of(config)->attention_norm,
                               (size_t)config->heads * config->head_dim));
    SVIT_TRY(add_projection(in, config));
    if (!first)
        SVIT_TRY(add_temperature(in, config));
    return add_scale(in, config, sv_vit_names_of(config)->scale1);
}

static svit_status add_mlp(const sv_scope *in, const svit_model_config *config)
{
    const sv_vit_names *names = sv_vit_names_of(config);
    if (config->block == SVIT_BLOCK_SEQUENTIAL)
        SVIT_TRY(sv_scope_norm(in, names->norm2, config->dim));
    size_t halves = config->mlp == SVIT_MLP_SWIGLU ? 2 : 1;
    SVIT_TRY(sv_scope_linear(in, names->fc1, halves * config->mlp_dim, config->dim, true));
    if (config->mlp_norm)
        SVIT_TRY(sv_scope_norm(in, names->mlp_norm, config->mlp_dim));
    SVIT_TRY(sv_scope_linear(in, names->fc2, config->dim, config->mlp_dim, true));
    return config->block == SVIT_BLOCK_SEQUENTIAL ? add_scale(in, config, names->scale2) : SVIT_OK;
}

static svit_status add_layer(const sv_scope *in, const svit_model_config *config,
                             const char *layers, uint32_t layer, uint32_t depth)
{
    char prefix[48];
    snprintf(prefix, sizeof prefix, "%s%u.", layers, layer);
    sv_scope inner = {in->table, prefix, in->err, depth, in->rms_norm};
    SVIT_TRY(add_attention(&inner, config));
    return add_mlp(&inner, config);
}

static svit_status add_decoder(const sv_scope *in, const svit_model_config *config)
{
    const svit_model_config decoder = sv_vit_decoder(config);
    const size_t elements = sv_vit_patch_elements(config);
    SVIT_TRY(sv_scope_linear(in, "decoder_embed", decoder.dim, config->dim, true));
    SVIT_TRY(add_prefix(in, &decoder, "mask_token", 1));
    SVIT_TRY(add_prefix(in, &decoder, "decoder_pos_embed", (uint32_t)sv_model_patches(config)));
    for (uint32_t layer = 0; layer < decoder.depth; layer++)
        SVIT_TRY(add_layer(in, &decoder, "decoder_blocks.", layer, in->depth));
    SVIT_TRY(sv_scope_norm(in, "decoder_norm", decoder.dim));
    return sv_scope_linear(in, "decoder_pred", elements, decoder.dim, true);
}

/* Attention pooling: the learnt query [1, 1, dim], the maps of the query and of keys and values,
 * the projection, and the MLP that follows. */
static svit_status add_attention_pool(const sv_scope *in, const svit_model_config *config)
{
    const sv_vit_names *names = sv_vit_names_of(config);
    const size_t c = config->dim, hidden = config->pool_mlp_dim;
    if (config->pool != SVIT_POOL_ATTENTION)
        return SVIT_OK;
    SVIT_TRY(add_prefix(in, config, names->pool_latent, 1));
    SVIT_TRY(sv_scope_linear(in, names->pool_q, c, c, true));
    SVIT_TRY(sv_scope_linear(in, names->pool_kv, 2 * c, c, true));
    SVIT_TRY(sv_scope_linear(in, names->pool_proj, c, c, true));
    SVIT_TRY(sv_scope_norm(in, names->pool_norm, c));
    SVIT_TRY(sv_scope_linear(in, names->pool_fc1, hidden, c, true));
    return sv_scope_linear(in, names->pool_fc2, c, hidden, true);
}

static svit_status add_head(const sv_scope *in, const svit_model_config *config)
{
    const sv_vit_names *names = sv_vit_names_of(config);
    size_t c = sv_vit_features(config);
    if (config->final_norm)
        SVIT_TRY(sv_scope_norm(in, names->norm, config->dim));
    if (config->mask_ratio > 0)
        return add_decoder(in, config);
    SVIT_TRY(add_attention_pool(in, config));
    if (config->head_norm)
        SVIT_TRY(sv_scope_norm(in, names->head_norm, c));
    if (!config->classifier)
        return SVIT_OK;
    in->table->head = in->table->count;
    char name[48];
    for (uint32_t i = 0; i < config->head_layers; i++) {
        snprintf(name, sizeof name, "%s%u", names->head, i + 1);
        SVIT_TRY(sv_scope_linear(in, name, config->head_units[i], c, true));
        c = config->head_units[i];
    }
    snprintf(name, sizeof name, "%s%u", names->head, config->head_layers + 1);
    SVIT_TRY(sv_scope_classifier(in, name, config->num_classes, c));
    return config->distilled
               ? sv_scope_classifier(in, names->distilled_head, config->num_classes, config->dim)
               : SVIT_OK;
}

svit_status sv_vit_parameters(sv_scope *top, const svit_model_config *config)
{
    top->rms_norm = config->rms_norm;
    SVIT_TRY(add_tokens(top, config));
    SVIT_TRY(add_patches(top, config));
    for (uint32_t layer = 0; layer < config->depth; layer++)
        SVIT_TRY(add_layer(top, config, sv_vit_names_of(config)->layer, layer, layer + 1));
    top->depth = top->table->depths;
    return add_head(top, config);
}
