/* What this CPU can do. */
#ifndef SV_CPU_H
#define SV_CPU_H

#include <stddef.h>

/* Instruction sets that kernels are compiled for, the better the higher. The baseline is what every
 * CPU of the kind has: SSE2 on x86-64, NEON on 64-bit Arm. */
typedef enum sv_isa { SV_ISA_BASELINE, SV_ISA_AVX2, SV_ISA_AVX512 } sv_isa;

/* The best that the CPU and the operating system both have. */
sv_isa sv_cpu_isa(void);

/* "baseline", or "neon" on 64-bit Arm; "avx2", "avx512". */
const char *sv_isa_name(sv_isa isa);

/* The CPU's own name, into `buffer`; "unknown" where it does not tell. Returns `buffer`. */
const char *sv_cpu_name(char *buffer, size_t capacity);

#endif
