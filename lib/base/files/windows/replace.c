/* Replaces files atomically and appends to them, through the calls of Windows. */
#include "base/files/temporary_name.h"
#include "base/files/windows/handle.h"

#include <errno.h>
#include <string.h>
#include <wchar.h>

struct sv_replacement {
    HANDLE handle;
    char *path;
    size_t path_bytes; /* of `path` */
    char *temporary;
    size_t capacity; /* bytes of `temporary` */
};

static void replacement_free(const sv_allocator *allocator, sv_replacement *replacement)
{
    if (replacement->handle != INVALID_HANDLE_VALUE)
        CloseHandle(replacement->handle);
    sv_release(allocator, replacement->path, replacement->path_bytes);
    sv_release(allocator, replacement->temporary, replacement->capacity);
    sv_release(allocator, replacement, sizeof *replacement);
}

/* Writes the path that a symbolic link leads to, in UTF-8. */
static bool read_link(char *out, size_t capacity, const wchar_t *wide)
{
    wchar_t target[SV_WIDE_PATH];
    HANDLE file = sv_open_handle(wide, FILE_READ_ATTRIBUTES);
    if (file == INVALID_HANDLE_VALUE)
        return false;
    const DWORD length = GetFinalPathNameByHandleW(file, target, SV_WIDE_PATH, 0);
    errno = length ? ENAMETOOLONG : sv_windows_errno(GetLastError());
    CloseHandle(file);
    return length > 0 && length < SV_WIDE_PATH && sv_narrow_text(out, capacity, target);
}

/* Makes a copy of the path to replace: the target if `path` is a symbolic link, so that the link
 * stays. */
static svit_status resolve_link(sv_replacement *replacement, const sv_allocator *allocator,
                                const char *path, svit_error *err)
{
    wchar_t wide[SV_WIDE_PATH];
    char target[SV_PATH_MAX];
    if (sv_is_dangling(path))
        return sv_fail_dangling(err, "write", path);
    if (!sv_wide_path(wide, path))
        return sv_fail_io(err, "write", path);
    const DWORD attributes = GetFileAttributesW(wide);
    const bool exists = attributes != INVALID_FILE_ATTRIBUTES;
    if (!exists && sv_windows_errno(GetLastError()) != ENOENT) {
        sv_set_errno();
        return sv_fail_io(err, "write", path);
    }
    const bool is_link = exists && (attributes & FILE_ATTRIBUTE_REPARSE_POINT);
    if (is_link && !read_link(target, sizeof target, wide))
        return sv_fail_io(err, "write", path);
    const char *from = is_link ? target : path;
    replacement->path_bytes = strlen(from) + 1;
    replacement->path = sv_copy_text(allocator, from);
    return replacement->path ? SVIT_OK
                             : sv_fail_memory(err, replacement->path_bytes, "a file's name");
}

/* Creates a temporary file that no other can open to write, rename or remove it. A file with its
 * name that can be removed was left by a killed writer; anything else, such as a folder or a link,
 * stays. EEXIST: the name is taken. */
static HANDLE create_temporary(const wchar_t *wide)
{
    HANDLE file = INVALID_HANDLE_VALUE;
    for (int i = 0; i < 2; i++) {
        file = CreateFileW(wide, GENERIC_WRITE | DELETE, FILE_SHARE_READ, NULL, CREATE_NEW,
                           FILE_ATTRIBUTE_NORMAL, NULL);
        if (file != INVALID_HANDLE_VALUE)
            return file;
        sv_set_errno();
        const DWORD attributes = GetFileAttributesW(wide);
        if (attributes == INVALID_FILE_ATTRIBUTES)
            return file;
        errno = EEXIST;
        if ((attributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT)) ||
            !DeleteFileW(wide))
            return file;
    }
    errno = EEXIST;
    return file;
}

/* Opens the first temporary file whose name no other writer has. So concurrent writers of one path
 * get different files, and the next writer reuses the name of a killed one. */
static HANDLE open_temporary(sv_replacement *replacement)
{
    enum { NAMES = 4096 };
    wchar_t wide[SV_WIDE_PATH];
    for (int i = 0; i < NAMES; i++) {
        sv_temporary_name(replacement->temporary, replacement->capacity, replacement->path, i);
        if (!sv_wide_path(wide, replacement->temporary))
            return INVALID_HANDLE_VALUE;
        HANDLE file = create_temporary(wide);
        if (file != INVALID_HANDLE_VALUE || errno != EEXIST)
            return file;
    }
    errno = EBUSY;
    return INVALID_HANDLE_VALUE;
}

static svit_status begin_temporary(sv_replacement *replacement, const char *path,
                                   const sv_allocator *allocator, svit_error *err)
{
    SVIT_TRY(resolve_link(replacement, allocator, path, err));
    if (sv_is_folder(replacement->path))
        return sv_fail(err, SVIT_E_IO, "'%s' is a folder; only a regular file can be replaced",
                       replacement->path);
    replacement->capacity = strlen(replacement->path) + SV_TEMPORARY_BYTES;
    replacement->temporary = sv_allocate(allocator, replacement->capacity);
    if (!replacement->temporary)
        return sv_fail_memory(err, replacement->capacity, "a file's name");
    replacement->handle = open_temporary(replacement);
    return replacement->handle != INVALID_HANDLE_VALUE
               ? SVIT_OK
               : sv_fail_io(err, "write", replacement->path);
}

svit_status sv_replacement_begin(sv_replacement **out, const sv_allocator *allocator,
                                 const char *path, svit_error *err)
{
    sv_replacement *replacement = sv_allocate(allocator, sizeof *replacement);
    if (!replacement)
        return sv_fail_memory(err, sizeof *replacement, "a file replacement");
    *replacement = (sv_replacement){.handle = INVALID_HANDLE_VALUE};
    svit_status status = begin_temporary(replacement, path, allocator, err);
    if (status != SVIT_OK) {
        replacement_free(allocator, replacement);
        return status;
    }
    *out = replacement;
    return SVIT_OK;
}

/* Writes all bytes behind the last one of the file. `path` is for the message. */
static svit_status write_all(HANDLE file, const void *data, size_t bytes, const char *path,
                             svit_error *err)
{
    enum { MOST = 1 << 30 };
    const char *from = data;
    while (bytes > 0) {
        OVERLAPPED end = {.Offset = 0xFFFFFFFF, .OffsetHigh = 0xFFFFFFFF};
        DWORD put = 0;
        if (!WriteFile(file, from, bytes < MOST ? (DWORD)bytes : MOST, &put, &end)) {
            sv_set_errno();
            return sv_fail_io(err, "write", path);
        }
        from += put;
        bytes -= put;
    }
    return SVIT_OK;
}

svit_status sv_replacement_write(sv_replacement *replacement, const void *data, size_t bytes,
                                 svit_error *err)
{
    return write_all(replacement->handle, data, bytes, replacement->path, err);
}

/* FILE_RENAME_INFO, with room for the path. */
typedef struct rename_info {
    ULONG flags; /* of the older call: a BOOLEAN, whether a file is replaced */
    HANDLE root;
    DWORD bytes;
    wchar_t path[SV_WIDE_PATH];
} rename_info;

/* Renames the open file over what is at the path. With the semantics of POSIX, since Windows 10
 * version 1607, programs that read the old file keep it; otherwise the old file must not be
 * open. */
static bool rename_over(HANDLE file, rename_info *info)
{
    enum { RENAME_EX = 22, REPLACE = 1, POSIX_SEMANTICS = 2 };
    info->flags = REPLACE | POSIX_SEMANTICS;
    if (SetFileInformationByHandle(file, (FILE_INFO_BY_HANDLE_CLASS)RENAME_EX, info, sizeof *info))
        return true;
    if (GetLastError() == ERROR_ACCESS_DENIED || GetLastError() == ERROR_SHARING_VIOLATION)
        return false;
    info->flags = REPLACE;
    return SetFileInformationByHandle(file, FileRenameInfo, info, sizeof *info);
}

/* Programs that scan new files open the old one for some milliseconds without letting it be
 * replaced. */
static bool rename_patiently(sv_replacement *replacement)
{
    enum { TRIES = 20, MILLISECONDS = 25 };
    rename_info info = {0};
    if (!sv_wide_path(info.path, replacement->path))
        return false;
    info.bytes = (DWORD)(wcslen(info.path) * sizeof *info.path);
    for (int i = 0; i < TRIES; i++) {
        if (rename_over(replacement->handle, &info))
            return true;
        const DWORD error = GetLastError();
        sv_set_errno();
        if (error != ERROR_ACCESS_DENIED && error != ERROR_SHARING_VIOLATION)
            return false;
        Sleep(MILLISECONDS);
    }
    return false;
}

/* A folder cannot be flushed. The second flush of the file, whose name has changed, writes the
 * journal of the file system on the way; the new file is in place whether it succeeds or not. */
svit_status sv_replacement_commit(const sv_allocator *allocator, sv_replacement *replacement,
                                  svit_error *err)
{
    svit_status status = SVIT_OK;
    if (!FlushFileBuffers(replacement->handle)) {
        sv_set_errno();
        status = sv_fail_io(err, "flush", replacement->path);
    } else if (!rename_patiently(replacement)) {
        status = sv_fail_io(err, "replace", replacement->path);
    }
    if (status != SVIT_OK)
        sv_handle_remove(replacement->handle);
    else
        FlushFileBuffers(replacement->handle);
    replacement_free(allocator, replacement);
    return status;
}

void sv_replacement_abandon(const sv_allocator *allocator, sv_replacement *replacement)
{
    if (!replacement)
        return;
    sv_handle_remove(replacement->handle);
    replacement_free(allocator, replacement);
}

/* Appends to an open file. If that fails, the file gets the size that it had. */
static svit_status append_all(HANDLE file, const char *path, const void *data, size_t bytes,
                              svit_error *err)
{
    LARGE_INTEGER size;
    if (!GetFileSizeEx(file, &size)) {
        sv_set_errno();
        return sv_fail_io(err, "append to", path);
    }
    svit_status status = write_all(file, data, bytes, path, err);
    if (status == SVIT_OK && !FlushFileBuffers(file)) {
        sv_set_errno();
        status = sv_fail_io(err, "flush", path);
    }
    if (status != SVIT_OK && SetFilePointerEx(file, size, NULL, FILE_BEGIN))
        SetEndOfFile(file);
    return status;
}

svit_status sv_file_append(const char *path, const void *data, size_t bytes, svit_error *err)
{
    wchar_t wide[SV_WIDE_PATH];
    if (sv_is_dangling(path))
        return sv_fail_dangling(err, "append to", path);
    if (sv_is_folder(path))
        return sv_fail(err, SVIT_E_IO, "'%s' is a folder; only a regular file can be appended to",
                       path);
    if (!sv_wide_path(wide, path))
        return sv_fail_io(err, "append to", path);
    HANDLE file = CreateFileW(wide, GENERIC_WRITE | DELETE,
                              FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                              OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        sv_set_errno();
        return sv_fail_io(err, "append to", path);
    }
    const bool is_new = GetLastError() != ERROR_ALREADY_EXISTS;
    svit_status status =
        GetFileType(file) == FILE_TYPE_DISK
            ? append_all(file, path, data, bytes, err)
            : sv_fail(err, SVIT_E_IO, "'%s' is a device; only a regular file can be appended to",
                      path);
    if (status != SVIT_OK && is_new)
        sv_handle_remove(file);
    CloseHandle(file);
    return status;
}
