/* Counts the arithmetic of a model from its configuration. */
#include "work_count.h"

static double lines_after(double lines, double size, int32_t padding)
{
    double whole = (double)(int64_t)(lines / size);
    return padding == SVIT_PADDING_SAME && whole * size < lines ? whole + 1 : whole;
}

/* Returns the multiply-adds of a ShiftViT's patch embedding, and its feature map's size in *height
 * and *width. */
static double patch_work(const svit_model_config *config, double *height, double *width)
{
    double patch = config->patch_size;
    *height = lines_after(config->input_height, patch, config->patch_padding);
    *width = lines_after(config->input_width, patch, config->patch_padding);
    return *height * *width * patch * patch * config->in_channels * config->dim;
}

/* Returns the multiply-adds of a ShiftViT after its patch embedding. */
static double stages_work(const svit_model_config *config, double height, double width)
{
    double work = 0;
    double channels = config->dim;
    for (uint32_t stage = 0; stage < config->stages; stage++) {
        double hidden = (double)(int64_t)(config->mlp_ratio * channels);
        work += config->blocks[stage] * height * width * 2 * channels * (hidden < 1 ? 1 : hidden);
        if (stage + 1 == config->stages)
            break;
        height = lines_after(height, 2, config->merge_padding);
        width = lines_after(width, 2, config->merge_padding);
        work += height * width * 4 * channels * 2 * channels;
        channels *= 2;
    }
    return work + (config->classifier ? channels * config->num_classes : 0);
}

static double vit_tokens(const svit_model_config *config)
{
    uint32_t patch = config->patch_size;
    return (double)(config->input_height / patch) * (config->input_width / patch);
}

/* Returns the multiply-adds of the layer that turns patches, shifted copies included, into
 * tokens. */
static double tokens_work(const svit_model_config *config)
{
    double copies = config->tokenizer == SVIT_TOKENIZER_SPT ? 5 : 1;
    double patch = config->patch_size;
    return vit_tokens(config) * patch * patch * config->in_channels * copies * config->dim;
}

int work_count_has_projection(const svit_model_config *config)
{
    int one_head_as_wide = config->heads == 1 && config->head_dim == config->dim;
    return config->names != SVIT_NAMES_PAPER || !one_head_as_wide;
}

static double layer_work(const svit_model_config *config, double tokens)
{
    double dim = config->dim;
    double inner = (double)config->heads * config->head_dim;
    double linear = tokens * dim * inner * (work_count_has_projection(config) ? 4 : 3);
    double scores_and_values = 2 * tokens * tokens * inner;
    return linear + scores_and_values + tokens * dim * config->mlp_dim * 2;
}

static double head_work(const svit_model_config *config)
{
    double work = 0;
    double channels = config->dim;
    if (config->pool == SVIT_POOL_FLATTEN)
        channels *= vit_tokens(config);
    for (uint32_t i = 0; i < config->head_layers; i++) {
        work += channels * config->head_units[i];
        channels = config->head_units[i];
    }
    return config->classifier ? work + channels * config->num_classes : 0;
}

static double vit_work(const svit_model_config *config)
{
    double tokens = vit_tokens(config) + (config->pool == SVIT_POOL_CLASS_TOKEN);
    return tokens_work(config) + config->depth * layer_work(config, tokens) + head_work(config);
}

static double shiftvit_work(const svit_model_config *config)
{
    double height;
    double width;
    double patch = patch_work(config, &height, &width);
    return patch + stages_work(config, height, width);
}

double work_count_forward(const svit_model_config *config)
{
    switch (config->architecture) {
    case SVIT_ARCHITECTURE_SHIFTVIT:
        return 2 * shiftvit_work(config);
    case SVIT_ARCHITECTURE_VIT:
        return 2 * vit_work(config);
    default:
        return 0;
    }
}

/* Returns the multiply-adds of the input gradient that a training step leaves out: that of the
 * patch embedding, whose input is the image. With shifted patches, a norm with parameters precedes
 * the embedding and needs this gradient, so nothing is left out. */
static double omitted_work(const svit_model_config *config)
{
    double height;
    double width;
    switch (config->architecture) {
    case SVIT_ARCHITECTURE_SHIFTVIT:
        return patch_work(config, &height, &width);
    case SVIT_ARCHITECTURE_VIT:
        return config->tokenizer == SVIT_TOKENIZER_SPT ? 0 : tokens_work(config);
    default:
        return 0;
    }
}

double work_count_training(const svit_model_config *config)
{
    return 3 * work_count_forward(config) - 2 * omitted_work(config);
}
