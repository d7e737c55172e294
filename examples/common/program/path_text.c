/* Paths, folders and text files. */
#include "program/path_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { TEXT_LIMIT = 16 << 20 };

svit_status path_join(struct program *self, char *path, const char *folder, const char *name)
{
    const size_t bytes = strlen(folder);
    const char *slash = bytes > 0 && folder[bytes - 1] == '/' ? "" : "/";
    int length = snprintf(path, PATH_CAPACITY, "%s%s%s", folder, slash, name);
    if (length < 0 || length >= PATH_CAPACITY)
        return program_fail(self, SVIT_E_ARGUMENT, "the path '%.80s...' is too long", folder);
    return SVIT_OK;
}

const char *path_split(char *folder, const char *path)
{
    const char *slash = strrchr(path, '/');
    const int length = slash == path ? 1 : slash ? (int)(slash - path) : 1;
    snprintf(folder, PATH_CAPACITY, "%.*s", length, slash ? path : ".");
    return slash ? slash + 1 : path;
}

svit_status path_make_folder(struct program *self, const char *folder)
{
    char path[PATH_CAPACITY];
    if (snprintf(path, sizeof path, "%s", folder) >= (int)sizeof path)
        return program_fail(self, SVIT_E_ARGUMENT, "the path '%.80s...' is too long", folder);
    for (char *slash = path + 1;; slash++) {
        slash = strchrnul(slash, '/');
        int last = *slash == '\0';
        *slash = '\0';
        const int made = mkdir(path, 0777) == 0 ? 0 : errno;
        if (made == EEXIST && path_is_dangling(path))
            return program_fail(self, SVIT_E_IO,
                                "cannot make the folder '%s': it is a symbolic link to what is not "
                                "there; no link, or a link to what exists, is accepted",
                                path);
        if (made && !(made == EEXIST && path_is_folder(path)))
            return program_fail(self, SVIT_E_IO, "cannot make the folder '%s': %s", path,
                                strerror(made));
        if (last)
            return SVIT_OK;
        *slash = '/';
    }
}

int path_is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

int path_is_image(const char *name)
{
    const char *dot = strrchr(name, '.');
    if (name[0] == '.' || !dot)
        return 0;
    const size_t length = strlen(dot);
    const char *ending = svit_image_endings();
    while (ending && (strcspn(ending, " ") != length || strncasecmp(ending, dot, length) != 0)) {
        ending = strchr(ending, ' ');
        ending += ending != NULL;
    }
    return ending != NULL;
}

int path_exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0;
}

int path_is_run(const char *folder)
{
    static const char *const files[] = {"run.json", "checkpoint.safetensors", "history.csv"};
    char path[PATH_CAPACITY];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        int length = snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        if (length < PATH_CAPACITY && path_exists(path))
            return 1;
    }
    return 0;
}

int path_is_there(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0;
}

int path_is_dangling(const char *path)
{
    return path_is_there(path) && !path_exists(path);
}

/* Windows numbers no files in stat, so their whole paths are compared there. */
static int is_same_existing(const char *a, const struct stat *first, const char *b,
                            const struct stat *second)
{
    if (first->st_ino != 0 || second->st_ino != 0)
        return first->st_dev == second->st_dev && first->st_ino == second->st_ino;
    char *whole_a = realpath(a, NULL), *whole_b = realpath(b, NULL);
    const int is_same = whole_a && whole_b && strcmp(whole_a, whole_b) == 0;
    free(whole_a);
    free(whole_b);
    return is_same;
}

/* Whether both paths lead into the same folder that exists. */
static int is_beside(const char *a, const char *b)
{
    struct stat first, second;
    char folder_a[PATH_CAPACITY], folder_b[PATH_CAPACITY];
    path_split(folder_a, a);
    path_split(folder_b, b);
    return stat(folder_a, &first) == 0 && stat(folder_b, &second) == 0 &&
           is_same_existing(folder_a, &first, folder_b, &second);
}

int path_is_same(const char *a, const char *b)
{
    struct stat first, second;
    char folder[PATH_CAPACITY];
    if (!a || !b)
        return 0;
    const int has_a = stat(a, &first) == 0, has_b = stat(b, &second) == 0;
    if (strcmp(a, b) == 0)
        return 1;
    if (has_a && has_b)
        return is_same_existing(a, &first, b, &second);
    return !has_a && !has_b && is_beside(a, b) &&
           strcmp(path_split(folder, a), path_split(folder, b)) == 0;
}

svit_status path_check_file(struct program *self, const char *option, const char *path)
{
    struct stat found;
    if (stat(path, &found) != 0)
        return program_fail(self, SVIT_E_IO, "cannot open '%s': %s", path, strerror(errno));
    if (S_ISDIR(found.st_mode))
        return program_fail(self, SVIT_E_ARGUMENT,
                            "%s: '%s' is a folder; a file, such as the run.json of a run, is "
                            "accepted",
                            option, path);
    return S_ISREG(found.st_mode) ? SVIT_OK
                                  : program_fail(self, SVIT_E_ARGUMENT,
                                                 "%s: '%s' is no regular file; a pipe cannot be "
                                                 "read again",
                                                 option, path);
}

svit_status path_read_text(struct program *self, const char *path, char **text)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return program_fail(self, SVIT_E_IO, "cannot open '%s': %s", path, strerror(errno));
    size_t length = 0;
    size_t capacity = 1 << 16;
    char *bytes = malloc(capacity);
    while (bytes) {
        length += fread(bytes + length, 1, capacity - length - 1, file);
        if (length < capacity - 1 || capacity >= TEXT_LIMIT)
            break;
        capacity *= 2;
        char *larger = realloc(bytes, capacity);
        if (!larger)
            free(bytes);
        bytes = larger;
    }
    int complete = feof(file) && !ferror(file);
    fclose(file);
    if (!bytes || !complete) {
        free(bytes);
        return program_fail(self, bytes ? SVIT_E_IO : SVIT_E_MEMORY,
                            "cannot read '%s' as a text of at most 16 MiB", path);
    }
    bytes[length] = '\0';
    if (strlen(bytes) < length) {
        free(bytes);
        return program_fail(self, SVIT_E_FORMAT, "'%s' has a NUL byte, as no text has", path);
    }
    *text = bytes;
    return SVIT_OK;
}

char *path_absolute(const char *path)
{
    char *absolute = path_is_folder(path) ? realpath(path, NULL) : NULL, *whole = NULL;
    const char *slash = strrchr(path, '/');
    if (absolute)
        return absolute;
    char *folder = slash > path ? strndup(path, (size_t)(slash - path)) : strdup(slash ? "/" : ".");
    absolute = folder ? realpath(folder, NULL) : NULL;
    if (absolute && asprintf(&whole, "%s/%s", absolute, slash ? slash + 1 : path) < 0)
        whole = NULL;
    free(folder);
    free(absolute);
    return whole;
}
