/* Names temporary files. */
#include "base/files/temporary_name.h"

#include "base/files/path.h"

#include <inttypes.h>
#include <stdio.h>

/* FNV-1a of 64 bits (Fowler, Noll, Vo 1991). */
static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001B3u;
    return hash;
}

void sv_temporary_name(char *out, size_t capacity, const char *path, int i)
{
    const char *name = sv_path_name(path);
    char number[16];
    snprintf(number, sizeof number, "/%d", i);
    const uint64_t hash =
        hash_text(hash_text(hash_text(0xCBF29CE484222325u, "shiftvit/replace/"), name), number);
    snprintf(out, capacity, "%.*s.shiftvit-%016" PRIx64 ".part", (int)(name - path), path, hash);
}
