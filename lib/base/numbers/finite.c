/* Searches for NaN and infinities. All their exponent bits are set, which the compiler can test in
 * vectors of integers, a chunk at a time. */
#include "base/numbers/finite.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

size_t sv_first_not_finite(const float *values, size_t count)
{
    enum { CHUNK = 4096 };
    for (size_t start = 0; start < count; start += CHUNK) {
        size_t end = count - start < CHUNK ? count : start + CHUNK;
        uint32_t bad = 0;
        for (size_t i = start; i < end; i++) {
            uint32_t bits;
            memcpy(&bits, &values[i], sizeof bits);
            bad |= (bits & 0x7F800000u) == 0x7F800000u;
        }
        for (size_t i = start; bad && i < end; i++)
            if (!isfinite(values[i]))
                return i;
    }
    return count;
}
