/* The value of one field: its range, and how it reads in JSON. */
#include "models/config_fields.h"

#include <stdio.h>
#include <string.h>

static const void *place(const sv_config_field *field, const svit_model_config *config)
{
    return (const char *)config + field->offset;
}

static void *place_in(const sv_config_field *field, svit_model_config *config)
{
    return (char *)config + field->offset;
}

uint32_t sv_config_list_count(const sv_config_field *field, const svit_model_config *config)
{
    return *(const uint32_t *)((const char *)config + field->count_offset);
}

/* NaN is outside of everything. */
static int is_inside(const sv_config_field *field, double value)
{
    int above = field->least_is_open ? value > field->least : value >= field->least;
    int below = field->greatest_is_open ? value < field->greatest : value <= field->greatest;
    return above && below;
}

static svit_status fail_range(const sv_config_field *field, double value, svit_error *err)
{
    return sv_fail(err, SVIT_E_ARGUMENT, "%s is %.17g; it is in %c%.9g, %.9g%c", field->name, value,
                   field->least_is_open ? '(' : '[', field->least, field->greatest,
                   field->greatest_is_open ? ')' : ']');
}

/* "'true' or 'keras'" into text */
static const char *list_words(const sv_config_field *field, char *text, size_t capacity)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; field->words[i] && used < capacity; i++)
        used += (size_t)snprintf(text + used, capacity - used, i ? " or '%s'" : "'%s'",
                                 field->words[i]);
    return text;
}

static int32_t word_count(const sv_config_field *field)
{
    int32_t count = 0;
    while (field->words[count])
        count++;
    return count;
}

static svit_status check_word(const sv_config_field *field, int32_t value, svit_error *err)
{
    int32_t count = word_count(field);
    if (value >= 0 && value < count)
        return SVIT_OK;
    char words[96];
    return sv_fail(err, SVIT_E_ARGUMENT, "%s is %d; it is 0..%d: %s", field->name, value, count - 1,
                   list_words(field, words, sizeof words));
}

static svit_status check_list(const sv_config_field *field, const svit_model_config *config,
                              svit_error *err)
{
    const uint32_t *list = place(field, config);
    uint32_t count = sv_config_list_count(field, config);
    if (count < field->fewest || count > field->most)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s is %u; it is %u..%u", field->count_name, count,
                       field->fewest, field->most);
    for (uint32_t i = 0; i < count; i++)
        if (!is_inside(field, list[i]))
            return sv_fail(err, SVIT_E_ARGUMENT, "%s[%u] is %u; it is %.9g..%.9g", field->name, i,
                           list[i], field->least, field->greatest);
    return SVIT_OK;
}

svit_status sv_config_field_check(const sv_config_field *field, const svit_model_config *config,
                                  svit_error *err)
{
    if (field->kind == SV_FIELD_LIST)
        return check_list(field, config, err);
    if (field->kind == SV_FIELD_WORD || field->kind == SV_FIELD_FLAG) {
        int32_t word;
        memcpy(&word, place(field, config), sizeof word);
        return check_word(field, word, err);
    }
    double value;
    if (field->kind == SV_FIELD_REAL) {
        memcpy(&value, place(field, config), sizeof value);
    } else {
        uint32_t size;
        memcpy(&size, place(field, config), sizeof size);
        value = size;
    }
    return is_inside(field, value) ? SVIT_OK : fail_range(field, value, err);
}

static json_t *list_to_json(const sv_config_field *field, const svit_model_config *config)
{
    const uint32_t *list = place(field, config);
    uint32_t count = sv_config_list_count(field, config);
    json_t *array = json_array();
    for (uint32_t i = 0; i < count; i++)
        if (json_array_append_new(array, json_integer(list[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

json_t *sv_config_field_to_json(const sv_config_field *field, const svit_model_config *config)
{
    const void *from = place(field, config);
    switch (field->kind) {
    case SV_FIELD_SIZE:
        return json_integer(*(const uint32_t *)from);
    case SV_FIELD_WORD:
        return json_string(field->words[*(const int32_t *)from]);
    case SV_FIELD_FLAG:
        return json_boolean(*(const int32_t *)from);
    case SV_FIELD_REAL:
        return json_real(*(const double *)from);
    case SV_FIELD_LIST:
        break;
    }
    return list_to_json(field, config);
}

static svit_status fail_kind(const sv_config_field *field, const char *wanted, svit_error *err)
{
    return sv_fail(err, SVIT_E_ARGUMENT, "%s is not %s", field->name, wanted);
}

static svit_status size_from_json(const sv_config_field *field, uint32_t *out, const json_t *value,
                                  svit_error *err)
{
    if (!json_is_integer(value))
        return fail_kind(field, "a whole number", err);
    double number = (double)json_integer_value(value);
    if (!is_inside(field, number))
        return fail_range(field, number, err);
    *out = (uint32_t)number;
    return SVIT_OK;
}

static svit_status list_from_json(const sv_config_field *field, svit_model_config *config,
                                  const json_t *value, svit_error *err)
{
    uint32_t *list = place_in(field, config);
    size_t count = json_array_size(value);
    if (!json_is_array(value) || count < field->fewest || count > field->most)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s is not an array of %u to %u whole numbers",
                       field->name, field->fewest, field->most);
    memset(list, 0, field->most * sizeof *list);
    *(uint32_t *)((char *)config + field->count_offset) = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        SVIT_TRY(size_from_json(field, &list[i], json_array_get(value, i), err));
    return SVIT_OK;
}

static svit_status word_from_json(const sv_config_field *field, int32_t *out, const json_t *value,
                                  svit_error *err)
{
    char words[96];
    list_words(field, words, sizeof words);
    const char *text = json_string_value(value);
    if (!text)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s is not text; it is %s", field->name, words);
    for (int32_t i = 0; field->words[i]; i++)
        if (strcmp(field->words[i], text) == 0) {
            *out = i;
            return SVIT_OK;
        }
    return sv_fail(err, SVIT_E_ARGUMENT, "%s is '%.40s'; it is %s", field->name, text, words);
}

svit_status sv_config_field_from_json(const sv_config_field *field, svit_model_config *config,
                                      const json_t *value, svit_error *err)
{
    void *out = place_in(field, config);
    switch (field->kind) {
    case SV_FIELD_SIZE:
        return size_from_json(field, out, value, err);
    case SV_FIELD_WORD:
        return word_from_json(field, out, value, err);
    case SV_FIELD_FLAG:
        if (!json_is_boolean(value))
            return fail_kind(field, "true or false", err);
        *(int32_t *)out = json_is_true(value);
        return SVIT_OK;
    case SV_FIELD_REAL:
        if (!json_is_number(value))
            return fail_kind(field, "a number", err);
        if (!is_inside(field, json_number_value(value)))
            return fail_range(field, json_number_value(value), err);
        *(double *)out = json_number_value(value);
        return SVIT_OK;
    case SV_FIELD_LIST:
        break;
    }
    return list_from_json(field, config, value, err);
}
