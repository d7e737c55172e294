/* Entries of the metadata of a safetensors file whose text is JSON. */
#ifndef SV_METADATA_JSON_H
#define SV_METADATA_JSON_H

#include "config/json.h"
#include "io/safetensors.h"

/* Parses the entry `key` to *out, which the caller frees with sv_json_free; NULL if the file has no
 * such entry. SVIT_E_FORMAT, with `path` in the message, if it is not JSON. */
svit_status sv_metadata_json_read(sv_json **out, const sv_allocator *allocator,
                                  const sv_safetensors *file, const char *key, const char *path,
                                  svit_error *err);

#endif
