/* Measures the throughput of a small piece of work on several threads at once. */
#ifndef EXAMPLE_THROUGHPUT_H
#define EXAMPLE_THROUGHPUT_H

#include <stddef.h>
#include <stdint.h>

enum { THROUGHPUT_THREADS = 1024 }; /* the most of --threads */

/* The state of one thread. */
typedef struct throughput_worker {
    const struct throughput_kernel *kind;
    float *array; /* [kind->floats], aligned to 64 bytes, filled by this thread; NULL: none */
    size_t next;  /* position of the work in the array; starts at 0 */
} throughput_worker;

/* The work that is measured. */
typedef struct throughput_kernel {
    double (*work)(throughput_worker *self); /* runs for milliseconds at most; returns the amount of
                                                work that it has done */
    const void *input;                       /* for the use of `work` */
    size_t floats;                           /* elements of each thread's array; 0: none */
} throughput_kernel;

/* Runs the work on `threads` threads at once (clamped to 1..THROUGHPUT_THREADS) in a few short
 * rounds and returns the work per second of all threads in the best one. Threads that could not be
 * started, or have no memory, add nothing. */
double throughput_best(const throughput_kernel *kind, uint32_t threads);

#endif
