/* The presets of each architecture. */
#ifndef SV_MODEL_PRESETS_H
#define SV_MODEL_PRESETS_H

#include <shiftvit/model.h>

#include <stdbool.h>

/* The name (static storage) and configuration of preset number `index`; false past the end. The
 * first is the architecture's default. */
bool sv_shiftvit_preset(const char **name, svit_model_config *config, size_t index);
bool sv_vit_preset(const char **name, svit_model_config *config, size_t index);

/* Preset number `index` of all architectures, one after another. */
bool sv_preset_at(const char **name, svit_model_config *config, size_t index);

#endif
