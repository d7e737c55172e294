/* Whole numbers in texts. */
#ifndef SV_DIGITS_H
#define SV_DIGITS_H

#include <stdint.h>

/* Reads the digits at the start of a text, of base 10 or 16, where letters are small. Returns what
 * follows them, which is the text itself if there are none, or NULL if the value does not fit
 * 64 bits; *out is then without meaning. strtoull reports that by errno alone, which a signal
 * handler of the program may change in between. */
const char *sv_digits_read(uint64_t *out, const char *text, unsigned base);

#endif
