/* Fused chains: consecutive layers that one worker infers depth-first, a few images at a time, so
 * that their activations stay in its L2 and no worker waits between two layers. */
#ifndef SV_FUSED_CHAIN_H
#define SV_FUSED_CHAIN_H

#include "session/session.h"

/* A chain of layers first..end - 1 of the inference graph. A task takes `images` images through all
 * of them; images 0: it is a single layer, which takes the whole batch. The layers before inner_end
 * have larger feature maps, and the task takes inner_images of its images at a time through them.
 */
typedef struct sv_fused_chain {
    size_t first, end, images;
    size_t inner_end, inner_images; /* inner_end == first and inner_images 0: there are no such */
} sv_fused_chain;

/* The chain that begins with layer `first` in a batch of n images, and ends at layer `limit` at the
 * latest. It depends on the shapes, on `limit` and on n alone. */
sv_fused_chain sv_fused_chain_from(const svit_session *session, size_t first, size_t limit,
                                   size_t n);

/* The memory that a chain needs: the scratch of each worker, and nothing else. */
sv_layer_memory sv_fused_chain_plan_workspace(const svit_session *session,
                                              const sv_fused_chain *chain);

/* y[n, out] of x[n, in], from the input of the first layer to the output of the last one. x and y
 * must not overlap. */
void sv_fused_chain_forward(const svit_session *session, const sv_run *run,
                            const sv_fused_chain *chain, real *y, const real *x);

#endif
