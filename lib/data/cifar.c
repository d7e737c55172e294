/* CIFAR-10 and CIFAR-100: records of label bytes and three planes, the files whole in memory. */
#include "base/file.h"
#include "data/checks.h"
#include "data/dataset_ops.h"
#include "data/path.h"

enum { SIDE = 32, PLANE = SIDE * SIDE, IMAGE = SV_RGB * PLANE, PARTS = 5, LABELS = 2 };
enum { PART_LIMIT = 1 << 30 }; /* bytes of a file: some 350,000 images */

/* How the records of one of the two are made. */
typedef struct record_layout {
    const char *what;
    const char *test_file;  /* that the other one has not */
    size_t labels;          /* label bytes at the front of a record */
    size_t classes[LABELS]; /* of each of them */
    const char *labels_name[LABELS];
} record_layout;

static const record_layout CIFAR10 = {"CIFAR-10", "test_batch.bin", 1, {10}, {"label"}};
static const record_layout CIFAR100 = {
    "CIFAR-100", "test.bin", 2, {20, 100}, {"coarse label", "fine label"}};

typedef struct cifar {
    svit_dataset base;
    const record_layout *layout;
    size_t label; /* which label byte counts */
    struct {
        uint8_t *data;
        size_t bytes;
        size_t records;
    } parts[PARTS];
    char **names;
} cifar;

static size_t record_bytes(const record_layout *layout)
{
    return layout->labels + IMAGE;
}

static svit_status cifar_sample(const svit_dataset *dataset, size_t index, uint8_t *rgb,
                                int32_t *label, svit_error *err)
{
    (void)err;
    const cifar *own = (const cifar *)dataset;
    size_t part = 0;
    while (index >= own->parts[part].records)
        index -= own->parts[part++].records;
    const uint8_t *record = own->parts[part].data + index * record_bytes(own->layout);
    *label = record[own->label];
    const uint8_t *planes = record + own->layout->labels;
    for (size_t p = 0; p < PLANE; p++, rgb += SV_RGB) {
        rgb[0] = planes[p];
        rgb[1] = planes[PLANE + p];
        rgb[2] = planes[2 * PLANE + p];
    }
    return SVIT_OK;
}

static void cifar_end(svit_dataset *dataset)
{
    cifar *own = (cifar *)dataset;
    const sv_allocator *allocator = &dataset->context->allocator;
    for (size_t i = 0; i < PARTS; i++)
        if (own->parts[i].data)
            sv_release(allocator, own->parts[i].data, own->parts[i].bytes + 1);
    sv_class_names_free(allocator, own->names, dataset->classes);
}

static const sv_dataset_ops CIFAR = {sizeof(cifar), cifar_sample, cifar_end};

static svit_status check_labels(const record_layout *layout, const uint8_t *record, size_t number,
                                const char *path, svit_error *err)
{
    for (size_t i = 0; i < layout->labels; i++)
        if (record[i] >= layout->classes[i])
            return sv_fail(err, SVIT_E_FORMAT,
                           "'%s': the %s of record %zu (counted from 0) is %u; 0..%zu are accepted",
                           path, layout->labels_name[i], number, (unsigned)record[i],
                           layout->classes[i] - 1);
    return SVIT_OK;
}

static svit_status part_check(const record_layout *layout, const uint8_t *data, size_t bytes,
                              const char *path, svit_error *err)
{
    size_t record = record_bytes(layout);
    if (bytes == 0 || bytes % record != 0)
        return sv_fail(
            err, SVIT_E_FORMAT,
            "'%s' has %zu bytes; %s has records of %zu, at least one, and no part of one", path,
            bytes, layout->what, record);
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

/* A folder without a file of this set may be the other set's: the message says so. */
static svit_status part_missing(const cifar *own, const char *folder, const char *path,
                                svit_error *err)
{
    const record_layout *other = own->layout == &CIFAR10 ? &CIFAR100 : &CIFAR10;
    if (!has_file(&own->base.context->allocator, folder, other->test_file))
        return SVIT_E_IO;
    return sv_fail(err, SVIT_E_IO,
                   "cannot open '%s'; the folder holds '%s', so it is %s, and %s is asked for",
                   path, other->test_file, other->what, own->layout->what);
}

static svit_status part_read(cifar *own, size_t part, const char *folder, const char *name,
                             svit_error *err)
{
    const sv_allocator *allocator = &own->base.context->allocator;
    char *path = NULL;
    SVIT_TRY(sv_path_join(&path, allocator, folder, name, err));
    void *data = NULL;
    size_t bytes = 0;
    svit_status status = sv_file_read(&data, &bytes, allocator, path, PART_LIMIT, err);
    if (status == SVIT_OK) {
        own->parts[part].data = data;
        own->parts[part].bytes = bytes;
        own->parts[part].records = bytes / record_bytes(own->layout);
        own->base.count += own->parts[part].records;
        status = part_check(own->layout, data, bytes, path, err);
    } else if (status == SVIT_E_IO) {
        status = part_missing(own, folder, path, err);
    }
    sv_release_text(allocator, path);
    return status;
}

static svit_status names_read(cifar *own, const char *folder, const char *name, svit_error *err)
{
    const sv_allocator *allocator = &own->base.context->allocator;
    char *path = NULL;
    SVIT_TRY(sv_path_join(&path, allocator, folder, name, err));
    svit_status status = sv_class_names_read(&own->names, allocator, path, own->base.classes, err);
    sv_release_text(allocator, path);
    own->base.names = (const char *const *)own->names;
    return status;
}

/* `files` are `count` names of files in `folder`. */
static svit_status cifar_open(svit_dataset **out, svit_context *context,
                              const record_layout *layout, size_t label, const char *folder,
                              const char *const *files, size_t count, const char *names,
                              svit_error *err)
{
    svit_dataset *dataset = NULL;
    SVIT_TRY(sv_dataset_create(&dataset, context, &CIFAR, err));
    dataset->height = SIDE;
    dataset->width = SIDE;
    dataset->classes = layout->classes[label];
    cifar *own = (cifar *)dataset;
    own->layout = layout;
    own->label = label;
    svit_status status = SVIT_OK;
    for (size_t i = 0; status == SVIT_OK && i < count; i++)
        status = part_read(own, i, folder, files[i], err);
    if (status == SVIT_OK)
        status = names_read(own, folder, names, err);
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
    static const char *const TRAIN[PARTS] = {"data_batch_1.bin", "data_batch_2.bin",
                                             "data_batch_3.bin", "data_batch_4.bin",
                                             "data_batch_5.bin"};
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(folder);
    SVIT_TRY(check_split(__func__, split, err));
    bool train = split == SVIT_SPLIT_TRAIN;
    return cifar_open(out, context, &CIFAR10, 0, folder, train ? TRAIN : &CIFAR10.test_file,
                      train ? PARTS : 1, "batches.meta.txt", err);
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
