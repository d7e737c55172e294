/* Prepacked weights: the copies of a layer's weights that its matmuls read, in the layout of the
 * GEMM backend. A session packs them once after each change of the weights. */
#ifndef SV_PREPACK_H
#define SV_PREPACK_H

#include "layers/linear/linear.h"

/* Bytes of a layer's prepacked weights, its derived weights included. */
size_t sv_prepack_bytes(const sv_layer *layer, const sv_run *run);

/* Packs a layer's weights into `memory`, on this thread as `worker`: those that the forward reads,
 * or with `backward` those that the backward of a training pass reads. Different workers may pack
 * the two. A layer with derived weights packs both in the call for the forward. */
void sv_prepack(sv_layer *layer, const sv_run *run, char *memory, bool backward, uint32_t worker);

/* Lets a layer read the weights that another one of the same model and shape has packed into
 * `memory` for the forward. `run` is one that packs to the same bytes. */
void sv_prepack_place(sv_layer *layer, const sv_run *run, char *memory);

#endif
