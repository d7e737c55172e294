/* Detects the CPU by CPUID. */
#include "base/threads/cpu.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* Tells the instruction sets above AVX-512 apart by CPUID leaf 7, which __builtin_cpu_supports does
 * not cover in every compiler. */
static sv_isa best_above_avx512(void)
{
    enum {
        VNNI = 1 << 11,
        BF16 = 1 << 5,
        AMX_BF16 = 1 << 22,
        AMX_TILE = 1 << 24,
        AMX_INT8 = 1 << 25
    };
    unsigned a, b, c, d, a1 = 0, ignored;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(c & VNNI))
        return SV_ISA_AVX512;
    if (a >= 1)
        __get_cpuid_count(7, 1, &a1, &ignored, &ignored, &ignored);
    if (!(a1 & BF16))
        return SV_ISA_AVX512_VNNI;
    bool amx = (d & AMX_BF16) && (d & AMX_TILE) && (d & AMX_INT8);
    return amx ? SV_ISA_AMX : SV_ISA_AVX512_BF16;
}

sv_isa sv_cpu_isa(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return best_above_avx512();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return SV_ISA_AVX2;
    return SV_ISA_BASELINE;
}

bool sv_cpu_has_fast_bf16_dots(void)
{
    __builtin_cpu_init();
    return sv_cpu_isa() >= SV_ISA_AVX512_BF16 && __builtin_cpu_is("amd");
}

bool sv_cpu_prefers_interleaved_reads(void)
{
    __builtin_cpu_init();
    return !__builtin_cpu_is("amd");
}

bool sv_cpu_request_amx(void)
{
#if defined(__linux__)
    /* arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA), since Linux 5.16 */
    enum { REQUEST = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
#else
    return false;
#endif
}

/* The brand string is in leaves 0x80000002 to 0x80000004. */
const char *sv_cpu_name(char *buffer, size_t capacity)
{
    unsigned words[13] = {0};
    const char *name = "unknown";
    if ((unsigned)__get_cpuid_max(0x80000000u, NULL) >= 0x80000004u) {
        for (unsigned i = 0; i < 3; i++)
            __get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
                        &words[4 * i + 3]);
        name = (const char *)words;
        while (*name == ' ')
            name++;
    }
    snprintf(buffer, capacity, "%s", *name ? name : "unknown");
    return buffer;
}
#else
sv_isa sv_cpu_isa(void)
{
    return SV_ISA_BASELINE;
}

bool sv_cpu_has_fast_bf16_dots(void)
{
    return false;
}

bool sv_cpu_prefers_interleaved_reads(void)
{
    return true;
}

bool sv_cpu_request_amx(void)
{
    return false;
}

const char *sv_cpu_name(char *buffer, size_t capacity)
{
    snprintf(buffer, capacity, "unknown");
    return buffer;
}
#endif

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
    };
    return NAMES[isa];
}
