/* The images that are named on a command line: files, and all of folders. */
#ifndef EXAMPLES_IMAGE_PATHS_H
#define EXAMPLES_IMAGE_PATHS_H

#include "program/program.h"

/* A growing list of paths, which owns the texts. */
typedef struct image_paths {
    char **paths;
    size_t count, capacity;
} image_paths;

/* Adds the files among given[count], and the images in the folders among them (path_is_image), all
 * in byte order. Of a folder the pictures that these programs draw are left out: those of `drawn`,
 * NULL for none, and curves.png of a training run. SVIT_E_FORMAT: a folder has no image. The caller
 * frees the list with image_paths_free, also after a failure. */
svit_status image_paths_find(image_paths *self, struct program *program, char *const *given,
                             size_t count, const char *const drawn[2]);

void image_paths_free(image_paths *self);

#endif
