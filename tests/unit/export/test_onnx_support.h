/* A small reader of ONNX files for tests: it checks the wire format as far as it goes, and lists
 * nodes, initialisers, inputs and outputs. Names stay within the file's bytes. */
#ifndef TEST_ONNX_SUPPORT_H
#define TEST_ONNX_SUPPORT_H

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct onnx_text {
    const uint8_t *data;
    size_t length;
} onnx_text;

/* A field: its number, and its integer or its bytes. */
typedef struct onnx_field {
    uint64_t number, integer;
    onnx_text bytes;
} onnx_field;

static inline uint64_t onnx_varint(onnx_text *in)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        ck_assert_msg(in->length > 0 && shift < 70, "a varint does not end");
        uint8_t byte = *in->data++;
        in->length--;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
}

/* Takes the next field of a message; 0 at its end. */
static inline int onnx_next(onnx_text *message, onnx_field *field)
{
    if (message->length == 0)
        return 0;
    uint64_t key = onnx_varint(message);
    *field = (onnx_field){.number = key >> 3};
    switch (key & 7) {
    case 0:
        field->integer = onnx_varint(message);
        return 1;
    case 2:
        field->bytes.length = onnx_varint(message);
        break;
    case 5:
        field->bytes.length = 4;
        break;
    default:
        ck_abort_msg("wire type %d", (int)(key & 7));
    }
    ck_assert_msg(field->bytes.length <= message->length, "a field is longer than its message");
    field->bytes.data = message->data;
    message->data += field->bytes.length;
    message->length -= field->bytes.length;
    return 1;
}

static inline int onnx_is(onnx_text text, const char *name)
{
    return text.length == strlen(name) && memcmp(text.data, name, text.length) == 0;
}

static inline int onnx_same(onnx_text a, onnx_text b)
{
    return a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
}

typedef struct onnx_tensor {
    onnx_text name, raw;
    int64_t shape[8];
    size_t rank;
    uint64_t data_type;
} onnx_tensor;

enum { ONNX_NODES = 4096, ONNX_TENSORS = 1024, ONNX_VALUES = 2 * ONNX_NODES };
enum { ONNX_PROPERTIES = 16 };

/* The file's contents. `values` are the names that a node may read: the input, the initialisers and
 * the outputs of nodes. */
typedef struct onnx_contents {
    uint8_t *file;
    size_t bytes, nodes, tensor_count, value_count;
    uint64_t ir_version, opset;
    onnx_text input, output;
    onnx_tensor tensors[ONNX_TENSORS];
    onnx_text values[ONNX_VALUES];
    uint8_t scalars[ONNX_VALUES];    /* whether they are constants without dimensions */
    onnx_text operators[ONNX_NODES]; /* of the nodes */
    onnx_text keys[ONNX_PROPERTIES], properties[ONNX_PROPERTIES];
    size_t property_count;
} onnx_contents;

static inline int onnx_knows(const onnx_contents *self, onnx_text value)
{
    for (size_t i = 0; i < self->value_count; i++)
        if (onnx_same(self->values[i], value))
            return 1;
    return 0;
}

static inline void onnx_add_value(onnx_contents *self, onnx_text value)
{
    ck_assert_msg(!onnx_knows(self, value), "two values are '%.*s'", (int)value.length,
                  (const char *)value.data);
    ck_assert(self->value_count < ONNX_VALUES);
    self->values[self->value_count++] = value;
}

static inline onnx_text onnx_find(onnx_text message, uint64_t number)
{
    onnx_field field;
    while (onnx_next(&message, &field))
        if (field.number == number)
            return field.bytes;
    return (onnx_text){NULL, 0};
}

/* Whether a node Constant has a tensor without dimensions. */
static inline int onnx_has_no_dimensions(onnx_text node)
{
    onnx_field field;
    for (onnx_text tensor = onnx_find(onnx_find(node, 5), 5); onnx_next(&tensor, &field);)
        if (field.number == 1)
            return 0;
    return 1;
}

/* Whether the last input of a node is a constant without dimensions. */
static inline int onnx_ends_with_scalar(const onnx_contents *self, onnx_text node)
{
    onnx_field field;
    onnx_text last = {NULL, 0};
    while (onnx_next(&node, &field))
        if (field.number == 1)
            last = field.bytes;
    for (size_t i = 0; i < self->value_count; i++)
        if (onnx_same(self->values[i], last))
            return self->scalars[i];
    return 0;
}

/* Every input of a node is a value that comes before it. */
static inline void onnx_read_node(onnx_contents *self, onnx_text message)
{
    onnx_field field;
    const onnx_text start = message, output = onnx_find(message, 2);
    while (onnx_next(&message, &field))
        ck_assert_msg(field.number != 1 || field.bytes.length == 0 || onnx_knows(self, field.bytes),
                      "a node reads '%.*s'", (int)field.bytes.length,
                      (const char *)field.bytes.data);
    const onnx_text op = onnx_find(start, 4);
    ck_assert_msg(!onnx_is(op, "CumSum") || onnx_ends_with_scalar(self, start),
                  "the axis of CumSum has dimensions");
    self->scalars[self->value_count] = onnx_is(op, "Constant") && onnx_has_no_dimensions(start);
    onnx_add_value(self, output);
    ck_assert_uint_lt(self->nodes, ONNX_NODES);
    self->operators[self->nodes++] = op;
}

static inline void onnx_read_tensor(onnx_contents *self, onnx_text message)
{
    onnx_field field;
    ck_assert(self->tensor_count < ONNX_TENSORS);
    onnx_tensor *tensor = &self->tensors[self->tensor_count++];
    *tensor = (onnx_tensor){.rank = 0};
    while (onnx_next(&message, &field)) {
        if (field.number == 1)
            tensor->shape[tensor->rank++] = (int64_t)field.integer;
        if (field.number == 2)
            tensor->data_type = field.integer;
        if (field.number == 8)
            tensor->name = field.bytes;
        if (field.number == 9)
            tensor->raw = field.bytes;
    }
    onnx_add_value(self, tensor->name);
}

/* The initialisers come last in the file, but nodes read them, so they are listed first. */
static inline void onnx_read_graph(onnx_contents *self, onnx_text graph)
{
    onnx_field field;
    self->input = onnx_find(onnx_find(graph, 11), 1);
    self->output = onnx_find(onnx_find(graph, 12), 1);
    onnx_add_value(self, self->input);
    for (onnx_text rest = graph; onnx_next(&rest, &field);)
        if (field.number == 5)
            onnx_read_tensor(self, field.bytes);
    for (onnx_text rest = graph; onnx_next(&rest, &field);)
        if (field.number == 1)
            onnx_read_node(self, field.bytes);
}

static inline uint8_t *onnx_load(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    *bytes = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(*bytes + 1);
    ck_assert_uint_eq(fread(data, 1, *bytes, file), *bytes);
    fclose(file);
    return data;
}

/* Free with onnx_free. */
static inline onnx_contents *onnx_read(const char *path)
{
    onnx_contents *self = calloc(1, sizeof *self);
    onnx_field field;
    self->file = onnx_load(path, &self->bytes);
    for (onnx_text rest = {self->file, self->bytes}; onnx_next(&rest, &field);) {
        if (field.number == 1)
            self->ir_version = field.integer;
        if (field.number == 8)
            for (onnx_text opset = field.bytes; onnx_next(&opset, &field);)
                self->opset = field.number == 2 ? field.integer : self->opset;
        else if (field.number == 7)
            onnx_read_graph(self, field.bytes);
        else if (field.number == 14) {
            ck_assert_uint_lt(self->property_count, ONNX_PROPERTIES);
            self->keys[self->property_count] = onnx_find(field.bytes, 1);
            self->properties[self->property_count++] = onnx_find(field.bytes, 2);
        }
    }
    return self;
}

static inline void onnx_free(onnx_contents *self)
{
    free(self->file);
    free(self);
}

#endif
