/* Parses and checks safetensors headers. The file is not trusted: every statement about a tensor is
 * checked. */
#include "io/safetensors_header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Reads a whole number from 0. The sign of -0 is none of the reference's integers. */
/*@ requires value == \null || json_value((sv_json_value *)value);
    requires \valid(out);
    assigns *out; */
static bool read_length(const sv_json_value *value, uint64_t *out)
{
    return value && !value->negative && sv_json_u64(value, out);
}

/* Reads the shape: whole numbers from 0, whose product fits a size. */
/*@ requires \valid(entry) && \separated(entry, err) && (err == \null || \valid(err));
    requires array == \null || json_value((sv_json_value *)array);
    requires 0 <= dtype <= SV_DTYPE_BOOL;
    assigns entry->desc, *err;
    ensures \result == SVIT_OK ==> 0 <= entry->desc.dtype <= SV_DTYPE_BOOL; */
static svit_status read_shape(sv_safetensors_entry *entry, sv_dtype dtype,
                              const sv_json_value *array, const char *path, svit_error *err)
{
    sv_tensor_desc desc = {.dtype = dtype, .elements = 1};
    uint64_t length = 0;
    if (!array || array->kind != SV_JSON_ARRAY)
        return sv_fail(err, SVIT_E_FORMAT, "%s: tensor '%.64s': shape is not an array", path,
                       entry->name);
    const sv_json_value *size = array + 1;
    /*@ loop invariant i <= array->count && json_chain((sv_json_value *)size, array->count - i);
        loop invariant desc.rank <= SV_MAX_RANK && desc.dtype == dtype;
        loop assigns i, size, length, desc; */
    for (size_t i = 0; i < array->count; i++, size = size->after) {
        if (!read_length(size, &length))
            return sv_fail(err, SVIT_E_FORMAT,
                           "%s: tensor '%.64s': dimension %zu is not a whole number from 0", path,
                           entry->name, i);
        if (!sv_tensor_desc_append(&desc, length))
            return sv_fail(err, SVIT_E_FORMAT,
                           "%s: tensor '%.64s': the product of its shape does not fit memory", path,
                           entry->name);
    }
    entry->desc = desc;
    return SVIT_OK;
}

/* Reads data_offsets, [begin, end] from the start of the data, and turns them into an offset in the
 * file and a size. */
/*@ requires \valid(entry) && \separated(entry, err) && (err == \null || \valid(err));
    requires offsets == \null || json_value((sv_json_value *)offsets);
    requires data_start <= file_bytes;
    assigns entry->offset, entry->bytes, *err;
    ensures \result == SVIT_OK ==> data_start <= entry->offset;
    ensures \result == SVIT_OK ==> entry->offset + entry->bytes <= file_bytes; */
static svit_status read_offsets(sv_safetensors_entry *entry, const sv_json_value *offsets,
                                uint64_t data_start, uint64_t file_bytes, const char *path,
                                svit_error *err)
{
    uint64_t from = 0, to = 0;
    if (!offsets || offsets->kind != SV_JSON_ARRAY || offsets->count != 2 ||
        !read_length(offsets + 1, &from) || !read_length(offsets[1].after, &to))
        return sv_fail(
            err, SVIT_E_FORMAT,
            "%s: tensor '%.64s': data_offsets is not an array of two whole numbers from 0", path,
            entry->name);
    uint64_t data_bytes = file_bytes - data_start;
    if (from > to)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: tensor '%.64s': data_offsets [%" PRIu64 ", %" PRIu64 "] do not ascend",
                       path, entry->name, from, to);
    if (to > data_bytes)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: tensor '%.64s' ends at byte %" PRIu64 " of the data, which has %llu",
                       path, entry->name, to, (unsigned long long)data_bytes);
    entry->offset = data_start + from;
    entry->bytes = to - from;
    return SVIT_OK;
}

static svit_status read_entry(sv_safetensors_entry *entry, const sv_json_value *value,
                              uint64_t data_start, uint64_t file_bytes, const char *path,
                              svit_error *err)
{
    const char *name = value->key;
    entry->name = name;
    const char *dtype_name = sv_json_text(sv_json_get(value, "dtype"));
    sv_dtype dtype;
    if (value->kind != SV_JSON_OBJECT)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: tensor '%.64s' is not an object of dtype, shape and data_offsets", path,
                       name);
    if (!sv_dtype_find(&dtype, dtype_name))
        return sv_fail(err, SVIT_E_FORMAT, "%s: tensor '%.64s' has dtype '%.16s', which is unknown",
                       path, name, dtype_name ? dtype_name : "(no text)");
    SVIT_TRY(read_shape(entry, dtype, sv_json_get(value, "shape"), path, err));
    SVIT_TRY(
        read_offsets(entry, sv_json_get(value, "data_offsets"), data_start, file_bytes, path, err));
    if (!sv_tensor_desc_holds(&entry->desc, entry->bytes))
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: tensor '%.64s' has %zu elements of %zu bits, but %llu bytes of data",
                       path, name, entry->desc.elements, sv_dtype_bits(dtype),
                       (unsigned long long)entry->bytes);
    return SVIT_OK;
}

/*@ requires json_value((sv_json_value *)metadata) && (err == \null || \valid(err));
    assigns *err; */
static svit_status check_metadata(const sv_json_value *metadata, const char *path, svit_error *err)
{
    if (metadata->kind == SV_JSON_NULL)
        return SVIT_OK;
    if (metadata->kind != SV_JSON_OBJECT)
        return sv_fail(err, SVIT_E_FORMAT, "%s: __metadata__ is not an object", path);
    const sv_json_value *value = metadata + 1;
    /*@ loop invariant i <= metadata->count;
        loop invariant json_chain((sv_json_value *)value, metadata->count - i);
        loop assigns i, value; */
    for (size_t i = 0; i < metadata->count; i++, value = value->after)
        if (!sv_json_text(value))
            return sv_fail(err, SVIT_E_FORMAT, "%s: __metadata__: '%.64s' is not text", path,
                           value->key);
    return SVIT_OK;
}

static int by_offset(const void *a, const void *b)
{
    const sv_safetensors_entry *x = a;
    const sv_safetensors_entry *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Checks that each tensor begins where the previous one ends, and the last at the end of the
 * file. */
/*@ requires \valid_read(entries + (0 .. count - 1)) && (err == \null || \valid(err));
    requires \separated(err, entries + (0 .. count - 1));
    requires \forall integer i; 0 <= i < count ==> entries[i].offset >= data_start;
    assigns *err; */
static svit_status check_tiling(const sv_safetensors_entry *entries, size_t count,
                                uint64_t data_start, uint64_t file_bytes, const char *path,
                                svit_error *err)
{
    uint64_t end = data_start;
    /*@ loop invariant i <= count && (i == 0 ==> end == data_start);
        loop assigns i, end; */
    for (size_t i = 0; i < count; i++) {
        if (entries[i].offset < end)
            return sv_fail(err, SVIT_E_FORMAT, "%s: tensor '%.64s' overlaps tensor '%.64s'", path,
                           entries[i].name, entries[i - 1].name);
        if (entries[i].offset > end)
            return sv_fail(err, SVIT_E_FORMAT,
                           "%s: %llu bytes before tensor '%.64s' belong to no tensor", path,
                           (unsigned long long)(entries[i].offset - end), entries[i].name);
        end += entries[i].bytes;
    }
    if (end != file_bytes)
        return sv_fail(err, SVIT_E_FORMAT, "%s: %llu bytes at the end belong to no tensor", path,
                       (unsigned long long)(file_bytes - end));
    return SVIT_OK;
}

size_t sv_safetensors_entries(const sv_json_value *header)
{
    return header->count - (sv_json_get(header, "__metadata__") != NULL);
}

svit_status sv_safetensors_list(sv_safetensors_entry *entries, const sv_json_value *header,
                                uint64_t data_start, uint64_t file_bytes, const char *path,
                                svit_error *err)
{
    sv_safetensors_entry *entry = entries;
    const sv_json_value *value = header + 1;
    for (size_t i = 0; i < header->count; i++, value = value->after) {
        if (strcmp(value->key, "__metadata__") == 0)
            SVIT_TRY(check_metadata(value, path, err));
        else
            SVIT_TRY(read_entry(entry++, value, data_start, file_bytes, path, err));
    }
    return SVIT_OK;
}

svit_status sv_safetensors_check(sv_safetensors_entry *entries, size_t count,
                                 const sv_json_value *header, uint64_t data_start,
                                 uint64_t file_bytes, const char *path, svit_error *err)
{
    SVIT_TRY(sv_safetensors_list(entries, header, data_start, file_bytes, path, err));
    if (count)
        qsort(entries, count, sizeof *entries, by_offset);
    return check_tiling(entries, count, data_start, file_bytes, path, err);
}
