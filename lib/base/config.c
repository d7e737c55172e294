/* How configuration structs of callers with older or newer headers are read and written. */
#include "base/config.h"

#include <shiftvit/version.h>

#include <string.h>

enum { SIZE_LIMIT = 65536 };

svit_status sv_config_export(void *out, size_t size, const void *own, size_t own_size,
                             const char *what, svit_error *err)
{
    if (!out)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s is NULL; a pointer to one is needed", what);
    if (size < sizeof(uint32_t) || size > SIZE_LIMIT)
        return sv_fail(err, SVIT_E_ARGUMENT, "size is %zu; give sizeof(%s), %zu here", size, what,
                       own_size);
    memset(out, 0, size);
    memcpy(out, own, size < own_size ? size : own_size);
    uint32_t written = (uint32_t)size;
    memcpy(out, &written, sizeof written);
    return SVIT_OK;
}

svit_status sv_config_import(void *own, size_t own_size, const void *in, size_t least,
                             const char *what, svit_error *err)
{
    if (!in)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s is NULL; a pointer to one is needed", what);
    uint32_t size;
    memcpy(&size, in, sizeof size);
    if (size < least || size > SIZE_LIMIT)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "struct_size of %s is %u; fill it with its init function, %zu here", what,
                       (unsigned)size, own_size);
    const unsigned char *bytes = in;
    for (size_t i = own_size; i < size; i++)
        if (bytes[i])
            return sv_fail(err, SVIT_E_VERSION,
                           "%s sets a field that version %s of the library does not know", what,
                           svit_version_string());
    memcpy(own, in, size < own_size ? size : own_size);
    uint32_t own_written = (uint32_t)own_size;
    memcpy(own, &own_written, sizeof own_written);
    return SVIT_OK;
}

svit_status sv_config_check_reserved(uint32_t reserved, const char *what, svit_error *err)
{
    if (reserved == 0)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_VERSION, "reserved of %s is %u; version %s of the library takes 0",
                   what, (unsigned)reserved, svit_version_string());
}
