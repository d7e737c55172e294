/* Runs tests of kernels for every instruction set and skips those that the CPU lacks. */
#ifndef TEST_ISA_H
#define TEST_ISA_H

#include "kernels/isa.h"
#include "kernels/kernels.h"
#include "suite.h"

/* The instruction sets that kernels are compiled for. */
#define ISA_ENTRY(suffix, isa) isa,
static const sv_isa ISAS[] = {SV_ISA_LIST(ISA_ENTRY)};
enum { ISA_COUNT = sizeof ISAS / sizeof *ISAS };

/* The kernels of ISAS[index]; NULL if the CPU lacks them. */
static inline const sv_kernels *isa_kernels(int index)
{
    if (sv_cpu_has(ISAS[index]))
        return sv_kernels_for(ISAS[index]);
    skip_check(sv_isa_name(ISAS[index]));
    return NULL;
}

/* Defines the kernels of a loop test's iteration, 0 to ISA_COUNT - 1; ends the test if the CPU
 * lacks them. */
#define KERNELS(name)                                                                              \
    const sv_kernels *name = isa_kernels(_i);                                                      \
    if (!name)                                                                                     \
    return

#endif
