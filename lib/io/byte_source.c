/* Bytes of files and of memory behind one interface. */
#include "io/byte_source.h"

#include <inttypes.h>
#include <string.h>

svit_status sv_byte_source_open(sv_byte_source *out, const sv_allocator *allocator,
                                const char *path, svit_error *err)
{
    sv_file *file;
    SVIT_TRY(sv_file_open(&file, allocator, path, err));
    *out = (sv_byte_source){.file = file, .bytes = sv_file_size(file)};
    return SVIT_OK;
}

sv_byte_source sv_byte_source_memory(const void *memory, uint64_t bytes)
{
    return (sv_byte_source){.memory = memory, .bytes = bytes};
}

void sv_byte_source_close(const sv_allocator *allocator, sv_byte_source *source)
{
    if (source->file)
        sv_file_close(allocator, source->file);
    *source = (sv_byte_source){0};
}

svit_status sv_byte_source_read(const sv_byte_source *source, uint64_t offset, void *data,
                                size_t bytes, svit_error *err)
{
    if (source->file)
        return sv_file_read_at(source->file, offset, data, bytes, err);
    if (offset > source->bytes || bytes > source->bytes - offset)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%zu bytes from byte %" PRIu64 " on do not lie in memory of %" PRIu64
                       " bytes",
                       bytes, offset, source->bytes);
    if (bytes)
        memcpy(data, (const char *)source->memory + offset, bytes);
    return SVIT_OK;
}

svit_status sv_byte_sink_begin(sv_byte_sink *sink, const sv_allocator *allocator,
                               const sv_byte_target *target, uint64_t bytes, svit_error *err)
{
    if (!target->in_memory)
        return sv_replacement_begin(&sink->file, allocator, target->name, err);
    if (bytes > SIZE_MAX)
        return sv_fail(err, SVIT_E_MEMORY, "%s needs %" PRIu64 " bytes, more than memory has",
                       target->name, bytes);
    if (target->needed)
        *target->needed = (size_t)bytes;
    if (sv_byte_target_only_asks(target))
        return SVIT_OK;
    if (bytes > target->capacity)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s needs %" PRIu64 " bytes; capacity is %zu",
                       target->name, bytes, target->capacity);
    sink->memory = target->buffer;
    return SVIT_OK;
}

svit_status sv_byte_sink_write(sv_byte_sink *sink, const void *data, size_t bytes, svit_error *err)
{
    if (sink->file)
        return sv_replacement_write(sink->file, data, bytes, err);
    if (bytes) {
        memcpy(sink->memory, data, bytes);
        sink->memory += bytes;
    }
    return SVIT_OK;
}

svit_status sv_byte_sink_end(sv_byte_sink *sink, const sv_allocator *allocator, svit_status status,
                             svit_error *err)
{
    return sink->file ? sv_replacement_end(allocator, sink->file, status, err) : status;
}
