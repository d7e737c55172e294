/* Pipeline configurations as JSON: the object `preprocessing` of model files. */
#include "base/config.h"
#include "data/pipeline_config.h"

#include <stddef.h>
#include <string.h>

enum {
    FIELD_SIDE,
    FIELD_FLAG,
    FIELD_NUMBER,
    FIELD_TRIPLE,
    FIELD_EVALUATION,
    FIELD_SOURCE,
    FIELD_FILTER
};

/* Sides and numbers stand at `offset` of the configuration. The filter of the
 * resize is there for readers: it is the only one. */
static const struct field {
    const char *name;
    int kind;
    size_t offset;
} FIELDS[] = {
    {"source_height", FIELD_SIDE, offsetof(svit_pipeline_config, source_height)},
    {"source_width", FIELD_SIDE, offsetof(svit_pipeline_config, source_width)},
    {"source_filter", FIELD_SOURCE, offsetof(svit_pipeline_config, source_filter)},
    {"resize_height", FIELD_SIDE, offsetof(svit_pipeline_config, resize_height)},
    {"resize_width", FIELD_SIDE, offsetof(svit_pipeline_config, resize_width)},
    {"filter", FIELD_FILTER, 0},
    {"output_height", FIELD_SIDE, offsetof(svit_pipeline_config, output_height)},
    {"output_width", FIELD_SIDE, offsetof(svit_pipeline_config, output_width)},
    {"evaluation", FIELD_EVALUATION, offsetof(svit_pipeline_config, evaluation)},
    {"per_batch", FIELD_FLAG, offsetof(svit_pipeline_config, per_batch)},
    {"flip_probability", FIELD_NUMBER, offsetof(svit_pipeline_config, flip_probability)},
    {"scale", FIELD_NUMBER, offsetof(svit_pipeline_config, scale)},
    {"mean", FIELD_TRIPLE, offsetof(svit_pipeline_config, mean)},
    {"variance", FIELD_TRIPLE, offsetof(svit_pipeline_config, variance)},
    {"rotation", FIELD_NUMBER, offsetof(svit_pipeline_config, rotation)},
    {"zoom", FIELD_NUMBER, offsetof(svit_pipeline_config, zoom)},
};
enum { FIELD_COUNT = sizeof FIELDS / sizeof *FIELDS };

static const char *const EVALUATIONS[] = {
    [SVIT_EVALUATE_RESIZE] = "resize",
    [SVIT_EVALUATE_KEEP] = "keep",
};

static const char *const SOURCES[] = {
    [SVIT_SOURCE_NEAREST] = "nearest",
    [SVIT_SOURCE_SHORTER_SIDE] = "shorter-side",
};

static svit_status fail_field(svit_error *err, const char *name, const char *accepted)
{
    return sv_fail(err, SVIT_E_ARGUMENT, "preprocessing: \"%s\" must be %s", name, accepted);
}

static svit_status parse_side(void *out, const json_t *value, const char *name, svit_error *err)
{
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0 || number > UINT32_MAX)
        return fail_field(err, name, "a whole number of pixels");
    uint32_t side = (uint32_t)number;
    memcpy(out, &side, sizeof side);
    return SVIT_OK;
}

static svit_status parse_flag(void *out, const json_t *value, const char *name, svit_error *err)
{
    if (!json_is_boolean(value))
        return fail_field(err, name, "true or false");
    int32_t flag = json_is_true(value);
    memcpy(out, &flag, sizeof flag);
    return SVIT_OK;
}

static svit_status parse_number(void *out, const json_t *value, const char *name, svit_error *err)
{
    if (!json_is_number(value))
        return fail_field(err, name, "a number");
    double number = json_number_value(value);
    memcpy(out, &number, sizeof number);
    return SVIT_OK;
}

static svit_status parse_triple(void *out, const json_t *value, const char *name, svit_error *err)
{
    if (!json_is_array(value) || json_array_size(value) != 3)
        return fail_field(err, name, "an array of three numbers");
    double triple[3] = {0};
    for (size_t c = 0; c < 3; c++)
        SVIT_TRY(parse_number(&triple[c], json_array_get(value, c), name, err));
    memcpy(out, triple, sizeof triple);
    return SVIT_OK;
}

/* The place of a text among two words. */
static svit_status parse_word(void *out, const json_t *value, const char *name,
                              const char *const words[2], const char *accepted, svit_error *err)
{
    const char *text = json_string_value(value);
    for (int32_t i = 0; text && i < 2; i++)
        if (strcmp(text, words[i]) == 0) {
            memcpy(out, &i, sizeof i);
            return SVIT_OK;
        }
    return fail_field(err, name, accepted);
}

static svit_status parse_field(svit_pipeline_config *config, const char *key, const json_t *value,
                               svit_error *err)
{
    const struct field *field = FIELDS;
    while (field < FIELDS + FIELD_COUNT && strcmp(field->name, key) != 0)
        field++;
    if (field == FIELDS + FIELD_COUNT)
        return sv_fail(err, SVIT_E_ARGUMENT, "preprocessing: the field \"%s\" is not known", key);
    void *out = (char *)config + field->offset;
    switch (field->kind) {
    case FIELD_SIDE:
        return parse_side(out, value, key, err);
    case FIELD_FLAG:
        return parse_flag(out, value, key, err);
    case FIELD_NUMBER:
        return parse_number(out, value, key, err);
    case FIELD_TRIPLE:
        return parse_triple(out, value, key, err);
    case FIELD_EVALUATION:
        return parse_word(out, value, key, EVALUATIONS, "\"resize\" or \"keep\"", err);
    case FIELD_SOURCE:
        return parse_word(out, value, key, SOURCES, "\"nearest\" or \"shorter-side\"", err);
    default:
        if (!json_is_string(value) || strcmp(json_string_value(value), "bilinear") != 0)
            return fail_field(err, key, "\"bilinear\"");
        return SVIT_OK;
    }
}

svit_status sv_pipeline_config_parse(svit_pipeline_config *out, const json_t *object,
                                     svit_error *err)
{
    svit_pipeline_config config = sv_pipeline_config_default();
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
        SVIT_TRY(parse_field(&config, key, value, err));
    SVIT_TRY(sv_pipeline_config_check(&config, err));
    *out = config;
    return SVIT_OK;
}

static json_t *dump_field(const svit_pipeline_config *config, const struct field *field)
{
    const void *at = (const char *)config + field->offset;
    const double *numbers = at;
    switch (field->kind) {
    case FIELD_SIDE:
        return json_integer(*(const uint32_t *)at);
    case FIELD_FLAG:
        return json_boolean(*(const int32_t *)at);
    case FIELD_NUMBER:
        return json_real(*numbers);
    case FIELD_TRIPLE:
        return json_pack("[f,f,f]", numbers[0], numbers[1], numbers[2]);
    case FIELD_EVALUATION:
        return json_string(EVALUATIONS[*(const int32_t *)at]);
    case FIELD_SOURCE:
        return json_string(SOURCES[*(const int32_t *)at]);
    default:
        return json_string("bilinear");
    }
}

json_t *sv_pipeline_config_dump(const svit_pipeline_config *config)
{
    json_t *object = json_object();
    for (size_t i = 0; object && i < FIELD_COUNT; i++)
        if (json_object_set_new(object, FIELDS[i].name, dump_field(config, &FIELDS[i])) != 0) {
            json_decref(object);
            return NULL;
        }
    return object;
}

SVIT_API svit_status svit_pipeline_config_from_json(svit_pipeline_config *config, size_t size,
                                                    const char *json, svit_error *err)
{
    SV_REQUIRE(config);
    SV_REQUIRE(json);
    json_t *object = NULL;
    SVIT_TRY(sv_json_parse_object(&object, json, strlen(json), "preprocessing", err));
    svit_pipeline_config own;
    svit_status status = sv_pipeline_config_parse(&own, object, err);
    json_decref(object);
    SVIT_TRY(status);
    return sv_config_export(config, size, &own, sizeof own, "svit_pipeline_config", err);
}

SVIT_API svit_status svit_pipeline_config_to_json(const svit_pipeline_config *config, char *buffer,
                                                  size_t capacity, size_t *needed, svit_error *err)
{
    SV_REQUIRE(config);
    svit_pipeline_config own;
    SVIT_TRY(sv_pipeline_config_read(&own, config, err));
    json_t *object = sv_pipeline_config_dump(&own);
    if (!object)
        return sv_fail(err, SVIT_E_MEMORY, "no memory for a JSON object");
    svit_status status = sv_json_to_buffer(object, buffer, capacity, needed, err);
    json_decref(object);
    return status;
}
