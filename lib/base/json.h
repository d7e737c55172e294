/* The one door to JSON: jansson, with the few things that its own functions leave to the caller. */
#ifndef SV_JSON_H
#define SV_JSON_H

#include "base/memory.h"
#include "base/status.h"

#include <jansson.h>

/* Parses `bytes` of text as one object; duplicate keys are refused. SVIT_E_FORMAT names `what` and
 * the place. The caller owns *out (json_decref). Numbers keep their last bit. */
svit_status sv_json_parse_object(json_t **out, const char *text, size_t bytes, const char *what,
                                 svit_error *err);

/* Copies a dump of `value` (keys in the order of insertion, no spaces) to the caller's buffer by
 * the rules of svit_context_describe. */
svit_status sv_json_to_buffer(const json_t *value, char *buffer, size_t capacity, size_t *needed,
                              svit_error *err);

/* Copies `text` by the same rules. */
svit_status sv_text_to_buffer(const char *text, char *buffer, size_t capacity, size_t *needed,
                              svit_error *err);

/* A dump as a string, to be given back with sv_json_release_text; NULL where there is no memory. */
char *sv_json_to_text(const json_t *value);
void sv_json_release_text(char *text);

#endif
