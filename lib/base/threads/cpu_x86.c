/* Detects CPUs of x86-64 by CPUID. */
#include "base/threads/cpu.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#if defined(SV_HAVE_AVX2) || defined(SV_HAVE_AVX512)
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
#else
/* A build with kernels for the baseline alone does without the compiler's table of CPUs. */
sv_isa sv_cpu_isa(void)
{
    return SV_ISA_BASELINE;
}
#endif

/* The vendor is the text "AuthenticAMD" in leaf 0; its first four letters tell it from others. Each
 * matmul asks. A hypervisor intercepts CPUID, which then takes some 15 microseconds, so the first
 * answer is kept. */
static bool is_amd(void)
{
    enum { UNKNOWN, OTHER, AMD };
    static atomic_int vendor = UNKNOWN;
    int known = atomic_load_explicit(&vendor, memory_order_relaxed);
    if (known == UNKNOWN) {
        unsigned a, b, c, d;
        known = __get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx ? AMD : OTHER;
        atomic_store_explicit(&vendor, known, memory_order_relaxed);
    }
    return known == AMD;
}

bool sv_cpu_has_fast_bf16_dots(void)
{
    return sv_cpu_isa() >= SV_ISA_AVX512_BF16 && is_amd();
}

bool sv_cpu_prefers_interleaved_reads(void)
{
    return !is_amd();
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
