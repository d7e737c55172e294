/* Datasets of image files that a CSV file lists, each with a class or with numbers. */
#include "base/files/path.h"
#include "base/text/ascii.h"
#include "base/text/unique.h"
#include "base/threads/fp_env.h"
#include "config/decimal.h"
#include "data/datasets/csv.h"
#include "data/datasets/dataset_ops.h"
#include "data/datasets/list_header.h"
#include "data/datasets/path.h"

#include <math.h>
#include <string.h>

typedef struct list_set {
    svit_dataset base;
    sv_source source; /* how an image is brought to the size of the dataset */
    char *folder;     /* of the CSV file, to which its paths are relative */
    sv_csv csv;
    const char **names; /* [name_capacity] of the classes or of the targets */
    size_t name_capacity;
    int32_t *labels; /* [count] or NULL */
    float *values;   /* [count, classes] or NULL */
} list_set;

static const list_set *list_of(const svit_dataset *dataset)
{
    return (const list_set *)dataset;
}

static svit_status list_label(const svit_dataset *dataset, size_t index, int32_t *label,
                              svit_error *err)
{
    (void)err;
    const list_set *self = list_of(dataset);
    *label = self->labels ? self->labels[index] : -1;
    return SVIT_OK;
}

static svit_status list_targets(const svit_dataset *dataset, size_t index, float *targets,
                                svit_error *err)
{
    (void)err;
    memcpy(targets, list_of(dataset)->values + index * dataset->classes,
           dataset->classes * sizeof *targets);
    return SVIT_OK;
}

static svit_status list_path(const svit_dataset *dataset, size_t index, char **out, svit_error *err)
{
    const list_set *self = list_of(dataset);
    const sv_allocator *allocator = &dataset->context->allocator;
    const char *name = sv_csv_field(&self->csv, index + 1, 0);
    if (!sv_path_is_absolute(name))
        return sv_path_join(out, allocator, self->folder, name, err);
    *out = sv_copy_text(allocator, name);
    return *out ? SVIT_OK : sv_fail_memory(err, strlen(name) + 1, "a file's name");
}

static svit_status list_sample(const svit_dataset *dataset, size_t index, const sv_first_crop *crop,
                               void *out, int32_t *label, svit_error *err)
{
    const list_set *self = list_of(dataset);
    const sv_allocator *allocator = &dataset->context->allocator;
    char *path = NULL;
    SVIT_TRY(sv_dataset_file(dataset, index, &path, err));
    svit_status status = sv_source_read(dataset->context, &self->source, path, crop, out, err);
    sv_release_text(allocator, path);
    SVIT_TRY(status);
    return list_label(dataset, index, label, err);
}

static void list_free(svit_dataset *dataset)
{
    list_set *self = (list_set *)dataset;
    const sv_allocator *allocator = &dataset->context->allocator;
    if (self->labels)
        sv_release(allocator, self->labels, dataset->count * sizeof *self->labels);
    if (self->values)
        sv_release(allocator, self->values,
                   dataset->count * dataset->classes * sizeof *self->values);
    sv_release(allocator, self->names, self->name_capacity * sizeof *self->names);
    sv_csv_free(allocator, &self->csv);
    sv_release_text(allocator, self->folder);
}

static const sv_dataset_ops WITH_LABELS = {.bytes = sizeof(list_set),
                                           .sample = list_sample,
                                           .label = list_label,
                                           .path = list_path,
                                           .free = list_free};
static const sv_dataset_ops WITH_TARGETS = {.bytes = sizeof(list_set),
                                            .sample = list_sample,
                                            .label = list_label,
                                            .targets = list_targets,
                                            .path = list_path,
                                            .free = list_free};

static svit_status names_allocate(list_set *self, size_t count, svit_error *err)
{
    void *memory = NULL;
    SVIT_TRY(sv_allocate_array(&self->base.context->allocator, &memory, count, sizeof *self->names,
                               "the names of a dataset", err));
    self->names = memory;
    self->name_capacity = count;
    self->base.names = self->names;
    return SVIT_OK;
}

/* The classes are the distinct labels in byte order, as those of a folder are. */
static svit_status read_labels(list_set *self, svit_error *err)
{
    svit_dataset *base = &self->base;
    void *memory = NULL;
    SVIT_TRY(names_allocate(self, base->count, err));
    SVIT_TRY(sv_allocate_array(&base->context->allocator, &memory, base->count,
                               sizeof *self->labels, "the labels of a dataset", err));
    self->labels = memory;
    for (size_t i = 0; i < base->count; i++)
        self->names[i] = sv_csv_field(&self->csv, i + 1, 1);
    base->classes = sv_texts_unique(self->names, base->count);
    for (size_t i = 0; i < base->count; i++)
        self->labels[i] =
            (int32_t)sv_texts_find(self->names, base->classes, sv_csv_field(&self->csv, i + 1, 1));
    return SVIT_OK;
}

/*@ requires valid_read_string(text);
    assigns \nothing;
    ensures valid_read_string(\result); */
static const char *skip_digits(const char *text)
{
    /*@ loop invariant valid_read_string(text);
        loop assigns text; */
    while (*text >= '0' && *text <= '9')
        text++;
    return text;
}

/* Whether a text is a decimal number, as JSON writes it or with zeros in front. */
/*@ requires valid_read_string(text);
    assigns \nothing; */
static bool is_number(const char *text)
{
    text += *text == '-';
    const char *end = skip_digits(text);
    if (end == text)
        return false;
    if (*end == '.') {
        text = end + 1;
        end = skip_digits(text);
        if (end == text)
            return false;
    }
    if (*end == 'e' || *end == 'E') {
        end += 1 + (end[1] == '-' || end[1] == '+');
        text = end;
        end = skip_digits(text);
        if (end == text)
            return false;
    }
    return *end == '\0';
}

static svit_status read_number(float *out, const char *path, uint32_t line, const char *name,
                               const char *text, svit_error *err)
{
    double value = 0;
    const bool is_missing = sv_is_blank(text) || sv_ascii_equal(text, "nan", SIZE_MAX);
    if (!is_number(text) || !sv_decimal_read(&value, text, strlen(text)) || !isfinite((float)value))
        return sv_fail(err, SVIT_E_FORMAT,
                       "'%s', line %u: '%.40s' of '%.40s' is no number of float32%s", path,
                       (unsigned)line, text, name,
                       is_missing ? ""
                                  : "; a column of class names is called \"label\" and is the only "
                                    "one besides \"path\"");
    *out = (float)value;
    return SVIT_OK;
}

static svit_status read_targets(list_set *self, const char *path, svit_error *err)
{
    svit_dataset *base = &self->base;
    size_t columns = self->csv.columns - 1;
    SVIT_TRY(names_allocate(self, columns, err));
    for (size_t k = 0; k < columns; k++)
        self->names[k] = sv_csv_field(&self->csv, 0, k + 1);
    base->classes = columns;
    base->has_targets = true;
    void *memory = NULL;
    SVIT_TRY(sv_allocate_array(&base->context->allocator, &memory, base->count * columns,
                               sizeof *self->values, "the targets of a dataset", err));
    self->values = memory;
    for (size_t i = 0; i < base->count; i++)
        for (size_t k = 0; k < columns; k++)
            SVIT_TRY(read_number(&self->values[i * columns + k], path, self->csv.lines[i + 1],
                                 self->names[k], sv_csv_field(&self->csv, i + 1, k + 1), err));
    return SVIT_OK;
}

/* Copies the folder of a path: "." if it has none, "" for the root. */
static svit_status copy_folder(list_set *self, const char *path, svit_error *err)
{
    const char *name = sv_path_name(path);
    const char *from = name > path ? path : ".";
    size_t length = name > path ? (size_t)(name - 1 - path) : 1;
    self->folder = sv_allocate(&self->base.context->allocator, length + 1);
    if (!self->folder)
        return sv_fail_memory(err, length + 1, "a folder's name");
    memcpy(self->folder, from, length);
    self->folder[length] = '\0';
    return SVIT_OK;
}

/* Whether the second of two columns is called "label", and so has the names of classes. */
static bool has_labels(const sv_csv *csv)
{
    return csv->columns == 2 && strcmp(sv_csv_field(csv, 0, 1), "label") == 0;
}

static svit_status check_table(const sv_csv *csv, const char *path, const sv_allocator *allocator,
                               svit_error *err)
{
    if (csv->rows < 1)
        return sv_fail(err, SVIT_E_FORMAT, "'%s' is empty; %s", path, sv_list_header);
    SVIT_TRY(sv_list_check_header(csv, path, allocator, err));
    if (csv->rows < 2)
        return sv_fail(err, SVIT_E_FORMAT, "'%s' lists no images; at least one is needed", path);
    if (csv->rows > UINT32_MAX || csv->columns > INT32_MAX)
        return sv_fail(err, SVIT_E_FORMAT, "'%s' has too many lines or columns", path);
    for (size_t row = 1; row < csv->rows; row++)
        for (size_t column = 0; column < (has_labels(csv) ? 2u : 1u); column++)
            if (sv_is_blank(sv_csv_field(csv, row, column)))
                return sv_fail(err, SVIT_E_FORMAT,
                               "'%s', line %u: the %s is empty; a text is needed", path,
                               (unsigned)csv->lines[row], column ? "label" : "path");
    return SVIT_OK;
}

static svit_status create(svit_dataset **out, svit_context *context, sv_csv *csv, const char *path,
                          svit_error *err)
{
    SVIT_TRY(check_table(csv, path, &context->allocator, err));
    bool labels = has_labels(csv);
    svit_dataset *dataset = NULL;
    SVIT_TRY(sv_dataset_create(&dataset, context, labels ? &WITH_LABELS : &WITH_TARGETS, err));
    list_set *self = (list_set *)dataset;
    self->csv = *csv;
    *csv = (sv_csv){0}; /* it belongs to the dataset now */
    dataset->count = self->csv.rows - 1;
    svit_status status = sv_path_home(&dataset->home, &context->allocator, path, err);
    if (status == SVIT_OK)
        status = copy_folder(self, path, err);
    if (status == SVIT_OK)
        status = labels ? read_labels(self, err) : read_targets(self, path, err);
    if (status != SVIT_OK) {
        svit_dataset_free(dataset);
        return status;
    }
    *out = dataset;
    return SVIT_OK;
}

SVIT_API svit_status svit_dataset_list(svit_dataset **out, svit_context *context, const char *file,
                                       const svit_pipeline_config *pipeline, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(file);
    SV_REQUIRE(pipeline);
    sv_source source;
    SVIT_TRY(sv_source_of_files(&source, __func__, pipeline, err));
    sv_csv csv;
    svit_dataset *dataset = NULL;
    svit_status status = sv_csv_read(&csv, &context->allocator, file, err);
    if (status == SVIT_OK)
        status = create(&dataset, context, &csv, file, err);
    sv_csv_free(&context->allocator, &csv);
    SVIT_TRY(status);
    sv_dataset_set_files(dataset, &source);
    ((list_set *)dataset)->source = source;
    *out = dataset;
    return SVIT_OK;
}
