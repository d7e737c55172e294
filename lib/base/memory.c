/* Helpers over any allocator. */
#include "base/memory.h"

#include "base/size.h"
#include "base/status.h"

#include <string.h>

void *sv_allocate(const sv_allocator *allocator, size_t bytes)
{
    return allocator->allocate(allocator->user, bytes ? bytes : 1, SV_ALIGNMENT);
}

void sv_release(const sv_allocator *allocator, void *memory, size_t bytes)
{
    if (memory)
        allocator->release(allocator->user, memory, bytes ? bytes : 1);
}

svit_status sv_allocate_uncleared(const sv_allocator *allocator, void **out, size_t count,
                                  size_t size, const char *what, svit_error *err)
{
    size_t bytes;
    if (!sv_size_multiply(&bytes, count, size))
        return sv_fail(err, SVIT_E_MEMORY, "%zu x %zu bytes for %s do not fit a size", count, size,
                       what);
    void *memory = sv_allocate(allocator, bytes);
    if (!memory)
        return sv_fail_memory(err, bytes, what);
    *out = memory;
    return SVIT_OK;
}

svit_status sv_allocate_array(const sv_allocator *allocator, void **out, size_t count, size_t size,
                              const char *what, svit_error *err)
{
    SVIT_TRY(sv_allocate_uncleared(allocator, out, count, size, what, err));
    memset(*out, 0, count * size);
    return SVIT_OK;
}

void *sv_enlarge(const sv_allocator *allocator, void *data, size_t used, size_t *capacity,
                 size_t needed)
{
    const size_t larger = needed < SIZE_MAX / 2 ? 2 * needed + 256 : needed;
    void *moved = sv_allocate(allocator, larger);
    if (!moved)
        return NULL;
    if (data)
        memcpy(moved, data, used);
    sv_release(allocator, data, *capacity);
    *capacity = larger;
    return moved;
}

char *sv_copy_text(const sv_allocator *allocator, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = sv_allocate(allocator, bytes);
    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}

void sv_release_text(const sv_allocator *allocator, char *text)
{
    if (text)
        sv_release(allocator, text, strlen(text) + 1);
}
