/* Detects the CPU: its instruction sets, its name, and how it prefetches. */
#ifndef SV_CPU_H
#define SV_CPU_H

#include <stdbool.h>
#include <stddef.h>

/* Instruction sets that kernels are compiled for. Each includes those before it of the same
 * processor family. The baseline is SSE2 on x86-64, NEON on 64-bit Arm and SIMD128 in
 * WebAssembly. */
typedef enum sv_isa {
    SV_ISA_BASELINE,
    SV_ISA_AVX2,
    SV_ISA_AVX512,
    SV_ISA_AVX512_VNNI,  /* int8 dot products */
    SV_ISA_AVX512_BF16,  /* bfloat16 dot products */
    SV_ISA_AMX,          /* AMX tiles of int8 and bfloat16 */
    SV_ISA_NEON_DOTPROD, /* 64-bit Arm: int8 dot products (FEAT_DotProd) */
    SV_ISA_NEON_I8MM     /* and matrix products of int8 and bfloat16 (FEAT_I8MM, FEAT_BF16) */
} sv_isa;

/* Returns the best instruction set that both the CPU and the operating system support. */
sv_isa sv_cpu_isa(void);

/* Whether the CPU has this instruction set, which may be one of another processor family. */
bool sv_cpu_has(sv_isa isa);

/* Whether bfloat16 dot products (VDPBF16PS) have a higher throughput than float32 multiply-adds.
 * They have twice the throughput on AMD's CPUs from Zen 4 on, and half of it on Intel's. */
bool sv_cpu_has_fast_bf16_dots(void);

/* Whether reading several streams of memory in turns is faster than reading one sequentially. It is
 * not on AMD's CPUs, whose hardware prefetcher keeps up with one stream. */
bool sv_cpu_prefers_interleaved_reads(void);

/* Asks the operating system for permission to use the AMX tile registers, and returns whether it
 * is granted. The permission holds for the whole process and cannot be returned. It enlarges the
 * signal frames of threads that use AMX by 8 KiB. */
bool sv_cpu_request_amx(void);

/* The name of an instruction set: "baseline" ("neon" on 64-bit Arm, "wasm-simd128" in WebAssembly),
 * "avx2", "avx512", "avx512-vnni", "avx512-bf16", "amx", "neon-dotprod" or "neon-i8mm". */
const char *sv_isa_name(sv_isa isa);

/* Writes the CPU's model name, or "unknown", to `buffer`. Returns `buffer`. */
const char *sv_cpu_name(char *buffer, size_t capacity);

#endif
