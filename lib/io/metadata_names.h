/* The names of classes in the metadata of a safetensors file: a JSON array of texts under the key
 * "classes". */
#ifndef SV_METADATA_NAMES_H
#define SV_METADATA_NAMES_H

#include "config/json.h"
#include "io/safetensors.h"

typedef struct sv_metadata_names {
    const sv_allocator *allocator;
    sv_json *json;     /* owns the names */
    const char **list; /* [count]; NULL if the file has none */
    size_t count;
} sv_metadata_names;

/* Reads the names of `count` classes; free them with sv_metadata_names_free, also after a failure.
 * SVIT_E_FORMAT, with `path` in the message, for what is no array of `count` texts. */
svit_status sv_metadata_names_read(sv_metadata_names *out, const sv_allocator *allocator,
                                   const sv_safetensors *file, size_t count, const char *path,
                                   svit_error *err);

void sv_metadata_names_free(sv_metadata_names *names);

#endif
