/* What this CPU can do. */
#ifndef SV_CPU_H
#define SV_CPU_H

#include <stdbool.h>
#include <stddef.h>

/* Instruction sets that kernels are compiled for. Each has all that those before it have; the
 * baseline is what every CPU of the kind has: SSE2 on x86-64, NEON on 64-bit Arm. */
typedef enum sv_isa {
    SV_ISA_BASELINE,
    SV_ISA_AVX2,
    SV_ISA_AVX512,
    SV_ISA_AVX512_VNNI, /* dot products of bytes */
    SV_ISA_AVX512_BF16, /* and of bfloat16 */
    SV_ISA_AMX          /* AMX, for bytes and bfloat16 */
} sv_isa;

/* The best that the CPU and the operating system both have. */
sv_isa sv_cpu_isa(void);

/* Whether dot products of bfloat16 do more than float32's multiply-adds on the vector units: twice
 * as much on AMD's (Zen 4 and later), half as much on Intel's, which have AMX for them.
 */
bool sv_cpu_has_fast_bf16_dots(void);

/* Whether memory answers a reader of several streams sooner than one who asks for what comes next:
 * not AMD's CPUs, which foresee what is read in turn. Costs nothing to ask. */
bool sv_cpu_prefers_interleaved_reads(void);

/* Asks the operating system for AMX's registers, for the whole process and once for
 * all; whether it grants them. Signal frames of threads that use them grow by 8 KiB. */
bool sv_cpu_request_amx(void);

/* "baseline", or "neon" on 64-bit Arm; "avx2", "avx512", "avx512-vnni", "avx512-bf16", "amx". */
const char *sv_isa_name(sv_isa isa);

/* The CPU's own name, into `buffer`; "unknown" where it does not tell. Returns `buffer`. */
const char *sv_cpu_name(char *buffer, size_t capacity);

#endif
