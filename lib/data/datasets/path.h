/* Paths of files in folders, and files of class names. */
#ifndef SV_PATH_H
#define SV_PATH_H

#include "base/memory.h"
#include "base/status.h"

/* Makes "folder/name". The caller releases *out with sv_release_text. */
svit_status sv_path_join(char **out, const sv_allocator *allocator, const char *folder,
                         const char *name, svit_error *err);

/* SVIT_E_FORMAT if the name of an entry of `folder` is not UTF-8, which model files and JSON need.
 * The message shows invalid bytes as \xHH. */
svit_status sv_name_check(const char *folder, const char *name, svit_error *err);

/* The bytes of the byte order mark that some programs put before UTF-8; 0 without one. */
size_t sv_mark_bytes(const char *text);

/* Reads the names of `count` classes, one on each line of the file `path`. If there is no such
 * file, *out is NULL. The caller frees *out with sv_names_free. SVIT_E_FORMAT if the file
 * does not have `count` different names. */
svit_status sv_class_names_read(char ***out, const sv_allocator *allocator, const char *path,
                                size_t count, svit_error *err);

#endif
