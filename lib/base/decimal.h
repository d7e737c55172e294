/* Doubles as decimal text, in any locale and rounding mode: a point is '.'. */
#ifndef SV_DECIMAL_H
#define SV_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>

/* Characters of a number that is read: every double has a decimal form that is exact and shorter.
 */
enum { SV_DECIMAL_MAX_LENGTH = 1200 };

/* Reads text[bytes], a number by JSON's grammar, as the nearest double. false if there is none, or
 * the text is longer than SV_DECIMAL_MAX_LENGTH. What is nearer to 0 than any other double is 0. */
bool sv_decimal_read(double *out, const char *text, size_t bytes);

/* The shortest of 15 to 17 digits that reads back to the same bits, with a point or an exponent, so
 * that it reads back as a real. `value` is finite. Returns `out`. */
enum { SV_DECIMAL_TEXT = 40 };
const char *sv_decimal_text(char out[SV_DECIMAL_TEXT], double value);

#endif
