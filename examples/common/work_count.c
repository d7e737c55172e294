/* How much arithmetic a model is, counted from its configuration. */
#include "work_count.h"

static double lines_after(double lines, double size, int32_t padding)
{
    double whole = (double)(int64_t)(lines / size);
    return padding == SVIT_PADDING_SAME && whole * size < lines ? whole + 1 : whole;
}

/* Multiply-adds of the patch embedding; the size of its map goes to *height and *width. */
static double patch_work(const svit_model_config *config, double *height, double *width)
{
    double patch = config->patch_size;
    *height = lines_after(config->input_height, patch, config->patch_padding);
    *width = lines_after(config->input_width, patch, config->patch_padding);
    return *height * *width * patch * patch * config->in_channels * config->dim;
}

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

double work_count_forward(const svit_model_config *config)
{
    double height;
    double width;
    double patch = patch_work(config, &height, &width);
    return 2 * (patch + stages_work(config, height, width));
}

double work_count_training(const svit_model_config *config)
{
    double height;
    double width;
    return 3 * work_count_forward(config) - 2 * patch_work(config, &height, &width);
}
