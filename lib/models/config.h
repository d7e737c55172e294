/* Model configurations: their checks and their comparison. */
#ifndef SV_MODEL_CONFIG_H
#define SV_MODEL_CONFIG_H

#include "config/config.h"

#include <shiftvit/model.h>

/* The type of model configurations. Its table has the field `architecture` alone. Its check, that
 * of the architecture, ignores fields that only other architectures have; its defaults are those of
 * svit_model_config_init. */
extern const sv_config_type sv_model_config_type;

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
