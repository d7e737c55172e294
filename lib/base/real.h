/* The number type of the mathematics: float in the library; double in the build that only the
 * gradient tests use. */
#ifndef SV_REAL_H
#define SV_REAL_H

#ifdef SV_DOUBLE
typedef double real;
#else
typedef float real;
#endif

#endif
