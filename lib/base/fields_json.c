/* Reads configuration structs from JSON objects and writes them, by the tables of their fields. */
#include "base/fields.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NAME = 64 }; /* characters of an unknown name that are compared with the known ones */

static const char *key_of(const sv_field *field)
{
    return field->key ? field->key : field->name;
}

static svit_status fail_kind(const sv_field *field, const char *wanted, svit_error *err)
{
    return sv_fail(err, SVIT_E_ARGUMENT, "%s is not %s", key_of(field), wanted);
}

static svit_status read_u32(const sv_field *field, uint32_t *out, const sv_json_value *value,
                            svit_error *err)
{
    double number;
    if (value->kind != SV_JSON_INTEGER || !sv_json_number(value, &number))
        return fail_kind(field, "a whole number", err);
    SVIT_TRY(sv_field_check_number(field, key_of(field), number, err));
    *out = (uint32_t)number;
    return SVIT_OK;
}

static svit_status read_u64(const sv_field *field, uint64_t *out, const sv_json_value *value,
                            svit_error *err)
{
    return sv_json_u64(value, out) ? SVIT_OK
                                   : fail_kind(field, "a whole number from 0 to 2^64 - 1", err);
}

static svit_status read_real(const sv_field *field, double *out, const sv_json_value *value,
                             svit_error *err)
{
    double number;
    if (!sv_json_number(value, &number))
        return fail_kind(field, "a number", err);
    SVIT_TRY(sv_field_check_number(field, key_of(field), number, err));
    *out = number;
    return SVIT_OK;
}

static svit_status read_triple(const sv_field *field, double out[3], const sv_json_value *value,
                               svit_error *err)
{
    if (value->kind != SV_JSON_ARRAY || value->count != 3)
        return fail_kind(field, "an array of three numbers", err);
    const sv_json_value *element = value + 1;
    for (size_t i = 0; i < 3; i++, element = element->after)
        SVIT_TRY(read_real(field, &out[i], element, err));
    return SVIT_OK;
}

static svit_status read_list(const sv_field *field, void *config, const sv_json_value *value,
                             svit_error *err)
{
    uint32_t *list = (uint32_t *)(void *)((char *)config + field->offset);
    if (value->kind != SV_JSON_ARRAY || value->count < field->min_count ||
        value->count > field->max_count)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s is not an array of %" PRIu32 " to %" PRIu32 " whole numbers",
                       key_of(field), field->min_count, field->max_count);
    uint32_t count = (uint32_t)value->count;
    memset(list, 0, field->max_count * sizeof *list);
    memcpy((char *)config + field->count_offset, &count, sizeof count);
    const sv_json_value *element = value + 1;
    for (uint32_t i = 0; i < count; i++, element = element->after)
        SVIT_TRY(read_u32(field, &list[i], element, err));
    return SVIT_OK;
}

static svit_status read_word(const sv_field *field, int32_t *out, const sv_json_value *value,
                             svit_error *err)
{
    char words[SV_FIELD_RANGE_TEXT];
    const char *text = sv_json_text(value);
    if (!text)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s is not text; it is %s", key_of(field),
                       sv_field_words_text(field, words));
    for (int32_t i = 0; i < SV_FIELD_WORDS && field->words[i]; i++)
        if (strcmp(field->words[i], text) == 0) {
            *out = i;
            return SVIT_OK;
        }
    return sv_fail(err, SVIT_E_ARGUMENT, "%s is '%.40s'; it is %s", key_of(field), text,
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
    if (value->kind != SV_JSON_TRUE && value->kind != SV_JSON_FALSE)
        return fail_kind(field, "true or false", err);
    *out = value->kind == SV_JSON_TRUE;
    return SVIT_OK;
}

svit_status sv_field_from_json(const sv_field *field, void *config, const sv_json_value *value,
                               svit_error *err)
{
    void *out = (char *)config + field->offset;
    int32_t word;
    switch (field->kind) {
    case SV_FIELD_U32:
        return read_u32(field, out, value, err);
    case SV_FIELD_U64:
        return read_u64(field, out, value, err);
    case SV_FIELD_WORD:
        return read_word(field, out, value, err);
    case SV_FIELD_FLAG:
        return read_flag(field, out, value, err);
    case SV_FIELD_REAL:
        return read_real(field, out, value, err);
    case SV_FIELD_TRIPLE:
        return read_triple(field, out, value, err);
    case SV_FIELD_LIST:
        return read_list(field, config, value, err);
    case SV_FIELD_SET:
        return read_set(field, out, value, err);
    case SV_FIELD_CONSTANT:
        return read_word(field, &word, value, err);
    case SV_FIELD_TEXT:
        break;
    }
    return sv_fail(
        err, SVIT_E_ARGUMENT,
        "%s is a string that the struct only points to, so it is not read from JSON; set "
        "the field itself",
        key_of(field));
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

/* The key of any of the structs that is most similar to `key`. */
static const char *most_similar_key(const sv_field_struct *structs, size_t count, const char *key)
{
    const char *found = "";
    size_t min = SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < structs[i].table->count; j++) {
            const char *known = key_of(&structs[i].table->fields[j]);
            size_t distance = edit_distance(key, known);
            if (distance < min) {
                min = distance;
                found = known;
            }
        }
    return found;
}

static svit_status read_member(const sv_field_struct *structs, size_t count, const char *noun,
                               const sv_json_value *member, svit_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const sv_field *field = sv_fields_find_key(structs[i].table, member->key);
        if (field)
            return sv_field_from_json(field, structs[i].config, member, err);
    }
    return sv_fail(err, SVIT_E_ARGUMENT, "'%.64s' is no field of %s; did you mean '%s'?",
                   member->key, noun, most_similar_key(structs, count, member->key));
}

static svit_status read_members(const sv_field_struct *structs, size_t count, const char *noun,
                                const sv_json_value *object, svit_error *err)
{
    const sv_json_value *member = object + 1;
    for (size_t i = 0; i < object->count; i++, member = member->after)
        SVIT_TRY(read_member(structs, count, noun, member, err));
    return SVIT_OK;
}

svit_status sv_fields_from_json(const sv_field_table *table, void *config,
                                const sv_json_value *object, svit_error *err)
{
    sv_field_struct one = {table, config};
    svit_status status = read_members(&one, 1, table->noun, object, err);
    if (status != SVIT_OK && table->prefix)
        return sv_fail_in(err, status, table->prefix);
    return status;
}

svit_status sv_fields_from_text(const sv_field_table *table, void *config, const char *text,
                                svit_error *err)
{
    sv_allocator allocator = sv_allocator_default();
    sv_json *json;
    SVIT_TRY(sv_json_parse_object(&json, &allocator, text, strlen(text), table->noun, err));
    svit_status status = sv_fields_from_json(table, config, sv_json_root(json), err);
    sv_json_free(json);
    return status;
}

svit_status sv_fields_of_structs_from_text(const sv_field_struct *structs, size_t count,
                                           const char *noun, const char *text, svit_error *err)
{
    sv_allocator allocator = sv_allocator_default();
    sv_json *json;
    SVIT_TRY(sv_json_parse_object(&json, &allocator, text, strlen(text), noun, err));
    svit_status status = read_members(structs, count, noun, sv_json_root(json), err);
    sv_json_free(json);
    return status;
}

static void put_list(const sv_field *field, const void *config, sv_json_writer *writer)
{
    uint32_t count, element;
    memcpy(&count, (const char *)config + field->count_offset, sizeof count);
    sv_json_begin(writer, '[');
    for (uint32_t i = 0; i < count; i++) {
        memcpy(&element, (const char *)config + field->offset + i * sizeof element, sizeof element);
        sv_json_put_u64(writer, element);
    }
    sv_json_end(writer, ']');
}

static void put_triple(const double triple[3], sv_json_writer *writer)
{
    sv_json_begin(writer, '[');
    for (size_t i = 0; i < 3; i++)
        sv_json_put_real(writer, triple[i]);
    sv_json_end(writer, ']');
}

static void put_set(const sv_field *field, uint32_t set, sv_json_writer *writer)
{
    sv_json_begin(writer, '[');
    for (uint32_t i = 0; i < SV_FIELD_WORDS && field->words[i]; i++)
        if (set >> i & 1)
            sv_json_put_text(writer, field->words[i]);
    sv_json_end(writer, ']');
}

static void put_field(const sv_field *field, const void *config, sv_json_writer *writer)
{
    const void *from = (const char *)config + field->offset;
    switch (field->kind) {
    case SV_FIELD_U32:
        sv_json_put_u64(writer, *(const uint32_t *)from);
        break;
    case SV_FIELD_U64:
        sv_json_put_u64(writer, *(const uint64_t *)from);
        break;
    case SV_FIELD_WORD:
        sv_json_put_text(writer, field->words[*(const int32_t *)from]);
        break;
    case SV_FIELD_FLAG:
        sv_json_put_flag(writer, *(const int32_t *)from != 0);
        break;
    case SV_FIELD_REAL:
        sv_json_put_real(writer, *(const double *)from);
        break;
    case SV_FIELD_TRIPLE:
        put_triple(from, writer);
        break;
    case SV_FIELD_LIST:
        put_list(field, config, writer);
        break;
    case SV_FIELD_SET:
        put_set(field, *(const uint32_t *)from, writer);
        break;
    case SV_FIELD_CONSTANT:
        sv_json_put_text(writer, field->words[0]);
        break;
    case SV_FIELD_TEXT:
        sv_json_put_text(writer, *(const char *const *)from);
        break;
    }
}

static void put_fields(const sv_field_table *table, const void *config, sv_json_writer *writer)
{
    for (size_t i = 0; i < table->count; i++) {
        const sv_field *field = &table->fields[i];
        const void *from = (const char *)config + field->offset;
        if (field->kind == SV_FIELD_TEXT && !*(const char *const *)from)
            continue;
        sv_json_put_key(writer, key_of(field));
        put_field(field, config, writer);
    }
}

void sv_fields_to_json(const sv_field_table *table, const void *config, sv_json_writer *writer)
{
    sv_json_begin(writer, '{');
    put_fields(table, config, writer);
    sv_json_end(writer, '}');
}

svit_status sv_fields_of_structs_to_buffer(const sv_field_struct *structs, size_t count,
                                           const char *noun, char *buffer, size_t capacity,
                                           size_t *needed, svit_error *err)
{
    sv_allocator allocator = sv_allocator_default();
    sv_json_writer writer = sv_json_writer_make(&allocator);
    sv_json_begin(&writer, '{');
    for (size_t i = 0; i < count; i++)
        put_fields(structs[i].table, structs[i].config, &writer);
    sv_json_end(&writer, '}');
    return sv_json_writer_finish(&writer, noun, buffer, capacity, needed, err);
}

/* The kind of a field's JSON value, for readers of svit_config_fields. */
static const char *type_name(sv_field_kind kind)
{
    static const char *const NAMES[] = {
        [SV_FIELD_U32] = "integer", [SV_FIELD_U64] = "integer", [SV_FIELD_WORD] = "word",
        [SV_FIELD_FLAG] = "flag",   [SV_FIELD_REAL] = "number", [SV_FIELD_TRIPLE] = "3 numbers",
        [SV_FIELD_LIST] = "list",   [SV_FIELD_SET] = "words",   [SV_FIELD_CONSTANT] = "word",
        [SV_FIELD_TEXT] = "text",
    };
    return NAMES[kind];
}

/* The range of a number without an upper limit: "above 0" or "at least 0". */
static const char *limit_text(const sv_field *field, char text[SV_FIELD_RANGE_TEXT])
{
    snprintf(text, SV_FIELD_RANGE_TEXT, field->min_is_open ? "above %g" : "at least %g",
             field->min);
    return text;
}

/* What a field accepts, as text: its words, or its range. */
static const char *accepted_text(const sv_field *field, char text[SV_FIELD_RANGE_TEXT])
{
    switch (field->kind) {
    case SV_FIELD_FLAG:
        return "true or false";
    case SV_FIELD_U64:
        return "0..2^64 - 1";
    case SV_FIELD_WORD:
    case SV_FIELD_SET:
    case SV_FIELD_CONSTANT:
        return sv_field_words_text(field, text);
    default:
        if (field->min > -DBL_MAX && field->max >= FLT_MAX)
            return limit_text(field, text);
        return sv_field_range_text(field, text) + strlen("it is ");
    }
}

void sv_fields_describe(const sv_field_table *table, const void *defaults, sv_json_writer *writer)
{
    char text[SV_FIELD_RANGE_TEXT];
    for (size_t i = 0; i < table->count; i++) {
        const sv_field *field = &table->fields[i];
        if (field->kind == SV_FIELD_TEXT)
            continue;
        sv_json_begin(writer, '{');
        sv_json_put_key(writer, "name");
        sv_json_put_text(writer, key_of(field));
        sv_json_put_key(writer, "type");
        sv_json_put_text(writer, type_name(field->kind));
        sv_json_put_key(writer, "accepted");
        sv_json_put_text(writer, accepted_text(field, text));
        sv_json_put_key(writer, "default");
        put_field(field, defaults, writer);
        sv_json_end(writer, '}');
    }
}

svit_status sv_fields_to_buffer(const sv_field_table *table, const void *config, char *buffer,
                                size_t capacity, size_t *needed, svit_error *err)
{
    sv_allocator allocator = sv_allocator_default();
    sv_json_writer writer = sv_json_writer_make(&allocator);
    sv_fields_to_json(table, config, &writer);
    return sv_json_writer_finish(&writer, table->noun, buffer, capacity, needed, err);
}
