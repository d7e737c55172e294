/* Whole numbers in texts. */
#include "base/numbers/digits.h"

#include <string.h>

const char *sv_digits_read(uint64_t *out, const char *text, unsigned base)
{
    static const char DIGITS[] = "0123456789abcdef";
    uint64_t value = 0;
    for (; *text; text++) {
        const char *digit = memchr(DIGITS, *text, base);
        if (!digit)
            break;
        const uint64_t add = (uint64_t)(digit - DIGITS);
        if (value > (UINT64_MAX - add) / base)
            return NULL;
        value = value * base + add;
    }
    *out = value;
    return text;
}
