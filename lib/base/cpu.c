/* What this CPU can do. */
#include "base/cpu.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

sv_isa sv_cpu_isa(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return SV_ISA_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return SV_ISA_AVX2;
    return SV_ISA_BASELINE;
}

/* The brand string: leaves 0x80000002 to 0x80000004. */
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

const char *sv_cpu_name(char *buffer, size_t capacity)
{
    snprintf(buffer, capacity, "unknown");
    return buffer;
}
#endif

const char *sv_isa_name(sv_isa isa)
{
#if defined(__aarch64__)
    static const char *const NAMES[] = {"neon", "avx2", "avx512"};
#else
    static const char *const NAMES[] = {"baseline", "avx2", "avx512"};
#endif
    return NAMES[isa];
}
