/* Preloaded into a test: the process's allocator, of which the n-th call fails, or all from it on.
 * It stands in front of every library of the process, which an allocator of the context does not.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

/* The C library's own, under the names that it keeps for this purpose. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

#define PUBLIC __attribute__((visibility("default")))

static atomic_size_t calls, fail_at, failures;
static atomic_int for_ever;

/* From now on call number `n` fails, with `always` every later one, too. 0: none. */
PUBLIC void failing_malloc_arm(size_t n, int always)
{
    atomic_store(&fail_at, 0);
    atomic_store(&calls, 0);
    atomic_store(&failures, 0);
    atomic_store(&for_ever, always);
    atomic_store(&fail_at, n);
}

/* From now on none fails. Returns how many have. */
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
