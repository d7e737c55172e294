/* What the adapters of POSIX share: descriptors, modes, and files of the system. Nothing else
 * includes this. */
#ifndef SV_DESCRIPTOR_H
#define SV_DESCRIPTOR_H

#include "base/files/file.h"

#include <sys/types.h>

/* "a folder", "a FIFO": what a path is that is no regular file, by its st_mode. */
const char *sv_path_kind(mode_t mode);

/* open with O_CLOEXEC. It begins again if a signal has broken it off, as network file systems allow
 * it, and gives no descriptor of a standard stream. */
int sv_descriptor_open(const char *path, int flags, mode_t mode);

/* The descriptor of an open file, which sv_file_close closes. */
int sv_file_descriptor(const sv_file *file);

/* Says whether the open file is the one at `path`. Returns 0, or an errno value if the system
 * cannot say it. */
int sv_descriptor_compare(bool *is_same, int descriptor, const char *path);

/* Reads a file of the system, whose size is known only at its end, into `text` and ends it with a
 * NUL byte. False if it cannot be read or does not fit `capacity` bytes. */
bool sv_file_read_short(const char *path, char *text, size_t capacity);

/* Gives each line of a file of the system, of any length, to `take` without its newline, in `line`,
 * which has `capacity` bytes. Lines that do not fit, and all if the file cannot be read, are left
 * out. */
void sv_file_read_lines(const char *path, char *line, size_t capacity,
                        void (*take)(void *argument, const char *line), void *argument);

/* Flushes the folder that has the name of `path`, which is changed during the call: without that a
 * power failure may undo what has become of the name. Returns 0, also where the system flushes no
 * folders, or an errno value. */
int sv_parent_flush(char *path);

#endif
