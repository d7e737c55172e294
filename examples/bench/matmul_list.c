/* The matmuls of a training step, derived from the configuration of the model. */
#include "matmul_list.h"

#include "work_count.h"

#include <assert.h>
#include <stdio.h>

/* `layers` equal linear layers, each over `tokens` tokens. */
typedef struct linear_layer {
    const char *name;
    uint64_t tokens;
    uint32_t in, out, layers;
} linear_layer;

/* Clamps a size to 32 bits. A clamped size is more than svit_benchmark_matmul accepts, which
 * reports it. */
static uint32_t fit(uint64_t size)
{
    return size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

static void add(matmul_list *list, const char *name, const char *part, svit_matmul matmul,
                uint64_t count)
{
    if (count == 0)
        return;
    assert(list->count < MATMULS_MAX);
    listed_matmul *listed = &list->matmuls[list->count++];
    snprintf(listed->name, sizeof listed->name, "%.40s%s", name, part);
    matmul.struct_size = sizeof matmul;
    listed->matmul = matmul;
    listed->count = count;
}

/* Adds the matmuls of a linear layer. `input_gradient` is 0 for a layer whose input is the
 * image. */
static void add_linear(matmul_list *list, linear_layer layer, int input_gradient)
{
    uint32_t tokens = fit(layer.tokens);
    add(list, layer.name, ", forward",
        (svit_matmul){.form = SVIT_MATMUL_FORWARD, .m = tokens, .n = layer.out, .k = layer.in},
        layer.layers);
    if (input_gradient)
        add(list, layer.name, ", input gradient",
            (svit_matmul){
                .form = SVIT_MATMUL_INPUT_GRADIENT, .m = tokens, .n = layer.in, .k = layer.out},
            layer.layers);
    add(list, layer.name, ", weight gradient",
        (svit_matmul){
            .form = SVIT_MATMUL_WEIGHT_GRADIENT, .m = layer.out, .n = layer.in, .k = tokens},
        layer.layers);
}

static uint32_t lines_after(uint32_t lines, uint32_t size, int32_t padding)
{
    return padding == SVIT_PADDING_SAME ? (lines + size - 1) / size : lines / size;
}

static void add_mlp(matmul_list *list, const char *what, uint64_t tokens, uint32_t channels,
                    uint32_t hidden, uint32_t layers)
{
    char up[48], down[48];
    snprintf(up, sizeof up, "%s up", what);
    snprintf(down, sizeof down, "%s down", what);
    add_linear(list, (linear_layer){up, tokens, channels, hidden, layers}, 1);
    add_linear(list, (linear_layer){down, tokens, hidden, channels, layers}, 1);
}

static void add_head(matmul_list *list, const svit_model_config *config, size_t batch,
                     uint32_t channels)
{
    if (config->classifier)
        add_linear(list, (linear_layer){"head", batch, channels, config->num_classes, 1}, 1);
}

/* The linear map of `copies` images' patches to `tokens` tokens. With more copies than one a norm
 * with parameters precedes it and needs its input gradient. */
static void add_embedding(matmul_list *list, const svit_model_config *config, uint64_t tokens,
                          uint32_t copies)
{
    const uint32_t patch = config->patch_size * config->patch_size * config->in_channels;
    add_linear(list, (linear_layer){"patch embedding", tokens, patch * copies, config->dim, 1},
               copies > 1);
}

/* The two convolutions of 3 x 3 pixels that may stand in its place. */
static void add_conv_stem(matmul_list *list, const svit_model_config *config, size_t batch)
{
    const uint32_t size = config->patch_size, half = config->dim / 2;
    const uint32_t rows = lines_after(config->input_height, size / 2, SVIT_PADDING_SAME);
    const uint32_t columns = lines_after(config->input_width, size / 2, SVIT_PADDING_SAME);
    const uint64_t tokens = (uint64_t)batch * lines_after(rows, 2, SVIT_PADDING_SAME) *
                            lines_after(columns, 2, SVIT_PADDING_SAME);
    add_linear(list,
               (linear_layer){"convolution 1", (uint64_t)batch * rows * columns,
                              9 * config->in_channels, half, 1},
               0);
    add_linear(list, (linear_layer){"convolution 2", tokens, 9 * half, config->dim, 1}, 1);
}

static void list_shiftvit(matmul_list *list, const svit_model_config *config, size_t batch)
{
    char name[32];
    uint32_t height = lines_after(config->input_height, config->patch_size, config->patch_padding);
    uint32_t width = lines_after(config->input_width, config->patch_size, config->patch_padding);
    uint32_t channels = config->dim;
    if (config->stem == SVIT_STEM_CONV)
        add_conv_stem(list, config, batch);
    else
        add_embedding(list, config, (uint64_t)batch * height * width, 1);
    for (uint32_t stage = 0; stage < config->stages; stage++) {
        uint32_t hidden = fit((uint64_t)(config->mlp_ratio * channels));
        snprintf(name, sizeof name, "stage %u", stage + 1);
        add_mlp(list, name, (uint64_t)batch * height * width, channels, hidden < 1 ? 1 : hidden,
                config->blocks[stage]);
        if (stage + 1 == config->stages)
            break;
        height = lines_after(height, 2, config->merge_padding);
        width = lines_after(width, 2, config->merge_padding);
        snprintf(name, sizeof name, "merge %u", stage + 1);
        add_linear(
            list,
            (linear_layer){name, (uint64_t)batch * height * width, 4 * channels, 2 * channels, 1},
            1);
        channels *= 2;
    }
    add_head(list, config, batch, channels);
}

/* Whether the library folds the weights of queries and keys, and those of values and projection,
 * because that needs fewer operations with heads this wide. Folded queries and values have the
 * width of a token. */
static int is_folded(const svit_model_config *config, double tokens)
{
    double c = config->dim;
    double d = config->head_dim;
    return work_count_has_projection(config) && c * (c + tokens) < d * (2 * c + tokens);
}

/* Adds the matmuls of the attention heads: scores s = q k^T, output o = p v, and their gradients
 * dp = do v^T, dv = p^T do, dq = ds k, dk = ds^T q. */
static void add_heads(matmul_list *list, const svit_model_config *config, size_t batch,
                      uint32_t tokens, uint32_t d)
{
    uint32_t heads = fit((uint64_t)batch * config->heads);
    uint64_t count = (uint64_t)heads * config->depth;
    svit_matmul scores = {
        .form = SVIT_MATMUL_FORWARD, .m = tokens, .n = tokens, .k = d, .heads = heads};
    svit_matmul output = {
        .form = SVIT_MATMUL_INPUT_GRADIENT, .m = tokens, .n = d, .k = tokens, .heads = heads};
    svit_matmul transposed = output;
    transposed.form = SVIT_MATMUL_WEIGHT_GRADIENT;
    add(list, "attention q k^T", ", forward", scores, count);
    add(list, "attention q k^T", ", gradient of q", output, count);
    add(list, "attention q k^T", ", gradient of k", transposed, count);
    add(list, "attention p v", ", forward", output, count);
    add(list, "attention p v", ", gradient of p", scores, count);
    add(list, "attention p v", ", gradient of v", transposed, count);
}

static void add_vit_layers(matmul_list *list, const svit_model_config *config, size_t batch,
                           uint32_t tokens)
{
    uint64_t all = (uint64_t)batch * tokens;
    int merged = is_folded(config, tokens);
    uint32_t width = merged ? config->dim : config->head_dim;
    uint32_t inner = config->heads * width;
    const char *name = merged ? "attention qv" : "attention qkv";
    add_linear(list,
               (linear_layer){name, all, config->dim, (merged ? 2 : 3) * inner, config->depth}, 1);
    add_heads(list, config, batch, tokens, width);
    if (!merged && work_count_has_projection(config))
        add_linear(list,
                   (linear_layer){"attention projection", all, inner, config->dim, config->depth},
                   1);
    if (config->mlp == SVIT_MLP_SWIGLU) /* two halves before the gate, one after it */
        add_linear(list,
                   (linear_layer){"mlp gate", all, config->dim, config->mlp_dim, config->depth}, 1);
    add_mlp(list, "mlp", all, config->dim, config->mlp_dim, config->depth);
}

/* Tokens before those of the patches. */
static uint32_t vit_prefix(const svit_model_config *config)
{
    const int by_pool = config->pool == SVIT_POOL_CLASS_TOKEN ||
                        config->pool == SVIT_POOL_MEAN_PATCHES ||
                        config->pool == SVIT_POOL_CLASS_MEAN;
    const int class_token = config->class_token == SVIT_CLASS_TOKEN_BY_POOL
                                ? by_pool
                                : config->class_token == SVIT_CLASS_TOKEN_PRESENT;
    return (uint32_t)class_token + (config->distilled != 0) + config->register_tokens;
}

/* Attention pooling with its query folded into the keys: scores of the tokens, their sum weighted
 * by head, the values and the projection of that sum, and an MLP. */
static void add_pool(matmul_list *list, const svit_model_config *config, size_t batch,
                     uint32_t tokens)
{
    const uint32_t c = config->dim, heads = config->pool_heads, images = fit(batch);
    const svit_matmul sum = {
        .form = SVIT_MATMUL_INPUT_GRADIENT, .m = heads, .n = c, .k = tokens, .heads = images};
    const svit_matmul weights = {
        .form = SVIT_MATMUL_FORWARD, .m = tokens, .n = heads, .k = c, .heads = images};
    const svit_matmul sources = {
        .form = SVIT_MATMUL_WEIGHT_GRADIENT, .m = tokens, .n = c, .k = heads, .heads = images};
    add_linear(list, (linear_layer){"pool scores", (uint64_t)batch * tokens, c, heads, 1}, 1);
    add(list, "pool sum", ", forward", sum, images);
    add(list, "pool sum", ", gradient of p", weights, images);
    add(list, "pool sum", ", gradient of x", sources, images);
    add_linear(list, (linear_layer){"pool values", batch, c, c / heads, heads}, 1);
    add_linear(list, (linear_layer){"pool projection", batch, c, c, 1}, 1);
    add_mlp(list, "pool mlp", batch, c, config->pool_mlp_dim, 1);
}

static void add_vit_head(matmul_list *list, const svit_model_config *config, size_t batch,
                         uint32_t channels)
{
    char name[24];
    for (uint32_t i = 0; config->classifier && i < config->head_layers; i++) {
        snprintf(name, sizeof name, "head %u", i + 1);
        add_linear(list, (linear_layer){name, batch, channels, config->head_units[i], 1}, 1);
        channels = config->head_units[i];
    }
    add_head(list, config, batch, channels);
    if (config->distilled)
        add_head(list, config, batch, channels);
}

static void list_vit(matmul_list *list, const svit_model_config *config, size_t batch)
{
    uint32_t patch = config->patch_size;
    uint32_t patches = (config->input_height / patch) * (config->input_width / patch);
    if (config->tokenizer == SVIT_TOKENIZER_CONV)
        add_conv_stem(list, config, batch);
    else
        add_embedding(list, config, (uint64_t)batch * patches,
                      config->tokenizer == SVIT_TOKENIZER_SPT ? 5 : 1);
    const uint32_t tokens = patches + vit_prefix(config);
    uint32_t parts = config->pool == SVIT_POOL_FLATTEN      ? tokens
                     : config->pool == SVIT_POOL_CLASS_MEAN ? 2
                                                            : 1;
    add_vit_layers(list, config, batch, tokens);
    if (config->pool == SVIT_POOL_ATTENTION)
        add_pool(list, config, batch, tokens);
    add_vit_head(list, config, batch, fit((uint64_t)config->dim * parts));
}

/* The rows of the token MLPs' matmuls are the channels of each image. */
static void list_mixer(matmul_list *list, const svit_model_config *config, size_t batch)
{
    uint32_t patch = config->patch_size;
    uint32_t tokens = (config->input_height / patch) * (config->input_width / patch);
    uint64_t all = (uint64_t)batch * tokens;
    add_embedding(list, config, all, 1);
    add_mlp(list, "token mlp", (uint64_t)batch * config->dim, tokens, config->token_mlp_dim,
            config->depth);
    add_mlp(list, "channel mlp", all, config->dim, config->mlp_dim, config->depth);
    add_head(list, config, batch, config->dim);
}

void matmul_list_build(matmul_list *list, const svit_model_config *config, size_t batch)
{
    list->count = 0;
    if (config->mask_ratio > 0)
        return; /* masked autoencoders are not listed */
    switch (config->architecture) {
    case SVIT_ARCHITECTURE_SHIFTVIT:
        list_shiftvit(list, config, batch);
        break;
    case SVIT_ARCHITECTURE_VIT:
        list_vit(list, config, batch);
        break;
    case SVIT_ARCHITECTURE_MIXER:
        list_mixer(list, config, batch);
        break;
    default:
        break;
    }
}
