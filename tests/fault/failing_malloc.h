/* An allocator for the whole process whose n-th call fails: see failing_malloc.c. */
#ifndef FAILING_MALLOC_H
#define FAILING_MALLOC_H

#include <stddef.h>

#ifdef HAVE_FAILING_MALLOC

/* Makes call number `n` from now on fail, and with `always` every later call, too. 0: no call
 * fails, but calls are counted. */
void failing_malloc_arm(size_t n, int always);

/* Lets all calls succeed from now on. Returns the number of calls that have failed. */
size_t failing_malloc_disarm(void);

/* The number of calls between failing_malloc_arm and failing_malloc_disarm. */
size_t failing_malloc_count(void);

/* The blocks that the process has, less those that it has freed. */
long failing_malloc_live(void);

/* With 1, calls of this thread are not counted and do not fail, unless all are to fail and one has;
 * with 0 they are again. It serves an allocator that has faults of its own. */
void failing_malloc_pass(int passes);

#else /* a sanitizer, or another C library, has an allocator that cannot be replaced */

static inline void failing_malloc_arm(size_t n, int always)
{
    (void)n;
    (void)always;
}

static inline size_t failing_malloc_disarm(void)
{
    return 0;
}

static inline size_t failing_malloc_count(void)
{
    return 0;
}

static inline long failing_malloc_live(void)
{
    return 0;
}

static inline void failing_malloc_pass(int passes)
{
    (void)passes;
}

#endif

#endif
