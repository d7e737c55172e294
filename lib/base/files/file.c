/* Reads files and says what a path is, through the calls of POSIX. */
#include "base/files/descriptor.h"
#include "base/files/file_system.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

const char *sv_path_kind(mode_t mode)
{
    if (S_ISDIR(mode))
        return "a folder";
    if (S_ISFIFO(mode))
        return "a FIFO";
    return S_ISSOCK(mode) ? "a socket" : "a device";
}

/* Moves the open file at `path` away from the descriptors of the standard streams, of which the
 * program may have closed some: what it prints would go to the file. */
static int leave_streams(int descriptor, const char *path, int flags)
{
    if (descriptor < 0 || descriptor > STDERR_FILENO)
        return descriptor;
    const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int code = errno == EINVAL ? EMFILE : errno; /* the limit is below what is asked for */
    if (moved < 0 && flags & O_EXCL)
        unlink(path);
    close(descriptor);
    errno = code;
    return moved;
}

int sv_descriptor_open(const char *path, int flags, mode_t mode)
{
    int descriptor;
    do
        descriptor = open(path, flags | O_CLOEXEC, mode);
    while (descriptor < 0 && errno == EINTR);
    return leave_streams(descriptor, path, flags);
}

/* Opens a regular file. Without O_NONBLOCK, opening a FIFO would wait until a writer opens it; for
 * a regular file the flag changes nothing. */
static svit_status open_regular(int *descriptor, struct stat *state, const char *path,
                                svit_error *err)
{
    int opened = sv_descriptor_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (opened < 0)
        return sv_fail_io(err, "open", path);
    svit_status status = SVIT_OK;
    if (fstat(opened, state) != 0)
        status = sv_fail_io(err, "examine", path);
    else if (!S_ISREG(state->st_mode))
        status = sv_fail(err, SVIT_E_IO, "'%s' is %s; a regular file is needed", path,
                         sv_path_kind(state->st_mode));
    if (status != SVIT_OK) {
        close(opened);
        return status;
    }
    *descriptor = opened;
    return SVIT_OK;
}

static int64_t modified_of(const struct stat *state)
{
    /* Modulo 2^64, since a file may be of any year. */
    return (int64_t)((uint64_t)state->st_mtim.tv_sec * 1000000000 +
                     (uint64_t)state->st_mtim.tv_nsec);
}

svit_status sv_file_system_open(sv_file *out, const char *path, svit_error *err)
{
    int descriptor = -1;
    struct stat state = {0};
    SVIT_TRY(open_regular(&descriptor, &state, path, err));
    out->system = descriptor;
    out->size = (uint64_t)state.st_size;
    out->modified = modified_of(&state);
    return SVIT_OK;
}

svit_status sv_file_state(const sv_file *file, uint64_t *size, int64_t *modified, svit_error *err)
{
    struct stat state;
    if (fstat(sv_file_descriptor(file), &state) != 0)
        return sv_fail_io(err, "examine", file->path);
    *size = (uint64_t)state.st_size;
    *modified = modified_of(&state);
    return SVIT_OK;
}

void sv_file_system_close(const sv_file *file)
{
    close(sv_file_descriptor(file));
}

int sv_file_descriptor(const sv_file *file)
{
    return (int)file->system;
}

svit_status sv_file_read_at(sv_file *file, uint64_t offset, void *data, size_t bytes,
                            svit_error *err)
{
    char *to = data;
    while (bytes > 0) {
        ssize_t got = pread(sv_file_descriptor(file), to, bytes, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return sv_fail_io(err, "read", file->path);
        if (got == 0)
            return sv_fail(err, SVIT_E_FORMAT, "'%s' ends %zu bytes too early", file->path, bytes);
        to += got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return SVIT_OK;
}

bool sv_file_read_short(const char *path, char *text, size_t capacity)
{
    int descriptor = -1;
    struct stat state;
    if (open_regular(&descriptor, &state, path, NULL) != SVIT_OK)
        return false;
    size_t length = 0;
    ssize_t got = 1;
    while (length < capacity && got != 0) {
        got = read(descriptor, text + length, capacity - length);
        if (got < 0 && errno != EINTR)
            break;
        length += got > 0 ? (size_t)got : 0;
    }
    close(descriptor);
    if (got != 0)
        return false;
    text[length] = '\0';
    return true;
}

void sv_file_read_lines(const char *path, char *line, size_t capacity,
                        void (*take)(void *argument, const char *line), void *argument)
{
    int descriptor = -1;
    struct stat state;
    if (open_regular(&descriptor, &state, path, NULL) != SVIT_OK)
        return;
    char piece[512];
    size_t length = 0; /* of the line so far, also where it does not fit */
    ssize_t got;
    do {
        got = read(descriptor, piece, sizeof piece);
        const bool ends = got == 0 && length > 0;
        for (ssize_t i = 0; i < got + ends; i++) {
            const bool is_end = ends || piece[i] == '\n';
            if (length < capacity)
                line[length] = is_end ? '\0' : piece[i];
            if (is_end && length < capacity)
                take(argument, line);
            length = is_end ? 0 : length + 1;
        }
    } while (got > 0 || (got < 0 && errno == EINTR));
    close(descriptor);
}

svit_status sv_fail_dangling(svit_error *err, const char *action, const char *path)
{
    char target[256];
    ssize_t length = readlink(path, target, sizeof target - 1);
    target[length < 0 ? 0 : length] = '\0';
    return sv_fail(
        err, SVIT_E_IO,
        "cannot %s '%s': it is a symbolic link to '%s', which is not there; no link, or a "
        "link to what exists, is accepted",
        action, path, target);
}

bool sv_is_dangling(const char *path)
{
    struct stat state;
    return lstat(path, &state) == 0 && S_ISLNK(state.st_mode) && stat(path, &state) != 0 &&
           errno == ENOENT;
}

bool sv_is_absent(const char *path)
{
    struct stat state;
    return lstat(path, &state) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

int sv_descriptor_compare(bool *is_same, int descriptor, const char *path)
{
    struct stat opened, named;
    *is_same = false;
    if (fstat(descriptor, &opened) != 0)
        return errno;
    if (stat(path, &named) != 0)
        return errno == ENOENT ? 0 : errno;
    *is_same = opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
    return 0;
}

bool sv_is_folder(const char *path)
{
    struct stat state;
    return stat(path, &state) == 0 && S_ISDIR(state.st_mode);
}
