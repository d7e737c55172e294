/* Lock files by flock, and folders, through the calls of POSIX. */
#include "base/files/lock_file.h"

#include "base/files/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether names can be made in the folder of `path`, an absolute one, which is changed during the
 * call. */
static bool is_folder_writable(char *path)
{
    char *slash = strrchr(path, '/');
    char *end = slash > path ? slash : path + 1;
    const char kept = *end;
    *end = '\0';
    const bool writable = faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
    *end = kept;
    return writable;
}

/* Opens the file, or creates it. One that another user has left can be locked too if it may be
 * read, but a folder that may not be written is refused at once. */
static int open_to_lock(char *path)
{
    int descriptor = sv_descriptor_open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0666);
    if (descriptor >= 0 || errno != EACCES)
        return descriptor;
    errno = EACCES;
    if (is_folder_writable(path))
        descriptor = sv_descriptor_open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);
    return descriptor;
}

int sv_lock_file_open(sv_lock_file *out, char *path, bool is_new_folder)
{
    *out = SV_NO_LOCK_FILE;
    int code = 0;
    int descriptor = open_to_lock(path);
    if (descriptor < 0)
        return errno;
    /* The previous owner removes the file before it unlocks it, so this may be a file that has lost
     * its name. */
    bool is_at_path = false;
    const int refused = flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    if (refused == EWOULDBLOCK) {
        code = EBUSY;
    } else if (refused == EBADF) {
        code = EACCES; /* NFS locks no file that is open for reading alone */
    } else if ((code = sv_descriptor_compare(&is_at_path, descriptor, path)) != 0) {
        if (is_new_folder)
            unlink(path);
    } else if (!is_at_path) {
        code = EAGAIN;
    }
    if (code)
        close(descriptor);
    else
        *out = descriptor;
    return code;
}

/* Whether the open lock file has no content, as this file creates it. A file of another program
 * that has some is locked, but not removed. */
static bool is_empty(int descriptor)
{
    struct stat state;
    return fstat(descriptor, &state) == 0 && state.st_size == 0;
}

void sv_lock_file_close(sv_lock_file file, const char *path)
{
    bool is_at_path;
    if (sv_descriptor_compare(&is_at_path, (int)file, path) == 0 && is_at_path &&
        is_empty((int)file))
        unlink(path);
    close((int)file);
}

void sv_lock_file_abandon(sv_lock_file file)
{
    close((int)file);
}

/* Flushes the name of a folder that has just been made. A parent that may not be read, in which
 * names can be made all the same, is left to the system. */
static int flush_name(char *path)
{
    const int code = sv_parent_flush(path);
    return code == EACCES ? 0 : code;
}

int sv_folder_make(bool *made, char *path)
{
    struct stat state;
    int code = mkdir(path, 0777) == 0 ? 0 : errno;
    *made = code == 0;
    if (*made)
        return flush_name(path);
    if (code && stat(path, &state) == 0)
        return S_ISDIR(state.st_mode) ? 0 : ENOTDIR;
    if (code == EEXIST && errno != ENOENT)
        return errno;
    if (code == EEXIST && !(lstat(path, &state) == 0 && S_ISLNK(state.st_mode)))
        return ENOENT;
    return code;
}

void sv_folder_remove(const char *path)
{
    rmdir(path);
}

int sv_path_examine(bool *exists, const char *path)
{
    struct stat state;
    *exists = lstat(path, &state) == 0;
    return *exists || errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG ? 0 : errno;
}

int sv_file_remove(const char *path)
{
    return unlink(path) == 0 ? 0 : errno;
}
