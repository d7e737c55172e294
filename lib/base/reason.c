/* The reasons of POSIX for a failure. */
#include "base/status.h"

#include <stdio.h>
#include <string.h>

const char *sv_errno_text(int code, char *buffer, size_t capacity)
{
#if defined(__GLIBC__)
    /* The GNU variant of strerror_r may return a static text instead of filling the buffer. */
    const char *text = strerror_r(code, buffer, capacity);
    if (text != buffer)
        snprintf(buffer, capacity, "%s", text);
#else
    if (strerror_r(code, buffer, capacity) != 0)
        snprintf(buffer, capacity, "error %d", code);
#endif
    return buffer;
}
