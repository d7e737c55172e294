/* Layers in a row that infer a few images at a time: one worker takes these through all of them,
 * so that their maps stay in its L2 and nobody waits between two layers. */
#ifndef SV_FUSED_CHAIN_H
#define SV_FUSED_CHAIN_H

#include "session/session.h"

/* Of the layers that infer numbers first..end-1, with so many images at a time; 0: one layer, with
 * all of them. Those before number inner_end, whose maps are larger, take inner_images of these. */
typedef struct sv_fused_chain {
    size_t first, end, images;
    size_t inner_end, inner_images;
} sv_fused_chain;

/* The fused chain that begins with a layer, where n images infer: a function of the shapes and of n
 * alone. */
sv_fused_chain sv_fused_chain_from(const svit_session *session, size_t first, size_t n);

/* What it needs: a worker's scratch alone. */
sv_layer_memory sv_fused_chain_plan_workspace(const svit_session *session,
                                              const sv_fused_chain *chain);

/* y[n, out] of x[n, in], two places: from the first layer's input to the last one's output. */
void sv_fused_chain_forward(const svit_session *session, const sv_run *run,
                            const sv_fused_chain *chain, real *y, const real *x);

#endif
