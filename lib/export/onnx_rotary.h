/* Rotary position embeddings in the ONNX graph of a ViT. */
#ifndef SV_ONNX_ROTARY_H
#define SV_ONNX_ROTARY_H

#include "export/onnx_ops.h"

/* What the channels of queries and keys, and their partners, are multiplied by: cosines, and sines
 * with the partner's sign; [tokens, head_dim], with learnt frequencies [1, heads, tokens,
 * head_dim]. */
typedef struct sv_onnx_rotary {
    sv_onnx_value cosines, sines;
} sv_onnx_rotary;

/* Adds the cosines and sines of fixed angles, which all blocks share. `config` has the size of the
 * graph's input. */
sv_onnx_rotary sv_onnx_rotary_fixed(sv_onnx_graph *graph, const svit_model_config *config);

/* Adds those of a block with the learnt frequencies `name`. */
sv_onnx_rotary sv_onnx_rotary_learnt(sv_onnx_graph *graph, const svit_model_config *config,
                                     const char *name);

/* Rotates x[N, heads, tokens, head_dim]. */
sv_onnx_value sv_onnx_rotate(sv_onnx_graph *graph, const svit_model_config *config,
                             const sv_onnx_rotary *rotary, const sv_onnx_value *x);

#endif
