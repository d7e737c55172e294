/* Configuration structs of the public API: their defaults, how they are exchanged with callers that
 * were compiled against an older or a newer header, and their JSON forms. A struct is described
 * once, by its sv_config_type, and all else follows from that. */
#ifndef SV_CONFIG_H
#define SV_CONFIG_H

#include "config/fields.h"

/* A configuration struct, which may grow at its end in later versions. Its first field is the
 * uint32_t struct_size. */
typedef struct sv_config_type {
    sv_field_table table; /* its type, and its fields if they are described */
    size_t size;          /* of the struct in this version */
    size_t min_size;      /* of the struct in the first released version; 0: `size` */
    size_t reserved;      /* offset of a uint32_t that callers leave 0; 0: there is none */
    const void *defaults; /* such a struct, whose struct_size is not read; NULL: all fields are 0 */

    /* Sets those that are not 0, in the place of `defaults`: of a large struct with a few numbers.
     * NULL: there is none. */
    void (*set_defaults)(void *config);

    bool null_is_default; /* a caller may pass NULL, which means the defaults */

    /* Checks what one field allows another, once all are in their ranges; NULL: anything.
     * SVIT_E_ARGUMENT names the field. */
    svit_status (*check)(const void *config, svit_error *err);

    /* The next two are for a struct whose fields depend on the value of one of them, which alone is
     * in `table`; else they are NULL. This one returns the table of all fields of the struct. */
    const sv_field_table *(*fields_of)(const void *config);

    /* Sets the fields that a JSON object has, and the others to the defaults that it implies. */
    svit_status (*read)(void *config, const sv_json_value *object, svit_error *err);
} sv_config_type;

/* Begins the description of a struct: {SV_CONFIG_STRUCT(svit_context_config), .check = ...} */
#define SV_CONFIG_STRUCT(name) .table.type = #name, .size = sizeof(name)

/* The same for a struct whose fields are described by the array `list` of sv_field. `what` is the
 * struct's noun in messages. */
#define SV_CONFIG(name, list, what)                                                                \
    SV_CONFIG_STRUCT(name), .table.noun = (what), .table.fields = (list),                          \
                            .table.count = sizeof(list) / sizeof *(list)

/* Writes the defaults to *local. */
void sv_config_defaults(const sv_config_type *type, void *local);

/* Copies a caller's struct over the defaults to *local and checks it. Fields that the caller's
 * version lacks keep their defaults. SVIT_E_ARGUMENT if struct_size is too small or a field is
 * refused. SVIT_E_VERSION if the caller sets a byte that this version does not know. Unless
 * `config` is NULL or its struct_size is refused, *local has the caller's fields even then. */
svit_status sv_config_read(const sv_config_type *type, void *local, const void *config,
                           svit_error *err);

/* Checks every field of a struct of this version. SVIT_E_VERSION if `reserved` is not 0. */
svit_status sv_config_check(const sv_config_type *type, const void *local, svit_error *err);

/* SVIT_E_VERSION if a caller's struct of `size` bytes lacks a field that is not at its default in
 * *local, so that sv_config_read of it would not give *local back. `local` has been checked.
 * SVIT_E_ARGUMENT if `size` is below 4 bytes or above 64 KiB. */
svit_status sv_config_check_room(const sv_config_type *type, size_t size, const void *local,
                                 svit_error *err);

/* Copies *local to the caller's struct of `size` bytes, which becomes its struct_size. Bytes that
 * this version does not know are cleared. SVIT_E_ARGUMENT if `config` is NULL, and the errors of
 * sv_config_check_room. */
svit_status sv_config_write(const sv_config_type *type, void *config, size_t size,
                            const void *local, svit_error *err);

/* Sets *local from the JSON object `json`, with defaults for the fields that it lacks, and checks
 * it. SVIT_E_FORMAT if the text is no JSON object. */
svit_status sv_config_from_json(const sv_config_type *type, void *local, const char *json,
                                svit_error *err);

/* Writes the JSON object of a struct that has been checked to buffer[capacity], and the bytes that
 * it needs, with its NUL, to *needed unless that is NULL. SVIT_E_ARGUMENT if it does not fit; a
 * capacity of 0 asks for *needed alone. SVIT_E_MEMORY. */
svit_status sv_config_to_json(const sv_config_type *type, const void *local, char *buffer,
                              size_t capacity, size_t *needed, svit_error *err);

/* Returns the name of the first field that differs between two checked structs, NULL if there is
 * none. */
const char *sv_config_difference(const sv_config_type *type, const void *a, const void *b);

/* Bytes that a struct of this version may have: sv_config_check_room has one on its stack. */
enum { SV_CONFIG_MAX_BYTES = 4096 };

/* Define public functions of the struct `name`: SV_CONFIG_INIT only name_init, SV_CONFIG_FUNCTIONS
 * name_from_json and name_to_json as well. */
#define SV_CONFIG_INIT(name, type)                                                                 \
    _Static_assert(sizeof(name) <= SV_CONFIG_MAX_BYTES,                                            \
                   #name " is larger than SV_CONFIG_MAX_BYTES");                                   \
    SVIT_API svit_status name##_init(name *config, size_t size)                                    \
    {                                                                                              \
        name local;                                                                                \
        sv_config_defaults(&(type), &local);                                                       \
        return sv_config_write(&(type), config, size, &local, NULL);                               \
    }
#define SV_CONFIG_FUNCTIONS(name, type)                                                            \
    SV_CONFIG_INIT(name, type)                                                                     \
    SVIT_API svit_status name##_from_json(name *config, size_t size, const char *json,             \
                                          svit_error *err)                                         \
    {                                                                                              \
        SV_REQUIRE(config);                                                                        \
        SV_REQUIRE(json);                                                                          \
        name local;                                                                                \
        SVIT_TRY(sv_config_from_json(&(type), &local, json, err));                                 \
        return sv_config_write(&(type), config, size, &local, err);                                \
    }                                                                                              \
    SVIT_API svit_status name##_to_json(const name *config, char *buffer, size_t capacity,         \
                                        size_t *needed, svit_error *err)                           \
    {                                                                                              \
        SV_REQUIRE(config);                                                                        \
        name local;                                                                                \
        SVIT_TRY(sv_config_read(&(type), &local, config, err));                                    \
        return sv_config_to_json(&(type), &local, buffer, capacity, needed, err);                  \
    }

/* SVIT_E_ARGUMENT unless sv_config_export accepts `size`. `local_size` and `type` are for the
 * message. */
svit_status sv_config_check_size(size_t size, size_t local_size, const char *type, svit_error *err);

/* SVIT_E_VERSION if the caller's struct of `size` bytes, of the type `type`, has another byte than
 * 0 behind the first local_size. */
svit_status sv_config_check_end(const void *in, size_t size, size_t local_size, const char *type,
                                svit_error *err);

/* Copies *local, of local_size bytes, to the caller's struct of `size` bytes as sv_config_write
 * does, for structs without an sv_config_type, such as events. `type` names it in messages. */
svit_status sv_config_export(void *out, size_t size, const void *local, size_t local_size,
                             const char *type, svit_error *err);

#endif
