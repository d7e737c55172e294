/* Tables of the fields of configuration structs: what each may be, checked in one place, and how it
 * reads as a member of a JSON object. */
#ifndef SV_FIELDS_H
#define SV_FIELDS_H

#include "base/json.h"

#include <stddef.h>

typedef enum sv_field_kind {
    SV_FIELD_U32,      /* uint32_t: a whole number */
    SV_FIELD_U64,      /* uint64_t: a whole number; any is accepted */
    SV_FIELD_WORD,     /* int32_t: the number of one of `words` */
    SV_FIELD_FLAG,     /* int32_t: true or false */
    SV_FIELD_REAL,     /* double */
    SV_FIELD_TRIPLE,   /* double[3]: an array of three numbers */
    SV_FIELD_LIST,     /* uint32_t[]: an array of whole numbers, counted by another uint32_t */
    SV_FIELD_SET,      /* uint32_t: an array of words, the sum of 1 << number of each */
    SV_FIELD_CONSTANT, /* no field of the struct: always words[0], for other readers of the JSON */
    SV_FIELD_TEXT      /* const char *: written if it is not NULL, never read */
} sv_field_kind;

enum { SV_FIELD_WORDS = 6 };

typedef struct sv_field {
    const char *name; /* of the struct's member */
    const char *key;  /* in JSON; NULL: the name */
    size_t offset;
    sv_field_kind kind;
    uint32_t owners;                   /* 0, or the sum of 1 << value of the table's selector */
    const char *words[SV_FIELD_WORDS]; /* by value, NULL after the last */
    double min;             /* of a whole number, a real, an element of a list or triple */
    double max;             /* DBL_MAX: any finite number */
    int min_is_open;        /* 1: above `least`; 0: at least it */
    int max_is_open;        /* 1: below `greatest` */
    const char *count_name; /* SV_FIELD_LIST: the field that counts it, and its range */
    size_t count_offset;
    uint32_t min_count, max_count;
} sv_field;

typedef struct sv_field_table {
    const char *type;   /* "svit_model_config" */
    const char *noun;   /* in messages: "a model configuration" */
    const char *prefix; /* of messages about a struct or a member; NULL: none */
    const sv_field *fields;
    size_t count;
    const sv_field *selector; /* the word that says which fields apply; NULL: all do */
} sv_field_table;

/* What a table begins its fields with: FIELD(svit_model_config, dim, U32), .min = 1, ... */
#define SV_FIELD(type, member, which)                                                              \
    .name = #member, .offset = offsetof(type, member), .kind = SV_FIELD_##which

/* The field of that JSON key, or of that member; NULL if there is none. */
const sv_field *sv_fields_find_key(const sv_field_table *table, const char *key);
const sv_field *sv_fields_find_member(const sv_field_table *table, const char *name);

/* Whether the field is one of those that the selector chooses. */
bool sv_field_applies(const sv_field_table *table, const sv_field *field, const void *config);

/* SVIT_E_ARGUMENT, naming the field, its value and what is accepted, unless each field that applies
 * is in its range. */
svit_status sv_fields_check(const sv_field_table *table, const void *config, svit_error *err);

/* The least and the greatest double that a SV_FIELD_REAL accepts. */
void sv_field_bounds(const sv_field *field, double *least, double *greatest);

/* The name of the first field that applies and differs; NULL if there is none. */
const char *sv_fields_difference(const sv_field_table *table, const void *a, const void *b);

/* Sets one field from its value. SVIT_E_ARGUMENT as sv_fields_check, or if the kind is wrong. */
svit_status sv_field_from_json(const sv_field *field, void *config, const sv_json_value *value,
                               svit_error *err);

/* Sets the fields that `object` has; `config` holds the defaults. A member that is no field, or one
 * that does not apply, is SVIT_E_ARGUMENT, and named together with the nearest field. */
svit_status sv_fields_from_json(const sv_field_table *table, void *config,
                                const sv_json_value *object, svit_error *err);

/* Parses `text` and does the same; SVIT_E_FORMAT if it is no JSON object. */
svit_status sv_fields_from_text(const sv_field_table *table, void *config, const char *text,
                                svit_error *err);

/* Puts an object of all fields that apply; `config` is legal. */
void sv_fields_to_json(const sv_field_table *table, const void *config, sv_json_writer *writer);

/* Writes that object to the caller's buffer by the rules of svit_context_describe. */
svit_status sv_fields_to_buffer(const sv_field_table *table, const void *config, char *buffer,
                                size_t capacity, size_t *needed, svit_error *err);

/* Texts for messages. "'true' or 'keras'"; what is accepted of a number: "it is in (0, 1]"; a
 * number without needless digits. */
enum { SV_FIELD_RANGE_TEXT = 160, SV_FIELD_NUMBER_TEXT = 40 };
const char *sv_field_words_text(const sv_field *field, char text[SV_FIELD_RANGE_TEXT]);
const char *sv_field_range_text(const sv_field *field, char text[SV_FIELD_RANGE_TEXT]);
const char *sv_field_number_text(char text[SV_FIELD_NUMBER_TEXT], double value);

/* SVIT_E_ARGUMENT unless `value` is in the field's range. The message calls the value `label`. */
svit_status sv_field_check_number(const sv_field *field, const char *label, double value,
                                  svit_error *err);

#endif
