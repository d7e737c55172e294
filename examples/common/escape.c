/* Texts from outside, made safe to print. */
#include "escape.h"

/* Bytes of the printable UTF-8 character at `text`; 0 where there is none, or a control character,
 * of which U+0080 to U+009F are some. */
static size_t printable_length(const unsigned char *text)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = text[0] < 0x80           ? 1
                    : (text[0] >> 5) == 0x06 ? 2
                    : (text[0] >> 4) == 0x0e ? 3
                    : (text[0] >> 3) == 0x1e ? 4
                                             : 0;
    unsigned value = length == 1 ? text[0] : text[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (text[i] & 0x3f);
    }
    if (length == 0 || value < least[length] || value > 0x10ffff)
        return 0;
    if (value < 0x20 || (value >= 0x7f && value < 0xa0) || (value >= 0xd800 && value < 0xe000))
        return 0;
    return length;
}

void escape_print(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        size_t length = printable_length(at);
        if (length > 0)
            fwrite(at, 1, length, out);
        else
            fprintf(out, "\\x%02x", *at);
        at += length > 0 ? length : 1;
    }
}
