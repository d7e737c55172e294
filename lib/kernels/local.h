/* What every kernel file includes: the vectors, the table's types, and this copy's names. */
#ifndef SV_KERNELS_LOCAL_H
#define SV_KERNELS_LOCAL_H

#include "kernels/isa.h"
#include "kernels/kernels.h"
#include "kernels/simd.h"

/* The words of a token's row, a bit of each of which is its own; NULL without dropout. */
SV_INLINE const uint32_t *mask_words(sv_dropped dropped, size_t token, size_t stride)
{
    return dropped.mask ? dropped.mask + token / 32 * stride : NULL;
}

/* Channels that are a vector or two, or a part of one: a call of memcpy for each would take longer
 * than the copy. */
SV_INLINE void copy_or_clear(real *y, const real *x, int keep, size_t channels)
{
    for (size_t i = 0; i < channels; i += LANES) {
        size_t some = channels - i;
        v_store_some(y + i, keep ? v_load_some(x + i, some) : (vreal){0}, some);
    }
}

#define SV_KERNEL_DECLARATION(result, name, parameters) result SV_ISA(sv_##name) parameters;
SV_KERNEL_LIST(SV_KERNEL_DECLARATION)
#undef SV_KERNEL_DECLARATION

#endif
