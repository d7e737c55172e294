/* Reads and writes the configuration structs of callers with older or newer headers. */
#include "config/config.h"

#include "base/threads/fp_env.h"

#include <shiftvit/version.h>

#include <stddef.h>
#include <string.h>

enum { MAX_SIZE = 65536 }; /* bytes that a caller's struct may have */

svit_status sv_config_check_size(size_t size, size_t local_size, const char *type, svit_error *err)
{
    if (size >= sizeof(uint32_t) && size <= MAX_SIZE)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT, "size is %zu; give sizeof(%s), %zu here", size, type,
                   local_size);
}

svit_status sv_config_export(void *out, size_t size, const void *local, size_t local_size,
                             const char *type, svit_error *err)
{
    if (!out)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s is NULL; a pointer to one is needed", type);
    SVIT_TRY(sv_config_check_size(size, local_size, type, err));
    memset(out, 0, size);
    memcpy(out, local, size < local_size ? size : local_size);
    uint32_t written = (uint32_t)size;
    memcpy(out, &written, sizeof written);
    return SVIT_OK;
}

svit_status sv_config_check_end(const void *in, size_t size, size_t local_size, const char *type,
                                svit_error *err)
{
    const unsigned char *bytes = in;
    for (size_t i = local_size; i < size; i++)
        if (bytes[i])
            return sv_fail(err, SVIT_E_VERSION,
                           "%s sets a field that version %s of the library does not know", type,
                           svit_version_string());
    return SVIT_OK;
}

/* Copies the caller's struct `in` over the defaults in *local. */
static svit_status import(const sv_config_type *type, void *local, const void *in, svit_error *err)
{
    const char *name = type->table.type;
    uint32_t size, local_size = (uint32_t)type->size;
    if (!in)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s is NULL; a pointer to one is needed", name);
    memcpy(&size, in, sizeof size);
    if (size < (type->min_size ? type->min_size : type->size) || size > MAX_SIZE)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "struct_size of %s is %u; fill it with its init function, %zu here", name,
                       (unsigned)size, type->size);
    memcpy(local, in, size < local_size ? size : local_size);
    memcpy(local, &local_size, sizeof local_size);
    return sv_config_check_end(in, size, type->size, name, err);
}

static svit_status check_reserved(const sv_config_type *type, const void *local, svit_error *err)
{
    uint32_t reserved = 0;
    if (type->reserved)
        memcpy(&reserved, (const char *)local + type->reserved, sizeof reserved);
    if (reserved == 0)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_VERSION, "reserved of %s is %u; version %s of the library takes 0",
                   type->table.type, (unsigned)reserved, svit_version_string());
}

static const sv_field_table *fields_of(const sv_config_type *type, const void *local)
{
    return type->fields_of ? type->fields_of(local) : &type->table;
}

void sv_config_defaults(const sv_config_type *type, void *local)
{
    uint32_t size = (uint32_t)type->size;
    memset(local, 0, type->size);
    if (type->set_defaults)
        type->set_defaults(local);
    else if (type->defaults)
        memcpy(local, type->defaults, type->size);
    memcpy(local, &size, sizeof size);
}

svit_status sv_config_check(const sv_config_type *type, const void *local, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SVIT_TRY(check_reserved(type, local, err));
    SVIT_TRY(sv_fields_check(&type->table, local, err));
    SVIT_TRY(type->fields_of ? sv_fields_check(type->fields_of(local), local, err) : SVIT_OK);
    return type->check ? type->check(local, err) : SVIT_OK;
}

svit_status sv_config_read(const sv_config_type *type, void *local, const void *config,
                           svit_error *err)
{
    sv_config_defaults(type, local);
    if (config || !type->null_is_default)
        SVIT_TRY(import(type, local, config, err));
    return sv_config_check(type, local, err);
}

/* Headers of an older version have a shorter struct. */
svit_status sv_config_check_room(const sv_config_type *type, size_t size, const void *local,
                                 svit_error *err)
{
    _Alignas(max_align_t) unsigned char seen[SV_CONFIG_MAX_BYTES];
    SVIT_TRY(sv_config_check_size(size, type->size, type->table.type, err));
    sv_config_defaults(type, seen);
    memcpy(seen, local, size < type->size ? size : type->size);
    const char *lost = sv_config_difference(type, local, seen);
    if (!lost)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_VERSION,
                   "%s of %zu bytes lacks the field %s, which is not at its default here; compile "
                   "the program with the headers of version %s",
                   type->table.type, size, lost, svit_version_string());
}

svit_status sv_config_write(const sv_config_type *type, void *config, size_t size,
                            const void *local, svit_error *err)
{
    SVIT_TRY(sv_config_check_room(type, size, local, err));
    return sv_config_export(config, size, local, type->size, type->table.type, err);
}

svit_status sv_config_from_json(const sv_config_type *type, void *local, const char *json,
                                svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    sv_allocator allocator = sv_allocator_default();
    sv_json *parsed;
    const char *noun = type->table.noun;
    SVIT_TRY(sv_json_parse_object(&parsed, &allocator, json, strlen(json), noun, err));
    sv_config_defaults(type, local);
    svit_status status = type->read
                             ? type->read(local, sv_json_root(parsed), err)
                             : sv_fields_from_json(&type->table, local, sv_json_root(parsed), err);
    sv_json_free(parsed);
    return status == SVIT_OK ? sv_config_check(type, local, err) : status;
}

svit_status sv_config_to_json(const sv_config_type *type, const void *local, char *buffer,
                              size_t capacity, size_t *needed, svit_error *err)
{
    const sv_field_struct one = {fields_of(type, local), (void *)local};
    return sv_fields_of_structs_to_buffer(&one, 1, type->table.noun, buffer, capacity, needed, err);
}

const char *sv_config_difference(const sv_config_type *type, const void *a, const void *b)
{
    return sv_fields_difference(fields_of(type, a), a, b);
}
