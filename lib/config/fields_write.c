/* Writes configuration structs and descriptions of their fields as JSON. */
#include "config/fields.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

static void put_set(const sv_field *field, uint32_t set, sv_json_writer *writer)
{
    sv_json_begin(writer, '[');
    for (uint32_t i = 0; i < sv_field_word_count(field); i++)
        if (set >> i & 1)
            sv_json_put_text(writer, field->words[i]);
    sv_json_end(writer, ']');
}

static void put_value(const sv_field *field, const void *value, sv_json_writer *writer)
{
    switch (field->kind) {
    case SV_FIELD_U32:
    case SV_FIELD_LIST:
        sv_json_put_u64(writer, *(const uint32_t *)value);
        break;
    case SV_FIELD_U64:
        sv_json_put_u64(writer, *(const uint64_t *)value);
        break;
    case SV_FIELD_WORD:
        sv_json_put_text(writer, field->words[*(const int32_t *)value]);
        break;
    case SV_FIELD_FLAG:
        sv_json_put_flag(writer, *(const int32_t *)value != 0);
        break;
    case SV_FIELD_REAL:
    case SV_FIELD_PAIR:
    case SV_FIELD_REALS:
        sv_json_put_real(writer, *(const double *)value);
        break;
    case SV_FIELD_SET:
        put_set(field, *(const uint32_t *)value, writer);
        break;
    case SV_FIELD_CONSTANT:
        sv_json_put_text(writer, field->words[0]);
        break;
    case SV_FIELD_TEXT:
        break;
    case SV_FIELD_CHARS:
        sv_json_put_text(writer, value);
        break;
    case SV_FIELD_ELEMENTS:
        field->elements->write(value, writer);
        break;
    }
}

static void put_field(const sv_field *field, const void *config, sv_json_writer *writer)
{
    const char *value = (const char *)config + field->offset;
    if (!sv_field_is_array(field)) {
        put_value(field, value, writer);
        return;
    }
    sv_json_begin(writer, '[');
    for (uint32_t i = 0; i < sv_field_count(field, config); i++)
        put_value(field, value + i * sv_field_bytes(field), writer);
    sv_json_end(writer, ']');
}

/* A text is left out, since nothing would own one that was read from JSON. */
static void put_fields(const sv_field_table *table, const void *config, bool leaves_out_empty,
                       sv_json_writer *writer)
{
    for (size_t i = 0; i < table->count; i++) {
        const sv_field *field = &table->fields[i];
        const bool is_empty = field->is_optional && sv_field_count(field, config) == 0;
        if (field->kind == SV_FIELD_TEXT || (leaves_out_empty && is_empty))
            continue;
        sv_json_put_key(writer, sv_field_key(field));
        put_field(field, config, writer);
    }
}

void sv_fields_put(const sv_field_table *table, const void *config, sv_json_writer *writer)
{
    put_fields(table, config, false, writer);
}

void sv_fields_to_json(const sv_field_table *table, const void *config, sv_json_writer *writer)
{
    sv_json_begin(writer, '{');
    put_fields(table, config, true, writer);
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
        sv_fields_put(structs[i].table, structs[i].config, &writer);
    sv_json_end(&writer, '}');
    return sv_json_writer_finish(&writer, noun, buffer, capacity, needed, err);
}

/* The kind of a field's JSON value, for readers of svit_config_fields. */
static const char *type_name(sv_field_kind kind)
{
    static const char *const NAMES[] = {
        [SV_FIELD_U32] = "integer",   [SV_FIELD_U64] = "integer", [SV_FIELD_WORD] = "word",
        [SV_FIELD_FLAG] = "flag",     [SV_FIELD_REAL] = "number", [SV_FIELD_PAIR] = "2 numbers",
        [SV_FIELD_REALS] = "numbers", [SV_FIELD_LIST] = "list",   [SV_FIELD_SET] = "words",
        [SV_FIELD_CONSTANT] = "word", [SV_FIELD_TEXT] = "text",   [SV_FIELD_CHARS] = "text",
        [SV_FIELD_ELEMENTS] = "list",
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
    case SV_FIELD_CHARS:
        return "a text";
    case SV_FIELD_ELEMENTS:
        return field->elements->noun;
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
        sv_json_put_text(writer, sv_field_key(field));
        sv_json_put_key(writer, "type");
        sv_json_put_text(writer, type_name(field->kind));
        sv_json_put_key(writer, "accepted");
        sv_json_put_text(writer, accepted_text(field, text));
        sv_json_put_key(writer, "default");
        put_field(field, defaults, writer);
        sv_json_end(writer, '}');
    }
}
