/* What the tests need of POSIX and Windows lacks. Included before every file of them. A call that
 * Windows has no like of fails: tests/cross/windows.txt lists the tests that need one. */
#ifndef TEST_WINDOWS_POSIX_H
#define TEST_WINDOWS_POSIX_H

#include <direct.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <malloc.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/utime.h>
#include <time.h>

/* Files get the bytes that programs write. */
__attribute__((constructor)) static void test_write_bytes(void)
{
    _fmode = _O_BINARY;
}

/* Memory of any alignment that free() takes. */
static inline void *test_malloc(size_t bytes)
{
    return _aligned_malloc(bytes ? bytes : 1, 16);
}

static inline void *test_calloc(size_t count, size_t bytes)
{
    void *memory = bytes && count > SIZE_MAX / bytes ? NULL : test_malloc(count * bytes);
    return memory ? memset(memory, 0, count * bytes) : NULL;
}

static inline void *test_realloc(void *memory, size_t bytes)
{
    return _aligned_realloc(memory, bytes ? bytes : 1, 16);
}

static inline void test_free(void *memory)
{
    _aligned_free(memory);
}

static inline void *test_aligned_alloc(size_t alignment, size_t bytes)
{
    return _aligned_malloc(bytes ? bytes : 1, alignment);
}

static inline int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    *memory = test_aligned_alloc(alignment, bytes);
    return *memory ? 0 : ENOMEM;
}

static inline char *strndup(const char *text, size_t most)
{
    const size_t bytes = strnlen(text, most);
    char *copy = (char *)test_malloc(bytes + 1);
    if (copy) {
        memcpy(copy, text, bytes);
        copy[bytes] = '\0';
    }
    return copy;
}

static inline char *test_strdup(const char *text)
{
    return strndup(text, SIZE_MAX);
}

#define aligned_alloc test_aligned_alloc
#define malloc test_malloc
#define calloc test_calloc
#define realloc test_realloc
#define free test_free
#undef strdup
#define strdup test_strdup

static inline int test_mkdir(const char *path, int mode)
{
    (void)mode;
    return _mkdir(path);
}
#define mkdir test_mkdir

static inline char *mkdtemp(char *pattern)
{
    return _mktemp(pattern) && _mkdir(pattern) == 0 ? pattern : NULL;
}

static inline int setenv(const char *name, const char *value, int overwrite)
{
    (void)overwrite;
    return _putenv_s(name, value);
}

static inline int unsetenv(const char *name)
{
    return _putenv_s(name, "");
}

static inline void *memmem(const void *text, size_t bytes, const void *part, size_t length)
{
    for (const char *at = (const char *)text; bytes >= length; at++, bytes--)
        if (memcmp(at, part, length) == 0)
            return (void *)at;
    return NULL;
}

static inline char *strsep(char **text, const char *separators)
{
    char *begin = *text;
    if (begin) {
        char *end = begin + strcspn(begin, separators);
        *text = *end ? end + 1 : NULL;
        *end = '\0';
    }
    return begin;
}

#define lstat stat

/* That of mingw-w64 rounds the product. The x87 rounds the sum to 64 bits first, which is seldom
 * another float. */
static inline float test_fmaf(float a, float b, float c)
{
    return (float)((long double)a * b + c);
}
#define fmaf test_fmaf

static inline int symlink(const char *target, const char *path)
{
    (void)target;
    (void)path;
    errno = ENOSYS;
    return -1;
}

static inline int mkfifo(const char *path, int mode)
{
    (void)mode;
    return symlink(path, path);
}

enum { _SC_PAGESIZE = 1 };
static inline long sysconf(int name)
{
    (void)name;
    return 4096;
}

/* Times of files, in whole seconds. */
enum { AT_FDCWD = -100 };
static inline int utimensat(int folder, const char *path, const struct timespec times[2], int flags)
{
    struct __utimbuf64 both = {times[0].tv_sec, times[1].tv_sec};
    (void)folder;
    (void)flags;
    return _utime64(path, &both);
}

#endif
