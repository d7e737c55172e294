/* Checks that fingerprints tell datasets apart by their content, and that a run does not resume
 * with other data. */
#include "trainer_support.h"

#include "checkpoint_edit.h"

static uint64_t fingerprint_of(const svit_dataset *dataset)
{
    uint64_t fingerprint = 0;
    WORKS(svit_dataset_fingerprint(dataset, &fingerprint, err));
    return fingerprint;
}

static svit_dataset *memory_of(const uint8_t *rgb, const int32_t *of, size_t count, size_t height,
                               size_t width, size_t classes)
{
    svit_dataset *dataset = NULL;
    WORKS(svit_dataset_memory(&dataset, context, rgb, of, count, height, width, 3, classes, err));
    return dataset;
}

static uint64_t fingerprint_of_memory(const uint8_t *rgb, const int32_t *of, size_t count,
                                      size_t height, size_t width, size_t classes)
{
    svit_dataset *dataset = memory_of(rgb, of, count, height, width, classes);
    uint64_t fingerprint = fingerprint_of(dataset);
    svit_dataset_free(dataset);
    return fingerprint;
}

/* The fingerprint is the same on every machine: FNV-1a over 8-byte little-endian numbers. */
START_TEST(test_a_fingerprint_is_a_number_of_the_contents_alone)
{
    static const uint8_t rgb[6] = {1, 2, 3, 4, 5, 6};
    static const int32_t of[2] = {0, 1};
    ck_assert_uint_eq(fingerprint_of_memory(rgb, of, 2, 1, 1, 2), UINT64_C(0x32A5DBAC90469CC1));
    uint64_t whole = fingerprint_of(training);
    ck_assert_uint_eq(whole, fingerprint_of_memory(images, labels, SAMPLES, SIDE, SIDE, CLASSES));
    svit_dataset *same = NULL;
    WORKS(svit_dataset_slice(&same, training, 0, SAMPLES, err));
    ck_assert_uint_eq(fingerprint_of(same), whole);
    svit_dataset_free(same);
}
END_TEST

/* That of floats and targets is one of their bits, likewise: checkpoints keep it. */
START_TEST(test_a_fingerprint_of_floats_is_the_recorded_one)
{
    static const float values[6] = {0, 1, -2, 0.5f, 3e38f, -0.0f}, targets[4] = {1, 0, 0.25f, -1};
    svit_dataset *dataset = NULL;
    WORKS(svit_dataset_memory_f32(&dataset, context, values, NULL, targets, 2, 1, 1, 3, 2, err));
    ck_assert_uint_eq(fingerprint_of(dataset), UINT64_C(0x47C2018607DE5A48));
    svit_dataset_free(dataset);
}
END_TEST

START_TEST(test_any_difference_changes_it)
{
    uint64_t whole = fingerprint_of(training);
    ck_assert_uint_ne(fingerprint_of(validation), whole);
    for (size_t i = 0; i < sizeof images; i += 97) {
        images[i] ^= 1;
        ck_assert_uint_ne(fingerprint_of(training), whole);
        images[i] ^= 1;
    }
    labels[SAMPLES - 1] ^= 1;
    ck_assert_uint_ne(fingerprint_of(training), whole);
    labels[SAMPLES - 1] ^= 1;
    ck_assert_uint_eq(fingerprint_of(training), whole);
    ck_assert_uint_ne(fingerprint_of_memory(images, labels, SAMPLES, SIDE, SIDE, CLASSES + 1),
                      whole);
    ck_assert_uint_ne(fingerprint_of_memory(images, labels, SAMPLES, SIDE / 2, SIDE * 2, CLASSES),
                      whole);
}
END_TEST

/* Synthetic datasets have class names; their copy in memory has none. */
START_TEST(test_names_and_64_samples_of_many_count)
{
    enum { COUNT = 1000, BYTES = 32 * 32 * 3 };
    svit_dataset *synthetic = NULL;
    WORKS(svit_dataset_synthetic(&synthetic, context, 1, SVIT_SPLIT_TRAIN, COUNT, err));
    uint8_t *copy = malloc(COUNT * BYTES);
    int32_t of[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        WORKS(svit_dataset_sample(synthetic, i, copy + i * BYTES, &of[i], err));
    svit_dataset *memory = memory_of(copy, of, COUNT, 32, 32, 10);
    uint64_t whole = fingerprint_of(memory);
    ck_assert_uint_ne(fingerprint_of(synthetic), whole);
    size_t noticed = 0;
    for (size_t i = 0; i < COUNT; i++) {
        copy[i * BYTES] ^= 1;
        noticed += fingerprint_of(memory) != whole;
        if (i == 0 || i == COUNT - 1)
            ck_assert_uint_ne(fingerprint_of(memory), whole);
        copy[i * BYTES] ^= 1;
    }
    ck_assert_uint_eq(noticed, 64);
    free(copy);
    svit_dataset_free(memory);
    svit_dataset_free(synthetic);
}
END_TEST

static int32_t never(size_t index, uint8_t *rgb, int32_t *label, void *user)
{
    (void)index;
    (void)rgb;
    (void)label;
    (void)user;
    return 1;
}

START_TEST(test_a_callback_is_not_called)
{
    svit_dataset *a = NULL, *b = NULL;
    WORKS(svit_dataset_callback(&a, context, never, SAMPLES, SIDE, SIDE, 3, CLASSES, NULL, err));
    WORKS(
        svit_dataset_callback(&b, context, never, SAMPLES + 1, SIDE, SIDE, 3, CLASSES, NULL, err));
    ck_assert_uint_ne(fingerprint_of(a), fingerprint_of(b));
    ck_assert_uint_ne(fingerprint_of(a), fingerprint_of(training));
    svit_dataset_free(a);
    svit_dataset_free(b);
    uint64_t out = 7;
    FAILS(svit_dataset_fingerprint(NULL, &out, err), SVIT_E_ARGUMENT, "dataset");
    FAILS(svit_dataset_fingerprint(training, NULL, err), SVIT_E_ARGUMENT, "fingerprint");
    ck_assert_uint_eq(out, 7);
}
END_TEST

/* Regression: only the numbers of samples and classes are compared. */
START_TEST(test_a_run_does_not_go_on_with_other_data_of_equal_counts)
{
    plan p = plan_make(2);
    leave_checkpoint(p, validation, 1);
    p.trainer.existing = SVIT_EXISTING_RESUME;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_dataset *other = NULL;
    WORKS(svit_dataset_slice(&other, training, SAMPLES - VALIDATION, VALIDATION, err));
    svit_trainer *trainer = open_trainer(model, &p, other);
    FAILS(svit_trainer_resume(trainer, err), SVIT_E_ARGUMENT, "the validation data are others");
    svit_trainer_free(trainer);
    svit_dataset_free(other);

    static uint8_t mirrored[sizeof images];
    for (size_t i = 0; i < sizeof images; i++)
        mirrored[i] = (uint8_t)~images[i];
    svit_dataset *kept = training;
    training = memory_of(mirrored, labels, SAMPLES, SIDE, SIDE, CLASSES);
    trainer = open_trainer(model, &p, validation);
    FAILS(svit_trainer_resume(trainer, err), SVIT_E_ARGUMENT, "the training data are others");
    svit_trainer_free(trainer);
    svit_dataset_free(training);
    training = kept;

    trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_resume(trainer, err));
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

static char logged[256];
static int32_t log_count;

static void take_log(void *user, int32_t level, const char *message)
{
    (void)user;
    ck_assert_int_eq(level, SVIT_LOG_WARNING);
    snprintf(logged, sizeof logged, "%s", message);
    log_count++;
}

START_TEST(test_a_checkpoint_of_an_older_library_is_resumed_with_a_warning)
{
    plan p = plan_make(2);
    leave_checkpoint(p, validation, 1);
    const char *path = fit_path(&folder, "checkpoint.safetensors");
    checkpoint_rename(path, "trainer.training_fingerprint", "older0.training_fingerprint_");
    checkpoint_rename(path, "trainer.validation_fingerprint", "older0.validation_fingerprint_");
    p.trainer.existing = SVIT_EXISTING_RESUME;
    svit_context_config config;
    svit_context *local_context = NULL, *kept = context;
    WORKS(svit_context_config_init(&config, sizeof config));
    config.threads = 1;
    config.log = take_log;
    WORKS(svit_context_create(&local_context, &config, err));
    context = local_context;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_resume(trainer, err));
    ck_assert_int_eq(log_count, 1);
    ck_assert_ptr_nonnull(strstr(logged, "older library"));
    svit_trainer_free(trainer);
    svit_model_free(model);
    svit_context_free(local_context);
    context = kept;
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("fingerprint");
    TCase *c = tcase_create("fingerprint");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_a_fingerprint_is_a_number_of_the_contents_alone);
    tcase_add_test(c, test_a_fingerprint_of_floats_is_the_recorded_one);
    tcase_add_test(c, test_any_difference_changes_it);
    tcase_add_test(c, test_names_and_64_samples_of_many_count);
    tcase_add_test(c, test_a_callback_is_not_called);
    tcase_add_test(c, test_a_run_does_not_go_on_with_other_data_of_equal_counts);
    tcase_add_test(c, test_a_checkpoint_of_an_older_library_is_resumed_with_a_warning);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
