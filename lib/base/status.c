/* Status names, the version, and the formatting of messages into the caller's error record. */
#define SV_STATUS_DEFINES
#include "base/status.h"

#include "base/text/message.h"

#include <shiftvit/version.h>

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

static const struct {
    svit_status status;
    const char *name;
} STATUS_NAMES[] = {
    {SVIT_OK, "SVIT_OK"},
    {SVIT_E_ARGUMENT, "SVIT_E_ARGUMENT"},
    {SVIT_E_MEMORY, "SVIT_E_MEMORY"},
    {SVIT_E_STATE, "SVIT_E_STATE"},
    {SVIT_E_IO, "SVIT_E_IO"},
    {SVIT_E_FORMAT, "SVIT_E_FORMAT"},
    {SVIT_E_VERSION, "SVIT_E_VERSION"},
    {SVIT_E_STOPPED, "SVIT_E_STOPPED"},
    {SVIT_E_UNSUPPORTED, "SVIT_E_UNSUPPORTED"},
    {SVIT_E_NUMERIC, "SVIT_E_NUMERIC"},
};

SVIT_API const char *svit_status_name(svit_status status)
{
    for (size_t i = 0; i < sizeof STATUS_NAMES / sizeof *STATUS_NAMES; i++)
        if (STATUS_NAMES[i].status == status)
            return STATUS_NAMES[i].name;
    return "SVIT_E_?";
}

SVIT_API uint32_t svit_version_number(void)
{
    return SVIT_VERSION_NUMBER;
}

SVIT_API const char *svit_version_string(void)
{
    return TEXT(SVIT_VERSION_MAJOR) "." TEXT(SVIT_VERSION_MINOR) "." TEXT(SVIT_VERSION_PATCH);
}

SVIT_API svit_status svit_error_set(svit_error *err, svit_status status, const char *message)
{
    return sv_fail(err, status, "%s", message ? message : "");
}

/* No record is smaller than that of version 0.1, so its first fields are written without looking at
 * struct_size. */
svit_status sv_fail(svit_error *err, svit_status status, const char *format, ...)
{
    if (!err)
        return status;
    va_list arguments;
    va_start(arguments, format);
    sv_message_format(err->message, sizeof err->message, format, arguments);
    va_end(arguments);
    err->code = status;
    return status;
}

svit_status sv_fail_memory(svit_error *err, size_t bytes, const char *what)
{
    return sv_fail(err, SVIT_E_MEMORY, "%zu bytes for %s could not be allocated", bytes, what);
}

svit_status sv_fail_null(svit_error *err, const char *function, const char *argument)
{
    return sv_fail(err, SVIT_E_ARGUMENT, "%s: %s is NULL; a valid pointer is needed", function,
                   argument);
}

svit_status sv_fail_function(svit_error *err, svit_status status, const char *function,
                             const char *message)
{
    const svit_status known = status > SVIT_OK ? SVIT_E_STOPPED : status;
    if (message[0] != '\0')
        return svit_error_set(err, known, message);
    return sv_fail(err, known, "%s returned %d (%s)", function, (int)status,
                   svit_status_name(status));
}

svit_status sv_fail_in(svit_error *err, svit_status status, const char *where)
{
    enum { BESIDE = sizeof "\xe2\x80\xa6: ", LEAST = 40 };
    if (!err)
        return status;
    const size_t taken = strlen(err->message) + BESIDE, most = sizeof err->message;
    const char *end = sv_message_last(where, taken + LEAST < most ? most - taken : LEAST);
    return sv_fail(err, status, "%s%s: %s", end == where ? "" : "\xe2\x80\xa6", end, err->message);
}

svit_status sv_fail_memory_in(svit_error *err, svit_status status, const char *where)
{
    return status == SVIT_E_MEMORY ? sv_fail_in(err, status, where) : status;
}
