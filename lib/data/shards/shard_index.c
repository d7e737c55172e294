/* The file of a shard's index: a header, the samples, and the names of classes. */
#include "data/shards/shard_index.h"

#include "base/numbers/byte_order.h"
#include "base/numbers/hash.h"
#include "base/size.h"
#include "base/text/utf8.h"
#include "data/decoding/image_file.h"
#include "data/shards/tar.h"

#include <stdio.h>
#include <string.h>

/* "svitidx1" as a number. */
static const uint64_t MAGIC = 0x3178646974697673u;

/* The header of the file. */
typedef struct header {
    uint64_t magic;
    uint64_t checksum; /* of all that follows */
    uint64_t shard_bytes;
    int64_t shard_modified;
    uint64_t count, name_bytes;
    uint32_t labels, name_count;
} header;

enum { WIDE_FIELDS = 6, NARROW_FIELDS = 2, CHECKED = offsetof(header, shard_bytes) };

/* Converts a header from memory to the file's byte order, or back. */
static void convert_header(header *head)
{
    sv_little_endian(head, sizeof head->magic, WIDE_FIELDS);
    sv_little_endian(&head->labels, sizeof head->labels, NARROW_FIELDS);
}

/* Converts samples[count], likewise. */
static void convert_samples(sv_shard_sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sv_little_endian(&samples[i].offset, sizeof samples[i].offset, 1);
        sv_little_endian(&samples[i].bytes, sizeof samples[i].bytes, 2);
    }
}

/* Goes on with a hash (base/numbers/hash.h) over words of 64 bits of the file, and the bytes that
 * are left. */
static uint64_t add_checksum(uint64_t sum, const void *data, size_t bytes)
{
    const unsigned char *from = data;
    for (; bytes >= 8; bytes -= 8, from += 8) {
        uint64_t word;
        memcpy(&word, from, sizeof word);
        sv_little_endian(&word, sizeof word, 1);
        sum = (sum ^ word) * SV_FNV_PRIME;
        sum ^= sum >> 32; /* so that high bits reach the low ones */
    }
    for (; bytes > 0; bytes--)
        sum = (sum ^ *from++) * SV_FNV_PRIME;
    return sum;
}

/* The header of an index as in its file, in which samples[] are, too. */
static header header_of(const sv_shard_index *index)
{
    header head = {.magic = MAGIC,
                   .shard_bytes = index->shard_bytes,
                   .shard_modified = index->shard_modified,
                   .count = index->count,
                   .name_bytes = index->name_bytes,
                   .labels = index->labels,
                   .name_count = index->name_count};
    convert_header(&head);
    uint64_t sum = add_checksum(SV_FNV_BASIS, (const char *)&head + CHECKED, sizeof head - CHECKED);
    sum = add_checksum(sum, index->samples, index->count * sizeof *index->samples);
    head.checksum = add_checksum(sum, index->names, index->name_bytes);
    sv_little_endian(&head.checksum, sizeof head.checksum, 1);
    return head;
}

/* Whether the names are as many as they should be, valid, and in byte order. */
/*@ requires \valid_read(index) && \valid_read(index->names + (0 .. index->name_bytes - 1));
    assigns \nothing; */
static bool names_are_valid(const sv_shard_index *index)
{
    const char *before = "";
    size_t at = 0, count = 0;
    if (index->name_bytes > 0 && index->names[index->name_bytes - 1] != '\0')
        return false;
    /*@ loop invariant at <= index->name_bytes && valid_read_string(before);
        loop assigns at, count, before; */
    for (; at < index->name_bytes; count++) {
        const char *name = index->names + at;
        /*@ assert name[index->name_bytes - 1 - at] == 0; */
        if (strcmp(before, name) >= 0 || !sv_utf8_valid(name))
            return false;
        before = name;
        at += strlen(name) + 1;
    }
    return count == index->name_count && (index->labels == SV_LABELS_TEXT) == (count > 0);
}

/* Whether each sample lies within the shard and has a class. */
/*@ requires \valid_read(index) && \valid_read(index->samples + (0 .. index->count - 1));
    assigns \nothing; */
static bool samples_are_valid(const sv_shard_index *index)
{
    const int32_t classes =
        index->labels == SV_LABELS_TEXT ? (int32_t)index->name_count : SV_SHARD_CLASSES;
    /*@ loop invariant i <= index->count;
        loop assigns i; */
    for (size_t i = 0; i < index->count; i++) {
        const sv_shard_sample *sample = &index->samples[i];
        if (sample->offset < SV_TAR_BLOCK || sample->offset > index->shard_bytes ||
            sample->bytes > index->shard_bytes - sample->offset ||
            sample->bytes > SV_IMAGE_FILE_LIMIT || sample->label < 0 || sample->label >= classes)
            return false;
    }
    return (index->labels == SV_LABELS_NONE) == (index->count == 0);
}

/* Takes the index from the bytes of a file. *is_valid: they are not damaged, and of this state of
 * the shard. The caller frees *out otherwise. SVIT_E_MEMORY. */
static svit_status take_index(sv_shard_index *out, bool *is_valid, const sv_allocator *allocator,
                              const char *data, size_t bytes, const sv_file *shard, svit_error *err)
{
    header head;
    size_t sample_bytes, wanted;
    *is_valid = false;
    if (bytes < sizeof head)
        return SVIT_OK;
    memcpy(&head, data, sizeof head);
    convert_header(&head);
    if (head.magic != MAGIC || head.shard_bytes != sv_file_size(shard) ||
        head.shard_modified != sv_file_modified(shard) || head.labels > SV_LABELS_TEXT ||
        head.count > bytes || head.name_bytes > bytes || head.name_count > INT32_MAX ||
        !sv_size_multiply(&sample_bytes, (size_t)head.count, sizeof *out->samples) ||
        !sv_size_add(&wanted, sample_bytes, sizeof head + (size_t)head.name_bytes) ||
        wanted != bytes ||
        add_checksum(SV_FNV_BASIS, data + CHECKED, bytes - CHECKED) != head.checksum)
        return SVIT_OK;
    *out = (sv_shard_index){.shard_bytes = head.shard_bytes,
                            .shard_modified = head.shard_modified,
                            .samples = sv_allocate(allocator, sample_bytes),
                            .count = (size_t)head.count,
                            .capacity = (size_t)head.count,
                            .names = sv_allocate(allocator, (size_t)head.name_bytes),
                            .name_bytes = (size_t)head.name_bytes,
                            .name_capacity = (size_t)head.name_bytes,
                            .name_count = head.name_count,
                            .labels = head.labels};
    if (!out->samples || !out->names)
        return sv_fail_memory(err, wanted, "the index of a shard");
    memcpy(out->samples, data + sizeof head, sample_bytes);
    memcpy(out->names, data + sizeof head + sample_bytes, out->name_bytes);
    convert_samples(out->samples, out->count);
    *is_valid = names_are_valid(out) && samples_are_valid(out);
    return SVIT_OK;
}

/* What is at the path of an index. */
typedef enum found {
    FOREIGN, /* something else, which is not replaced */
    STALE,   /* nothing, an empty file, or an index of no use, which is */
    VALID    /* the index of the shard */
} found;

/* Whether a file is empty or begins as an index does, which may have been cut. */
static bool is_replaceable(const char *data, size_t bytes)
{
    uint64_t magic = MAGIC;
    sv_little_endian(&magic, sizeof magic, 1);
    return memcmp(data, &magic, sv_size_min(bytes, sizeof magic)) == 0;
}

/* Reads the file of an index to *out, if *what becomes VALID. SVIT_E_MEMORY. */
static svit_status read_index(sv_shard_index *out, found *what, const sv_allocator *allocator,
                              const char *path, const sv_file *shard, svit_error *err)
{
    void *data = NULL;
    size_t bytes = 0;
    bool is_valid = false;
    *what = sv_is_absent(path) ? STALE : FOREIGN;
    svit_error cause = {.struct_size = sizeof cause};
    svit_status status = sv_file_read(&data, &bytes, allocator, path, INT32_MAX, &cause);
    if (status != SVIT_OK)
        return status == SVIT_E_MEMORY ? svit_error_set(err, status, cause.message) : SVIT_OK;
    *what = is_replaceable(data, bytes) ? STALE : FOREIGN;
    status = take_index(out, &is_valid, allocator, data, bytes, shard, err);
    sv_release(allocator, data, bytes + 1);
    if (is_valid)
        *what = VALID;
    else
        sv_shard_index_free(allocator, out);
    return status;
}

/* Writes the file, with samples[] as in it, if that is possible. An index that cannot be kept is
 * made again the next time. SVIT_E_MEMORY. */
static svit_status write_converted(const sv_shard_index *index, const sv_allocator *allocator,
                                   const char *path, svit_error *err)
{
    const header head = header_of(index);
    sv_replacement *file = NULL;
    svit_error cause = {.struct_size = sizeof cause};
    const svit_status status = sv_replacement_begin(&file, allocator, path, &cause);
    if (status != SVIT_OK)
        return status == SVIT_E_MEMORY ? svit_error_set(err, status, cause.message) : SVIT_OK;
    if (sv_replacement_write(file, &head, sizeof head, NULL) == SVIT_OK &&
        sv_replacement_write(file, index->samples, index->count * sizeof *index->samples, NULL) ==
            SVIT_OK &&
        sv_replacement_write(file, index->names, index->name_bytes, NULL) == SVIT_OK)
        sv_replacement_commit(allocator, file, NULL);
    else
        sv_replacement_abandon(allocator, file);
    return SVIT_OK;
}

static svit_status write_index(sv_shard_index *index, const sv_allocator *allocator,
                               const char *path, svit_error *err)
{
    convert_samples(index->samples, index->count);
    const svit_status status = write_converted(index, allocator, path, err);
    convert_samples(index->samples, index->count);
    return status;
}

/* Reads or makes the index of the shard `file`; `name` is the path of its index. An archive with an
 * odd end gets none, so that it is read, and its end seen, the next time, too. */
static svit_status open_index(sv_shard_index *out, const sv_allocator *allocator, sv_file *file,
                              const char *path, const char *name, svit_error *err)
{
    found what;
    SVIT_TRY(read_index(out, &what, allocator, name, file, err));
    if (what == VALID)
        return SVIT_OK;
    svit_status status = sv_shard_index_make(out, allocator, file, path, err);
    if (status == SVIT_OK && what == STALE && out->end == SV_TAR_END_ZEROS)
        status = write_index(out, allocator, name, err);
    if (status != SVIT_OK)
        sv_shard_index_free(allocator, out);
    return status;
}

svit_status sv_shard_index_open(sv_shard_index *out, const sv_allocator *allocator,
                                const char *path, svit_error *err)
{
    const size_t bytes = strlen(path) + sizeof SV_SHARD_INDEX_ENDING;
    sv_file *file = NULL;
    *out = (sv_shard_index){0};
    char *name = sv_allocate(allocator, bytes);
    if (!name)
        return sv_fail_memory(err, bytes, "a file's name");
    snprintf(name, bytes, "%s" SV_SHARD_INDEX_ENDING, path);
    svit_status status = sv_file_open(&file, allocator, path, err);
    if (status == SVIT_OK)
        status = open_index(out, allocator, file, path, name, err);
    sv_file_close(allocator, file);
    sv_release(allocator, name, bytes);
    return status;
}

void sv_shard_index_free(const sv_allocator *allocator, sv_shard_index *index)
{
    sv_release(allocator, index->samples, index->capacity * sizeof *index->samples);
    sv_release(allocator, index->names, index->name_capacity);
    *index = (sv_shard_index){0};
}
