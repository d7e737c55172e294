/* Builds the graph of an ONNX model. Nodes are encoded as they are added, constants are nodes, too,
 * and the initialisers are parameters of the model, whose data is read when the file is written.
 * Functions that add something return the value that it computes. After a failed allocation, which
 * sv_onnx_graph_status reports, all further calls do nothing. */
#ifndef SV_ONNX_GRAPH_H
#define SV_ONNX_GRAPH_H

#include "io/protobuf_writer.h"
#include "models/model.h"

enum { SV_ONNX_MAX_RANK = 6 };

/* A value of the graph by its name. Parameters have their own names. */
typedef struct sv_onnx_value {
    char name[128];
} sv_onnx_value;

/* A parameter as an initialiser. `shape` may differ from the parameter's shape in a model file. */
typedef struct sv_onnx_initializer {
    const sv_parameter *parameter;
    int64_t shape[SV_ONNX_MAX_RANK];
    size_t rank;
    bool transposed; /* a matrix [out, in] in the model, [in, out] in the graph */
} sv_onnx_initializer;

typedef struct sv_onnx_graph {
    const svit_model *model;
    sv_protobuf_writer nodes;          /* the fields `node` of a GraphProto */
    sv_onnx_initializer *initializers; /* [initializer_capacity] */
    size_t initializer_count, initializer_capacity;
    size_t node_count, node_begin;
    char scope[64];       /* the part of the model that is built; names of nodes begin with it */
    const char *op;       /* of the node that is being added */
    size_t height, width; /* pixels of the model's input */
} sv_onnx_graph;

/* Makes a graph without nodes. Release it with sv_onnx_graph_free. SVIT_E_MEMORY. */
svit_status sv_onnx_graph_init(sv_onnx_graph *graph, const svit_model *model, svit_error *err);
void sv_onnx_graph_free(sv_onnx_graph *graph);

/* SVIT_E_MEMORY, with a message, if an allocation has failed. */
svit_status sv_onnx_graph_status(const sv_onnx_graph *graph, svit_error *err);

/* Names the part of the model that the next nodes belong to, as printf does. */
void sv_onnx_scope(sv_onnx_graph *graph, const char *format, ...) SV_PRINTF(2, 3);

/* A node: begin it, add its inputs and attributes, end it. It has one output. */
void sv_onnx_begin(sv_onnx_graph *graph, const char *op);
void sv_onnx_input(sv_onnx_graph *graph, const sv_onnx_value *value);
void sv_onnx_no_input(sv_onnx_graph *graph); /* an optional input that is left out */
void sv_onnx_integer(sv_onnx_graph *graph, const char *attribute, int64_t value);
void sv_onnx_integers(sv_onnx_graph *graph, const char *attribute, const int64_t *values,
                      size_t count);
void sv_onnx_real(sv_onnx_graph *graph, const char *attribute, double value);
void sv_onnx_text(sv_onnx_graph *graph, const char *attribute, const char *value);
sv_onnx_value sv_onnx_end(sv_onnx_graph *graph);

/* Ends a node whose output is that of the whole graph, under this name. */
void sv_onnx_end_as(sv_onnx_graph *graph, const char *name);

/* Constants: a vector of integers; an integer, which has no dimensions; a float32 tensor with
 * `rank` dimensions; a float32 scalar. */
sv_onnx_value sv_onnx_vector(sv_onnx_graph *graph, const int64_t *values, size_t count);
sv_onnx_value sv_onnx_index(sv_onnx_graph *graph, int64_t value);
sv_onnx_value sv_onnx_tensor(sv_onnx_graph *graph, const float *values, const int64_t *shape,
                             size_t rank);
sv_onnx_value sv_onnx_scalar(sv_onnx_graph *graph, double value);

/* Whether the model has the parameter `name``suffix`. */
bool sv_onnx_has_parameter(const sv_onnx_graph *graph, const char *name, const char *suffix);

/* The parameter `name``suffix` with its own dimensions, or with the dimensions shape[rank] of as
 * many elements. The model has the parameter, and the graph uses it once. */
sv_onnx_value sv_onnx_parameter(sv_onnx_graph *graph, const char *name, const char *suffix);
sv_onnx_value sv_onnx_parameter_as(sv_onnx_graph *graph, const char *name, const char *suffix,
                                   const int64_t *shape, size_t rank);

/* The weight of a linear map or of a convolution of 1 x 1 pixels, transposed to [in, out]. */
sv_onnx_value sv_onnx_weight(sv_onnx_graph *graph, const char *name);

#endif
