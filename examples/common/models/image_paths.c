/* Finds the images that are named on a command line. */
#include "models/image_paths.h"

#include "program/path_text.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static svit_status add(image_paths *self, struct program *program, const char *path)
{
    if (self->count == self->capacity) {
        size_t capacity = 2 * self->capacity + 64;
        char **larger = reallocarray(self->paths, capacity, sizeof *larger);
        if (!larger)
            return program_fail(program, SVIT_E_MEMORY, "no memory for %zu paths", capacity);
        self->paths = larger;
        self->capacity = capacity;
    }
    self->paths[self->count] = strdup(path);
    if (!self->paths[self->count])
        return program_fail(program, SVIT_E_MEMORY, "no memory for a path");
    self->count++;
    return SVIT_OK;
}

void image_paths_free(image_paths *self)
{
    for (size_t i = 0; i < self->count; i++)
        free(self->paths[i]);
    free(self->paths);
}

/* Whether the file is a picture that these programs have drawn and that must not be classified. */
static int is_drawing(const char *path, const char *name, int run, const char *const drawn[2])
{
    return (run && strcmp(name, "curves.png") == 0) || path_is_same(path, drawn[0]) ||
           path_is_same(path, drawn[1]);
}

static svit_status add_folder(image_paths *self, struct program *program, const char *folder,
                              const char *const drawn[2])
{
    DIR *entries = opendir(folder);
    if (!entries)
        return program_fail(program, SVIT_E_IO, "cannot open '%s': %s", folder, strerror(errno));
    int run = path_is_run(folder);
    svit_status status = SVIT_OK;
    size_t before = self->count;
    for (struct dirent *entry; status == SVIT_OK && (entry = readdir(entries));) {
        char path[PATH_CAPACITY];
        if (!path_is_image(entry->d_name))
            continue;
        status = path_join(program, path, folder, entry->d_name);
        if (status == SVIT_OK && !path_is_folder(path) &&
            !is_drawing(path, entry->d_name, run, drawn))
            status = add(self, program, path);
    }
    closedir(entries);
    if (status == SVIT_OK && self->count == before)
        status = program_fail(
            program, SVIT_E_FORMAT,
            "'%s' %s no image; files in it that end in %s are read, those in its subfolders are "
            "not",
            folder, run ? "is the folder of a training run, with" : "has", svit_image_endings());
    return status;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

svit_status image_paths_find(image_paths *self, struct program *program, char *const *given,
                             size_t count, const char *const drawn[2])
{
    for (size_t i = 0; i < count; i++)
        if (path_is_folder(given[i]))
            TRY(add_folder(self, program, given[i], drawn));
        else
            TRY(add(self, program, given[i]));
    qsort(self->paths, self->count, sizeof *self->paths, compare_paths);
    return SVIT_OK;
}
