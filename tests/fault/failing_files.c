/* Stands in front of the C library's calls for files, so that the n-th of them fails. The linker
 * takes these functions for the whole process, libraries included. As a library of its own, which
 * is preloaded into a program, it takes its orders from the environment: SHIFTVIT_KILL_AT has the
 * number of the call at which the process is killed, SHIFTVIT_COUNT_TO a file for their number. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#include "failing_files.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
enum { RECORDED = 1 << 16 };

static atomic_size_t calls, fail_at, faults;
static atomic_int armed, kind, is_full, clock_stands;
static unsigned char recorded[RECORDED];

const char *file_operation_name(file_operation operation)
{
    static const char *const NAMES[FILE_OPERATIONS] = {
        "open",   "read",  "write", "fsync",       "rename",   "mkdir",
        "close",  "stat",  "mmap",  "truncate",    "opendir",  "readdir",
        "unlink", "rmdir", "lock",  "permissions", "readlink", "thread"};
    return NAMES[operation];
}

void files_stop_clock(int stands)
{
    atomic_store(&clock_stands, stands);
}

PUBLIC void files_arm(size_t n, int fault)
{
    atomic_store(&calls, 0);
    atomic_store(&faults, 0);
    atomic_store(&is_full, 0);
    atomic_store(&kind, fault);
    atomic_store(&fail_at, n);
    atomic_store(&armed, 1);
}

PUBLIC size_t files_disarm(void)
{
    atomic_store(&armed, 0);
    return atomic_load(&faults);
}

size_t files_count(void)
{
    return atomic_load(&calls);
}

file_operation files_operation(size_t n)
{
    return recorded[(n - 1) % RECORDED];
}

/* Whether a fault can meet an operation. */
static int applies(int fault, file_operation operation)
{
    if (fault == FILE_SHORT)
        return operation == FILE_READ || operation == FILE_WRITE;
    if (fault == FILE_FULL || fault == FILE_TEAR)
        return operation == FILE_WRITE;
    if (fault == FILE_BLIND)
        return operation == FILE_STAT;
    return fault != FILE_END || operation == FILE_READ;
}

/* Counts a call. Returns what happens to it: 0, an errno value or one of FILE_*. */
static int fault_of(file_operation operation)
{
    if (!atomic_load(&armed))
        return 0;
    const size_t call = atomic_fetch_add(&calls, 1) + 1, wanted = atomic_load(&fail_at);
    const int fault = atomic_load(&kind);
    recorded[(call - 1) % RECORDED] = (unsigned char)operation;
    if (atomic_load(&is_full) && operation == FILE_WRITE)
        return ENOSPC;
    const int lasts = fault == FILE_DEAD || fault == FILE_BLIND;
    if (wanted == 0 || call < wanted || (call > wanted && !lasts) || !applies(fault, operation))
        return 0;
    if (fault == FILE_KILL)
        kill(getpid(), SIGKILL);
    atomic_fetch_add(&faults, 1);
    if (fault == FILE_FULL)
        atomic_store(&is_full, 1);
    return lasts ? EIO : fault;
}

/* Finds the function that these hide. */
static void find(void *function, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

#define REAL(name)                                                                                 \
    static __typeof__(&name) real;                                                                 \
    if (!real)                                                                                     \
    find(&real, #name)

/* Defines a function that either fails or does what the hidden one does. */
#define STAND_IN(result, name, parameters, arguments, operation, failed)                           \
    PUBLIC result name parameters                                                                  \
    {                                                                                              \
        REAL(name);                                                                                \
        const int fault = fault_of(operation);                                                     \
        if (fault == 0)                                                                            \
            return real arguments;                                                                 \
        errno = fault;                                                                             \
        return failed;                                                                             \
    }

/* Gives the mode of a call of open that has one. */
static unsigned mode_of(int flags, va_list list)
{
    return flags & O_CREAT ? va_arg(list, unsigned) : 0;
}

#define STAND_IN_OPEN(name)                                                                        \
    PUBLIC int name(const char *path, int flags, ...)                                              \
    {                                                                                              \
        REAL(name);                                                                                \
        va_list list;                                                                              \
        va_start(list, flags);                                                                     \
        const unsigned mode = mode_of(flags, list);                                                \
        va_end(list);                                                                              \
        const int fault = fault_of(FILE_OPEN);                                                     \
        if (fault == 0)                                                                            \
            return real(path, flags, mode);                                                        \
        errno = fault;                                                                             \
        return -1;                                                                                 \
    }
STAND_IN_OPEN(open)
#ifdef __GLIBC__
STAND_IN_OPEN(open64)
#endif
STAND_IN(FILE *, fopen, (const char *path, const char *mode), (path, mode), FILE_OPEN, NULL)
#ifdef __GLIBC__
STAND_IN(FILE *, fopen64, (const char *path, const char *mode), (path, mode), FILE_OPEN, NULL)
#endif

/* Fewer bytes than were asked for, at least one. */
static size_t fewer(size_t bytes)
{
    return bytes > 1 ? bytes / 2 : bytes;
}

#define STAND_IN_READ(name, type)                                                                  \
    PUBLIC ssize_t name(int file, void *data, size_t bytes, type offset)                           \
    {                                                                                              \
        REAL(name);                                                                                \
        const int fault = fault_of(FILE_READ);                                                     \
        if (fault == 0 || fault == FILE_SHORT)                                                     \
            return real(file, data, fault ? fewer(bytes) : bytes, offset);                         \
        errno = fault;                                                                             \
        return fault == FILE_END ? 0 : -1;                                                         \
    }
STAND_IN_READ(pread, off_t)
#ifdef __GLIBC__
STAND_IN_READ(pread64, off64_t)
#endif

PUBLIC ssize_t read(int file, void *data, size_t bytes)
{
    REAL(read);
    const int fault = fault_of(FILE_READ);
    if (fault == 0 || fault == FILE_SHORT)
        return real(file, data, fault ? fewer(bytes) : bytes);
    errno = fault;
    return fault == FILE_END ? 0 : -1;
}

PUBLIC ssize_t write(int file, const void *data, size_t bytes)
{
    REAL(write);
    const int fault = fault_of(FILE_WRITE);
    if (fault == 0)
        return real(file, data, bytes);
    if (fault < 0) {
        const ssize_t put = real(file, data, fewer(bytes));
        if (fault == FILE_TEAR)
            kill(getpid(), SIGKILL);
        return put;
    }
    errno = fault;
    return -1;
}

PUBLIC size_t fwrite(const void *data, size_t size, size_t count, FILE *file)
{
    REAL(fwrite);
    const int fault = fault_of(FILE_WRITE);
    if (fault == 0)
        return real(data, size, count, file);
    errno = fault;
    return 0;
}

/* A close that fails has closed the descriptor all the same, as Linux does. */
PUBLIC int close(int file)
{
    REAL(close);
    const int fault = fault_of(FILE_CLOSE), closed = real(file);
    if (fault == 0)
        return closed;
    errno = fault;
    return -1;
}

PUBLIC int fclose(FILE *file)
{
    REAL(fclose);
    const int fault = fault_of(FILE_CLOSE), closed = real(file);
    if (fault == 0)
        return closed;
    errno = fault;
    return EOF;
}

STAND_IN(int, fflush, (FILE * file), (file), FILE_WRITE, EOF)
STAND_IN(int, fsync, (int file), (file), FILE_SYNC, -1)
STAND_IN(int, fdatasync, (int file), (file), FILE_SYNC, -1)
STAND_IN(int, rename, (const char *from, const char *to), (from, to), FILE_RENAME, -1)
STAND_IN(int, mkdir, (const char *path, mode_t mode), (path, mode), FILE_MAKE_FOLDER, -1)
STAND_IN(int, stat, (const char *path, struct stat *to), (path, to), FILE_STAT, -1)
STAND_IN(int, lstat, (const char *path, struct stat *to), (path, to), FILE_STAT, -1)
STAND_IN(int, fstat, (int file, struct stat *to), (file, to), FILE_STAT, -1)
STAND_IN(int, fstatat, (int at, const char *path, struct stat *to, int flags),
         (at, path, to, flags), FILE_STAT, -1)
#ifdef __GLIBC__
STAND_IN(int, stat64, (const char *path, struct stat64 *to), (path, to), FILE_STAT, -1)
STAND_IN(int, lstat64, (const char *path, struct stat64 *to), (path, to), FILE_STAT, -1)
STAND_IN(int, fstat64, (int file, struct stat64 *to), (file, to), FILE_STAT, -1)
STAND_IN(int, fstatat64, (int at, const char *path, struct stat64 *to, int flags),
         (at, path, to, flags), FILE_STAT, -1)
#endif
STAND_IN(int, ftruncate, (int file, off_t bytes), (file, bytes), FILE_TRUNCATE, -1)
#ifdef __GLIBC__
STAND_IN(int, ftruncate64, (int file, off64_t bytes), (file, bytes), FILE_TRUNCATE, -1)
#endif
STAND_IN(DIR *, opendir, (const char *path), (path), FILE_OPEN_FOLDER, NULL)
STAND_IN(struct dirent *, readdir, (DIR * folder), (folder), FILE_LIST, NULL)
#ifdef __GLIBC__
STAND_IN(struct dirent64 *, readdir64, (DIR * folder), (folder), FILE_LIST, NULL)
#endif
STAND_IN(int, unlink, (const char *path), (path), FILE_REMOVE, -1)
STAND_IN(int, rmdir, (const char *path), (path), FILE_REMOVE_FOLDER, -1)
STAND_IN(int, flock, (int file, int how), (file, how), FILE_LOCK, -1)
STAND_IN(int, fchmod, (int file, mode_t mode), (file, mode), FILE_RIGHTS, -1)
STAND_IN(int, fchown, (int file, uid_t user, gid_t group), (file, user, group), FILE_RIGHTS, -1)
STAND_IN(ssize_t, readlink, (const char *path, char *to, size_t bytes), (path, to, bytes),
         FILE_RESOLVE, -1)
STAND_IN(char *, realpath, (const char *path, char *to), (path, to), FILE_RESOLVE, NULL)

/* Mappings of files alone: the allocator of the C library maps memory without this function. */
#define STAND_IN_MAP(name, type)                                                                   \
    PUBLIC void *name(void *at, size_t bytes, int rights, int flags, int file, type offset)        \
    {                                                                                              \
        REAL(name);                                                                                \
        const int fault = flags & MAP_ANONYMOUS ? 0 : fault_of(FILE_MAP);                          \
        if (fault == 0)                                                                            \
            return real(at, bytes, rights, flags, file, offset);                                   \
        errno = fault;                                                                             \
        return MAP_FAILED;                                                                         \
    }
STAND_IN_MAP(mmap, off_t)
#ifdef __GLIBC__
STAND_IN_MAP(mmap64, off64_t)
#endif

PUBLIC int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *user)
{
    REAL(pthread_create);
    const int fault = fault_of(FILE_THREAD);
    return fault ? EAGAIN : real(thread, attributes, run, user);
}

PUBLIC int clock_gettime(clockid_t clock, struct timespec *now)
{
    REAL(clock_gettime);
    if (!atomic_load(&clock_stands))
        return real(clock, now);
    *now = (struct timespec){.tv_sec = 1000000};
    return 0;
}

PUBLIC time_t time(time_t *now)
{
    REAL(time);
    const time_t seconds = atomic_load(&clock_stands) ? 1000000 : real(NULL);
    if (now)
        *now = seconds;
    return seconds;
}

static void write_count(void)
{
    files_disarm();
    FILE *file = fopen(getenv("SHIFTVIT_COUNT_TO"), "w");
    if (!file)
        return;
    fprintf(file, "%zu\n", files_count());
    fclose(file);
}

__attribute__((constructor)) static void take_orders(void)
{
    const char *at = getenv("SHIFTVIT_KILL_AT");
    if (!at)
        return;
    if (getenv("SHIFTVIT_COUNT_TO"))
        atexit(write_count);
    files_arm(strtoul(at, NULL, 10), FILE_KILL);
}
