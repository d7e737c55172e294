/* Encodes the nodes of an ONNX graph and lists its initialisers. */
#include "export/onnx_graph.h"

#include "export/onnx_format.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

svit_status sv_onnx_graph_init(sv_onnx_graph *graph, const svit_model *model, svit_error *err)
{
    const sv_allocator *allocator = &model->context->allocator;
    *graph = (sv_onnx_graph){.model = model,
                             .nodes = sv_protobuf_make(allocator),
                             .initializer_capacity = model->parameters.count};
    return sv_allocate_array(allocator, (void **)&graph->initializers, graph->initializer_capacity,
                             sizeof *graph->initializers, "the initialisers of an ONNX graph", err);
}

void sv_onnx_graph_free(sv_onnx_graph *graph)
{
    sv_release(graph->nodes.allocator, graph->initializers,
               graph->initializer_capacity * sizeof *graph->initializers);
    sv_protobuf_free(&graph->nodes);
}

svit_status sv_onnx_graph_status(const sv_onnx_graph *graph, svit_error *err)
{
    if (graph->nodes.status == SVIT_OK)
        return SVIT_OK;
    return sv_fail_memory(err, graph->nodes.length, "the nodes of an ONNX graph");
}

void sv_onnx_scope(sv_onnx_graph *graph, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(graph->scope, sizeof graph->scope, format, arguments);
    va_end(arguments);
}

void sv_onnx_begin(sv_onnx_graph *graph, const char *op)
{
    graph->op = op;
    graph->node_begin = sv_protobuf_begin(&graph->nodes, GRAPH_NODE);
}

void sv_onnx_input(sv_onnx_graph *graph, const sv_onnx_value *value)
{
    sv_protobuf_put_text(&graph->nodes, NODE_INPUT, value->name);
}

void sv_onnx_no_input(sv_onnx_graph *graph)
{
    sv_protobuf_put_text(&graph->nodes, NODE_INPUT, "");
}

static size_t begin_attribute(sv_onnx_graph *graph, const char *name, int64_t type)
{
    size_t begin = sv_protobuf_begin(&graph->nodes, NODE_ATTRIBUTE);
    sv_protobuf_put_text(&graph->nodes, ATTRIBUTE_NAME, name);
    sv_protobuf_put_integer(&graph->nodes, ATTRIBUTE_TYPE, type);
    return begin;
}

void sv_onnx_integer(sv_onnx_graph *graph, const char *attribute, int64_t value)
{
    size_t begin = begin_attribute(graph, attribute, TYPE_INT);
    sv_protobuf_put_integer(&graph->nodes, ATTRIBUTE_I, value);
    sv_protobuf_end(&graph->nodes, begin);
}

void sv_onnx_integers(sv_onnx_graph *graph, const char *attribute, const int64_t *values,
                      size_t count)
{
    size_t begin = begin_attribute(graph, attribute, TYPE_INTS);
    for (size_t i = 0; i < count; i++)
        sv_protobuf_put_integer(&graph->nodes, ATTRIBUTE_INTS, values[i]);
    sv_protobuf_end(&graph->nodes, begin);
}

void sv_onnx_real(sv_onnx_graph *graph, const char *attribute, double value)
{
    size_t begin = begin_attribute(graph, attribute, TYPE_FLOAT);
    sv_protobuf_put_float(&graph->nodes, ATTRIBUTE_F, (float)value);
    sv_protobuf_end(&graph->nodes, begin);
}

void sv_onnx_text(sv_onnx_graph *graph, const char *attribute, const char *value)
{
    size_t begin = begin_attribute(graph, attribute, TYPE_STRING);
    sv_protobuf_put_text(&graph->nodes, ATTRIBUTE_S, value);
    sv_protobuf_end(&graph->nodes, begin);
}

/* The name of a node, and of its output unless that is the graph's: "blocks.0.attn/MatMul_17". */
static sv_onnx_value node_name(sv_onnx_graph *graph)
{
    sv_onnx_value value;
    snprintf(value.name, sizeof value.name, "%s%s%s_%zu", graph->scope, *graph->scope ? "/" : "",
             graph->op, graph->node_count++);
    return value;
}

static void end_node(sv_onnx_graph *graph, const char *name, const char *output)
{
    sv_protobuf_put_text(&graph->nodes, NODE_OUTPUT, output);
    sv_protobuf_put_text(&graph->nodes, NODE_NAME, name);
    sv_protobuf_put_text(&graph->nodes, NODE_OP_TYPE, graph->op);
    sv_protobuf_end(&graph->nodes, graph->node_begin);
}

sv_onnx_value sv_onnx_end(sv_onnx_graph *graph)
{
    sv_onnx_value value = node_name(graph);
    end_node(graph, value.name, value.name);
    return value;
}

void sv_onnx_end_as(sv_onnx_graph *graph, const char *name)
{
    sv_onnx_value value = node_name(graph);
    end_node(graph, value.name, name);
}

/* A node Constant with a tensor of elements[count] of data_type, each of `bytes` bytes. */
static sv_onnx_value constant(sv_onnx_graph *graph, int64_t data_type, const void *elements,
                              unsigned bytes, size_t count, const int64_t *shape, size_t rank)
{
    sv_onnx_begin(graph, "Constant");
    size_t attribute = begin_attribute(graph, "value", TYPE_TENSOR);
    size_t tensor = sv_protobuf_begin(&graph->nodes, ATTRIBUTE_T);
    for (size_t i = 0; i < rank; i++)
        sv_protobuf_put_integer(&graph->nodes, TENSOR_DIMS, shape[i]);
    sv_protobuf_put_integer(&graph->nodes, TENSOR_DATA_TYPE, data_type);
    sv_protobuf_put_words(&graph->nodes, TENSOR_RAW_DATA, elements, bytes, count);
    sv_protobuf_end(&graph->nodes, tensor);
    sv_protobuf_end(&graph->nodes, attribute);
    return sv_onnx_end(graph);
}

sv_onnx_value sv_onnx_vector(sv_onnx_graph *graph, const int64_t *values, size_t count)
{
    const int64_t shape = (int64_t)count;
    return constant(graph, DATA_INT64, values, sizeof *values, count, &shape, 1);
}

sv_onnx_value sv_onnx_index(sv_onnx_graph *graph, int64_t value)
{
    return constant(graph, DATA_INT64, &value, sizeof value, 1, NULL, 0);
}

sv_onnx_value sv_onnx_tensor(sv_onnx_graph *graph, const float *values, const int64_t *shape,
                             size_t rank)
{
    size_t elements = 1;
    for (size_t i = 0; i < rank; i++)
        elements *= (size_t)shape[i];
    return constant(graph, DATA_FLOAT, values, sizeof *values, elements, shape, rank);
}

sv_onnx_value sv_onnx_scalar(sv_onnx_graph *graph, double value)
{
    const float element = (float)value;
    return sv_onnx_tensor(graph, &element, NULL, 0);
}

static const sv_parameter *find(const sv_onnx_graph *graph, const char *name, const char *suffix)
{
    char whole[sizeof(((sv_parameter *)0)->name) + 16];
    snprintf(whole, sizeof whole, "%s%s", name, suffix);
    return sv_parameter_find(&graph->model->parameters, whole);
}

bool sv_onnx_has_parameter(const sv_onnx_graph *graph, const char *name, const char *suffix)
{
    return find(graph, name, suffix) != NULL;
}

/* Adds the parameter name + suffix as an initialiser and writes its name in the graph to *value.
 * Returns the initialiser, whose shape is the parameter's; the caller may change that shape. */
static sv_onnx_initializer *add_parameter(sv_onnx_graph *graph, const char *name,
                                          const char *suffix, sv_onnx_value *value)
{
    const sv_parameter *parameter = find(graph, name, suffix);
    assert(parameter && graph->initializer_count < graph->initializer_capacity);
    assert(parameter->desc.rank <= SV_ONNX_MAX_RANK);
    sv_onnx_initializer *added = &graph->initializers[graph->initializer_count++];
    *added = (sv_onnx_initializer){.parameter = parameter, .rank = parameter->desc.rank};
    memcpy(added->shape, parameter->desc.shape, added->rank * sizeof *added->shape);
    snprintf(value->name, sizeof value->name, "%s", parameter->name);
    return added;
}

sv_onnx_value sv_onnx_parameter(sv_onnx_graph *graph, const char *name, const char *suffix)
{
    sv_onnx_value value;
    add_parameter(graph, name, suffix, &value);
    return value;
}

sv_onnx_value sv_onnx_parameter_as(sv_onnx_graph *graph, const char *name, const char *suffix,
                                   const int64_t *shape, size_t rank)
{
    sv_onnx_value value;
    sv_onnx_initializer *added = add_parameter(graph, name, suffix, &value);
    memcpy(added->shape, shape, rank * sizeof *shape);
    added->rank = rank;
    return value;
}

sv_onnx_value sv_onnx_weight(sv_onnx_graph *graph, const char *name)
{
    sv_onnx_value value;
    sv_onnx_initializer *added = add_parameter(graph, name, ".weight", &value);
    const int64_t out = added->shape[0];
    added->shape[0] = (int64_t)added->parameter->desc.elements / out;
    added->shape[1] = out;
    added->rank = 2;
    added->transposed = true;
    return value;
}
