/* What the programs need of POSIX and Windows lacks. Included before every file of them. Names and
 * arguments are UTF-8 by the programs' manifest. */
#ifndef EXAMPLE_WINDOWS_POSIX_H
#define EXAMPLE_WINDOWS_POSIX_H

#include <direct.h>
#include <dirent.h>
#include <fcntl.h>
#include <io.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static inline int program_mkdir(const char *path, int mode)
{
    (void)mode;
    return _mkdir(path);
}
#define mkdir program_mkdir
#define lstat stat

/* The absolute form of a path to what exists; free() it. */
char *program_realpath(const char *path);
#define realpath(path, out) program_realpath(path)

/* Over a file that exists, too. */
int program_rename(const char *from, const char *to);
#define rename program_rename
#define fsync _commit

/* A stream whose bytes become *text when it is closed. */
FILE *open_memstream(char **text, size_t *bytes);
int program_close(FILE *stream);
#define fclose program_close

int program_clock(struct timespec *now);
#define clock_gettime(clock, now) program_clock(now)
#ifndef CLOCK_MONOTONIC
#define CLOCK_MONOTONIC 1
#endif

char *strchrnul(const char *text, int character);
char *strsep(char **text, const char *separators);
char *strndup(const char *text, size_t most);

void *reallocarray(void *memory, size_t count, size_t bytes);

/* The entries of a folder in the order of their bytes. */
int alphasort(const struct dirent **a, const struct dirent **b);
int scandir(const char *path, struct dirent ***out, int (*takes)(const struct dirent *),
            int (*compare)(const struct dirent **, const struct dirent **));

/* signal() lets a handler run once, after which the signal ends the process, in a thread of its
 * own. */
enum { SA_RESTART = 1 };
struct sigaction {
    void (*sa_handler)(int);
    int sa_flags, sa_mask;
};
#define sigemptyset(mask) (*(mask) = 0)
/* A closed console and Ctrl-Break arrive as this. */
#define SIGHUP SIGBREAK
static inline int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    void (*old)(int) = signal(number, action ? action->sa_handler : SIG_DFL);
    if (old == SIG_ERR)
        return -1;
    if (!action)
        signal(number, old);
    if (before)
        before->sa_handler = old;
    return 0;
}

#endif
