/* The table of the kernels of one instruction set. */
#include "kernels/local.h"

extern const sv_kernels SV_ISA(sv_kernels);

const sv_kernels SV_ISA(sv_kernels) = {.isa = SV_ISA_CONSTANT,
#define SV_KERNEL_ENTRY(result, name, parameters) .name = SV_ISA(sv_##name),
                                       SV_KERNEL_LIST(SV_KERNEL_ENTRY)
#undef SV_KERNEL_ENTRY
};
