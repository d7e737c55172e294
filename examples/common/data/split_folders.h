/* The subfolders of a data set that are its splits. */
#ifndef EXAMPLE_SPLIT_FOLDERS_H
#define EXAMPLE_SPLIT_FOLDERS_H

#include "program/program.h"

typedef struct split_folders {
    char *name[3]; /* by SVIT_SPLIT_*: the name of the split's subfolder, or NULL */
} split_folders;

/* Looks for the splits of `folder`: train or training; val, valid, validation or dev; test or
 * testing, in upper or lower case. They are splits if the one to train has no image directly in it.
 * If it has, it is a class of this name, unless it has subfolders as well and is beside folders of
 * splits alone, or beside one that has subfolders and no images; a warning says that it is a class.
 * Without splits all names are NULL. SVIT_E_FORMAT: a split has two subfolders, that to train is
 * missing, or it has images in no subfolder and is beside folders of splits alone. Free *out with
 * split_folders_free, also after a failure. */
svit_status split_folders_find(split_folders *out, struct program *self, const char *folder);

/* Whether split_folders_find fails for a folder whose subfolders have these names and images
 * directly in them: two are one split, or all are splits,
 * with one to train and another. */
int split_folders_hide(const char *const *names, size_t count);

/* Which of both a folder has directly in it. */
typedef struct folder_contents {
    int images, folders;
} folder_contents;

/* Looks into the subfolder `name` of `folder`. */
svit_status split_folders_look(folder_contents *out, struct program *self, const char *folder,
                               const char *name);

void split_folders_free(split_folders *self);

#endif
