/* What the programs need of POSIX and Windows lacks. */
#include "posix.h"
#include "fnmatch.h"

#include <stdint.h>

#include <windows.h>

#undef fclose
#undef rename

/* Files and standard output get the bytes that programs write, and the console takes them for
 * UTF-8. */
__attribute__((constructor)) static void prepare(void)
{
    _fmode = _O_BINARY;
    _setmode(1, _O_BINARY);
    SetConsoleOutputCP(CP_UTF8);
}

char *program_realpath(const char *path)
{
    char *whole = _access(path, 0) == 0 ? _fullpath(NULL, path, 0) : NULL;
    for (char *at = whole; at && *at; at++)
        if (*at == '\\')
            *at = '/'; /* the separator that programs look for */
    return whole;
}

int program_rename(const char *from, const char *to)
{
    return MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING) ? 0 : -1;
}

/* Whether a set of characters behind a '[' has one. *end is behind its ']', or NULL if it has
 * none. */
static int in_set(const char *set, char character, const char **end)
{
    const int is_not = *set == '!';
    int found = 0;
    const char *at = set + is_not;
    do {
        if (at[0] && at[1] == '-' && at[2] && at[2] != ']') {
            found |= at[0] <= character && character <= at[2];
            at += 3;
        } else {
            found |= *at && *at++ == character;
        }
    } while (*at && *at != ']');
    *end = *at ? at + 1 : NULL;
    return found != is_not;
}

int fnmatch(const char *pattern, const char *text, int flags)
{
    const char *behind;
    if ((flags & FNM_PERIOD) && *text == '.' && *pattern != '.')
        return FNM_NOMATCH;
    for (; *pattern; pattern++, text++) {
        if (*pattern == '*') {
            do
                if (fnmatch(pattern + 1, text, 0) == 0)
                    return 0;
            while (*text++);
            return FNM_NOMATCH;
        }
        if (!*text)
            return FNM_NOMATCH;
        if (*pattern == '[') {
            const int found = in_set(pattern + 1, *text, &behind);
            if (!behind || !found)
                return FNM_NOMATCH;
            pattern = behind - 1;
            continue;
        }
        if (*pattern == '\\' && pattern[1])
            pattern++;
        else if (*pattern == '?')
            continue;
        if (*pattern != *text)
            return FNM_NOMATCH;
    }
    return *text ? FNM_NOMATCH : 0;
}

/* The streams in memory are temporary files, which are read when they are closed. */
enum { STREAMS = 8 };
static struct memory_stream {
    FILE *stream;
    char **text;
    size_t *bytes;
} streams[STREAMS];

FILE *open_memstream(char **text, size_t *bytes)
{
    char folder[MAX_PATH], path[MAX_PATH];
    for (size_t i = 0; i < STREAMS; i++) {
        if (streams[i].stream)
            continue;
        if (!GetTempPathA(sizeof folder, folder) || !GetTempFileNameA(folder, "svt", 0, path))
            return NULL;
        FILE *stream = fopen(path, "w+bTD");
        if (stream)
            streams[i] = (struct memory_stream){stream, text, bytes};
        return stream;
    }
    return NULL;
}

static int read_stream(const struct memory_stream *of)
{
    const long end = fflush(of->stream) == 0 ? ftell(of->stream) : -1;
    char *text = end < 0 ? NULL : malloc((size_t)end + 1);
    if (!text)
        return -1;
    rewind(of->stream);
    const size_t bytes = fread(text, 1, (size_t)end, of->stream);
    text[bytes] = '\0';
    *of->text = text;
    *of->bytes = bytes;
    return bytes == (size_t)end ? 0 : -1;
}

int program_close(FILE *stream)
{
    int failed = 0;
    for (size_t i = 0; i < STREAMS; i++)
        if (streams[i].stream == stream) {
            failed = read_stream(&streams[i]);
            streams[i].stream = NULL;
        }
    return fclose(stream) == 0 ? failed : EOF;
}

int program_clock(struct timespec *now)
{
    LARGE_INTEGER ticks, frequency;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&frequency);
    now->tv_sec = ticks.QuadPart / frequency.QuadPart;
    now->tv_nsec = (long)(ticks.QuadPart % frequency.QuadPart * 1000000000 / frequency.QuadPart);
    return 0;
}

char *strchrnul(const char *text, int character)
{
    char *found = strchr(text, character);
    return found ? found : (char *)text + strlen(text);
}

char *strsep(char **text, const char *separators)
{
    char *begin = *text;
    if (begin) {
        char *end = begin + strcspn(begin, separators);
        *text = *end ? end + 1 : NULL;
        *end = '\0';
    }
    return begin;
}

char *strndup(const char *text, size_t most)
{
    const size_t bytes = strnlen(text, most);
    char *copy = malloc(bytes + 1);
    if (copy) {
        memcpy(copy, text, bytes);
        copy[bytes] = '\0';
    }
    return copy;
}

void *reallocarray(void *memory, size_t count, size_t bytes)
{
    return bytes && count > SIZE_MAX / bytes ? NULL : realloc(memory, count * bytes);
}

int alphasort(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Adds a copy of an entry to the list. */
static int add_entry(struct dirent ***list, int count, const struct dirent *entry)
{
    struct dirent **larger = reallocarray(*list, (size_t)count + 1, sizeof *larger);
    struct dirent *copy = larger ? malloc(sizeof *copy) : NULL;
    if (larger)
        *list = larger;
    if (!copy)
        return -1;
    *copy = *entry;
    larger[count] = copy;
    return 0;
}

int scandir(const char *path, struct dirent ***out, int (*takes)(const struct dirent *),
            int (*compare)(const struct dirent **, const struct dirent **))
{
    DIR *folder = opendir(path);
    int count = 0, failed = 0;
    *out = NULL;
    if (!folder)
        return -1;
    for (struct dirent *entry; !failed && (entry = readdir(folder)) != NULL;)
        if (!takes || takes(entry)) {
            failed = add_entry(out, count, entry);
            count += !failed;
        }
    closedir(folder);
    for (; failed && count > 0; count--)
        free((*out)[count - 1]);
    if (failed) {
        free(*out);
        *out = NULL;
        return -1;
    }
    if (count > 0)
        qsort(*out, (size_t)count, sizeof **out, (int (*)(const void *, const void *))compare);
    return count;
}
