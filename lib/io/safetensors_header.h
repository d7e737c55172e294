/* The parser of safetensors headers. It sees the header's JSON and the file's size, not the
 * data. */
#ifndef SV_SAFETENSORS_HEADER_H
#define SV_SAFETENSORS_HEADER_H

#include "io/safetensors.h"

/* Bytes of the longest header that is read: the limit of the format's reference implementation. */
#define SV_SAFETENSORS_HEADER_LIMIT ((uint64_t)100 * 1000 * 1000)

/* The number of tensors in a parsed header: its keys without `__metadata__`. */
size_t sv_safetensors_entries(const sv_json_value *header);

/* Reads the entries of a parsed header into entries[sv_safetensors_entries(header)], in the
 * header's order. The data begins at byte `data_start` of the file and ends at `file_bytes`. The
 * names point into `header`. The message of SVIT_E_FORMAT names `path` and the
 * tensor. */
svit_status sv_safetensors_list(sv_safetensors_entry *entries, const sv_json_value *header,
                                uint64_t data_start, uint64_t file_bytes, const char *path,
                                svit_error *err);

/* Reads the entries as sv_safetensors_list does, sorts them by offset, and checks that their data
 * covers the file without holes or overlaps. */
svit_status sv_safetensors_check(sv_safetensors_entry *entries, size_t count,
                                 const sv_json_value *header, uint64_t data_start,
                                 uint64_t file_bytes, const char *path, svit_error *err);

#endif
