/* The default allocator, and helpers over any allocator. */
#include "base/memory.h"

#include "base/size.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>
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
