/* What this machine can do at most, so that every other figure is a ratio. */
#ifndef EXAMPLE_MACHINE_PEAK_H
#define EXAMPLE_MACHINE_PEAK_H

#include <stdint.h>

enum { PEAK_THREADS = 256 };

/* float32 multiply-adds on registers alone, GFLOP/s of `threads` threads at once, with the widest
 * vectors that this CPU has; the best of a few short looks. */
double machine_peak_fma(uint32_t threads);

/* The same of the BLAS's own sgemm on square matrices that fit no nearer cache, each thread
 * running a single-threaded product of its own. 0 where there is no memory. */
double machine_peak_blas(uint32_t threads);

/* Bytes a second of a = b + 3 c over arrays larger than the caches, in GB/s. 0 as above. */
double machine_peak_triad(uint32_t threads);

/* The vectors that machine_peak_fma uses: "avx512f", "avx2", "baseline". */
const char *machine_peak_vectors(void);

#endif
