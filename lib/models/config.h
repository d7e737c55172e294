/* Model configurations: what is legal, and the sizes that follow from one. */
#ifndef SV_MODEL_CONFIG_H
#define SV_MODEL_CONFIG_H

#include "base/status.h"

#include <shiftvit/model.h>

/* The size that a struct_size must have at least. */
enum { SV_MODEL_CONFIG_LEAST = sizeof(svit_model_config) };

/* Fails, naming the field, its value and what is accepted, where no model can be made of it:
 * ranges, four groups that do not fit a stage, maps that would have no pixel. */
svit_status sv_model_config_check(const svit_model_config *config, svit_error *err);

/* Reads a caller's struct and checks it. */
svit_status sv_model_config_import(svit_model_config *own, const svit_model_config *config,
                                   svit_error *err);

/* The name of the first field in which two configurations differ; NULL where there is none. */
const char *sv_model_config_difference(const svit_model_config *a, const svit_model_config *b);

/* The channels of a stage, the hidden channels of its MLP, and the channels of a shift group. */
size_t sv_stage_channels(const svit_model_config *config, size_t stage);
size_t sv_stage_hidden(const svit_model_config *config, size_t stage);
size_t sv_stage_group(const svit_model_config *config, size_t stage);

/* lines of a map after a convolution of kernel = stride = `size` with SVIT_PADDING_*; 0 where no
 * pixel is left. */
size_t sv_padded_lines(size_t lines, size_t size, int32_t padding);

#endif
