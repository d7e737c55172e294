/* What is known of CPUs other than x86-64's. */
#include "base/threads/cpu.h"

#include <stdio.h>

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(__aarch64__) && defined(_WIN32)
#include <windows.h>
#endif

#if defined(__aarch64__)
/* The instruction set whose features the operating system reports. */
static sv_isa isa_of(bool dotprod, bool i8mm, bool bf16)
{
    if (!dotprod)
        return SV_ISA_BASELINE;
    return i8mm && bf16 ? SV_ISA_NEON_I8MM : SV_ISA_NEON_DOTPROD;
}
#endif

#if defined(__aarch64__) && defined(__linux__)
sv_isa sv_cpu_isa(void)
{
    /* Of <asm/hwcap.h>, whose older versions lack them. */
    const unsigned long DOTPROD = 1ul << 20, I8MM = 1ul << 13, BF16 = 1ul << 14;
    const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
    return isa_of(first & DOTPROD, second & I8MM, second & BF16);
}
#elif defined(__aarch64__) && defined(__APPLE__)
static bool has_feature(const char *name)
{
    int value = 0;
    size_t size = sizeof value;
    return sysctlbyname(name, &value, &size, NULL, 0) == 0 && value != 0;
}

sv_isa sv_cpu_isa(void)
{
    return isa_of(has_feature("hw.optional.arm.FEAT_DotProd"),
                  has_feature("hw.optional.arm.FEAT_I8MM"),
                  has_feature("hw.optional.arm.FEAT_BF16"));
}
#elif defined(__aarch64__) && defined(_WIN32)
sv_isa sv_cpu_isa(void)
{
    /* PF_ARM_V82_DP, PF_ARM_V82_I8MM and PF_ARM_V86_BF16 of <winnt.h>, whose older versions lack
     * them. */
    enum { DOTPROD = 43, I8MM = 66, BF16 = 68 };
    return isa_of(IsProcessorFeaturePresent(DOTPROD), IsProcessorFeaturePresent(I8MM),
                  IsProcessorFeaturePresent(BF16));
}
#else
sv_isa sv_cpu_isa(void)
{
    return SV_ISA_BASELINE;
}
#endif

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
