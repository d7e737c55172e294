/* Names temporary files. */
#include "base/files/temporary_name.h"

#include "base/files/path.h"
#include "base/numbers/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return sv_fnv_bytes(hash, text, strlen(text));
}

void sv_temporary_name(char *out, size_t capacity, const char *path, int i)
{
    const char *name = sv_path_name(path);
    char number[16];
    snprintf(number, sizeof number, "/%d", i);
    const uint64_t hash =
        hash_text(hash_text(hash_text(SV_FNV_BASIS, "shiftvit/replace/"), name), number);
    snprintf(out, capacity, "%.*s.shiftvit-%016" PRIx64 ".part", (int)(name - path), path, hash);
}
