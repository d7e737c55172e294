/* Claims of folders, by a locked file in the folder. Besides base/file.c, only this file opens and
 * locks files. */
#include "base/status.h"
#include "base/thread.h"
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
    char *lock; /* the path of the lock file */
    size_t lock_bytes;
    size_t created; /* length of the shortest path that was created for the claim; 0: none */
    int descriptor; /* of the lock file; below 0: not held, as in a forked child */
    svit_folder_lock *next;
};

/* All claims of the process, guarded by the process lock. A forked child shares the open lock
 * files, so it must close them; otherwise a child that outlives its parent would keep the folders
 * locked. The list is global because a fork handler takes no argument. */
static svit_folder_lock *claims;

static void close_in_child(void)
{
    for (svit_folder_lock *claim = claims; claim; claim = claim->next) {
        close(claim->descriptor);
        claim->descriptor = -1;
    }
    claims = NULL;
}

static svit_status fail_io(svit_error *err, const char *action, const char *path)
{
    char reason[128];
    int code = errno;
    return sv_fail(err, SVIT_E_IO, "cannot %s '%s': %s", action, path,
                   sv_errno_text(code, reason, sizeof reason));
}

/* Creates the folder whose path is the first `length` characters of the claim's folder, unless
 * it exists. Returns 0 or an errno value: ENOENT if another claim has just removed it or its
 * parent. */
static int make_folder(svit_folder_lock *claim, size_t length)
{
    char after = claim->folder[length];
    claim->folder[length] = '\0';
    struct stat state;
    int code = mkdir(claim->folder, 0777) == 0 ? 0 : errno;
    if (code == 0 && (claim->created == 0 || length < claim->created))
        claim->created = length;
    if (code && stat(claim->folder, &state) == 0)
        code = S_ISDIR(state.st_mode) ? 0 : ENOTDIR;
    else if (code == EEXIST && !(lstat(claim->folder, &state) == 0 && S_ISLNK(state.st_mode)))
        code = ENOENT;
    claim->folder[length] = after;
    return code;
}

static int make_folders(svit_folder_lock *claim)
{
    int code = 0;
    for (size_t i = 1; claim->folder[i] && !code; i++)
        if (claim->folder[i] == '/')
            code = make_folder(claim, i);
    return code ? code : make_folder(claim, strlen(claim->folder));
}

/* Removes the folders that the claim has created, from the deepest up, as long as they are
 * empty. */
static void remove_folders(svit_folder_lock *claim)
{
    size_t length = claim->created ? strlen(claim->folder) : 0;
    while (length > 0 && length >= claim->created && rmdir(claim->folder) == 0) {
        do
            length--;
        while (length > 0 && claim->folder[length] != '/');
        claim->folder[length] = '\0';
    }
}

/* Whether the open lock file is still the one at its path: its previous owner removes it before
 * closing it. */
static bool has_name(const svit_folder_lock *claim)
{
    struct stat opened, named;
    return fstat(claim->descriptor, &opened) == 0 && lstat(claim->lock, &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/* Opens and locks the lock file. Returns 0 or an errno value: EAGAIN if its owner has removed it or
 * the folder in the meantime, EBUSY if it is locked. On a file system without locks the file stays
 * open unlocked. */
static int take(svit_folder_lock *claim)
{
    int code = make_folders(claim);
    if (code)
        return code == ENOENT ? EAGAIN : code;
    claim->descriptor = open(claim->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (claim->descriptor < 0)
        return errno == ENOENT ? EAGAIN : errno;
    if (flock(claim->descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        code = EBUSY;
    else if (!has_name(claim))
        code = EAGAIN;
    if (code) {
        close(claim->descriptor);
        claim->descriptor = -1;
    }
    return code;
}

/* Takes the lock and lists the claim. The process lock is held, so that no fork comes in
 * between. */
static svit_status hold(svit_folder_lock *claim, svit_error *err)
{
    enum { TRIES = 1000 };
    int code = EAGAIN;
    for (int i = 0; i < TRIES && code == EAGAIN; i++)
        code = take(claim);
    if (code == EBUSY || code == EAGAIN)
        return sv_fail(err, SVIT_E_STATE,
                       "'%s' is in use by another process, or by another handle of this one; a "
                       "folder takes one at a time",
                       claim->folder);
    errno = code;
    if (code)
        return fail_io(err, "claim the folder", claim->folder);
    sv_process_set_fork_handler(close_in_child);
    claim->next = claims;
    claims = claim;
    return SVIT_OK;
}

static void release(svit_folder_lock *claim)
{
    svit_folder_lock **at = &claims;
    while (*at != claim)
        at = &(*at)->next;
    *at = claim->next;
    if (has_name(claim))
        unlink(claim->lock);
    close(claim->descriptor);
    claim->descriptor = -1;
}

/* Copies the folder's path without trailing slashes, and makes the lock file's path. */
static svit_status copy_paths(svit_folder_lock *claim, const char *folder, svit_error *err)
{
    const sv_allocator *allocator = &claim->context->allocator;
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    claim->folder = sv_copy_text(allocator, folder);
    claim->lock_bytes = strlen(folder) + sizeof "/" LOCK_NAME;
    claim->lock = sv_allocate(allocator, claim->lock_bytes);
    if (!claim->folder || !claim->lock)
        return sv_fail_memory(err, claim->lock_bytes, "a folder's name");
    snprintf(claim->lock, claim->lock_bytes, "%.*s/" LOCK_NAME, (int)length, folder);
    memset(claim->folder + length, '\0', strlen(folder) - length);
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
                               "a claim of a folder", err));
    svit_folder_lock *claim = memory;
    claim->context = sv_context_retain(context);
    claim->descriptor = -1;
    svit_status status = copy_paths(claim, folder, err);
    if (status == SVIT_OK) {
        sv_process_lock();
        status = hold(claim, err);
        sv_process_unlock();
    }
    if (status == SVIT_OK)
        *out = claim;
    else
        svit_folder_lock_free(claim);
    return status;
}

/* A forked child has closed its copy of the lock file and leaves the folder to its parent. */
SVIT_API void svit_folder_lock_free(svit_folder_lock *claim)
{
    if (!claim)
        return;
    svit_context *context = claim->context;
    size_t bytes = claim->folder ? claim->lock_bytes - sizeof LOCK_NAME : 0;
    if (svit_context_check(context, NULL) == SVIT_OK) {
        sv_process_lock();
        if (claim->descriptor >= 0)
            release(claim);
        if (claim->folder)
            remove_folders(claim);
        sv_process_unlock();
    }
    sv_release(&context->allocator, claim->folder, bytes);
    sv_release(&context->allocator, claim->lock, claim->lock_bytes);
    sv_release(&context->allocator, claim, sizeof *claim);
    svit_context_free(context);
}

/* Writes the path of `name` in the folder. Returns false, with errno, if it is too long. */
static bool path_of(char path[PATH_MAX], const svit_folder_lock *claim, const char *name)
{
    int length = snprintf(path, PATH_MAX, "%s/%s", claim->folder, name);
    errno = ENAMETOOLONG;
    return length > 0 && length < PATH_MAX;
}

SVIT_API int32_t svit_folder_lock_has(const svit_folder_lock *claim, const char *name)
{
    char path[PATH_MAX];
    struct stat state;
    return claim && name && path_of(path, claim, name) && lstat(path, &state) == 0;
}

SVIT_API svit_status svit_folder_lock_remove(svit_folder_lock *claim, const char *name,
                                             svit_error *err)
{
    SV_REQUIRE(claim);
    SV_REQUIRE(name);
    SVIT_TRY(svit_context_check(claim->context, err));
    if (!*name || strchr(name, '/'))
        return sv_fail(err, SVIT_E_ARGUMENT, "name is '%.100s'; the name of a file is needed",
                       name);
    char path[PATH_MAX];
    if (!path_of(path, claim, name) || (unlink(path) != 0 && errno != ENOENT))
        return fail_io(err, "remove", path);
    return SVIT_OK;
}
