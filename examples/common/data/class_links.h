/* Links by which the folders of classes have images of elsewhere. */
#ifndef EXAMPLE_CLASS_LINKS_H
#define EXAMPLE_CLASS_LINKS_H

#include "program/path_text.h"

/* Returns 1 if a path is `outer` or lies in it; both are real paths. */
int path_lies_in(const char *inner, const char *outer);

/* Writes to link[PATH_CAPACITY] the symbolic link in `folder`, or in the subfolders that are its
 * classes, at any depth, by which the library would read images in `inner`, a real path outside of
 * `folder`; "" if there is none. */
svit_status class_link_find(char *link, struct program *self, const char *folder,
                            const char *inner);

#endif
