/* Prints JSON objects, one a line, as all programs do with --json. */
#include "program/json_line.h"

#include "program/shown.h"

#include <math.h>
#include <stdio.h>

void json_line_print(json_t *object, size_t digits)
{
    json_dumpf(object, stdout, JSON_REAL_PRECISION(digits));
    putchar('\n');
    fflush(stdout);
    json_decref(object);
}

json_t *json_line_text(const char *text)
{
    char shown[SHOWN_CAPACITY];
    json_t *string = json_string(text);
    return string ? string : json_string(shown_text(shown, text));
}

json_t *json_line_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}
