/* Feature sets as safetensors files. */
#include "base/numbers/byte_order.h"
#include "base/numbers/digits.h"
#include "base/numbers/finite.h"
#include "base/size.h"
#include "base/threads/fp_env.h"
#include "features/features.h"
#include "io/metadata_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "shiftvit-features"

static void put_pair(sv_json_writer *metadata, const char *key, const char *value)
{
    sv_json_put_key(metadata, key);
    sv_json_put_text(metadata, value);
}

/* The class names as a JSON array, itself a text of the metadata. */
static svit_status put_classes(sv_json_writer *metadata, const svit_features *features,
                               svit_error *err)
{
    sv_json_writer names = sv_json_writer_make(metadata->allocator);
    sv_json_begin(&names, '[');
    for (size_t i = 0; i < features->classes; i++)
        sv_json_put_text(&names, features->names[i]);
    sv_json_end(&names, ']');
    svit_status status = sv_json_writer_status(&names, "class names", err);
    if (status == SVIT_OK)
        put_pair(metadata, "classes", names.text);
    sv_json_writer_free(&names);
    return status;
}

static svit_status put_metadata(sv_json_writer *metadata, const svit_features *features,
                                svit_error *err)
{
    char count[24];
    snprintf(count, sizeof count, "%zu", features->classes);
    sv_json_begin(metadata, '{');
    put_pair(metadata, "format", FORMAT);
    put_pair(metadata, "format_version", "1");
    put_pair(metadata, "class_count", count);
    if (features->names)
        SVIT_TRY(put_classes(metadata, features, err));
    put_pair(metadata, "layer", features->layer);
    put_pair(metadata, "model", features->model);
    if (features->tokens != SVIT_TOKENS_MEAN)
        put_pair(metadata, "tokens", sv_tokens_words[features->tokens]);
    if (features->tokens >= SVIT_TOKENS_PATCHES) {
        char grid[48];
        snprintf(grid, sizeof grid, "%zux%zu", features->grid_height, features->grid_width);
        put_pair(metadata, "grid", grid);
    }
    sv_json_end(metadata, '}');
    return sv_json_writer_status(metadata, "the metadata of features", err);
}

/* Labels are whole numbers below 2^24, which float32 holds exactly. */
static void fill(float *out, const sv_safetensors_tensor *tensor, void *user)
{
    const svit_features *features = user;
    const size_t elements = tensor->desc->elements;
    if (tensor->source == features->values)
        memcpy(out, features->values, elements * sizeof *out);
    else
        for (size_t i = 0; i < elements; i++)
            out[i] = (float)features->labels[i];
}

static svit_status write(const svit_features *features, const char *path, const char *metadata,
                         svit_error *err)
{
    sv_tensor_desc values, labels;
    const int64_t shape[2] = {(int64_t)features->count, (int64_t)features->channels};
    if (!sv_tensor_desc_init(&values, SV_DTYPE_F32, shape, 2) ||
        !sv_tensor_desc_init(&labels, SV_DTYPE_I32, shape, 1))
        return sv_fail(err, SVIT_E_ARGUMENT, "%s: the features are too many for a file", path);
    const sv_safetensors_tensor tensors[] = {{"features", &values, features->values},
                                             {"labels", &labels, features->labels}};
    return sv_safetensors_write(&features->context->allocator, path, metadata, tensors, 2, fill,
                                (void *)features, err);
}

SVIT_API svit_status svit_features_save(const svit_features *features, const char *path,
                                        svit_error *err)
{
    SV_REQUIRE(features);
    SV_REQUIRE(path);
    sv_json_writer metadata = sv_json_writer_make(&features->context->allocator);
    svit_status status = put_metadata(&metadata, features, err);
    if (status == SVIT_OK)
        status = write(features, path, metadata.text, err);
    sv_json_writer_free(&metadata);
    return status;
}

/* A feature file that is being read, and its tensors. */
typedef struct reader {
    svit_context *context;
    const char *path;
    sv_safetensors *file;
    const sv_safetensors_entry *values, *labels; /* labels NULL: none */
} reader;

static svit_status check_metadata(const reader *self, svit_error *err)
{
    const char *format = sv_safetensors_metadata(self->file, "format");
    const char *version = sv_safetensors_metadata(self->file, "format_version");
    if (!format || strcmp(format, FORMAT) != 0)
        return SVIT_OK;
    if (!version || strcmp(version, "1") != 0)
        return sv_fail(err, SVIT_E_FORMAT, "%s: format_version is '%.40s'; this library reads '1'",
                       self->path, version ? version : "");
    return SVIT_OK;
}

static svit_status find_values(reader *self, svit_error *err)
{
    char shape[SV_SHAPE_TEXT];
    self->values = sv_safetensors_find(self->file, "features");
    if (!self->values)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: tensor 'features' is missing; a file of features has one", self->path);
    const sv_tensor_desc *desc = &self->values->desc;
    if (desc->dtype != SV_DTYPE_F32 && desc->dtype != SV_DTYPE_F16 && desc->dtype != SV_DTYPE_BF16)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: tensor 'features' is %s; F32, F16 and BF16 are read", self->path,
                       sv_dtype_name(desc->dtype));
    if (desc->rank != 2 || desc->shape[0] < 1 || desc->shape[1] < 1 ||
        desc->shape[1] > SV_FEATURES_CHANNELS)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: tensor 'features' is %s; [count, channels] with a count of at least 1 "
                       "and 1..%d channels is read",
                       self->path, sv_tensor_desc_text(shape, desc), SV_FEATURES_CHANNELS);
    return SVIT_OK;
}

static svit_status find_labels(reader *self, svit_error *err)
{
    char shape[SV_SHAPE_TEXT];
    self->labels = sv_safetensors_find(self->file, "labels");
    if (!self->labels)
        return SVIT_OK;
    const sv_tensor_desc *desc = &self->labels->desc;
    if (desc->dtype != SV_DTYPE_I32 && desc->dtype != SV_DTYPE_I64)
        return sv_fail(err, SVIT_E_FORMAT, "%s: tensor 'labels' is %s; I32 and I64 are read",
                       self->path, sv_dtype_name(desc->dtype));
    if (desc->rank != 1 || desc->shape[0] != self->values->desc.shape[0])
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: tensor 'labels' is %s; it has one label for each of %lld features",
                       self->path, sv_tensor_desc_text(shape, desc),
                       (long long)self->values->desc.shape[0]);
    return SVIT_OK;
}

/* Reads the number of classes from the metadata; *known becomes false if there is none. */
static svit_status read_class_count(const reader *self, size_t *classes, bool *known,
                                    svit_error *err)
{
    const char *text = sv_safetensors_metadata(self->file, "class_count");
    *classes = 0;
    *known = text != NULL;
    for (const char *c = text; c && *c; c++) {
        if (*c < '0' || *c > '9' ||
            (*classes = *classes * 10 + (size_t)(*c - '0')) > SV_FEATURES_CLASSES)
            return sv_fail(err, SVIT_E_FORMAT, "%s: class_count is '%.40s'; it is 0..%d",
                           self->path, text, SV_FEATURES_CLASSES);
    }
    return SVIT_OK;
}

/* The label at `index` of the stored bytes, little-endian. */
static int64_t stored_label(const uint8_t *stored, sv_dtype dtype, size_t index)
{
    const size_t bytes = sv_dtype_bits(dtype) / 8;
    const uint64_t value = sv_load_little(stored + index * bytes, (unsigned)bytes);
    return bytes == 8 ? (int64_t)value : (int32_t)(uint32_t)value;
}

/* Converts the stored labels. *classes is the number of classes; if it is not known, it becomes the
 * one that the largest label needs. */
static svit_status convert_labels(const reader *self, int32_t *labels, const uint8_t *stored,
                                  size_t *classes, bool known, svit_error *err)
{
    const sv_tensor_desc *desc = &self->labels->desc;
    const int64_t end = known ? (int64_t)*classes : SV_FEATURES_CLASSES;
    for (size_t i = 0; i < desc->elements; i++) {
        const int64_t label = stored_label(stored, desc->dtype, i);
        if (label < -1 || label >= end)
            return sv_fail(err, SVIT_E_FORMAT,
                           "%s: labels[%zu] is %" PRId64 "; -1 to %" PRId64 " are accepted",
                           self->path, i, label, end - 1);
        labels[i] = (int32_t)label;
        if (!known && label >= (int64_t)*classes)
            *classes = (size_t)label + 1;
    }
    return SVIT_OK;
}

static svit_status read_labels(const reader *self, svit_features *out, bool known, svit_error *err)
{
    if (!self->labels)
        return SVIT_OK;
    const sv_allocator *allocator = &self->context->allocator;
    const size_t bytes = (size_t)self->labels->bytes;
    uint8_t *stored;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&stored, bytes, 1, "stored labels", err));
    svit_status status = sv_safetensors_read_bytes(self->file, self->labels, stored, err);
    if (status == SVIT_OK)
        status = convert_labels(self, out->labels, stored, &out->classes, known, err);
    sv_release(allocator, stored, bytes);
    return status;
}

static svit_status read_values(const reader *self, svit_features *out, svit_error *err)
{
    const size_t elements = self->values->desc.elements;
    SVIT_TRY(sv_safetensors_read_f32(self->file, self->values, out->values, err));
    const size_t bad = sv_first_not_finite(out->values, elements);
    if (bad == elements)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_FORMAT, "%s: features[%zu, %zu] is %g; all features must be finite",
                   self->path, bad / out->channels, bad % out->channels, (double)out->values[bad]);
}

static svit_status read_names(const reader *self, svit_features *out, svit_error *err)
{
    sv_metadata_names names;
    svit_status status = sv_metadata_names_read(&names, &self->context->allocator, self->file,
                                                out->classes, self->path, err);
    if (status == SVIT_OK && names.list)
        status = sv_features_set_names(out, names.list, err);
    sv_metadata_names_free(&names);
    return status;
}

static svit_status read_texts(const reader *self, svit_features *out, svit_error *err)
{
    const char *layer = sv_safetensors_metadata(self->file, "layer");
    const char *model = sv_safetensors_metadata(self->file, "model");
    if (layer)
        SVIT_TRY(sv_features_set_text(out, &out->layer, layer, err));
    return model ? sv_features_set_text(out, &out->model, model, err) : SVIT_OK;
}

/* The sides of the grid are at least 1, and the samples of an image fit memory. */
static bool parse_grid(svit_features *out, const char *text)
{
    uint64_t height, width;
    const char *at = sv_digits_read(&height, text, 10);
    if (!at || *at != 'x')
        return false;
    at = sv_digits_read(&width, at + 1, 10);
    size_t product;
    if (!at || *at || height < 1 || width < 1 || height > SIZE_MAX || width > SIZE_MAX ||
        !sv_size_multiply(&product, (size_t)height, (size_t)width))
        return false;
    out->grid_height = (size_t)height;
    out->grid_width = (size_t)width;
    return true;
}

static svit_status read_grid(const reader *self, svit_features *out, svit_error *err)
{
    const char *tokens = sv_safetensors_metadata(self->file, "tokens");
    const char *grid = sv_safetensors_metadata(self->file, "grid");
    if (!tokens)
        return SVIT_OK;
    for (int32_t i = SVIT_TOKENS_MEAN + 1; i <= SVIT_TOKENS_PATCHES_3X3; i++)
        if (strcmp(tokens, sv_tokens_words[i]) == 0)
            out->tokens = i;
    if (out->tokens == 0)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: tokens is '%.32s'; 'class', 'patches' and 'patches-3x3' are known",
                       self->path, tokens);
    if (out->tokens < SVIT_TOKENS_PATCHES)
        return SVIT_OK;
    if (!grid || !parse_grid(out, grid))
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: grid is '%.32s'; it is a height and a width as 14x14", self->path,
                       grid ? grid : "(not given)");
    return SVIT_OK;
}

static svit_status read_parts(const reader *self, svit_features *out, bool known, svit_error *err)
{
    SVIT_TRY(read_values(self, out, err));
    SVIT_TRY(read_labels(self, out, known, err));
    SVIT_TRY(read_names(self, out, err));
    SVIT_TRY(read_grid(self, out, err));
    return read_texts(self, out, err);
}

static svit_status read_file(reader *self, svit_features **out, svit_error *err)
{
    size_t classes;
    bool known;
    svit_features *made;
    SVIT_TRY(check_metadata(self, err));
    SVIT_TRY(find_values(self, err));
    SVIT_TRY(find_labels(self, err));
    SVIT_TRY(read_class_count(self, &classes, &known, err));
    SVIT_TRY(sv_features_open(&made, self->context, (size_t)self->values->desc.shape[0],
                              (size_t)self->values->desc.shape[1], classes, err));
    svit_status status = read_parts(self, made, known, err);
    if (status == SVIT_OK)
        *out = made;
    else
        svit_features_free(made);
    return status;
}

SVIT_API svit_status svit_features_load(svit_features **out, svit_context *context,
                                        const char *path, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(path);
    reader self = {.context = context, .path = path};
    SVIT_TRY(sv_safetensors_open(&self.file, &context->allocator, path, err));
    svit_status status = read_file(&self, out, err);
    sv_safetensors_close(self.file);
    return status;
}
