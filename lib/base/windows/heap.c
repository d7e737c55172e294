/* The default allocator: the heap of the C library of Windows, whose aligned memory has functions
 * of its own. */
#include "base/memory.h"

#include <malloc.h>

static void *default_allocate(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    return _aligned_malloc(bytes, alignment);
}

static void default_release(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    _aligned_free(memory);
}

sv_allocator sv_allocator_default(void)
{
    return (sv_allocator){default_allocate, default_release, NULL};
}
