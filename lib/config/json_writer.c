/* Writes JSON without spaces, members in the order of the calls. */
#include "base/size.h"
#include "base/text/utf8.h"
#include "config/decimal.h"
#include "config/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

sv_json_writer sv_json_writer_make(const sv_allocator *allocator)
{
    return (sv_json_writer){.allocator = allocator};
}

void sv_json_writer_free(sv_json_writer *writer)
{
    sv_release(writer->allocator, writer->text, writer->capacity);
    *writer = sv_json_writer_make(writer->allocator);
}

/* Makes room for `more` bytes and the NUL. */
static bool reserve(sv_json_writer *writer, size_t more)
{
    size_t needed;
    if (writer->status != SVIT_OK)
        return false;
    writer->status = SVIT_E_MEMORY;
    if (!sv_size_add(&needed, writer->length + 1, more))
        return false;
    if (needed > writer->capacity) {
        char *text =
            sv_enlarge(writer->allocator, writer->text, writer->length, &writer->capacity, needed);
        if (!text)
            return false;
        writer->text = text;
    }
    writer->status = SVIT_OK;
    return true;
}

static void append(sv_json_writer *writer, const char *text, size_t bytes)
{
    if (!reserve(writer, bytes))
        return;
    memcpy(writer->text + writer->length, text, bytes);
    writer->length += bytes;
    writer->text[writer->length] = '\0';
}

/* Appends the comma that a value or key needs unless it follows an opening bracket or a key. */
static void separate(sv_json_writer *writer)
{
    if (writer->status == SVIT_OK && writer->length > 0 &&
        !strchr("{[:", writer->text[writer->length - 1]))
        append(writer, ",", 1);
}

void sv_json_begin(sv_json_writer *writer, char bracket)
{
    separate(writer);
    append(writer, &bracket, 1);
}

void sv_json_end(sv_json_writer *writer, char bracket)
{
    append(writer, &bracket, 1);
}

static void append_escaped(sv_json_writer *writer, unsigned char c)
{
    static const char FROM[] = "\"\\\b\f\n\r\t", TO[] = "\"\\bfnrt";
    const char *from = strchr(FROM, c);
    char escape[8] = {'\\', from ? TO[from - FROM] : '\0'};
    if (!from)
        snprintf(escape, sizeof escape, "\\u%04x", c);
    append(writer, escape, strlen(escape));
}

void sv_json_put_text(sv_json_writer *writer, const char *text)
{
    separate(writer);
    if (writer->status == SVIT_OK && !sv_utf8_valid(text))
        writer->status = SVIT_E_ARGUMENT;
    append(writer, "\"", 1);
    while (*text) {
        size_t plain = 0;
        while ((unsigned char)text[plain] >= 0x20 && text[plain] != '"' && text[plain] != '\\')
            plain++;
        append(writer, text, plain);
        text += plain;
        if (*text)
            append_escaped(writer, (unsigned char)*text++);
    }
    append(writer, "\"", 1);
}

void sv_json_put_key(sv_json_writer *writer, const char *key)
{
    sv_json_put_text(writer, key);
    append(writer, ":", 1);
}

void sv_json_put_raw(sv_json_writer *writer, const char *json)
{
    separate(writer);
    append(writer, json, strlen(json));
}

void sv_json_put_i64(sv_json_writer *writer, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    sv_json_put_raw(writer, text);
}

void sv_json_put_u64(sv_json_writer *writer, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    sv_json_put_raw(writer, text);
}

void sv_json_put_flag(sv_json_writer *writer, bool value)
{
    sv_json_put_raw(writer, value ? "true" : "false");
}

void sv_json_put_real(sv_json_writer *writer, double value)
{
    if (!isfinite(value)) {
        if (writer->status == SVIT_OK)
            writer->status = SVIT_E_NUMERIC;
        return;
    }
    char text[SV_DECIMAL_TEXT];
    sv_json_put_raw(writer, sv_decimal_text(text, value));
}

svit_status sv_json_writer_status(const sv_json_writer *writer, const char *what, svit_error *err)
{
    switch (writer->status) {
    case SVIT_OK:
        return SVIT_OK;
    case SVIT_E_MEMORY:
        return sv_fail(err, SVIT_E_MEMORY, "no memory for %s as JSON", what);
    case SVIT_E_ARGUMENT:
        return sv_fail(err, SVIT_E_ARGUMENT, "%s: a text is not UTF-8, as JSON requires", what);
    default:
        return sv_fail(err, writer->status, "%s: a number is not finite, as JSON requires", what);
    }
}

svit_status sv_text_to_buffer(const char *text, char *buffer, size_t capacity, size_t *needed,
                              svit_error *err)
{
    size_t bytes = strlen(text) + 1;
    if (needed)
        *needed = bytes;
    if (capacity == 0)
        return SVIT_OK;
    if (!buffer)
        return sv_fail(err, SVIT_E_ARGUMENT, "buffer is NULL but capacity is %zu", capacity);
    if (capacity < bytes)
        return sv_fail(err, SVIT_E_ARGUMENT, "capacity is %zu; %zu bytes are needed", capacity,
                       bytes);
    memcpy(buffer, text, bytes);
    return SVIT_OK;
}

svit_status sv_json_writer_finish(sv_json_writer *writer, const char *what, char *buffer,
                                  size_t capacity, size_t *needed, svit_error *err)
{
    svit_status status = sv_json_writer_status(writer, what, err);
    if (status == SVIT_OK)
        status = sv_text_to_buffer(writer->text, buffer, capacity, needed, err);
    sv_json_writer_free(writer);
    return status;
}
