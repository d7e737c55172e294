/* Chooses the compiled copy of the kernels for an instruction set. */
#include "kernels/isa.h"
#include "kernels/kernels.h"

#define SV_KERNELS_DECLARATION(suffix, isa) extern const sv_kernels sv_kernels_##suffix;
SV_ISA_LIST(SV_KERNELS_DECLARATION)

#define SV_KERNELS_ENTRY(suffix, isa) &sv_kernels_##suffix,
static const sv_kernels *const KERNELS[] = {SV_ISA_LIST(SV_KERNELS_ENTRY)};
enum { KERNELS_COUNT = sizeof KERNELS / sizeof *KERNELS };

const sv_kernels *sv_kernels_for(sv_isa isa)
{
    size_t best = 0;
    for (size_t i = 0; i < KERNELS_COUNT && KERNELS[i]->isa <= isa; i++)
        best = i;
    return KERNELS[best];
}
