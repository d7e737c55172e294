/* What all threads together reach in a moment of one kind of work. */
#ifndef EXAMPLE_THROUGHPUT_H
#define EXAMPLE_THROUGHPUT_H

#include <stddef.h>
#include <stdint.h>

enum { THROUGHPUT_THREADS = 256 };

/* A thread's share. */
typedef struct throughput_worker {
    const struct throughput_kernel *kind;
    float *array; /* its kind's floats, 64-byte aligned, drawn by this thread; NULL: none */
    size_t next;  /* where the work goes on: 0 at first, then the work's own */
} throughput_worker;

/* What is looked at. */
typedef struct throughput_kernel {
    double (*work)(
        throughput_worker *self); /* does a bit, milliseconds at most; returns how much */
    const void *input;            /* the work's own */
    size_t floats;                /* each thread's array; 0: none */
} throughput_kernel;

/* The best of a few short looks: the work a second of `threads` threads at once
 * (1..THROUGHPUT_THREADS, or the nearest); those that could not be started, or have no memory, add
 * nothing. */
double throughput_best(const throughput_kernel *kind, uint32_t threads);

#endif
