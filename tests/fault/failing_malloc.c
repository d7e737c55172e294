/* An allocator to be preloaded into a test program, whose n-th call fails, or all calls from the
 * n-th on. It replaces the allocator of every library in the process, which the allocator of a
 * context does not. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

/* The functions of the C library, under the names that glibc keeps for this purpose. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

#define PUBLIC __attribute__((visibility("default")))

static atomic_size_t calls, fail_at, failures;
static atomic_int for_ever;

/* Makes call number `n` from now on fail, and with `always` every later call, too. 0: no call
 * fails. */
PUBLIC void failing_malloc_arm(size_t n, int always)
{
    atomic_store(&fail_at, 0);
    atomic_store(&calls, 0);
    atomic_store(&failures, 0);
    atomic_store(&for_ever, always);
    atomic_store(&fail_at, n);
}

/* Lets all calls succeed from now on. Returns the number of calls that have failed. */
PUBLIC size_t failing_malloc_disarm(void)
{
    atomic_store(&fail_at, 0);
    return atomic_load(&failures);
}

static int fails(void)
{
    size_t wanted = atomic_load(&fail_at);
    if (wanted == 0)
        return 0;
    size_t call = atomic_fetch_add(&calls, 1) + 1;
    if (call != wanted && !(call > wanted && atomic_load(&for_ever)))
        return 0;
    atomic_fetch_add(&failures, 1);
    errno = ENOMEM;
    return 1;
}

PUBLIC void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

PUBLIC void *calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(count, bytes);
}

PUBLIC void *realloc(void *memory, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(memory, bytes);
}

PUBLIC void *memalign(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __libc_memalign(alignment, bytes);
}

PUBLIC void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __libc_memalign(alignment, bytes);
}

PUBLIC int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    void *taken = fails() ? NULL : __libc_memalign(alignment, bytes);
    if (!taken)
        return ENOMEM;
    *memory = taken;
    return 0;
}
