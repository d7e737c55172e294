/* The type of model configurations, and what several architectures need of their fields. */
#ifndef SV_MODEL_CONFIG_H
#define SV_MODEL_CONFIG_H

#include "config/config.h"

#include <shiftvit/model.h>

/* The type of model configurations. Fields that only other architectures have are ignored. */
extern const sv_config_type sv_model_config_type;

/* Patches of patch_size in an image of the configuration's size. */
size_t sv_model_patches(const svit_model_config *config);

/* SVIT_E_ARGUMENT if patches of patch_size do not cover the input exactly. For architectures that
 * need that. */
svit_status sv_model_config_check_patches(const svit_model_config *config, svit_error *err);

#endif
