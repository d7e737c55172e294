/* Model configurations as JSON objects. */
#include "base/config.h"
#include "models/architecture.h"
#include "models/config.h"
#include "models/config_fields.h"

#include <string.h>

/* The defaults of the architecture that the object names, if it does. */
static svit_status read_defaults(svit_model_config *config, const sv_json_value *object,
                                 svit_error *err)
{
    const sv_field *architecture = sv_model_fields.selector;
    SVIT_TRY(svit_model_config_init(config, sizeof *config));
    const sv_json_value *word = sv_json_get(object, architecture->name);
    if (!word)
        return SVIT_OK;
    SVIT_TRY(sv_field_from_json(architecture, config, word, err));
    const char *name;
    sv_architecture_of(config)->preset(&name, config, 0);
    return SVIT_OK;
}

static svit_status read_object(svit_model_config *config, const sv_json_value *object,
                               svit_error *err)
{
    SVIT_TRY(read_defaults(config, object, err));
    SVIT_TRY(sv_fields_from_json(&sv_model_fields, config, object, err));
    /* What a model without classifier puts out follows from its other fields. */
    if (!config->classifier && !sv_json_get(object, "num_classes")) {
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
    sv_allocator allocator = sv_allocator_default();
    sv_json *parsed;
    SVIT_TRY(
        sv_json_parse_object(&parsed, &allocator, json, strlen(json), sv_model_fields.noun, err));
    svit_model_config own;
    svit_status status = read_object(&own, sv_json_root(parsed), err);
    sv_json_free(parsed);
    SVIT_TRY(status);
    return sv_config_export(config, size, &own, sizeof own, sv_model_fields.type, err);
}

SVIT_API svit_status svit_model_config_to_json(const svit_model_config *config, char *buffer,
                                               size_t capacity, size_t *needed, svit_error *err)
{
    SV_REQUIRE(config);
    svit_model_config own;
    SVIT_TRY(sv_model_config_import(&own, config, err));
    return sv_fields_to_buffer(&sv_model_fields, &own, buffer, capacity, needed, err);
}
