/* Draws model configurations of random shapes. */
#include "random_shapes.h"

#include "library_model.h"

#include <shiftvit/shiftvit.h>

/* Batches of one image, of a few, of enough images for zero skipping on small feature maps, and of
 * enough for fused chains of layers. */
enum { SOME_IMAGES = 17, MANY_IMAGES = 64 };

static size_t draw_images(random_state *state)
{
    static const size_t images[] = {1, 1, 2, 3, 7, SOME_IMAGES, SOME_IMAGES, MANY_IMAGES};
    return images[random_between(state, 0, sizeof images / sizeof *images - 1)];
}

/* Widths around those of vectors (4, 8, 16), of micropanels (16 to 48), and others. */
static uint32_t draw_width(random_state *state, uint32_t max)
{
    static const uint32_t widths[] = {4,  5,  7,  8,  9,  12, 15, 16, 17, 20, 24, 31,
                                      32, 33, 40, 47, 48, 49, 63, 64, 65, 80, 96, 112};
    for (;;) {
        uint32_t width = widths[random_between(state, 0, sizeof widths / sizeof *widths - 1)];
        if (width <= max)
            return width;
    }
}

static svit_model_config no_rates(svit_model_config config)
{
    config.dropout = config.drop_path = config.attention_dropout = config.head_dropout = 0;
    return config;
}

/* The input of a ShiftViT: feature maps of up to 6 x 6 pixels after the patch embedding; of
 * SOME_IMAGES up to 4 x 4, and of MANY_IMAGES, which are cheap, up to 10 x 10. */
static void draw_input(random_state *state, svit_model_config *config, size_t images)
{
    const int many = images == MANY_IMAGES;
    config->patch_size = (uint32_t)random_between(state, 1, many ? 2 : 4);
    const uint32_t max = many ? 10 : (images == SOME_IMAGES ? 4 : 6) * config->patch_size;
    config->input_height = (uint32_t)random_between(state, 1, max);
    config->input_width = (uint32_t)random_between(state, 1, max);
    config->in_channels = (uint32_t)random_between(state, 1, 4);
}

static void draw_stages(random_state *state, svit_model_config *config, size_t images)
{
    config->stages = (uint32_t)random_between(state, 1, images < SOME_IMAGES ? 3 : 2);
    for (size_t i = 0; i < SVIT_MAX_STAGES; i++)
        config->blocks[i] = i < config->stages ? (uint32_t)random_between(state, 0, 2) : 0;
}

static void draw_groups(random_state *state, svit_model_config *config, uint32_t max_width)
{
    config->groups = (int32_t)random_between(state, 0, 3) == 0;
    if (config->groups == SVIT_GROUPS_SECTIONS) {
        config->num_div = (uint32_t)random_between(state, 1, 4);
        config->dim = config->num_div * (uint32_t)random_between(state, 4, 9);
    } else {
        config->num_div = (uint32_t)random_between(state, 4, 7);
        config->dim = draw_width(state, max_width);
    }
}

/* The stem 'conv' has patches of 2 or 4 pixels and SAME padding. */
static void draw_stem(random_state *state, svit_model_config *config)
{
    config->stem = (int32_t)random_between(state, 0, 2);
    config->mixer = random_between(state, 0, 2) == 0;
    if (config->stem == SVIT_STEM_CONV) {
        config->patch_size = config->patch_size > 2 ? 4 : 2;
        config->patch_padding = SVIT_PADDING_SAME;
    }
}

svit_model_config random_shiftvit(random_state *state, size_t *images)
{
    static const double ratios[] = {0.5, 1, 2, 2, 2.5, 4};
    static const uint32_t pixels[] = {0, 1, 1, 1, 2, 3};
    svit_model_config config;
    do {
        *images = draw_images(state);
        svit_model_config_preset(&config, sizeof config, "shiftvit-cifar10", NULL);
        config = no_rates(config);
        draw_input(state, &config, *images);
        draw_stages(state, &config, *images);
        draw_groups(state, &config,
                    *images == MANY_IMAGES                         ? 16
                    : config.stages == 3 || *images == SOME_IMAGES ? 48
                                                                   : 112);
        config.shift_pixel = pixels[random_between(state, 0, sizeof pixels / sizeof *pixels - 1)];
        config.shift = random_between(state, 0, 2) == 0;
        config.norm = random_between(state, 0, 2) == 0;
        config.patch_norm = random_coin(state);
        config.final_norm = random_coin(state);
        config.patch_padding = random_coin(state);
        config.merge_padding = random_coin(state);
        draw_stem(state, &config);
        config.mlp_ratio = ratios[random_between(state, 0, sizeof ratios / sizeof *ratios - 1)];
        config.classifier = random_between(state, 0, 4) > 0;
        config.num_classes = (uint32_t)random_between(state, 1, 20);
        if (!config.classifier)
            config.num_classes = config.dim << (config.stages - 1);
    } while (!library_accepts(&config));
    return config;
}

/* With head_dim >= dim the library folds the weights of attention. */
static void draw_attention(random_state *state, svit_model_config *config)
{
    config->heads = (uint32_t)random_between(state, 1, 4);
    config->head_dim = random_coin(state) ? config->dim + (uint32_t)random_between(state, 0, 3)
                                          : (uint32_t)random_between(state, 1, 24);
    config->attention = random_coin(state);
    config->temperature = random_coin(state);
    config->qkv_bias = random_coin(state);
}

/* The paper's models, which have no projection if there is one head and head_dim is dim. */
static void draw_paper_fields(random_state *state, svit_model_config *config)
{
    if (random_coin(state)) {
        config->heads = 1;
        config->head_dim = config->dim;
    }
}

/* A rotary position embedding, whose heads have a multiple of 4 channels. */
static void draw_rope(random_state *state, svit_model_config *config)
{
    config->rope = (int32_t)random_between(state, SVIT_ROPE_NONE, SVIT_ROPE_MIXED);
    if (config->rope == SVIT_ROPE_NONE)
        return;
    config->head_dim = (config->head_dim + 3) / 4 * 4;
    config->rope_theta = random_coin(state) ? 10 : 100;
    config->rope_axes = random_coin(state);
    config->rope_pairs = config->rope != SVIT_ROPE_MIXED && random_coin(state);
    if (config->rope != SVIT_ROPE_AXIAL)
        return;
    config->rope_offset = random_coin(state) ? 1 : 0;
    config->rope_height = random_coin(state) ? (uint32_t)random_between(state, 1, 9) : 0;
    config->rope_width = config->rope_height ? (uint32_t)random_between(state, 1, 9) : 0;
}

/* What keeps the weights of attention from being folded. */
static void draw_between(random_state *state, svit_model_config *config)
{
    if (random_coin(state))
        return;
    draw_rope(state, config);
    config->no_key_bias = config->qkv_bias && random_coin(state);
    config->qk_norm = random_between(state, 0, 2) == 0;
    config->attention_norm = random_between(state, 0, 2) == 0;
}

/* Attention pooling: heads that divide dim. */
static void draw_attention_pool(random_state *state, svit_model_config *config)
{
    config->pool = SVIT_POOL_ATTENTION;
    do
        config->pool_heads = (uint32_t)random_between(state, 1, 8);
    while (config->dim % config->pool_heads != 0);
    config->pool_mlp_dim = draw_width(state, 65);
}

/* What the paper's files have no names for, and what these fields exclude. */
static void draw_pretrained_fields(random_state *state, svit_model_config *config)
{
    if (random_coin(state))
        config->pool = (int32_t)random_between(state, SVIT_POOL_MEAN_PATCHES, SVIT_POOL_CLASS_MEAN);
    if (random_between(state, 0, 3) == 0)
        draw_attention_pool(state, config);
    if (random_between(state, 0, 2) == 0)
        config->class_token = (int32_t)random_between(state, 0, SVIT_CLASS_TOKEN_PRESENT);
    if (config->pool == SVIT_POOL_CLASS_TOKEN || config->pool == SVIT_POOL_CLASS_MEAN)
        config->class_token &= SVIT_CLASS_TOKEN_PRESENT;
    config->distilled = config->pool == SVIT_POOL_CLASS_TOKEN && random_between(state, 0, 2) > 0;
    config->register_tokens = (uint32_t)random_between(state, 0, 3);
    config->position_tokens = (int32_t)random_between(state, 0, SVIT_POSITION_NONE);
    config->patch_bias = random_coin(state);
    config->pre_norm = random_coin(state);
    config->final_norm = random_coin(state);
    config->head_norm = random_coin(state);
    config->layer_scale = random_coin(state);
    config->mlp = random_coin(state);
    config->mlp_norm = random_coin(state);
    draw_between(state, config);
}

/* The kinds of norms, blocks and attention of further families. */
static void draw_further_fields(random_state *state, svit_model_config *config)
{
    config->rms_norm =
        config->tokenizer == SVIT_TOKENIZER_PATCH && random_between(state, 0, 2) == 0;
    config->block = random_coin(state) ? (int32_t)random_between(state, 0, 2) : 0;
    if (config->rope || config->qk_norm || config->attention_norm || random_coin(state))
        return;
    config->attention = SVIT_ATTENTION_DIFFERENTIAL;
    config->head_dim = (config->head_dim + 1) / 2 * 2;
}

static void draw_mlp(random_state *state, svit_model_config *config)
{
    config->activation = (int32_t)random_between(state, 0, 2);
    config->mlp_last_gelu = config->activation == SVIT_ACTIVATION_GELU && !config->layer_scale &&
                            config->mlp == SVIT_MLP_PLAIN && random_coin(state);
}

static void draw_lora(random_state *state, svit_model_config *config)
{
    config->lora_rank =
        random_between(state, 0, 3) == 0 ? (uint32_t)random_between(state, 1, 4) : 0;
    config->lora_alpha = config->lora_rank / 2.0;
}

/* The width of what is pooled. */
static uint32_t vit_features(const svit_model_config *config)
{
    const uint32_t patches =
        (config->input_height / config->patch_size) * (config->input_width / config->patch_size);
    const uint32_t class_token = config->class_token == SVIT_CLASS_TOKEN_PRESENT;
    return config->dim * (config->pool == SVIT_POOL_FLATTEN
                              ? patches + class_token + config->register_tokens
                          : config->pool == SVIT_POOL_CLASS_MEAN ? 2
                                                                 : 1);
}

static void draw_head(random_state *state, svit_model_config *config)
{
    config->classifier = random_between(state, 0, 4) > 0;
    const int deep = config->names == SVIT_NAMES_TIMM && config->classifier && !config->distilled;
    config->head_layers = deep ? (uint32_t)random_between(state, 0, 2) : 0;
    for (size_t i = 0; i < SVIT_MAX_HEAD_LAYERS; i++)
        config->head_units[i] = i < config->head_layers ? draw_width(state, 49) : 0;
    config->num_classes =
        config->classifier ? (uint32_t)random_between(state, 1, 20) : vit_features(config);
}

/* Pixels behind the last whole patch, which none reads. */
static void draw_rest(random_state *state, svit_model_config *config)
{
    config->patch_padding =
        config->tokenizer == SVIT_TOKENIZER_PATCH && random_between(state, 0, 2) == 0;
    if (config->patch_padding == SVIT_PADDING_SAME)
        return;
    config->input_height += (uint32_t)random_between(state, 0, config->patch_size - 1);
    config->input_width += (uint32_t)random_between(state, 0, config->patch_size - 1);
}

svit_model_config random_vit(random_state *state, size_t *images)
{
    svit_model_config config;
    do {
        *images = draw_images(state);
        const int many = *images == MANY_IMAGES;
        svit_model_config_preset(&config, sizeof config, "vit-cifar100", NULL);
        config = no_rates(config);
        config.patch_size = (uint32_t)random_between(state, 1, many ? 2 : 5);
        config.input_height = config.patch_size * (uint32_t)random_between(state, 1, many ? 4 : 6);
        config.input_width = config.patch_size * (uint32_t)random_between(state, 1, many ? 6 : 4);
        config.in_channels = (uint32_t)random_between(state, 1, 4);
        config.dim = draw_width(state, many ? 16 : 65);
        config.depth = (uint32_t)random_between(state, 1, 2);
        config.mlp_dim = draw_width(state, many ? 24 : 112);
        draw_attention(state, &config);
        config.tokenizer = (int32_t)random_between(state, 0, SVIT_TOKENIZER_CONV);
        config.spt_order = random_coin(state);
        draw_rest(state, &config);
        config.pool = (int32_t)random_between(state, SVIT_POOL_FLATTEN, SVIT_POOL_MEAN);
        config.names = random_between(state, 0, 3) == 0;
        if (config.names == SVIT_NAMES_PAPER)
            draw_paper_fields(state, &config);
        else
            draw_pretrained_fields(state, &config);
        if (config.names == SVIT_NAMES_TIMM)
            draw_further_fields(state, &config);
        draw_mlp(state, &config);
        draw_lora(state, &config);
        draw_head(state, &config);
    } while (!library_accepts(&config));
    return config;
}

svit_model_config random_mixer(random_state *state, size_t *images)
{
    svit_model_config config;
    do {
        *images = draw_images(state);
        const int many = *images == MANY_IMAGES;
        svit_model_config_preset(&config, sizeof config, "mixer-cifar10", NULL);
        config = no_rates(config);
        config.patch_size = (uint32_t)random_between(state, 1, many ? 2 : 4);
        config.input_height = config.patch_size * (uint32_t)random_between(state, 1, many ? 4 : 9);
        config.input_width = config.patch_size * (uint32_t)random_between(state, 1, many ? 6 : 8);
        config.in_channels = (uint32_t)random_between(state, 1, 4);
        config.dim = draw_width(state, many ? 24 : 112);
        config.depth = (uint32_t)random_between(state, 1, 2);
        config.token_mlp_dim = draw_width(state, many ? 24 : 112);
        config.mlp_dim = draw_width(state, many ? 24 : 112);
        config.classifier = random_between(state, 0, 4) > 0;
        config.num_classes =
            config.classifier ? (uint32_t)random_between(state, 1, 20) : config.dim;
    } while (!library_accepts(&config));
    return config;
}

static void shrink_shiftvit(svit_model_config *config)
{
    config->input_height = 4 * config->patch_size + 1;
    config->input_width = 5 * config->patch_size + 3;
    config->dim = 4 * config->num_div;
    config->stages = config->stages < 3 ? config->stages : 3;
    for (size_t i = 0; i < SVIT_MAX_STAGES; i++)
        config->blocks[i] = i < config->stages ? 1 : 0;
    if (!config->classifier)
        config->num_classes = config->dim << (config->stages - 1);
}

/* head_dim stays at least dim where it is, since the library folds the weights then. */
static void shrink_vit(svit_model_config *config)
{
    config->head_dim = config->head_dim >= config->dim ? 24 : 8;
    if (config->rope_height > 0)
        config->rope_height = config->rope_width = 5;
    config->dim = 24;
    config->heads = config->heads < 3 ? config->heads : 3;
    if (config->pool == SVIT_POOL_ATTENTION) {
        config->pool_heads = 3;
        config->pool_mlp_dim = 40;
    }
    for (size_t i = 0; i < config->head_layers; i++)
        config->head_units[i] = 20 - 8 * (uint32_t)i;
    if (!config->classifier)
        config->num_classes = vit_features(config);
}

svit_model_config small_preset(const char *name)
{
    svit_model_config config;
    svit_model_config_preset(&config, sizeof config, name, NULL);
    config = no_rates(config);
    config.num_classes = 10;
    if (config.architecture == SVIT_ARCHITECTURE_SHIFTVIT) {
        shrink_shiftvit(&config);
        return config;
    }
    config.patch_size = 4;
    config.input_height = 8;
    config.input_width = 12;
    config.depth = 2;
    config.mlp_dim = 40;
    if (config.architecture == SVIT_ARCHITECTURE_VIT) {
        shrink_vit(&config);
    } else {
        config.dim = 24;
        config.token_mlp_dim = 16;
    }
    return config;
}
