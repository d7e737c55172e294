/* The byte order of arrays of numbers. */
#include "base/numbers/byte_order.h"

void sv_reverse_words(void *words, unsigned bytes, size_t count)
{
    unsigned char *at = words;
    for (size_t i = 0; i < count; i++, at += bytes)
        for (unsigned low = 0, high = bytes - 1; low < high; low++, high--) {
            const unsigned char byte = at[low];
            at[low] = at[high];
            at[high] = byte;
        }
}
