/* A strict JSON reader and a writer (RFC 8259), both on the caller's allocator. Existing libraries
 * do not serve: jansson and yajl do not report every failed allocation, so that a file could be
 * saved without one of its tensors, and cJSON keeps its allocator in a global. */
#ifndef SV_JSON_H
#define SV_JSON_H

#include "base/memory.h"
#include "base/status.h"

#include <stdbool.h>

typedef enum sv_json_kind {
    SV_JSON_NULL,
    SV_JSON_FALSE,
    SV_JSON_TRUE,
    SV_JSON_INTEGER, /* without fraction and exponent, in -2^63..2^64 - 1 */
    SV_JSON_REAL,    /* with fraction or exponent, rounded to the nearest double */
    SV_JSON_TEXT,
    SV_JSON_ARRAY,
    SV_JSON_OBJECT
} sv_json_kind;

/* A value of a parsed text. The elements of an array and the members of an object follow it: value
 * + 1 is the first of `count`, and `after` of each points to the next. */
typedef struct sv_json_value {
    sv_json_kind kind;
    bool negative;   /* of an integer */
    const char *key; /* of a member of an object; else NULL */
    size_t count;    /* elements or members */
    const struct sv_json_value *after;
    union {
        uint64_t magnitude; /* of an integer */
        double real;
        const char *text;                           /* UTF-8 without NUL bytes */
        const struct sv_json_value *const *members; /* of an object, in the order of their keys */
    };
} sv_json_value;

typedef struct sv_json sv_json;

/* The deepest nesting of arrays and objects that the parser accepts: that of the reference
 * implementation of safetensors. */
enum { SV_JSON_DEPTH = 127 };

/* Parses text[bytes] as one value, with one allocation, which sv_json_free releases. SVIT_E_FORMAT
 * names `what`, the problem and the byte. NUL bytes, invalid UTF-8, unpaired surrogates,
 * duplicate keys, numbers out of range and deeper nesting than SV_JSON_DEPTH are refused too.
 * SVIT_E_MEMORY if there is no memory. */
svit_status sv_json_parse(sv_json **out, const sv_allocator *allocator, const char *text,
                          size_t bytes, const char *what, svit_error *err);

/* Parses text[bytes] as sv_json_parse does. A value that is not an object is SVIT_E_FORMAT. */
svit_status sv_json_parse_object(sv_json **out, const sv_allocator *allocator, const char *text,
                                 size_t bytes, const char *what, svit_error *err);

/* What sv_json_parse_tolerant reads for an escaped NUL character: U+2400, the symbol for it. */
enum { SV_JSON_NUL = 0x2400 };

/* Parses text[bytes] as sv_json_parse_object does, and reads what other programs write and C has no
 * room for: an escaped NUL character as SV_JSON_NUL, an integer outside of 64 bits as a real. */
svit_status sv_json_parse_tolerant(sv_json **out, const sv_allocator *allocator, const char *text,
                                   size_t bytes, const char *what, svit_error *err);

/* Parses text[bytes] as sv_json_parse_tolerant does, and takes what Python's json writes for
 * numbers that are not finite, NaN, Infinity and -Infinity, for null. */
svit_status sv_json_parse_python(sv_json **out, const sv_allocator *allocator, const char *text,
                                 size_t bytes, const char *what, svit_error *err);

/* Frees a parsed text and its values. NULL is allowed. */
void sv_json_free(sv_json *json);

/* The value of the whole text. All values live as long as `json`. */
const sv_json_value *sv_json_root(const sv_json *json);

/* Finds a member of an object by its key, by binary search. NULL if there is none, or if `object`
 * is NULL or not an object. */
const sv_json_value *sv_json_get(const sv_json_value *object, const char *key);

/* Whether a value is there and of that kind, such as SV_JSON_TRUE. */
bool sv_json_is(const sv_json_value *value, sv_json_kind kind);

/* The text of a value. NULL if `value` is NULL or not a text. */
const char *sv_json_text(const sv_json_value *value);

/* Read a number. They return false, with *out unchanged, if `value` is NULL or not a number; the
 * first also if it is not an integer that fits. -0 is 0. */
bool sv_json_u64(const sv_json_value *value, uint64_t *out);
bool sv_json_number(const sv_json_value *value, double *out);

/* Builds a JSON text in a growing buffer. The writer sets the commas. After the first failure,
 * which stays in `status`, all further calls do nothing. */
typedef struct sv_json_writer {
    const sv_allocator *allocator;
    char *text; /* NUL-terminated; NULL while empty */
    size_t length, capacity;
    svit_status status;
} sv_json_writer;

/* Returns an empty writer. Release it with sv_json_writer_free, also after a failure. */
sv_json_writer sv_json_writer_make(const sv_allocator *allocator);
void sv_json_writer_free(sv_json_writer *writer);

/* Begin and end an object or array: `bracket` is '{' or '[', then '}' or ']'. */
void sv_json_begin(sv_json_writer *writer, char bracket);
void sv_json_end(sv_json_writer *writer, char bracket);

/* Append a member's key or a value. A key or text that is not UTF-8 is SVIT_E_ARGUMENT. */
void sv_json_put_key(sv_json_writer *writer, const char *key);
void sv_json_put_text(sv_json_writer *writer, const char *text);
void sv_json_put_i64(sv_json_writer *writer, int64_t value);
void sv_json_put_u64(sv_json_writer *writer, uint64_t value);
void sv_json_put_flag(sv_json_writer *writer, bool value);
void sv_json_put_raw(sv_json_writer *writer, const char *json); /* appends JSON unchanged */

/* Appends the value with the fewest of 15 to 17 digits that read back to the same bits.
 * SVIT_E_NUMERIC if it is not finite. */
void sv_json_put_real(sv_json_writer *writer, double value);

/* Returns the writer's status, with a message that names `what`. */
svit_status sv_json_writer_status(const sv_json_writer *writer, const char *what, svit_error *err);

/* Copies `text` to buffer[capacity]. *needed becomes the bytes that it needs, its NUL included;
 * needed NULL: not wanted. SVIT_E_ARGUMENT if they are more than `capacity`; but with a capacity of
 * 0, only *needed is written. */
svit_status sv_text_to_buffer(const char *text, char *buffer, size_t capacity, size_t *needed,
                              svit_error *err);

/* Copies the writer's text to the caller's buffer as sv_text_to_buffer does, or returns the
 * writer's failure. Frees the writer. */
svit_status sv_json_writer_finish(sv_json_writer *writer, const char *what, char *buffer,
                                  size_t capacity, size_t *needed, svit_error *err);

#endif
