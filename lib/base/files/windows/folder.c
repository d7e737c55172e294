/* Reads the entries of folders through the calls of Windows. */
#include "base/files/windows/handle.h"

#include <errno.h>
#include <string.h>
#include <wchar.h>

/* Characters of a name in UTF-16, and bytes in UTF-8, with the NUL. */
enum { NAME = 260, NARROW_NAME = 3 * NAME };

/* Appends "\NAME" to a folder's path. Returns false, with errno, if it does not fit. */
static bool append_name(wchar_t path[SV_WIDE_PATH], size_t length, const wchar_t *name)
{
    const size_t more = wcslen(name) + 1;
    const bool is_root = length > 0 && path[length - 1] == L'\\';
    if (length + !is_root + more > SV_WIDE_PATH) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (!is_root)
        path[length] = L'\\';
    memcpy(path + length + !is_root, name, more * sizeof *name);
    return true;
}

/* Says whether an entry is a folder or leads to one. A link that leads nowhere is no folder. */
static bool examine_entry(bool *is_folder, wchar_t path[SV_WIDE_PATH], size_t length,
                          const WIN32_FIND_DATAW *entry)
{
    BY_HANDLE_FILE_INFORMATION state;
    *is_folder = entry->dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
    if (!(entry->dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT))
        return true;
    if (!append_name(path, length, entry->cFileName))
        return false;
    HANDLE target = sv_open_handle(path, FILE_READ_ATTRIBUTES);
    if (target == INVALID_HANDLE_VALUE) {
        *is_folder = false;
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
    }
    *is_folder = GetFileInformationByHandle(target, &state) &&
                 (state.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY);
    CloseHandle(target);
    return true;
}

/* A name that is no valid UTF-16 has no UTF-8, by which it could be opened. */
static svit_status take_entry(wchar_t path[SV_WIDE_PATH], size_t length,
                              const WIN32_FIND_DATAW *entry, const char *folder,
                              sv_entry_function take, void *user, svit_error *err)
{
    char name[NARROW_NAME];
    bool is_folder;
    if (wcscmp(entry->cFileName, L".") == 0 || wcscmp(entry->cFileName, L"..") == 0)
        return SVIT_OK;
    if (!sv_narrow_text(name, sizeof name, entry->cFileName) ||
        !examine_entry(&is_folder, path, length, entry))
        return sv_fail_io(err, "list", folder);
    return take(user, name, is_folder, err);
}

svit_status sv_folder_each(const char *path, sv_entry_function take, void *user, svit_error *err)
{
    wchar_t wide[SV_WIDE_PATH];
    WIN32_FIND_DATAW entry;
    if (!sv_wide_path(wide, path))
        return sv_fail_io(err, "open the folder", path);
    const size_t length = wcslen(wide);
    if (!append_name(wide, length, L"*"))
        return sv_fail_io(err, "open the folder", path);
    HANDLE search = FindFirstFileExW(wide, FindExInfoBasic, &entry, FindExSearchNameMatch, NULL,
                                     FIND_FIRST_EX_LARGE_FETCH);
    if (search == INVALID_HANDLE_VALUE) {
        /* The root of a drive may have no entry at all. */
        const DWORD error = GetLastError();
        if (error == ERROR_FILE_NOT_FOUND && sv_is_folder(path))
            return SVIT_OK;
        errno = sv_windows_errno(error);
        if (errno == ENOENT && !sv_is_absent(path) && !sv_is_dangling(path))
            errno = ENOTDIR;
        return sv_fail_io(err, "open the folder", path);
    }
    svit_status status;
    do
        status = take_entry(wide, length, &entry, path, take, user, err);
    while (status == SVIT_OK && FindNextFileW(search, &entry));
    if (status == SVIT_OK && GetLastError() != ERROR_NO_MORE_FILES) {
        sv_set_errno();
        status = sv_fail_io(err, "list", path);
    }
    FindClose(search);
    return status;
}

svit_status sv_folder_identify(sv_folder_id *out, const char *path, svit_error *err)
{
    wchar_t wide[SV_WIDE_PATH];
    BY_HANDLE_FILE_INFORMATION state;
    HANDLE folder = INVALID_HANDLE_VALUE;
    if (sv_wide_path(wide, path))
        folder = sv_open_handle(wide, FILE_READ_ATTRIBUTES);
    if (folder == INVALID_HANDLE_VALUE)
        return sv_fail_io(err, "examine", path);
    const BOOL known = GetFileInformationByHandle(folder, &state);
    if (!known)
        sv_set_errno();
    CloseHandle(folder);
    if (!known)
        return sv_fail_io(err, "examine", path);
    *out = (sv_folder_id){state.dwVolumeSerialNumber,
                          (uint64_t)state.nFileIndexHigh << 32 | state.nFileIndexLow};
    return SVIT_OK;
}
