/* The convolutional stem that a ShiftViT or a ViT may begin with (Xiao et al. 2021): two
 * convolutions of 3 x 3 pixels with a GELU between them. Their strides are patch_size / 2 and 2,
 * and the first one has half the channels, so that the output has the tokens that patches would
 * give. */
#ifndef SV_CONV_STEM_H
#define SV_CONV_STEM_H

#include "models/layer_list.h"
#include "models/scope.h"

/* Names of its parameters. */
#define SV_CONV_STEM_CONV1 "patch_embed.conv1"
#define SV_CONV_STEM_CONV2 "patch_embed.conv2"

/* SVIT_E_ARGUMENT unless patch_size and dim suit it. `field` is the one that chooses it. */
svit_status sv_conv_stem_check(const svit_model_config *config, const char *field, svit_error *err);

svit_status sv_conv_stem_parameters(const sv_scope *in, const svit_model_config *config);
svit_status sv_conv_stem_layers(sv_builder *build);

#endif
