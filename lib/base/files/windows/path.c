/* Paths of Windows. */
#include "base/files/windows/handle.h"

#include <errno.h>
#include <string.h>

bool sv_path_is_separator(char character)
{
    return character == '/' || character == '\\';
}

const char *sv_path_name(const char *path)
{
    const char *name = path;
    for (const char *at = path; *at; at++)
        if (sv_path_is_separator(*at))
            name = at + 1;
    return name;
}

static bool has_drive(const char *path)
{
    const char letter = (char)(path[0] | 0x20);
    return letter >= 'a' && letter <= 'z' && path[1] == ':';
}

bool sv_path_is_absolute(const char *path)
{
    return sv_path_is_separator(path[0]) || has_drive(path);
}

/* A colon would name a drive, or a stream of a file. */
bool sv_path_is_name(const char *text)
{
    return *text && !strpbrk(text, "/\\:");
}

int sv_working_folder(char out[SV_PATH_MAX])
{
    wchar_t folder[SV_WIDE_PATH];
    const DWORD length = GetCurrentDirectoryW(SV_WIDE_PATH, folder);
    if (length == 0)
        return sv_windows_errno(GetLastError());
    if (length >= SV_WIDE_PATH)
        return ENAMETOOLONG;
    return sv_narrow_text(out, SV_PATH_MAX, folder) ? 0 : errno;
}
