/* Counts the arithmetic of a ShiftViT. */
#include "models/architecture.h"
#include "models/shiftvit/shiftvit.h"

/* Output pixels of the first convolution of SVIT_STEM_CONV. */
static uint64_t conv_pixels(const svit_model_config *config)
{
    size_t stride = config->patch_size / 2;
    return (uint64_t)sv_shiftvit_strided(config->input_height, stride, SVIT_PADDING_SAME) *
           sv_shiftvit_strided(config->input_width, stride, SVIT_PADDING_SAME);
}

/* The first linear map, whose input is the image, at height x width output pixels. */
static uint64_t image_map(const svit_model_config *config, uint64_t pixels)
{
    uint64_t patch = (uint64_t)config->patch_size * config->patch_size * config->in_channels;
    bool is_whitened = config->stem == SVIT_STEM_WHITENED;
    if (config->stem == SVIT_STEM_CONV)
        return conv_pixels(config) * 9 * config->in_channels * (config->dim / 2);
    return pixels * patch * (is_whitened ? sv_shiftvit_whitened(config) : config->dim);
}

sv_multiply_adds sv_shiftvit_multiply_adds(const svit_model_config *config)
{
    size_t height =
        sv_shiftvit_strided(config->input_height, config->patch_size, config->patch_padding);
    size_t width =
        sv_shiftvit_strided(config->input_width, config->patch_size, config->patch_padding);
    uint64_t image = image_map(config, (uint64_t)height * width), work = image;
    if (config->stem == SVIT_STEM_WHITENED)
        work += (uint64_t)height * width * sv_shiftvit_whitened(config) * config->dim;
    if (config->stem == SVIT_STEM_CONV)
        work += (uint64_t)height * width * 9 * (config->dim / 2) * config->dim;
    for (size_t stage = 0; stage < config->stages; stage++) {
        uint64_t channels = sv_shiftvit_stage_channels(config, stage);
        uint64_t token = 2 * channels * sv_shiftvit_stage_hidden(config, stage);
        if (config->mixer == SVIT_MIXER_DEPTHWISE)
            token += 9 * channels;
        work += config->blocks[stage] * (uint64_t)height * width * token;
        if (stage + 1 == config->stages)
            return (sv_multiply_adds){
                work + (config->classifier ? channels * config->num_classes : 0), image};
        height = sv_shiftvit_strided(height, 2, config->merge_padding);
        width = sv_shiftvit_strided(width, 2, config->merge_padding);
        work +=
            (uint64_t)height * width * 4 * channels * sv_shiftvit_stage_channels(config, stage + 1);
    }
    return (sv_multiply_adds){work, image};
}
