/* Makes the index of a shard from its archive by WebDataset's rules: members with one key, one
 * behind another, are a sample, and a key is the path up to the first dot of the file's name. */
#include "base/size.h"
#include "base/text/ascii.h"
#include "base/text/unique.h"
#include "data/decoding/image_file.h"
#include "data/decoding/image_formats.h"
#include "data/shards/shard_index.h"
#include "data/shards/shard_label.h"
#include "data/shards/tar.h"

#include <shiftvit/image.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A member that is used: a sample's image or its label. */
typedef struct part {
    uint64_t offset, bytes;
    bool is_there;
} part;

/* What reads an archive. It is large, so it is allocated. */
typedef struct reader {
    sv_shard_index *index;
    sv_tar tar;
    sv_tar_member member;
    char key[SV_TAR_NAME + 1]; /* of the sample that is being read; "": there is none */
    part image, cls, json;
    size_t image_ending; /* index of the image's ending in svit_image_endings; SIZE_MAX: no image */
    unsigned endings;    /* the bit 1 << index of each image ending that the sample has had */
    char where[224];     /* the sample, for messages */
} reader;

/* Splits a member's name. Returns the dot behind the key; NULL if it belongs to no sample: a name
 * without a dot, one that begins with a dot, or what WebDataset keeps for itself, __NAME__ at the
 * top. */
static const char *find_dot(const char *name)
{
    const char *slash = strrchr(name, '/');
    const char *base = slash ? slash + 1 : name, *dot = strchr(base, '.');
    const size_t top = strcspn(name, "/");
    const bool is_meta =
        top >= 4 && memcmp(name, "__", 2) == 0 && memcmp(name + top - 2, "__", 2) == 0;
    return dot == base || is_meta ? NULL : dot;
}

static svit_status grow_samples(sv_shard_index *index, const sv_allocator *allocator,
                                size_t capacity, svit_error *err)
{
    void *memory = NULL;
    SVIT_TRY(sv_allocate_array(allocator, &memory, capacity, sizeof *index->samples,
                               "the index of a shard", err));
    if (index->count)
        memcpy(memory, index->samples, index->count * sizeof *index->samples);
    sv_release(allocator, index->samples, index->capacity * sizeof *index->samples);
    index->samples = memory;
    index->capacity = capacity;
    return SVIT_OK;
}

svit_status sv_shard_add_name(sv_shard_index *index, const sv_allocator *allocator,
                              const char *name, size_t bytes, svit_error *err)
{
    if (bytes > index->name_capacity - index->name_bytes) {
        const size_t capacity =
            sv_size_plus(sv_size_times(2, index->name_capacity), sv_size_max(bytes, 1024));
        char *grown = sv_allocate(allocator, capacity);
        if (!grown)
            return sv_fail_memory(err, capacity, "the names of classes");
        if (index->name_bytes)
            memcpy(grown, index->names, index->name_bytes);
        sv_release(allocator, index->names, index->name_capacity);
        index->names = grown;
        index->name_capacity = capacity;
    }
    memcpy(index->names + index->name_bytes, name, bytes);
    index->name_bytes += bytes;
    return SVIT_OK;
}

static svit_status read_label(reader *self, int32_t *label, svit_error *err)
{
    const part *from = self->cls.is_there ? &self->cls : &self->json;
    const sv_allocator *allocator = self->tar.allocator;
    if (!from->is_there)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s has no label; a member 'cls' or 'json' with its key is needed",
                       self->where);
    if (from->bytes > SV_SHARD_LABEL_LIMIT)
        return sv_fail(err, SVIT_E_FORMAT, "%s has a label of %llu bytes; at most %d are read",
                       self->where, (unsigned long long)from->bytes, SV_SHARD_LABEL_LIMIT);
    const size_t bytes = (size_t)from->bytes;
    char *text = sv_allocate(allocator, bytes + 1);
    if (!text)
        return sv_fail_memory(err, bytes + 1, "a label");
    svit_status status = sv_file_read_at(self->tar.file, from->offset, text, bytes, err);
    text[bytes] = '\0';
    if (status == SVIT_OK)
        status = sv_shard_label_read(self->index, allocator, label, text, bytes,
                                     from == &self->json, self->where, err);
    sv_release(allocator, text, bytes + 1);
    return status;
}

/* Adds the sample that was read, if there is one, to the index. */
static svit_status end_sample(reader *self, svit_error *err)
{
    sv_shard_index *index = self->index;
    const part *image = &self->image;
    int32_t label = 0;
    if (self->key[0] == '\0')
        return SVIT_OK;
    if (!image->is_there)
        return sv_fail(err, SVIT_E_FORMAT, "%s has no image; a member that ends in %s is needed",
                       self->where, svit_image_endings());
    if (image->bytes > SV_IMAGE_FILE_LIMIT)
        return sv_fail(err, SVIT_E_FORMAT, "%s has an image of %llu bytes; at most %d are read",
                       self->where, (unsigned long long)image->bytes, SV_IMAGE_FILE_LIMIT);
    SVIT_TRY(read_label(self, &label, err));
    if (index->count == index->capacity)
        SVIT_TRY(grow_samples(index, self->tar.allocator, 2 * index->count + 64, err));
    index->samples[index->count++] =
        (sv_shard_sample){image->offset, (uint32_t)image->bytes, label};
    self->key[0] = '\0';
    return SVIT_OK;
}

static void begin_sample(reader *self, const char *key, size_t length)
{
    memcpy(self->key, key, length);
    self->key[length] = '\0';
    self->image = self->cls = self->json = (part){0};
    self->image_ending = SIZE_MAX;
    self->endings = 0;
    snprintf(self->where, sizeof self->where, "'%.100s', sample '%.80s',", self->tar.path,
             self->key);
}

/* Takes a member of the sample that is being read, whose name goes on with `ending`. Of several
 * images the one counts whose ending comes first in svit_image_endings. */
static svit_status take_member(reader *self, const char *ending, svit_error *err)
{
    const size_t place = sv_image_ending(ending);
    part *to = sv_ascii_equal(ending, ".cls", SIZE_MAX)    ? &self->cls
               : sv_ascii_equal(ending, ".json", SIZE_MAX) ? &self->json
               : place != SIZE_MAX                         ? &self->image
                                                           : NULL;
    if (!to)
        return SVIT_OK;
    if (place == SIZE_MAX ? to->is_there : self->endings >> place & 1)
        return sv_fail(err, SVIT_E_FORMAT, "%s has two members '%.20s'; one is accepted",
                       self->where, ending);
    if (place != SIZE_MAX) {
        self->endings |= 1u << place;
        if (place > self->image_ending)
            return SVIT_OK;
        self->image_ending = place;
    }
    *to = (part){self->member.offset, self->member.bytes, true};
    return SVIT_OK;
}

static svit_status read_archive(reader *self, svit_error *err)
{
    for (;;) {
        bool is_end;
        const svit_status status = sv_tar_next(&self->tar, &self->member, &is_end, err);
        if (status != SVIT_OK)
            return sv_tar_explain(&self->tar, status, err);
        if (is_end)
            break;
        const char *name = self->member.name, *dot = find_dot(name);
        if (!dot)
            continue;
        const size_t length = (size_t)(dot - name);
        if (strlen(self->key) != length || memcmp(self->key, name, length) != 0) {
            SVIT_TRY(end_sample(self, err));
            begin_sample(self, name, length);
        }
        SVIT_TRY(take_member(self, dot, err));
    }
    SVIT_TRY(end_sample(self, err));
    return sv_tar_find_end(&self->index->end, &self->tar, err);
}

/* Replaces the names of all samples by texts[count], which are distinct and in byte order. */
static svit_status replace_names(sv_shard_index *index, const sv_allocator *allocator,
                                 const char *const *texts, size_t count, svit_error *err)
{
    sv_shard_index found = {0};
    for (size_t i = 0; i < index->count; i++)
        index->samples[i].label =
            (int32_t)sv_texts_find(texts, count, index->names + index->samples[i].label);
    for (size_t k = 0; k < count; k++) {
        svit_status status =
            sv_shard_add_name(&found, allocator, texts[k], strlen(texts[k]) + 1, err);
        if (status != SVIT_OK) {
            sv_release(allocator, found.names, found.name_capacity);
            return status;
        }
    }
    sv_release(allocator, index->names, index->name_capacity);
    index->names = found.names;
    index->name_bytes = found.name_bytes;
    index->name_capacity = found.name_capacity;
    index->name_count = (uint32_t)count;
    return SVIT_OK;
}

/* Turns the labels from byte offsets in index->names, which has a name for each sample, into
 * indices of the distinct names. */
static svit_status number_names(sv_shard_index *index, const sv_allocator *allocator,
                                svit_error *err)
{
    void *memory = NULL;
    SVIT_TRY(sv_allocate_array(allocator, &memory, index->count, sizeof(char *),
                               "the names of classes", err));
    const char **texts = memory;
    for (size_t i = 0; i < index->count; i++)
        texts[i] = index->names + index->samples[i].label;
    const size_t distinct = sv_texts_unique(texts, index->count);
    svit_status status = replace_names(index, allocator, texts, distinct, err);
    sv_release(allocator, memory, index->count * sizeof *texts);
    return status;
}

svit_status sv_shard_index_make(sv_shard_index *out, const sv_allocator *allocator, sv_file *file,
                                const char *path, svit_error *err)
{
    *out = (sv_shard_index){.shard_bytes = sv_file_size(file),
                            .shard_modified = sv_file_modified(file)};
    reader *self = sv_allocate(allocator, sizeof *self);
    if (!self)
        return sv_fail_memory(err, sizeof *self, "the index of a shard");
    self->index = out;
    self->tar = (sv_tar){.allocator = allocator, .file = file, .path = path};
    self->key[0] = '\0';
    svit_status status = read_archive(self, err);
    sv_release(allocator, self, sizeof *self);
    if (status == SVIT_OK && out->labels == SV_LABELS_TEXT)
        status = number_names(out, allocator, err);
    if (status == SVIT_OK)
        status = grow_samples(out, allocator, out->count, err); /* shrinks the array to `count` */
    return status;
}
