/* Attention pooling and the MLP after it as ONNX nodes; lib/layers/attention_pool has the layer. */
#include "export/onnx_vit.h"

#include <math.h>

/* x[N or 1, tokens, c] by heads: [N or 1, heads, tokens, head_dim], or with `order` otherwise. */
static sv_onnx_value by_heads(const sv_onnx_vit *self, const sv_onnx_value *x,
                              const int64_t order[4])
{
    const int64_t heads = self->config->pool_heads;
    const int64_t shape[4] = {0, 0, heads, self->config->dim / heads};
    const sv_onnx_value y = sv_onnx_reshape(self->graph, x, shape, 4);
    return sv_onnx_transpose(self->graph, &y, order, 4);
}

/* softmax(q k^T / sqrt(head_dim)) v, [N, c]; q is the same for all images. */
static sv_onnx_value attend(const sv_onnx_vit *self, const sv_onnx_value *x)
{
    static const int64_t order[4] = {0, 2, 1, 3}, transposed[4] = {0, 2, 3, 1};
    const size_t c = self->config->dim;
    const int64_t row[2] = {0, (int64_t)c};
    sv_onnx_value q = sv_onnx_parameter(self->graph, self->names->pool_latent, "");
    q = sv_onnx_linear(self->graph, &q, self->names->pool_q);
    q = by_heads(self, &q, order);
    const sv_onnx_value kv = sv_onnx_linear(self->graph, x, self->names->pool_kv);
    sv_onnx_value k = sv_onnx_slice(self->graph, &kv, 2, 0, c);
    sv_onnx_value v = sv_onnx_slice(self->graph, &kv, 2, c, 2 * c);
    k = by_heads(self, &k, transposed);
    v = by_heads(self, &v, order);
    sv_onnx_value y = sv_onnx_binary(self->graph, "MatMul", &q, &k);
    y = sv_onnx_binary_scalar(self->graph, "Mul", &y,
                              1 / sqrt((double)c / self->config->pool_heads));
    y = sv_onnx_unary(self->graph, "Softmax", &y);
    y = sv_onnx_binary(self->graph, "MatMul", &y, &v);
    return sv_onnx_reshape(self->graph, &y, row, 2);
}

sv_onnx_value sv_onnx_attention_pool(const sv_onnx_vit *self, const sv_onnx_value *tokens)
{
    sv_onnx_value x = attend(self, tokens);
    x = sv_onnx_linear(self->graph, &x, self->names->pool_proj);
    sv_onnx_value y = sv_onnx_layer_norm(self->graph, &x, self->names->pool_norm);
    y = sv_onnx_linear(self->graph, &y, self->names->pool_fc1);
    y = sv_onnx_activation(self, &y);
    y = sv_onnx_linear(self->graph, &y, self->names->pool_fc2);
    return sv_onnx_binary(self->graph, "Add", &x, &y);
}
