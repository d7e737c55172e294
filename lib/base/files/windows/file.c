/* Reads files and says what a path is, through the calls of Windows. */
#include "base/files/file_system.h"

#include "base/files/windows/handle.h"

#include <errno.h>

/* Nanoseconds since 1970; the system counts units of 100 ns since 1601. */
static int64_t nanoseconds_of(FILETIME time)
{
    const uint64_t units = (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
    return (int64_t)((units - 116444736000000000) * 100);
}

static svit_status open_regular(HANDLE *handle, BY_HANDLE_FILE_INFORMATION *state, const char *path,
                                svit_error *err)
{
    wchar_t wide[SV_WIDE_PATH];
    HANDLE opened = INVALID_HANDLE_VALUE;
    if (sv_wide_path(wide, path))
        opened = sv_open_handle(wide, GENERIC_READ);
    if (opened == INVALID_HANDLE_VALUE)
        return sv_fail_io(err, "open", path);
    svit_status status = SVIT_OK;
    if (GetFileType(opened) != FILE_TYPE_DISK) {
        status = sv_fail(err, SVIT_E_IO, "'%s' is a device; a regular file is needed", path);
    } else if (!GetFileInformationByHandle(opened, state)) {
        sv_set_errno();
        status = sv_fail_io(err, "examine", path);
    } else if (state->dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) {
        status = sv_fail(err, SVIT_E_IO, "'%s' is a folder; a regular file is needed", path);
    }
    if (status != SVIT_OK) {
        CloseHandle(opened);
        return status;
    }
    *handle = opened;
    return SVIT_OK;
}

svit_status sv_file_system_open(sv_file *out, const char *path, svit_error *err)
{
    HANDLE handle;
    BY_HANDLE_FILE_INFORMATION state;
    SVIT_TRY(open_regular(&handle, &state, path, err));
    out->system = (intptr_t)handle;
    out->size = (uint64_t)state.nFileSizeHigh << 32 | state.nFileSizeLow;
    out->modified = nanoseconds_of(state.ftLastWriteTime);
    return SVIT_OK;
}

svit_status sv_file_state(const sv_file *file, uint64_t *size, int64_t *modified, svit_error *err)
{
    BY_HANDLE_FILE_INFORMATION state;
    if (!GetFileInformationByHandle(sv_file_handle(file), &state)) {
        sv_set_errno();
        return sv_fail_io(err, "examine", file->path);
    }
    *size = (uint64_t)state.nFileSizeHigh << 32 | state.nFileSizeLow;
    *modified = nanoseconds_of(state.ftLastWriteTime);
    return SVIT_OK;
}

void sv_file_system_close(const sv_file *file)
{
    CloseHandle(sv_file_handle(file));
}

HANDLE sv_file_handle(const sv_file *file)
{
    return (HANDLE)file->system;
}

/* The offset travels with the call, so that threads do not move each other's. */
svit_status sv_file_read_at(sv_file *file, uint64_t offset, void *data, size_t bytes,
                            svit_error *err)
{
    enum { MOST = 1 << 30 };
    char *to = data;
    while (bytes > 0) {
        DWORD got = 0;
        OVERLAPPED at = {.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
        const DWORD wanted = bytes < MOST ? (DWORD)bytes : MOST;
        if (!ReadFile(sv_file_handle(file), to, wanted, &got, &at) &&
            GetLastError() != ERROR_HANDLE_EOF) {
            sv_set_errno();
            return sv_fail_io(err, "read", file->path);
        }
        if (got == 0)
            return sv_fail(err, SVIT_E_FORMAT, "'%s' ends %zu bytes too early", file->path, bytes);
        to += got;
        offset += got;
        bytes -= got;
    }
    return SVIT_OK;
}

svit_status sv_fail_dangling(svit_error *err, const char *action, const char *path)
{
    return sv_fail(err, SVIT_E_IO,
                   "cannot %s '%s': it is a symbolic link to what is not there; no link, or a "
                   "link to what exists, is accepted",
                   action, path);
}

/* The attributes of what a path leads to. Returns 0 or an errno value. */
static int examine(DWORD *attributes, const char *path)
{
    wchar_t wide[SV_WIDE_PATH];
    BY_HANDLE_FILE_INFORMATION state;
    if (!sv_wide_path(wide, path))
        return errno;
    HANDLE file = sv_open_handle(wide, FILE_READ_ATTRIBUTES);
    if (file == INVALID_HANDLE_VALUE)
        return errno;
    /* A device has none. */
    *attributes =
        GetFileInformationByHandle(file, &state) ? state.dwFileAttributes : FILE_ATTRIBUTE_DEVICE;
    CloseHandle(file);
    return 0;
}

bool sv_is_dangling(const char *path)
{
    wchar_t wide[SV_WIDE_PATH];
    DWORD attributes = sv_wide_path(wide, path) ? GetFileAttributesW(wide) : 0;
    return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_REPARSE_POINT) &&
           examine(&attributes, path) == ENOENT;
}

bool sv_is_absent(const char *path)
{
    DWORD attributes;
    const int code = examine(&attributes, path);
    return (code == ENOENT || code == ENOTDIR) && !sv_is_dangling(path);
}

bool sv_is_folder(const char *path)
{
    DWORD attributes;
    return examine(&attributes, path) == 0 && (attributes & FILE_ATTRIBUTE_DIRECTORY);
}
