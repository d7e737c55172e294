/* Vectors of the instruction set that the file is compiled for, by the vector extension of gcc and
 * clang. A vector has LANES lanes of a real (float32, or double for gradient checks). */
#ifndef SV_SIMD_H
#define SV_SIMD_H

#include "base/real.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__x86_64__)
/* A small part of immintrin.h, which takes the compiler longer than a kernel. */
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

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

/* Reals; integers of the same width, which also are lane masks (all ones or all zeros); reals at
 * any address, many and one, of memory of any type; and 32-bit words, as many as there are lanes,
 * aligned and at any address. */
typedef real vreal __attribute__((vector_size(SV_VECTOR_BYTES)));
typedef sv_lane vlane __attribute__((vector_size(SV_VECTOR_BYTES)));
typedef real vreal_loose
    __attribute__((vector_size(SV_VECTOR_BYTES), aligned(sizeof(real)), may_alias));
typedef real real_loose __attribute__((may_alias));
typedef uint32_t vbits __attribute__((vector_size(4 * SV_VECTOR_BYTES / sizeof(real))));
typedef uint32_t vbits_loose __attribute__((vector_size(4 * SV_VECTOR_BYTES / sizeof(real)),
                                            aligned(sizeof(uint32_t)), may_alias));

#define SV_INLINE static inline __attribute__((always_inline))

/* Declares a function that stays a single copy: inlined, it would spill its caller's registers or
 * be repeated at each call. */
#if defined(__clang__)
#define SV_NOT_INLINED __attribute__((noinline))
#else
#define SV_NOT_INLINED __attribute__((noinline, noclone))
#endif

/* AddressSanitizer adds a check to each load and store, so that unrolled loops would take minutes
 * to compile: with it nothing is unrolled. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SV_ADDRESS_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SV_ADDRESS_SANITIZER
#endif

/* SV_REGISTERS stands before a loop with constant bounds over an array of vectors that is to stay
 * in registers. clang unrolls such a loop too late for that unless it is told to; gcc needs no
 * hint. The others stand before a loop, too: SV_UNROLLED unrolls all of its `count` iterations,
 * SV_UNROLLED_BY unrolls a loop of any length by `count`, and SV_NOT_UNROLLED keeps a loop a loop,
 * for small code. */
#define SV_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define SV_NOT_UNROLLED SV_PRAGMA(clang loop unroll(disable))
#if defined(SV_ADDRESS_SANITIZER)
#define SV_REGISTERS SV_NOT_UNROLLED
#define SV_UNROLLED_BY(count) SV_NOT_UNROLLED
#else
#define SV_REGISTERS SV_PRAGMA(clang loop unroll(full))
#define SV_UNROLLED_BY(count) SV_PRAGMA(clang loop unroll_count(count))
#endif
#define SV_UNROLLED(count) SV_REGISTERS
#elif defined(SV_ADDRESS_SANITIZER)
#define SV_REGISTERS
#define SV_UNROLLED(count)
#define SV_UNROLLED_BY(count)
#define SV_NOT_UNROLLED
#else
#define SV_REGISTERS
#define SV_UNROLLED(count) SV_PRAGMA(GCC unroll count)
#define SV_UNROLLED_BY(count) SV_UNROLLED(count)
#define SV_NOT_UNROLLED SV_UNROLLED(1)
#endif

/* LANES for the preprocessor. */
#ifdef SV_DOUBLE
#define SV_LANES (SV_VECTOR_BYTES / 8)
#else
#define SV_LANES (SV_VECTOR_BYTES / 4)
#endif

/* A vector of the lanes of a and b with the given indices; those of b begin at LANES. */
#if defined(__clang__)
#define SV_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SV_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (vlane){__VA_ARGS__})
#endif

/* 1.5 * 2^23. Added to a float32 x with |x| <= 2^22, it rounds x to an integer and leaves that in
 * the lowest bits of the sum. */
#define SV_ROUND_TO_INTEGER 12582912.0f

/* The list f(j, h) for all lane indices j. */
#define SV_LANE_INDICES_2(f, j, h) f(j, h), f(j + 1, h)
#define SV_LANE_INDICES_4(f, j, h) SV_LANE_INDICES_2(f, j, h), SV_LANE_INDICES_2(f, j + 2, h)
#define SV_LANE_INDICES_8(f, j, h) SV_LANE_INDICES_4(f, j, h), SV_LANE_INDICES_4(f, j + 4, h)
#define SV_LANE_INDICES_16(f, j, h) SV_LANE_INDICES_8(f, j, h), SV_LANE_INDICES_8(f, j + 8, h)
#if SV_LANES == 16
#define SV_LANE_INDICES(f, h) SV_LANE_INDICES_16(f, 0, h)
#elif SV_LANES == 8
#define SV_LANE_INDICES(f, h) SV_LANE_INDICES_8(f, 0, h)
#elif SV_LANES == 4
#define SV_LANE_INDICES(f, h) SV_LANE_INDICES_4(f, 0, h)
#else
#define SV_LANE_INDICES(f, h) SV_LANE_INDICES_2(f, 0, h)
#endif

/* The intrinsic of the vector width and type: SV_X86(max)(a, b) is _mm512_max_ps(a, b) with
 * AVX-512. */
#ifdef SV_DOUBLE
#define SV_X86_TYPE _pd
#else
#define SV_X86_TYPE _ps
#endif
#define SV_X86_JOIN(width, name, type) width##name##type
#define SV_X86_PASTE(width, name, type) SV_X86_JOIN(width, name, type)
#if defined(__AVX512F__)
#define SV_X86(name) SV_X86_PASTE(_mm512_, name, SV_X86_TYPE)
#elif defined(__AVX2__)
#define SV_X86(name) SV_X86_PASTE(_mm256_, name, SV_X86_TYPE)
#elif defined(__x86_64__)
#define SV_X86(name) SV_X86_PASTE(_mm_, name, SV_X86_TYPE)
#endif

SV_INLINE vreal v_load(const real *from)
{
    return *(const vreal_loose *)from;
}

SV_INLINE void v_store(real *to, vreal value)
{
    *(vreal_loose *)to = value;
}

/* The value in all lanes, bit for bit: it may be packed integers that are no number as a real. */
SV_INLINE vreal v_set(real value)
{
#define SV_OF_ALL(j, value) (value)
    return (vreal){SV_LANE_INDICES(SV_OF_ALL, value)};
#undef SV_OF_ALL
}

#if defined(__FMA__) || defined(__aarch64__) || defined(__FP_FAST_FMAF)
#define SV_HAS_MULTIPLY_ADD
#endif

/* a * b + c, rounded once where there is FMA. An expression would be contracted or not depending on
 * the code around it; this is for results whose bits must not depend on that. */
SV_INLINE vreal v_multiply_add(vreal a, vreal b, vreal c)
{
#if defined(__FMA__)
    return SV_X86(fmadd)(a, b, c);
#elif defined(__aarch64__) && !defined(SV_DOUBLE)
    return vfmaq_f32(c, a, b);
#elif defined(__FP_FAST_FMAF) && !defined(SV_DOUBLE)
    for (size_t i = 0; i < LANES; i++)
        c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return c;
#else
    return a * b + c;
#endif
}

/* The same for one number. */
SV_INLINE real r_multiply_add(real a, real b, real c)
{
#if !defined(SV_HAS_MULTIPLY_ADD)
    return a * b + c;
#elif defined(SV_DOUBLE)
    return __builtin_fma(a, b, c);
#else
    return __builtin_fmaf(a, b, c);
#endif
}

/* The vector 0, 1, 2, ... */
SV_INLINE vlane v_lane_indices(void)
{
#define SV_ITSELF(j, h) (j)
    return (vlane){SV_LANE_INDICES(SV_ITSELF, 0)};
#undef SV_ITSELF
}

/* All ones in the first `count` lanes. */
SV_INLINE vlane v_first(size_t count)
{
    return v_lane_indices() < (sv_lane)count;
}

#if defined(__AVX512F__)
#ifdef SV_DOUBLE
typedef __mmask8 sv_lanes_mask;
#else
typedef __mmask16 sv_lanes_mask;
#endif

/* A mask register with the first `count` lanes set, all if count >= LANES. */
SV_INLINE sv_lanes_mask v_first_mask(size_t count)
{
    return (sv_lanes_mask)((1u << (count < LANES ? count : LANES)) - 1);
}
#endif

/* Whether there are loads and stores of some lanes. Elsewhere each takes a branch. */
#if defined(__AVX2__)
#define SV_HAS_LANE_MASKS 1
#else
#define SV_HAS_LANE_MASKS 0
#endif

/* Selects the first `count` lanes, all if count >= LANES, in the form that v_load_lanes and
 * v_store_lanes take. A loop computes it once. */
#if defined(__AVX512F__)
typedef sv_lanes_mask vsome;
#else
typedef size_t vsome;
#endif

SV_INLINE vsome v_some(size_t count)
{
#if defined(__AVX512F__)
    return v_first_mask(count);
#else
    return count;
#endif
}

#if SV_VECTOR_BYTES == 16
/* Loads the first `count` lanes, of which the vector has more. A call of memcpy would have all sums
 * of a microtile spilled. */
SV_INLINE vreal v_load_first_lanes(const real_loose *from, size_t count)
{
    vreal value = {0};
#if SV_LANES == 4
    if (count >= 2)
        value = (vreal){from[0], from[1]};
    if (count == 3)
        value[2] = from[2];
#endif
    if (count == 1)
        value[0] = from[0];
    return value;
}

/* Stores the first `count` lanes, of which the vector has more. */
SV_INLINE void v_store_first_lanes(real_loose *to, vreal value, size_t count)
{
#if SV_LANES == 4
    if (count >= 2)
        to[1] = value[1];
    if (count == 3)
        to[2] = value[2];
#endif
    if (count >= 1)
        to[0] = value[0];
}
#endif

/* Loads these lanes; the others are 0, and their memory is not read. */
SV_INLINE vreal v_load_lanes(const real *from, vsome some)
{
#if defined(__AVX512F__)
    return SV_X86(maskz_loadu)(some, from);
#else
    if (some >= LANES)
        return v_load(from);
#if defined(__AVX2__)
    return SV_X86(maskload)(from, (__m256i)v_first(some));
#else
    return v_load_first_lanes(from, some);
#endif
#endif
}

/* Stores the lanes that `some` selects. */
SV_INLINE void v_store_lanes(real *to, vreal value, vsome some)
{
#if defined(__AVX512F__)
    SV_X86(mask_storeu)(to, some, value);
#else
    if (some >= LANES)
        v_store(to, value);
    else
#if defined(__AVX2__)
        SV_X86(maskstore)(to, (__m256i)v_first(some), value);
#else
        v_store_first_lanes(to, value, some);
#endif
#endif
}

/* Loads the first `count` lanes, all if count >= LANES; the others are 0, and their memory is not
 * read. */
SV_INLINE vreal v_load_some(const real *from, size_t count)
{
    return count >= LANES ? v_load(from) : v_load_lanes(from, v_some(count));
}

/* Stores the first `count` lanes, all if count >= LANES. */
SV_INLINE void v_store_some(real *to, vreal value, size_t count)
{
    if (count >= LANES)
        v_store(to, value);
    else
        v_store_lanes(to, value, v_some(count));
}

#ifndef SV_DOUBLE
/* The value rounded to nearest-even bfloat16, which is the upper half of a float32; the lower half
 * of each lane is 0. NaN stays NaN. */
SV_INLINE vreal v_round_bf16(vreal value)
{
    vbits bits = (vbits)value, odd = bits >> 16 & 1;
    vbits rounded = bits + (0x7FFF + odd), quiet = bits | 0x400000;
    vbits nan = (vbits)(value != value);
    return (vreal)(((rounded & ~nan) | (quiet & nan)) & 0xFFFF0000);
}

/* Stores two vectors as one vector of bfloat16 pairs, with `first` in the lower halves. */
SV_INLINE void v_store_pair(void *to, vreal first, vreal second)
{
    *(vbits_loose *)to = (vbits)v_round_bf16(first) >> 16 | (vbits)v_round_bf16(second);
}

/* Loads the first vector of such pairs. The second one is loaded separately: keeping the pairs in a
 * register would cost one that the sums need. */
SV_INLINE vreal v_load_first(const void *pair)
{
    return (vreal)(*(const vbits_loose *)pair << 16);
}

/* The second vector of such pairs. */
SV_INLINE vreal v_load_second(const void *pair)
{
#if defined(__AVX512BW__)
    return (vreal)_mm512_maskz_loadu_epi16(0xAAAAAAAA, pair);
#else
    return (vreal)(*(const vbits_loose *)pair & 0xFFFF0000);
#endif
}
#endif

/* Vectors of 64-bit and of 16-bit integers. */
typedef uint64_t vwide __attribute__((vector_size(SV_VECTOR_BYTES)));
typedef uint16_t vhalves __attribute__((vector_size(SV_VECTOR_BYTES)));

SV_INLINE vwide v_set_wide(uint64_t value)
{
    return (vwide){0} + value;
}

/* The 64-bit products of the lower 32 bits of each lane of a with b. */
SV_INLINE vwide v_multiply_wide(vwide a, uint32_t b)
{
#if defined(__AVX512F__)
    return (vwide)_mm512_mul_epu32((__m512i)a, _mm512_set1_epi64(b));
#elif defined(__AVX2__)
    return (vwide)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi64x(b));
#elif defined(__x86_64__)
    return (vwide)_mm_mul_epu32((__m128i)a, _mm_set1_epi64x(b));
#elif defined(__ARM_NEON)
    return (vwide)vmull_u32(vmovn_u64((uint64x2_t)a), vdup_n_u32(b));
#else
    return (a & 0xFFFFFFFF) * b;
#endif
}

/* sum + weight in the lanes where value >= threshold, otherwise sum. */
SV_INLINE vhalves v_add_where_at_least(vhalves sum, vhalves value, vhalves threshold,
                                       vhalves weight)
{
#if defined(__AVX512BW__)
    __mmask32 where = _mm512_cmpge_epu16_mask((__m512i)value, (__m512i)threshold);
    return (vhalves)_mm512_mask_add_epi16((__m512i)sum, where, (__m512i)sum, (__m512i)weight);
#else
    return sum + ((vhalves)(value >= threshold) & weight);
#endif
}

/* max(a, b) by lane; b where a or b is NaN. */
SV_INLINE vreal v_max(vreal a, vreal b)
{
#if defined(__x86_64__)
    return SV_X86(max)(a, b);
#elif defined(__wasm_simd128__) && !defined(SV_DOUBLE)
    return (vreal)wasm_f32x4_pmax((v128_t)b, (v128_t)a);
#else
    vlane larger = a > b;
    return (vreal)(((vlane)a & larger) | ((vlane)b & ~larger));
#endif
}

/* min(a, b) by lane; b where a or b is NaN. */
SV_INLINE vreal v_min(vreal a, vreal b)
{
#if defined(__x86_64__)
    return SV_X86(min)(a, b);
#elif defined(__wasm_simd128__) && !defined(SV_DOUBLE)
    return (vreal)wasm_f32x4_pmin((v128_t)b, (v128_t)a);
#else
    vlane smaller = a < b;
    return (vreal)(((vlane)a & smaller) | ((vlane)b & ~smaller));
#endif
}

/* |value| */
SV_INLINE vreal v_abs(vreal value)
{
    const sv_lane sign = (sv_lane)((uint64_t)1 << (sizeof(sv_lane) * 8 - 1));
    return (vreal)((vlane)value & ~sign);
}

/* The value with lanes j and j ^ h exchanged. */
#define SV_ACROSS(j, h) ((j) ^ (h))
#define SV_SWAPPED(value, h) SV_SHUFFLE(value, value, SV_LANE_INDICES(SV_ACROSS, h))

/* The mask of the first `count` lanes whose word has `bit`. */
SV_INLINE vlane v_mask_some(const uint32_t *words, uint32_t bit, size_t count)
{
#ifdef SV_DOUBLE
    vbits value = {0};
    if (count >= LANES)
        value = *(const vbits_loose *)words;
    else
        memcpy(&value, words, count * sizeof(uint32_t));
#else
    vbits value = (vbits)v_load_some((const real *)words, count);
#endif
    return __builtin_convertvector((value & bit) != 0, vlane);
}

/* value where the mask is set, otherwise 0. */
SV_INLINE vreal v_keep(vlane mask, vreal value)
{
    return (vreal)((vlane)value & mask);
}

/* a where the mask is set, otherwise b. */
SV_INLINE vreal v_select(vlane mask, vreal a, vreal b)
{
#if defined(__AVX512DQ__) && defined(SV_DOUBLE)
    return _mm512_mask_blend_pd(_mm512_movepi64_mask((__m512i)mask), b, a);
#elif defined(__AVX512DQ__)
    return _mm512_mask_blend_ps(_mm512_movepi32_mask((__m512i)mask), b, a);
#else
    return (vreal)(((vlane)a & mask) | ((vlane)b & ~mask));
#endif
}

/* a where x > 0, otherwise b. */
SV_INLINE vreal v_where_positive(vreal x, vreal a, vreal b)
{
#if defined(__AVX512F__) && defined(SV_DOUBLE)
    return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(x, (vreal){0}, _CMP_GT_OQ), b, a);
#elif defined(__AVX512F__)
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, (vreal){0}, _CMP_GT_OQ), b, a);
#else
    return v_select(x > (vreal){0}, a, b);
#endif
}

#endif
