/* Protocol buffers: a field is a key, which is its number and its wire type, and a value. */
#include "io/protobuf_writer.h"

#include "base/numbers/byte_order.h"
#include "base/size.h"

#include <stdbool.h>
#include <string.h>

/* Wire types. */
enum { WIRE_VARINT = 0, WIRE_64_BITS = 1, WIRE_BYTES = 2, WIRE_32_BITS = 5 };

/* Bytes of the longest varint. */
enum { VARINT_MAX = 10 };

sv_protobuf_writer sv_protobuf_make(const sv_allocator *allocator)
{
    return (sv_protobuf_writer){.allocator = allocator};
}

void sv_protobuf_free(sv_protobuf_writer *writer)
{
    sv_release(writer->allocator, writer->data, writer->capacity);
    *writer = sv_protobuf_make(writer->allocator);
}

/* Makes room for `more` bytes. */
static bool reserve(sv_protobuf_writer *writer, size_t more)
{
    size_t needed;
    if (writer->status != SVIT_OK)
        return false;
    writer->status = SVIT_E_MEMORY;
    if (!sv_size_add(&needed, writer->length, more))
        return false;
    if (needed > writer->capacity) {
        uint8_t *data =
            sv_enlarge(writer->allocator, writer->data, writer->length, &writer->capacity, needed);
        if (!data)
            return false;
        writer->data = data;
    }
    writer->status = SVIT_OK;
    return true;
}

void sv_protobuf_append(sv_protobuf_writer *writer, const void *data, size_t bytes)
{
    if (bytes == 0 || !reserve(writer, bytes))
        return;
    memcpy(writer->data + writer->length, data, bytes);
    writer->length += bytes;
}

/* Seven bits a byte, the lowest first; the eighth bit says that another byte follows. Returns the
 * number of bytes. */
static size_t encode_varint(uint8_t out[VARINT_MAX], uint64_t value)
{
    size_t bytes = 0;
    for (; value >= 128; value >>= 7)
        out[bytes++] = (uint8_t)(value | 128);
    out[bytes++] = (uint8_t)value;
    return bytes;
}

static void append_varint(sv_protobuf_writer *writer, uint64_t value)
{
    uint8_t bytes[VARINT_MAX];
    sv_protobuf_append(writer, bytes, encode_varint(bytes, value));
}

static void append_key(sv_protobuf_writer *writer, unsigned field, unsigned wire)
{
    append_varint(writer, field << 3 | wire);
}

void sv_protobuf_put_integer(sv_protobuf_writer *writer, unsigned field, int64_t value)
{
    append_key(writer, field, WIRE_VARINT);
    append_varint(writer, (uint64_t)value);
}

void sv_protobuf_append_little(sv_protobuf_writer *writer, uint64_t value, int bytes)
{
    uint8_t stored[8];
    sv_store_little(stored, value, (unsigned)bytes);
    sv_protobuf_append(writer, stored, (size_t)bytes);
}

void sv_protobuf_put_float(sv_protobuf_writer *writer, unsigned field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    append_key(writer, field, WIRE_32_BITS);
    sv_protobuf_append_little(writer, bits, 4);
}

void sv_protobuf_put_double(sv_protobuf_writer *writer, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    append_key(writer, field, WIRE_64_BITS);
    sv_protobuf_append_little(writer, bits, 8);
}

void sv_protobuf_put_length(sv_protobuf_writer *writer, unsigned field, uint64_t bytes)
{
    append_key(writer, field, WIRE_BYTES);
    append_varint(writer, bytes);
}

static void put_bytes(sv_protobuf_writer *writer, unsigned field, const void *data, size_t bytes)
{
    sv_protobuf_put_length(writer, field, bytes);
    sv_protobuf_append(writer, data, bytes);
}

void sv_protobuf_put_words(sv_protobuf_writer *writer, unsigned field, const void *words,
                           unsigned bytes, size_t count)
{
    put_bytes(writer, field, words, count * bytes);
    if (writer->status == SVIT_OK)
        sv_little_endian(writer->data + writer->length - count * bytes, bytes, count);
}

void sv_protobuf_put_text(sv_protobuf_writer *writer, unsigned field, const char *text)
{
    put_bytes(writer, field, text, strlen(text));
}

size_t sv_protobuf_begin(sv_protobuf_writer *writer, unsigned field)
{
    append_key(writer, field, WIRE_BYTES);
    return writer->length;
}

/* The length goes before the message, which is moved by as many bytes as the length has. */
void sv_protobuf_end(sv_protobuf_writer *writer, size_t begin)
{
    uint8_t length[VARINT_MAX];
    if (writer->status != SVIT_OK)
        return;
    size_t message = writer->length - begin, bytes = encode_varint(length, message);
    if (!reserve(writer, bytes))
        return;
    memmove(writer->data + begin + bytes, writer->data + begin, message);
    memcpy(writer->data + begin, length, bytes);
    writer->length += bytes;
}
