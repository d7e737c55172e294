/* Runs tests of kernels for every instruction set and skips those that the CPU lacks. */
#ifndef TEST_ISA_H
#define TEST_ISA_H

#include "kernels/kernels.h"
#include "suite.h"

static inline const sv_kernels *kernels_number(int number)
{
    if (number <= (int)sv_cpu_isa())
        return sv_kernels_for((sv_isa)number);
    skip_check(sv_isa_name((sv_isa)number));
    return NULL;
}

/* Defines the kernels of a loop test's iteration; ends the test if the CPU lacks them. */
#define KERNELS(name)                                                                              \
    const sv_kernels *name = kernels_number(_i);                                                   \
    if (!name)                                                                                     \
    return

#endif
