/* Measures the peak bfloat16 arithmetic of this machine. */
#ifndef EXAMPLE_MACHINE_BF16_H
#define EXAMPLE_MACHINE_BF16_H

#include <stddef.h>
#include <stdint.h>

enum { BF16_ISAS = 2 };

/* Returns the name of instruction set number `index` for bfloat16 dot products with float32 sums
 * that the CPU has and the system allows, the fastest first: "amx", "avx512_bf16"; NULL past the
 * last. */
const char *machine_bf16_isa(size_t index);

/* Returns the GFLOP/s of such dot products on registers, of `threads` threads at once, with
 * instruction set number `index`. The best of a few short rounds counts. The operands are random,
 * because some CPUs run faster on zeros. */
double machine_bf16_peak(size_t index, uint32_t threads);

#endif
