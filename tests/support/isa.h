/* Tests of kernels that run once for every instruction set that this CPU has. */
#ifndef TEST_ISA_H
#define TEST_ISA_H

#include "kernels/kernels.h"

#include <check.h>
#include <stdio.h>

/* Instruction sets that kernels are compiled for, and those of them that run here. */
enum { KERNEL_SETS = SV_ISA_AVX512 + 1 };

static inline int kernels_that_run(void)
{
    int best = (int)sv_cpu_isa();
    return best < KERNEL_SETS ? best + 1 : KERNEL_SETS;
}

/* Adds a test that runs once for each instruction set of this CPU. Those that it lacks are counted
 * in the log as skipped; tests/run.sh adds them up. */
#define add_kernel_test(cases, test)                                                               \
    do {                                                                                           \
        tcase_add_loop_test(cases, test, 0, kernels_that_run());                                   \
        if (kernels_that_run() < KERNEL_SETS)                                                      \
            printf("skipped checks: %d\n", KERNEL_SETS - kernels_that_run());                      \
    } while (0)

/* The kernels of a round of such a test. */
#define KERNELS(name) const sv_kernels *name = sv_kernels_for((sv_isa)_i)

#endif
