/* What the files of a ViT's ONNX graph share. */
#ifndef SV_ONNX_VIT_H
#define SV_ONNX_VIT_H

#include "export/onnx_rotary.h"
#include "models/vit/vit.h"

/* What all parts of the graph read. */
typedef struct sv_onnx_vit {
    sv_onnx_graph *graph;
    const svit_model_config *config;
    const sv_vit_names *names;
    sv_onnx_value diagonal; /* bool [tokens, tokens], with SVIT_ATTENTION_LSA */
    sv_onnx_rotary rotary;  /* with fixed angles */
} sv_onnx_vit;

/* The activation of the MLPs: GELU in one of its forms. */
sv_onnx_value sv_onnx_activation(const sv_onnx_vit *self, const sv_onnx_value *x);

/* onnx_attention_pool.c: tokens[N, tokens, c] -> [N, c], with the MLP after the pooling. */
sv_onnx_value sv_onnx_attention_pool(const sv_onnx_vit *self, const sv_onnx_value *tokens);

#endif
