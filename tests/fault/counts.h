/* What the tests of faults have done, over all processes that they fork. */
#ifndef COUNTS_H
#define COUNTS_H

#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

typedef struct fault_counts {
    atomic_size_t scenarios, allocations, process_allocations, files, tolerated, kills;
    atomic_size_t operations[32]; /* faults of each file_operation */
} fault_counts;

static fault_counts *counts;

static inline void counts_begin(void)
{
    counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

#endif
