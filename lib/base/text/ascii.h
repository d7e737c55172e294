/* Comparison of texts in which the case of letters does not count. */
#ifndef SV_ASCII_H
#define SV_ASCII_H

#include <stdbool.h>
#include <stddef.h>

/* Whether two texts, or their first `length` bytes if they are longer, are the same but for the
 * case of the letters of ASCII. The locale does not matter: in Turkish "I" is no capital of "i". */
bool sv_ascii_equal(const char *a, const char *b, size_t length);

#endif
