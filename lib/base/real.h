/* The floating-point type of the computation: float in the library, double in the build that the
 * gradient checks use. */
#ifndef SV_REAL_H
#define SV_REAL_H

#include <float.h>

/* The x87 computes in registers of 80 bits, so that results would depend on when the compiler
 * stores them, and gcc in double on IBM Z. 16 means _Float16 in excess precision, which the library
 * does not use. */
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "excess precision: use -msse2 -mfpmath=sse on x86, -fexcess-precision=fast elsewhere"
#endif

/* A compiler that takes all numbers to be finite leaves out the checks for NaN, and one that
 * changes the order of sums changes their bits. */
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) ||     \
    __FINITE_MATH_ONLY__ > 0
#error "-ffast-math and -Ofast break the checks for NaN and the order of sums"
#endif

#ifdef SV_DOUBLE
typedef double real;
#else
typedef float real;
#endif

/* Whether sessions can compute in bfloat16 and in int8, too: not in double, and not in a build with
 * -Dlow_precision=false. */
#if !defined(SV_DOUBLE) && !defined(SV_F32_ONLY)
#define SV_LOW_PRECISION
#endif

#endif
