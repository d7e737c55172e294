/* The reasons of Windows for a failure, in English as POSIX has them. */
#include "base/files/windows/handle.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Where the C library has other words, or none. */
static const struct {
    int code;
    const char *text;
} TEXTS[] = {
    {ENOMEM, "Cannot allocate memory"},
    {EBUSY, "Device or resource busy"},
    {EAGAIN, "Resource temporarily unavailable"},
    {ELOOP, "Too many levels of symbolic links"},
    {ENAMETOOLONG, "File name too long"},
    {ENOTEMPTY, "Directory not empty"},
    {EILSEQ, "Invalid or incomplete multibyte or wide character"},
};

/* The system's own text, without the full stop and the end of the line. */
static bool system_text(DWORD error, char *buffer, size_t capacity)
{
    wchar_t wide[256];
    DWORD length = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS |
                                      FORMAT_MESSAGE_MAX_WIDTH_MASK,
                                  NULL, error, 0, wide, sizeof wide / sizeof *wide, NULL);
    while (length > 0 && (wide[length - 1] <= L' ' || wide[length - 1] == L'.'))
        length--;
    wide[length] = L'\0';
    return length > 0 && sv_narrow_text(buffer, capacity, wide);
}

const char *sv_errno_text(int code, char *buffer, size_t capacity)
{
    const char *text = NULL;
    if (code >= SV_WINDOWS_ERROR) {
        const DWORD error = (DWORD)(code - SV_WINDOWS_ERROR);
        if (!system_text(error, buffer, capacity))
            snprintf(buffer, capacity, "error %lu of Windows", (unsigned long)error);
        return buffer;
    }
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
        if (TEXTS[i].code == code)
            text = TEXTS[i].text;
    snprintf(buffer, capacity, "%s", text ? text : strerror(code));
    return buffer;
}
