/* Checks loaders: the content of a batch depends only on its number, not on which thread prepares
 * it or when. */
#include "build.h"
#include "test_loader_support.h"

#include "data/datasets/dataset_ops.h"

#include <shiftvit/image.h>

#include <pthread.h>
#include <time.h>

START_TEST(test_unshuffled_batches_are_as_numbered)
{
    numbered *self = numbered_make();
    svit_loader *loader = loader_make(self, config_make(0, 0, (uint32_t)_i));
    ck_assert_uint_eq(svit_loader_batches(loader), BATCHES);
    ck_assert_uint_eq(svit_loader_height(loader), OUT);
    ck_assert_uint_eq(svit_loader_width(loader), OUT);
    for (int epoch = 0; epoch < 3; epoch++) {
        for (int b = 0; b < BATCHES; b++) {
            batch got = batch_next(loader);
            ck_assert_uint_eq(got.n, b < BATCHES - 1 ? BATCH : SAMPLES % BATCH);
            for (size_t i = 0; i < got.n; i++) {
                ck_assert_int_eq(got.labels[i], b * BATCH + (int)i);
                ck_assert_float_eq(got.images[i * ELEMENTS + 2], (float)got.labels[i]);
            }
        }
        ck_assert_uint_eq(batch_next(loader).n, 0);
    }
    svit_loader_free(loader);
    numbered_free(self);
}
END_TEST

static void epoch_order(svit_loader *loader, int32_t order[SAMPLES])
{
    size_t at = 0;
    for (batch got = batch_next(loader); got.n > 0; got = batch_next(loader))
        for (size_t i = 0; i < got.n; i++) {
            ck_assert_uint_lt(at, SAMPLES);
            ck_assert_float_eq(got.images[i * ELEMENTS + 2], (float)got.labels[i]);
            order[at++] = got.labels[i];
        }
    ck_assert_uint_eq(at, SAMPLES);
}

START_TEST(test_a_shuffled_epoch_has_every_sample_once_in_an_order_of_its_own)
{
    numbered *self = numbered_make();
    svit_loader *loader = loader_make(self, config_make(1, 0, (uint32_t)_i));
    int32_t order[3][SAMPLES];
    for (size_t epoch = 0; epoch < 3; epoch++) {
        epoch_order(loader, order[epoch]);
        int seen[SAMPLES] = {0};
        for (size_t i = 0; i < SAMPLES; i++)
            seen[order[epoch][i]]++;
        for (size_t i = 0; i < SAMPLES; i++)
            ck_assert_int_eq(seen[i], 1);
    }
    ck_assert_mem_ne(order[0], self->labels, sizeof self->labels);
    ck_assert_mem_ne(order[0], order[1], sizeof order[0]);
    ck_assert_mem_ne(order[1], order[2], sizeof order[0]);
    svit_loader_config other = config_make(1, 0, (uint32_t)_i);
    other.seed = 100;
    svit_loader *second = loader_make(self, other);
    int32_t other_order[SAMPLES];
    epoch_order(second, other_order);
    ck_assert_mem_ne(order[0], other_order, sizeof other_order);
    svit_loader_free(second);
    svit_loader_free(loader);
    numbered_free(self);
}
END_TEST

START_TEST(test_batches_are_the_same_however_far_ahead_they_are_made)
{
    numbered *self = numbered_make();
    svit_loader *reference = loader_make(self, config_make(1, 1, 0));
    static batch wanted[3 * (BATCHES + 1)];
    for (size_t i = 0; i < 3 * (BATCHES + 1); i++)
        wanted[i] = batch_next(reference);
    svit_loader_free(reference);
    const uint32_t prefetch[] = {1, 3, 16};
    for (size_t p = 0; p < 3; p++) {
        svit_loader *loader = loader_make(self, config_make(1, 1, prefetch[p]));
        for (size_t i = 0; i < 3 * (BATCHES + 1); i++) {
            batch got = batch_next(loader);
            ck_assert_mem_eq(&got, &wanted[i], sizeof got);
        }
        svit_loader_free(loader);
    }
    numbered_free(self);
}
END_TEST

START_TEST(test_seeking_goes_to_the_same_batches)
{
    numbered *self = numbered_make();
    svit_loader *loader = loader_make(self, config_make(1, 1, (uint32_t)_i));
    static batch wanted[3][BATCHES + 1];
    for (size_t epoch = 0; epoch < 3; epoch++)
        for (size_t b = 0; b <= BATCHES; b++)
            wanted[epoch][b] = batch_next(loader);
    const struct {
        uint64_t epoch, batch;
        int steps;
    } jumps[] = {{0, 0, 2}, {2, 4, 1}, {1, 3, 3}, {1, 5, 1}, {0, 2, 0}, {0, 2, 5}, {2, 0, 6}};
    for (size_t j = 0; j < sizeof jumps / sizeof *jumps; j++) {
        WORKS(svit_loader_seek(loader, jumps[j].epoch, jumps[j].batch, err));
        uint64_t at = jumps[j].epoch * (BATCHES + 1) + jumps[j].batch;
        for (int i = 0; i < jumps[j].steps; i++, at++) {
            batch got = batch_next(loader);
            ck_assert_mem_eq(&got, &wanted[at / (BATCHES + 1)][at % (BATCHES + 1)], sizeof got);
        }
    }
    FAILS(svit_loader_seek(loader, 0, BATCHES + 1, err), SVIT_E_ARGUMENT, "batch is 6; 0..5");
    FAILS(svit_loader_seek(loader, UINT64_MAX, 0, err), SVIT_E_ARGUMENT, "epoch is");
    FAILS(svit_loader_seek(NULL, 0, 0, err), SVIT_E_ARGUMENT, "loader");
    svit_loader_free(loader);
    numbered_free(self);
}
END_TEST

/* Without shuffle and augmentation all epochs are equal, so prefetched batches stay valid. */
START_TEST(test_going_back_to_the_start_of_a_fixed_epoch_gives_it_again)
{
    numbered *self = numbered_make();
    svit_loader *loader = loader_make(self, config_make(0, 0, 2));
    int32_t order[SAMPLES];
    for (int i = 0; i < 3; i++) {
        epoch_order(loader, order);
        ck_assert_mem_eq(order, self->labels, sizeof order);
        WORKS(svit_loader_seek(loader, 0, 0, err));
    }
    svit_loader_free(loader);
    numbered_free(self);
}
END_TEST

/* A dataset that counts how often each sample is read. */
typedef struct counted {
    svit_dataset base;
    svit_dataset *inner;
    atomic_uint *reads; /* [SAMPLES] */
} counted;

static svit_status counted_sample(const svit_dataset *dataset, size_t index,
                                  const sv_first_crop *crop, void *pixels, int32_t *label,
                                  svit_error *err)
{
    const counted *self = (const counted *)dataset;
    atomic_fetch_add(&self->reads[index], 1);
    return self->inner->ops->sample(self->inner, index, crop, pixels, label, err);
}

static const sv_dataset_ops COUNTED = {.bytes = sizeof(counted), .sample = counted_sample};

static unsigned reads_of_all(atomic_uint reads[SAMPLES])
{
    unsigned sum = 0;
    for (int i = 0; i < SAMPLES; i++)
        sum += atomic_load(&reads[i]);
    return sum;
}

/* A loop over epochs seeks the start of each one, of which the first batches are made by then. */
START_TEST(test_seeking_the_next_epoch_keeps_the_batches_made_of_it)
{
    enum { AHEAD = 2 };
    const struct timespec pause = {.tv_nsec = 1000000};
    numbered *self = numbered_make();
    atomic_uint reads[SAMPLES] = {0};
    counted dataset = {.base = *self->dataset, .inner = self->dataset, .reads = reads};
    dataset.base.ops = &COUNTED;
    atomic_init(&dataset.base.references, 2); /* the loader's never is the last one */
    const svit_loader_config config = config_make(1, 1, AHEAD);
    svit_loader *loader = NULL;
    WORKS(svit_loader_create(&loader, &dataset.base, &self->pipeline, &config, err));
    int32_t order[SAMPLES];
    epoch_order(loader, order);
    while (reads_of_all(reads) < SAMPLES + AHEAD * BATCH)
        nanosleep(&pause, NULL);
    WORKS(svit_loader_seek(loader, 1, 0, err));
    for (int i = 0; i < AHEAD; i++) {
        const batch got = batch_next(loader);
        for (size_t k = 0; k < got.n; k++)
            ck_assert_uint_eq(atomic_load(&reads[got.labels[k]]), 2);
    }
    svit_loader_free(loader);
    numbered_free(self);
}
END_TEST

START_TEST(test_an_image_that_cannot_be_read_stops_the_loader_at_its_batch)
{
    NEEDS(HAS_PNG, "PNG");
    numbered *self = numbered_make();
    test_folder folder = folder_make();
    subfolder_make(&folder, "a");
    for (int i = 0; i < 12; i++) {
        char name[32];
        snprintf(name, sizeof name, "a/%02d.png", i);
        WORKS(svit_image_write_png(self->context, path_in(&folder, name),
                                   self->rgb + i * SIDE * SIDE * 3, SIDE, SIDE, err));
    }
    file_write(&folder, "a/07.png", "not an image", 12);
    svit_dataset *dataset = NULL;
    WORKS(svit_dataset_folder(&dataset, self->context, folder.path, SIDE, SIDE, 3,
                              SVIT_SOURCE_NEAREST, err));
    svit_loader_config config = config_make(0, 0, (uint32_t)_i);
    svit_loader *loader = NULL;
    WORKS(svit_loader_create(&loader, dataset, &self->pipeline, &config, err));
    svit_dataset_free(dataset);
    batch got = batch_next(loader);
    ck_assert_float_eq(got.images[2], 0);
    for (int i = 0; i < 3; i++) {
        got.n = 77;
        FAILS(svit_loader_next(loader, got.images, got.labels, &got.n, err), SVIT_E_FORMAT,
              "a/07.png");
        ck_assert_uint_eq(got.n, 77);
        ck_assert_int_eq(svit_loader_next(loader, got.images, got.labels, &got.n, NULL),
                         SVIT_E_FORMAT);
    }
    WORKS(svit_loader_seek(loader, 0, 2, err));
    ck_assert_uint_eq(batch_next(loader).n, 2);
    WORKS(svit_loader_seek(loader, 0, 1, err));
    WORKS(svit_image_write_png(self->context, path_in(&folder, "a/07.png"),
                               self->rgb + 7 * SIDE * SIDE * 3, SIDE, SIDE, err));
    got = batch_next(loader);
    ck_assert_uint_eq(got.n, BATCH);
    ck_assert_float_eq(got.images[2 * ELEMENTS + 2], 7);
    svit_loader_free(loader);
    folder_remove(&folder);
    numbered_free(self);
}
END_TEST

typedef struct asked {
    pthread_t thread;
    size_t stop_at;
    size_t calls;
} asked;

static int32_t give_sample(size_t index, uint8_t *rgb, int32_t *label, void *user)
{
    asked *self = user;
    ck_assert(pthread_equal(pthread_self(), self->thread));
    self->calls++;
    if (index == self->stop_at)
        return 1;
    memset(rgb, (int)index, SIDE * SIDE * 3);
    *label = (int32_t)index;
    return 0;
}

START_TEST(test_callbacks_are_called_on_the_callers_thread_only)
{
    numbered *self = numbered_make();
    asked user = {.thread = pthread_self(), .stop_at = 6};
    svit_dataset *dataset = NULL;
    svit_dataset *slice = NULL;
    WORKS(svit_dataset_callback(&dataset, self->context, give_sample, SAMPLES, SIDE, SIDE, 3,
                                SAMPLES, &user, err));
    WORKS(svit_dataset_slice(&slice, dataset, 0, 10, err));
    svit_loader_config config = config_make(0, 0, 3);
    svit_loader *loader = NULL;
    WORKS(svit_loader_create(&loader, slice, &self->pipeline, &config, err));
    ck_assert_uint_eq(batch_next(loader).n, BATCH);
    ck_assert_uint_eq(user.calls, BATCH);
    batch got;
    FAILS(svit_loader_next(loader, got.images, got.labels, &got.n, err), SVIT_E_STOPPED,
          "sample 6");
    user.stop_at = SAMPLES;
    got = batch_next(loader);
    ck_assert_uint_eq(got.n, BATCH);
    ck_assert_int_eq(got.labels[1], 6);
    ck_assert_uint_eq(batch_next(loader).n, 0);
    svit_loader_free(loader);
    svit_dataset_free(slice);
    svit_dataset_free(dataset);
    numbered_free(self);
}
END_TEST

START_TEST(test_a_busy_loader_can_be_sent_elsewhere_and_freed)
{
    atomic_llong held = 0;
    svit_context *context = context_counting(&held);
    svit_dataset *dataset = NULL;
    WORKS(svit_dataset_synthetic(&dataset, context, 1, SVIT_SPLIT_TRAIN, 400, err));
    svit_pipeline_config pipeline;
    ck_assert_int_eq(svit_pipeline_config_init(&pipeline, sizeof pipeline), SVIT_OK);
    svit_loader_config config = config_make(1, 1, 4);
    config.batch = 50;
    float *images = malloc(50 * 48 * 48 * 3 * sizeof *images);
    int32_t labels[50];
    size_t n = 0;
    for (int round = 0; round < 15; round++) {
        svit_loader *loader = NULL;
        WORKS(svit_loader_create(&loader, dataset, &pipeline, &config, err));
        for (int i = 0; i < round % 4; i++) {
            WORKS(svit_loader_next(loader, images, labels, &n, err));
            ck_assert_uint_eq(n, 50);
            WORKS(svit_loader_seek(loader, (uint64_t)round, (uint64_t)i, err));
        }
        svit_loader_free(loader);
    }
    free(images);
    svit_dataset_free(dataset);
    svit_context_free(context);
    ck_assert_int_eq(held, 0);
}
END_TEST

START_TEST(test_a_loader_keeps_what_it_needs)
{
    numbered *self = numbered_make();
    svit_loader *loader = loader_make(self, config_make(1, 1, 2));
    svit_dataset_free(self->dataset);
    svit_context_free(self->context);
    ck_assert_uint_eq(batch_next(loader).n, BATCH);
    svit_loader_free(loader);
    free(self);
}
END_TEST

START_TEST(test_wrong_arguments_of_loaders_are_named)
{
    numbered *self = numbered_make();
    svit_loader *loader = NULL;
    svit_loader_config good = config_make(1, 1, 1);
#define REFUSED(field, value, part)                                                                \
    do {                                                                                           \
        svit_loader_config bad = good;                                                             \
        bad.field = (value);                                                                       \
        FAILS(svit_loader_create(&loader, self->dataset, &self->pipeline, &bad, err),              \
              SVIT_E_ARGUMENT, part);                                                              \
    } while (0)
    REFUSED(batch, 0, "batch is 0; it is in [1, 65536]");
    REFUSED(batch, 65537, "batch is 65537");
    REFUSED(shuffle, 2, "shuffle is 2");
    REFUSED(augment, -1, "augment is -1");
    REFUSED(prefetch, 17, "prefetch is 17; it is in [0, 16]");
    REFUSED(sampling, 2, "sampling is 2");
    REFUSED(struct_size, 8, "struct_size");
#undef REFUSED
    svit_pipeline_config wrong = self->pipeline;
    wrong.scale = 0;
    FAILS(svit_loader_create(&loader, self->dataset, &wrong, &good, err), SVIT_E_ARGUMENT, "scale");
    FAILS(svit_loader_create(NULL, self->dataset, &self->pipeline, &good, err), SVIT_E_ARGUMENT,
          "out");
    FAILS(svit_loader_create(&loader, NULL, &self->pipeline, &good, err), SVIT_E_ARGUMENT,
          "dataset");
    FAILS(svit_loader_create(&loader, self->dataset, NULL, &good, err), SVIT_E_ARGUMENT,
          "pipeline");
    ck_assert_ptr_null(loader);
    ck_assert_int_eq(svit_loader_config_init(NULL, sizeof good), SVIT_E_ARGUMENT);
    loader = loader_make(self, good);
    batch got;
    FAILS(svit_loader_next(NULL, got.images, got.labels, &got.n, err), SVIT_E_ARGUMENT, "loader");
    FAILS(svit_loader_next(loader, NULL, got.labels, &got.n, err), SVIT_E_ARGUMENT, "images");
    FAILS(svit_loader_next(loader, got.images, NULL, &got.n, err), SVIT_E_ARGUMENT, "labels");
    FAILS(svit_loader_next(loader, got.images, got.labels, NULL, err), SVIT_E_ARGUMENT, "n is");
    ck_assert_uint_eq(batch_next(loader).n, BATCH);
    svit_loader_free(loader);
    WORKS(svit_loader_create(&loader, self->dataset, &self->pipeline, NULL, err));
    ck_assert_uint_eq(svit_loader_batches(loader), 1); /* a batch has 256 samples by default */
    svit_loader_free(loader);
    svit_loader_free(NULL);
    ck_assert_uint_eq(svit_loader_height(NULL) + svit_loader_width(NULL), 0);
    ck_assert_uint_eq(svit_loader_batches(NULL), 0);
    numbered_free(self);
}
END_TEST

static Suite *loader_suite(void)
{
    Suite *suite = suite_create("loader");
    TCase *cases = tcase_create("all");
    enum { PREFETCH_CASES = 4 }; /* 0..3 batches ahead */
    tcase_add_loop_test(cases, test_unshuffled_batches_are_as_numbered, 0, PREFETCH_CASES);
    tcase_add_loop_test(cases, test_a_shuffled_epoch_has_every_sample_once_in_an_order_of_its_own,
                        0, PREFETCH_CASES);
    tcase_add_test(cases, test_batches_are_the_same_however_far_ahead_they_are_made);
    tcase_add_loop_test(cases, test_seeking_goes_to_the_same_batches, 0, PREFETCH_CASES);
    tcase_add_test(cases, test_going_back_to_the_start_of_a_fixed_epoch_gives_it_again);
    tcase_add_test(cases, test_seeking_the_next_epoch_keeps_the_batches_made_of_it);
    tcase_add_loop_test(cases, test_an_image_that_cannot_be_read_stops_the_loader_at_its_batch, 0,
                        PREFETCH_CASES);
    tcase_add_test(cases, test_callbacks_are_called_on_the_callers_thread_only);
    tcase_add_test(cases, test_a_busy_loader_can_be_sent_elsewhere_and_freed);
    tcase_add_test(cases, test_a_loader_keeps_what_it_needs);
    tcase_add_test(cases, test_wrong_arguments_of_loaders_are_named);
    suite_add_tcase(suite, cases);
    return suite;
}

TEST_MAIN(loader_suite)
