/* Model configurations as JSON objects. */
#include "base/config.h"
#include "models/architecture.h"
#include "models/config.h"
#include "models/config_fields.h"

#include <string.h>

/* A field that is another architecture's is unknown to this one. */
static svit_status find_field(const sv_config_field **out, const svit_model_config *config,
                              const char *name, svit_error *err)
{
    const sv_config_field *field = sv_config_field_find(name);
    if (!field)
        return sv_fail(err, SVIT_E_ARGUMENT, "'%.64s' is no field of a model configuration", name);
    const char *const *words = sv_config_field_find("architecture")->words;
    if (!sv_config_field_applies(field, config))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "'%s' is a field of architecture '%s'; that of this model is '%s'", name,
                       words[field->owner], words[config->architecture]);
    *out = field;
    return SVIT_OK;
}

/* The defaults of the architecture that the object names, if it does. */
static svit_status read_defaults(svit_model_config *config, const json_t *object, svit_error *err)
{
    SVIT_TRY(svit_model_config_init(config, sizeof *config));
    const json_t *word = json_object_get(object, "architecture");
    if (!word)
        return SVIT_OK;
    SVIT_TRY(sv_config_field_from_json(sv_config_field_find("architecture"), config, word, err));
    const char *name;
    sv_architecture_of(config)->preset(&name, config, 0);
    return SVIT_OK;
}

static svit_status read_object(svit_model_config *config, const json_t *object, svit_error *err)
{
    SVIT_TRY(read_defaults(config, object, err));
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        const sv_config_field *field = NULL;
        SVIT_TRY(find_field(&field, config, key, err));
        SVIT_TRY(sv_config_field_from_json(field, config, value, err));
    }
    /* What a model without classifier puts out follows from its other fields. */
    if (!config->classifier && !json_object_get(object, "num_classes")) {
        size_t features = sv_architecture_of(config)->features(config);
        config->num_classes = features < UINT32_MAX ? (uint32_t)features : UINT32_MAX;
    }
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
        if (sv_config_field_applies(&sv_config_fields[i], &own))
            failed = json_object_set_new(object, sv_config_fields[i].name,
                                         sv_config_field_to_json(&sv_config_fields[i], &own));
    svit_status status =
        failed ? sv_fail(err, SVIT_E_MEMORY, "no memory for the JSON of a model configuration")
               : sv_json_to_buffer(object, buffer, capacity, needed, err);
    json_decref(object);
    return status;
}
