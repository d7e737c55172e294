/* Validates UTF-8. */
#include "base/text/utf8.h"

#include <string.h>

/* The multi-byte forms by the range of the first byte. The range of the second byte excludes
 * overlong forms, surrogates and code points above U+10FFFF. Every later byte is in 80..BF. */
static const struct {
    unsigned char first, last, second_min, second_max, length;
} FORMS[] = {
    {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
    {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
    {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
};

size_t sv_utf8_length(const char *text, size_t bytes)
{
    const unsigned char *byte = (const unsigned char *)text;
    if (bytes == 0 || byte[0] < 0x80)
        return bytes > 0;
    /*@ loop invariant i <= 8;
        loop assigns i; */
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++) {
        if (byte[0] < FORMS[i].first || byte[0] > FORMS[i].last)
            continue;
        size_t length = FORMS[i].length;
        if (bytes < length || byte[1] < FORMS[i].second_min || byte[1] > FORMS[i].second_max)
            return 0;
        /*@ loop invariant 2 <= k <= length;
            loop assigns k; */
        for (size_t k = 2; k < length; k++)
            if ((byte[k] & 0xC0) != 0x80)
                return 0;
        return length;
    }
    return 0;
}

bool sv_utf8_valid(const char *text)
{
    size_t bytes = strlen(text);
    /*@ loop invariant bytes == strlen(text) && valid_read_string(text);
        loop assigns text, bytes; */
    while (bytes > 0) {
        size_t length = sv_utf8_length(text, bytes);
        if (length == 0)
            return false;
        text += length;
        bytes -= length;
    }
    return true;
}
