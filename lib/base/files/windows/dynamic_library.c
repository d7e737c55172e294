/* Loads shared libraries (DLLs) at run time with LoadLibraryEx: from the program's folder, those
 * that it adds and that of the system, never from the current one, in which others may have put
 * them. */
#include "base/files/dynamic_library.h"

#include "base/files/windows/handle.h"

#include <psapi.h>
#include <stdio.h>
#include <string.h>

sv_dynamic_library *sv_dynamic_library_open(const char *soname, char *reason, size_t capacity)
{
    wchar_t wide[SV_PATH_MAX];
    HMODULE library = NULL;
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, soname, -1, wide, SV_PATH_MAX) > 0)
        library = LoadLibraryExW(wide, NULL, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    if (!library) {
        char text[160];
        sv_errno_text(SV_WINDOWS_ERROR + (int)(GetLastError() & 0xFFFF), text, sizeof text);
        snprintf(reason, capacity, "%s: %s", soname, text);
    }
    return (sv_dynamic_library *)library;
}

/* Looks in the program and in all that it has loaded. */
static FARPROC find_in_process(const char *name)
{
    enum { MODULES = 512 };
    HMODULE modules[MODULES];
    DWORD bytes = 0;
    FARPROC address = NULL;
    if (!K32EnumProcessModules(GetCurrentProcess(), modules, sizeof modules, &bytes))
        return NULL;
    const size_t count = bytes / sizeof *modules;
    for (size_t i = 0; i < count && i < MODULES && !address; i++)
        address = GetProcAddress(modules[i], name);
    return address;
}

bool sv_dynamic_library_find(void *function, sv_dynamic_library *library, const char *name)
{
    FARPROC address =
        library ? GetProcAddress((HMODULE)(void *)library, name) : find_in_process(name);
    if (address)
        memcpy(function, &address, sizeof address);
    return address != NULL;
}
