/* What a file that is no model looks like, for the message that refuses it. */
#ifndef SV_FILE_KIND_H
#define SV_FILE_KIND_H

#include <stddef.h>
#include <stdint.h>

/* The bytes at a file's start that tell. */
enum { SV_FILE_START = 64 };

/* "a PNG image", say, for a file that begins with start[bytes]; NULL if nothing is known of it. */
const char *sv_file_kind(const uint8_t *start, size_t bytes);

#endif
