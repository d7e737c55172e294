/* The floating-point type of the computation: float in the library, double in the build that the
 * gradient checks use. */
#ifndef SV_REAL_H
#define SV_REAL_H

#ifdef SV_DOUBLE
typedef double real;
#else
typedef float real;
#endif

#endif
