/* Vectors of the instruction set that is being compiled for, in the compilers' vector extension. */
#ifndef SV_SIMD_H
#define SV_SIMD_H

#include "base/real.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
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

typedef real vreal __attribute__((vector_size(SV_VECTOR_BYTES)));
typedef sv_lane vlane __attribute__((vector_size(SV_VECTOR_BYTES)));
typedef real vreal_loose
    __attribute__((vector_size(SV_VECTOR_BYTES), aligned(sizeof(real)), may_alias));
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

/* Placed before a loop over an array of registers, whose bounds are constants. clang unrolls such a
 * loop too late to keep the array in registers unless it is told to; gcc does so by itself. */
#if defined(__clang__)
#define SV_REGISTERS _Pragma("clang loop unroll(full)")
#else
#define SV_REGISTERS
#endif

/* Placed before a loop: SV_UNROLLED unrolls all of its `count` iterations, SV_UNROLLED_BY `count`
 * iterations of a loop of any length, SV_NOT_UNROLLED none, which keeps the code small. Under
 * AddressSanitizer loops stay loops: each load and store gets a check, and unrolled ones take
 * minutes to compile. */
#define SV_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define SV_UNROLLED(count) SV_REGISTERS
#define SV_UNROLLED_BY(count) SV_PRAGMA(clang loop unroll_count(count))
#define SV_NOT_UNROLLED SV_PRAGMA(clang loop unroll(disable))
#elif defined(__SANITIZE_ADDRESS__)
#define SV_UNROLLED(count)
#define SV_UNROLLED_BY(count)
#define SV_NOT_UNROLLED
#else
#define SV_UNROLLED(count) SV_PRAGMA(GCC unroll count)
#define SV_UNROLLED_BY(count) SV_UNROLLED(count)
#define SV_NOT_UNROLLED SV_UNROLLED(1)
#endif

/* LANES, where the preprocessor asks. */
#ifdef SV_DOUBLE
#define SV_LANES (SV_VECTOR_BYTES / 8)
#else
#define SV_LANES (SV_VECTOR_BYTES / 4)
#endif

/* Lanes of a and b by number, b's counted on from LANES. */
#if defined(__clang__)
#define SV_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SV_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (vlane){__VA_ARGS__})
#endif

/* 1.5 * 2^23: added to a float32 of at most 2^22 in size, rounds it to a whole number and leaves
 * that in the lowest bits. */
#define SV_TO_WHOLE 12582912.0f

/* f(j, h) for each lane's number j. */
#define SV_NUMBERS_2(f, j, h) f(j, h), f(j + 1, h)
#define SV_NUMBERS_4(f, j, h) SV_NUMBERS_2(f, j, h), SV_NUMBERS_2(f, j + 2, h)
#define SV_NUMBERS_8(f, j, h) SV_NUMBERS_4(f, j, h), SV_NUMBERS_4(f, j + 4, h)
#define SV_NUMBERS_16(f, j, h) SV_NUMBERS_8(f, j, h), SV_NUMBERS_8(f, j + 8, h)
#if SV_LANES == 16
#define SV_NUMBERS(f, h) SV_NUMBERS_16(f, 0, h)
#elif SV_LANES == 8
#define SV_NUMBERS(f, h) SV_NUMBERS_8(f, 0, h)
#elif SV_LANES == 4
#define SV_NUMBERS(f, h) SV_NUMBERS_4(f, 0, h)
#else
#define SV_NUMBERS(f, h) SV_NUMBERS_2(f, 0, h)
#endif

/* Intrinsics by what is common to their names: SV_X86(max)(a, b). */
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

/* x - 0 is x for every x, so this is a broadcast and nothing else. */
SV_INLINE vreal v_set(real value)
{
    return value - (vreal){0};
}

/* a * b + c, rounded once where the instruction set can: where bits are to be the same however the
 * code around it branches, which the compiler heeds when it contracts an expression. */
SV_INLINE vreal v_multiply_add(vreal a, vreal b, vreal c)
{
#if defined(__FMA__)
    return SV_X86(fmadd)(a, b, c);
#else
    return a * b + c;
#endif
}

/* Each lane's own number. */
SV_INLINE vlane v_lane_numbers(void)
{
#define SV_ITSELF(j, h) (j)
    return (vlane){SV_NUMBERS(SV_ITSELF, 0)};
#undef SV_ITSELF
}

/* All ones in the first `count` lanes. */
SV_INLINE vlane v_first(size_t count)
{
    return v_lane_numbers() < (sv_lane)count;
}

#if defined(__AVX512F__)
#ifdef SV_DOUBLE
typedef __mmask8 sv_lanes_mask;
#else
typedef __mmask16 sv_lanes_mask;
#endif

/* A bit for each of the first `count` lanes. */
SV_INLINE sv_lanes_mask v_first_mask(size_t count)
{
    return (sv_lanes_mask)((1u << (count < LANES ? count : LANES)) - 1);
}
#endif

/* The first `count` lanes, or all where count >= LANES, in the form in which loads and stores take
 * them: where these stand in a loop it is made once, before it. */
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

/* These lanes of memory, the others 0. */
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
    vreal value = {0};
    memcpy(&value, from, some * sizeof(real));
    return value;
#endif
#endif
}

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
        memcpy(to, &value, some * sizeof(real));
#endif
#endif
}

/* The first `count` lanes of memory, the others 0; all lanes where count >= LANES. */
SV_INLINE vreal v_load_some(const real *from, size_t count)
{
    return count >= LANES ? v_load(from) : v_load_lanes(from, v_some(count));
}

SV_INLINE void v_store_some(real *to, vreal value, size_t count)
{
    if (count >= LANES)
        v_store(to, value);
    else
        v_store_lanes(to, value, v_some(count));
}

#ifndef SV_DOUBLE
/* Rounded to bfloat16, the upper half of float32, to nearest even; the lower half is 0. What is not
 * a number stays so. */
SV_INLINE vreal v_round_bf16(vreal value)
{
    vbits bits = (vbits)value, odd = bits >> 16 & 1;
    vbits rounded = bits + (0x7FFF + odd), quiet = bits | 0x400000;
    vbits nan = (vbits)(value != value);
    return (vreal)(((rounded & ~nan) | (quiet & nan)) & 0xFFFF0000);
}

/* Two vectors in bfloat16 as one: the first in the lower halves of its lanes. */
SV_INLINE void v_store_pair(void *to, vreal first, vreal second)
{
    *(vbits_loose *)to = (vbits)v_round_bf16(first) >> 16 | (vbits)v_round_bf16(second);
}

/* The first and the second of a pair. Both come from memory: kept between, they would take a
 * register each that sums need. */
SV_INLINE vreal v_load_first(const void *pair)
{
    return (vreal)(*(const vbits_loose *)pair << 16);
}

SV_INLINE vreal v_load_second(const void *pair)
{
#if defined(__AVX512BW__)
    return (vreal)_mm512_maskz_loadu_epi16(0xAAAAAAAA, pair);
#else
    return (vreal)(*(const vbits_loose *)pair & 0xFFFF0000);
#endif
}

/* Compilers that convert vectors in one step take it apart into halves or single numbers. */
SV_INLINE vreal v_load_int8(const void *from)
{
#if defined(__AVX512F__)
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(from)));
#elif defined(__AVX2__)
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadu_si64(from)));
#else
    typedef int8_t vbyte_loose
        __attribute__((vector_size(SV_VECTOR_BYTES / 4), aligned(1), may_alias));
    typedef int16_t vshort __attribute__((vector_size(SV_VECTOR_BYTES / 2)));
    vshort words = __builtin_convertvector(*(const vbyte_loose *)from, vshort);
    return __builtin_convertvector(__builtin_convertvector(words, vlane), vreal);
#endif
}
#endif

/* 64-bit lanes, and the 16-bit numbers in them. */
typedef uint64_t vwide __attribute__((vector_size(SV_VECTOR_BYTES)));
typedef uint16_t vhalves __attribute__((vector_size(SV_VECTOR_BYTES)));

SV_INLINE vwide v_set_wide(uint64_t value)
{
    return (vwide){0} + value;
}

/* The lower 32 bits of each lane, whatever is above them, times a number: all 64 bits. */
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

/* sum + weight in the numbers that are at least `least`, else sum. */
SV_INLINE vhalves v_add_where_least(vhalves sum, vhalves number, vhalves least, vhalves weight)
{
#if defined(__AVX512BW__)
    __mmask32 where = _mm512_cmpge_epu16_mask((__m512i)number, (__m512i)least);
    return (vhalves)_mm512_mask_add_epi16((__m512i)sum, where, (__m512i)sum, (__m512i)weight);
#else
    return sum + ((vhalves)(number >= least) & weight);
#endif
}

/* Lanes of a where they are larger than b's, else b's: b's where a is not a number. */
SV_INLINE vreal v_larger(vreal a, vreal b)
{
#if defined(__x86_64__)
    return SV_X86(max)(a, b);
#else
    vlane larger = a > b;
    return (vreal)(((vlane)a & larger) | ((vlane)b & ~larger));
#endif
}

/* Lanes of a where they are smaller than b's, else b's: b's where a or b is not a number. */
SV_INLINE vreal v_smaller(vreal a, vreal b)
{
#if defined(__x86_64__)
    return SV_X86(min)(a, b);
#else
    vlane smaller = a < b;
    return (vreal)(((vlane)a & smaller) | ((vlane)b & ~smaller));
#endif
}

SV_INLINE vreal v_magnitude(vreal value)
{
    const sv_lane sign = (sv_lane)((uint64_t)1 << (sizeof(sv_lane) * 8 - 1));
    return (vreal)((vlane)value & ~sign);
}

/* Lanes j and j ^ h change places. */
#define SV_ACROSS(j, h) ((j) ^ (h))
#define SV_SWAPPED(value, h) SV_SHUFFLE(value, value, SV_NUMBERS(SV_ACROSS, h))

/* The sum of all lanes, in each of them; added pairwise, so that every instruction set rounds as
 * little as it can. */
SV_INLINE vreal v_sums(vreal value)
{
#if SV_LANES >= 16
    value += SV_SWAPPED(value, 8);
#endif
#if SV_LANES >= 8
    value += SV_SWAPPED(value, 4);
#endif
#if SV_LANES >= 4
    value += SV_SWAPPED(value, 2);
#endif
    return value + SV_SWAPPED(value, 1);
}

SV_INLINE real v_sum(vreal value)
{
    return v_sums(value)[0];
}

/* The largest of the lanes. */
SV_INLINE real v_largest(vreal value)
{
#if SV_LANES >= 16
    value = v_larger(value, SV_SWAPPED(value, 8));
#endif
#if SV_LANES >= 8
    value = v_larger(value, SV_SWAPPED(value, 4));
#endif
#if SV_LANES >= 4
    value = v_larger(value, SV_SWAPPED(value, 2));
#endif
    return v_larger(value, SV_SWAPPED(value, 1))[0];
}

/* All ones in the lanes whose word has `bit`. */
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

SV_INLINE vreal v_keep(vlane mask, vreal value)
{
    return (vreal)((vlane)value & mask);
}

/* lanes of a where mask, else of b. */
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

/* Lanes of a where x > 0, else of b. */
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
