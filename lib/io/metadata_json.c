/* Entries of the metadata of a safetensors file whose text is JSON. */
#include "io/metadata_json.h"

#include <stdio.h>
#include <string.h>

svit_status sv_metadata_json_read(sv_json **out, const sv_allocator *allocator,
                                  const sv_safetensors *file, const char *key, const char *path,
                                  svit_error *err)
{
    char what[64];
    const char *text = sv_safetensors_metadata(file, key);
    *out = NULL;
    if (!text)
        return SVIT_OK;
    snprintf(what, sizeof what, "entry '%s'", key);
    const svit_status status = sv_json_parse(out, allocator, text, strlen(text), what, err);
    return status == SVIT_OK ? SVIT_OK : sv_fail_in(err, status, path);
}
