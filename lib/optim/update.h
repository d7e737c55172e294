/* Parts of an update that all optimisers share: gradient norm and weight average. */
#ifndef SV_OPTIM_UPDATE_H
#define SV_OPTIM_UPDATE_H

#include "optim/optimizer.h"

/* Returns the global L2 norm of `gradients`, which is not finite if one of them is not. Sets the
 * `squares` of every chunk. The partial sums are added in the order of the chunks, so the result
 * does not depend on the thread count. */
double sv_gradient_norm(sv_optim *optim, const sv_gradients *gradients);

/* Splits the parameters into chunks and lists the matrices, by optim->settings. Chunks and matrices
 * of before are freed. SVIT_E_MEMORY leaves the optimiser unchanged. */
svit_status sv_optim_split(sv_optim *optim, svit_error *err);

/* Frees chunks and matrices. */
void sv_optim_split_free(sv_optim *optim);

/* Updates the average, if there is one, of elements begin..begin+count-1 after update number
 * optim->steps. */
void sv_optim_average_elements(const sv_optim *optim, const real *weights, size_t begin,
                               size_t count);

/* The snapshots in the mean of SVIT_EMA_SWA after update number optim->steps; 0 with another
 * average. Where the run has been extended, so that they begin later, those of before are
 * dropped. */
uint64_t sv_optim_next_snapshots(const sv_optim *optim);

/* Does the step of Lookahead for the same elements, if one is due after this update. */
void sv_optim_look_ahead(const sv_optim *optim, real *weights, size_t begin, size_t count);

/* Updates an average: average += take * (weights - average), `elements` values each; take in
 * 0..1. */
void sv_average_update(real *average, const real *weights, size_t elements, real take);

#endif
