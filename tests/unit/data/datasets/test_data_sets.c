/* Checks datasets: samples are the bytes that were given, and the error for what is no dataset
 * names it. */
#include "data_support.h"

#include <shiftvit/dataset.h>

#include <math.h>

enum { CIFAR_IMAGE = 3072 };

/* Makes records with `labels` label bytes, which `label_of` gives, and images of random bytes from
 * the seed. */
static uint8_t *records_make(size_t count, size_t labels, const uint8_t *label_bytes, uint32_t seed)
{
    size_t record = labels + CIFAR_IMAGE;
    uint8_t *data = malloc(count * record);
    bytes_fill(data, count * record, seed);
    for (size_t i = 0; i < count; i++)
        memcpy(data + i * record, label_bytes + i * labels, labels);
    return data;
}

static void records_write(const test_folder *folder, const char *name, size_t count, size_t labels,
                          const uint8_t *label_bytes, uint32_t seed)
{
    uint8_t *data = records_make(count, labels, label_bytes, seed);
    file_write(folder, name, data, count * (labels + CIFAR_IMAGE));
    free(data);
}

static void check_record(const svit_dataset *dataset, size_t index, const uint8_t *planes,
                         int32_t wanted)
{
    uint8_t rgb[CIFAR_IMAGE];
    int32_t label = -1;
    WORKS(svit_dataset_sample(dataset, index, rgb, &label, err));
    ck_assert_int_eq(label, wanted);
    for (size_t p = 0; p < 1024; p++)
        for (size_t c = 0; c < 3; c++)
            ck_assert_uint_eq(rgb[3 * p + c], planes[1024 * c + p]);
}

static const char CIFAR10_NAMES[] =
    "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\n"
    "truck\n\n";

START_TEST(test_cifar10_samples_are_the_records)
{
    atomic_llong held = 0;
    svit_context *context = context_counting(&held);
    test_folder folder = folder_make();
    const uint8_t labels[] = {9, 0, 3};
    for (uint32_t i = 1; i <= 5; i++) {
        char name[32];
        snprintf(name, sizeof name, "data_batch_%u.bin", i);
        records_write(&folder, name, i % 3 + 1, 1, labels, i);
    }
    file_write(&folder, "batches.meta.txt", CIFAR10_NAMES, sizeof CIFAR10_NAMES - 1);
    svit_dataset *dataset = NULL;
    WORKS(svit_dataset_cifar10(&dataset, context, folder.path, SVIT_SPLIT_TRAIN, err));
    ck_assert_uint_eq(svit_dataset_count(dataset), 2 + 3 + 1 + 2 + 3);
    ck_assert_uint_eq(svit_dataset_height(dataset), 32);
    ck_assert_uint_eq(svit_dataset_width(dataset), 32);
    ck_assert_uint_eq(svit_dataset_classes(dataset), 10);
    ck_assert_str_eq(svit_dataset_class_name(dataset, 0), "airplane");
    ck_assert_str_eq(svit_dataset_class_name(dataset, 9), "truck");
    ck_assert_ptr_null(svit_dataset_class_name(dataset, 10));
    size_t index = 0;
    for (uint32_t part = 1; part <= 5; part++) {
        size_t count = part % 3 + 1;
        uint8_t *data = records_make(count, 1, labels, part);
        for (size_t i = 0; i < count; i++, index++)
            check_record(dataset, index, data + i * 3073 + 1, labels[i]);
        free(data);
    }
    svit_context_free(context);
    svit_dataset_free(dataset);
    ck_assert_int_eq(held, 0);
    folder_remove(&folder);
}
END_TEST

START_TEST(test_cifar100_has_fine_and_coarse_labels)
{
    svit_context *context = context_open();
    test_folder folder = folder_make();
    const uint8_t labels[] = {19, 99, 0, 1};
    records_write(&folder, "train.bin", 2, 2, labels, 7);
    records_write(&folder, "test.bin", 1, 2, labels, 8);
    uint8_t *data = records_make(2, 2, labels, 7);
    svit_dataset *dataset = NULL;
    WORKS(svit_dataset_cifar100(&dataset, context, folder.path, SVIT_SPLIT_TRAIN, SVIT_LABELS_FINE,
                                err));
    ck_assert_uint_eq(svit_dataset_classes(dataset), 100);
    ck_assert_ptr_null(svit_dataset_class_name(dataset, 0));
    check_record(dataset, 0, data + 2, 99);
    check_record(dataset, 1, data + 3074 + 2, 1);
    svit_dataset_free(dataset);
    WORKS(svit_dataset_cifar100(&dataset, context, folder.path, SVIT_SPLIT_TRAIN,
                                SVIT_LABELS_COARSE, err));
    ck_assert_uint_eq(svit_dataset_classes(dataset), 20);
    check_record(dataset, 0, data + 2, 19);
    svit_dataset_free(dataset);
    WORKS(svit_dataset_cifar100(&dataset, context, folder.path, SVIT_SPLIT_TEST, SVIT_LABELS_FINE,
                                err));
    ck_assert_uint_eq(svit_dataset_count(dataset), 1);
    svit_dataset_free(dataset);
    free(data);
    folder_remove(&folder);
    svit_context_free(context);
}
END_TEST

START_TEST(test_one_cifar_given_as_the_other_is_refused)
{
    svit_context *context = context_open();
    test_folder folder = folder_make();
    svit_dataset *dataset = NULL;
    const uint8_t labels[] = {1, 2, 3, 4};
    records_write(&folder, "test_batch.bin", 4, 1, labels, 1);
    FAILS(svit_dataset_cifar100(&dataset, context, folder.path, SVIT_SPLIT_TRAIN, SVIT_LABELS_FINE,
                                err),
          SVIT_E_IO, "holds 'test_batch.bin', so it is CIFAR-10, not CIFAR-100");
    /* A file of one CIFAR format under the name of the other: its size does not fit. */
    records_write(&folder, "test.bin", 4, 1, labels, 1);
    FAILS(svit_dataset_cifar100(&dataset, context, folder.path, SVIT_SPLIT_TEST, SVIT_LABELS_FINE,
                                err),
          SVIT_E_FORMAT, "12292 bytes; one or more whole CIFAR-100 records of 3074 bytes");
    FAILS(svit_dataset_cifar10(&dataset, context, folder.path, SVIT_SPLIT_TRAIN, err), SVIT_E_IO,
          "data_batch_1.bin'; the folder holds 'test.bin', so it is CIFAR-100");
    ck_assert_ptr_null(dataset);
    folder_remove(&folder);
    svit_context_free(context);
}
END_TEST

START_TEST(test_damaged_cifar_files_are_refused_by_name)
{
    atomic_llong held = 0;
    svit_context *context = context_counting(&held);
    test_folder folder = folder_make();
    svit_dataset *dataset = NULL;
    const uint8_t labels[] = {1, 2, 10, 3};
    FAILS(svit_dataset_cifar10(&dataset, context, folder.path, SVIT_SPLIT_TEST, err), SVIT_E_IO,
          "test_batch.bin");
    records_write(&folder, "test_batch.bin", 4, 1, labels, 1);
    FAILS(svit_dataset_cifar10(&dataset, context, folder.path, SVIT_SPLIT_TEST, err), SVIT_E_FORMAT,
          "the label of record 2 (counted from 0) is 10; 0..9 are accepted");
    uint8_t *data = records_make(2, 1, labels, 1);
    const size_t sizes[] = {0, 1, 3072, 3074, 6145};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char bytes[32];
        snprintf(bytes, sizeof bytes, "%zu bytes", sizes[i]);
        file_write(&folder, "test_batch.bin", data, sizes[i]);
        FAILS(svit_dataset_cifar10(&dataset, context, folder.path, SVIT_SPLIT_TEST, err),
              SVIT_E_FORMAT, bytes);
    }
    file_write(&folder, "test_batch.bin", data, 6146);
    WORKS(svit_dataset_cifar10(&dataset, context, folder.path, SVIT_SPLIT_TEST, err));
    svit_dataset_free(dataset);
    dataset = NULL;
    file_write(&folder, "batches.meta.txt", "airplane\nbird\n", 14);
    FAILS(svit_dataset_cifar10(&dataset, context, folder.path, SVIT_SPLIT_TEST, err), SVIT_E_FORMAT,
          "2 class names");
    free(data);
    const uint8_t fine[] = {3, 4, 5, 100};
    records_write(&folder, "test.bin", 2, 2, fine, 2);
    FAILS(svit_dataset_cifar100(&dataset, context, folder.path, SVIT_SPLIT_TEST, SVIT_LABELS_COARSE,
                                err),
          SVIT_E_FORMAT, "the fine label of record 1 (counted from 0) is 100");
    const uint8_t coarse[] = {20, 4};
    records_write(&folder, "test.bin", 1, 2, coarse, 2);
    FAILS(svit_dataset_cifar100(&dataset, context, folder.path, SVIT_SPLIT_TEST, SVIT_LABELS_FINE,
                                err),
          SVIT_E_FORMAT, "the coarse label of record 0");
    subfolder_make(&folder, "train.bin");
    FAILS(svit_dataset_cifar100(&dataset, context, folder.path, SVIT_SPLIT_TRAIN, SVIT_LABELS_FINE,
                                err),
          SVIT_E_IO, "train.bin");
    ck_assert_ptr_null(dataset);
    svit_context_free(context);
    ck_assert_int_eq(held, 0);
    folder_remove(&folder);
}
END_TEST

START_TEST(test_memory_and_its_parts_give_the_callers_bytes)
{
    atomic_llong held = 0;
    svit_context *context = context_counting(&held);
    uint8_t rgb[7 * 2 * 3 * 3];
    const int32_t labels[7] = {0, 1, 2, 3, 3, 2, 1};
    bytes_fill(rgb, sizeof rgb, 3);
    svit_dataset *whole = NULL;
    svit_dataset *slice = NULL;
    svit_dataset *chosen = NULL;
    WORKS(svit_dataset_memory(&whole, context, rgb, labels, 7, 2, 3, 3, 4, err));
    WORKS(svit_dataset_slice(&slice, whole, 2, 5, err));
    const size_t indices[] = {4, 0, 0, 2};
    WORKS(svit_dataset_select(&chosen, slice, indices, 4, err));
    svit_dataset_free(whole); /* the slices keep the dataset alive */
    svit_dataset_free(slice);
    svit_context_free(context);
    ck_assert_uint_eq(svit_dataset_count(chosen), 4);
    ck_assert_uint_eq(svit_dataset_classes(chosen), 4);
    for (size_t i = 0; i < 4; i++) {
        uint8_t sample[18];
        int32_t label = -1;
        WORKS(svit_dataset_sample(chosen, i, sample, &label, err));
        ck_assert_mem_eq(sample, rgb + (2 + indices[i]) * 18, 18);
        ck_assert_int_eq(label, labels[2 + indices[i]]);
    }
    FAILS(svit_dataset_sample(chosen, 4, rgb, &(int32_t){0}, err), SVIT_E_ARGUMENT,
          "index is 4; 0..3 are accepted");
    svit_dataset_free(chosen);
    ck_assert_int_eq(held, 0);
}
END_TEST

START_TEST(test_statistics_are_those_of_the_bytes)
{
    svit_context *context = context_open();
    uint8_t rgb[3 * 4 * 3];
    const int32_t labels[3] = {0, 0, 0};
    bytes_fill(rgb, sizeof rgb, 11);
    svit_dataset *dataset = NULL;
    WORKS(svit_dataset_memory(&dataset, context, rgb, labels, 3, 2, 2, 3, 1, err));
    double mean[3];
    double variance[3];
    WORKS(svit_dataset_statistics(dataset, 1.0 / 255, mean, variance, err));
    for (size_t c = 0; c < 3; c++) {
        double sum = 0;
        double squares = 0;
        for (size_t p = 0; p < 12; p++) {
            double v = rgb[3 * p + c] / 255.0;
            sum += v;
            squares += v * v;
        }
        ck_assert_double_le(fabs(mean[c] - sum / 12), 1e-14);
        ck_assert_double_le(fabs(variance[c] - (squares / 12 - sum / 12 * sum / 12)), 1e-14);
    }
    FAILS(svit_dataset_statistics(NULL, 1, mean, variance, err), SVIT_E_ARGUMENT, "dataset");
    FAILS(svit_dataset_statistics(dataset, 0, mean, variance, err), SVIT_E_ARGUMENT, "scale is 0");
    FAILS(svit_dataset_statistics(dataset, NAN, mean, variance, err), SVIT_E_ARGUMENT, "scale");
    FAILS(svit_dataset_statistics(dataset, 1, NULL, variance, err), SVIT_E_ARGUMENT, "mean");
    FAILS(svit_dataset_statistics(dataset, 1, mean, NULL, err), SVIT_E_ARGUMENT, "variance");
    svit_dataset_free(dataset);
    svit_context_free(context);
}
END_TEST

/* A callback whose samples have the index as every byte and index mod 3 as label, but for two
 * indices that fail. */
static int32_t give_sample(size_t index, uint8_t *rgb, int32_t *label, void *user)
{
    const size_t *wrong = user;
    if (index == wrong[0])
        return 42;
    memset(rgb, (int)index, 2 * 2 * 3);
    *label = index == wrong[1] ? (int32_t)wrong[2] : (int32_t)(index % 3);
    return 0;
}

START_TEST(test_callbacks_are_asked_and_checked)
{
    svit_context *context = context_open();
    size_t wrong[3] = {5, 6, 3};
    svit_dataset *dataset = NULL;
    WORKS(svit_dataset_callback(&dataset, context, give_sample, 8, 2, 2, 3, 3, wrong, err));
    uint8_t rgb[12];
    int32_t label = -1;
    WORKS(svit_dataset_sample(dataset, 4, rgb, &label, err));
    ck_assert_int_eq(label, 1);
    ck_assert_uint_eq(rgb[11], 4);
    FAILS(svit_dataset_sample(dataset, 5, rgb, &label, err), SVIT_E_STOPPED, "returned 42");
    FAILS(svit_dataset_sample(dataset, 6, rgb, &label, err), SVIT_E_ARGUMENT,
          "sample 6 the label 3; 0..2 are accepted");
    wrong[2] = (size_t)-1;
    FAILS(svit_dataset_label(dataset, 6, &label, err), SVIT_E_ARGUMENT,
          "sample 6 the label -1; 0..2 are accepted");
    FAILS(svit_dataset_label(dataset, 5, &label, err), SVIT_E_STOPPED, "returned 42");
    WORKS(svit_dataset_sample(dataset, 7, rgb, &label, err));
    svit_dataset_free(dataset);
    svit_context_free(context);
}
END_TEST

static void procedural_read(svit_dataset *dataset, size_t index, uint8_t *rgb, int32_t *label)
{
    WORKS(svit_dataset_sample(dataset, index, rgb, label, err));
}

START_TEST(test_procedural_samples_depend_on_seed_split_and_index_alone)
{
    svit_context *context = context_open();
    svit_dataset *sets[4];
    WORKS(svit_dataset_synthetic(&sets[0], context, 1, SVIT_SPLIT_TRAIN, 100, err));
    WORKS(svit_dataset_synthetic(&sets[1], context, 1, SVIT_SPLIT_TRAIN, 7000000, err));
    WORKS(svit_dataset_synthetic(&sets[2], context, 1, SVIT_SPLIT_TEST, 100, err));
    WORKS(svit_dataset_synthetic(&sets[3], context, 2, SVIT_SPLIT_TRAIN, 100, err));
    ck_assert_uint_eq(svit_dataset_classes(sets[0]), 10);
    ck_assert_str_eq(svit_dataset_class_name(sets[0], 0), "disc");
    ck_assert_str_eq(svit_dataset_class_name(sets[0], 9), "dots");
    for (size_t i = 0; i < 20; i++) {
        uint8_t rgb[4][CIFAR_IMAGE];
        int32_t label[4];
        for (size_t s = 0; s < 4; s++) {
            procedural_read(sets[s], i, rgb[s], &label[s]);
            ck_assert_int_eq(label[s], (int)(i % 10));
        }
        ck_assert_mem_eq(rgb[0], rgb[1], CIFAR_IMAGE);
        ck_assert_mem_ne(rgb[0], rgb[2], CIFAR_IMAGE);
        ck_assert_mem_ne(rgb[0], rgb[3], CIFAR_IMAGE);
    }
    for (size_t s = 0; s < 4; s++)
        svit_dataset_free(sets[s]);
    svit_context_free(context);
}
END_TEST

/* Computes the mean squared difference between neighbouring pixels, along rows and along columns.
 */
static void step_energy(const uint8_t *rgb, double *along, double *down)
{
    *along = 0;
    *down = 0;
    for (int y = 0; y < 31; y++)
        for (int x = 0; x < 31; x++)
            for (int c = 0; c < 3; c++) {
                int here = rgb[(y * 32 + x) * 3 + c];
                int right = rgb[(y * 32 + x + 1) * 3 + c];
                int below = rgb[((y + 1) * 32 + x) * 3 + c];
                *along += (right - here) * (right - here);
                *down += (below - here) * (below - here);
            }
}

START_TEST(test_procedural_stripes_are_horizontal_or_vertical)
{
    svit_context *context = context_open();
    svit_dataset *dataset = NULL;
    WORKS(svit_dataset_synthetic(&dataset, context, 3, SVIT_SPLIT_TRAIN, 2000, err));
    int right = 0;
    for (size_t i = 0; i < 200; i++) {
        uint8_t rgb[CIFAR_IMAGE];
        int32_t label;
        double along;
        double down;
        procedural_read(dataset, 10 * i + 5, rgb, &label); /* horizontal stripes */
        step_energy(rgb, &along, &down);
        right += down > along;
        procedural_read(dataset, 10 * i + 6, rgb, &label); /* vertical stripes */
        step_energy(rgb, &along, &down);
        right += along > down;
    }
    ck_assert_int_ge(right, 396); /* of 400 samples */
    svit_dataset_free(dataset);
    svit_context_free(context);
}
END_TEST

/* Of the first 200 images of each class: the mean over all of the value and of the squared
 * difference between neighbours along rows and along columns. Recorded; a libm may round a pixel
 * otherwise. */
static const double looks[10][3] = {
    {125.436, 931.086, 929.449},   {127.676, 920.331, 918.852},   {127.891, 973.003, 972.729},
    {129.913, 995.071, 991.307},   {129.857, 1102.850, 1104.120}, {130.522, 782.805, 2710.894},
    {125.236, 2970.333, 855.844},  {122.387, 1922.422, 1919.620}, {128.580, 813.246, 810.665},
    {125.194, 1546.278, 1549.583},
};

START_TEST(test_procedural_images_look_as_recorded)
{
    svit_context *context = context_open();
    svit_dataset *dataset = NULL;
    WORKS(svit_dataset_synthetic(&dataset, context, 1, SVIT_SPLIT_TRAIN, 2000, err));
    double look[3] = {0}, along, down;
    for (size_t i = 0; i < 200; i++) {
        uint8_t rgb[CIFAR_IMAGE];
        int32_t label;
        procedural_read(dataset, 10 * i + (size_t)_i, rgb, &label);
        step_energy(rgb, &along, &down);
        look[1] += along / (200 * 31 * 31 * 3);
        look[2] += down / (200 * 31 * 31 * 3);
        for (size_t b = 0; b < CIFAR_IMAGE; b++)
            look[0] += rgb[b] / (200.0 * CIFAR_IMAGE);
    }
    for (int k = 0; k < 3; k++)
        ck_assert_msg(fabs(look[k] / looks[_i][k] - 1) < 1e-4, "class %d: {%.3f, %.3f, %.3f}", _i,
                      look[0], look[1], look[2]);
    svit_dataset_free(dataset);
    svit_context_free(context);
}
END_TEST

START_TEST(test_wrong_arguments_of_datasets_are_named)
{
    svit_context *context = context_open();
    svit_dataset *set = NULL;
    svit_dataset *part = NULL;
    uint8_t rgb[12] = {0};
    int32_t labels[2] = {0, 1};
    const int32_t bad_labels[2] = {0, -1};
    const size_t most = (size_t)-1;
    FAILS(svit_dataset_cifar10(NULL, context, "a", 0, err), SVIT_E_ARGUMENT, "out");
    FAILS(svit_dataset_cifar10(&set, NULL, "a", 0, err), SVIT_E_ARGUMENT, "context");
    FAILS(svit_dataset_cifar10(&set, context, NULL, 0, err), SVIT_E_ARGUMENT, "folder");
    FAILS(svit_dataset_cifar10(&set, context, "a", 2, err), SVIT_E_ARGUMENT, "split is 2");
    FAILS(svit_dataset_cifar100(NULL, context, "a", 0, 0, err), SVIT_E_ARGUMENT, "out");
    FAILS(svit_dataset_cifar100(&set, NULL, "a", 0, 0, err), SVIT_E_ARGUMENT, "context");
    FAILS(svit_dataset_cifar100(&set, context, NULL, 0, 0, err), SVIT_E_ARGUMENT, "folder");
    FAILS(svit_dataset_cifar100(&set, context, "a", -1, 0, err), SVIT_E_ARGUMENT, "split is -1");
    FAILS(svit_dataset_cifar100(&set, context, "a", 0, 2, err), SVIT_E_ARGUMENT, "labels is 2");
    FAILS(svit_dataset_memory(NULL, context, rgb, labels, 2, 1, 1, 3, 2, err), SVIT_E_ARGUMENT,
          "out");
    FAILS(svit_dataset_memory(&set, NULL, rgb, labels, 2, 1, 1, 3, 2, err), SVIT_E_ARGUMENT,
          "context");
    FAILS(svit_dataset_memory(&set, context, NULL, labels, 2, 1, 1, 3, 2, err), SVIT_E_ARGUMENT,
          "pixels");
    FAILS(svit_dataset_memory(&set, context, rgb, NULL, 2, 1, 1, 3, 2, err), SVIT_E_ARGUMENT,
          "labels");
    FAILS(svit_dataset_memory(&set, context, rgb, labels, 0, 1, 1, 3, 2, err), SVIT_E_ARGUMENT,
          "count is 0");
    FAILS(svit_dataset_memory(&set, context, rgb, labels, most, 1, 1, 3, 2, err), SVIT_E_ARGUMENT,
          "count is");
    FAILS(svit_dataset_memory(&set, context, rgb, labels, 2, 0, 1, 3, 2, err), SVIT_E_ARGUMENT,
          "height is 0");
    FAILS(svit_dataset_memory(&set, context, rgb, labels, 2, 1, most, 3, 2, err), SVIT_E_ARGUMENT,
          "width is");
    FAILS(svit_dataset_memory(&set, context, rgb, labels, 2, 1, 1, 3, 0, err), SVIT_E_ARGUMENT,
          "classes is 0");
    FAILS(svit_dataset_memory(&set, context, rgb, labels, 2, 1, 1, 3, 1, err), SVIT_E_ARGUMENT,
          "labels[1] is 1; 0..0 are accepted");
    FAILS(svit_dataset_memory(&set, context, rgb, bad_labels, 2, 1, 1, 3, 2, err), SVIT_E_ARGUMENT,
          "labels[1] is -1");
    FAILS(svit_dataset_callback(NULL, context, give_sample, 1, 1, 1, 3, 1, NULL, err),
          SVIT_E_ARGUMENT, "out");
    FAILS(svit_dataset_callback(&set, NULL, give_sample, 1, 1, 1, 3, 1, NULL, err), SVIT_E_ARGUMENT,
          "context");
    FAILS(svit_dataset_callback(&set, context, NULL, 1, 1, 1, 3, 1, NULL, err), SVIT_E_ARGUMENT,
          "sample");
    FAILS(svit_dataset_callback(&set, context, give_sample, 0, 1, 1, 3, 1, NULL, err),
          SVIT_E_ARGUMENT, "count is 0");
    FAILS(svit_dataset_synthetic(NULL, context, 0, 0, 1, err), SVIT_E_ARGUMENT, "out");
    FAILS(svit_dataset_synthetic(&set, NULL, 0, 0, 1, err), SVIT_E_ARGUMENT, "context");
    FAILS(svit_dataset_synthetic(&set, context, 0, 3, 1, err), SVIT_E_ARGUMENT, "split is 3");
    FAILS(svit_dataset_synthetic(&set, context, 0, -1, 1, err), SVIT_E_ARGUMENT, "split is -1");
    FAILS(svit_dataset_synthetic(&set, context, 0, 0, 0, err), SVIT_E_ARGUMENT, "count is 0");
    ck_assert_ptr_null(set);
    WORKS(svit_dataset_memory(&set, context, rgb, labels, 2, 1, 1, 3, 2, err));
    const size_t indices[] = {0, 2};
    FAILS(svit_dataset_slice(NULL, set, 0, 1, err), SVIT_E_ARGUMENT, "out");
    FAILS(svit_dataset_slice(&part, NULL, 0, 1, err), SVIT_E_ARGUMENT, "parent");
    FAILS(svit_dataset_slice(&part, set, 2, 1, err), SVIT_E_ARGUMENT, "first is 2");
    FAILS(svit_dataset_slice(&part, set, 1, 2, err), SVIT_E_ARGUMENT, "count is 2; 1..1");
    FAILS(svit_dataset_slice(&part, set, 1, most, err), SVIT_E_ARGUMENT, "count is");
    FAILS(svit_dataset_slice(&part, set, 0, 0, err), SVIT_E_ARGUMENT, "count is 0");
    FAILS(svit_dataset_select(NULL, set, indices, 1, err), SVIT_E_ARGUMENT, "out");
    FAILS(svit_dataset_select(&part, NULL, indices, 1, err), SVIT_E_ARGUMENT, "parent");
    FAILS(svit_dataset_select(&part, set, NULL, 1, err), SVIT_E_ARGUMENT, "indices");
    FAILS(svit_dataset_select(&part, set, indices, 0, err), SVIT_E_ARGUMENT, "count is 0");
    FAILS(svit_dataset_select(&part, set, indices, most, err), SVIT_E_ARGUMENT, "count is");
    FAILS(svit_dataset_select(&part, set, indices, 2, err), SVIT_E_ARGUMENT,
          "indices[1] is 2; 0..1 are accepted");
    ck_assert_ptr_null(part);
    FAILS(svit_dataset_sample(NULL, 0, rgb, labels, err), SVIT_E_ARGUMENT, "dataset");
    FAILS(svit_dataset_sample(set, 2, rgb, labels, err), SVIT_E_ARGUMENT, "index is 2");
    FAILS(svit_dataset_sample(set, 0, NULL, labels, err), SVIT_E_ARGUMENT, "pixels");
    FAILS(svit_dataset_sample(set, 0, rgb, NULL, err), SVIT_E_ARGUMENT, "label");
    WORKS(svit_dataset_sample(set, 1, (uint8_t[3]){0}, &(int32_t){0}, err));
    ck_assert_ptr_null(svit_dataset_class_name(set, 0));
    ck_assert_ptr_null(svit_dataset_class_name(NULL, 0));
    ck_assert_uint_eq(svit_dataset_count(NULL) + svit_dataset_height(NULL), 0);
    ck_assert_uint_eq(svit_dataset_width(NULL) + svit_dataset_classes(NULL), 0);
    svit_dataset_free(set);
    svit_dataset_free(NULL);
    svit_context_free(context);
}
END_TEST

static Suite *sets_suite(void)
{
    Suite *suite = suite_create("data_sets");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, test_cifar10_samples_are_the_records);
    tcase_add_test(cases, test_cifar100_has_fine_and_coarse_labels);
    tcase_add_test(cases, test_one_cifar_given_as_the_other_is_refused);
    tcase_add_test(cases, test_damaged_cifar_files_are_refused_by_name);
    tcase_add_test(cases, test_memory_and_its_parts_give_the_callers_bytes);
    tcase_add_test(cases, test_statistics_are_those_of_the_bytes);
    tcase_add_test(cases, test_callbacks_are_asked_and_checked);
    tcase_add_test(cases, test_procedural_samples_depend_on_seed_split_and_index_alone);
    tcase_add_test(cases, test_procedural_stripes_are_horizontal_or_vertical);
    tcase_add_loop_test(cases, test_procedural_images_look_as_recorded, 0, 10);
    tcase_add_test(cases, test_wrong_arguments_of_datasets_are_named);
    suite_add_tcase(suite, cases);
    return suite;
}

TEST_MAIN(sets_suite)
