/* Minimisation of a smooth convex function by L-BFGS (Liu, Nocedal 1989). */
#ifndef SV_LBFGS_H
#define SV_LBFGS_H

#include <stddef.h>

/* Returns f(w) and writes its gradient to g[d]. */
typedef double (*sv_lbfgs_function)(void *argument, const double *w, double *g);

/* The steps that are remembered, and the vectors of d elements in the memory of
 * sv_lbfgs_minimise. */
enum { SV_LBFGS_PAIRS = 10, SV_LBFGS_VECTORS = 2 * SV_LBFGS_PAIRS + 4 };

/* Minimises f from w[d] on, until the largest element of the gradient is at most `tolerance`, the
 * steps make no difference in double, or 1000 of them are done. `memory` is
 * [SV_LBFGS_VECTORS, d]. */
void sv_lbfgs_minimise(double *w, size_t d, sv_lbfgs_function f, void *argument, double tolerance,
                       double *memory);

#endif
