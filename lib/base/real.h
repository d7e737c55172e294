/* The floating-point type of the computation: float in the library, double in the build that the
 * gradient checks use. */
#ifndef SV_REAL_H
#define SV_REAL_H

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
