/* What open files, and reading, replacing and appending to whole files, have in common on all
 * systems. */
#include "base/files/file_system.h"

#include <errno.h>
#include <shiftvit/file.h>
#include <string.h>

svit_status sv_fail_io(svit_error *err, const char *action, const char *path)
{
    char reason[160];
    int code = errno;
    return sv_fail(err, code == ENOMEM ? SVIT_E_MEMORY : SVIT_E_IO, "cannot %s '%s': %s", action,
                   path, sv_errno_text(code, reason, sizeof reason));
}

static svit_status fail_memory(svit_error *err, size_t bytes, const char *path)
{
    return sv_fail_memory_in(err, sv_fail_memory(err, bytes, "a file"), path);
}

svit_status sv_file_open(sv_file **out, const sv_allocator *allocator, const char *path,
                         svit_error *err)
{
    sv_file opened;
    SVIT_TRY(sv_file_system_open(&opened, path, err));
    sv_file *file = sv_allocate(allocator, sizeof *file);
    opened.path = sv_copy_text(allocator, path);
    if (!file || !opened.path) {
        sv_release(allocator, file, sizeof *file);
        sv_release_text(allocator, opened.path);
        sv_file_system_close(&opened);
        return fail_memory(err, sizeof *file + strlen(path) + 1, path);
    }
    *file = opened;
    *out = file;
    return SVIT_OK;
}

void sv_file_close(const sv_allocator *allocator, sv_file *file)
{
    if (!file)
        return;
    sv_file_system_close(file);
    sv_release_text(allocator, file->path);
    sv_release(allocator, file, sizeof *file);
}

uint64_t sv_file_size(const sv_file *file)
{
    return file->size;
}

int64_t sv_file_modified(const sv_file *file)
{
    return file->modified;
}

const char *sv_file_path(const sv_file *file)
{
    return file->path;
}

svit_status sv_file_read(void **data, size_t *bytes, const sv_allocator *allocator,
                         const char *path, size_t limit, svit_error *err)
{
    sv_file *file = NULL;
    SVIT_TRY(sv_file_open(&file, allocator, path, err));
    svit_status status = SVIT_OK;
    char *memory = NULL;
    size_t size = (size_t)sv_file_size(file);
    if (sv_file_size(file) > limit)
        status = sv_fail(err, SVIT_E_FORMAT, "'%s' has %llu bytes; at most %zu are read", path,
                         (unsigned long long)sv_file_size(file), limit);
    else if (!(memory = sv_allocate(allocator, size + 1)))
        status = fail_memory(err, size + 1, path);
    else
        status = sv_file_read_at(file, 0, memory, size, err);
    sv_file_close(allocator, file);
    if (status != SVIT_OK) {
        sv_release(allocator, memory, size + 1);
        return status;
    }
    memory[size] = '\0';
    *data = memory;
    *bytes = size;
    return SVIT_OK;
}

svit_status sv_replacement_end(const sv_allocator *allocator, sv_replacement *replacement,
                               svit_status status, svit_error *err)
{
    if (status == SVIT_OK)
        return sv_replacement_commit(allocator, replacement, err);
    sv_replacement_abandon(allocator, replacement);
    return status;
}

svit_status sv_file_replace(const sv_allocator *allocator, const char *path, const void *data,
                            size_t bytes, svit_error *err)
{
    sv_replacement *replacement = NULL;
    SVIT_TRY(sv_replacement_begin(&replacement, allocator, path, err));
    return sv_replacement_end(allocator, replacement,
                              sv_replacement_write(replacement, data, bytes, err), err);
}

SVIT_API svit_status svit_file_replace(const char *path, const void *data, size_t bytes,
                                       svit_error *err)
{
    SV_REQUIRE(path);
    if (bytes)
        SV_REQUIRE(data);
    const sv_allocator allocator = sv_allocator_default();
    return sv_file_replace(&allocator, path, data, bytes, err);
}

SVIT_API svit_status svit_file_append(const char *path, const void *data, size_t bytes,
                                      svit_error *err)
{
    SV_REQUIRE(path);
    if (bytes)
        SV_REQUIRE(data);
    return sv_file_append(path, data, bytes, err);
}
