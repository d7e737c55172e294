/* Tests of kernels run once for every instruction set; one that the CPU lacks is skipped. */
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

/* The kernels of a loop test's round, or the end of the test. */
#define KERNELS(name)                                                                              \
    const sv_kernels *name = kernels_number(_i);                                                   \
    if (!name)                                                                                     \
    return

#endif
