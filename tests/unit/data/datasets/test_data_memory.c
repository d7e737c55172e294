/* Makes every allocation of the data functions fail in turn. Each call returns SVIT_E_MEMORY and
 * leaks nothing. */
#include "build.h"
#include "data_support.h"

#include <shiftvit/image.h>
#include <shiftvit/loader.h>

typedef struct failing {
    atomic_llong left;  /* allocations that still succeed */
    atomic_llong held;  /* bytes that are not released yet */
    atomic_llong taken; /* bytes in all */
} failing;

static void *failing_allocate(void *user, size_t bytes, size_t alignment)
{
    failing *own = user;
    if (own->left-- == 0)
        return NULL;
    own->held += (long long)bytes;
    own->taken += (long long)bytes;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void failing_release(void *user, void *memory, size_t bytes)
{
    ((failing *)user)->held -= (long long)bytes;
    free(memory);
}

typedef svit_status (*scenario)(svit_context *context, const test_folder *folder, svit_error *err);

static svit_status read_image(svit_context *context, const test_folder *folder, svit_error *err)
{
    svit_image *image = NULL;
    svit_status status = svit_image_read(&image, context, path_in(folder, "a/p.png"), 3, err);
    svit_image_free(image);
    return status;
}

static svit_status write_image(svit_context *context, const test_folder *folder, svit_error *err)
{
    const uint8_t rgb[12] = {1, 2, 3};
    return svit_image_write_png(context, path_in(folder, "b/q.png"), rgb, 2, 2, err);
}

static svit_status read_folder(svit_context *context, const test_folder *folder, svit_error *err)
{
    svit_dataset *dataset = NULL;
    svit_dataset *part = NULL;
    uint8_t rgb[8 * 8 * 3];
    int32_t label;
    size_t bad = 0;
    svit_status status = svit_dataset_folder(&dataset, context, folder->path, 8, 8, 3,
                                             SVIT_SOURCE_SHORTER_SIDE, err);
    if (status == SVIT_OK)
        status = svit_dataset_verify(dataset, NULL, NULL, &bad, err);
    if (status == SVIT_OK && bad > 0)
        status = SVIT_E_FORMAT; /* a good image is called bad, for want of memory */
    if (status == SVIT_OK)
        status = svit_dataset_select(&part, dataset, (const size_t[]){0}, 1, err);
    if (status == SVIT_OK)
        status = svit_dataset_sample(part, 0, rgb, &label, err);
    svit_dataset_free(part);
    svit_dataset_free(dataset);
    return status;
}

static svit_status read_cifar(svit_context *context, const test_folder *folder, svit_error *err)
{
    svit_dataset *dataset = NULL;
    double mean[3];
    double variance[3];
    svit_status status =
        svit_dataset_cifar10(&dataset, context, folder->path, SVIT_SPLIT_TEST, err);
    if (status == SVIT_OK)
        status = svit_dataset_statistics(dataset, 1, mean, variance, err);
    svit_dataset_free(dataset);
    return status;
}

/* Reads two batches of a loader whose thread also reads images. */
static svit_status load_batches(svit_context *context, const test_folder *folder, uint32_t prefetch,
                                svit_error *err)
{
    svit_dataset *dataset = NULL;
    svit_loader *loader = NULL;
    svit_pipeline_config pipeline;
    svit_loader_config config;
    svit_pipeline_config_init(&pipeline, sizeof pipeline);
    svit_loader_config_init(&config, sizeof config);
    config.batch = 1;
    config.prefetch = prefetch;
    static float images[48 * 48 * 3];
    int32_t labels[1];
    size_t n = 0;
    svit_status status = svit_dataset_folder(&dataset, context, folder->path, 8, 8, 3,
                                             SVIT_SOURCE_SHORTER_SIDE, err);
    if (status == SVIT_OK)
        status = svit_loader_create(&loader, dataset, &pipeline, &config, err);
    for (int i = 0; status == SVIT_OK && i < 2; i++)
        status = svit_loader_next(loader, images, labels, &n, err);
    svit_loader_free(loader);
    svit_dataset_free(dataset);
    return status;
}

static svit_status load_here(svit_context *context, const test_folder *folder, svit_error *err)
{
    return load_batches(context, folder, 0, err);
}

static svit_status load_ahead(svit_context *context, const test_folder *folder, svit_error *err)
{
    return load_batches(context, folder, 1, err);
}

static svit_status evaluate_images(svit_context *context, size_t n, svit_error *err)
{
    static uint8_t rgb[2 * 9 * 9 * 3];
    static float out[2 * 48 * 48 * 3];
    svit_pipeline_config pipeline;
    svit_pipeline_config_init(&pipeline, sizeof pipeline);
    pipeline.source_filter = SVIT_SOURCE_SHORTER_SIDE;
    return svit_pipeline_apply_evaluation(context, &pipeline, rgb, n, 9, 9, out, err);
}

static svit_status evaluate(svit_context *context, const test_folder *folder, svit_error *err)
{
    (void)folder;
    return evaluate_images(context, 2, err);
}

static const scenario SCENARIOS[] = {
    read_image, write_image, read_folder, read_cifar, load_here, load_ahead, evaluate,
};
enum { SCENARIO_COUNT = sizeof SCENARIOS / sizeof *SCENARIOS };

static test_folder folder_fill(void)
{
    test_folder folder = folder_make();
    svit_context *context = context_open();
    subfolder_make(&folder, "a");
    subfolder_make(&folder, "b");
    const uint8_t rgb[12] = {9, 8, 7};
    WORKS(svit_image_write_png(context, path_in(&folder, "a/p.png"), rgb, 2, 2, err));
    static uint8_t records[2 * 3073];
    file_write(&folder, "test_batch.bin", records, sizeof records);
    file_write(&folder, "batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n", 20);
    svit_context_free(context);
    return folder;
}

static svit_context *context_of(failing *user, uint32_t threads)
{
    const svit_context_config config = {
        .struct_size = sizeof config,
        .threads = threads,
        .allocate = failing_allocate,
        .release = failing_release,
        .allocator_user = user,
    };
    svit_context *context = NULL;
    user->left = -1;
    WORKS(svit_context_create(&context, &config, err));
    return context;
}

START_TEST(test_every_allocation_may_fail)
{
    NEEDS(HAS_PNG, "PNG");
    enum { MOST = 200 };
    test_folder folder = folder_fill();
    failing user = {0};
    svit_context *context = context_of(&user, 1);
    long long before = user.held;
    long long failed = 0;
    svit_status status = SVIT_E_MEMORY;
    for (; failed < MOST && status != SVIT_OK; failed++) {
        svit_error error = ERROR_RECORD;
        user.left = failed;
        status = SCENARIOS[_i](context, &folder, &error);
        ck_assert_int_eq(user.held, before);
        if (status != SVIT_OK) {
            ck_assert_msg(status == SVIT_E_MEMORY, "%d (%s)", status, error.message);
            ck_assert_uint_gt(strlen(error.message), 0);
        }
    }
    ck_assert_int_eq(status, SVIT_OK);
    ck_assert_int_gt(failed, 1);
    user.left = -1;
    svit_context_free(context);
    ck_assert_int_eq(user.held, 0);
    folder_remove(&folder);
}
END_TEST

/* What n images take in a context of so many threads. */
static long long taken_by(size_t n, uint32_t threads)
{
    failing user = {0};
    svit_context *context = context_of(&user, threads);
    const long long before = user.taken;
    WORKS(evaluate_images(context, n, err));
    const long long taken = user.taken - before;
    svit_context_free(context);
    ck_assert_int_eq(user.held, 0);
    return taken;
}

/* The scratch is that of the workers with a task: one image has one, two have two. */
START_TEST(test_images_take_the_memory_of_as_many_workers)
{
    const long long one = taken_by(1, 1), scratch = taken_by(2, 2) - one;
    ck_assert_int_gt(scratch, 0);
    ck_assert_int_eq(taken_by(1, 4), one);
    ck_assert_int_eq(taken_by(2, 4), one + scratch);
    ck_assert_int_eq(taken_by(2, 1), one);
}
END_TEST

static Suite *memory_suite(void)
{
    Suite *suite = suite_create("data_memory");
    TCase *cases = tcase_create("all");
    tcase_add_loop_test(cases, test_every_allocation_may_fail, 0, SCENARIO_COUNT);
    tcase_add_test(cases, test_images_take_the_memory_of_as_many_workers);
    suite_add_tcase(suite, cases);
    return suite;
}

TEST_MAIN(memory_suite)
