/* Measures the peak float32 arithmetic of this machine, to which all other figures are compared. */
#ifndef EXAMPLE_MACHINE_PEAK_H
#define EXAMPLE_MACHINE_PEAK_H

#include <stddef.h>
#include <stdint.h>

enum { PEAK_VECTORS = 3 };

/* Returns the name of vector instruction set number `index` of this CPU, the widest first:
 * "avx512f", "avx2", "baseline", or "neon" on 64-bit Arm; NULL past the last. */
const char *machine_peak_vectors(size_t index);

/* Returns the GFLOP/s of float32 fused multiply-adds on registers, of `threads` threads at once,
 * with vector instruction set number `index`. The best of a few short rounds counts. */
double machine_peak_fma(size_t index, uint32_t threads);

/* Returns the GFLOP/s of the BLAS's sgemm on square matrices larger than L2. Each of `threads`
 * threads runs a single-threaded matmul. The best of a few short rounds counts. NaN: there is no
 * BLAS. */
double machine_peak_blas(uint32_t threads);

#endif
