/* What paths are made of. '/' separates names on every system; on Windows '\\' does, too. */
#ifndef SV_BASE_PATH_H
#define SV_BASE_PATH_H

#include "base/memory.h"
#include "base/status.h"

#include <stdbool.h>

/* Bytes of the longest path that is accepted, with the NUL: the limit of Linux. */
enum { SV_PATH_MAX = 4096 };

/* Whether a character separates the names in a path. */
bool sv_path_is_separator(char character);

/* What follows the last separator of a path: the name of the file itself. All of the path if there
 * is none. */
const char *sv_path_name(const char *path);

/* Whether a path says on its own where it leads, whatever folder a relative one begins in. */
bool sv_path_is_absolute(const char *path);

/* Whether a text is the plain name of a file, so that, joined to a folder, it stays in it unless it
 * is "..". "" is none. */
bool sv_path_is_name(const char *text);

/* Writes the path of the program's working folder. Returns 0 or an errno value. */
int sv_working_folder(char out[SV_PATH_MAX]);

/* Writes where a path begins, for files that are opened later, when the program may have another
 * working folder: the present one with a separator behind it; "" if the path is absolute or empty.
 * The caller releases *out with sv_release_text. SVIT_E_IO. */
svit_status sv_path_home(char **out, const sv_allocator *allocator, const char *path,
                         svit_error *err);

/* Makes the path that begins in `home`, which sv_path_home has written; an absolute path stays as
 * it is. The caller releases *out with sv_release_text. */
svit_status sv_path_from(char **out, const sv_allocator *allocator, const char *home,
                         const char *path, svit_error *err);

#endif
