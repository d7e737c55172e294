/* Numbers in files, which are little-endian on every machine. Single numbers are put together byte
 * by byte. Arrays are stored and loaded by sv_little_endian, which changes nothing on a
 * little-endian machine, so that there an array in memory is the array of the file, to be copied or
 * mapped. */
#ifndef SV_BYTE_ORDER_H
#define SV_BYTE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether numbers have their lowest byte first in memory, as in files. */
#define SV_IS_LITTLE_ENDIAN (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* Returns the number of `bytes` bytes, 1 to 8, at `from`. */
static inline uint64_t sv_load_little(const void *from, unsigned bytes)
{
    const unsigned char *at = from;
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

/* Stores the lowest `bytes` bytes of a number, 1 to 8, at `to`. */
static inline void sv_store_little(void *to, uint64_t value, unsigned bytes)
{
    unsigned char *at = to;
    for (unsigned i = 0; i < bytes && i < sizeof value; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

/* Reverses the bytes of each of words[count]; a word has `bytes` bytes, at most 8. */
void sv_reverse_words(void *words, unsigned bytes, size_t count);

/* Converts words[count] from the machine's byte order to that of files, or back. */
static inline void sv_little_endian(void *words, unsigned bytes, size_t count)
{
    if (!SV_IS_LITTLE_ENDIAN)
        sv_reverse_words(words, bytes, count);
}

#endif
