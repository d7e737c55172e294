/* The one door to JSON: a strict reader and a writer (RFC 8259), both on the caller's allocator.
 * The library has its own because those that it could link to lose a failed allocation (jansson
 * while it writes, yajl while it grows its buffer) or keep their allocator in a global (cJSON): a
 * file would be saved without a tensor and nobody would know. */
#ifndef SV_JSON_H
#define SV_JSON_H

#include "base/memory.h"
#include "base/status.h"

#include <stdbool.h>

typedef enum sv_json_kind {
    SV_JSON_NULL,
    SV_JSON_FALSE,
    SV_JSON_TRUE,
    SV_JSON_INTEGER, /* a number without fraction and exponent, in -2^63..2^64 - 1 */
    SV_JSON_REAL,    /* any other number, rounded to the nearest double */
    SV_JSON_TEXT,
    SV_JSON_ARRAY,
    SV_JSON_OBJECT
} sv_json_kind;

/* A value of a parsed text. What an array or an object holds follows it: value + 1 is the first of
 * `count` elements or members, and `after` of each is the next. */
typedef struct sv_json_value {
    sv_json_kind kind;
    bool negative;   /* of an integer */
    const char *key; /* of a member; else NULL */
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

/* Parses text[bytes], all of it, in one allocation, which the caller frees with sv_json_free.
 * SVIT_E_FORMAT names `what`, the problem and the byte: also for NUL bytes, text that is not UTF-8,
 * surrogates that are no pair, keys that an object has twice, numbers that do not fit, and more
 * than SV_JSON_DEPTH arrays and objects within each other. SVIT_E_MEMORY. */
enum { SV_JSON_DEPTH = 64 };
svit_status sv_json_parse(sv_json **out, const sv_allocator *allocator, const char *text,
                          size_t bytes, const char *what, svit_error *err);

/* The same; any other value than an object is SVIT_E_FORMAT. */
svit_status sv_json_parse_object(sv_json **out, const sv_allocator *allocator, const char *text,
                                 size_t bytes, const char *what, svit_error *err);

/* NULL allowed. */
void sv_json_free(sv_json *json);

/* The value of the whole text. Values live as long as `json`. */
const sv_json_value *sv_json_root(const sv_json *json);

/* The member of an object that has the key; NULL if there is none, or `object` is NULL or no
 * object. Takes log(members) steps. */
const sv_json_value *sv_json_get(const sv_json_value *object, const char *key);

/* NULL unless `value` is a text; NULL allowed. */
const char *sv_json_text(const sv_json_value *value);

/* false, with *out unchanged, unless `value` is an integer that fits, or a number; NULL allowed. */
bool sv_json_i64(const sv_json_value *value, int64_t *out);
bool sv_json_u64(const sv_json_value *value, uint64_t *out);
bool sv_json_number(const sv_json_value *value, double *out);

/* A growing text. The first failure stays in `status` and makes all that follows do nothing. Commas
 * are set by the writer. */
typedef struct sv_json_writer {
    const sv_allocator *allocator;
    char *text; /* NUL-terminated once something is in it */
    size_t length, capacity;
    svit_status status;
} sv_json_writer;

/* What `text` holds is freed by sv_json_writer_free, after a failure too. */
sv_json_writer sv_json_writer_make(const sv_allocator *allocator);
void sv_json_writer_free(sv_json_writer *writer);

/* '{', '[' and '}', ']' */
void sv_json_begin(sv_json_writer *writer, char bracket);
void sv_json_end(sv_json_writer *writer, char bracket);

void sv_json_put_key(sv_json_writer *writer, const char *key);
void sv_json_put_text(sv_json_writer *writer, const char *text); /* SVIT_E_ARGUMENT: no UTF-8 */
void sv_json_put_i64(sv_json_writer *writer, int64_t value);
void sv_json_put_u64(sv_json_writer *writer, uint64_t value);
void sv_json_put_flag(sv_json_writer *writer, bool value);
void sv_json_put_raw(sv_json_writer *writer, const char *json); /* a JSON text as it is */

/* The shortest decimal that reads back to the same bits, in any locale; SVIT_E_NUMERIC if the value
 * is not finite. */
void sv_json_put_real(sv_json_writer *writer, double value);

/* The writer's status, with a message that names `what`. */
svit_status sv_json_writer_status(const sv_json_writer *writer, const char *what, svit_error *err);

/* Copies `text` to the caller's buffer by the rules of svit_context_describe. */
svit_status sv_text_to_buffer(const char *text, char *buffer, size_t capacity, size_t *needed,
                              svit_error *err);

/* The same of what the writer holds, or its failure; frees the writer. */
svit_status sv_json_writer_finish(sv_json_writer *writer, const char *what, char *buffer,
                                  size_t capacity, size_t *needed, svit_error *err);

#endif
