/* Single nodes of ONNX graphs, and the layers that all architectures have. */
#include "export/onnx_ops.h"

#include "models/parts/conv_stem.h"

#include <math.h>
#include <string.h>

sv_onnx_value sv_onnx_unary(sv_onnx_graph *graph, const char *op, const sv_onnx_value *x)
{
    sv_onnx_begin(graph, op);
    sv_onnx_input(graph, x);
    return sv_onnx_end(graph);
}

sv_onnx_value sv_onnx_binary(sv_onnx_graph *graph, const char *op, const sv_onnx_value *a,
                             const sv_onnx_value *b)
{
    sv_onnx_begin(graph, op);
    sv_onnx_input(graph, a);
    sv_onnx_input(graph, b);
    return sv_onnx_end(graph);
}

sv_onnx_value sv_onnx_binary_scalar(sv_onnx_graph *graph, const char *op, const sv_onnx_value *a,
                                    double b)
{
    const sv_onnx_value scalar = sv_onnx_scalar(graph, b);
    return sv_onnx_binary(graph, op, a, &scalar);
}

sv_onnx_value sv_onnx_reshape(sv_onnx_graph *graph, const sv_onnx_value *x, const int64_t *shape,
                              size_t rank)
{
    const sv_onnx_value vector = sv_onnx_vector(graph, shape, rank);
    return sv_onnx_binary(graph, "Reshape", x, &vector);
}

sv_onnx_value sv_onnx_transpose(sv_onnx_graph *graph, const sv_onnx_value *x, const int64_t *order,
                                size_t rank)
{
    sv_onnx_begin(graph, "Transpose");
    sv_onnx_input(graph, x);
    sv_onnx_integers(graph, "perm", order, rank);
    return sv_onnx_end(graph);
}

static sv_onnx_value slice(sv_onnx_graph *graph, const sv_onnx_value *x, const int64_t *begins,
                           const int64_t *ends, const int64_t *axes, size_t count)
{
    const sv_onnx_value from = sv_onnx_vector(graph, begins, count);
    const sv_onnx_value to = sv_onnx_vector(graph, ends, count);
    const sv_onnx_value along = sv_onnx_vector(graph, axes, count);
    sv_onnx_begin(graph, "Slice");
    sv_onnx_input(graph, x);
    sv_onnx_input(graph, &from);
    sv_onnx_input(graph, &to);
    sv_onnx_input(graph, &along);
    return sv_onnx_end(graph);
}

sv_onnx_value sv_onnx_slice(sv_onnx_graph *graph, const sv_onnx_value *x, int64_t axis,
                            size_t begin, size_t end)
{
    const int64_t from = (int64_t)begin, to = (int64_t)end;
    return slice(graph, x, &from, &to, &axis, 1);
}

sv_onnx_value sv_onnx_slice_box(sv_onnx_graph *graph, const sv_onnx_value *x,
                                const int64_t begins[3], const int64_t ends[3])
{
    static const int64_t axes[3] = {1, 2, 3};
    return slice(graph, x, begins, ends, axes, 3);
}

sv_onnx_value sv_onnx_pad(sv_onnx_graph *graph, const sv_onnx_value *x, size_t rows, size_t columns)
{
    const int64_t lines[8] = {0, (int64_t)rows, (int64_t)columns, 0,
                              0, (int64_t)rows, (int64_t)columns, 0};
    const sv_onnx_value vector = sv_onnx_vector(graph, lines, 8);
    return sv_onnx_binary(graph, "Pad", x, &vector);
}

sv_onnx_value sv_onnx_concat(sv_onnx_graph *graph, const sv_onnx_value *values, size_t count,
                             int64_t axis)
{
    sv_onnx_begin(graph, "Concat");
    for (size_t i = 0; i < count; i++)
        sv_onnx_input(graph, &values[i]);
    sv_onnx_integer(graph, "axis", axis);
    return sv_onnx_end(graph);
}

sv_onnx_value sv_onnx_mean_tokens(sv_onnx_graph *graph, const sv_onnx_value *x)
{
    const int64_t axis = 1;
    sv_onnx_begin(graph, "ReduceMean");
    sv_onnx_input(graph, x);
    sv_onnx_integers(graph, "axes", &axis, 1);
    sv_onnx_integer(graph, "keepdims", 0);
    return sv_onnx_end(graph);
}

sv_onnx_value sv_onnx_batch_shape(sv_onnx_graph *graph, const sv_onnx_value *x,
                                  const int64_t *shape, size_t rank)
{
    sv_onnx_begin(graph, "Shape");
    sv_onnx_input(graph, x);
    sv_onnx_integer(graph, "start", 0);
    sv_onnx_integer(graph, "end", 1);
    sv_onnx_value parts[2] = {sv_onnx_end(graph)};
    parts[1] = sv_onnx_vector(graph, shape, rank);
    return sv_onnx_concat(graph, parts, 2, 0);
}

sv_onnx_value sv_onnx_linear(sv_onnx_graph *graph, const sv_onnx_value *x, const char *name)
{
    const sv_onnx_value weight = sv_onnx_weight(graph, name);
    sv_onnx_value y = sv_onnx_binary(graph, "MatMul", x, &weight);
    if (!sv_onnx_has_parameter(graph, name, ".bias"))
        return y;
    const sv_onnx_value bias = sv_onnx_parameter(graph, name, ".bias");
    return sv_onnx_binary(graph, "Add", &y, &bias);
}

sv_onnx_value sv_onnx_rms_norm(sv_onnx_graph *graph, const sv_onnx_value *x, const char *name,
                               double eps)
{
    const sv_onnx_value weight = sv_onnx_parameter(graph, name, ".weight");
    sv_onnx_value y = sv_onnx_binary(graph, "Mul", x, x);
    sv_onnx_begin(graph, "ReduceMean");
    sv_onnx_input(graph, &y);
    sv_onnx_integers(graph, "axes", (const int64_t[]){-1}, 1);
    y = sv_onnx_end(graph);
    y = sv_onnx_binary_scalar(graph, "Add", &y, eps);
    y = sv_onnx_unary(graph, "Sqrt", &y);
    y = sv_onnx_binary(graph, "Div", x, &y);
    return sv_onnx_binary(graph, "Mul", &y, &weight);
}

sv_onnx_value sv_onnx_layer_norm(sv_onnx_graph *graph, const sv_onnx_value *x, const char *name)
{
    if (!sv_onnx_has_parameter(graph, name, ".bias"))
        return sv_onnx_rms_norm(graph, x, name, graph->model->config.norm_eps);
    const sv_onnx_value weight = sv_onnx_parameter(graph, name, ".weight");
    const sv_onnx_value bias = sv_onnx_parameter(graph, name, ".bias");
    sv_onnx_begin(graph, "LayerNormalization");
    sv_onnx_input(graph, x);
    sv_onnx_input(graph, &weight);
    sv_onnx_input(graph, &bias);
    sv_onnx_integer(graph, "axis", -1);
    sv_onnx_real(graph, "epsilon", graph->model->config.norm_eps);
    return sv_onnx_end(graph);
}

/* InstanceNormalization over all elements of an image, as one channel, and the image's shape
 * again. */
static sv_onnx_value normalize_image(sv_onnx_graph *graph, const sv_onnx_value *x)
{
    static const int64_t one = 1, row[3] = {0, 1, -1};
    const float values[2] = {1, 0};
    const sv_onnx_value flat = sv_onnx_reshape(graph, x, row, 3);
    const sv_onnx_value scale = sv_onnx_tensor(graph, &values[0], &one, 1);
    const sv_onnx_value shift = sv_onnx_tensor(graph, &values[1], &one, 1);
    sv_onnx_begin(graph, "InstanceNormalization");
    sv_onnx_input(graph, &flat);
    sv_onnx_input(graph, &scale);
    sv_onnx_input(graph, &shift);
    sv_onnx_real(graph, "epsilon", graph->model->config.norm_eps);
    const sv_onnx_value y = sv_onnx_end(graph), shape = sv_onnx_unary(graph, "Shape", x);
    return sv_onnx_binary(graph, "Reshape", &y, &shape);
}

sv_onnx_value sv_onnx_group_norm(sv_onnx_graph *graph, const sv_onnx_value *x, const char *name)
{
    sv_onnx_value y = normalize_image(graph, x);
    const sv_onnx_value weight = sv_onnx_parameter(graph, name, ".weight");
    const sv_onnx_value bias = sv_onnx_parameter(graph, name, ".bias");
    y = sv_onnx_binary(graph, "Mul", &y, &weight);
    return sv_onnx_binary(graph, "Add", &y, &bias);
}

/* gelu(x) = 0.5 * (x * (1 + erf(x / sqrt(2)))), in the form that runtimes fuse. */
sv_onnx_value sv_onnx_gelu(sv_onnx_graph *graph, const sv_onnx_value *x)
{
    sv_onnx_value y = sv_onnx_binary_scalar(graph, "Div", x, sqrt(2));
    y = sv_onnx_unary(graph, "Erf", &y);
    y = sv_onnx_binary_scalar(graph, "Add", &y, 1);
    y = sv_onnx_binary(graph, "Mul", x, &y);
    return sv_onnx_binary_scalar(graph, "Mul", &y, 0.5);
}

sv_onnx_value sv_onnx_sigmoid_gate(sv_onnx_graph *graph, const sv_onnx_value *x, double a, double b)
{
    sv_onnx_value u = *x;
    if (b != 0) {
        u = sv_onnx_binary(graph, "Mul", x, x);
        u = sv_onnx_binary_scalar(graph, "Mul", &u, b);
        u = sv_onnx_binary_scalar(graph, "Add", &u, a);
        u = sv_onnx_binary(graph, "Mul", x, &u);
    } else if (a != 1) {
        u = sv_onnx_binary_scalar(graph, "Mul", x, a);
    }
    u = sv_onnx_unary(graph, "Sigmoid", &u);
    return sv_onnx_binary(graph, "Mul", x, &u);
}

/* ONNX's convolutions have the channels before height and width. */
sv_onnx_value sv_onnx_convolve(sv_onnx_graph *graph, const sv_onnx_value *x,
                               const sv_onnx_convolution *options)
{
    static const int64_t to_channels_first[4] = {0, 3, 1, 2}, to_channels_last[4] = {0, 2, 3, 1};
    const int64_t strides[2] = {options->stride, options->stride};
    const sv_onnx_value in = sv_onnx_transpose(graph, x, to_channels_first, 4);
    const sv_onnx_value weight = sv_onnx_parameter(graph, options->name, ".weight");
    sv_onnx_value bias = {""};
    if (sv_onnx_has_parameter(graph, options->name, ".bias"))
        bias = sv_onnx_parameter(graph, options->name, ".bias");
    sv_onnx_begin(graph, "Conv");
    sv_onnx_input(graph, &in);
    sv_onnx_input(graph, &weight);
    if (*bias.name)
        sv_onnx_input(graph, &bias);
    sv_onnx_integers(graph, "strides", strides, 2);
    sv_onnx_integers(graph, "pads", options->padding, 4);
    sv_onnx_integer(graph, "group", options->groups);
    const sv_onnx_value out = sv_onnx_end(graph);
    return sv_onnx_transpose(graph, &out, to_channels_last, 4);
}

/* A convolution of 3 x 3 pixels with a line of zeros on all sides. */
static sv_onnx_value convolve_pixels(sv_onnx_graph *graph, const sv_onnx_value *x, const char *name,
                                     int64_t stride)
{
    const sv_onnx_convolution options = {
        .name = name, .stride = stride, .padding = {1, 1, 1, 1}, .groups = 1};
    return sv_onnx_convolve(graph, x, &options);
}

sv_onnx_value sv_onnx_conv_stem(sv_onnx_graph *graph, const sv_onnx_value *images,
                                const svit_model_config *config)
{
    sv_onnx_value x = convolve_pixels(graph, images, SV_CONV_STEM_CONV1, config->patch_size / 2);
    x = sv_onnx_gelu(graph, &x);
    return convolve_pixels(graph, &x, SV_CONV_STEM_CONV2, 2);
}
