/* Bytes that are read at any offset, and where bytes are written to: a file, or memory of the
 * caller. */
#ifndef SV_BYTE_SOURCE_H
#define SV_BYTE_SOURCE_H

#include "base/files/file.h"

/* Bytes to be read. All zero: none. */
typedef struct sv_byte_source {
    sv_file *file;      /* owned; NULL: the bytes are in memory */
    const void *memory; /* the caller's, for the life of the source */
    uint64_t bytes;     /* of the file when it was opened, or of the memory */
} sv_byte_source;

/* Opens a regular file as a source. SVIT_E_IO; SVIT_E_MEMORY. */
svit_status sv_byte_source_open(sv_byte_source *out, const sv_allocator *allocator,
                                const char *path, svit_error *err);

/* Memory of the caller as a source. Nothing is copied. */
sv_byte_source sv_byte_source_memory(const void *memory, uint64_t bytes);

/* Closes the file, if there is one, and clears *source. */
void sv_byte_source_close(const sv_allocator *allocator, sv_byte_source *source);

/* Reads `bytes` bytes from `offset` on. SVIT_E_FORMAT if the source ends before offset + bytes. Any
 * thread may call it. */
/*@ requires \valid_read(source) && \valid((char *)data + (0 .. bytes - 1));
    requires source->file == \null ==>
        \valid_read((char *)source->memory + (0 .. source->bytes - 1)) &&
        \separated((char *)data + (0 .. bytes - 1),
                   (char *)source->memory + (0 .. source->bytes - 1));
    requires err == \null || \valid(err);
    assigns ((char *)data)[0 .. bytes - 1], *err; */
svit_status sv_byte_source_read(const sv_byte_source *source, uint64_t offset, void *data,
                                size_t bytes, svit_error *err);

/* Where a whole file is written to. */
typedef struct sv_byte_target {
    const char *name; /* the path, which is replaced atomically; or, in memory, a name for messages
                         alone */
    bool in_memory;
    void *buffer;    /* in memory: `capacity` bytes of the caller; NULL only if that is 0 */
    size_t capacity; /* bytes */
    size_t *needed;  /* gets the bytes that the file needs; NULL: not wanted */
} sv_byte_target;

/* Whether the target takes the number of bytes alone. */
static inline bool sv_byte_target_only_asks(const sv_byte_target *target)
{
    return target->in_memory && target->capacity == 0;
}

/* A file in the making. Zero it before sv_byte_sink_begin. */
typedef struct sv_byte_sink {
    sv_replacement *file; /* NULL: memory */
    char *memory;         /* where the next byte is written */
} sv_byte_sink;

/* Begins a file of `bytes` bytes. In memory: writes `bytes` to *target->needed, and
 * SVIT_E_ARGUMENT if they do not fit the capacity; if sv_byte_target_only_asks, nothing must be
 * written then. */
svit_status sv_byte_sink_begin(sv_byte_sink *sink, const sv_allocator *allocator,
                               const sv_byte_target *target, uint64_t bytes, svit_error *err);

/* Appends bytes. In memory there must be room for them. */
svit_status sv_byte_sink_write(sv_byte_sink *sink, const void *data, size_t bytes, svit_error *err);

/* Ends the sink: after `status` SVIT_OK the file replaces the path, otherwise it is abandoned.
 * Returns the first failure. */
svit_status sv_byte_sink_end(sv_byte_sink *sink, const sv_allocator *allocator, svit_status status,
                             svit_error *err);

#endif
