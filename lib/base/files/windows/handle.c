/* Paths in UTF-16, and errno values of the system's errors. */
#include "base/files/windows/handle.h"

#include <errno.h>
#include <string.h>
#include <wchar.h>

static const struct {
    DWORD error;
    int code;
} CODES[] = {
    {ERROR_FILE_NOT_FOUND, ENOENT},
    {ERROR_PATH_NOT_FOUND, ENOENT},
    {ERROR_INVALID_DRIVE, ENOENT},
    {ERROR_INVALID_NAME, ENOENT},
    {ERROR_BAD_PATHNAME, ENOENT},
    {ERROR_BAD_NETPATH, ENOENT},
    {ERROR_BAD_NET_NAME, ENOENT},
    {ERROR_DIRECTORY, ENOTDIR},
    {ERROR_ACCESS_DENIED, EACCES},
    {ERROR_SHARING_VIOLATION, EBUSY},
    {ERROR_LOCK_VIOLATION, EBUSY},
    {ERROR_FILE_EXISTS, EEXIST},
    {ERROR_ALREADY_EXISTS, EEXIST},
    {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},
    {ERROR_DISK_FULL, ENOSPC},
    {ERROR_HANDLE_DISK_FULL, ENOSPC},
    {ERROR_WRITE_PROTECT, EROFS},
    {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
    {ERROR_OUTOFMEMORY, ENOMEM},
    {ERROR_COMMITMENT_LIMIT, ENOMEM},
    {ERROR_NO_SYSTEM_RESOURCES, ENOMEM},
    {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
    {ERROR_BUFFER_OVERFLOW, ENAMETOOLONG},
    {ERROR_NO_UNICODE_TRANSLATION, EILSEQ},
    {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
    {ERROR_CANT_RESOLVE_FILENAME, ELOOP},
    {ERROR_INVALID_PARAMETER, EINVAL},
};

int sv_windows_errno(DWORD error)
{
    for (size_t i = 0; i < sizeof CODES / sizeof *CODES; i++)
        if (CODES[i].error == error)
            return CODES[i].code;
    return SV_WINDOWS_ERROR + (int)(error & 0xFFFF);
}

void sv_set_errno(void)
{
    errno = sv_windows_errno(GetLastError());
}

/* Converts a path as it is. A text that does not fit is too long for a path. */
static bool widen(wchar_t out[SV_WIDE_PATH], const char *path)
{
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, out, SV_WIDE_PATH) > 0)
        return true;
    errno = GetLastError() == ERROR_INSUFFICIENT_BUFFER ? ENAMETOOLONG
                                                        : sv_windows_errno(GetLastError());
    return false;
}

/* Paths of up to this many characters need no prefix, also those of folders, to which the system
 * adds a short name. */
enum { SHORT_PATH = 240 };

bool sv_wide_path(wchar_t out[SV_WIDE_PATH], const char *path)
{
    wchar_t given[SV_WIDE_PATH];
    if (strlen(path) >= SV_PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (!*path) {
        errno = ENOENT;
        return false;
    }
    if (!widen(given, path))
        return false;
    /* Behind the place of the longest prefix. */
    wchar_t *full = out + 8;
    const DWORD length = GetFullPathNameW(given, SV_WIDE_PATH - 8, full, NULL);
    if (length == 0 || length >= SV_WIDE_PATH - 8) {
        errno = length ? ENAMETOOLONG : sv_windows_errno(GetLastError());
        return false;
    }
    const bool is_share = full[0] == L'\\' && full[1] == L'\\';
    const bool is_verbatim = is_share && (full[2] == L'?' || full[2] == L'.');
    const wchar_t *prefix = L"", *from = full;
    if (length > SHORT_PATH && !is_verbatim) {
        prefix = is_share ? L"\\\\?\\UNC" : L"\\\\?\\";
        from = is_share ? full + 1 : full;
    }
    const size_t front = wcslen(prefix);
    memmove(out + front, from, (wcslen(from) + 1) * sizeof *out);
    memcpy(out, prefix, front * sizeof *out);
    return true;
}

bool sv_narrow_text(char *out, size_t capacity, const wchar_t *text)
{
    if (WideCharToMultiByte(CP_UTF8, WC_ERR_INVALID_CHARS, text, -1, out, (int)capacity, NULL,
                            NULL) > 0)
        return true;
    errno = GetLastError() == ERROR_INSUFFICIENT_BUFFER ? ENAMETOOLONG
                                                        : sv_windows_errno(GetLastError());
    return false;
}

/* A folder is opened only with the flag for backups. */
HANDLE sv_open_handle(const wchar_t *path, DWORD access)
{
    HANDLE file = CreateFileW(path, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                              NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (file == INVALID_HANDLE_VALUE)
        sv_set_errno();
    return file;
}

int sv_handle_compare(bool *is_same, HANDLE file, const wchar_t *path)
{
    BY_HANDLE_FILE_INFORMATION opened, named;
    *is_same = false;
    if (!GetFileInformationByHandle(file, &opened))
        return sv_windows_errno(GetLastError());
    HANDLE other = sv_open_handle(path, FILE_READ_ATTRIBUTES);
    if (other == INVALID_HANDLE_VALUE)
        return errno == ENOENT ? 0 : errno;
    const BOOL known = GetFileInformationByHandle(other, &named);
    const int code = known ? 0 : sv_windows_errno(GetLastError());
    CloseHandle(other);
    *is_same = known && opened.dwVolumeSerialNumber == named.dwVolumeSerialNumber &&
               opened.nFileIndexHigh == named.nFileIndexHigh &&
               opened.nFileIndexLow == named.nFileIndexLow;
    return code;
}

bool sv_handle_remove(HANDLE file)
{
    /* FileDispositionInfoEx with the semantics of POSIX, since Windows 10 version 1607. */
    enum { DISPOSITION_EX = 21, DELETE_IT = 1, POSIX_SEMANTICS = 2 };
    ULONG flags = DELETE_IT | POSIX_SEMANTICS;
    FILE_DISPOSITION_INFO classic = {TRUE};
    return SetFileInformationByHandle(file, (FILE_INFO_BY_HANDLE_CLASS)DISPOSITION_EX, &flags,
                                      sizeof flags) ||
           SetFileInformationByHandle(file, FileDispositionInfo, &classic, sizeof classic);
}
