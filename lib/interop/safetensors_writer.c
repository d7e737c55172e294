/* Writes safetensors files: the header is made whole first, then the tensors follow one by one. */
#include "base/size.h"
#include "interop/safetensors.h"

#include <string.h>

static void store_u64(uint8_t b[8], uint64_t value)
{
    for (int i = 0; i < 8; i++)
        b[i] = (uint8_t)(value >> 8 * i);
}

static void store_f32(float *values, size_t elements)
{
    for (size_t i = 0; i < elements; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        uint8_t b[4] = {(uint8_t)bits, (uint8_t)(bits >> 8), (uint8_t)(bits >> 16),
                        (uint8_t)(bits >> 24)};
        memcpy(&values[i], b, sizeof b);
    }
}

/* {"dtype":"F32","shape":[...],"data_offsets":[begin,begin+bytes]}, NULL where there is no memory
 */
static json_t *describe(const sv_safetensors_tensor *tensor, uint64_t begin)
{
    json_t *shape = json_array();
    for (size_t i = 0; i < tensor->rank; i++)
        if (json_array_append_new(shape, json_integer(tensor->shape[i])) != 0) {
            json_decref(shape);
            return NULL;
        }
    uint64_t end = begin + tensor->elements * sizeof(float);
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", "F32", "shape", shape, "data_offsets",
                     (json_int_t)begin, (json_int_t)end);
}

/* The header's text, NULL where there is no memory. */
static char *header_text(const json_t *metadata, const sv_safetensors_tensor *tensors, size_t count)
{
    json_t *header = json_object();
    int failed = json_object_set(header, "__metadata__", (json_t *)metadata);
    uint64_t offset = 0;
    for (size_t i = 0; i < count && !failed; i++) {
        failed = json_object_set_new(header, tensors[i].name, describe(&tensors[i], offset));
        offset += tensors[i].elements * sizeof(float);
    }
    char *text = failed ? NULL : sv_json_to_text(header);
    json_decref(header);
    return text;
}

/* The length, the header, and spaces up to a multiple of SV_ALIGNMENT: tensors that are mapped lie
 * as well as those in memory. */
static svit_status write_header(sv_replacement *file, const json_t *metadata,
                                const sv_safetensors_tensor *tensors, size_t count, svit_error *err)
{
    char *text = header_text(metadata, tensors, count);
    if (!text)
        return sv_fail(err, SVIT_E_MEMORY, "no memory for the header of a safetensors file");
    size_t bytes = strlen(text);
    uint8_t length[8];
    char spaces[SV_ALIGNMENT];
    size_t padding = (SV_ALIGNMENT - (sizeof length + bytes) % SV_ALIGNMENT) % SV_ALIGNMENT;
    memset(spaces, ' ', sizeof spaces);
    store_u64(length, bytes + padding);
    svit_status status = sv_replacement_write(file, length, sizeof length, err);
    if (status == SVIT_OK)
        status = sv_replacement_write(file, text, bytes, err);
    if (status == SVIT_OK)
        status = sv_replacement_write(file, spaces, padding, err);
    sv_json_release_text(text);
    return status;
}

static svit_status write_tensors(sv_replacement *file, float *buffer,
                                 const sv_safetensors_tensor *tensors, size_t count,
                                 sv_safetensors_fill fill, void *user, svit_error *err)
{
    for (size_t i = 0; i < count; i++) {
        fill(buffer, &tensors[i], user);
        store_f32(buffer, tensors[i].elements);
        SVIT_TRY(sv_replacement_write(file, buffer, tensors[i].elements * sizeof *buffer, err));
    }
    return SVIT_OK;
}

svit_status sv_safetensors_write(const sv_allocator *allocator, const char *path,
                                 const json_t *metadata, const sv_safetensors_tensor *tensors,
                                 size_t count, sv_safetensors_fill fill, void *user,
                                 svit_error *err)
{
    size_t largest = 0;
    for (size_t i = 0; i < count; i++)
        if (tensors[i].elements > largest)
            largest = tensors[i].elements;
    float *buffer;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&buffer, largest, sizeof *buffer,
                               "a tensor on its way to a file", err));

    sv_replacement *file = NULL;
    svit_status status = sv_replacement_begin(&file, allocator, path, err);
    if (status != SVIT_OK)
        goto done;
    status = write_header(file, metadata, tensors, count, err);
    if (status == SVIT_OK)
        status = write_tensors(file, buffer, tensors, count, fill, user, err);
    if (status == SVIT_OK)
        status = sv_replacement_commit(allocator, file, err);
    else
        sv_replacement_abandon(allocator, file);
done:
    sv_release(allocator, buffer, largest * sizeof *buffer);
    return status;
}
