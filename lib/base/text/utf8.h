/* Validation of UTF-8 by RFC 3629: no surrogates, nothing above U+10FFFF, no overlong forms. */
#ifndef SV_UTF8_H
#define SV_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The bytes of the character at the start of text[bytes], 0 if there is no valid one. */
/*@ requires \valid_read(text + (0 .. bytes - 1));
    assigns \nothing;
    ensures \result <= 4 && \result <= bytes; */
size_t sv_utf8_length(const char *text, size_t bytes);

/* Whether a whole string is valid UTF-8. */
/*@ requires valid_read_string(text);
    assigns \nothing; */
bool sv_utf8_valid(const char *text);

#endif
