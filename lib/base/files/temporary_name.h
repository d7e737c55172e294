/* The names of the temporary files that become others: replace.c. */
#ifndef SV_TEMPORARY_NAME_H
#define SV_TEMPORARY_NAME_H

#include <stddef.h>

/* Bytes that a temporary file's path has more than that of the file which it replaces, with the
 * NUL. */
enum { SV_TEMPORARY_BYTES = sizeof ".shiftvit-0123456789abcdef.part" };

/* Writes the temporary file's path number `i`: in the folder of the file at `path`, which it
 * replaces, hidden, with a hash of that file's name, so that a file with such a name was written
 * here and nowhere else. */
void sv_temporary_name(char *out, size_t capacity, const char *path, int i);

#endif
