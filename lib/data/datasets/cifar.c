/* The CIFAR-10 and CIFAR-100 datasets. Their files, which are read whole, are records of one or two
 * label bytes and three colour planes. */
#include "base/files/file.h"
#include "base/text/names.h"
#include "data/checks.h"
#include "data/datasets/dataset_ops.h"
#include "data/datasets/path.h"

#include <string.h>

enum { SIDE = 32, PLANE = SIDE * SIDE, IMAGE = SV_RGB * PLANE, FILES = 5, LABELS = 2 };
enum { FILE_LIMIT = 1 << 30 }; /* bytes of a file: some 350,000 images */

/* The records of one of the two datasets. */
typedef struct record_layout {
    const char *what;
    const char *test_file;  /* a file that the other dataset does not have */
    const char *within;     /* that file in the folder that the archive of the dataset has */
    const char *python[2];  /* a file of the version for Python, and in the folder of its archive */
    size_t labels;          /* label bytes at the start of a record */
    size_t classes[LABELS]; /* classes of each label byte */
    const char *labels_name[LABELS];
} record_layout;

static const record_layout CIFAR10 = {"CIFAR-10",
                                      "test_batch.bin",
                                      "cifar-10-batches-bin/test_batch.bin",
                                      {"test_batch", "cifar-10-batches-py/test_batch"},
                                      1,
                                      {10},
                                      {"label"}};
static const record_layout CIFAR100 = {
    "CIFAR-100", "test.bin", "cifar-100-binary/test.bin",   {"test", "cifar-100-python/test"},
    2,           {20, 100},  {"coarse label", "fine label"}};

typedef struct cifar {
    svit_dataset base;
    const record_layout *layout;
    size_t label; /* index of the label byte that is used */
    struct {
        uint8_t *data;
        size_t bytes;
        size_t records;
    } files[FILES];
    char **names;
} cifar;

/*@ requires \valid_read(layout) && layout->labels <= LABELS;
    assigns \nothing;
    ensures \result == layout->labels + IMAGE; */
static size_t record_bytes(const record_layout *layout)
{
    return layout->labels + IMAGE;
}

/* Finds the record of sample `index`. */
static const uint8_t *record_of(const cifar *self, size_t index)
{
    size_t file = 0;
    while (index >= self->files[file].records)
        index -= self->files[file++].records;
    return self->files[file].data + index * record_bytes(self->layout);
}

static svit_status cifar_label(const svit_dataset *dataset, size_t index, int32_t *label,
                               svit_error *err)
{
    (void)err;
    const cifar *self = (const cifar *)dataset;
    *label = record_of(self, index)[self->label];
    return SVIT_OK;
}

static svit_status cifar_sample(const svit_dataset *dataset, size_t index,
                                const sv_first_crop *crop, void *pixels, int32_t *label,
                                svit_error *err)
{
    (void)crop;
    (void)err;
    const cifar *self = (const cifar *)dataset;
    const uint8_t *record = record_of(self, index);
    *label = record[self->label];
    const uint8_t *planes = record + self->layout->labels;
    uint8_t *rgb = pixels;
    for (size_t p = 0; p < PLANE; p++, rgb += SV_RGB) {
        rgb[0] = planes[p];
        rgb[1] = planes[PLANE + p];
        rgb[2] = planes[2 * PLANE + p];
    }
    return SVIT_OK;
}

static void cifar_free(svit_dataset *dataset)
{
    cifar *self = (cifar *)dataset;
    const sv_allocator *allocator = &dataset->context->allocator;
    for (size_t i = 0; i < FILES; i++)
        if (self->files[i].data)
            sv_release(allocator, self->files[i].data, self->files[i].bytes + 1);
    sv_names_free(allocator, self->names, dataset->classes);
}

static const sv_dataset_ops CIFAR = {
    .bytes = sizeof(cifar), .sample = cifar_sample, .label = cifar_label, .free = cifar_free};

/*@ requires \valid_read(layout) && layout->labels <= LABELS && (err == \null || \valid(err));
    requires \valid_read(record + (0 .. layout->labels - 1));
    requires \separated(layout, err, record + (0 .. layout->labels - 1));
    assigns *err; */
static svit_status check_labels(const record_layout *layout, const uint8_t *record, size_t index,
                                const char *path, svit_error *err)
{
    /*@ loop invariant i <= layout->labels;
        loop assigns i, *err; */
    for (size_t i = 0; i < layout->labels; i++)
        if (record[i] >= layout->classes[i])
            return sv_fail(err, SVIT_E_FORMAT,
                           "'%s': the %s of record %zu (counted from 0) is %u; 0..%zu are accepted",
                           path, layout->labels_name[i], index, (unsigned)record[i],
                           layout->classes[i] - 1);
    return SVIT_OK;
}

/*@ requires \valid_read(layout) && layout->labels <= LABELS && (err == \null || \valid(err));
    requires \valid_read(data + (0 .. bytes - 1));
    requires \separated(layout, err, data + (0 .. bytes - 1));
    assigns *err; */
static svit_status check_file(const record_layout *layout, const uint8_t *data, size_t bytes,
                              const char *path, svit_error *err)
{
    size_t record = record_bytes(layout);
    if (bytes == 0 || bytes % record != 0)
        return sv_fail(err, SVIT_E_FORMAT,
                       "'%s' has %zu bytes; one or more whole %s records of %zu bytes are needed",
                       path, bytes, layout->what, record);
    /*@ loop invariant i <= bytes / record;
        loop assigns i, *err; */
    for (size_t i = 0; i < bytes / record; i++)
        SVIT_TRY(check_labels(layout, data + i * record, i, path, err));
    return SVIT_OK;
}

static bool has_file(const sv_allocator *allocator, const char *folder, const char *name)
{
    char *path = NULL;
    sv_file *file = NULL;
    if (sv_path_join(&path, allocator, folder, name, NULL) == SVIT_OK &&
        sv_file_open(&file, allocator, path, NULL) == SVIT_OK)
        sv_file_close(allocator, file);
    sv_release_text(allocator, path);
    return file != NULL;
}

/* Explains a missing file if the folder holds the other of the two datasets, the folder that is
 * meant, or the version for Python. */
static svit_status fail_missing_file(const cifar *self, const char *folder, const char *path,
                                     svit_error *err)
{
    const sv_allocator *allocator = &self->base.context->allocator;
    const record_layout *own = self->layout, *other = own == &CIFAR10 ? &CIFAR100 : &CIFAR10;
    if (has_file(allocator, folder, other->test_file))
        return sv_fail(err, SVIT_E_IO,
                       "cannot open '%s'; the folder holds '%s', so it is %s, not %s", path,
                       other->test_file, other->what, own->what);
    if (has_file(allocator, folder, own->within))
        return sv_fail(err, SVIT_E_IO,
                       "cannot open '%s'; '%s/%.*s' in it is the folder that is needed", path,
                       folder, (int)strcspn(own->within, "/"), own->within);
    for (size_t i = 0; i < sizeof own->python / sizeof *own->python; i++)
        if (has_file(allocator, folder, own->python[i]))
            return sv_fail(
                err, SVIT_E_IO,
                "cannot open '%s'; the folder holds '%s' of %s's version for Python, and "
                "the binary version is needed",
                path, own->python[i], own->what);
    return SVIT_E_IO;
}

static svit_status read_file(cifar *self, size_t file, const char *folder, const char *name,
                             svit_error *err)
{
    const sv_allocator *allocator = &self->base.context->allocator;
    char *path = NULL;
    SVIT_TRY(sv_path_join(&path, allocator, folder, name, err));
    void *data = NULL;
    size_t bytes = 0;
    svit_status status = sv_file_read(&data, &bytes, allocator, path, FILE_LIMIT, err);
    if (status == SVIT_OK) {
        self->files[file].data = data;
        self->files[file].bytes = bytes;
        self->files[file].records = bytes / record_bytes(self->layout);
        self->base.count += self->files[file].records;
        status = check_file(self->layout, data, bytes, path, err);
    } else if (status == SVIT_E_IO) {
        status = fail_missing_file(self, folder, path, err);
    }
    sv_release_text(allocator, path);
    return status;
}

static svit_status read_names(cifar *self, const char *folder, const char *name, svit_error *err)
{
    const sv_allocator *allocator = &self->base.context->allocator;
    char *path = NULL;
    SVIT_TRY(sv_path_join(&path, allocator, folder, name, err));
    svit_status status =
        sv_class_names_read(&self->names, allocator, path, self->base.classes, err);
    sv_release_text(allocator, path);
    self->base.names = (const char *const *)self->names;
    return status;
}

/* Opens a dataset of `count` files in `folder`. `label` is the index of the label byte. */
static svit_status cifar_open(svit_dataset **out, svit_context *context,
                              const record_layout *layout, size_t label, const char *folder,
                              const char *const *files, size_t count, const char *names,
                              svit_error *err)
{
    svit_dataset *dataset = NULL;
    if (!*folder)
        return sv_fail(err, SVIT_E_IO, "cannot open the folder ''; a path is needed");
    SVIT_TRY(sv_dataset_create(&dataset, context, &CIFAR, err));
    dataset->height = SIDE;
    dataset->width = SIDE;
    dataset->classes = layout->classes[label];
    cifar *self = (cifar *)dataset;
    self->layout = layout;
    self->label = label;
    svit_status status = SVIT_OK;
    for (size_t i = 0; status == SVIT_OK && i < count; i++)
        status = read_file(self, i, folder, files[i], err);
    if (status == SVIT_OK)
        status = read_names(self, folder, names, err);
    if (status != SVIT_OK) {
        svit_dataset_free(dataset);
        return status;
    }
    *out = dataset;
    return SVIT_OK;
}

static svit_status check_split(const char *where, int32_t split, svit_error *err)
{
    if (split == SVIT_SPLIT_TRAIN || split == SVIT_SPLIT_TEST)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "%s: split is %d; SVIT_SPLIT_TRAIN (0) and SVIT_SPLIT_TEST (1) are accepted",
                   where, (int)split);
}

SVIT_API svit_status svit_dataset_cifar10(svit_dataset **out, svit_context *context,
                                          const char *folder, int32_t split, svit_error *err)
{
    static const char *const TRAIN[FILES] = {"data_batch_1.bin", "data_batch_2.bin",
                                             "data_batch_3.bin", "data_batch_4.bin",
                                             "data_batch_5.bin"};
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(folder);
    SVIT_TRY(check_split(__func__, split, err));
    bool train = split == SVIT_SPLIT_TRAIN;
    return cifar_open(out, context, &CIFAR10, 0, folder, train ? TRAIN : &CIFAR10.test_file,
                      train ? FILES : 1, "batches.meta.txt", err);
}

SVIT_API svit_status svit_dataset_cifar100(svit_dataset **out, svit_context *context,
                                           const char *folder, int32_t split, int32_t labels,
                                           svit_error *err)
{
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(folder);
    SVIT_TRY(check_split(__func__, split, err));
    if (labels != SVIT_LABELS_FINE && labels != SVIT_LABELS_COARSE)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s: labels is %d; SVIT_LABELS_FINE (0) and SVIT_LABELS_COARSE (1) are "
                       "accepted",
                       __func__, (int)labels);
    const char *file = split == SVIT_SPLIT_TRAIN ? "train.bin" : CIFAR100.test_file;
    bool fine = labels == SVIT_LABELS_FINE;
    return cifar_open(out, context, &CIFAR100, fine ? 1 : 0, folder, &file, 1,
                      fine ? "fine_label_names.txt" : "coarse_label_names.txt", err);
}
