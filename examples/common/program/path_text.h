/* Paths, folders and text files. */
#ifndef EXAMPLE_PATH_TEXT_H
#define EXAMPLE_PATH_TEXT_H

#include "program/program.h"

enum { PATH_CAPACITY = 4096 };

/* Writes folder/name to path[PATH_CAPACITY]. SVIT_E_ARGUMENT: the path is too long. */
svit_status path_join(struct program *self, char *path, const char *folder, const char *name);

/* Writes the folder of a path to folder[PATH_CAPACITY] and returns the name in it. */
const char *path_split(char *folder, const char *path);

/* Creates a folder with its parents. An existing folder is no failure. */
svit_status path_make_folder(struct program *self, const char *folder);

/* Returns 1 if `path` is a folder. */
int path_is_folder(const char *path);

/* Returns 1 if the file name is that of an image, with an ending of svit_image_endings, not hidden.
 */
int path_is_image(const char *name);

/* Returns 1 if `path` exists. */
int path_exists(const char *path);

/* Returns 1 if `folder` holds a training run. */
int path_is_run(const char *folder);

/* Returns 1 if something has this path: what exists, or a symbolic link, which fails to open where
 * it leads nowhere. */
int path_is_there(const char *path);

/* Returns 1 if `path` is a symbolic link to what does not exist or cannot be reached. Windows does
 * not tell. */
int path_is_dangling(const char *path);

/* Returns 1 if both paths lead to the same file, or would if it existed. A path may be NULL. */
int path_is_same(const char *a, const char *b);

/* Fails unless `path` is a file that may be read more than once: no pipe, no folder. `option` is
 * its name in the message. */
svit_status path_check_file(struct program *self, const char *option, const char *path);

/* Reads a whole text file of at most 16 MiB, without a NUL, into *text, NUL-terminated. Free it
 * with free(). */
svit_status path_read_text(struct program *self, const char *path, char **text);

/* Returns the absolute path of a file or folder, or of a pattern whose folder exists; NULL if there
 * is none. A file that is a link keeps its name and its folder: what a list or shard names, and the
 * other splits, are beside the link. Free it with free(). */
char *path_absolute(const char *path);

#endif
