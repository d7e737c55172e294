/* Reads and writes the configuration structs of callers with older or newer headers. */
#include "config/config.h"

#include <shiftvit/version.h>

#include <string.h>

enum { MAX_SIZE = 65536 };

svit_status sv_config_export(void *out, size_t size, const void *local, size_t local_size,
                             const char *type, svit_error *err)
{
    if (!out)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s is NULL; a pointer to one is needed", type);
    if (size < sizeof(uint32_t) || size > MAX_SIZE)
        return sv_fail(err, SVIT_E_ARGUMENT, "size is %zu; give sizeof(%s), %zu here", size, type,
                       local_size);
    memset(out, 0, size);
    memcpy(out, local, size < local_size ? size : local_size);
    uint32_t written = (uint32_t)size;
    memcpy(out, &written, sizeof written);
    return SVIT_OK;
}

svit_status sv_config_import(void *local, size_t local_size, const void *in, size_t min_size,
                             const char *type, svit_error *err)
{
    if (!in)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s is NULL; a pointer to one is needed", type);
    uint32_t size;
    memcpy(&size, in, sizeof size);
    if (size < min_size || size > MAX_SIZE)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "struct_size of %s is %u; fill it with its init function, %zu here", type,
                       (unsigned)size, local_size);
    const unsigned char *bytes = in;
    for (size_t i = local_size; i < size; i++)
        if (bytes[i])
            return sv_fail(err, SVIT_E_VERSION,
                           "%s sets a field that version %s of the library does not know", type,
                           svit_version_string());
    memcpy(local, in, size < local_size ? size : local_size);
    uint32_t local_bytes = (uint32_t)local_size;
    memcpy(local, &local_bytes, sizeof local_bytes);
    return SVIT_OK;
}

svit_status sv_config_check_reserved(uint32_t reserved, const char *type, svit_error *err)
{
    if (reserved == 0)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_VERSION, "reserved of %s is %u; version %s of the library takes 0",
                   type, (unsigned)reserved, svit_version_string());
}
