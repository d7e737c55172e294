/* Reads configuration structs from JSON objects, by the tables of their fields. */
#include "config/fields.h"

#include "base/threads/fp_env.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NAME = 64 }; /* characters of an unknown name that are compared with the known ones */

static svit_status fail_kind(const sv_field *field, const char *wanted, svit_error *err)
{
    return sv_fail(err, SVIT_E_ARGUMENT, "%s is not %s", sv_field_key(field), wanted);
}

static svit_status read_number(const sv_field *field, double *out, const sv_json_value *value,
                               svit_error *err)
{
    return sv_json_number(value, out) ? sv_field_check_number(field, sv_field_key(field), *out, err)
                                      : fail_kind(field, "a number", err);
}

static svit_status read_u32(const sv_field *field, uint32_t *out, const sv_json_value *value,
                            svit_error *err)
{
    double number;
    if (value->kind != SV_JSON_INTEGER)
        return fail_kind(field, "a whole number", err);
    SVIT_TRY(read_number(field, &number, value, err));
    *out = (uint32_t)number;
    return SVIT_OK;
}

static svit_status read_word(const sv_field *field, int32_t *out, const sv_json_value *value,
                             svit_error *err)
{
    char words[SV_FIELD_RANGE_TEXT];
    const char *text = sv_json_text(value);
    if (!text)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s is not text; it is %s", sv_field_key(field),
                       sv_field_words_text(field, words));
    for (int32_t i = 0; i < (int32_t)sv_field_word_count(field); i++)
        if (strcmp(field->words[i], text) == 0) {
            *out = i;
            return SVIT_OK;
        }
    return sv_fail(err, SVIT_E_ARGUMENT, "%s is '%.40s'; it is %s", sv_field_key(field), text,
                   sv_field_words_text(field, words));
}

static svit_status read_set(const sv_field *field, uint32_t *out, const sv_json_value *value,
                            svit_error *err)
{
    if (value->kind != SV_JSON_ARRAY)
        return fail_kind(field, "an array of words", err);
    const sv_json_value *element = value + 1;
    uint32_t set = 0;
    for (size_t i = 0; i < value->count; i++, element = element->after) {
        int32_t word = 0;
        SVIT_TRY(read_word(field, &word, element, err));
        set |= 1u << word;
    }
    *out = set;
    return SVIT_OK;
}

static svit_status read_flag(const sv_field *field, int32_t *out, const sv_json_value *value,
                             svit_error *err)
{
    *out = value->kind == SV_JSON_TRUE;
    return *out || value->kind == SV_JSON_FALSE ? SVIT_OK : fail_kind(field, "true or false", err);
}

static svit_status read_chars(const sv_field *field, char *out, const sv_json_value *value,
                              svit_error *err)
{
    const char *text = sv_json_text(value);
    if (!text)
        return fail_kind(field, "text", err);
    size_t length = strlen(text);
    if (length >= field->max_count)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s has %zu bytes; at most %" PRIu32 " are accepted",
                       sv_field_key(field), length, field->max_count - 1);
    memset(out, 0, field->max_count);
    memcpy(out, text, length);
    return SVIT_OK;
}

static svit_status read_value(const sv_field *field, void *out, const sv_json_value *value,
                              svit_error *err)
{
    int32_t word;
    switch (field->kind) {
    case SV_FIELD_U32:
    case SV_FIELD_LIST:
        return read_u32(field, out, value, err);
    case SV_FIELD_U64:
        return sv_json_u64(value, out) ? SVIT_OK
                                       : fail_kind(field, "a whole number from 0 to 2^64 - 1", err);
    case SV_FIELD_WORD:
        return read_word(field, out, value, err);
    case SV_FIELD_FLAG:
        return read_flag(field, out, value, err);
    case SV_FIELD_REAL:
    case SV_FIELD_PAIR:
    case SV_FIELD_REALS:
        return read_number(field, out, value, err);
    case SV_FIELD_SET:
        return read_set(field, out, value, err);
    case SV_FIELD_CONSTANT:
        return read_word(field, &word, value, err);
    case SV_FIELD_CHARS:
        return read_chars(field, out, value, err);
    case SV_FIELD_ELEMENTS:
        return field->elements->read(out, value, err);
    case SV_FIELD_TEXT:
        break;
    }
    return sv_fail(
        err, SVIT_E_ARGUMENT,
        "%s is a string that the struct only points to, so it is not read from JSON; set "
        "the field itself",
        sv_field_key(field));
}

/* Refuses what is no array, or an array of another length. `is_of_all`: its one value is that of
 * all that are counted. */
static svit_status fail_length(const sv_field *field, uint32_t count, bool is_of_all,
                               svit_error *err)
{
    const char *key = sv_field_key(field), *counter = field->count_name;
    if (field->elements)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s is not an array of at most %" PRIu32 " %s", key,
                       field->max_count, field->elements->noun);
    if (field->max_count)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s is not an array of %" PRIu32 " to %" PRIu32 " whole numbers", key,
                       field->min_count, field->max_count);
    if (is_of_all)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s is not an array of 1 number, that of all %s above %" PRIu32, key,
                       counter, field->one_above);
    return sv_fail(err, SVIT_E_ARGUMENT, "%s is not an array of %" PRIu32 " number%s%s%s", key,
                   count, count == 1 ? "" : "s", counter ? ", as many as " : "",
                   counter ? counter : "");
}

/* Checks the length of an array, and stores it unless the struct has it already. */
static svit_status read_length(const sv_field *field, void *config, const sv_json_value *value,
                               svit_error *err)
{
    uint32_t count = sv_field_count(field, config);
    bool is_free = field->max_count > 0;
    size_t min = is_free ? field->min_count : count, max = is_free ? field->max_count : count;
    if (value->kind != SV_JSON_ARRAY || value->count < min || value->count > max)
        return fail_length(field, count, sv_field_is_of_all(field, config), err);
    if (is_free) {
        count = (uint32_t)value->count;
        memset((char *)config + field->offset, 0, field->max_count * sv_field_bytes(field));
        memcpy((char *)config + field->count_offset, &count, sizeof count);
    }
    return SVIT_OK;
}

/* The message of an element that is refused begins with "groups[2]: ". */
svit_status sv_field_from_json(const sv_field *field, void *config, const sv_json_value *value,
                               svit_error *err)
{
    char *out = (char *)config + field->offset, label[MAX_NAME];
    if (!sv_field_is_array(field))
        return read_value(field, out, value, err);
    SVIT_TRY(read_length(field, config, value, err));
    const sv_json_value *element = value + 1;
    for (size_t i = 0; i < value->count; i++, element = element->after) {
        svit_status status = read_value(field, out + i * sv_field_bytes(field), element, err);
        snprintf(label, sizeof label, "%s[%zu]", sv_field_key(field), i);
        if (status != SVIT_OK)
            return field->elements ? sv_fail_in(err, status, label) : status;
    }
    return SVIT_OK;
}

static size_t min_of_3(size_t a, size_t b, size_t c)
{
    size_t min = a < b ? a : b;
    return min < c ? min : c;
}

/* The optimal string alignment distance of two names: the smallest number of insertions, deletions,
 * replacements and exchanges of neighbouring characters that turns a into b. Row i of the dynamic
 * program needs rows i - 1 and i - 2 only, so three rows are stored in turn. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows[3][MAX_NAME + 1];
    size_t rows_a = strnlen(a, MAX_NAME), columns = strnlen(b, MAX_NAME);
    for (size_t j = 0; j <= columns; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= rows_a; i++) {
        size_t *row = rows[i % 3];
        const size_t *row_1 = rows[(i + 2) % 3], *row_2 = rows[(i + 1) % 3]; /* i - 1, i - 2 */
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            row[j] = min_of_3(row_1[j] + 1, row[j - 1] + 1, row_1[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                row_2[j - 2] + 1 < row[j])
                row[j] = row_2[j - 2] + 1;
        }
    }
    return rows[rows_a % 3][columns];
}

/* The key of any of the structs that is most similar to `key`; NULL if none resembles it. */
static const char *most_similar_key(const sv_field_struct *structs, size_t count, const char *key)
{
    const char *found = NULL;
    size_t min = (strlen(key) == 5 ? 2 : strlen(key) / 3) + 1;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < structs[i].table->count; j++) {
            const char *known = sv_field_key(&structs[i].table->fields[j]);
            size_t distance = edit_distance(key, known);
            if (distance < min) {
                min = distance;
                found = known;
            }
        }
    return found;
}

/* The key of the array whose length is the field `name`; NULL: it is no such field. */
static const char *array_counted_by(const sv_field_struct *structs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < structs[i].table->count; j++) {
            const sv_field *field = &structs[i].table->fields[j];
            if (field->count_name && strcmp(field->count_name, name) == 0)
                return sv_field_key(field);
        }
    return NULL;
}

/* Reads one member of an object in one of two passes: with `reals` only if its field is of kind
 * SV_FIELD_REALS, otherwise only if it is of another kind. Those arrays come last, since other
 * fields hold their counts. SVIT_E_ARGUMENT: no struct has such a field. */
static svit_status read_member(const sv_field_struct *structs, size_t count, const char *noun,
                               const sv_json_value *member, bool reals, svit_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const sv_field *field = sv_fields_find_key(structs[i].table, member->key);
        if (field && (field->kind == SV_FIELD_REALS) != reals)
            return SVIT_OK;
        if (field)
            return sv_field_from_json(field, structs[i].config, member, err);
    }
    const char *array = array_counted_by(structs, count, member->key);
    if (array)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "'%.64s' is no field of %s; it follows from the length of '%s'", member->key,
                       noun, array);
    const char *similar = most_similar_key(structs, count, member->key);
    return sv_fail(err, SVIT_E_ARGUMENT, "'%.64s' is no field of %s%s%s%s", member->key, noun,
                   similar ? "; did you mean '" : "", similar ? similar : "", similar ? "'?" : "");
}

static svit_status read_members(const sv_field_struct *structs, size_t count, const char *noun,
                                const sv_json_value *object, svit_error *err)
{
    svit_status status = SVIT_OK;
    for (int reals = 0; reals < 2; reals++) {
        const sv_json_value *member = object + 1;
        for (size_t i = 0; i < object->count && status == SVIT_OK; i++, member = member->after)
            status = read_member(structs, count, noun, member, reals, err);
    }
    if (status != SVIT_OK && count == 1 && structs->table->prefix)
        return sv_fail_in(err, status, structs->table->prefix);
    return status;
}

svit_status sv_fields_from_json(const sv_field_table *table, void *config,
                                const sv_json_value *object, svit_error *err)
{
    const sv_field_struct one = {table, config};
    return read_members(&one, 1, table->noun, object, err);
}

svit_status sv_fields_of_structs_from_text(const sv_field_struct *structs, size_t count,
                                           const char *noun, const char *text, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    sv_allocator allocator = sv_allocator_default();
    sv_json *json;
    SVIT_TRY(sv_json_parse_object(&json, &allocator, text, strlen(text), noun, err));
    svit_status status = read_members(structs, count, noun, sv_json_root(json), err);
    sv_json_free(json);
    return status;
}
