/* Checks datasets whose samples the caller's functions give against datasets of the same arrays. */
#include "data_support.h"

#include <math.h>
#include <pthread.h>
#include <shiftvit/loader.h>

enum { COUNT = 23, HEIGHT = 5, WIDTH = 7, CHANNELS = 3, CLASSES = 4, BATCH = 6 };
enum { ELEMENTS = HEIGHT * WIDTH * CHANNELS };

static const char *const names[CLASSES] = {"ant", "bee", "cat", "dog"};

/* What the functions give, and what they were asked. */
typedef struct world {
    uint8_t bytes[COUNT * ELEMENTS];
    float floats[COUNT * ELEMENTS];
    int32_t labels[COUNT];
    float targets[COUNT * CLASSES];
    bool is_f32;
    svit_status status; /* of the functions, with the message of `text` */
    const char *text;
    size_t refused; /* the sample whose label or targets cannot be had */
    int32_t moved;  /* what is added to labels from the second question on */
    atomic_int samples, label_calls, releases;
    pthread_t thread;      /* of the test */
    atomic_bool elsewhere; /* a function was called by another thread */
} world;

static svit_context *context;
static atomic_llong held;
static world self;

static svit_status answer(svit_error *err)
{
    if (!pthread_equal(pthread_self(), self.thread))
        self.elsewhere = true;
    if (self.status != SVIT_OK && self.text)
        svit_error_set(err, self.status, self.text);
    return self.status;
}

static svit_status give_sample(void *user, size_t index, void *image, int32_t *label,
                               svit_error *err)
{
    ck_assert_ptr_eq(user, &self);
    self.samples++;
    const size_t from = index * ELEMENTS;
    if (self.is_f32)
        memcpy(image, self.floats + from, ELEMENTS * sizeof(float));
    else
        memcpy(image, self.bytes + from, ELEMENTS);
    *label = self.labels[index];
    return answer(err);
}

static svit_status give_label(void *user, size_t index, int32_t *label, svit_error *err)
{
    ck_assert_ptr_eq(user, &self);
    *label = self.labels[index] + (self.label_calls++ < COUNT ? 0 : self.moved);
    return index == self.refused ? svit_error_set(err, SVIT_E_IO, "gone") : answer(err);
}

static svit_status give_targets(void *user, size_t index, float *targets, svit_error *err)
{
    ck_assert_ptr_eq(user, &self);
    memcpy(targets, self.targets + index * CLASSES, CLASSES * sizeof *targets);
    return index == self.refused ? svit_error_set(err, SVIT_E_IO, "gone") : answer(err);
}

static void release(void *user)
{
    ((world *)user)->releases++;
}

static void setup(void)
{
    held = 0;
    context = context_counting(&held);
    self = (world){.thread = pthread_self(), .refused = SIZE_MAX};
    for (size_t i = 0; i < COUNT * ELEMENTS; i++) {
        self.bytes[i] = (uint8_t)(i * 73 % 251);
        self.floats[i] = 1.5f * (float)(i * 37 % 241) - 100;
    }
    for (size_t i = 0; i < COUNT; i++)
        self.labels[i] = (int32_t)(i * i % CLASSES);
    for (size_t i = 0; i < COUNT * CLASSES; i++)
        self.targets[i] = (float)i / 8 - 3;
}

static void teardown(void)
{
    svit_context_free(context);
    ck_assert_int_eq(held, 0);
}

/* The functions of a combination: bit 0 floats, bit 1 any thread, bits 2 and 3 labels with their
 * images, labels apart, targets. */
enum { COMBINATIONS = 12 };

static svit_custom_dataset functions_of(int combination)
{
    svit_custom_dataset made;
    ck_assert_int_eq(svit_custom_dataset_init(&made, sizeof made), SVIT_OK);
    ck_assert_uint_eq(made.channels, 3);
    made.is_f32 = combination & 1;
    made.any_thread = combination >> 1 & 1;
    made.count = COUNT;
    made.height = HEIGHT;
    made.width = WIDTH;
    made.classes = CLASSES;
    made.sample = give_sample;
    made.label = combination / 4 == 1 ? give_label : NULL;
    made.targets = combination / 4 == 2 ? give_targets : NULL;
    made.release = release;
    made.user = &self;
    self.is_f32 = made.is_f32 != 0;
    return made;
}

static svit_dataset *open_custom(const svit_custom_dataset *functions)
{
    svit_dataset *out = NULL;
    WORKS(svit_dataset_custom(&out, context, functions, err));
    return out;
}

/* The dataset of the same arrays. */
static svit_dataset *open_arrays(const svit_custom_dataset *functions)
{
    svit_dataset *out = NULL;
    const bool with_targets = functions->targets != NULL;
    if (functions->is_f32)
        WORKS(svit_dataset_memory_f32(&out, context, self.floats, with_targets ? NULL : self.labels,
                                      with_targets ? self.targets : NULL, COUNT, HEIGHT, WIDTH,
                                      CHANNELS, CLASSES, err));
    else if (with_targets)
        WORKS(svit_dataset_memory_targets(&out, context, self.bytes, self.targets, COUNT, HEIGHT,
                                          WIDTH, CHANNELS, CLASSES, err));
    else
        WORKS(svit_dataset_memory(&out, context, self.bytes, self.labels, COUNT, HEIGHT, WIDTH,
                                  CHANNELS, CLASSES, err));
    return out;
}

static void check_samples(svit_dataset *custom, svit_dataset *arrays)
{
    ck_assert_uint_eq(svit_dataset_count(custom), svit_dataset_count(arrays));
    ck_assert_int_eq(svit_dataset_is_f32(custom), svit_dataset_is_f32(arrays));
    ck_assert_int_eq(svit_dataset_has_targets(custom), svit_dataset_has_targets(arrays));
    for (size_t i = 0; i < svit_dataset_count(custom); i++) {
        float image[2][ELEMENTS], targets[2][CLASSES];
        int32_t label[2], again[2];
        WORKS(svit_dataset_sample_f32(custom, i, image[0], &label[0], err));
        WORKS(svit_dataset_sample_f32(arrays, i, image[1], &label[1], err));
        ck_assert_mem_eq(image[0], image[1], sizeof image[0]);
        WORKS(svit_dataset_label(custom, i, &again[0], err));
        WORKS(svit_dataset_label(arrays, i, &again[1], err));
        ck_assert(label[0] == label[1] && again[0] == label[1] && again[1] == label[1]);
        WORKS(svit_dataset_targets(custom, i, targets[0], err));
        WORKS(svit_dataset_targets(arrays, i, targets[1], err));
        ck_assert_mem_eq(targets[0], targets[1], sizeof targets[0]);
    }
}

/* Two epochs of shuffled and augmented batches. */
static void check_batches(svit_dataset *custom, svit_dataset *arrays, uint32_t prefetch)
{
    svit_pipeline_config pipeline;
    WORKS(svit_pipeline_config_from_json(
        &pipeline, sizeof pipeline,
        "{\"source_height\":5,\"source_width\":7,\"resize_height\":6,\"resize_width\":8,"
        "\"output_height\":4,\"output_width\":4,\"flip_probability\":0.5}",
        err));
    const svit_loader_config config = {.struct_size = sizeof config,
                                       .batch = BATCH,
                                       .seed = 3,
                                       .shuffle = 1,
                                       .augment = 1,
                                       .prefetch = prefetch,
                                       .leaves = 1,
                                       .ranks = 1};
    svit_loader *loaders[2] = {NULL};
    WORKS(svit_loader_create(&loaders[0], custom, &pipeline, &config, err));
    WORKS(svit_loader_create(&loaders[1], arrays, &pipeline, &config, err));
    for (int batches = 0; batches < 10; batches++) {
        float images[2][BATCH * 4 * 4 * CHANNELS] = {{0}}, targets[2][BATCH * CLASSES] = {{0}};
        size_t n[2];
        for (int i = 0; i < 2; i++)
            WORKS(svit_loader_next_targets(loaders[i], images[i], targets[i], &n[i], err));
        ck_assert_uint_eq(n[0], n[1]);
        ck_assert_mem_eq(images[0], images[1], sizeof images[0]);
        ck_assert_mem_eq(targets[0], targets[1], sizeof targets[0]);
    }
    svit_loader_free(loaders[0]);
    svit_loader_free(loaders[1]);
}

START_TEST(test_they_are_the_datasets_of_the_same_arrays)
{
    const svit_custom_dataset functions = functions_of(_i);
    svit_dataset *custom = open_custom(&functions), *arrays = open_arrays(&functions);
    double mean[2][CHANNELS], variance[2][CHANNELS];
    ck_assert_int_eq(self.samples, 0);
    check_samples(custom, arrays);
    check_batches(custom, arrays, 0);
    ck_assert(functions.any_thread || !self.elsewhere);
    check_batches(custom, arrays, 2);
    WORKS(svit_dataset_statistics(custom, 1, mean[0], variance[0], err));
    WORKS(svit_dataset_statistics(arrays, 1, mean[1], variance[1], err));
    ck_assert_mem_eq(mean[0], mean[1], sizeof mean[0]);
    ck_assert_mem_eq(variance[0], variance[1], sizeof variance[0]);
    ck_assert_int_eq(self.elsewhere, functions.any_thread);
    svit_dataset *views[2] = {NULL};
    WORKS(svit_dataset_slice(&views[0], custom, 3, 11, err));
    WORKS(svit_dataset_slice(&views[1], arrays, 3, 11, err));
    svit_dataset_free(custom);
    svit_dataset_free(arrays);
    check_samples(views[0], views[1]);
    ck_assert_int_eq(self.releases, 0);
    svit_dataset_free(views[0]);
    svit_dataset_free(views[1]);
    ck_assert_int_eq(self.releases, 1);
}
END_TEST

static svit_status open_balanced(svit_loader **out, svit_dataset *custom, svit_error *err)
{
    svit_pipeline_config pipeline;
    ck_assert_int_eq(svit_pipeline_config_init(&pipeline, sizeof pipeline), SVIT_OK);
    const svit_loader_config balanced = {.struct_size = sizeof balanced,
                                         .batch = BATCH,
                                         .shuffle = 1,
                                         .sampling = SVIT_SAMPLING_BALANCED,
                                         .leaves = 1,
                                         .ranks = 1};
    return svit_loader_create(out, custom, &pipeline, &balanced, err);
}

START_TEST(test_labels_apart_are_read_without_images)
{
    const svit_custom_dataset functions = functions_of(_i);
    svit_dataset *custom = open_custom(&functions);
    int32_t label;
    svit_loader *loader = NULL;
    if (functions.label) {
        WORKS(open_balanced(&loader, custom, err));
        WORKS(svit_dataset_label(custom, 5, &label, err));
        ck_assert_int_eq(self.label_calls, COUNT + 1);
    } else {
        FAILS(open_balanced(&loader, custom, err), SVIT_E_UNSUPPORTED,
              functions.targets ? "targets instead of labels" : "do not tell them apart");
    }
    ck_assert_int_eq(self.samples, 0);
    svit_loader_free(loader);
    svit_dataset_free(custom);
}
END_TEST

/* Labels that are others when they are asked for again, of classes that no sample had before. */
START_TEST(test_labels_that_change_do_no_harm)
{
    const svit_custom_dataset functions = functions_of(4);
    svit_loader *loader = NULL;
    for (size_t i = 0; i < COUNT; i++)
        self.labels[i] = 1;
    self.moved = 2;
    svit_dataset *custom = open_custom(&functions);
    WORKS(open_balanced(&loader, custom, err));
    svit_loader_free(loader);
    WORKS(open_balanced(&loader, custom, err));
    ck_assert_int_eq(self.label_calls, 2 * COUNT);
    svit_loader_free(loader);
    svit_dataset_free(custom);
}
END_TEST

static int32_t note_bad(size_t index, svit_status status, const char *message, void *user)
{
    ck_assert_int_eq(status, SVIT_E_IO);
    ck_assert_ptr_nonnull(strstr(message, "sample 19: gone"));
    *(size_t *)user = index;
    return 0;
}

/* Samples whose labels or targets cannot be had are bad ones, also those of views. */
START_TEST(test_verify_reads_labels_and_targets)
{
    const svit_custom_dataset functions = functions_of(4 + _i); /* 4 to 11 */
    svit_dataset *custom = open_custom(&functions), *slice = NULL;
    size_t bad_count = 9, index = 0;
    WORKS(svit_dataset_verify(custom, note_bad, &index, &bad_count, err));
    ck_assert_uint_eq(bad_count, 0);
    self.refused = 19;
    WORKS(svit_dataset_verify(custom, note_bad, &index, &bad_count, err));
    ck_assert_uint_eq(bad_count, 1);
    ck_assert_uint_eq(index, 19);
    WORKS(svit_dataset_slice(&slice, custom, 15, 8, err));
    WORKS(svit_dataset_verify(slice, note_bad, &index, &bad_count, err));
    ck_assert_uint_eq(bad_count, 1);
    ck_assert_uint_eq(index, 4);
    ck_assert(functions.any_thread || !self.elsewhere);
    svit_dataset_free(slice);
    svit_dataset_free(custom);
}
END_TEST

/* A fingerprint is the same whatever threads may read the samples, which it does not read; of other
 * sizes or names it is another one. */
START_TEST(test_fingerprints_are_without_images)
{
    svit_custom_dataset functions = functions_of(_i);
    uint64_t prints[4];
    for (int kind = 0; kind < 4; kind++) {
        functions.any_thread = kind == 1;
        functions.class_names = kind == 2 ? names : NULL;
        functions.count = kind == 3 ? COUNT - 1 : COUNT;
        svit_dataset *custom = open_custom(&functions);
        WORKS(svit_dataset_fingerprint(custom, &prints[kind], err));
        svit_dataset_free(custom);
    }
    ck_assert_int_eq(self.samples, 0);
    ck_assert_uint_eq(prints[0], prints[1]);
    ck_assert(prints[2] != prints[0] && prints[3] != prints[0]);
}
END_TEST

START_TEST(test_names_are_copied)
{
    svit_custom_dataset functions = functions_of(0);
    char first[] = "ant";
    const char *own[CLASSES] = {first, names[1], names[2], names[3]};
    functions.class_names = own;
    svit_dataset *custom = open_custom(&functions);
    first[0] = 'x';
    own[1] = NULL;
    for (size_t k = 0; k < CLASSES; k++)
        ck_assert_str_eq(svit_dataset_class_name(custom, k), names[k]);
    svit_dataset_free(custom);
    functions.class_names = (const char *const[]){"ant", "bee", "\xff", "dog"};
    FAILS(svit_dataset_custom(&custom, context, &functions, err), SVIT_E_ARGUMENT,
          "class_names[2] is '\\xFF', which is not UTF-8");
    ck_assert_int_eq(self.releases, 1);
}
END_TEST

/* What a loader says of the sample that cannot be had. */
static void check_loader_names_once(svit_dataset *custom)
{
    float image[ELEMENTS];
    int32_t label;
    size_t n;
    svit_error said = {.struct_size = sizeof said};
    svit_pipeline_config pipeline;
    svit_loader *loader = NULL;
    ck_assert_int_eq(svit_pipeline_config_init(&pipeline, sizeof pipeline), SVIT_OK);
    pipeline.source_height = pipeline.resize_height = pipeline.output_height = HEIGHT;
    pipeline.source_width = pipeline.resize_width = pipeline.output_width = WIDTH;
    self.status = SVIT_E_IO;
    self.text = "no such row";
    const svit_loader_config config = {
        .struct_size = sizeof config, .batch = 1, .leaves = 1, .ranks = 1};
    WORKS(svit_loader_create(&loader, custom, &pipeline, &config, err));
    ck_assert_int_eq(svit_loader_next(loader, image, &label, &n, &said), SVIT_E_IO);
    ck_assert_str_eq(said.message, "sample 0: no such row");
    svit_loader_free(loader);
}

/* A failure of a function is that of the call, with its status and its message. */
START_TEST(test_failures_of_functions)
{
    static const svit_status given[] = {SVIT_E_IO, SVIT_E_FORMAT, SVIT_E_STOPPED, 7};
    const svit_custom_dataset labels = functions_of(7), numbers = functions_of(11);
    svit_dataset *custom[] = {open_custom(&labels), open_custom(&numbers)};
    float image[ELEMENTS], targets[CLASSES];
    int32_t label = 5;
    self.is_f32 = true;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        const svit_status status = given[i] > 0 ? SVIT_E_STOPPED : given[i];
        self.status = given[i];
        self.text = "no such row";
        FAILS(svit_dataset_sample_f32(custom[0], 4, image, &label, err), status,
              "sample 4: no such row");
        FAILS(svit_dataset_label(custom[0], 6, &label, err), status, "sample 6: no such row");
        FAILS(svit_dataset_targets(custom[1], 3, targets, err), status, "sample 3: no such row");
        self.text = NULL;
        FAILS(svit_dataset_sample_f32(custom[0], 4, image, &label, err), status,
              "sample 4: the sample function returned");
        FAILS(svit_dataset_label(custom[0], 6, &label, err), status, "the label function returned");
        FAILS(svit_dataset_targets(custom[1], 3, targets, err), status, "the targets function");
    }
    ck_assert_int_eq(label, 5);
    check_loader_names_once(custom[0]);
    svit_dataset_free(custom[0]);
    svit_dataset_free(custom[1]);
}
END_TEST

enum { INSIDE = 3, OUTPUT = 4 * 4 * CHANNELS };

/* The evaluation pipeline of some images, on the workers of the dataset's context. */
static svit_status apply(float *out, svit_error *err)
{
    svit_pipeline_config pipeline;
    svit_pipeline_config_init(&pipeline, sizeof pipeline);
    pipeline.resize_height = pipeline.resize_width = 4;
    pipeline.output_height = pipeline.output_width = 4;
    return svit_pipeline_apply_evaluation(context, &pipeline, self.bytes, INSIDE, HEIGHT, WIDTH,
                                          out, err);
}

static float applied[INSIDE * OUTPUT];

static svit_status give_with_context(void *user, size_t index, void *image, int32_t *label,
                                     svit_error *err)
{
    float out[INSIDE * OUTPUT] = {0};
    const svit_status status = apply(out, err);
    if (status != SVIT_OK)
        return status;
    if (memcmp(out, applied, sizeof out) != 0)
        return svit_error_set(err, SVIT_E_IO, "other bits");
    return give_sample(user, index, image, label, err);
}

/* A function calls the library with the context whose workers call it. */
START_TEST(test_functions_use_their_context)
{
    svit_custom_dataset functions = functions_of(_i);
    functions.sample = give_with_context;
    size_t bad;
    WORKS(apply(applied, err));
    svit_dataset *custom = open_custom(&functions);
    WORKS(svit_dataset_verify(custom, NULL, NULL, &bad, err));
    ck_assert_uint_eq(bad, 0);
    ck_assert_int_eq(self.samples, COUNT);
    svit_dataset_free(custom);
}
END_TEST

START_TEST(test_what_they_may_not_give)
{
    const svit_custom_dataset labels = functions_of(7), numbers = functions_of(11);
    svit_dataset *custom[] = {open_custom(&labels), open_custom(&numbers)};
    float image[ELEMENTS], targets[CLASSES];
    int32_t label;
    self.is_f32 = true;
    for (int32_t bad = -1; bad <= CLASSES; bad += CLASSES + 1) {
        self.labels[2] = bad;
        FAILS(svit_dataset_sample_f32(custom[0], 2, image, &label, err), SVIT_E_ARGUMENT,
              bad < 0 ? "sample 2 has the label -1; 0..3 are accepted"
                      : "sample 2 has the label 4; 0..3 are accepted");
        FAILS(svit_dataset_label(custom[0], 2, &label, err), SVIT_E_ARGUMENT, "0..3 are accepted");
        WORKS(svit_dataset_sample_f32(custom[1], 2, image, &label, err));
    }
    self.floats[ELEMENTS + 9] = INFINITY;
    self.targets[CLASSES + 3] = NAN;
    self.targets[3 * CLASSES] = NAN;
    for (int i = 0; i < 2; i++)
        FAILS(svit_dataset_sample_f32(custom[i], 1, image, &label, err), SVIT_E_FORMAT,
              "sample 1: value 9 is inf; it must be finite");
    FAILS(svit_dataset_targets(custom[1], 1, targets, err), SVIT_E_FORMAT,
          "sample 1: target 3 is nan; it must be finite");
    size_t bad_count = 0;
    WORKS(svit_dataset_verify(custom[1], NULL, NULL, &bad_count, err));
    ck_assert_uint_eq(bad_count, 2);
    FAILS(svit_dataset_verify(custom[0], NULL, NULL, &bad_count, err), SVIT_E_ARGUMENT,
          "sample 2 has the label 4; 0..3 are accepted");
    svit_dataset_free(custom[0]);
    svit_dataset_free(custom[1]);
}
END_TEST

START_TEST(test_functions_that_are_refused)
{
    const svit_custom_dataset good = functions_of(0);
    svit_dataset *out = NULL;
    svit_custom_dataset bad;
#define REFUSED(field, value, text)                                                                \
    bad = good;                                                                                    \
    bad.field = (value);                                                                           \
    FAILS(svit_dataset_custom(&out, context, &bad, err), SVIT_E_ARGUMENT, text)
    REFUSED(struct_size, 3, "struct_size");
    REFUSED(sample, NULL, "sample is NULL; a function is needed");
    REFUSED(is_f32, 2, "is_f32 is 2; 0 and 1 are accepted");
    REFUSED(any_thread, -1, "any_thread is -1; 0 and 1 are accepted");
    REFUSED(count, 0, "count is 0");
    REFUSED(height, 0, "height is 0");
    REFUSED(width, 16385, "width is 16385");
    REFUSED(channels, 1025, "channels is 1025; 1..1024 are accepted");
    REFUSED(classes, 0, "classes is 0");
    bad = good;
    bad.label = give_label;
    bad.targets = give_targets;
    FAILS(svit_dataset_custom(&out, context, &bad, err), SVIT_E_ARGUMENT, "both set");
    bad = good;
    bad.reserved = 1;
    FAILS(svit_dataset_custom(&out, context, &bad, err), SVIT_E_VERSION, "reserved");
    ck_assert_ptr_null(out);
    ck_assert_int_eq(self.releases, 0);
}
END_TEST

static int32_t count_question(void *user)
{
    ++*(uint32_t *)user;
    return 0;
}

/* A callback takes its time for each sample, so a call that reads floats twice asks twice for
 * each. */
START_TEST(test_statistics_ask_before_each_sample_of_a_callback)
{
    static const uint32_t WANTED[] = {COUNT, 2 * COUNT, 1, 2};
    const svit_custom_dataset functions = functions_of(_i);
    uint32_t questions = 0;
    double mean[CHANNELS], variance[CHANNELS];
    svit_context_config config;
    ck_assert_int_eq(svit_context_config_init(&config, sizeof config), SVIT_OK);
    config.threads = 2;
    config.stop = count_question;
    config.stop_user = &questions;
    svit_context *plain = context;
    WORKS(svit_context_create(&context, &config, err));
    svit_dataset *custom = open_custom(&functions);
    WORKS(svit_dataset_statistics(custom, 1, mean, variance, err));
    ck_assert_uint_eq(questions, WANTED[_i]);
    svit_dataset_free(custom);
    svit_context_free(context);
    context = plain;
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("data_custom");
    TCase *c = tcase_create("data_custom");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_they_are_the_datasets_of_the_same_arrays, 0, COMBINATIONS);
    tcase_add_loop_test(c, test_labels_apart_are_read_without_images, 0, COMBINATIONS);
    tcase_add_test(c, test_labels_that_change_do_no_harm);
    tcase_add_loop_test(c, test_verify_reads_labels_and_targets, 0, 8);
    tcase_add_loop_test(c, test_fingerprints_are_without_images, 0, COMBINATIONS);
    tcase_add_test(c, test_names_are_copied);
    tcase_add_test(c, test_failures_of_functions);
    tcase_add_loop_test(c, test_functions_use_their_context, 0, 4);
    tcase_add_loop_test(c, test_statistics_ask_before_each_sample_of_a_callback, 0, 4);
    tcase_add_test(c, test_what_they_may_not_give);
    tcase_add_test(c, test_functions_that_are_refused);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
