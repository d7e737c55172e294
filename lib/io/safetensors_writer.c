/* Writes safetensors files: first the complete header, then one tensor after the other. */
#include "base/numbers/byte_order.h"
#include "io/safetensors_header.h"
#include "tensor/convert.h"

#include <stdbool.h>
#include <string.h>

/* "name":{"dtype":"F32","shape":[...],"data_offsets":[begin,begin+bytes]} */
static void put_tensor(sv_json_writer *header, const sv_safetensors_tensor *tensor, uint64_t begin)
{
    sv_json_put_key(header, tensor->name);
    sv_json_begin(header, '{');
    sv_json_put_key(header, "dtype");
    sv_json_put_text(header, sv_dtype_name(tensor->desc->dtype));
    sv_json_put_key(header, "shape");
    sv_json_begin(header, '[');
    for (size_t i = 0; i < tensor->desc->rank; i++)
        sv_json_put_i64(header, tensor->desc->shape[i]);
    sv_json_end(header, ']');
    sv_json_put_key(header, "data_offsets");
    sv_json_begin(header, '[');
    sv_json_put_u64(header, begin);
    sv_json_put_u64(header, begin + sv_tensor_desc_bytes(tensor->desc));
    sv_json_end(header, ']');
    sv_json_end(header, '}');
}

/* Writes the header. Returns the bytes of data that it describes. */
static uint64_t put_header(sv_json_writer *header, const char *metadata,
                           const sv_safetensors_tensor *tensors, size_t count)
{
    uint64_t offset = 0;
    sv_json_begin(header, '{');
    sv_json_put_key(header, "__metadata__");
    sv_json_put_raw(header, metadata);
    for (size_t i = 0; i < count; i++) {
        put_tensor(header, &tensors[i], offset);
        offset += sv_tensor_desc_bytes(tensors[i].desc);
    }
    sv_json_end(header, '}');
    return offset;
}

static bool is_same(const sv_safetensors_entry *entry, const sv_safetensors_tensor *tensor,
                    uint64_t begin)
{
    return strcmp(entry->name, tensor->name) == 0 && entry->offset == begin &&
           sv_tensor_desc_equal(&entry->desc, tensor->desc);
}

/* Compares the parsed header with the tensors. `entries` has room for all entries of the header. */
static svit_status compare(sv_safetensors_entry *entries, const sv_json_value *header,
                           uint64_t data_bytes, const sv_safetensors_tensor *tensors,
                           const char *path, svit_error *err)
{
    uint64_t begin = 0;
    SVIT_TRY(sv_safetensors_list(entries, header, 0, data_bytes, path, err));
    for (size_t i = 0; i < sv_safetensors_entries(header); i++) {
        if (!is_same(&entries[i], &tensors[i], begin))
            return sv_fail(err, SVIT_E_FORMAT,
                           "%s: the header does not read back the same for tensor '%s'", path,
                           tensors[i].name);
        begin += entries[i].bytes;
    }
    return SVIT_OK;
}

enum { LENGTH_BYTES = 8 };

/* Spaces behind the header, so that mapped tensors are aligned like allocated ones. */
static size_t padding_of(const sv_json_writer *header)
{
    return (SV_ALIGNMENT - (LENGTH_BYTES + header->length) % SV_ALIGNMENT) % SV_ALIGNMENT;
}

/* Parses the header as a reader would and compares the entries with `tensors`. A header that could
 * not be read must not replace a good file. */
static svit_status read_back(const sv_json_writer *text, uint64_t data_bytes,
                             const sv_safetensors_tensor *tensors, size_t count, const char *path,
                             svit_error *err)
{
    const size_t bytes = text->length + padding_of(text);
    if (bytes > SV_SAFETENSORS_HEADER_LIMIT)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s: names and metadata make a header of %zu bytes; at most %llu are read",
                       path, bytes, (unsigned long long)SV_SAFETENSORS_HEADER_LIMIT);
    sv_json *json;
    SVIT_TRY(sv_json_parse_object(&json, text->allocator, text->text, text->length, path, err));
    sv_safetensors_entry *entries = NULL;
    svit_status status =
        sv_safetensors_entries(sv_json_root(json)) == count
            ? sv_allocate_array(text->allocator, (void **)&entries, count, sizeof *entries,
                                "a header that is read back", err)
            : sv_fail(err, SVIT_E_FORMAT, "%s: the header does not read back the same", path);
    if (status == SVIT_OK)
        status = compare(entries, sv_json_root(json), data_bytes, tensors, path, err);
    sv_release(text->allocator, entries, count * sizeof *entries);
    sv_json_free(json);
    return status;
}

/* Writes the header's text and reads it back. The caller frees the writer, also after a failure. */
static svit_status make_header(sv_json_writer *header, const char *metadata,
                               const sv_safetensors_tensor *tensors, size_t count, const char *path,
                               svit_error *err)
{
    uint64_t data_bytes = put_header(header, metadata, tensors, count);
    SVIT_TRY(sv_json_writer_status(header, path, err));
    return read_back(header, data_bytes, tensors, count, path, err);
}

/* Bytes of the whole file. */
static uint64_t file_bytes(const sv_json_writer *header, const sv_safetensors_tensor *tensors,
                           size_t count)
{
    uint64_t bytes = LENGTH_BYTES + header->length + padding_of(header);
    for (size_t i = 0; i < count; i++)
        bytes += sv_tensor_desc_bytes(tensors[i].desc);
    return bytes;
}

/* Writes the length and the header with its padding. */
static svit_status write_header(sv_byte_sink *file, const sv_json_writer *header, svit_error *err)
{
    uint8_t length[LENGTH_BYTES];
    char spaces[SV_ALIGNMENT];
    size_t bytes = header->length, padding = padding_of(header);
    memset(spaces, ' ', sizeof spaces);
    sv_store_little(length, bytes + padding, sizeof length);
    SVIT_TRY(sv_byte_sink_write(file, length, sizeof length, err));
    SVIT_TRY(sv_byte_sink_write(file, header->text, bytes, err));
    return sv_byte_sink_write(file, spaces, padding, err);
}

static svit_status write_tensors(sv_byte_sink *file, float *buffer,
                                 const sv_safetensors_tensor *tensors, size_t count,
                                 sv_safetensors_fill fill, void *user, svit_error *err)
{
    for (size_t i = 0; i < count; i++) {
        fill(buffer, &tensors[i], user);
        const sv_tensor_desc *desc = tensors[i].desc;
        sv_convert_from_f32(buffer, buffer, desc->dtype, desc->elements);
        SVIT_TRY(sv_byte_sink_write(file, buffer, sv_tensor_desc_bytes(desc), err));
    }
    return SVIT_OK;
}

static svit_status write_file(const sv_allocator *allocator, const sv_byte_target *target,
                              const sv_json_writer *header, float *buffer,
                              const sv_safetensors_tensor *tensors, size_t count,
                              sv_safetensors_fill fill, void *user, svit_error *err)
{
    sv_byte_sink file = {0};
    SVIT_TRY(sv_byte_sink_begin(&file, allocator, target, file_bytes(header, tensors, count), err));
    if (sv_byte_target_only_asks(target))
        return SVIT_OK;
    svit_status status = write_header(&file, header, err);
    if (status == SVIT_OK)
        status = write_tensors(&file, buffer, tensors, count, fill, user, err);
    return sv_byte_sink_end(&file, allocator, status, err);
}

svit_status sv_safetensors_write_to(const sv_allocator *allocator, const sv_byte_target *target,
                                    const char *metadata, const sv_safetensors_tensor *tensors,
                                    size_t count, sv_safetensors_fill fill, void *user,
                                    svit_error *err)
{
    size_t largest = 0;
    for (size_t i = 0; i < count; i++)
        if (tensors[i].desc->elements > largest)
            largest = tensors[i].desc->elements;
    float *buffer;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&buffer, largest, sizeof *buffer,
                               "a tensor to be written", err));
    sv_json_writer header = sv_json_writer_make(allocator);
    svit_status status = make_header(&header, metadata, tensors, count, target->name, err);
    if (status == SVIT_OK)
        status = write_file(allocator, target, &header, buffer, tensors, count, fill, user, err);
    sv_json_writer_free(&header);
    sv_release(allocator, buffer, largest * sizeof *buffer);
    return status;
}

svit_status sv_safetensors_write(const sv_allocator *allocator, const char *path,
                                 const char *metadata, const sv_safetensors_tensor *tensors,
                                 size_t count, sv_safetensors_fill fill, void *user,
                                 svit_error *err)
{
    const sv_byte_target target = {.name = path};
    return sv_safetensors_write_to(allocator, &target, metadata, tensors, count, fill, user, err);
}
