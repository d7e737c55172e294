/* What a safetensors header must be: the part of the reader that sees nothing but text and sizes.
 */
#ifndef SV_SAFETENSORS_HEADER_H
#define SV_SAFETENSORS_HEADER_H

#include "interop/safetensors.h"

/* The longest header that is read, as the format's own library limits it. */
#define SV_SAFETENSORS_HEADER_LIMIT ((uint64_t)100 * 1000 * 1000)

/* The bytes of an element of a type; 0 for SV_TAG_OTHER. */
size_t sv_dtype_bytes(sv_dtype_tag type);

/* Reads the entries out of a parsed header into entries[count], one for each key that is not
 * `__metadata__`, in the order of their offsets, which are counted from `data_start` to
 * `file_bytes` without hole or overlap. Names stay those of `header`. */
svit_status sv_safetensors_check(sv_safetensors_entry *entries, size_t count, const json_t *header,
                                 uint64_t data_start, uint64_t file_bytes, const char *path,
                                 svit_error *err);

#endif
