/* The table of architectures. */
#include "models/architecture.h"

#include "models/config.h"
#include "models/layer_list.h"
#include "models/parameters.h"
#include "models/presets.h"

const sv_architecture sv_architectures[] = {
    [SVIT_ARCHITECTURE_SHIFTVIT] = {sv_shiftvit_config_check, sv_shiftvit_features,
                                    sv_shiftvit_parameters, sv_shiftvit_layer_count,
                                    sv_shiftvit_layers, sv_shiftvit_preset},
    [SVIT_ARCHITECTURE_VIT] = {sv_vit_config_check, sv_vit_features, sv_vit_parameters,
                               sv_vit_layer_count, sv_vit_layers, sv_vit_preset},
};
const size_t sv_architecture_count = sizeof sv_architectures / sizeof *sv_architectures;

const sv_architecture *sv_architecture_of(const svit_model_config *config)
{
    return &sv_architectures[config->architecture];
}
