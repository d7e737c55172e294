/* Counts the arithmetic of a ViT. */
#include "models/architecture.h"
#include "models/vit/vit.h"

/* One layer: queries, keys, values and projection, scores and weighted values, and the MLP. */
static uint64_t layer_work(const svit_model_config *config)
{
    uint64_t tokens = sv_vit_sequence(config), inner = (uint64_t)config->heads * config->head_dim;
    uint64_t linear = tokens * config->dim * inner * (sv_vit_has_projection(config) ? 4 : 3);
    uint64_t mlp =
        (config->mlp == SVIT_MLP_SWIGLU ? 3 : 2) * tokens * config->dim * config->mlp_dim;
    return linear + 2 * tokens * tokens * inner + mlp;
}

static uint64_t head_work(const svit_model_config *config)
{
    uint64_t work = 0, width = sv_vit_features(config);
    for (uint32_t i = 0; i < config->head_layers; i++) {
        work += width * config->head_units[i];
        width = config->head_units[i];
    }
    work += width * config->num_classes * (config->distilled ? 2 : 1);
    return config->classifier ? work : 0;
}

/* `image_layer` is what the backward saves: the patch embedding reads the image, whose gradient is
 * not wanted. With shifted patches a norm with parameters lies between the image and the linear
 * map, so the map's input needs its gradient and nothing is saved. */
sv_multiply_adds sv_vit_multiply_adds(const svit_model_config *config)
{
    uint64_t patches =
        (uint64_t)sv_vit_patches(config) * sv_vit_patch_elements(config) * config->dim;
    return (sv_multiply_adds){patches + config->depth * layer_work(config) + head_work(config),
                              config->tokenizer == SVIT_TOKENIZER_SPT ? 0 : patches};
}
