/* Model configurations: what is legal, and the sizes that follow from one. */
#ifndef SV_MODEL_CONFIG_H
#define SV_MODEL_CONFIG_H

#include "base/status.h"

#include <shiftvit/model.h>

/* The size that a struct_size must have at least. */
enum { SV_MODEL_CONFIG_LEAST = sizeof(svit_model_config) };

/* Fails, naming the field, its value and what is accepted, where no model can be made of it:
 * ranges, and what one field allows another. Fields of the other architecture are not looked at. */
svit_status sv_model_config_check(const svit_model_config *config, svit_error *err);

/* Reads a caller's struct and checks it. */
svit_status sv_model_config_import(svit_model_config *own, const svit_model_config *config,
                                   svit_error *err);

/* The name of the first field in which two configurations differ; NULL where there is none. */
const char *sv_model_config_difference(const svit_model_config *a, const svit_model_config *b);

/* The part of an architecture, and the number of its pooled features. */
svit_status sv_shiftvit_config_check(const svit_model_config *config, svit_error *err);
svit_status sv_vit_config_check(const svit_model_config *config, svit_error *err);
size_t sv_shiftvit_features(const svit_model_config *config);
size_t sv_vit_features(const svit_model_config *config);

/* ShiftViT: the channels of a stage, the hidden channels of its MLP, and the channels of a shift
 * group. */
size_t sv_stage_channels(const svit_model_config *config, size_t stage);
size_t sv_stage_hidden(const svit_model_config *config, size_t stage);
size_t sv_stage_group(const svit_model_config *config, size_t stage);

/* lines of a map after a convolution of kernel = stride = `size` with SVIT_PADDING_*; 0 where no
 * pixel is left. */
size_t sv_padded_lines(size_t lines, size_t size, int32_t padding);

/* ViT: patches of an image, numbers of one patch (of all five copies with SVIT_TOKENIZER_SPT), and
 * tokens that attend to each other: the patches and the class token where there is one. */
size_t sv_vit_tokens(const svit_model_config *config);
size_t sv_vit_patch_elements(const svit_model_config *config);
size_t sv_vit_sequence(const svit_model_config *config);

/* ViT: 0 where attention has no output projection: the paper's code leaves it out of one head as
 * wide as the model. */
int sv_vit_has_projection(const svit_model_config *config);

#endif
