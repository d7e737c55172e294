/* Vectors of the instruction set that is being compiled for, in the compilers' vector extension. */
#ifndef SV_VECTOR_H
#define SV_VECTOR_H

#include "base/real.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#define SV_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define SV_VECTOR_BYTES 32
#else
#define SV_VECTOR_BYTES 16
#endif

#ifdef SV_DOUBLE
typedef int64_t sv_lane;
#else
typedef int32_t sv_lane;
#endif

enum { LANES = SV_VECTOR_BYTES / sizeof(real) };

typedef real vreal __attribute__((vector_size(SV_VECTOR_BYTES)));
typedef sv_lane vlane __attribute__((vector_size(SV_VECTOR_BYTES)));
typedef real vreal_loose
    __attribute__((vector_size(SV_VECTOR_BYTES), aligned(sizeof(real)), may_alias));
typedef uint32_t vbits __attribute__((vector_size(4 * SV_VECTOR_BYTES / sizeof(real))));
typedef uint32_t vbits_loose __attribute__((vector_size(4 * SV_VECTOR_BYTES / sizeof(real)),
                                            aligned(sizeof(uint32_t)), may_alias));

#define SV_INLINE static inline __attribute__((always_inline))

/* Before a loop over registers, whose bounds are constants: clang unrolls it too late to see that
 * the array it walks through can be registers; gcc sees it unless it is told to unroll. */
#if defined(__clang__)
#define SV_REGISTERS _Pragma("clang loop unroll(full)")
#else
#define SV_REGISTERS
#endif

SV_INLINE vreal v_load(const real *from)
{
    return *(const vreal_loose *)from;
}

SV_INLINE void v_store(real *to, vreal value)
{
    *(vreal_loose *)to = value;
}

/* x - 0 is x for every x, so this is a broadcast and nothing else. */
SV_INLINE vreal v_set(real value)
{
    return value - (vreal){0};
}

/* The first `count` lanes of memory, the others 0; all lanes where count >= LANES. */
SV_INLINE vreal v_load_some(const real *from, size_t count)
{
    if (count >= LANES)
        return v_load(from);
    vreal value = {0};
    memcpy(&value, from, count * sizeof(real));
    return value;
}

SV_INLINE void v_store_some(real *to, vreal value, size_t count)
{
    if (count >= LANES)
        v_store(to, value);
    else
        memcpy(to, &value, count * sizeof(real));
}

#ifndef SV_DOUBLE
typedef uint16_t vhalf_loose
    __attribute__((vector_size(SV_VECTOR_BYTES / 2), aligned(1), may_alias));
typedef int16_t vshort __attribute__((vector_size(SV_VECTOR_BYTES / 2)));
typedef int8_t vbyte_loose __attribute__((vector_size(SV_VECTOR_BYTES / 4), aligned(1), may_alias));

/* LANES numbers in bfloat16: the upper halves of float32. */
SV_INLINE vreal v_load_bf16(const void *from)
{
    return (vreal)(__builtin_convertvector(*(const vhalf_loose *)from, vbits) << 16);
}

/* Rounded to nearest even; what is not a number stays so. */
SV_INLINE void v_store_bf16(void *to, vreal value)
{
    vbits bits = (vbits)value, odd = bits >> 16 & 1;
    vbits rounded = bits + (0x7FFF + odd), quiet = bits | 0x400000;
    vbits nan = (vbits)(value != value);
    vbits kept = (rounded & ~nan) | (quiet & nan);
    *(vhalf_loose *)to = __builtin_convertvector(kept >> 16, vhalf_loose);
}

/* One width at a time: compilers take a longer step apart into single numbers. */
SV_INLINE vreal v_load_int8(const void *from)
{
    vshort words = __builtin_convertvector(*(const vbyte_loose *)from, vshort);
    return __builtin_convertvector(__builtin_convertvector(words, vlane), vreal);
}
#endif

/* Lanes added pairwise, so that every instruction set rounds as little as it can. */
SV_INLINE real v_sum(vreal value)
{
    real lanes[LANES];
    memcpy(lanes, &value, sizeof lanes);
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    return lanes[0];
}

/* All ones in the lanes whose word has `bit`. */
SV_INLINE vlane v_mask_some(const uint32_t *words, uint32_t bit, size_t count)
{
    vbits value = {0};
    if (count >= LANES)
        value = *(const vbits_loose *)words;
    else
        memcpy(&value, words, count * sizeof(uint32_t));
    return __builtin_convertvector((value & bit) != 0, vlane);
}

SV_INLINE vreal v_keep(vlane mask, vreal value)
{
    return (vreal)((vlane)value & mask);
}

/* lanes of a where mask, else of b. */
SV_INLINE vreal v_select(vlane mask, vreal a, vreal b)
{
    return (vreal)(((vlane)a & mask) | ((vlane)b & ~mask));
}

#endif
