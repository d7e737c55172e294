/* Paths and whole files. */
#ifndef EXAMPLE_PATH_TEXT_H
#define EXAMPLE_PATH_TEXT_H

#include "program.h"

enum { PATH_CAPACITY = 4096 };

/* folder/name into path[PATH_CAPACITY]. */
svit_status path_join(struct program *self, char *path, const char *folder, const char *name);

/* Makes a folder with those above it; one that is there is left as it is. */
svit_status path_make_folder(struct program *self, const char *folder);

/* 1 where `path` is a folder. */
int path_is_folder(const char *path);

/* 1 where a file of this name is taken for an image: *.jpg, *.jpeg or *.png, not hidden. */
int path_is_image(const char *name);

/* 1 where `path` is there at all. */
int path_exists(const char *path);

/* The whole of a text file, NUL-terminated, at most 16 MiB; free with free(). */
svit_status path_read_text(struct program *self, const char *path, char **text);

#endif
