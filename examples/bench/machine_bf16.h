/* How much arithmetic in bfloat16 this machine can do at most. */
#ifndef EXAMPLE_MACHINE_BF16_H
#define EXAMPLE_MACHINE_BF16_H

#include <stddef.h>
#include <stdint.h>

enum { BF16_ISAS = 2 };

/* What this CPU has, and the system lets be used, for dot products of bfloat16 with sums in
 * float32, the fastest first: "amx" (its AMX), "avx512_bf16"; NULL past the last. */
const char *machine_bf16_isa(size_t index);

/* Such dot products on registers alone, GFLOP/s of `threads` threads at once, by unit number
 * `index`; the best of a few short looks. The operands are drawn: on zeros a unit may run faster
 * than on any numbers of use. */
double machine_bf16_peak(size_t index, uint32_t threads);

#endif
