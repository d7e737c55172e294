/* The header of every kernel file: vectors, the table's types, and the kernels' declarations with
 * the suffix of this instruction set. */
#ifndef SV_KERNELS_LOCAL_H
#define SV_KERNELS_LOCAL_H

#include "kernels/isa.h"
#include "kernels/kernels.h"
#include "kernels/simd.h"

/* The words of the dropout mask for the 32 tokens around `token`, which has bit token % 32 in each.
 * NULL: no dropout. */
SV_INLINE const uint32_t *mask_words(sv_dropout dropout, size_t token, size_t stride)
{
    return dropout.mask ? dropout.mask + token / 32 * stride : NULL;
}

/* y = x, or 0 without `keep`. For so few channels a call of memcpy would take longer than the copy.
 */
SV_INLINE void copy_or_clear(real *y, const real *x, int keep, size_t channels)
{
    for (size_t i = 0; i < channels; i += LANES) {
        size_t count = channels - i;
        v_store_some(y + i, keep ? v_load_some(x + i, count) : (vreal){0}, count);
    }
}

#define SV_KERNEL_DECLARATION(result, name, parameters) result SV_ISA(sv_##name) parameters;
SV_KERNEL_LIST(SV_KERNEL_DECLARATION)
#undef SV_KERNEL_DECLARATION

#endif
