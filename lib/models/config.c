/* Checks, imports and compares model configurations. */
#include "models/config.h"

#include "config/config.h"
#include "models/architecture.h"

/* Smaller structs than that of the first version are refused. */
enum { CONFIG_MIN_SIZE = sizeof(svit_model_config) };

svit_status sv_model_config_check(const svit_model_config *config, svit_error *err)
{
    SVIT_TRY(sv_fields_check(&sv_architecture_field, config, err));
    const sv_architecture *architecture = sv_architecture_of(config);
    SVIT_TRY(sv_fields_check(architecture->fields, config, err));
    if (config->lora_rank > 0 && !sv_fields_find_member(architecture->fields, "lora_rank"))
        return sv_fail(err, SVIT_E_ARGUMENT, "lora_rank is %u; in architecture '%s' it is 0",
                       config->lora_rank, architecture->name);
    SVIT_TRY(architecture->check(config, err));
    size_t features = architecture->features(config);
    if (!config->classifier && config->num_classes != features)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "num_classes is %u; without a classifier the %zu pooled features are the "
                       "logits, so it is %zu",
                       config->num_classes, features, features);
    return SVIT_OK;
}

size_t sv_model_patches(const svit_model_config *config)
{
    size_t size = config->patch_size;
    return config->input_height / size * (config->input_width / size);
}

/* The patches must cover a side of `input` pixels exactly. */
static svit_status check_side(const svit_model_config *config, const char *field, uint32_t input,
                              svit_error *err)
{
    uint32_t size = config->patch_size;
    if (input % size != 0)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s is %u; it is a multiple of patch_size %u, such as %u", field, input,
                       size, input < size ? size : input / size * size);
    return SVIT_OK;
}

svit_status sv_model_config_check_patches(const svit_model_config *config, svit_error *err)
{
    SVIT_TRY(check_side(config, "input_height", config->input_height, err));
    return check_side(config, "input_width", config->input_width, err);
}

svit_status sv_model_config_import(svit_model_config *out, const svit_model_config *config,
                                   svit_error *err)
{
    const char *type = sv_architecture_field.type;
    SVIT_TRY(svit_model_config_init(out, sizeof *out));
    SVIT_TRY(sv_config_import(out, sizeof *out, config, CONFIG_MIN_SIZE, type, err));
    SVIT_TRY(sv_config_check_reserved(out->reserved, type, err));
    return sv_model_config_check(out, err);
}

const char *sv_model_config_difference(const svit_model_config *a, const svit_model_config *b)
{
    return sv_fields_difference(sv_architecture_of(a)->fields, a, b);
}
