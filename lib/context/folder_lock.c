/* Exclusive locks of folders: a lock of the file `.lock` in the folder. */
#include "base/files/file.h"
#include "base/files/lock_file.h"
#include "base/files/path.h"
#include "base/status.h"
#include "base/threads/thread.h"
#include "context/context.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LOCK_NAME ".lock"

struct svit_folder_lock {
    svit_context *context;
    char *folder; /* its absolute path: the program may get another working folder */
    size_t home;  /* characters of `folder` in front of the caller's text, which messages show */
    char *path;   /* of the lock file */
    size_t path_bytes;
    size_t created; /* length of the path of the topmost folder that was created; 0: none was */
    size_t failed;  /* length of the path of the folder that could not be made; 0: there is none */
    bool is_made;   /* that folder, but its name could not be flushed */
    sv_lock_file file; /* SV_NO_LOCK_FILE: the lock is not held, as in a forked child */
    svit_folder_lock *next;
};

/* All locks that the process holds, guarded by sv_process_lock. A forked child shares the open lock
 * files, so it must close them; otherwise a child that outlives its parent would keep the folders
 * locked. The list is global because a fork handler takes no argument. */
static svit_folder_lock *held_locks;

static void close_in_child(void)
{
    for (svit_folder_lock *lock = held_locks; lock; lock = lock->next) {
        sv_lock_file_abandon(lock->file);
        lock->file = SV_NO_LOCK_FILE;
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
    bool made;
    const int code = sv_folder_make(&made, lock->folder);
    if (made && (lock->created == 0 || length < lock->created))
        lock->created = length;
    lock->folder[length] = after;
    lock->failed = code ? length : 0;
    lock->is_made = made;
    return code;
}

/* Creates lock->folder and its parent folders. Returns 0 or an errno value. */
static int make_folders(svit_folder_lock *lock)
{
    int code = 0;
    for (size_t i = lock->home + 1; lock->folder[i] && !code; i++)
        if (sv_path_is_separator(lock->folder[i]))
            code = make_folder(lock, i);
    return code ? code : make_folder(lock, strlen(lock->folder));
}

/* Removes the folders that make_folders has created, from the deepest up. One that is not empty
 * stays, and so do its parents; the deepest may never have been made. */
static void remove_folders(svit_folder_lock *lock)
{
    size_t length = lock->created ? strlen(lock->folder) : 0;
    while (length > 0 && length >= lock->created) {
        sv_folder_remove(lock->folder);
        do
            length--;
        while (length > 0 && !sv_path_is_separator(lock->folder[length]));
        lock->folder[length] = '\0';
    }
}

/* Makes the folder, and opens and locks the lock file. Returns 0 or an errno value: EAGAIN or
 * ENOENT if its owner has removed it or the folder in the meantime, EBUSY if it is locked. */
static int try_lock(svit_folder_lock *lock)
{
    const int code = make_folders(lock);
    return code ? code : sv_lock_file_open(&lock->file, lock->path, lock->created > 0);
}

/* A failure to make or lock the folder, with its reason in errno. A symbolic link that leads
 * nowhere, at the folder's place or above, has a message of its own. */
static svit_status fail_lock(svit_folder_lock *lock, svit_error *err)
{
    const int code = errno;
    const char *shown = lock->folder + lock->home;
    for (size_t i = lock->home + 1; i <= strlen(lock->folder); i++) {
        const char after = lock->folder[i];
        if (!sv_path_is_separator(after) && after != '\0')
            continue;
        lock->folder[i] = '\0';
        const bool dangles = sv_is_dangling(lock->folder);
        svit_status status = dangles ? sv_fail_dangling(err, "make the folder", shown) : SVIT_OK;
        lock->folder[i] = after;
        SVIT_TRY(status);
    }
    errno = code;
    if (lock->failed == 0)
        return sv_fail_io(err, "lock", lock->path + lock->home);
    lock->folder[lock->failed] = '\0'; /* the caller frees the lock */
    return sv_fail_io(err, lock->is_made ? "flush the name of the new folder" : "make the folder",
                      shown);
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
                       lock->folder + lock->home);
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
    sv_lock_file_close(lock->file, lock->path);
    lock->file = SV_NO_LOCK_FILE;
}

/* Makes the folder's absolute path, without trailing slashes, and the path of the lock file. */
static svit_status make_paths(svit_folder_lock *lock, const char *folder, svit_error *err)
{
    const sv_allocator *allocator = &lock->context->allocator;
    char *home = NULL;
    SVIT_TRY(sv_path_home(&home, allocator, folder, err));
    lock->home = strlen(home);
    const svit_status status = sv_path_from(&lock->folder, allocator, home, folder, err);
    sv_release_text(allocator, home);
    SVIT_TRY(status);
    const size_t bytes = strlen(lock->folder) + 1;
    lock->path_bytes = bytes + sizeof LOCK_NAME;
    lock->path = sv_allocate(allocator, lock->path_bytes);
    if (!lock->path)
        return sv_fail_memory(err, lock->path_bytes, "a folder's name");
    size_t length = bytes - 1;
    while (length > lock->home + 1 && sv_path_is_separator(lock->folder[length - 1]))
        length--;
    memset(lock->folder + length, '\0', bytes - length);
    snprintf(lock->path, lock->path_bytes, "%s/" LOCK_NAME, lock->folder);
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
    lock->file = SV_NO_LOCK_FILE;
    svit_status status = make_paths(lock, folder, err);
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
        if (lock->file != SV_NO_LOCK_FILE)
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
static bool path_of(char path[SV_PATH_MAX], const svit_folder_lock *lock, const char *name)
{
    int length = snprintf(path, SV_PATH_MAX, "%s/%s", lock->folder, name);
    errno = ENAMETOOLONG;
    return length > 0 && length < SV_PATH_MAX;
}

svit_status sv_folder_lock_find(bool *out, const svit_folder_lock *lock, const char *name,
                                svit_error *err)
{
    char path[SV_PATH_MAX];
    *out = false;
    if (!path_of(path, lock, name))
        return SVIT_OK;
    errno = sv_path_examine(out, path);
    return errno == 0 ? SVIT_OK : sv_fail_io(err, "examine", path);
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
    if (!sv_path_is_name(name))
        return sv_fail(err, SVIT_E_ARGUMENT, "name is '%.100s'; the name of a file is needed",
                       name);
    /* Another process could then lock a new file of this name. */
    if (strcmp(name, LOCK_NAME) == 0)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "name is '" LOCK_NAME "', the file of the lock; svit_folder_lock_free "
                       "removes it");
    char path[SV_PATH_MAX];
    if (path_of(path, lock, name))
        errno = sv_file_remove(path);
    return errno == 0 || errno == ENOENT ? SVIT_OK : sv_fail_io(err, "remove", path);
}
