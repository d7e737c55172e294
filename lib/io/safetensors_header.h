/* What a safetensors header must be: the part of the reader that sees nothing but text and sizes.
 */
#ifndef SV_SAFETENSORS_HEADER_H
#define SV_SAFETENSORS_HEADER_H

#include "io/safetensors.h"

/* The longest header that is read, as the format's own library limits it. */
#define SV_SAFETENSORS_HEADER_LIMIT ((uint64_t)100 * 1000 * 1000)

/* The entries of a parsed header: its keys without `__metadata__`. */
size_t sv_safetensors_entries(const sv_json_value *header);

/* Reads the entries out of a parsed header into entries[sv_safetensors_entries(header)], in the
 * header's order. Offsets are counted from `data_start` and end at `file_bytes`. Names stay those
 * of `header`. */
svit_status sv_safetensors_list(sv_safetensors_entry *entries, const sv_json_value *header,
                                uint64_t data_start, uint64_t file_bytes, const char *path,
                                svit_error *err);

/* The same in the order of the offsets, which leave no hole and do not overlap. */
svit_status sv_safetensors_check(sv_safetensors_entry *entries, size_t count,
                                 const sv_json_value *header, uint64_t data_start,
                                 uint64_t file_bytes, const char *path, svit_error *err);

#endif
