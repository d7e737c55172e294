/* Datasets of images in WebDataset's shards, which are tar archives. */
#include "base/files/path.h"
#include "base/text/unique.h"
#include "base/text/utf8.h"
#include "base/threads/fp_env.h"
#include "data/datasets/dataset_ops.h"
#include "data/datasets/path.h"
#include "data/decoding/image_file.h"
#include "data/shards/shard_files.h"
#include "data/shards/shard_index.h"
#include "data/shards/shard_pattern.h"
#include "data/shards/tar.h"

#include <stdio.h>
#include <string.h>

typedef struct shard_set {
    svit_dataset base;
    sv_source source;       /* how an image is brought to the size of the dataset */
    sv_listing paths;       /* of the shards */
    sv_shard_index *shards; /* [paths.count] */
    size_t *first;          /* [paths.count + 1] the index of each shard's first sample */
    sv_listing names;       /* of the classes, or empty */
    sv_shard_files *files;
} shard_set;

/* The shard of sample `index`, by binary search. Shards may be empty. */
static size_t shard_of(const shard_set *self, size_t index)
{
    size_t low = 0, high = self->paths.count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (self->first[middle] <= index)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static size_t shards_end(const svit_dataset *dataset, size_t index)
{
    const shard_set *self = (const shard_set *)dataset;
    return self->first[shard_of(self, index) + 1];
}

static svit_status shards_label(const svit_dataset *dataset, size_t index, int32_t *label,
                                svit_error *err)
{
    (void)err;
    const shard_set *self = (const shard_set *)dataset;
    const size_t shard = shard_of(self, index);
    *label = self->shards[shard].samples[index - self->first[shard]].label;
    return SVIT_OK;
}

/* Fails unless an open shard is as it was when its index was read. */
static svit_status check_unchanged(const sv_file *file, const sv_shard_index *index,
                                   svit_error *err)
{
    uint64_t bytes;
    int64_t modified;
    SVIT_TRY(sv_file_state(file, &bytes, &modified, err));
    if (bytes == index->shard_bytes && modified == index->shard_modified)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_FORMAT,
                   "'%s' has changed since the dataset was opened; open it again",
                   sv_file_path(file));
}

/* Reads the header and the bytes of an image, data[bytes], which lie in the shard one behind the
 * other. The shard is examined afterwards, since it may be written while it is read. */
static svit_status read_member(const shard_set *self, size_t shard, uint64_t offset, void *data,
                               size_t bytes, svit_error *err)
{
    sv_shard_file taken;
    SVIT_TRY(sv_shard_files_take(&taken, self->files, shard, self->paths.names[shard], err));
    const svit_status status = sv_file_read_at(taken.file, offset, data, bytes, err);
    const svit_status unchanged = check_unchanged(taken.file, &self->shards[shard], err);
    sv_shard_files_give(self->files, &taken);
    return unchanged != SVIT_OK ? unchanged : status;
}

/* Decodes an image and brings it to the size of the dataset. data[bytes] begins with the member's
 * header, which has its name. */
static svit_status decode_member(const shard_set *self, size_t shard, const char *data,
                                 size_t bytes, const sv_first_crop *crop, void *out,
                                 svit_error *err)
{
    const sv_allocator *allocator = &self->base.context->allocator;
    char what[224];
    snprintf(what, sizeof what, "%.100s: %.100s", self->paths.names[shard], data);
    sv_pixels pixels;
    const sv_decoder decoder = sv_decoder_of(self->base.context);
    SVIT_TRY(sv_decode(&pixels, &decoder, data + SV_TAR_BLOCK, bytes - SV_TAR_BLOCK, what,
                       self->base.channels, err));
    svit_status status = sv_source_crop(allocator, &self->source, crop, pixels.data, pixels.height,
                                        pixels.width, out, err);
    sv_release(allocator, pixels.data, pixels.bytes);
    return sv_fail_memory_in(err, status, what);
}

static svit_status shards_sample(const svit_dataset *dataset, size_t index,
                                 const sv_first_crop *crop, void *pixels, int32_t *label,
                                 svit_error *err)
{
    const shard_set *self = (const shard_set *)dataset;
    const sv_allocator *allocator = &dataset->context->allocator;
    const size_t shard = shard_of(self, index);
    const sv_shard_sample *sample = &self->shards[shard].samples[index - self->first[shard]];
    const size_t bytes = SV_TAR_BLOCK + sample->bytes;
    char *data = sv_allocate(allocator, bytes);
    if (!data)
        return sv_fail_in(err, sv_fail_memory(err, bytes, "an image"), self->paths.names[shard]);
    svit_status status = read_member(self, shard, sample->offset - SV_TAR_BLOCK, data, bytes, err);
    if (status == SVIT_OK)
        status = decode_member(self, shard, data, bytes, crop, pixels, err);
    sv_release(allocator, data, bytes);
    *label = sample->label;
    return status;
}

static void shards_free(svit_dataset *dataset)
{
    shard_set *self = (shard_set *)dataset;
    const sv_allocator *allocator = &dataset->context->allocator;
    const size_t count = self->paths.count;
    sv_shard_files_free(self->files);
    for (size_t i = 0; self->shards && i < count; i++)
        sv_shard_index_free(allocator, &self->shards[i]);
    sv_release(allocator, self->shards, count * sizeof *self->shards);
    sv_release(allocator, self->first, (count + 1) * sizeof *self->first);
    sv_listing_free(allocator, &self->names);
    sv_listing_free(allocator, &self->paths);
}

static const sv_dataset_ops SHARDS = {.bytes = sizeof(shard_set),
                                      .sample = shards_sample,
                                      .label = shards_label,
                                      .shard_end = shards_end,
                                      .free = shards_free};

/* Warns of an archive that may have more samples than were read. */
static void warn_of_end(const shard_set *self, size_t shard)
{
    const char *path = self->paths.names[shard];
    if (self->shards[shard].end == SV_TAR_END_MISSING)
        sv_context_warn(self->base.context,
                        "'%.500s' ends without the zeros that end an archive; it may be cut", path);
    if (self->shards[shard].end == SV_TAR_END_DATA)
        sv_context_warn(self->base.context,
                        "'%.500s': data follow the zeros that end the archive; they are not read",
                        path);
}

/* Opens the indices of all shards. Returns the kind of their labels in *labels. */
static svit_status open_indices(shard_set *self, uint32_t *labels, svit_error *err)
{
    const sv_allocator *allocator = &self->base.context->allocator;
    const size_t count = self->paths.count;
    void *memory = NULL;
    SVIT_TRY(sv_allocate_array(allocator, &memory, count, sizeof *self->shards, "shards", err));
    self->shards = memory;
    SVIT_TRY(sv_allocate_array(allocator, &memory, count + 1, sizeof *self->first, "shards", err));
    self->first = memory;
    *labels = SV_LABELS_NONE;
    for (size_t i = 0; i < count; i++) {
        const char *path = self->paths.names[i];
        SVIT_TRY(sv_shard_index_open(&self->shards[i], allocator, path, err));
        warn_of_end(self, i);
        const uint32_t kind = self->shards[i].labels;
        if (kind != SV_LABELS_NONE && *labels != SV_LABELS_NONE && kind != *labels)
            return sv_fail(err, SVIT_E_FORMAT,
                           "the labels of '%s' are %s, and those of the shards before it are not; "
                           "all shards need the same kind",
                           path, kind == SV_LABELS_TEXT ? "names" : "numbers");
        *labels = kind == SV_LABELS_NONE ? *labels : kind;
        self->first[i + 1] = self->first[i] + self->shards[i].count;
    }
    self->base.count = self->first[count];
    if (self->base.count < 1 || self->base.count > UINT32_MAX)
        return sv_fail(err, SVIT_E_FORMAT,
                       "the shards from '%s' on have %zu samples; 1 to %u are accepted",
                       self->paths.names[0], self->base.count, UINT32_MAX);
    return SVIT_OK;
}

/* Writes the names of a shard's classes to texts, one behind another. Returns their number. */
static size_t names_of(const sv_shard_index *shard, const char **texts)
{
    const char *name = shard->names;
    for (uint32_t k = 0; k < shard->name_count; k++, name += strlen(name) + 1)
        texts[k] = name;
    return shard->name_count;
}

/* Turns the labels of each shard into indices of texts[count], the names of all classes, which it
 * copies to self->names. `own` has room for the names of one shard. The shards' names are freed. */
static svit_status merge_names(shard_set *self, const char **texts, size_t count, const char **own,
                               svit_error *err)
{
    const sv_allocator *allocator = &self->base.context->allocator;
    for (size_t k = 0; k < count; k++)
        SVIT_TRY(sv_listing_add(&self->names, allocator, "", texts[k], false, err));
    const char *const *names = (const char *const *)self->names.names;
    for (size_t i = 0; i < self->paths.count; i++) {
        sv_shard_index *shard = &self->shards[i];
        names_of(shard, own);
        for (size_t k = 0; k < shard->count; k++)
            shard->samples[k].label =
                (int32_t)sv_texts_find(names, count, own[shard->samples[k].label]);
        sv_release(allocator, shard->names, shard->name_capacity);
        shard->names = NULL;
        shard->name_capacity = shard->name_bytes = shard->name_count = 0;
    }
    self->base.classes = count;
    return SVIT_OK;
}

/* The classes are the distinct names in byte order, as those of a list are. */
static svit_status read_names(shard_set *self, svit_error *err)
{
    const sv_allocator *allocator = &self->base.context->allocator;
    size_t most = 0, total = 0;
    for (size_t i = 0; i < self->paths.count; i++) {
        const size_t count = self->shards[i].name_count;
        most = count > most ? count : most;
        total += count;
    }
    void *memory = NULL;
    SVIT_TRY(sv_allocate_array(allocator, &memory, total + most, sizeof(char *),
                               "the names of classes", err));
    const char **texts = memory;
    size_t used = 0;
    for (size_t i = 0; i < self->paths.count; i++)
        used += names_of(&self->shards[i], texts + used);
    const size_t distinct = sv_texts_unique(texts, total);
    svit_status status = merge_names(self, texts, distinct, texts + total, err);
    sv_release(allocator, memory, (total + most) * sizeof *texts);
    return status;
}

/* Adds the lines of a text, of which only the last may be empty, to the names of the classes. */
static svit_status split_lines(shard_set *self, char *text, const char *path, svit_error *err)
{
    static const char BREAKS[] = "\r\n";
    const sv_allocator *allocator = &self->base.context->allocator;
    for (char *line = text + sv_mark_bytes(text); line[strspn(line, BREAKS)];) {
        char *end = line + strcspn(line, BREAKS), *next = end + (*end != '\0');
        next += *end == '\r' && *next == '\n';
        *end = '\0';
        if (!*line)
            return sv_fail(err, SVIT_E_FORMAT,
                           "'%s': line %zu is empty; each line is the name of a class", path,
                           self->names.count + 1);
        if (!sv_utf8_valid(line))
            return sv_fail(err, SVIT_E_FORMAT, "'%s' is not UTF-8", path);
        SVIT_TRY(sv_listing_add(&self->names, allocator, "", line, false, err));
        line = next;
    }
    /* Equal names are not refused: in English, ImageNet has two cranes. */
    return SVIT_OK;
}

/* Reads classes.txt beside the first shard, if it exists. */
static svit_status read_class_file(shard_set *self, svit_error *err)
{
    enum { LIMIT = 1 << 26 };
    const sv_allocator *allocator = &self->base.context->allocator;
    const char *first = self->paths.names[0];
    const size_t front = (size_t)(sv_path_name(first) - first);
    const size_t bytes = front + sizeof "classes.txt";
    char *path = sv_allocate(allocator, bytes);
    if (!path)
        return sv_fail_memory(err, bytes, "a file's name");
    memcpy(path, first, front);
    memcpy(path + front, "classes.txt", sizeof "classes.txt");
    void *text = NULL;
    size_t length = 0;
    svit_status status = SVIT_OK;
    if (!sv_is_absent(path))
        status = sv_file_read(&text, &length, allocator, path, LIMIT, err);
    if (text) {
        status = split_lines(self, text, path, err);
        sv_release(allocator, text, length + 1);
    }
    sv_release(allocator, path, bytes);
    return status;
}

/* Sets the number of classes: that of the names in classes.txt, or else the largest label plus
 * one. */
static svit_status number_classes(shard_set *self, svit_error *err)
{
    svit_dataset *base = &self->base;
    int32_t label;
    size_t last = 0;
    for (size_t i = 0; i < base->count; i++) {
        SVIT_TRY(shards_label(base, i, &label, err));
        last = (size_t)label > (size_t)base->classes ? i : last;
        base->classes = (size_t)label > base->classes ? (size_t)label : base->classes;
    }
    SVIT_TRY(read_class_file(self, err));
    base->classes++;
    if (self->names.count == 0)
        return SVIT_OK;
    if (base->classes > self->names.count)
        return sv_fail(err, SVIT_E_FORMAT,
                       "'%s' has a sample of class %zu, but classes.txt beside it has %zu names",
                       self->paths.names[shard_of(self, last)], base->classes - 1,
                       self->names.count);
    base->classes = self->names.count;
    return SVIT_OK;
}

static svit_status fill(shard_set *self, const char *pattern, svit_error *err)
{
    const sv_allocator *allocator = &self->base.context->allocator;
    uint32_t labels;
    SVIT_TRY(sv_path_home(&self->base.home, allocator, pattern, err));
    SVIT_TRY(sv_shard_paths(&self->paths, allocator, pattern, err));
    SVIT_TRY(sv_shard_files_create(&self->files, allocator, self->base.home, err));
    SVIT_TRY(open_indices(self, &labels, err));
    SVIT_TRY(labels == SV_LABELS_TEXT ? read_names(self, err) : number_classes(self, err));
    if (self->names.count > 0)
        self->base.names = (const char *const *)self->names.names;
    return SVIT_OK;
}

SVIT_API svit_status svit_dataset_shards(svit_dataset **out, svit_context *context,
                                         const char *pattern, const svit_pipeline_config *pipeline,
                                         svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(pattern);
    SV_REQUIRE(pipeline);
    sv_source source;
    SVIT_TRY(sv_source_of_files(&source, __func__, pipeline, err));
    svit_dataset *dataset = NULL;
    SVIT_TRY(sv_dataset_create(&dataset, context, &SHARDS, err));
    sv_dataset_set_files(dataset, &source);
    dataset->is_of_shards = true;
    shard_set *self = (shard_set *)dataset;
    self->source = source;
    svit_status status = fill(self, pattern, err);
    if (status != SVIT_OK) {
        svit_dataset_free(dataset);
        return status;
    }
    *out = dataset;
    return SVIT_OK;
}
