/* Model configurations as JSON objects. */
#include "config/config.h"
#include "models/architecture.h"
#include "models/config.h"

#include <string.h>

/* Sets *config to the defaults of the architecture that the object names. An object that names none
 * gets the library's default. */
static svit_status read_defaults(svit_model_config *config, const sv_json_value *object,
                                 svit_error *err)
{
    const sv_field *architecture = sv_architecture_field.fields;
    SVIT_TRY(svit_model_config_init(config, sizeof *config));
    const sv_json_value *word = sv_json_get(object, architecture->name);
    if (!word)
        return SVIT_OK;
    SVIT_TRY(sv_field_from_json(architecture, config, word, err));
    *config = sv_architecture_of(config)->presets->config;
    return SVIT_OK;
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

static svit_status read_object(svit_model_config *config, const sv_json_value *object,
                               svit_error *err)
{
    SVIT_TRY(read_defaults(config, object, err));
    const sv_architecture *architecture = sv_architecture_of(config);
    const sv_json_value *member = object + 1;
    for (size_t i = 0; i < object->count; i++, member = member->after)
        SVIT_TRY(check_architecture(architecture, member->key, err));
    SVIT_TRY(sv_fields_from_json(architecture->fields, config, object, err));
    /* Without a classifier the number of logits follows from the other fields. */
    if (!config->classifier && !sv_json_get(object, "num_classes")) {
        size_t features = architecture->features(config);
        config->num_classes = features < UINT32_MAX ? (uint32_t)features : UINT32_MAX;
    }
    return sv_model_config_check(config, err);
}

SVIT_API svit_status svit_model_config_from_json(svit_model_config *config, size_t size,
                                                 const char *json, svit_error *err)
{
    SV_REQUIRE(config);
    SV_REQUIRE(json);
    const sv_field_table *table = &sv_architecture_field;
    sv_allocator allocator = sv_allocator_default();
    sv_json *parsed;
    SVIT_TRY(sv_json_parse_object(&parsed, &allocator, json, strlen(json), table->noun, err));
    svit_model_config read;
    svit_status status = read_object(&read, sv_json_root(parsed), err);
    sv_json_free(parsed);
    SVIT_TRY(status);
    return sv_config_export(config, size, &read, sizeof read, table->type, err);
}

SVIT_API svit_status svit_model_config_to_json(const svit_model_config *config, char *buffer,
                                               size_t capacity, size_t *needed, svit_error *err)
{
    SV_REQUIRE(config);
    svit_model_config local;
    SVIT_TRY(sv_model_config_import(&local, config, err));
    return sv_fields_to_buffer(sv_architecture_of(&local)->fields, &local, buffer, capacity, needed,
                               err);
}
