/* Checks batches with targets: of labels, of datasets with targets, of mixed images and of repeated
 * samples; and balanced sampling. */
#include "test_loader_support.h"

enum { WHOLE = SIDE * SIDE * 3 };

/* A pipeline that shows whole images, with these steps. */
static void set_steps(numbered *self, const char *steps)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"source_height\":8,\"source_width\":8,\"resize_height\":8,\"resize_width\":8,"
             "\"output_height\":8,\"output_width\":8,\"scale\":1.0,\"flip_probability\":0,"
             "\"augment\":%s}",
             steps);
    WORKS(svit_pipeline_config_from_json(&self->pipeline, sizeof self->pipeline, text, err));
}

/* Replaces the dataset by one whose sample i has the targets i, -i / 2. */
static void set_targets(numbered *self, float targets[SAMPLES * 2])
{
    svit_dataset_free(self->dataset);
    for (int i = 0; i < SAMPLES; i++) {
        targets[2 * i] = (float)i;
        targets[2 * i + 1] = (float)-i / 2;
    }
    WORKS(svit_dataset_memory_targets(&self->dataset, self->context, self->rgb, targets, SAMPLES,
                                      SIDE, SIDE, 3, 2, err));
}

START_TEST(test_labels_become_rows)
{
    numbered *self = numbered_make();
    for (uint32_t prefetch = 0; prefetch < 3; prefetch += 2) {
        svit_loader *loader = loader_make(self, config_make(1, 0, prefetch));
        svit_loader *same = loader_make(self, config_make(1, 0, prefetch));
        ck_assert_int_eq(svit_loader_has_targets(loader), 0);
        float images[BATCH * ELEMENTS], targets[BATCH * SAMPLES];
        size_t n;
        for (batch got = batch_next(same); got.n; got = batch_next(same)) {
            WORKS(svit_loader_next_targets(loader, images, targets, &n, err));
            ck_assert_uint_eq(n, got.n);
            ck_assert_mem_eq(images, got.images, n * ELEMENTS * sizeof *images);
            for (size_t i = 0; i < n * SAMPLES; i++)
                ck_assert(targets[i] == (i % SAMPLES == (size_t)got.labels[i / SAMPLES]));
        }
        WORKS(svit_loader_next_targets(loader, images, targets, &n, err));
        ck_assert_uint_eq(n, 0);
        svit_loader_free(same);
        svit_loader_free(loader);
    }
    numbered_free(self);
}
END_TEST

START_TEST(test_targets_of_a_dataset)
{
    numbered *self = numbered_make();
    float of_samples[SAMPLES * 2], images[BATCH * ELEMENTS], targets[BATCH * 2], row[2];
    set_targets(self, of_samples);
    ck_assert_int_eq(svit_dataset_has_targets(self->dataset), 1);
    ck_assert_uint_eq(svit_dataset_classes(self->dataset), 2);
    svit_dataset *view = NULL;
    WORKS(svit_dataset_slice(&view, self->dataset, 3, 10, err));
    WORKS(svit_dataset_targets(view, 4, row, err));
    ck_assert(row[0] == 7 && row[1] == -3.5f);
    int32_t label = 5, labels[BATCH];
    WORKS(svit_dataset_label(view, 4, &label, err));
    ck_assert_int_eq(label, -1);
    for (uint32_t prefetch = 0; prefetch < 3; prefetch += 2) {
        svit_loader *loader = loader_make(self, config_make(1, 0, prefetch));
        size_t n;
        FAILS(svit_loader_next(loader, images, labels, &n, err), SVIT_E_STATE,
              "svit_loader_next_targets reads them");
        for (int b = 0; b < BATCHES; b++) {
            WORKS(svit_loader_next_targets(loader, images, targets, &n, err));
            for (size_t i = 0; i < n; i++) {
                ck_assert(targets[2 * i] == images[i * ELEMENTS + 2]); /* blue is the sample */
                ck_assert(targets[2 * i + 1] == -targets[2 * i] / 2);
            }
        }
        svit_loader_free(loader);
    }
    uint64_t first, second;
    WORKS(svit_dataset_fingerprint(self->dataset, &first, err));
    of_samples[2 * 22] += 1;
    WORKS(svit_dataset_fingerprint(self->dataset, &second, err));
    ck_assert_uint_ne(first, second);
    of_samples[5] = NAN;
    svit_dataset *none = NULL;
    FAILS(svit_dataset_memory_targets(&none, self->context, self->rgb, of_samples, SAMPLES, SIDE,
                                      SIDE, 3, 2, err),
          SVIT_E_ARGUMENT, "target 1 of sample 2 is nan");
    svit_dataset_free(view);
    numbered_free(self);
}
END_TEST

/* With Mixup blue, the number of the sample, is mixed as the targets are. */
START_TEST(test_mixed_images_have_mixed_targets)
{
    numbered *self = numbered_make();
    set_steps(self, "[{\"name\":\"mixup\",\"alpha\":1.0},{\"name\":\"repeat\",\"n\":1}]");
    static float images[2][BATCH * WHOLE], targets[2][BATCH * SAMPLES];
    svit_loader *loaders[2] = {loader_make(self, config_make(1, 1, 0)),
                               loader_make(self, config_make(1, 1, 2))};
    ck_assert_int_eq(svit_loader_has_targets(loaders[0]), 1);
    int mixed = 0;
    for (int b = 0; b < 3 * (BATCHES + 1); b++) {
        size_t n[2];
        for (int k = 0; k < 2; k++)
            WORKS(svit_loader_next_targets(loaders[k], images[k], targets[k], &n[k], err));
        ck_assert_uint_eq(n[0], n[1]);
        ck_assert_mem_eq(images[0], images[1], n[0] * WHOLE * sizeof **images);
        ck_assert_mem_eq(targets[0], targets[1], n[0] * SAMPLES * sizeof **targets);
        for (size_t i = 0; i < n[0]; i++) {
            double blue = 0, sum = 0;
            for (size_t k = 0; k < SAMPLES; k++) {
                double target = targets[0][i * SAMPLES + k];
                blue += (double)k * target;
                sum += target;
                mixed += target > 0.1 && target < 0.9;
            }
            ck_assert_double_eq_tol(sum, 1, 1e-6);
            ck_assert_double_eq_tol(images[0][i * WHOLE + 2], blue, 1e-4);
        }
    }
    ck_assert_int_gt(mixed, 20);
    svit_loader_free(loaders[0]);
    svit_loader_free(loaders[1]);
    /* An evaluating loader does not mix. */
    svit_loader *plain = loader_make(self, config_make(0, 0, 0));
    ck_assert_int_eq(svit_loader_has_targets(plain), 0);
    svit_loader_free(plain);
    numbered_free(self);
}
END_TEST

/* Another class at each call, of which the image tells. */
static int32_t changing(size_t index, uint8_t *pixels, int32_t *label, void *user)
{
    int *calls = user;
    (void)index;
    *label = (*calls)++ % 3;
    memset(pixels, *label, WHOLE);
    return 0;
}

/* The targets are those of the call that gave the image, also through views. */
START_TEST(test_a_callback_is_called_once_for_image_and_targets)
{
    static float images[BATCH * WHOLE], targets[BATCH * 3];
    static const size_t ORDER[SAMPLES] = {2, 1, 0};
    numbered *self = numbered_make();
    int calls = 0;
    svit_dataset *views[2] = {NULL, NULL};
    WORKS(svit_dataset_callback(&views[0], self->context, changing, SAMPLES, SIDE, SIDE, 3, 3,
                                &calls, err));
    WORKS(svit_dataset_select(&views[1], views[0], ORDER, SAMPLES, err));
    set_steps(self, "[{\"name\":\"mixup\",\"probability\":0}]");
    for (int k = 0; k < 2; k++) {
        svit_loader *loader = NULL;
        svit_loader_config config = config_make(1, 1, 0);
        size_t n;
        calls = 0;
        WORKS(svit_loader_create(&loader, views[k], &self->pipeline, &config, err));
        for (int b = 0; b < BATCHES; b++) {
            WORKS(svit_loader_next_targets(loader, images, targets, &n, err));
            for (size_t i = 0; i < n; i++)
                for (size_t class = 0; class < 3; class ++)
                    ck_assert_float_eq(targets[i * 3 + class], images[i * WHOLE] == (float)class);
        }
        ck_assert_int_eq(calls, SAMPLES);
        svit_loader_free(loader);
        svit_dataset_free(views[k]);
    }
    numbered_free(self);
}
END_TEST

START_TEST(test_repeated_samples_have_their_own_augmentations)
{
    numbered *self = numbered_make();
    set_steps(self, "[{\"name\":\"crop\",\"padding\":3},{\"name\":\"repeat\",\"n\":3}]");
    svit_loader *loader = loader_make(self, config_make(1, 1, 2));
    static float images[BATCHES * BATCH * WHOLE];
    int32_t labels[BATCHES * BATCH];
    size_t all = 0, n;
    for (int b = 0; b < BATCHES; b++, all += n)
        WORKS(svit_loader_next(loader, images + all * WHOLE, labels + all, &n, err));
    ck_assert_uint_eq(all, SAMPLES);
    int different = 0, seen[SAMPLES] = {0};
    for (size_t i = 0; i < SAMPLES; i++) {
        ck_assert_int_eq(labels[i], labels[i - i % 3]);
        seen[labels[i]]++;
        different += i % 3 && memcmp(images + i * WHOLE, images + (i - 1) * WHOLE,
                                     WHOLE * sizeof *images) != 0;
    }
    for (size_t i = 0; i < SAMPLES; i++)
        ck_assert(seen[i] == 0 || seen[i] == 3 || seen[i] == SAMPLES % 3);
    ck_assert_int_gt(different, 10);
    svit_loader_free(loader);
    numbered_free(self);
}
END_TEST

/* Classes 0, 1, 2 with 18, 4 and 1 of the samples, and class 3 without any. */
START_TEST(test_balanced_sampling)
{
    numbered *self = numbered_make();
    svit_dataset_free(self->dataset);
    for (int i = 0; i < SAMPLES; i++)
        self->labels[i] = i < 18 ? 0 : i < 22 ? 1 : 2;
    WORKS(svit_dataset_memory(&self->dataset, self->context, self->rgb, self->labels, SAMPLES, SIDE,
                              SIDE, 3, 4, err));
    svit_loader_config config = config_make(1, 0, 2);
    config.sampling = SVIT_SAMPLING_BALANCED;
    svit_loader *loader = loader_make(self, config), *same = loader_make(self, config);
    int orders_differ = 0, first_order[SAMPLES];
    for (int epoch = 0; epoch < 3; epoch++) {
        int seen[SAMPLES] = {0}, counts[4] = {0}, at = 0;
        for (batch got = batch_next(loader); got.n; got = batch_next(loader)) {
            batch again = batch_next(same);
            ck_assert_mem_eq(&got, &again, sizeof got);
            for (size_t i = 0; i < got.n; i++, at++) {
                int sample = (int)got.images[i * ELEMENTS + 2];
                ck_assert_int_eq(got.labels[i], self->labels[sample]);
                counts[got.labels[i]]++;
                seen[sample]++;
                if (epoch == 0)
                    first_order[at] = sample;
                orders_differ += first_order[at] != sample;
            }
        }
        batch_next(same);
        ck_assert_int_eq(at, SAMPLES);
        for (int k = 0; k < 3; k++)
            ck_assert(counts[k] == 7 || counts[k] == 8);
        ck_assert_int_eq(counts[3], 0);
        for (int i = 0; i < 18; i++)
            ck_assert_int_le(seen[i], 1);
        for (int i = 18; i < 22; i++)
            ck_assert(seen[i] == 1 || seen[i] == 2);
    }
    ck_assert_int_gt(orders_differ, 20);
    svit_loader_free(same);
    svit_loader_free(loader);
    float targets[SAMPLES * 2];
    set_targets(self, targets);
    FAILS(svit_loader_create(&loader, self->dataset, &self->pipeline, &config, err),
          SVIT_E_UNSUPPORTED, "this dataset has targets instead of labels");
    numbered_free(self);
}
END_TEST

/* An allocator that has no more than a MiB for one array. */
static void *allocate_little(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    if (bytes > 1 << 20)
        return NULL;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release_little(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(memory);
}

/* The order of a balanced epoch, of samples whose classes 0, 1, 2 have the labels of[3]. */
static void order_of(int order[SAMPLES], numbered *self, const int32_t of[3], size_t classes)
{
    const svit_context_config little = {.struct_size = sizeof little,
                                        .threads = 1,
                                        .allocate = allocate_little,
                                        .release = release_little};
    svit_context *context = NULL;
    svit_dataset *dataset = NULL;
    svit_loader *loader = NULL;
    svit_loader_config config = config_make(1, 0, 2);
    config.sampling = SVIT_SAMPLING_BALANCED;
    for (int i = 0; i < SAMPLES; i++)
        self->labels[i] = of[i % 5 == 0 ? 2 : i % 2];
    WORKS(svit_context_create(&context, &little, err));
    WORKS(svit_dataset_memory(&dataset, context, self->rgb, self->labels, SAMPLES, SIDE, SIDE, 3,
                              classes, err));
    WORKS(svit_loader_create(&loader, dataset, &self->pipeline, &config, err));
    int at = 0;
    for (batch got = batch_next(loader); got.n; got = batch_next(loader))
        for (size_t i = 0; i < got.n; i++)
            order[at++] = (int)got.images[i * ELEMENTS + 2];
    ck_assert_int_eq(at, SAMPLES);
    svit_loader_free(loader);
    svit_dataset_free(dataset);
    svit_context_free(context);
}

/* Memory and time follow the samples. Regression: 2^31 - 1 classes took 24 GiB. */
START_TEST(test_balanced_sampling_of_many_classes)
{
    static const int golden[SAMPLES] = {7, 20, 2,  11, 5,  22, 15, 6,  19, 13, 4, 10,
                                        9, 0,  14, 16, 17, 5,  1,  15, 8,  10, 3};
    static const struct {
        int32_t labels[3];
        size_t classes;
    } CASES[] = {{{0, 1, 2}, 3},
                 {{0, 1, 2}, 4},
                 {{0, 1, 2}, INT32_MAX},
                 {{5, 700, 999}, 1000},
                 {{0, INT32_MAX / 2, INT32_MAX - 1}, INT32_MAX}};
    numbered *self = numbered_make();
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        int order[SAMPLES];
        order_of(order, self, CASES[i].labels, CASES[i].classes);
        ck_assert_mem_eq(order, golden, sizeof golden);
    }
    numbered_free(self);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("loader_targets");
    TCase *c = tcase_create("loader_targets");
    tcase_add_test(c, test_labels_become_rows);
    tcase_add_test(c, test_targets_of_a_dataset);
    tcase_add_test(c, test_mixed_images_have_mixed_targets);
    tcase_add_test(c, test_a_callback_is_called_once_for_image_and_targets);
    tcase_add_test(c, test_repeated_samples_have_their_own_augmentations);
    tcase_add_test(c, test_balanced_sampling);
    tcase_add_test(c, test_balanced_sampling_of_many_classes);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
