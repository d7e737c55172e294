/* MLP-Mixer, layer by layer. Tolstikhin et al. 2021. */
#include "reference_layer.h"

#include <stdio.h>

static reference_block_names names_of(size_t index, const char *norm, const char *mlp)
{
    reference_block_names names;
    snprintf(names.norm, sizeof names.norm, "blocks.%zu.%s", index, norm);
    snprintf(names.fc1, sizeof names.fc1, "blocks.%zu.%s.fc1", index, mlp);
    snprintf(names.fc2, sizeof names.fc2, "blocks.%zu.%s.fc2", index, mlp);
    return names;
}

/* Patches, blocks of a token MLP and a channel MLP, a norm, the mean of the tokens, the classifier.
 */
void reference_add_mixer(reference_model *model)
{
    const svit_model_config *config = &model->config;
    const reference_token_mlp_shape tokens = {.hidden = config->token_mlp_dim,
                                              .eps = config->norm_eps};
    const reference_block_shape channels = {.hidden = config->mlp_dim, .eps = config->norm_eps};
    reference_add_convolution(model, config->patch_size, 0, config->dim, 1, "stem.proj");
    for (size_t i = 0; i < config->depth; i++) {
        const reference_block_names token_names = names_of(i, "norm1", "mlp_tokens");
        const reference_block_names channel_names = names_of(i, "norm2", "mlp_channels");
        reference_add_token_mlp(model, tokens, &token_names);
        reference_add_block(model, channels, &channel_names);
    }
    reference_add_norm(model, 0, "norm");
    reference_add_mean(model, model->height * model->width);
    if (config->classifier)
        reference_add_dense(model, config->num_classes, 0, "head");
}
