/* The values of EXIF entries as numbers, of each type, in both byte orders, for all bytes, and
 * every number as an orientation. */
#include "data/decoding/exif.c"

#include <__fc_builtin.h>

int main(void)
{
    uint8_t bytes[8];
    double value;
    Frama_C_make_unknown((char *)bytes, sizeof bytes);
    Frama_C_make_unknown((char *)&value, sizeof value);
    to_orientation(value);
    //@ loop unroll 20;
    for (unsigned type = 0; type < 20; type++) {
        const size_t size = type_bytes(type);
        if (size == 0)
            continue;
        to_orientation(read_value(bytes + (8 - size), type, false));
        to_orientation(read_value(bytes + (8 - size), type, true));
    }
    return 0;
}
