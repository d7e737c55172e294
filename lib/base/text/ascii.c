/* Comparison without regard to case. */
#include "base/text/ascii.h"

static unsigned lower(unsigned char byte)
{
    return byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte;
}

bool sv_ascii_equal(const char *a, const char *b, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (lower((unsigned char)a[i]) != lower((unsigned char)b[i]))
            return false;
        if (a[i] == '\0')
            break;
    }
    return true;
}
