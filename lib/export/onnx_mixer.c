/* The ONNX graph of an MLP-Mixer; models/mixer/mixer_layers.c has the same parts. */
#include "export/onnx.h"
#include "export/onnx_ops.h"

#include <stdio.h>

/* fc2(gelu(fc1(x))), with the parameters of blocks.`index`.`name`. */
static sv_onnx_value add_mlp(sv_onnx_graph *graph, const sv_onnx_value *x, size_t index,
                             const char *name)
{
    char fc1[64], fc2[64];
    snprintf(fc1, sizeof fc1, "blocks.%zu.%s.fc1", index, name);
    snprintf(fc2, sizeof fc2, "blocks.%zu.%s.fc2", index, name);
    sv_onnx_value y = sv_onnx_linear(graph, x, fc1);
    y = sv_onnx_gelu(graph, &y);
    return sv_onnx_linear(graph, &y, fc2);
}

static sv_onnx_value add_norm(sv_onnx_graph *graph, const sv_onnx_value *x, size_t index,
                              const char *name)
{
    char whole[64];
    snprintf(whole, sizeof whole, "blocks.%zu.%s", index, name);
    return sv_onnx_layer_norm(graph, x, whole);
}

/* y = x + mlp_tokens(norm1(x)^T)^T;  the result is y + mlp_channels(norm2(y)). */
static sv_onnx_value add_block(sv_onnx_graph *graph, const sv_onnx_value *x, size_t index)
{
    static const int64_t transposed[3] = {0, 2, 1};
    sv_onnx_scope(graph, "blocks.%zu.mlp_tokens", index);
    sv_onnx_value branch = add_norm(graph, x, index, "norm1");
    branch = sv_onnx_transpose(graph, &branch, transposed, 3);
    branch = add_mlp(graph, &branch, index, "mlp_tokens");
    branch = sv_onnx_transpose(graph, &branch, transposed, 3);
    const sv_onnx_value y = sv_onnx_binary(graph, "Add", x, &branch);
    sv_onnx_scope(graph, "blocks.%zu.mlp_channels", index);
    branch = add_norm(graph, &y, index, "norm2");
    branch = add_mlp(graph, &branch, index, "mlp_channels");
    return sv_onnx_binary(graph, "Add", &y, &branch);
}

sv_onnx_value sv_mixer_onnx(sv_onnx_graph *graph, const sv_onnx_value *images)
{
    const svit_model_config *config = &graph->model->config;
    const sv_onnx_convolution stem = {
        .name = "stem.proj", .stride = config->patch_size, .groups = 1};
    const int64_t tokens[3] = {0, -1, config->dim};
    sv_onnx_scope(graph, "%s", "stem");
    sv_onnx_value x = sv_onnx_convolve(graph, images, &stem);
    x = sv_onnx_reshape(graph, &x, tokens, 3);
    for (size_t i = 0; i < config->depth; i++)
        x = add_block(graph, &x, i);
    sv_onnx_scope(graph, "%s", "head");
    x = sv_onnx_layer_norm(graph, &x, "norm");
    x = sv_onnx_mean_tokens(graph, &x);
    return config->classifier ? sv_onnx_linear(graph, &x, "head") : x;
}
