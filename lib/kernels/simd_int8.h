/* Vectors for int8 matmuls without dot products of bytes: bytes widened to pairs of 16-bit
 * integers, their products, and steps whose rounding is the same on every CPU. */
#ifndef SV_SIMD_INT8_H
#define SV_SIMD_INT8_H

#include "kernels/simd.h"

#ifndef SV_DOUBLE
#include <math.h>

/* 2 LANES int8, two to a lane, widened to int16. */
SV_INLINE vreal v_load_byte_pairs(const void *from)
{
#if defined(__AVX512BW__)
    return (vreal)_mm512_cvtepi8_epi16(_mm256_loadu_si256(from));
#elif defined(__AVX2__)
    return (vreal)_mm256_cvtepi8_epi16(_mm_loadu_si128(from));
#else
    typedef int8_t vbytes_loose
        __attribute__((vector_size(SV_VECTOR_BYTES / 2), aligned(1), may_alias));
    typedef int16_t vshorts __attribute__((vector_size(SV_VECTOR_BYTES)));
    return (vreal) __builtin_convertvector(*(const vbytes_loose *)from, vshorts);
#endif
}

/* sum + the products of both int16 of each lane of a with those of b */
SV_INLINE vlane v_add_pair_products(vlane sum, vlane a, vlane b)
{
#if defined(__AVX512BW__)
    return sum + (vlane)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return sum + (vlane)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__x86_64__)
    return sum + (vlane)_mm_madd_epi16((__m128i)a, (__m128i)b);
#elif defined(__aarch64__)
    int32x4_t first = vmull_s16(vget_low_s16((int16x8_t)a), vget_low_s16((int16x8_t)b));
    return sum + (vlane)vpaddq_s32(first, vmull_high_s16((int16x8_t)a, (int16x8_t)b));
#else
    return sum + (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16);
#endif
}

/* The integers nearest to the values, ties to even, in the rounding mode of the library. What is no
 * int32 gives any integer. */
SV_INLINE vlane v_to_nearest(vreal value)
{
#if defined(__AVX512F__)
    return (vlane)_mm512_cvtps_epi32(value);
#elif defined(__AVX2__)
    return (vlane)_mm256_cvtps_epi32(value);
#elif defined(__x86_64__)
    return (vlane)_mm_cvtps_epi32(value);
#elif defined(__aarch64__)
    return (vlane)vcvtnq_s32_f32((float32x4_t)value);
#else
    vlane whole;
    for (int i = 0; i < LANES; i++)
        whole[i] = fabsf(value[i]) < 0x1p30f ? (int32_t)lrintf(value[i]) : 0;
    return whole;
#endif
}

/* a * b + c of floats, rounded once, where the CPU has no instruction for it. The product is exact
 * in float64. A sum that is not is made odd in its last bit, so that rounding it to float32 goes
 * the way of the exact sum (Boldo and Melquiond 2008). */
SV_INLINE float multiply_add_once(float a, float b, float c)
{
    const double product = (double)a * b, sum = product + c, of_c = sum - product;
    const double error = (product - (sum - of_c)) + (c - of_c);
    int64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if ((error > 0 || error < 0) && !(bits & 1))
        bits += (error > 0) == (sum > 0) ? 1 : -1;
    double odd;
    memcpy(&odd, &bits, sizeof odd);
    return (float)odd;
}

/* a * b + c, rounded once on every CPU. */
SV_INLINE vreal v_multiply_add_once(vreal a, vreal b, vreal c)
{
#if defined(SV_HAS_MULTIPLY_ADD)
    return v_multiply_add(a, b, c);
#else
    for (int i = 0; i < LANES; i++)
        c[i] = multiply_add_once(a[i], b[i], c[i]);
    return c;
#endif
}
#endif

#endif
