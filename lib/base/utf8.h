/* UTF-8, as RFC 3629 has it: no surrogates, nothing above U+10FFFF, no overlong form. */
#ifndef SV_UTF8_H
#define SV_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The bytes of the character that text[bytes] begins with; 0 if it begins with none. */
size_t sv_utf8_length(const char *text, size_t bytes);

/* Whether all of a string is UTF-8. */
bool sv_utf8_valid(const char *text);

#endif
