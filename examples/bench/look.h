/* What all threads together reach in a moment of one kind of work. */
#ifndef EXAMPLE_LOOK_H
#define EXAMPLE_LOOK_H

#include <stddef.h>
#include <stdint.h>

enum { LOOK_THREADS = 256 };

/* A thread's share. */
typedef struct look_worker {
    const struct look_kind *kind;
    float *array; /* its kind's floats, 64-byte aligned, drawn by this thread; NULL: none */
    size_t next;  /* where the work goes on: 0 at first, then the work's own */
} look_worker;

/* What is looked at. */
typedef struct look_kind {
    double (*work)(look_worker *self); /* does a bit, milliseconds at most; returns how much */
    const void *input;                 /* the work's own */
    size_t floats;                     /* each thread's array; 0: none */
} look_kind;

/* The best of a few short looks: the work a second of `threads` threads at once (1..LOOK_THREADS,
 * or the nearest); those that could not be started, or have no memory, add nothing. */
double look_best(const look_kind *kind, uint32_t threads);

#endif
