/* Random configurations of small models, for fuzz targets of what models do. */
#ifndef FUZZ_CONFIGS_H
#define FUZZ_CONFIGS_H

#include "fuzz.h"

static inline void config_of_shiftvit(svit_model_config *config, fuzz_bytes *bytes)
{
    config->stages = fuzz_range(bytes, 1, 3);
    for (int i = 0; i < 8; i++)
        config->blocks[i] = fuzz_range(bytes, 0, 2);
    config->num_div = fuzz_range(bytes, 1, 12);
    config->shift_pixel = fuzz_range(bytes, 0, 3);
    config->shift = (int32_t)fuzz_range(bytes, 0, 1);
    config->groups = (int32_t)fuzz_range(bytes, 0, 1);
    config->norm = (int32_t)fuzz_range(bytes, 0, 1);
    config->patch_norm = (int32_t)fuzz_range(bytes, 0, 1);
    config->patch_padding = (int32_t)fuzz_range(bytes, 0, 1);
    config->merge_padding = (int32_t)fuzz_range(bytes, 0, 1);
    config->mlp_ratio = fuzz_range(bytes, 1, 9) / 4.0;
    config->stem = (int32_t)fuzz_range(bytes, 0, 2);
    config->mixer = (int32_t)fuzz_range(bytes, 0, 1);
}

static inline void config_of_vit(svit_model_config *config, fuzz_bytes *bytes)
{
    config->heads = fuzz_range(bytes, 1, 4);
    config->head_dim = fuzz_range(bytes, 1, 12);
    config->tokenizer = (int32_t)fuzz_range(bytes, 0, SVIT_TOKENIZER_CONV);
    config->spt_order = (int32_t)fuzz_range(bytes, 0, 1);
    config->attention = (int32_t)fuzz_range(bytes, 0, 1);
    config->temperature = (int32_t)fuzz_range(bytes, 0, 1);
    config->qkv_bias = (int32_t)fuzz_range(bytes, 0, 1);
    config->mlp_last_gelu = (int32_t)fuzz_range(bytes, 0, 1);
    config->pool = (int32_t)fuzz_range(bytes, 0, SVIT_POOL_ATTENTION);
    config->head_layers = fuzz_range(bytes, 0, 2);
    for (int i = 0; i < 8; i++)
        config->head_units[i] = (uint32_t)i < config->head_layers ? fuzz_range(bytes, 1, 17) : 0;
    config->names = fuzz_range(bytes, 0, 7) == 0;
    config->register_tokens = fuzz_range(bytes, 0, 7) == 0 ? fuzz_range(bytes, 1, 3) : 0;
    config->distilled = fuzz_range(bytes, 0, 7) == 0;
    config->position_tokens = (int32_t)fuzz_range(bytes, 0, SVIT_POSITION_NONE);
    config->patch_bias = (int32_t)fuzz_range(bytes, 0, 1);
    config->pre_norm = (int32_t)fuzz_range(bytes, 0, 1);
    config->layer_scale = (int32_t)fuzz_range(bytes, 0, 1);
    config->activation = (int32_t)fuzz_range(bytes, 0, 2);
    config->mlp = (int32_t)fuzz_range(bytes, 0, 1);
    config->head_norm = (int32_t)fuzz_range(bytes, 0, 1);
    if (fuzz_range(bytes, 0, 1)) {
        config->rope = (int32_t)fuzz_range(bytes, 0, 3);
        config->rope_axes = (int32_t)fuzz_range(bytes, 0, 1);
        config->rope_pairs = (int32_t)fuzz_range(bytes, 0, 1);
        config->rope_theta = fuzz_range(bytes, 0, 7) ? (config->rope ? 10 : 0) : 1e-300;
        config->rope_offset = fuzz_range(bytes, 0, 3) == 0 ? 1 : 0;
        config->rope_height = fuzz_range(bytes, 0, 3) == 0 ? 5 : 0;
        config->rope_width = config->rope_height;
        config->head_dim = config->rope ? config->head_dim / 4 * 4 + 4 : config->head_dim;
        config->no_key_bias = (int32_t)fuzz_range(bytes, 0, 1);
        config->qk_norm = (int32_t)fuzz_range(bytes, 0, 1);
        config->attention_norm = (int32_t)fuzz_range(bytes, 0, 1);
    }
    config->attention_dropout = fuzz_range(bytes, 0, 3) == 0 ? 0.25 : 0;
    config->head_dropout = fuzz_range(bytes, 0, 3) == 0 ? 0.25 : 0;
    config->class_token =
        fuzz_range(bytes, 0, 1) ? (int32_t)fuzz_range(bytes, 0, SVIT_CLASS_TOKEN_PRESENT) : 0;
    config->mlp_norm = (int32_t)fuzz_range(bytes, 0, 1);
    config->rms_norm = (int32_t)fuzz_range(bytes, 0, 1);
    config->block = (int32_t)fuzz_range(bytes, 0, 2);
    config->mask_ratio = fuzz_range(bytes, 0, 7) == 0 ? fuzz_range(bytes, 1, 9) / 10.0 : 0;
    if (fuzz_range(bytes, 0, 3) == 0) {
        config->attention = SVIT_ATTENTION_DIFFERENTIAL;
        config->head_dim = config->head_dim / 2 * 2 + 2;
    }
    if (config->pool == SVIT_POOL_ATTENTION) {
        config->pool_heads = fuzz_range(bytes, 1, 4);
        config->pool_mlp_dim = fuzz_range(bytes, 1, 24);
        config->dim = config->dim / config->pool_heads * config->pool_heads;
        config->dim = config->dim ? config->dim : config->pool_heads;
    }
}

/* A configuration of at most 24 x 24 pixels and some thousand parameters. It may be refused. */
static inline void small_config(svit_model_config *config, fuzz_bytes *bytes)
{
    static const uint32_t channels[] = {3, 1, 4, 2};
    const unsigned kind = fuzz_range(bytes, 0, 2);
    fuzz_model_config(config, kind);
    config->input_height = fuzz_range(bytes, 1, 24);
    config->input_width = fuzz_range(bytes, 1, 24);
    config->patch_size = fuzz_range(bytes, 1, 8);
    if (fuzz_take(bytes, 1) % 4 && kind > 0) {
        config->input_height = config->patch_size * fuzz_range(bytes, 1, 3);
        config->input_width = config->patch_size * fuzz_range(bytes, 1, 3);
    }
    config->in_channels = channels[fuzz_range(bytes, 0, 3)];
    config->num_classes = fuzz_range(bytes, 1, 12);
    config->dim = fuzz_range(bytes, 1, 24);
    config->classifier = fuzz_range(bytes, 0, 7) != 0;
    config->dropout = fuzz_range(bytes, 0, 3) == 0 ? 0.5 : 0;
    config->drop_path = fuzz_range(bytes, 0, 3) == 0 ? 0.5 : 0;
    config->drop_path_rule = (int32_t)fuzz_range(bytes, 0, 2);
    config->init = kind < 2 ? (int32_t)fuzz_range(bytes, 0, 2) : 0;
    config->norm_eps = 1e-5;
    if (kind != 2)
        config->final_norm = (int32_t)fuzz_range(bytes, 0, 1);
    if (kind > 0) {
        config->depth = fuzz_range(bytes, 1, 3);
        config->mlp_dim = fuzz_range(bytes, 1, 24);
    }
    if (kind == 0)
        config_of_shiftvit(config, bytes);
    else if (kind == 1)
        config_of_vit(config, bytes);
    else
        config->token_mlp_dim = fuzz_range(bytes, 1, 24);
}

#endif
