/* Names of files in folders, and lines of small text files. */
#ifndef SV_PATH_H
#define SV_PATH_H

#include "base/memory.h"
#include "base/status.h"

/* "folder/name", to be released with sv_release_text. */
svit_status sv_path_join(char **out, const sv_allocator *allocator, const char *folder,
                         const char *name, svit_error *err);

/* SVIT_E_FORMAT where `name`, of something in `folder`, is not UTF-8, as model files and JSON need
 * it; the message has \xHH for the bytes. */
svit_status sv_name_check(const char *folder, const char *name, svit_error *err);

/* The names of `count` classes, one to a line of the file `path`. Where there is no such file *out
 * is NULL; SVIT_E_FORMAT where it has another number of names. */
svit_status sv_class_names_read(char ***out, const sv_allocator *allocator, const char *path,
                                size_t count, svit_error *err);
void sv_class_names_free(const sv_allocator *allocator, char **names, size_t count);

#endif
