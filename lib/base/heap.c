/* The default allocator: the heap of the C library, through the calls of POSIX. */
#include "base/memory.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20 };

/* Asks for 2 MiB pages. A training step walks through gigabytes; with 4 KiB pages, TLB misses take
 * about as long as the reads. */
static void ask_for_huge_pages(void *memory, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    madvise(memory, bytes, MADV_HUGEPAGE); /* only a hint: a failure is ignored */
#else
    (void)memory;
    (void)bytes;
#endif
}

static void *default_allocate(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    int huge = bytes >= 2 * (size_t)HUGE_PAGE;
    void *memory = NULL;
    if (posix_memalign(&memory, huge ? HUGE_PAGE : alignment, bytes) != 0)
        return NULL;
    if (huge)
        ask_for_huge_pages(memory, bytes);
    return memory;
}

static void default_release(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(memory);
}

sv_allocator sv_allocator_default(void)
{
    return (sv_allocator){default_allocate, default_release, NULL};
}
