/* The type of model configurations, whose fields depend on the architecture, and their checks. */
#include "models/config.h"

#include "models/architecture.h"
#include "models/config_fields.h"

/* Sets the default configuration of the architecture that *config names. */
static void set_defaults(void *config)
{
    *(svit_model_config *)config = sv_architecture_of(config)->presets->config;
}

static const sv_field_table *fields_of(const void *config)
{
    return sv_architecture_of(config)->fields;
}

/* Fails if `key` is not a field of this architecture, but of another one. */
static svit_status check_architecture(const sv_architecture *architecture, const char *key,
                                      svit_error *err)
{
    if (sv_fields_find_key(architecture->fields, key))
        return SVIT_OK;
    for (size_t i = 0; i < sv_architecture_count; i++)
        if (sv_fields_find_key(sv_architectures[i].fields, key))
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "'%s' is a field of architecture '%s'; here it is '%s'", key,
                           sv_architectures[i].name, architecture->name);
    return SVIT_OK;
}

/* An object that names no architecture has the library's default. */
static svit_status read(void *out, const sv_json_value *object, svit_error *err)
{
    svit_model_config *config = out;
    const sv_field *field = sv_model_config_type.table.fields;
    const sv_json_value *word = sv_json_get(object, field->name), *member = object + 1;
    if (word)
        SVIT_TRY(sv_field_from_json(field, config, word, err));
    set_defaults(config);
    const sv_architecture *architecture = sv_architecture_of(config);
    for (size_t i = 0; i < object->count; i++, member = member->after)
        SVIT_TRY(check_architecture(architecture, member->key, err));
    SVIT_TRY(sv_fields_from_json(architecture->fields, config, object, err));
    /* Without a classifier the number of logits follows from the other fields. */
    if (!config->classifier && !sv_json_get(object, "num_classes")) {
        size_t features = architecture->features(config);
        config->num_classes = features < UINT32_MAX ? (uint32_t)features : UINT32_MAX;
    }
    return SVIT_OK;
}

static svit_status check(const void *checked, svit_error *err)
{
    const svit_model_config *config = checked;
    const sv_architecture *architecture = sv_architecture_of(config);
    if (config->lora_rank > 0 && !sv_fields_find_member(architecture->fields, "lora_rank"))
        return sv_fail(err, SVIT_E_ARGUMENT, "lora_rank is %u; in architecture '%s' it is 0",
                       config->lora_rank, architecture->name);
    if (config->mask_ratio > 0 && !sv_fields_find_member(architecture->fields, "mask_ratio"))
        return sv_fail(err, SVIT_E_ARGUMENT, "mask_ratio is %g; in architecture '%s' it is 0",
                       config->mask_ratio, architecture->name);
    SVIT_TRY(architecture->check(config, err));
    size_t features = architecture->features(config);
    if (!config->classifier && config->num_classes != features)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "num_classes is %u; without a classifier the %zu pooled features are the "
                       "logits, so it is %zu",
                       config->num_classes, features, features);
    return SVIT_OK;
}

static const sv_field FIELDS[] = {SV_MODEL_FIELD_ARCHITECTURE};

const sv_config_type sv_model_config_type = {
    SV_CONFIG(svit_model_config, FIELDS, "the model configuration"),
    .reserved = offsetof(svit_model_config, reserved),
    .min_size = offsetof(svit_model_config, class_token), /* where the struct of library 0.1 ends */
    .set_defaults = set_defaults,
    .fields_of = fields_of,
    .read = read,
    .check = check};

SV_CONFIG_FUNCTIONS(svit_model_config, sv_model_config_type)

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
