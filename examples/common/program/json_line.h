/* Prints JSON objects, one a line, as all programs do with --json. */
#ifndef EXAMPLE_JSON_LINE_H
#define EXAMPLE_JSON_LINE_H

#include <jansson.h>
#include <stddef.h>

/* Returns a number, or null for NaN and infinities, which JSON does not have. */
json_t *json_line_real(double value);

/* Returns a text as a JSON string. In a text that is not UTF-8, such as a path, invalid bytes
 * become \xNN. */
json_t *json_line_text(const char *text);

enum { JSON_LINE_DIGITS = 9 }; /* of a real number in JSON: as many as a float has */

/* Prints an object as one line on stdout, with that many digits of its real numbers, and frees
 * it. */
void json_line_print(json_t *object, size_t digits);

#endif
