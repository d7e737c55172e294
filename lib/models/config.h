/* Model configurations: their checks and their comparison. */
#ifndef SV_MODEL_CONFIG_H
#define SV_MODEL_CONFIG_H

#include "base/status.h"

#include <shiftvit/model.h>

/* Checks the range of each field of the configuration's architecture, and the constraints between
 * fields. Fields that only other architectures have are ignored. The message of SVIT_E_ARGUMENT
 * names the field, its value and what is accepted. */
svit_status sv_model_config_check(const svit_model_config *config, svit_error *err);

/* Patches of patch_size in an image of the configuration's size. */
size_t sv_model_patches(const svit_model_config *config);

/* SVIT_E_ARGUMENT if patches of patch_size do not cover the input exactly. For architectures that
 * need that. */
svit_status sv_model_config_check_patches(const svit_model_config *config, svit_error *err);

/* Copies a caller's struct, by its struct_size, to *out and checks it. */
svit_status sv_model_config_import(svit_model_config *out, const svit_model_config *config,
                                   svit_error *err);

/* Returns the name of the first field in which two checked configurations differ; NULL if they are
 * equal. */
const char *sv_model_config_difference(const svit_model_config *a, const svit_model_config *b);

#endif
