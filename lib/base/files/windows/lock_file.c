/* Lock files by LockFileEx, and folders, through the calls of Windows. */
#include "base/files/lock_file.h"

#include "base/files/windows/handle.h"

#include <errno.h>
#include <string.h>

/* Locks one byte behind any content, so that the content can be read. It does not wait. */
static int lock_handle(HANDLE file)
{
    OVERLAPPED at = {.OffsetHigh = 0x7FFFFFFF};
    if (LockFileEx(file, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at))
        return 0;
    const DWORD error = GetLastError();
    if (error == ERROR_LOCK_VIOLATION || error == ERROR_IO_PENDING)
        return EBUSY;
    /* A file system without locks. */
    const bool is_unknown = error == ERROR_INVALID_FUNCTION || error == ERROR_NOT_SUPPORTED;
    return is_unknown ? 0 : sv_windows_errno(error);
}

/* A file that its owner is removing cannot be opened until all have closed it. */
static int open_failure(const wchar_t *wide)
{
    const DWORD error = GetLastError();
    if (error == ERROR_ACCESS_DENIED && GetFileAttributesW(wide) == INVALID_FILE_ATTRIBUTES)
        return EAGAIN;
    return sv_windows_errno(error);
}

int sv_lock_file_open(sv_lock_file *out, char *path, bool is_new_folder)
{
    wchar_t wide[SV_WIDE_PATH];
    *out = SV_NO_LOCK_FILE;
    if (!sv_wide_path(wide, path))
        return errno;
    HANDLE file = CreateFileW(wide, GENERIC_READ | GENERIC_WRITE | DELETE,
                              FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                              OPEN_ALWAYS, FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return open_failure(wide);
    BY_HANDLE_FILE_INFORMATION state;
    bool is_at_path = false;
    int code = lock_handle(file);
    if (code == 0 && GetFileInformationByHandle(file, &state) &&
        (state.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT)) {
        code = ELOOP;
    } else if (code == 0 && (code = sv_handle_compare(&is_at_path, file, wide)) != 0) {
        if (is_new_folder)
            sv_handle_remove(file);
    } else if (code == 0 && !is_at_path) {
        code = EAGAIN;
    }
    if (code)
        CloseHandle(file);
    else
        *out = (sv_lock_file)file;
    return code;
}

void sv_lock_file_close(sv_lock_file file, const char *path)
{
    HANDLE handle = (HANDLE)file;
    wchar_t wide[SV_WIDE_PATH];
    LARGE_INTEGER size;
    bool is_at_path;
    if (sv_wide_path(wide, path) && sv_handle_compare(&is_at_path, handle, wide) == 0 &&
        is_at_path && GetFileSizeEx(handle, &size) && size.QuadPart == 0)
        sv_handle_remove(handle);
    CloseHandle(handle);
}

/* There are no forks. */
void sv_lock_file_abandon(sv_lock_file file)
{
    CloseHandle((HANDLE)file);
}

/* Whether a path is a drive or, with two separators in front, a server or its share, which no
 * program makes. */
static bool is_root(const wchar_t *wide)
{
    size_t names = 0;
    if (wide[0] != L'\\' || wide[1] != L'\\')
        return wide[0] && wide[1] == L':' && (!wide[2] || (wide[2] == L'\\' && !wide[3]));
    for (const wchar_t *at = wide + 2; *at; at++)
        names += *at != L'\\' && (at[1] == L'\\' || !at[1]);
    return names <= 2;
}

int sv_folder_make(bool *made, char *path)
{
    wchar_t wide[SV_WIDE_PATH];
    *made = false;
    if (!sv_wide_path(wide, path))
        return errno;
    *made = CreateDirectoryW(wide, NULL);
    const int code = *made ? 0 : sv_windows_errno(GetLastError());
    if (code == 0 || is_root(wide) || sv_is_folder(path))
        return 0;
    if (code != EEXIST)
        return code;
    return sv_is_absent(path) ? ENOENT : sv_is_dangling(path) ? EEXIST : ENOTDIR;
}

void sv_folder_remove(const char *path)
{
    wchar_t wide[SV_WIDE_PATH];
    if (sv_wide_path(wide, path))
        RemoveDirectoryW(wide);
}

int sv_path_examine(bool *exists, const char *path)
{
    wchar_t wide[SV_WIDE_PATH];
    int code = 0;
    *exists = false;
    if (!sv_wide_path(wide, path))
        code = errno;
    else if (GetFileAttributesW(wide) == INVALID_FILE_ATTRIBUTES)
        code = sv_windows_errno(GetLastError());
    else
        *exists = true;
    return code == ENOENT || code == ENOTDIR || code == ENAMETOOLONG ? 0 : code;
}

int sv_file_remove(const char *path)
{
    wchar_t wide[SV_WIDE_PATH];
    if (!sv_wide_path(wide, path))
        return errno;
    return DeleteFileW(wide) ? 0 : sv_windows_errno(GetLastError());
}
