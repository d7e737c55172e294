/* Model configurations as JSON objects. */
#include "base/config.h"
#include "models/config.h"
#include "models/config_fields.h"

#include <string.h>

static const sv_config_field *find_field(const char *name)
{
    for (size_t i = 0; i < sv_config_field_count; i++)
        if (strcmp(sv_config_fields[i].name, name) == 0)
            return &sv_config_fields[i];
    return NULL;
}

static svit_status read_object(svit_model_config *config, const json_t *object, svit_error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        const sv_config_field *field = find_field(key);
        if (!field)
            return sv_fail(err, SVIT_E_ARGUMENT, "'%.64s' is no field of a model configuration",
                           key);
        SVIT_TRY(sv_config_field_from_json(field, config, value, err));
    }
    /* What a model without classifier puts out follows from its other fields. */
    if (!config->classifier && !json_object_get(object, "num_classes"))
        config->num_classes = (uint32_t)sv_stage_channels(config, config->stages - 1);
    return sv_model_config_check(config, err);
}

SVIT_API svit_status svit_model_config_from_json(svit_model_config *config, size_t size,
                                                 const char *json, svit_error *err)
{
    SV_REQUIRE(config);
    SV_REQUIRE(json);
    json_t *object;
    SVIT_TRY(sv_json_parse_object(&object, json, strlen(json), "the model configuration", err));
    svit_model_config own;
    svit_model_config_init(&own, sizeof own);
    svit_status status = read_object(&own, object, err);
    json_decref(object);
    if (status != SVIT_OK)
        return status;
    return sv_config_export(config, size, &own, sizeof own, "svit_model_config", err);
}

SVIT_API svit_status svit_model_config_to_json(const svit_model_config *config, char *buffer,
                                               size_t capacity, size_t *needed, svit_error *err)
{
    SV_REQUIRE(config);
    svit_model_config own;
    SVIT_TRY(sv_model_config_import(&own, config, err));
    json_t *object = json_object();
    int failed = !object;
    for (size_t i = 0; i < sv_config_field_count && !failed; i++)
        failed = json_object_set_new(object, sv_config_fields[i].name,
                                     sv_config_field_to_json(&sv_config_fields[i], &own));
    svit_status status =
        failed ? sv_fail(err, SVIT_E_MEMORY, "no memory for the JSON of a model configuration")
               : sv_json_to_buffer(object, buffer, capacity, needed, err);
    json_decref(object);
    return status;
}
