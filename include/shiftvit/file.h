/* Files that are replaced whole or not at all. */
#ifndef SHIFTVIT_FILE_H
#define SHIFTVIT_FILE_H

#include <shiftvit/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes a file so that a reader, or a machine that loses power, sees either the old contents or
 * the new, never a part: temporary file in the same folder, flushed, renamed, folder flushed. The
 * new file has the permissions of the old one. Several threads and processes may write one path:
 * the last to finish wins. SVIT_E_IO names the path and the system's reason; the old file is then
 * untouched, unless the message says that the new file is in place and only the folder could not
 * be flushed. Any thread. */
SVIT_API svit_status svit_file_replace(const char *path, const void *data, size_t bytes,
                                       svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
