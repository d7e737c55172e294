/* The rotary position embedding of a ViT. */
#ifndef SV_VIT_ROTARY_H
#define SV_VIT_ROTARY_H

#include "layers/layers.h"

#include <shiftvit/model.h>

/* What the configuration says about it, for a grid of rows x columns patches. */
sv_rotary_options sv_vit_rotary(const svit_model_config *config, size_t rows, size_t columns);

#endif
