/* Conversion between doubles and decimal text. The decimal point is '.' and the rounding is to
 * nearest, whatever the program's locale and rounding mode are. */
#ifndef SV_DECIMAL_H
#define SV_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>

/* Characters of the longest text that is read. The exact decimal form of every double is
 * shorter. */
enum { SV_DECIMAL_MAX_LENGTH = 1200 };

/* Reads text[bytes], a number by JSON's grammar, as the nearest double. A value that
 * underflows becomes 0. Returns false if the value overflows or the text is longer than
 * SV_DECIMAL_MAX_LENGTH. */
/*@ requires \valid(out) && \valid_read(text + (0 .. bytes - 1));
    assigns *out; */
bool sv_decimal_read(double *out, const char *text, size_t bytes);

/* Bytes of the text of a value. */
enum { SV_DECIMAL_TEXT = 40 };

/* Writes a finite value with the fewest of 15 to 17 digits that read back to the same bits.
 * The text always has a point or an exponent, so that JSON readers take it for a real. Returns
 * `out`. */
const char *sv_decimal_text(char out[SV_DECIMAL_TEXT], double value);

#endif
