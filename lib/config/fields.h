/* Tables that describe the fields of configuration structs. One description serves to check the
 * values, to read them from JSON and to write them to JSON. */
#ifndef SV_FIELDS_H
#define SV_FIELDS_H

#include "config/json.h"

#include <stddef.h>

typedef enum sv_field_kind {
    SV_FIELD_U32,      /* uint32_t: an integer in a range */
    SV_FIELD_U64,      /* uint64_t: any integer */
    SV_FIELD_WORD,     /* int32_t: the index of one of `words` */
    SV_FIELD_FLAG,     /* int32_t: true or false */
    SV_FIELD_REAL,     /* double */
    SV_FIELD_PAIR,     /* double[2]: an array of two numbers */
    SV_FIELD_REALS,    /* double[]: an array of as many numbers as another uint32_t field says */
    SV_FIELD_LIST,     /* uint32_t[]: an array of integers, counted by another uint32_t field */
    SV_FIELD_SET,      /* uint32_t: an array of words, stored as the sum of 1 << index */
    SV_FIELD_CONSTANT, /* not in the struct: always words[0], for other readers of the JSON */
    SV_FIELD_TEXT,     /* const char *: neither written nor read */
    SV_FIELD_CHARS,    /* char[]: a text of at most max_count - 1 bytes */
    SV_FIELD_ELEMENTS  /* an array of structs, counted by another uint32_t field */
} sv_field_kind;

/* The words of a field by index, with NULL after the last. */
enum { SV_FIELD_WORDS = 16 };
typedef const char *const sv_words[SV_FIELD_WORDS + 1];

/* How an element of SV_FIELD_ELEMENTS is read, written and checked. */
typedef struct sv_field_elements {
    const char *noun; /* of several elements: "parameter groups" */
    size_t bytes;     /* of an element */
    /* Sets a cleared element from a JSON value. SVIT_E_ARGUMENT. */
    svit_status (*read)(void *element, const sv_json_value *value, svit_error *err);
    void (*write)(const void *element, sv_json_writer *writer);
    svit_status (*check)(const void *element, svit_error *err);
} sv_field_elements;

typedef struct sv_field {
    const char *name;         /* the struct's member */
    const char *key;          /* the JSON key; NULL: the name */
    const char *const *words; /* an sv_words; NULL: it has none */
    double min;               /* of an integer, a real, or an element of a list or array */
    double max;               /* DBL_MAX: any finite number */
    const char *count_name; /* arrays of any size: the field that holds the count, and its range */
    const sv_field_elements *elements; /* SV_FIELD_ELEMENTS */
    uint32_t min_count, max_count;
    uint32_t one_above; /* with a larger count the array has one value, which is that of all; 0: it
                           has as many as the count */
    uint16_t offset, count_offset;
    sv_field_kind kind;
    bool min_is_open; /* above `min`; otherwise at least `min` */
    bool max_is_open; /* below `max`; otherwise at most `max` */
    bool is_optional; /* elements: left out of files if there are none, as older versions write and
                         read them */
} sv_field;

typedef struct sv_field_table {
    const char *type;   /* "svit_model_config" */
    const char *noun;   /* in messages: "a model configuration" */
    const char *prefix; /* put before messages; NULL: none */
    const sv_field *fields;
    size_t count;
} sv_field_table;

/* One of several structs whose fields share one JSON object. No key is in two of them. */
typedef struct sv_field_struct {
    const sv_field_table *table;
    void *config;
} sv_field_struct;

/* Begins the description of a field: {SV_FIELD(svit_model_config, dim, U32), .min = 1, ...} */
#define SV_FIELD(type, member, which)                                                              \
    .name = #member, .offset = offsetof(type, member), .kind = SV_FIELD_##which

/* The JSON key of a field. */
const char *sv_field_key(const sv_field *field);

/* The number of a field's words. */
uint32_t sv_field_word_count(const sv_field *field);

/* Whether the field is an array of values. */
bool sv_field_is_array(const sv_field *field);

/* The number of values that the array has in `config`; 1 if the field is no array. */
uint32_t sv_field_count(const sv_field *field, const void *config);

/* Whether the array has one value in `config`, which is that of all that its count says. */
bool sv_field_is_of_all(const sv_field *field, const void *config);

/* Bytes of the field's value, or of one value of an array; 0 of SV_FIELD_CONSTANT and
 * SV_FIELD_TEXT. */
size_t sv_field_bytes(const sv_field *field);

/* Finds a field by its JSON key. NULL if there is none. */
const sv_field *sv_fields_find_key(const sv_field_table *table, const char *key);

/* Finds a field by the name of the struct's member. NULL if there is none. */
const sv_field *sv_fields_find_member(const sv_field_table *table, const char *name);

/* SVIT_E_ARGUMENT if a field is out of its range. The message names the field, its value and what
 * is accepted. */
svit_status sv_fields_check(const sv_field_table *table, const void *config, svit_error *err);

/* Writes the smallest and the largest double that a SV_FIELD_REAL accepts. */
void sv_field_bounds(const sv_field *field, double *min, double *max);

/* Returns the name of the first field that differs between a and b, NULL if there is none. */
const char *sv_fields_difference(const sv_field_table *table, const void *a, const void *b);

/* Sets one field from a JSON value. SVIT_E_ARGUMENT if the value is out of range or of the wrong
 * kind. The count of SV_FIELD_REALS is already in `config`. */
svit_status sv_field_from_json(const sv_field *field, void *config, const sv_json_value *value,
                               svit_error *err);

/* Sets the fields that the JSON object has, SV_FIELD_REALS after those that hold their counts. The
 * other fields keep their values in `config`.
 * SVIT_E_ARGUMENT if a member is unknown, with a suggestion of the most similar key. */
svit_status sv_fields_from_json(const sv_field_table *table, void *config,
                                const sv_json_value *object, svit_error *err);

/* Parses the JSON object `text` and sets the fields of several structs: each member sets the one
 * field that has its key. `noun` names the object in messages. SVIT_E_FORMAT if the text is not a
 * JSON object. */
svit_status sv_fields_of_structs_from_text(const sv_field_struct *structs, size_t count,
                                           const char *noun, const char *text, svit_error *err);

/* Appends the members of a JSON object for all fields. */
void sv_fields_put(const sv_field_table *table, const void *config, sv_json_writer *writer);

/* Writes a JSON object for a file: of all fields but optional ones without elements. `config` has
 * passed sv_fields_check. */
void sv_fields_to_json(const sv_field_table *table, const void *config, sv_json_writer *writer);

/* Writes one JSON object of all fields of several structs to buffer[capacity], and the bytes that
 * it needs, with its NUL, to *needed unless that is NULL. SVIT_E_ARGUMENT if it does not fit; a
 * capacity of 0 asks for *needed alone. SVIT_E_MEMORY. */
svit_status sv_fields_of_structs_to_buffer(const sv_field_struct *structs, size_t count,
                                           const char *noun, char *buffer, size_t capacity,
                                           size_t *needed, svit_error *err);

/* Appends an object {"name", "type", "accepted", "default"} for each field that JSON can set. The
 * default is the field's value in `defaults`; the others are texts. */
void sv_fields_describe(const sv_field_table *table, const void *defaults, sv_json_writer *writer);

enum { SV_FIELD_RANGE_TEXT = 192, SV_FIELD_NUMBER_TEXT = 40 };

/* Writes the accepted words for a message: "'true' or 'keras'". Returns `text`. */
const char *sv_field_words_text(const sv_field *field, char text[SV_FIELD_RANGE_TEXT]);

/* Writes the accepted range for a message: "it is in (0, 1]". Returns `text`. */
const char *sv_field_range_text(const sv_field *field, char text[SV_FIELD_RANGE_TEXT]);

/* Writes a value for a message, without a trailing ".0". Returns `text`. */
const char *sv_field_number_text(char text[SV_FIELD_NUMBER_TEXT], double value);

/* SVIT_E_ARGUMENT unless `value` is in the field's range. The message calls the value `label`. */
svit_status sv_field_check_number(const sv_field *field, const char *label, double value,
                                  svit_error *err);

#endif
