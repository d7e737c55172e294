/* Sizes that follow from the configuration of a ShiftViT, for the files of this folder. */
#ifndef SV_SHIFTVIT_H
#define SV_SHIFTVIT_H

#include <shiftvit/model.h>

/* Channels of a stage. */
size_t sv_shiftvit_stage_channels(const svit_model_config *config, size_t stage);

/* Hidden channels of the MLPs of a stage. */
size_t sv_shiftvit_stage_hidden(const svit_model_config *config, size_t stage);

/* Channels of one shift group of a stage. */
size_t sv_shiftvit_stage_group(const svit_model_config *config, size_t stage);

/* Output pixels along one side of `pixels` pixels, after a convolution with kernel size and stride
 * `size`. `padding` is SVIT_PADDING_*. */
size_t sv_shiftvit_strided(size_t pixels, size_t size, int32_t padding);

/* Channels between the two linear maps of SVIT_STEM_WHITENED. */
size_t sv_shiftvit_whitened_channels(const svit_model_config *config);

/* Names of the stem's parameters. */
#define SV_SHIFTVIT_WHITEN "patch_embed.whiten"
#define SV_SHIFTVIT_EMBED "patch_embed.proj"

#endif
