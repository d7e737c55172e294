/* Operations of ONNX graphs: single nodes, and the layers that all architectures have. A value's
 * first dimension is the batch N, which is not fixed. */
#ifndef SV_ONNX_OPS_H
#define SV_ONNX_OPS_H

#include "export/onnx_graph.h"

/* Nodes with one or two inputs and no attributes: "Add", "Mul", "Erf" and the like. "Softmax" is
 * over the last dimension. */
sv_onnx_value sv_onnx_unary(sv_onnx_graph *graph, const char *op, const sv_onnx_value *x);
sv_onnx_value sv_onnx_binary(sv_onnx_graph *graph, const char *op, const sv_onnx_value *a,
                             const sv_onnx_value *b);
sv_onnx_value sv_onnx_binary_scalar(sv_onnx_graph *graph, const char *op, const sv_onnx_value *a,
                                    double b);

/* x with the dimensions shape[rank], of which 0 means that of x, and -1 what is left. */
sv_onnx_value sv_onnx_reshape(sv_onnx_graph *graph, const sv_onnx_value *x, const int64_t *shape,
                              size_t rank);

/* Dimension i of the result is dimension order[i] of x. */
sv_onnx_value sv_onnx_transpose(sv_onnx_graph *graph, const sv_onnx_value *x, const int64_t *order,
                                size_t rank);

/* x[.., begin:end, ..] in dimension `axis`. */
sv_onnx_value sv_onnx_slice(sv_onnx_graph *graph, const sv_onnx_value *x, int64_t axis,
                            size_t begin, size_t end);

/* The box begins[i]:ends[i] of the dimensions 1 to 3 of x[N, height, width, channels]. */
sv_onnx_value sv_onnx_slice_box(sv_onnx_graph *graph, const sv_onnx_value *x,
                                const int64_t begins[3], const int64_t ends[3]);

/* Zeros around x[N, height, width, channels]: `rows` above and below, `columns` left and right. */
sv_onnx_value sv_onnx_pad(sv_onnx_graph *graph, const sv_onnx_value *x, size_t rows,
                          size_t columns);

sv_onnx_value sv_onnx_concat(sv_onnx_graph *graph, const sv_onnx_value *values, size_t count,
                             int64_t axis);

/* The mean over axis 1 of x[N, tokens, c]: [N, c]. */
sv_onnx_value sv_onnx_mean_tokens(sv_onnx_graph *graph, const sv_onnx_value *x);

/* [N, shape[0], .., shape[rank - 1]] as a vector of integers, with the N of x. */
sv_onnx_value sv_onnx_batch_shape(sv_onnx_graph *graph, const sv_onnx_value *x,
                                  const int64_t *shape, size_t rank);

/* y = x W^T + b over the last dimension, with the parameters `name`.weight and, if the model has
 * it, `name`.bias. */
sv_onnx_value sv_onnx_linear(sv_onnx_graph *graph, const sv_onnx_value *x, const char *name);

/* A layer norm over the last dimension, with the model's epsilon; if the model has no parameter
 * `name`.bias, a root-mean-square norm. */
sv_onnx_value sv_onnx_layer_norm(sv_onnx_graph *graph, const sv_onnx_value *x, const char *name);

/* A root-mean-square norm over the last dimension. */
sv_onnx_value sv_onnx_rms_norm(sv_onnx_graph *graph, const sv_onnx_value *x, const char *name,
                               double eps);

/* Group norm with one group of x[N, height, width, c], with a weight for each channel. */
sv_onnx_value sv_onnx_group_norm(sv_onnx_graph *graph, const sv_onnx_value *x, const char *name);

/* x Phi(x); x sigmoid(a x + b x^3). */
sv_onnx_value sv_onnx_gelu(sv_onnx_graph *graph, const sv_onnx_value *x);
sv_onnx_value sv_onnx_sigmoid_gate(sv_onnx_graph *graph, const sv_onnx_value *x, double a,
                                   double b);

/* A convolution of x[N, height, width, c], with `padding` lines above, left, below and right. */
typedef struct sv_onnx_convolution {
    const char *name; /* of the parameters .weight and .bias */
    int64_t stride;
    int64_t padding[4];
    int64_t groups;
} sv_onnx_convolution;
sv_onnx_value sv_onnx_convolve(sv_onnx_graph *graph, const sv_onnx_value *x,
                               const sv_onnx_convolution *options);

/* The convolutional stem (models/parts/conv_stem.h): tokens[N, rows, columns, dim] of
 * images[N, height, width, c]. */
sv_onnx_value sv_onnx_conv_stem(sv_onnx_graph *graph, const sv_onnx_value *images,
                                const svit_model_config *config);

#endif
