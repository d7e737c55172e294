/* Replaces files atomically and appends to them, through the calls of POSIX. */
#include "base/files/descriptor.h"
#include "base/files/file.h"
#include "base/files/temporary_name.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct sv_replacement {
    int descriptor;
    char *path;
    char *temporary;
    size_t capacity; /* bytes of `temporary` */
};

static void replacement_free(const sv_allocator *allocator, sv_replacement *replacement)
{
    if (replacement->descriptor >= 0)
        close(replacement->descriptor);
    sv_release_text(allocator, replacement->path);
    sv_release(allocator, replacement->temporary, replacement->capacity);
    sv_release(allocator, replacement, sizeof *replacement);
}

/* Makes a copy of the path to replace: the target if `path` is a symbolic link, so that the link
 * stays. */
static svit_status resolve_link(char **out, const sv_allocator *allocator, const char *path,
                                svit_error *err)
{
    struct stat state;
    char target[PATH_MAX];
    if (sv_is_dangling(path))
        return sv_fail_dangling(err, "write", path);
    bool exists = lstat(path, &state) == 0;
    if (!exists && errno != ENOENT)
        return sv_fail_io(err, "write", path);
    bool link = exists && S_ISLNK(state.st_mode);
    if (link && !realpath(path, target))
        return sv_fail_io(err, "write", path);
    *out = sv_copy_text(allocator, link ? target : path);
    return *out ? SVIT_OK : sv_fail_memory(err, strlen(path) + 1, "a file's name");
}

/* Opens a leftover to lock it. A writer may have given it permissions that only allow to read. */
static int open_leftover(const char *path)
{
    const int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    int descriptor = sv_descriptor_open(path, O_WRONLY | flags, 0);
    return descriptor < 0 && errno == EACCES ? sv_descriptor_open(path, O_RDONLY | flags, 0)
                                             : descriptor;
}

/* Removes a temporary file that a killed writer has left: a regular file whose lock no process
 * holds. Anything else stays, since the library did not create it or a writer uses it. Returns
 * whether the name is free now. */
static bool remove_leftover(const char *path)
{
    struct stat state;
    int descriptor = open_leftover(path);
    if (descriptor < 0)
        return errno == ENOENT;
    bool is_same = false;
    bool removed = fstat(descriptor, &state) == 0 && S_ISREG(state.st_mode) &&
                   flock(descriptor, LOCK_EX | LOCK_NB) == 0 &&
                   sv_descriptor_compare(&is_same, descriptor, path) == 0;
    if (is_same)
        removed = unlink(path) == 0 || errno == ENOENT;
    close(descriptor);
    return removed;
}

/* Locks a temporary file that was just created. Returns 0, EAGAIN if another writer has taken it
 * for a leftover, or the errno value of what failed; the file is then removed. On a file system
 * without locks the file stays unlocked. */
static int lock_temporary(int descriptor, const char *path)
{
    bool is_same;
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return EAGAIN;
    const int code = sv_descriptor_compare(&is_same, descriptor, path);
    if (code)
        unlink(path);
    return code || is_same ? code : EAGAIN;
}

/* Creates and locks a temporary file; -1 with EEXIST if its name is taken. It tries again if
 * another writer takes the file for a leftover between the two steps; EBUSY if that happens always,
 * as on a file system that numbers one file in two ways. */
static int create_temporary(const char *path, mode_t mode)
{
    enum { TRIES = 1000 };
    int code = EAGAIN;
    for (int i = 0; i < TRIES && code == EAGAIN; i++) {
        int descriptor = sv_descriptor_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
        if (descriptor >= 0) {
            code = lock_temporary(descriptor, path);
            if (code == 0)
                return descriptor;
            close(descriptor);
        } else if (errno != EEXIST) {
            return -1;
        } else if (!remove_leftover(path)) {
            code = EEXIST;
        }
    }
    errno = code == EAGAIN ? EBUSY : code;
    return -1;
}

/* Opens the first temporary file whose name no other writer has locked. So concurrent writers of
 * one path get different files, and the next writer reuses the name of a killed one, which leaves
 * no more files than there were writers at once. */
static int open_temporary(sv_replacement *replacement, mode_t mode)
{
    enum { NAMES = 4096 };
    for (int i = 0; i < NAMES; i++) {
        sv_temporary_name(replacement->temporary, replacement->capacity, replacement->path, i);
        int descriptor = create_temporary(replacement->temporary, mode);
        if (descriptor >= 0 || errno != EEXIST)
            return descriptor;
    }
    errno = EBUSY;
    return -1;
}

/* Gives the temporary file the owner, the group and the permissions of the file that it will
 * replace. Only a privileged process can change the owner. If the group cannot be kept either, the
 * new group gets the permissions that all users have. */
static svit_status keep_permissions(const sv_replacement *replacement, const struct stat *old,
                                    svit_error *err)
{
    int descriptor = replacement->descriptor;
    struct stat made;
    bool kept = fchown(descriptor, old->st_uid, old->st_gid) == 0 ||
                fchown(descriptor, (uid_t)-1, old->st_gid) == 0;
    mode_t mode = old->st_mode & 07777;
    if (!kept && (fstat(descriptor, &made) != 0 || made.st_gid != old->st_gid))
        mode = (mode & 0707) | (mode & 07) << 3;
    if (fchmod(descriptor, mode) != 0)
        return sv_fail_io(err, "keep the permissions of", replacement->path);
    return SVIT_OK;
}

static svit_status begin_temporary(sv_replacement *replacement, svit_error *err)
{
    struct stat old;
    bool replaces = stat(replacement->path, &old) == 0;
    if (!replaces && errno != ENOENT)
        return sv_fail_io(err, "write", replacement->path);
    if (replaces && !S_ISREG(old.st_mode))
        return sv_fail(err, SVIT_E_IO, "'%s' is %s; only a regular file can be replaced",
                       replacement->path, sv_path_kind(old.st_mode));
    /* 0600 until keep_permissions: the new content is never readable for more users than the old.
     */
    replacement->descriptor = open_temporary(replacement, replaces ? 0600 : 0666);
    if (replacement->descriptor < 0)
        return sv_fail_io(err, "write", replacement->path);
    return replaces ? keep_permissions(replacement, &old, err) : SVIT_OK;
}

svit_status sv_replacement_begin(sv_replacement **out, const sv_allocator *allocator,
                                 const char *path, svit_error *err)
{
    sv_replacement *replacement = sv_allocate(allocator, sizeof *replacement);
    if (!replacement)
        return sv_fail_memory(err, sizeof *replacement, "a file replacement");
    *replacement = (sv_replacement){-1, NULL, NULL, 0};
    svit_status status = resolve_link(&replacement->path, allocator, path, err);
    if (status == SVIT_OK) {
        assert(replacement->path);
        replacement->capacity = strlen(replacement->path) + SV_TEMPORARY_BYTES;
        replacement->temporary = sv_allocate(allocator, replacement->capacity);
        status = replacement->temporary
                     ? begin_temporary(replacement, err)
                     : sv_fail_memory(err, replacement->capacity, "a file's name");
    }
    if (status != SVIT_OK) {
        if (replacement->descriptor >= 0)
            unlink(replacement->temporary);
        replacement_free(allocator, replacement);
        return status;
    }
    *out = replacement;
    return SVIT_OK;
}

/* Writes all bytes. `path` is for the message. */
static svit_status write_all(int descriptor, const void *data, size_t bytes, const char *path,
                             svit_error *err)
{
    const char *from = data;
    while (bytes > 0) {
        ssize_t put = write(descriptor, from, bytes);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return sv_fail_io(err, "write", path);
        from += put;
        bytes -= (size_t)put;
    }
    return SVIT_OK;
}

svit_status sv_replacement_write(sv_replacement *replacement, const void *data, size_t bytes,
                                 svit_error *err)
{
    return write_all(replacement->descriptor, data, bytes, replacement->path, err);
}

/* fsync, which begins again if a signal has broken it off. */
static int flush(int descriptor)
{
    int result;
    do
        result = fsync(descriptor);
    while (result != 0 && errno == EINTR);
    return result;
}

static svit_status fail_flush(svit_error *err, const char *path, int code)
{
    char reason[128];
    return sv_fail(err, SVIT_E_IO,
                   "'%s' is written and in place, but its folder could not be flushed to disk, so "
                   "that a power failure may bring the old file back: %s",
                   path, sv_errno_text(code, reason, sizeof reason));
}

int sv_parent_flush(char *path)
{
    /* The folder's path is made in place, without an allocation that could fail after a rename. */
    char *slash = strrchr(path, '/');
    char *end = slash && slash > path ? slash : path + (slash != NULL);
    char kept = *end;
    *end = '\0';
    int descriptor = sv_descriptor_open(slash ? path : ".", O_RDONLY | O_DIRECTORY, 0);
    *end = kept;
    if (descriptor < 0)
        return errno;
    const int code = flush(descriptor) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
    close(descriptor);
    return code;
}

svit_status sv_replacement_commit(const sv_allocator *allocator, sv_replacement *replacement,
                                  svit_error *err)
{
    svit_status status = SVIT_OK;
    if (flush(replacement->descriptor) != 0)
        status = sv_fail_io(err, "flush", replacement->path);
    else if (rename(replacement->temporary, replacement->path) != 0)
        status = sv_fail_io(err, "replace", replacement->path);
    if (status != SVIT_OK) {
        sv_replacement_abandon(allocator, replacement);
        return status;
    }
    /* The new file is in place whether this succeeds or not. */
    const int code = sv_parent_flush(replacement->path);
    if (code)
        status = fail_flush(err, replacement->path, code);
    replacement_free(allocator, replacement);
    return status;
}

void sv_replacement_abandon(const sv_allocator *allocator, sv_replacement *replacement)
{
    if (!replacement)
        return;
    unlink(replacement->temporary);
    replacement_free(allocator, replacement);
}

/* Appends to an open file. If that fails, the file gets the size that it had, as far as the system
 * allows it. */
static svit_status append_all(int descriptor, const char *path, const void *data, size_t bytes,
                              svit_error *err)
{
    struct stat state;
    if (fstat(descriptor, &state) != 0)
        return sv_fail_io(err, "append to", path);
    if (!S_ISREG(state.st_mode))
        return sv_fail(err, SVIT_E_IO, "'%s' is %s; only a regular file can be appended to", path,
                       sv_path_kind(state.st_mode));
    svit_status status = write_all(descriptor, data, bytes, path, err);
    if (status == SVIT_OK && flush(descriptor) != 0)
        status = sv_fail_io(err, "flush", path);
    if (status != SVIT_OK && ftruncate(descriptor, state.st_size) != 0)
        return status; /* the failure before is what the caller has to know */
    return status;
}

/* Opens a file to append to it, or creates it. O_NONBLOCK: a FIFO without a reader is refused
 * instead of waited for. */
static int open_to_append(bool *is_new, const char *path)
{
    const int flags = O_WRONLY | O_APPEND | O_NONBLOCK;
    int descriptor = sv_descriptor_open(path, flags | O_CREAT | O_EXCL, 0666);
    *is_new = descriptor >= 0;
    return *is_new || errno != EEXIST ? descriptor : sv_descriptor_open(path, flags, 0);
}

svit_status sv_file_append(const char *path, const void *data, size_t bytes, svit_error *err)
{
    if (sv_is_dangling(path))
        return sv_fail_dangling(err, "append to", path);
    bool is_new;
    int descriptor = open_to_append(&is_new, path);
    if (descriptor < 0)
        return sv_fail_io(err, "append to", path);
    svit_status status = append_all(descriptor, path, data, bytes, err);
    close(descriptor);
    if (status != SVIT_OK && is_new)
        unlink(path);
    return status;
}
