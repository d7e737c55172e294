/* Writes the wire format of protocol buffers to a growing buffer. */
#ifndef SV_PROTOBUF_WRITER_H
#define SV_PROTOBUF_WRITER_H

#include "base/memory.h"

#include <stddef.h>
#include <stdint.h>

/* After the first failure, which stays in `status`, all further calls do nothing. */
typedef struct sv_protobuf_writer {
    const sv_allocator *allocator;
    uint8_t *data; /* NULL while empty */
    size_t length, capacity;
    svit_status status; /* SVIT_OK or SVIT_E_MEMORY */
} sv_protobuf_writer;

/* Returns an empty writer. Release it with sv_protobuf_free, also after a failure. */
sv_protobuf_writer sv_protobuf_make(const sv_allocator *allocator);
void sv_protobuf_free(sv_protobuf_writer *writer);

/* Append a field. A negative integer has ten bytes, as in the types int32 and int64. */
void sv_protobuf_put_integer(sv_protobuf_writer *writer, unsigned field, int64_t value);
void sv_protobuf_put_float(sv_protobuf_writer *writer, unsigned field, float value);
void sv_protobuf_put_double(sv_protobuf_writer *writer, unsigned field, double value);
void sv_protobuf_put_text(sv_protobuf_writer *writer, unsigned field, const char *text);
/* The numbers words[count], each of `bytes` bytes, at most 8, as little-endian bytes. */
void sv_protobuf_put_words(sv_protobuf_writer *writer, unsigned field, const void *words,
                           unsigned bytes, size_t count);

/* Begins a field of `bytes` bytes, which the caller writes elsewhere. */
void sv_protobuf_put_length(sv_protobuf_writer *writer, unsigned field, uint64_t bytes);

/* Appends bytes that are already encoded. */
void sv_protobuf_append(sv_protobuf_writer *writer, const void *data, size_t bytes);

/* Appends the lower `bytes` bytes of an integer, the lowest first. */
void sv_protobuf_append_little(sv_protobuf_writer *writer, uint64_t value, int bytes);

/* Begin and end a field that is a message. sv_protobuf_end takes what sv_protobuf_begin has
 * returned. */
size_t sv_protobuf_begin(sv_protobuf_writer *writer, unsigned field);
void sv_protobuf_end(sv_protobuf_writer *writer, size_t begin);

#endif
