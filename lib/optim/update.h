/* Parts of an update that all optimisers share: gradient norm and weight average. */
#ifndef SV_OPTIM_UPDATE_H
#define SV_OPTIM_UPDATE_H

#include "optim/optimizer.h"

/* Returns the global L2 norm of `gradients`, which is not finite if one of them is not. Sets the
 * `squares` of every chunk. The partial sums are added in the order of the chunks, so the result
 * does not depend on the thread count. */
double sv_gradient_norm(sv_optim *optim, const real *gradients);

/* Updates a moving average: average = keep * average + take * weights, `elements` values each. */
void sv_average_update(real *average, const real *weights, size_t elements, real keep, real take);

#endif
