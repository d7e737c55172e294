/* Instruction sets of all processor families. */
#include "base/threads/cpu.h"

bool sv_cpu_has(sv_isa isa)
{
    const sv_isa best = sv_cpu_isa();
    return isa <= best && (isa == SV_ISA_BASELINE || (isa > SV_ISA_AMX) == (best > SV_ISA_AMX));
}

const char *sv_isa_name(sv_isa isa)
{
    static const char *const NAMES[] = {
#if defined(__aarch64__)
        [SV_ISA_BASELINE] = "neon",
#elif defined(__wasm__)
        [SV_ISA_BASELINE] = "wasm-simd128",
#else
        [SV_ISA_BASELINE] = "baseline",
#endif
        [SV_ISA_AVX2] = "avx2",
        [SV_ISA_AVX512] = "avx512",
        [SV_ISA_AVX512_VNNI] = "avx512-vnni",
        [SV_ISA_AVX512_BF16] = "avx512-bf16",
        [SV_ISA_AMX] = "amx",
        [SV_ISA_NEON_DOTPROD] = "neon-dotprod",
        [SV_ISA_NEON_I8MM] = "neon-i8mm",
    };
    return NAMES[isa];
}
