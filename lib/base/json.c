/* JSON through jansson. */
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

svit_status sv_json_parse_object(json_t **out, const char *text, size_t bytes, const char *what,
                                 svit_error *err)
{
    json_error_t error;
    json_t *value = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (!value)
        return sv_fail(err, SVIT_E_FORMAT, "%s is not JSON: %.120s at byte %d", what, error.text,
                       error.position);
    if (!json_is_object(value)) {
        json_decref(value);
        return sv_fail(err, SVIT_E_FORMAT, "%s is not a JSON object; one in {} is needed", what);
    }
    *out = value;
    return SVIT_OK;
}

svit_status sv_text_to_buffer(const char *text, char *buffer, size_t capacity, size_t *needed,
                              svit_error *err)
{
    size_t bytes = strlen(text) + 1;
    if (needed)
        *needed = bytes;
    if (capacity == 0)
        return SVIT_OK;
    if (!buffer)
        return sv_fail(err, SVIT_E_ARGUMENT, "buffer is NULL but capacity is %zu", capacity);
    if (capacity < bytes)
        return sv_fail(err, SVIT_E_ARGUMENT, "capacity is %zu; %zu bytes are needed", capacity,
                       bytes);
    memcpy(buffer, text, bytes);
    return SVIT_OK;
}

char *sv_json_to_text(const json_t *value)
{
    return json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(17));
}

void sv_json_release_text(char *text)
{
    if (!text)
        return;
    json_free_t release;
    json_get_alloc_funcs(NULL, &release);
    release(text);
}

svit_status sv_json_to_buffer(const json_t *value, char *buffer, size_t capacity, size_t *needed,
                              svit_error *err)
{
    char *text = sv_json_to_text(value);
    if (!text)
        return sv_fail(err, SVIT_E_MEMORY, "no memory for a JSON text");
    svit_status status = sv_text_to_buffer(text, buffer, capacity, needed, err);
    sv_json_release_text(text);
    return status;
}
