/* Recognises common file formats, for the message that refuses a file that is no model or image. */
#ifndef SV_FILE_KIND_H
#define SV_FILE_KIND_H

#include <stddef.h>
#include <stdint.h>

/* Bytes at the start of a file that sv_file_kind looks at. */
enum { SV_FILE_START = 64 };

/* Describes a file that begins with start[bytes], such as "a PNG image". NULL if the format is
 * unknown. */
/*@ requires \valid_read(start + (0 .. bytes - 1));
    assigns \nothing; */
const char *sv_file_kind(const uint8_t *start, size_t bytes);

#endif
