/* An allocator that counts its memory, and whose n-th call fails, for tests of what a call takes
 * and of what it does then. */
#ifndef TEST_LEDGER_H
#define TEST_LEDGER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

/* An allocator that counts its blocks and fails at a given call. */
typedef struct ledger {
    atomic_size_t calls, live_blocks, live_bytes;
    atomic_size_t peak_bytes; /* the most live_bytes so far; a test may set it back */
    size_t fail_at;
    int for_ever; /* every call from fail_at on fails */
} ledger;

static inline void *ledger_allocate(void *user, size_t bytes, size_t alignment)
{
    ledger *book = user;
    const size_t call = ++book->calls;
    if (call == book->fail_at || (book->for_ever && book->fail_at && call > book->fail_at))
        return NULL;
    void *memory = NULL;
    if (posix_memalign(&memory, alignment, bytes) != 0)
        return NULL;
    book->live_blocks++;
    const size_t live = atomic_fetch_add(&book->live_bytes, bytes) + bytes;
    size_t peak = atomic_load(&book->peak_bytes);
    while (live > peak && !atomic_compare_exchange_weak(&book->peak_bytes, &peak, live))
        ;
    return memory;
}

static inline void ledger_release(void *user, void *memory, size_t bytes)
{
    ledger *book = user;
    book->live_blocks--;
    book->live_bytes -= bytes;
    free(memory);
}

#endif
