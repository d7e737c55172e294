/* Reads safetensors files, or memory that holds one: the header when the file is opened, then
 * single tensors. */
#include "io/safetensors.h"

#include "base/size.h"
#include "io/file_kind.h"
#include "io/safetensors_header.h"
#include "tensor/convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sv_safetensors {
    sv_allocator allocator;
    sv_byte_source source;
    char *path;      /* or the name of the memory, in messages */
    sv_json *header; /* owns the names and the metadata */
    sv_safetensors_entry *entries;
    const sv_safetensors_entry **by_name;
    size_t count;
    sv_safetensors **parts; /* [part_count], of a file that is several ones; else NULL */
    size_t part_count;
};

/*@ requires \valid_read(b + (0 .. 7));
    assigns \nothing; */
static uint64_t load_u64(const uint8_t b[8])
{
    uint64_t value = 0;
    /*@ loop invariant -1 <= i <= 7;
        loop assigns i, value; */
    for (int i = 7; i >= 0; i--)
        value = value << 8 | b[i];
    return value;
}

/* Fails with the format that the file looks like, if it is a known one. Called if the header's
 * length is impossible. */
/*@ predicate sourced(sv_safetensors *file) =
        file->source.file == \null ==>
        \valid_read((char *)file->source.memory + (0 .. file->source.bytes - 1)); */
/*@ requires \valid_read(file) && sourced((sv_safetensors *)file);
    requires (err == \null || \valid(err)) && \separated(file, err);
    assigns *err; */
static svit_status check_kind(const sv_safetensors *file, svit_error *err)
{
    uint8_t start[SV_FILE_START];
    uint64_t bytes = file->source.bytes;
    size_t read = bytes < sizeof start ? (size_t)bytes : sizeof start;
    SVIT_TRY(sv_byte_source_read(&file->source, 0, start, read, err));
    const char *kind = sv_file_kind(start, read);
    if (!kind)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_FORMAT, "%s is %s, not a safetensors file", file->path, kind);
}

/* Reads the length of the header from the first 8 bytes. */
/*@ requires \valid(length) && \valid(file) && sourced(file) && (err == \null || \valid(err));
    requires \separated(length, file, err);
    assigns *length, *err;
    ensures \result == SVIT_OK ==> *length + 8 <= file->source.bytes;
    ensures \result == SVIT_OK ==> *length <= 100000000; */
static svit_status read_header_length(uint64_t *length, sv_safetensors *file, svit_error *err)
{
    uint64_t file_bytes = file->source.bytes;
    uint8_t bytes[8];
    if (file_bytes < sizeof bytes)
        SVIT_TRY(check_kind(file, err));
    if (file_bytes < sizeof bytes)
        return sv_fail(
            err, SVIT_E_FORMAT,
            "%s: %llu bytes are no safetensors file, which starts with 8 bytes of header length",
            file->path, (unsigned long long)file_bytes);
    SVIT_TRY(sv_byte_source_read(&file->source, 0, bytes, sizeof bytes, err));
    *length = load_u64(bytes);
    if (*length > SV_SAFETENSORS_HEADER_LIMIT)
        SVIT_TRY(check_kind(file, err));
    if (*length > SV_SAFETENSORS_HEADER_LIMIT)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: header of %llu bytes; a safetensors header has at most %llu",
                       file->path, (unsigned long long)*length,
                       (unsigned long long)SV_SAFETENSORS_HEADER_LIMIT);
    if (*length > file_bytes - sizeof bytes)
        return sv_fail(err, SVIT_E_FORMAT, "%s: header of %llu bytes in a file of %llu: cut short",
                       file->path, (unsigned long long)*length, (unsigned long long)file_bytes);
    return SVIT_OK;
}

static svit_status read_header(sv_safetensors *file, uint64_t length, svit_error *err)
{
    size_t bytes = (size_t)length;
    char *text = sv_allocate(&file->allocator, bytes);
    if (!text)
        return sv_fail_memory(err, bytes, "a safetensors header");
    svit_status status = sv_byte_source_read(&file->source, 8, text, bytes, err);
    if (status == SVIT_OK)
        status =
            sv_json_parse_tolerant(&file->header, &file->allocator, text, bytes, file->path, err);
    sv_release(&file->allocator, text, bytes);
    return status;
}

static int by_name(const void *a, const void *b)
{
    const sv_safetensors_entry *const *x = a;
    const sv_safetensors_entry *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static int name_order(const void *key, const void *element)
{
    const sv_safetensors_entry *const *entry = element;
    return strcmp(key, (*entry)->name);
}

static svit_status allocate_entries(sv_safetensors *file, size_t count, svit_error *err)
{
    SVIT_TRY(sv_allocate_array(&file->allocator, (void **)&file->entries, count,
                               sizeof *file->entries, "safetensors entries", err));
    file->count = count;
    return sv_allocate_array(&file->allocator, (void **)&file->by_name, count,
                             sizeof *file->by_name, "safetensors names", err);
}

static void sort_names(sv_safetensors *file)
{
    for (size_t i = 0; i < file->count; i++)
        file->by_name[i] = &file->entries[i];
    if (file->count)
        qsort(file->by_name, file->count, sizeof *file->by_name, by_name);
}

static svit_status read_entries(sv_safetensors *file, uint64_t data_start, svit_error *err)
{
    const sv_json_value *header = sv_json_root(file->header);
    size_t count = sv_safetensors_entries(header);
    SVIT_TRY(allocate_entries(file, count, err));
    SVIT_TRY(sv_safetensors_check(file->entries, count, header, data_start, file->source.bytes,
                                  file->path, err));
    sort_names(file);
    return SVIT_OK;
}

static svit_status open_file(sv_safetensors *file, const char *path, svit_error *err)
{
    file->path = sv_copy_text(&file->allocator, path);
    if (!file->path)
        return sv_fail_memory(err, strlen(path) + 1, "a path");
    if (!file->source.memory)
        SVIT_TRY(sv_byte_source_open(&file->source, &file->allocator, path, err));
    uint64_t length = 0;
    SVIT_TRY(read_header_length(&length, file, err));
    SVIT_TRY(read_header(file, length, err));
    return read_entries(file, 8 + length, err);
}

/* Opens `source` under a name, or the file at the path `name` if it has no memory. */
static svit_status open_source(sv_safetensors **out, const sv_allocator *allocator,
                               const char *name, sv_byte_source source, svit_error *err)
{
    sv_safetensors *file;
    SVIT_TRY(
        sv_allocate_array(allocator, (void **)&file, 1, sizeof *file, "a safetensors file", err));
    file->allocator = *allocator;
    file->source = source;
    svit_status status = open_file(file, name, err);
    if (status != SVIT_OK)
        sv_safetensors_close(file);
    else
        *out = file;
    return status;
}

svit_status sv_safetensors_open(sv_safetensors **out, const sv_allocator *allocator,
                                const char *path, svit_error *err)
{
    return open_source(out, allocator, path, (sv_byte_source){0}, err);
}

svit_status sv_safetensors_open_memory(sv_safetensors **out, const sv_allocator *allocator,
                                       const char *name, const void *data, size_t bytes,
                                       svit_error *err)
{
    return open_source(out, allocator, name, sv_byte_source_memory(data, bytes), err);
}

void sv_safetensors_close(sv_safetensors *file)
{
    if (!file)
        return;
    sv_allocator allocator = file->allocator;
    if (file->by_name)
        sv_release(&allocator, file->by_name, file->count * sizeof *file->by_name);
    if (file->entries)
        sv_release(&allocator, file->entries, file->count * sizeof *file->entries);
    for (size_t i = 0; i < file->part_count; i++)
        sv_safetensors_close(file->parts[i]);
    if (file->parts)
        sv_release(&allocator, file->parts, file->part_count * sizeof *file->parts);
    sv_json_free(file->header);
    sv_byte_source_close(&allocator, &file->source);
    if (file->path)
        sv_release_text(&allocator, file->path);
    sv_release(&allocator, file, sizeof *file);
}

size_t sv_safetensors_count(const sv_safetensors *file)
{
    return file->count;
}

const sv_safetensors_entry *sv_safetensors_at(const sv_safetensors *file, size_t index)
{
    return index < file->count ? &file->entries[index] : NULL;
}

const sv_safetensors_entry *sv_safetensors_find(const sv_safetensors *file, const char *name)
{
    if (file->count == 0)
        return NULL;
    const sv_safetensors_entry **found =
        bsearch(name, file->by_name, file->count, sizeof *file->by_name, name_order);
    return found ? *found : NULL;
}

/* Bytes that the names of all tensors begin with, up to a dot: those that the first and the last in
 * alphabetical order share. */
static size_t common_prefix(const sv_safetensors *file)
{
    const char *first = file->by_name[0]->name, *last = file->by_name[file->count - 1]->name;
    size_t length = 0;
    while (first[length] && first[length] == last[length])
        length++;
    while (length > 0 && first[length - 1] != '.')
        length--;
    return length;
}

const char *sv_safetensors_prefix_hint(char text[SV_PREFIX_HINT], const sv_safetensors *file,
                                       const char *wanted)
{
    const size_t length = file->count > 1 ? common_prefix(file) : 0;
    text[0] = '\0';
    if (length > 0 && strncmp(wanted, file->entries[0].name, length) != 0)
        snprintf(text, SV_PREFIX_HINT, "; the names of all its tensors begin with '%.*s'",
                 (int)sv_size_min(length, 60), file->entries[0].name);
    return text;
}

const char *sv_safetensors_metadata(const sv_safetensors *file, const char *key)
{
    if (!file->header)
        return NULL;
    const sv_json_value *header = sv_json_root(file->header);
    return sv_json_text(sv_json_get(sv_json_get(header, "__metadata__"), key));
}

svit_status sv_safetensors_check_f32(const sv_safetensors *file, const sv_safetensors_entry *entry,
                                     svit_error *err)
{
    char shape[SV_SHAPE_TEXT];
    bool held = true;
    for (size_t i = 0; i < entry->desc.rank; i++)
        held = held && entry->desc.shape[i] != SV_LENGTH_NOT_HELD;
    if (held && (sv_converts_to_f32(entry->desc.dtype) || entry->desc.dtype == SV_DTYPE_F64))
        return SVIT_OK;
    return sv_fail(err, SVIT_E_FORMAT,
                   "%s: tensor '%.64s' is %s %s; F32, F16, BF16, F64 and I8 of up to %d dimensions "
                   "are read",
                   file->path, entry->name, sv_dtype_name(entry->desc.dtype),
                   sv_tensor_desc_text(shape, &entry->desc), SV_MAX_RANK);
}

/* The file that holds the data of a tensor. */
static const sv_safetensors *part_of(const sv_safetensors *file, const sv_safetensors_entry *entry)
{
    return file->parts ? file->parts[entry->part] : file;
}

/* Doubles are larger than what they become, so they are read piece by piece. */
static svit_status read_f64(const sv_safetensors *file, const sv_safetensors_entry *entry,
                            float *out, svit_error *err)
{
    enum { PIECE = 512 };
    uint8_t piece[PIECE * 8];
    for (size_t done = 0; done < entry->desc.elements; done += PIECE) {
        const size_t count = sv_size_min(entry->desc.elements - done, PIECE);
        SVIT_TRY(
            sv_byte_source_read(&file->source, entry->offset + done * 8, piece, count * 8, err));
        sv_convert_f64_to_f32(out + done, piece, count);
    }
    return SVIT_OK;
}

svit_status sv_safetensors_read_f32(const sv_safetensors *file, const sv_safetensors_entry *entry,
                                    float *out, svit_error *err)
{
    const sv_safetensors *part = part_of(file, entry);
    SVIT_TRY(sv_safetensors_check_f32(part, entry, err));
    if (entry->desc.dtype == SV_DTYPE_F64)
        return read_f64(part, entry, out, err);
    size_t elements = entry->desc.elements;
    uint8_t *stored = (uint8_t *)out + (elements * sizeof *out - (size_t)entry->bytes);
    SVIT_TRY(sv_byte_source_read(&part->source, entry->offset, stored, (size_t)entry->bytes, err));
    sv_convert_to_f32(out, stored, entry->desc.dtype, elements);
    return SVIT_OK;
}

svit_status sv_safetensors_read_bytes(const sv_safetensors *file, const sv_safetensors_entry *entry,
                                      void *out, svit_error *err)
{
    return sv_byte_source_read(&part_of(file, entry)->source, entry->offset, out,
                               (size_t)entry->bytes, err);
}

svit_status sv_safetensors_map(const sv_safetensors *file, sv_mapping *out, svit_error *err)
{
    if (!file->source.file)
        return sv_fail(err, SVIT_E_UNSUPPORTED, "%s cannot be mapped", file->path);
    return sv_mapping_create(out, file->source.file, err);
}

/* Opens the parts, and copies their entries behind each other. */
static svit_status join(sv_safetensors *file, const char *const *paths, size_t count,
                        svit_error *err)
{
    size_t entries = 0;
    SVIT_TRY(sv_allocate_array(&file->allocator, (void **)&file->parts, count, sizeof *file->parts,
                               "the parts of a file", err));
    file->part_count = count;
    for (size_t i = 0; i < count; i++) {
        SVIT_TRY(sv_safetensors_open(&file->parts[i], &file->allocator, paths[i], err));
        entries += file->parts[i]->count;
    }
    SVIT_TRY(allocate_entries(file, entries, err));
    for (size_t i = 0, at = 0; i < count; i++)
        for (size_t k = 0; k < file->parts[i]->count; k++, at++) {
            file->entries[at] = file->parts[i]->entries[k];
            file->entries[at].part = i;
        }
    sort_names(file);
    for (size_t i = 1; i < entries; i++)
        if (strcmp(file->by_name[i - 1]->name, file->by_name[i]->name) == 0)
            return sv_fail(err, SVIT_E_FORMAT, "%s: tensor '%.96s' is in two of its files",
                           file->path, file->by_name[i]->name);
    return SVIT_OK;
}

svit_status sv_safetensors_join(sv_safetensors **out, const sv_allocator *allocator,
                                const char *name, const char *const *paths, size_t count,
                                svit_error *err)
{
    sv_safetensors *file;
    SVIT_TRY(
        sv_allocate_array(allocator, (void **)&file, 1, sizeof *file, "a safetensors file", err));
    file->allocator = *allocator;
    file->path = sv_copy_text(allocator, name);
    const svit_status status = file->path ? join(file, paths, count, err)
                                          : sv_fail_memory(err, strlen(name) + 1, "a path");
    if (status != SVIT_OK)
        sv_safetensors_close(file);
    else
        *out = file;
    return status;
}
