/* Which copy of the kernels an instruction set runs. */
#include "kernels/kernels.h"

extern const sv_kernels sv_kernels_baseline;
#ifdef SV_HAVE_X86
extern const sv_kernels sv_kernels_avx2;
extern const sv_kernels sv_kernels_avx512;
#endif

const sv_kernels *sv_kernels_for(sv_isa isa)
{
#ifdef SV_HAVE_X86
    if (isa >= SV_ISA_AVX512)
        return &sv_kernels_avx512;
    if (isa == SV_ISA_AVX2)
        return &sv_kernels_avx2;
#endif
    (void)isa;
    return &sv_kernels_baseline;
}
