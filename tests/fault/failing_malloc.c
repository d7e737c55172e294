/* An allocator whose n-th call fails, or all calls from the n-th on. The linker takes it for the
 * whole process, so it is that of every library, which the allocator of a context is not. */
#include "failing_malloc.h"

#include <errno.h>
#include <stdatomic.h>

/* The functions of the C library, under the names that glibc keeps for this purpose. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);

#define PUBLIC __attribute__((visibility("default")))

static atomic_size_t calls, fail_at, failures;
static atomic_int for_ever, is_armed;
static atomic_long live;
static _Thread_local int is_passed;

PUBLIC void failing_malloc_arm(size_t n, int always)
{
    atomic_store(&calls, 0);
    atomic_store(&failures, 0);
    atomic_store(&for_ever, always);
    atomic_store(&fail_at, n);
    atomic_store(&is_armed, 1);
}

PUBLIC size_t failing_malloc_disarm(void)
{
    atomic_store(&is_armed, 0);
    return atomic_load(&failures);
}

PUBLIC size_t failing_malloc_count(void)
{
    return atomic_load(&calls);
}

PUBLIC long failing_malloc_live(void)
{
    return atomic_load(&live);
}

PUBLIC void failing_malloc_pass(int passes)
{
    is_passed = passes;
}

static int fails(void)
{
    if (!atomic_load(&is_armed))
        return 0;
    if (is_passed)
        return atomic_load(&for_ever) && atomic_load(&failures) > 0;
    const size_t call = atomic_fetch_add(&calls, 1) + 1, wanted = atomic_load(&fail_at);
    if (wanted == 0 || call < wanted || (call > wanted && !atomic_load(&for_ever)))
        return 0;
    atomic_fetch_add(&failures, 1);
    errno = ENOMEM;
    return 1;
}

/* Counts a new block, unless it is NULL. */
static void *noted(void *memory)
{
    if (memory)
        atomic_fetch_add(&live, 1);
    return memory;
}

PUBLIC void *malloc(size_t bytes)
{
    return fails() ? NULL : noted(__libc_malloc(bytes));
}

PUBLIC void *calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : noted(__libc_calloc(count, bytes));
}

PUBLIC void *realloc(void *memory, size_t bytes)
{
    if (fails())
        return NULL;
    void *moved = __libc_realloc(memory, bytes);
    return memory ? moved : noted(moved);
}

PUBLIC void *memalign(size_t alignment, size_t bytes)
{
    return fails() ? NULL : noted(__libc_memalign(alignment, bytes));
}

PUBLIC void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : noted(__libc_memalign(alignment, bytes));
}

PUBLIC int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    void *taken = fails() ? NULL : noted(__libc_memalign(alignment, bytes));
    if (!taken)
        return ENOMEM;
    *memory = taken;
    return 0;
}

PUBLIC void free(void *memory)
{
    if (memory)
        atomic_fetch_sub(&live, 1);
    __libc_free(memory);
}
