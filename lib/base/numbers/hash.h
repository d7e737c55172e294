/* FNV-1a of 64 bits (Fowler, Noll, Vo 1991): for each byte or word that is hashed,
 * hash = (hash ^ word) * SV_FNV_PRIME, from SV_FNV_BASIS on. Some of its values are in files. */
#ifndef SV_HASH_H
#define SV_HASH_H

#include <stddef.h>
#include <stdint.h>

#define SV_FNV_BASIS UINT64_C(0xCBF29CE484222325)
#define SV_FNV_PRIME UINT64_C(0x100000001B3)

/* Goes on with a hash over the bytes data[bytes]. */
static inline uint64_t sv_fnv_bytes(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *from = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ from[i]) * SV_FNV_PRIME;
    return hash;
}

#endif
