/* The table of architectures. */
#include "models/architecture.h"

#define OPERATIONS(constant, prefix, paper_weights)                                                \
    [SVIT_ARCHITECTURE_##constant] = {#prefix,                                                     \
                                      &sv_##prefix##_fields,                                       \
                                      sv_##prefix##_check,                                         \
                                      sv_##prefix##_features,                                      \
                                      sv_##prefix##_parameters,                                    \
                                      sv_##prefix##_layers,                                        \
                                      SV_WEIGHTS_##paper_weights,                                  \
                                      sv_##prefix##_presets},

const sv_architecture sv_architectures[] = {SV_ARCHITECTURES(OPERATIONS)};
const size_t sv_architecture_count = sizeof sv_architectures / sizeof *sv_architectures;

const sv_architecture *sv_architecture_of(const svit_model_config *config)
{
    return &sv_architectures[config->architecture];
}

size_t sv_model_block_count(const svit_model_config *config)
{
    if (sv_fields_find_member(sv_architecture_of(config)->fields, "depth"))
        return config->depth;
    size_t count = 0;
    for (size_t stage = 0; stage < config->stages; stage++)
        count += config->blocks[stage];
    return count;
}

svit_status sv_model_parameters(sv_parameter_table *out, const sv_allocator *allocator,
                                const svit_model_config *config, svit_error *err)
{
    sv_scope top = {out, "", err, 0, false};
    sv_parameter_table_init(out, allocator);
    out->depths = (uint32_t)sv_model_block_count(config) + 1;
    svit_status status = sv_architecture_of(config)->parameters(&top, config);
    if (status != SVIT_OK)
        sv_parameter_table_free(out);
    return status;
}
