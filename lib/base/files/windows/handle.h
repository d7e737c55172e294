/* What the adapters of Windows share: paths in UTF-16, handles, and errno values of the system's
 * errors. */
#ifndef SV_HANDLE_H
#define SV_HANDLE_H

#include "base/files/file.h"
#include "base/files/path.h"

#include <windows.h>

/* Characters of a path in UTF-16, with the NUL and the prefix of a long path. */
enum { SV_WIDE_PATH = SV_PATH_MAX + 16 };

/* The errno value of an error of Windows: one that C names, or SV_WINDOWS_ERROR + error, which
 * sv_errno_text knows, too. */
enum { SV_WINDOWS_ERROR = 1 << 16 };
int sv_windows_errno(DWORD error);

/* Sets errno by GetLastError. */
void sv_set_errno(void);

/* Writes the absolute path in UTF-16, in the form that may be longer than 260 characters if it is.
 * Returns false, with errno, if it is no UTF-8 or too long. */
bool sv_wide_path(wchar_t out[SV_WIDE_PATH], const char *path);

/* Writes a text in UTF-8. Returns false, with errno, if it is no UTF-16 or does not fit. */
bool sv_narrow_text(char *out, size_t capacity, const wchar_t *text);

/* Opens what a path leads to, a folder, too, through symbolic links. Others may read, write,
 * replace and remove it meanwhile. INVALID_HANDLE_VALUE, with errno, if that fails. */
HANDLE sv_open_handle(const wchar_t *path, DWORD access);

/* Says whether the open file is the one at `path`. Returns 0 or an errno value. */
int sv_handle_compare(bool *is_same, HANDLE file, const wchar_t *path);

/* Removes the open file's name, which needs DELETE access: at once where the system can, otherwise
 * when the last handle is closed. */
bool sv_handle_remove(HANDLE file);

/* The handle of an open file, which sv_file_close closes. */
HANDLE sv_file_handle(const sv_file *file);

#endif
