/* Long runs of training and prediction, whose memory stays flat and whose results stay the same.
 *
 * usage: soak train STEPS FOLDER                    FOLDER is made, and removed at the end
 *        soak predict SECONDS THREADS FOLDER...     folders of image files */
#include "soak.h"

#include <dirent.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

_Noreturn void soak_failed(const char *condition, const char *file, int line, const char *format,
                           ...)
{
    va_list arguments;
    fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, condition);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    _Exit(EXIT_FAILURE);
}

static atomic_size_t live_bytes;

static void *allocate(void *user, size_t bytes, size_t alignment)
{
    void *memory = NULL;
    (void)user;
    if (posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes) !=
        0)
        return NULL;
    atomic_fetch_add(&live_bytes, bytes);
    return memory;
}

static void release(void *user, void *memory, size_t bytes)
{
    (void)user;
    if (memory)
        atomic_fetch_sub(&live_bytes, bytes);
    free(memory);
}

size_t soak_live_bytes(void)
{
    return atomic_load(&live_bytes);
}

svit_context *soak_context(uint32_t threads)
{
    svit_error err = {.struct_size = sizeof err};
    svit_context *context = NULL;
    svit_context_config config;
    WORKS(svit_context_config_init(&config, sizeof config));
    config.threads = threads;
    config.allocate = allocate;
    config.release = release;
    WORKS(svit_context_create(&context, &config, &err));
    return context;
}

#if defined(__GLIBC__) && !defined(SOAK_SANITIZED)
static size_t given_bytes(void)
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
#else
static size_t given_bytes(void)
{
    return 0;
}
#endif

soak_use soak_use_now(void)
{
    soak_use use = {.given = given_bytes()};
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    HOLDS(statm && fscanf(statm, "%*u %lu", &pages) == 1, "/proc/self/statm cannot be read");
    fclose(statm);
    use.resident = pages * (size_t)sysconf(_SC_PAGESIZE);
    DIR *listing = opendir("/proc/self/fd");
    HOLDS(listing, "/proc/self/fd cannot be read");
    while (readdir(listing))
        use.files++;
    closedir(listing);
    return use;
}

void soak_check_growth(const soak_use *before, const soak_use *after, size_t bytes)
{
    enum { MOMENTARY = 8 };
    HOLDS(after->files <= before->files + MOMENTARY, "%zu files are open, %zu before", after->files,
          before->files);
    HOLDS(after->given <= before->given + bytes, "%zu bytes are given out, %zu before",
          after->given, before->given);
}

void soak_sleep(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

double soak_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

size_t soak_choose(uint64_t *state, size_t count)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(*state >> 33) % count;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "train") == 0)
        soak_train(strtoul(argv[2], NULL, 10), argv[3]);
    else if (argc >= 5 && strcmp(argv[1], "predict") == 0)
        soak_predict(strtod(argv[2], NULL), strtoul(argv[3], NULL, 10), argv + 4, argc - 4);
    else {
        fprintf(stderr, "usage: soak train STEPS FOLDER\n"
                        "       soak predict SECONDS THREADS FOLDER...\n");
        return 2;
    }
    HOLDS(soak_live_bytes() == 0, "%zu bytes are left", soak_live_bytes());
    return EXIT_SUCCESS;
}
