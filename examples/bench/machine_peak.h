/* How much arithmetic this machine can do at most, so that every other figure is a ratio. */
#ifndef EXAMPLE_MACHINE_PEAK_H
#define EXAMPLE_MACHINE_PEAK_H

#include <stddef.h>
#include <stdint.h>

enum { PEAK_VECTORS = 3 };

/* The vectors number `index` that this CPU has, the widest first: "avx512f", "avx2", "baseline" or,
 * on 64-bit Arm, "neon"; NULL past the last. */
const char *machine_peak_vectors(size_t index);

/* float32 multiply-adds on registers alone, GFLOP/s of `threads` threads at once, with vectors
 * number `index`; the best of a few short looks. */
double machine_peak_fma(size_t index, uint32_t threads);

/* The same of the BLAS's own sgemm on square matrices that fit no nearer cache, each thread
 * running a single-threaded product of its own. */
double machine_peak_blas(uint32_t threads);

#endif
