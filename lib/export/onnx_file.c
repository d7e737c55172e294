/* Writes ONNX files: a ModelProto whose last field is the graph, in which the initialisers come
 * last, so that only one parameter at a time is in memory twice. */
#include "autograd/parameter_file.h"
#include "base/files/file.h"
#include "base/numbers/byte_order.h"
#include "base/size.h"
#include "export/onnx.h"
#include "export/onnx_format.h"
#include "models/model_file.h"
#include "models/parts/text_head.h"

#include <shiftvit/version.h>

#include <inttypes.h>

/* The largest message that readers of protocol buffers accept: 2 GiB - 1. */
enum { MESSAGE_MAX = INT32_MAX };

/* A ValueInfoProto: the tensor `name` with dimensions [N, shape[0], .., shape[rank - 1]]. */
static void put_value_info(sv_protobuf_writer *out, unsigned field, const char *name,
                           int64_t data_type, const int64_t *shape, size_t rank)
{
    size_t info = sv_protobuf_begin(out, field);
    sv_protobuf_put_text(out, VALUE_INFO_NAME, name);
    size_t type = sv_protobuf_begin(out, VALUE_INFO_TYPE);
    size_t tensor = sv_protobuf_begin(out, TYPE_TENSOR_TYPE);
    sv_protobuf_put_integer(out, TENSOR_TYPE_ELEMENT, data_type);
    size_t dimensions = sv_protobuf_begin(out, TENSOR_TYPE_SHAPE);
    size_t batch = sv_protobuf_begin(out, SHAPE_DIMENSION);
    sv_protobuf_put_text(out, DIMENSION_NAME, "N");
    sv_protobuf_end(out, batch);
    for (size_t i = 0; i < rank; i++) {
        size_t dimension = sv_protobuf_begin(out, SHAPE_DIMENSION);
        sv_protobuf_put_integer(out, DIMENSION_VALUE, shape[i]);
        sv_protobuf_end(out, dimension);
    }
    sv_protobuf_end(out, dimensions);
    sv_protobuf_end(out, tensor);
    sv_protobuf_end(out, type);
    sv_protobuf_end(out, info);
}

/* The fields of the GraphProto other than nodes and initialisers. */
static void put_graph_head(sv_protobuf_writer *out, const sv_onnx_graph *graph,
                           const svit_onnx_options *options)
{
    const svit_model_config *config = &graph->model->config;
    const svit_pipeline_config *pipeline = &graph->model->pipeline;
    const int64_t images[3] = {(int64_t)graph->height, (int64_t)graph->width, config->in_channels};
    const int64_t bytes[3] = {pipeline->source_height, pipeline->source_width, pipeline->channels};
    const int64_t classes = (int64_t)sv_onnx_output_classes(options, graph->model);
    sv_protobuf_put_text(out, GRAPH_NAME, sv_architecture_of(config)->name);
    if (options->preprocessing)
        put_value_info(out, GRAPH_INPUT, SV_ONNX_BYTES, DATA_UINT8, bytes, 3);
    else
        put_value_info(out, GRAPH_INPUT, SV_ONNX_IMAGES, DATA_FLOAT, images, 3);
    put_value_info(out, GRAPH_OUTPUT, sv_onnx_output_name(options), DATA_FLOAT, &classes, 1);
}

static size_t initializer_bytes(const sv_onnx_initializer *initializer)
{
    return initializer->parameter->desc.elements * sizeof(float);
}

/* The TensorProto of an initialiser, without its data, which are the last bytes of the message. */
static void put_initializer(sv_protobuf_writer *out, const sv_onnx_initializer *initializer)
{
    for (size_t i = 0; i < initializer->rank; i++)
        sv_protobuf_put_integer(out, TENSOR_DIMS, initializer->shape[i]);
    sv_protobuf_put_integer(out, TENSOR_DATA_TYPE, DATA_FLOAT);
    sv_protobuf_put_text(out, TENSOR_NAME, initializer->parameter->name);
    sv_protobuf_put_length(out, TENSOR_RAW_DATA, initializer_bytes(initializer));
}

/* Writes into `out`, from its begin, the field of an initialiser without the data. `tensor` is
 * scratch. */
static void put_initializer_field(sv_protobuf_writer *out, sv_protobuf_writer *tensor,
                                  const sv_onnx_initializer *initializer)
{
    out->length = tensor->length = 0;
    put_initializer(tensor, initializer);
    sv_protobuf_put_length(out, GRAPH_INITIALIZER,
                           (uint64_t)tensor->length + initializer_bytes(initializer));
    if (tensor->status == SVIT_OK)
        sv_protobuf_append(out, tensor->data, tensor->length);
    else
        out->status = tensor->status;
}

/* What is written one after the other. */
typedef struct onnx_parts {
    sv_protobuf_writer head;  /* the ModelProto up to the nodes of its graph */
    sv_protobuf_writer field; /* of one initialiser, without its data */
    sv_protobuf_writer tensor;
    float *values, *transposed; /* [largest] each */
    size_t largest;             /* elements of a parameter */
} onnx_parts;

static svit_status parts_status(const onnx_parts *parts, svit_error *err)
{
    if (parts->head.status == SVIT_OK && parts->field.status == SVIT_OK &&
        parts->tensor.status == SVIT_OK)
        return SVIT_OK;
    return sv_fail_memory(err, parts->head.length, "the head of an ONNX file");
}

/* Bytes of all initialisers as fields of the graph. */
static uint64_t initializers_bytes(onnx_parts *parts, const sv_onnx_graph *graph)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < graph->initializer_count; i++) {
        put_initializer_field(&parts->field, &parts->tensor, &graph->initializers[i]);
        bytes += parts->field.length + initializer_bytes(&graph->initializers[i]);
    }
    return bytes;
}

static void put_property(void *user, const char *key, const char *value)
{
    sv_protobuf_writer *out = user;
    const size_t property = sv_protobuf_begin(out, MODEL_METADATA);
    sv_protobuf_put_text(out, METADATA_KEY, key);
    sv_protobuf_put_text(out, METADATA_VALUE, value);
    sv_protobuf_end(out, property);
}

/* The first fields of the ModelProto, by which others recognise the file. */
static void put_versions(sv_protobuf_writer *out)
{
    sv_protobuf_put_integer(out, MODEL_IR_VERSION, ONNX_IR_VERSION);
    sv_protobuf_put_text(out, MODEL_PRODUCER_NAME, "shiftvit");
    sv_protobuf_put_text(out, MODEL_PRODUCER_VERSION, svit_version_string());
    size_t opset = sv_protobuf_begin(out, MODEL_OPSET_IMPORT);
    sv_protobuf_put_integer(out, OPSET_VERSION, ONNX_OPSET);
    sv_protobuf_end(out, opset);
}

/* The field of a graph with `graph_bytes` bytes up to its nodes. `graph_head` begins it. */
static void put_graph(sv_protobuf_writer *out, const sv_protobuf_writer *graph_head,
                      uint64_t graph_bytes)
{
    sv_protobuf_put_length(out, MODEL_GRAPH, graph_bytes);
    if (graph_head->status == SVIT_OK)
        sv_protobuf_append(out, graph_head->data, graph_head->length);
    else
        out->status = graph_head->status;
}

static svit_status make_head(onnx_parts *parts, const sv_onnx_graph *graph,
                             const svit_onnx_options *options, const char *path, svit_error *err)
{
    sv_protobuf_writer graph_head = sv_protobuf_make(parts->head.allocator);
    put_graph_head(&graph_head, graph, options);
    const uint64_t data = initializers_bytes(parts, graph);
    const uint64_t bytes = graph_head.length + (uint64_t)graph->nodes.length + data;
    const sv_metadata_sink properties = {put_property, &parts->head};
    put_versions(&parts->head);
    svit_status status = sv_model_properties(&properties, graph->model, err);
    if (status == SVIT_OK)
        status = sv_text_head_metadata(&properties, graph->model, err);
    put_graph(&parts->head, &graph_head, bytes);
    sv_protobuf_free(&graph_head);
    SVIT_TRY(status);
    SVIT_TRY(parts_status(parts, err));
    const uint64_t file = parts->head.length + (uint64_t)graph->nodes.length + data;
    if (file > MESSAGE_MAX)
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "%s: the ONNX file would have %" PRIu64 " bytes; one file has at most %d",
                       path, file, MESSAGE_MAX);
    return SVIT_OK;
}

/* The data of an initialiser as in the file: parts->values, or its transpose. */
static const float *data_of(const onnx_parts *parts, const sv_onnx_graph *graph,
                            const sv_onnx_initializer *initializer)
{
    sv_parameter_export(initializer->parameter, parts->values, graph->model->weights);
    const size_t elements = initializer->parameter->desc.elements;
    sv_little_endian(parts->values, sizeof *parts->values, elements);
    if (!initializer->transposed)
        return parts->values;
    const size_t in = (size_t)initializer->shape[0], out = (size_t)initializer->shape[1];
    for (size_t i = 0; i < in; i++)
        for (size_t o = 0; o < out; o++)
            parts->transposed[i * out + o] = parts->values[o * in + i];
    return parts->transposed;
}

static svit_status write_parts(onnx_parts *parts, const sv_onnx_graph *graph, sv_replacement *file,
                               svit_error *err)
{
    SVIT_TRY(sv_replacement_write(file, parts->head.data, parts->head.length, err));
    SVIT_TRY(sv_replacement_write(file, graph->nodes.data, graph->nodes.length, err));
    for (size_t i = 0; i < graph->initializer_count; i++) {
        const sv_onnx_initializer *initializer = &graph->initializers[i];
        put_initializer_field(&parts->field, &parts->tensor, initializer);
        SVIT_TRY(parts_status(parts, err));
        SVIT_TRY(sv_replacement_write(file, parts->field.data, parts->field.length, err));
        SVIT_TRY(sv_replacement_write(file, data_of(parts, graph, initializer),
                                      initializer_bytes(initializer), err));
    }
    return SVIT_OK;
}

static svit_status write_file(onnx_parts *parts, const sv_onnx_graph *graph, const char *path,
                              svit_error *err)
{
    const sv_allocator *allocator = parts->head.allocator;
    sv_replacement *file = NULL;
    SVIT_TRY(sv_replacement_begin(&file, allocator, path, err));
    svit_status status = write_parts(parts, graph, file, err);
    return sv_replacement_end(allocator, file, status, err);
}

static svit_status allocate_values(onnx_parts *parts, const sv_onnx_graph *graph, svit_error *err)
{
    const sv_allocator *allocator = parts->head.allocator;
    for (size_t i = 0; i < graph->initializer_count; i++)
        parts->largest =
            sv_size_max(parts->largest, graph->initializers[i].parameter->desc.elements);
    SVIT_TRY(sv_allocate_array(allocator, (void **)&parts->values, parts->largest, sizeof(float),
                               "a tensor to be written", err));
    return sv_allocate_array(allocator, (void **)&parts->transposed, parts->largest, sizeof(float),
                             "a tensor to be written", err);
}

static void release_parts(onnx_parts *parts)
{
    const sv_allocator *allocator = parts->head.allocator;
    sv_release(allocator, parts->transposed, parts->largest * sizeof(float));
    sv_release(allocator, parts->values, parts->largest * sizeof(float));
    sv_protobuf_free(&parts->tensor);
    sv_protobuf_free(&parts->field);
    sv_protobuf_free(&parts->head);
}

svit_status sv_onnx_file_write(const sv_onnx_graph *graph, const svit_onnx_options *options,
                               const char *path, svit_error *err)
{
    const sv_parameter_table *table = &graph->model->parameters;
    const sv_parameter_array weights = {.prefix = "", .values = graph->model->weights};
    const sv_protobuf_writer empty = sv_protobuf_make(graph->nodes.allocator);
    onnx_parts parts = {.head = empty, .field = empty, .tensor = empty};
    svit_status status = make_head(&parts, graph, options, path, err);
    if (status == SVIT_OK)
        status = sv_parameter_check_finite(table, &weights, err);
    if (status == SVIT_OK)
        status = allocate_values(&parts, graph, err);
    if (status == SVIT_OK)
        status = write_file(&parts, graph, path, err);
    release_parts(&parts);
    return status;
}
