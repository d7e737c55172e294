/* The table of architectures. */
#include "models/architecture.h"

#define OPERATIONS(constant, prefix)                                                               \
    [SVIT_ARCHITECTURE_##constant] = {#prefix,                                                     \
                                      &sv_##prefix##_fields,                                       \
                                      sv_##prefix##_check,                                         \
                                      sv_##prefix##_features,                                      \
                                      sv_##prefix##_block_count,                                   \
                                      sv_##prefix##_weight_rule,                                   \
                                      sv_##prefix##_parameters,                                    \
                                      sv_##prefix##_layer_count,                                   \
                                      sv_##prefix##_layers,                                        \
                                      sv_##prefix##_multiply_adds,                                 \
                                      sv_##prefix##_preset},

const sv_architecture sv_architectures[] = {SV_ARCHITECTURES(OPERATIONS)};
const size_t sv_architecture_count = sizeof sv_architectures / sizeof *sv_architectures;

const sv_architecture *sv_architecture_of(const svit_model_config *config)
{
    return &sv_architectures[config->architecture];
}
