/* Checks the verification of datasets: it finds every bad sample, in order, and no other. */
#include "data_support.h"
#include "jpeg_make.h"

#include <shiftvit/dataset.h>
#include <shiftvit/image.h>

#include <pthread.h>

static void image_write(svit_context *context, const test_folder *folder, const char *name)
{
    uint8_t rgb[6 * 5 * 3];
    bytes_fill(rgb, sizeof rgb, 3);
    WORKS(svit_image_write_png(context, path_in(folder, name), rgb, 6, 5, err));
}

/* Makes a JPEG of 16 x 16 pixels whose last `cut` bytes are missing. */
static void jpeg_write(const test_folder *folder, const char *name, int channels, size_t cut)
{
    static uint8_t in[16 * 16 * 4];
    bytes_fill(in, sizeof in, 4);
    jpeg_file file = jpeg_make(in, 16, 16, (jpeg_options){.channels = channels, .quality = 90});
    file_write(folder, name, file.data, file.bytes - cut);
    free(file.data);
}

/* 299 good images in the class "good", enough for several rounds, and six bad ones. */
static test_folder folder_fill(svit_context *context)
{
    test_folder folder = folder_make();
    subfolder_make(&folder, "bad");
    subfolder_make(&folder, "good");
    subfolder_make(&folder, "worse");
    image_write(context, &folder, "good/000.png");
    for (int i = 1; i < 300; i++) {
        char first[512];
        char name[32];
        snprintf(name, sizeof name, "good/%03d.png", i);
        snprintf(first, sizeof first, "%s", path_in(&folder, "good/000.png"));
        if (i != 150)
            ck_assert_int_eq(link(first, path_in(&folder, name)), 0);
    }
    file_write(&folder, "bad/1-text.png", "no image", 8);
    jpeg_write(&folder, "bad/2-cut.jpg", 4, 3);
    jpeg_write(&folder, "bad/3-good.jpg", 4, 0);
    file_write(&folder, "worse/1-empty.jpeg", "", 0);
    jpeg_write(&folder, "worse/2-cut.jpg", 3, 40);
    ck_assert_int_eq(symlink("/nowhere/at-all", path_in(&folder, "worse/3-link.png")), 0);
    file_write(&folder, "good/150.png", "\x89PNG\r\n\x1a\n", 8);
    return folder;
}

static const struct {
    size_t index;
    svit_status status;
    const char *name;
} BAD[] = {
    {0, SVIT_E_FORMAT, "/bad/1-text.png"},     {1, SVIT_E_FORMAT, "/bad/2-cut.jpg: "},
    {3 + 150, SVIT_E_FORMAT, "/good/150.png"}, {303, SVIT_E_FORMAT, "/worse/1-empty.jpeg"},
    {304, SVIT_E_FORMAT, "/worse/2-cut.jpg"},  {305, SVIT_E_IO, "/worse/3-link.png"},
};
enum { BAD_COUNT = sizeof BAD / sizeof *BAD, COUNT = 306 };

/* What the callback has received. */
typedef struct report {
    pthread_t thread;
    size_t calls;
    size_t stop_at; /* calls */
    size_t indices[COUNT];
} report;

static int32_t bad_sample(size_t index, svit_status status, const char *message, void *user)
{
    report *self = user;
    ck_assert(pthread_equal(self->thread, pthread_self()));
    ck_assert_uint_lt(self->calls, BAD_COUNT);
    ck_assert_uint_eq(index, BAD[self->calls].index);
    ck_assert_int_eq(status, BAD[self->calls].status);
    ck_assert_msg(strstr(message, BAD[self->calls].name) != NULL, "%s", message);
    self->indices[self->calls++] = index;
    return self->calls == self->stop_at ? 7 : 0;
}

static svit_context *context_of(uint32_t threads)
{
    svit_context_config config = {.struct_size = sizeof config, .threads = threads};
    svit_context *context = NULL;
    WORKS(svit_context_create(&context, &config, err));
    return context;
}

START_TEST(test_every_bad_image_is_named_in_order)
{
    svit_context *context = context_of((uint32_t)_i);
    test_folder folder = folder_fill(context);
    svit_dataset *dataset = NULL;
    report told = {.thread = pthread_self()};
    size_t bad_count = 0;
    WORKS(svit_dataset_folder(&dataset, context, folder.path, 8, 8, 3, SVIT_SOURCE_SHORTER_SIDE,
                              err));
    ck_assert_uint_eq(svit_dataset_count(dataset), COUNT);
    WORKS(svit_dataset_verify(dataset, bad_sample, &told, &bad_count, err));
    ck_assert_uint_eq(bad_count, BAD_COUNT);
    ck_assert_uint_eq(told.calls, BAD_COUNT);
    bad_count = 99;
    WORKS(svit_dataset_verify(dataset, NULL, NULL, &bad_count, err));
    ck_assert_uint_eq(bad_count, BAD_COUNT);
    WORKS(svit_dataset_verify(dataset, NULL, NULL, NULL, err));
    told = (report){.thread = pthread_self(), .stop_at = 3};
    FAILS(svit_dataset_verify(dataset, bad_sample, &told, &bad_count, err), SVIT_E_STOPPED,
          "returned 7 at bad sample 153");
    ck_assert_uint_eq(told.calls, 3);
    svit_dataset_free(dataset);
    folder_remove(&folder);
    svit_context_free(context);
}
END_TEST

/* Statistics take the same path: they name the first bad sample, and do not depend on the threads.
 */
START_TEST(test_statistics_are_read_by_all_workers)
{
    double mean[2][3], variance[2][3];
    for (uint32_t i = 0; i < 2; i++) {
        svit_context *context = context_of(1 + 2 * i);
        test_folder folder = folder_fill(context);
        svit_dataset *dataset = NULL, *good = NULL;
        size_t indices[100];
        for (size_t k = 0; k < 100; k++)
            indices[k] = k % 2 ? 2 + k / 2 : 160 + k / 2;
        WORKS(
            svit_dataset_folder(&dataset, context, folder.path, 8, 8, 3, SVIT_SOURCE_NEAREST, err));
        FAILS(svit_dataset_statistics(dataset, 1, mean[i], variance[i], err), SVIT_E_FORMAT,
              "/bad/1-text.png");
        WORKS(svit_dataset_select(&good, dataset, indices, 100, err));
        WORKS(svit_dataset_statistics(good, 1.0 / 255, mean[i], variance[i], err));
        for (size_t c = 0; c < 3; c++)
            ck_assert(mean[i][c] > 0.1 && mean[i][c] < 0.9 && variance[i][c] > 0.001);
        svit_dataset_free(good);
        svit_dataset_free(dataset);
        folder_remove(&folder);
        svit_context_free(context);
    }
    ck_assert_mem_eq(mean[0], mean[1], sizeof mean[0]);
    ck_assert_mem_eq(variance[0], variance[1], sizeof variance[0]);
}
END_TEST

START_TEST(test_a_selection_without_the_bad_is_good)
{
    svit_context *context = context_of(2);
    test_folder folder = folder_fill(context);
    svit_dataset *dataset = NULL;
    svit_dataset *good = NULL;
    report told = {.thread = pthread_self()};
    size_t indices[COUNT];
    size_t count = 0;
    size_t next = 0;
    WORKS(svit_dataset_folder(&dataset, context, folder.path, 8, 8, 3, SVIT_SOURCE_NEAREST, err));
    WORKS(svit_dataset_verify(dataset, bad_sample, &told, NULL, err));
    for (size_t i = 0; i < COUNT; i++)
        if (next < told.calls && told.indices[next] == i)
            next++;
        else
            indices[count++] = i;
    WORKS(svit_dataset_select(&good, dataset, indices, count, err));
    ck_assert_uint_eq(svit_dataset_count(good), COUNT - BAD_COUNT);
    size_t bad_count = 99;
    WORKS(svit_dataset_verify(good, NULL, NULL, &bad_count, err));
    ck_assert_uint_eq(bad_count, 0);
    svit_dataset_free(good);
    svit_dataset_free(dataset);
    folder_remove(&folder);
    svit_context_free(context);
}
END_TEST

static int32_t name_fifo(size_t index, svit_status status, const char *message, void *user)
{
    size_t *calls = user;
    ++*calls;
    ck_assert_uint_eq(index, 1);
    ck_assert_int_eq(status, SVIT_E_IO);
    ck_assert_msg(strstr(message, "/a/b.jpg' is a FIFO; a regular file is needed") != NULL, "%s",
                  message);
    return 0;
}

/* Regression: opening a FIFO without a writer blocks the process, and SIGTERM with it. The time
 * limit of the test case ends such a wait. */
START_TEST(test_a_fifo_is_named_at_once)
{
    svit_context *context = context_of(2);
    test_folder folder = folder_make();
    svit_dataset *dataset = NULL;
    size_t calls = 0;
    subfolder_make(&folder, "a");
    image_write(context, &folder, "a/a.png");
    ck_assert_int_eq(mkfifo(path_in(&folder, "a/b.jpg"), 0600), 0);
    image_write(context, &folder, "a/c.png");
    WORKS(svit_dataset_folder(&dataset, context, folder.path, 8, 8, 3, SVIT_SOURCE_NEAREST, err));
    ck_assert_uint_eq(svit_dataset_count(dataset), 3);
    WORKS(svit_dataset_verify(dataset, name_fifo, &calls, NULL, err));
    ck_assert_uint_eq(calls, 1);
    svit_dataset_free(dataset);
    folder_remove(&folder);
    svit_context_free(context);
}
END_TEST

typedef struct caller {
    pthread_t thread;
    size_t stop_at;
    size_t wrong_at; /* a label out of range */
    size_t calls;
} caller;

static int32_t give(size_t index, uint8_t *rgb, int32_t *label, void *user)
{
    caller *self = user;
    ck_assert(pthread_equal(self->thread, pthread_self()));
    ck_assert_uint_eq(index, self->calls++);
    memset(rgb, 1, 12);
    *label = index == self->wrong_at ? 5 : 0;
    return index == self->stop_at;
}

START_TEST(test_callbacks_are_called_in_order_and_may_stop)
{
    svit_context *context = context_of(2);
    svit_dataset *dataset = NULL;
    caller self = {pthread_self(), SIZE_MAX, SIZE_MAX, 0};
    size_t bad_count = 99;
    WORKS(svit_dataset_callback(&dataset, context, give, 200, 2, 2, 3, 5, &self, err));
    WORKS(svit_dataset_verify(dataset, NULL, NULL, &bad_count, err));
    ck_assert_uint_eq(bad_count, 0);
    ck_assert_uint_eq(self.calls, 200);
    self = (caller){pthread_self(), 150, SIZE_MAX, 0};
    FAILS(svit_dataset_verify(dataset, NULL, NULL, &bad_count, err), SVIT_E_STOPPED, "sample 150");
    self = (caller){pthread_self(), SIZE_MAX, 9, 0};
    FAILS(svit_dataset_verify(dataset, NULL, NULL, &bad_count, err), SVIT_E_ARGUMENT, "label 5");
    FAILS(svit_dataset_verify(NULL, NULL, NULL, NULL, err), SVIT_E_ARGUMENT, "dataset is NULL");
    svit_dataset_free(dataset);
    svit_context_free(context);
}
END_TEST

static Suite *verify_suite(void)
{
    Suite *suite = suite_create("verify");
    TCase *cases = tcase_create("all");
    tcase_add_loop_test(cases, test_every_bad_image_is_named_in_order, 1, 4);
    tcase_add_test(cases, test_statistics_are_read_by_all_workers);
    tcase_add_test(cases, test_a_selection_without_the_bad_is_good);
    tcase_add_test(cases, test_a_fifo_is_named_at_once);
    tcase_add_test(cases, test_callbacks_are_called_in_order_and_may_stop);
    suite_add_tcase(suite, cases);
    return suite;
}

TEST_MAIN(verify_suite)
