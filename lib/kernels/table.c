/* This instruction set's table. */
#include "kernels/local.h"

extern const sv_kernels SV_ISA(sv_kernels);

const sv_kernels SV_ISA(sv_kernels) = {
#if defined(__AVX512F__)
    .isa = SV_ISA_AVX512,
#elif defined(__AVX2__)
    .isa = SV_ISA_AVX2,
#else
    .isa = SV_ISA_BASELINE,
#endif
#define SV_KERNEL_ENTRY(result, name, parameters) .name = SV_ISA(sv_##name),
    SV_KERNEL_LIST(SV_KERNEL_ENTRY)
#undef SV_KERNEL_ENTRY
};
