/* Exclusive locks of folders: flock on the file `.lock` in the folder. Outside of base/files/ only
 * this file opens files. */
#include "base/files/file.h"
#include "base/status.h"
#include "base/threads/thread.h"
#include "context/context.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_NAME ".lock"

struct svit_folder_lock {
    svit_context *context;
    char *folder;
    char *path; /* of the lock file */
    size_t path_bytes;
    size_t created; /* length of the path of the topmost folder that was created; 0: none was */
    size_t failed;  /* length of the path of the folder that could not be made; 0: there is none */
    int descriptor; /* of the lock file; -1: the lock is not held, as in a forked child */
    svit_folder_lock *next;
};

/* All locks that the process holds, guarded by sv_process_lock. A forked child shares the open lock
 * files, so it must close them; otherwise a child that outlives its parent would keep the folders
 * locked. The list is global because a fork handler takes no argument. */
static svit_folder_lock *held_locks;

static void close_in_child(void)
{
    for (svit_folder_lock *lock = held_locks; lock; lock = lock->next) {
        close(lock->descriptor);
        lock->descriptor = -1;
    }
    held_locks = NULL;
}

/* Creates the folder whose path is the first `length` characters of lock->folder, unless it exists.
 * Returns 0 or an errno value: ENOENT if another process that frees its lock has just removed the
 * folder or its parent, or if the system creates no folders there. */
static int make_folder(svit_folder_lock *lock, size_t length)
{
    char after = lock->folder[length];
    lock->folder[length] = '\0';
    struct stat state;
    int code = mkdir(lock->folder, 0777) == 0 ? 0 : errno;
    if (code == 0 && (lock->created == 0 || length < lock->created))
        lock->created = length;
    if (code && stat(lock->folder, &state) == 0)
        code = S_ISDIR(state.st_mode) ? 0 : ENOTDIR;
    else if (code == EEXIST && errno != ENOENT)
        code = errno;
    else if (code == EEXIST && !(lstat(lock->folder, &state) == 0 && S_ISLNK(state.st_mode)))
        code = ENOENT;
    lock->folder[length] = after;
    lock->failed = code ? length : 0;
    return code;
}

/* Creates lock->folder and its parent folders. Returns 0 or an errno value. */
static int make_folders(svit_folder_lock *lock)
{
    int code = 0;
    for (size_t i = 1; lock->folder[i] && !code; i++)
        if (lock->folder[i] == '/')
            code = make_folder(lock, i);
    return code ? code : make_folder(lock, strlen(lock->folder));
}

/* Removes the folders that make_folders has created, from the deepest up. One that is not empty
 * stays, and so do its parents; the deepest may never have been made. */
static void remove_folders(svit_folder_lock *lock)
{
    size_t length = lock->created ? strlen(lock->folder) : 0;
    while (length > 0 && length >= lock->created) {
        rmdir(lock->folder);
        do
            length--;
        while (length > 0 && lock->folder[length] != '/');
        lock->folder[length] = '\0';
    }
}

/* Whether the open lock file has no content, as this file creates it. A `.lock` of another program
 * that has some is locked, but not removed. */
static bool is_empty(const svit_folder_lock *lock)
{
    struct stat state;
    return fstat(lock->descriptor, &state) == 0 && state.st_size == 0;
}

/* Removes the lock file if this lock has created its folder, and so the file. */
static void remove_own_file(const svit_folder_lock *lock)
{
    if (lock->created > 0)
        unlink(lock->path);
}

/* Opens and locks the lock file. Returns 0 or an errno value: EAGAIN or ENOENT if its owner has
 * removed it or the folder in the meantime, EBUSY if it is locked. On a file system without locks the file stays
 * open unlocked. */
static int try_lock(svit_folder_lock *lock)
{
    int code = make_folders(lock);
    if (code)
        return code;
    lock->descriptor = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (lock->descriptor < 0)
        return errno;
    /* The previous owner removes the file before it unlocks it, so this may be a file that has lost
     * its name. */
    bool is_at_path = false;
    if (flock(lock->descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        code = EBUSY;
    else if ((code = sv_file_compare(&is_at_path, lock->descriptor, lock->path)) != 0)
        remove_own_file(lock);
    else if (!is_at_path)
        code = EAGAIN;
    if (code) {
        close(lock->descriptor);
        lock->descriptor = -1;
    }
    return code;
}

/* A failure to make or lock the folder, with its reason in errno. A symbolic link that leads
 * nowhere, at the folder's place or above, has a message of its own. */
static svit_status fail_lock(svit_folder_lock *lock, svit_error *err)
{
    const int code = errno;
    for (size_t i = 1; i <= strlen(lock->folder); i++) {
        const char after = lock->folder[i];
        if (after != '/' && after != '\0')
            continue;
        lock->folder[i] = '\0';
        const bool dangles = sv_is_dangling(lock->folder);
        svit_status status =
            dangles ? sv_fail_dangling(err, "make the folder", lock->folder) : SVIT_OK;
        lock->folder[i] = after;
        SVIT_TRY(status);
    }
    errno = code;
    if (lock->failed == 0)
        return sv_fail_io(err, "lock the folder", lock->folder);
    lock->folder[lock->failed] = '\0'; /* the caller frees the lock */
    return sv_fail_io(err, "make the folder", lock->folder);
}

/* Locks the folder and adds the lock to held_locks. The caller holds sv_process_lock, so that no
 * fork happens in between. */
static svit_status lock_folder(svit_folder_lock *lock, svit_error *err)
{
    enum { TRIES = 1000 };
    int code = EAGAIN;
    for (int i = 0; i < TRIES && (code == EAGAIN || code == ENOENT); i++)
        code = try_lock(lock);
    if (code == EBUSY || code == EAGAIN)
        return sv_fail(err, SVIT_E_STATE,
                       "'%s' is in use by another process, or by another handle of this one; a "
                       "folder takes one at a time",
                       lock->folder);
    errno = code;
    if (code)
        return fail_lock(lock, err);
    sv_process_set_fork_handler(close_in_child);
    lock->next = held_locks;
    held_locks = lock;
    return SVIT_OK;
}

/* Removes the lock from held_locks, and its file. The caller holds sv_process_lock. */
static void unlock_folder(svit_folder_lock *lock)
{
    svit_folder_lock **link = &held_locks;
    while (*link != lock)
        link = &(*link)->next;
    *link = lock->next;
    bool is_at_path;
    if (sv_file_compare(&is_at_path, lock->descriptor, lock->path) == 0 && is_at_path &&
        is_empty(lock))
        unlink(lock->path);
    close(lock->descriptor);
    lock->descriptor = -1;
}

/* Copies the folder's path without trailing slashes, and writes the path of the lock file. */
static svit_status copy_paths(svit_folder_lock *lock, const char *folder, svit_error *err)
{
    const sv_allocator *allocator = &lock->context->allocator;
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    lock->folder = sv_copy_text(allocator, folder);
    lock->path_bytes = strlen(folder) + sizeof "/" LOCK_NAME;
    lock->path = sv_allocate(allocator, lock->path_bytes);
    if (!lock->folder || !lock->path)
        return sv_fail_memory(err, lock->path_bytes, "a folder's name");
    snprintf(lock->path, lock->path_bytes, "%.*s/" LOCK_NAME, (int)length, folder);
    memset(lock->folder + length, '\0', strlen(folder) - length);
    return SVIT_OK;
}

SVIT_API svit_status svit_folder_lock_create(svit_folder_lock **out, svit_context *context,
                                             const char *folder, svit_error *err)
{
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(folder);
    SVIT_TRY(svit_context_check(context, err));
    if (!*folder)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s: folder is empty; a path is needed", __func__);
    void *memory;
    SVIT_TRY(sv_allocate_array(&context->allocator, &memory, 1, sizeof(svit_folder_lock),
                               "a folder lock", err));
    svit_folder_lock *lock = memory;
    lock->context = sv_context_retain(context);
    lock->descriptor = -1;
    svit_status status = copy_paths(lock, folder, err);
    if (status == SVIT_OK) {
        sv_process_lock();
        status = lock_folder(lock, err);
        sv_process_unlock();
    }
    if (status == SVIT_OK)
        *out = lock;
    else
        svit_folder_lock_free(lock);
    return status;
}

/* A forked child has closed its copy of the lock file and leaves the folder to its parent. */
SVIT_API void svit_folder_lock_free(svit_folder_lock *lock)
{
    if (!lock)
        return;
    svit_context *context = lock->context;
    size_t bytes = lock->folder ? lock->path_bytes - sizeof LOCK_NAME : 0;
    if (svit_context_check(context, NULL) == SVIT_OK) {
        sv_process_lock();
        if (lock->descriptor >= 0)
            unlock_folder(lock);
        if (lock->folder)
            remove_folders(lock);
        sv_process_unlock();
    }
    sv_release(&context->allocator, lock->folder, bytes);
    sv_release(&context->allocator, lock->path, lock->path_bytes);
    sv_release(&context->allocator, lock, sizeof *lock);
    svit_context_free(context);
}

/* Writes the path of `name` in the folder. Returns false, with errno, if it is too long. */
static bool path_of(char path[PATH_MAX], const svit_folder_lock *lock, const char *name)
{
    int length = snprintf(path, PATH_MAX, "%s/%s", lock->folder, name);
    errno = ENAMETOOLONG;
    return length > 0 && length < PATH_MAX;
}

svit_status sv_folder_lock_find(bool *out, const svit_folder_lock *lock, const char *name,
                                svit_error *err)
{
    char path[PATH_MAX];
    struct stat state;
    *out = path_of(path, lock, name) && lstat(path, &state) == 0;
    if (*out || errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG)
        return SVIT_OK;
    return sv_fail_io(err, "examine", path);
}

SVIT_API int32_t svit_folder_lock_has(const svit_folder_lock *lock, const char *name)
{
    bool found = false;
    return lock && name && (sv_folder_lock_find(&found, lock, name, NULL) != SVIT_OK || found);
}

SVIT_API svit_status svit_folder_lock_remove(svit_folder_lock *lock, const char *name,
                                             svit_error *err)
{
    SV_REQUIRE(lock);
    SV_REQUIRE(name);
    SVIT_TRY(svit_context_check(lock->context, err));
    if (!*name || strchr(name, '/'))
        return sv_fail(err, SVIT_E_ARGUMENT, "name is '%.100s'; the name of a file is needed",
                       name);
    char path[PATH_MAX];
    if (!path_of(path, lock, name) || (unlink(path) != 0 && errno != ENOENT))
        return sv_fail_io(err, "remove", path);
    return SVIT_OK;
}
