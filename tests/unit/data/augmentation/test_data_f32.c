/* Checks that float images are treated as bytes of the same values, and are not rounded. */
#include "test_channels_support.h"

#include <math.h>

#define SIZES                                                                                      \
    "\"source_height\": 14, \"source_width\": 12, \"resize_height\": 19, \"resize_width\": 15,"    \
    "\"output_height\": 13, \"output_width\": 11"

static const char *const PIPELINES[] = {
    "{" SIZES "}",
    "{" SIZES ", \"evaluation\": \"keep\"}",
    "{" SIZES ", \"evaluation\": \"crop\", \"rotation\": 0.1, \"zoom\": 0.3}",
    "{" SIZES ", \"augment\": [{\"name\": \"crop\", \"padding\": 3, \"mode\": \"reflect\"},"
    " {\"name\": \"flip\"}, {\"name\": \"erasing\"}, {\"name\": \"mixup\"}]}",
    "{" SIZES ", \"augment\": [{\"name\": \"flip\", \"mode\": \"alternating\"},"
    " {\"name\": \"crop\"}, {\"name\": \"cutout\"}, {\"name\": \"cutmix\"}]}",
};
enum { CASES = sizeof PIPELINES / sizeof *PIPELINES, ELEMENTS = COUNT * HEIGHT * WIDTH * 4 };

static uint8_t pixels[ELEMENTS];
static float images[ELEMENTS];
static const int32_t labels[COUNT] = {0, 1, 2, 2, 1, 0};

static svit_context *context;

static void setup(void)
{
    context = context_open();
    bytes_fill(pixels, sizeof pixels, 19);
    for (size_t i = 0; i < ELEMENTS; i++)
        images[i] = pixels[i];
}

static void teardown(void)
{
    svit_context_free(context);
}

static svit_dataset *bytes_of(size_t channels)
{
    svit_dataset *out = NULL;
    WORKS(svit_dataset_memory(&out, context, pixels, labels, COUNT, HEIGHT, WIDTH, channels,
                              CLASSES, err));
    return out;
}

static svit_dataset *floats_of(size_t channels)
{
    svit_dataset *out = NULL;
    WORKS(svit_dataset_memory_f32(&out, context, images, labels, NULL, COUNT, HEIGHT, WIDTH,
                                  channels, CLASSES, err));
    ck_assert_int_eq(svit_dataset_is_f32(out), 1);
    ck_assert_uint_eq(svit_dataset_channels(out), channels);
    return out;
}

START_TEST(test_floats_with_the_values_of_bytes_give_the_same_batches)
{
    const size_t channels = CHANNELS[_i / CASES % 3];
    const int32_t augment = _i / CASES / 3;
    static float got[LARGEST], wanted[LARGEST];
    float got_targets[COUNT * CLASSES], wanted_targets[COUNT * CLASSES];
    svit_pipeline_config pipeline = pipeline_of(PIPELINES[_i % CASES], channels);
    for (size_t c = 0; c < channels; c++) {
        pipeline.mean[c] = 0.3 + 0.1 * (double)c;
        pipeline.variance[c] = 0.07 * (double)(c + 1);
    }
    svit_dataset *bytes = bytes_of(channels), *floats = floats_of(channels);
    size_t elements = read_epoch(wanted, wanted_targets, bytes, &pipeline, augment);
    ck_assert_uint_eq(read_epoch(got, got_targets, floats, &pipeline, augment), elements);
    ck_assert_mem_eq(got, wanted, elements * sizeof *got);
    ck_assert_mem_eq(got_targets, wanted_targets, sizeof got_targets);
    svit_dataset_free(floats);
    svit_dataset_free(bytes);
}
END_TEST

/* value = (x * scale - mean) / sqrt(variance), of values that no byte has. */
START_TEST(test_floats_are_not_rounded_or_clipped)
{
    const size_t channels = CHANNELS[_i];
    static float got[LARGEST], applied[LARGEST];
    float targets[COUNT * CLASSES];
    svit_pipeline_config pipeline = pipeline_of("{\"evaluation\": \"keep\"}", channels);
    pipeline.source_height = pipeline.resize_height = pipeline.output_height = HEIGHT;
    pipeline.source_width = pipeline.resize_width = pipeline.output_width = WIDTH;
    pipeline.source_filter = SVIT_SOURCE_BICUBIC; /* does nothing to images of the source size */
    pipeline.mean[0] = 0.25;
    pipeline.variance[0] = 4;
    for (size_t i = 0; i < ELEMENTS; i++)
        images[i] = 1.7f * (float)pixels[i] - 100.3f;
    svit_dataset *floats = floats_of(channels);
    size_t elements = read_epoch(got, targets, floats, &pipeline, 0);
    ck_assert_uint_eq(elements, COUNT * HEIGHT * WIDTH * channels);
    for (size_t i = 0; i < elements; i++) {
        double value = (double)images[i] / 255;
        if (i % channels == 0)
            value = (value - 0.25) / 2;
        ck_assert_double_le(fabs((double)got[i] - value), 1e-7);
    }
    WORKS(svit_pipeline_apply_evaluation_f32(context, &pipeline, images, COUNT, HEIGHT, WIDTH,
                                             applied, err));
    ck_assert_mem_eq(applied, got, elements * sizeof *got);
    svit_dataset_free(floats);
}
END_TEST

START_TEST(test_samples_statistics_and_checks_of_float_images)
{
    enum { IMAGE = HEIGHT * WIDTH * 3 };
    static float of_bytes[IMAGE], of_floats[IMAGE];
    double mean[3], variance[3], wanted_mean[3], wanted_variance[3];
    int32_t label = -1;
    size_t bad = 1;
    svit_dataset *bytes = bytes_of(3), *floats = floats_of(3), *part = NULL;
    WORKS(svit_dataset_slice(&part, floats, 2, 3, err));
    ck_assert_int_eq(svit_dataset_is_f32(part), 1);
    WORKS(svit_dataset_sample_f32(bytes, 3, of_bytes, &label, err));
    WORKS(svit_dataset_sample_f32(part, 1, of_floats, &label, err));
    ck_assert_int_eq(label, labels[3]);
    ck_assert_mem_eq(of_bytes, images + 3 * IMAGE, sizeof of_bytes);
    ck_assert_mem_eq(of_floats, images + 3 * IMAGE, sizeof of_floats);
    WORKS(svit_dataset_verify(part, NULL, NULL, &bad, err));
    ck_assert_uint_eq(bad, 0);
    WORKS(svit_dataset_statistics(bytes, 1.0 / 255, wanted_mean, wanted_variance, err));
    WORKS(svit_dataset_statistics(floats, 1.0 / 255, mean, variance, err));
    for (size_t c = 0; c < 3; c++) {
        ck_assert_double_le(fabs(mean[c] - wanted_mean[c]), 1e-14);
        ck_assert_double_le(fabs(variance[c] - wanted_variance[c]), 1e-14);
    }
    svit_dataset_free(part);
    svit_dataset_free(floats);
    svit_dataset_free(bytes);
}
END_TEST

START_TEST(test_a_fingerprint_depends_on_each_value)
{
    uint64_t of_bytes, of_floats, changed;
    svit_dataset *bytes = bytes_of(1), *floats = floats_of(1);
    WORKS(svit_dataset_fingerprint(bytes, &of_bytes, err));
    WORKS(svit_dataset_fingerprint(floats, &of_floats, err));
    ck_assert_uint_ne(of_bytes, of_floats);
    for (size_t i = 0; i < COUNT * HEIGHT * WIDTH; i += 101) {
        float kept = images[i];
        images[i] = nextafterf(kept, 1000);
        WORKS(svit_dataset_fingerprint(floats, &changed, err));
        ck_assert_uint_ne(changed, of_floats);
        images[i] = kept;
    }
    WORKS(svit_dataset_fingerprint(floats, &changed, err));
    ck_assert_uint_eq(changed, of_floats);
    svit_dataset_free(floats);
    svit_dataset_free(bytes);
}
END_TEST

START_TEST(test_float_images_may_have_targets)
{
    static const float targets[COUNT * 2] = {1, 0, 0.5f, -3, 2, 2, 7, 0, 1, 1, 0, 0};
    float got[2];
    svit_dataset *dataset = NULL;
    WORKS(
        svit_dataset_memory_f32(&dataset, context, images, NULL, targets, COUNT, 2, 2, 4, 2, err));
    ck_assert_int_eq(svit_dataset_has_targets(dataset), 1);
    WORKS(svit_dataset_targets(dataset, 1, got, err));
    ck_assert(got[0] == 0.5f && got[1] == -3);
    svit_dataset_free(dataset);
}
END_TEST

static const struct {
    const char *json, *message;
} REFUSED[] = {
    {"{\"augment\": [{\"name\": \"resized-crop\"}]}",
     "augment[0] is 'resized-crop', which works on bytes; the images are float"},
    {"{\"augment\": [{\"name\": \"flip\"}, {\"name\": \"randaugment\"}]}",
     "augment[1] is 'randaugment', which works on bytes"},
    {"{\"augment\": [{\"name\": \"trivialaugment\"}]}", "'trivialaugment'"},
    {"{\"augment\": [{\"name\": \"autoaugment\"}]}", "'autoaugment'"},
    {"{\"augment\": [{\"name\": \"color-jitter\"}]}", "'color-jitter'"},
    {"{\"source_filter\": \"shorter-side\"}", "float images cannot be; they are 20 x 17 pixels"},
    {"{\"source_filter\": \"bicubic\"}", "the source size 32 x 32"},
};

START_TEST(test_steps_on_bytes_are_refused)
{
    svit_loader_config config;
    svit_loader *loader = NULL;
    svit_pipeline_config pipeline = pipeline_of(REFUSED[_i].json, 3);
    ck_assert_int_eq(svit_loader_config_init(&config, sizeof config), SVIT_OK);
    config.augment = 1;
    svit_dataset *floats = floats_of(3);
    FAILS(svit_loader_create(&loader, floats, &pipeline, &config, err), SVIT_E_UNSUPPORTED,
          REFUSED[_i].message);
    ck_assert_ptr_null(loader);
    svit_dataset_free(floats);
}
END_TEST

START_TEST(test_wrong_arguments_of_float_images_are_named)
{
    static float out[LARGEST];
    svit_dataset *set = NULL;
    svit_pipeline_config pipeline = pipeline_of("{}", 1);
    const float bad_targets[2] = {0, NAN};
    const int32_t bad_labels[2] = {0, CLASSES};
    int32_t label;
    uint8_t byte;
#define CREATE(images, labels, targets)                                                            \
    svit_dataset_memory_f32(&set, context, images, labels, targets, 2, 3, 2, 1, CLASSES, err)
    FAILS(CREATE(NULL, labels, NULL), SVIT_E_ARGUMENT, "images is NULL");
    FAILS(CREATE(images, NULL, NULL), SVIT_E_ARGUMENT,
          "labels and targets are both NULL; one of them is needed");
    FAILS(CREATE(images, labels, bad_targets), SVIT_E_ARGUMENT, "are both given");
    FAILS(CREATE(images, bad_labels, NULL), SVIT_E_ARGUMENT, "labels[1] is 3; 0..2 are");
    FAILS(svit_dataset_memory_f32(&set, context, images, NULL, bad_targets, 2, 3, 2, 1, 1, err),
          SVIT_E_ARGUMENT, "target 0 of sample 1 is nan");
    FAILS(svit_dataset_memory_f32(&set, context, images, labels, NULL, SIZE_MAX / 16, 3, 2, 1,
                                  CLASSES, err),
          SVIT_E_ARGUMENT, "as far as they fit memory");
    FAILS(svit_dataset_memory_f32(&set, context, images, labels, NULL, 2, 3, 2, 0, CLASSES, err),
          SVIT_E_ARGUMENT, "svit_dataset_memory_f32: channels is 0; 1..1024 are accepted");
    images[11] = INFINITY;
    FAILS(CREATE(images, labels, NULL), SVIT_E_ARGUMENT,
          "image 1 has the value inf; -3.4e+38..3.4e+38 is accepted");
    FAILS(svit_pipeline_apply_evaluation_f32(context, &pipeline, images, 3, 2, 2, out, err),
          SVIT_E_ARGUMENT, "svit_pipeline_apply_evaluation_f32: image 2 has the value inf");
    /* A finite value that the pipeline would turn into infinity. */
    pipeline.variance[0] = 1.0 / 16;
    pipeline.scale = 1;
    images[11] = 1.1e37f;
    FAILS(svit_pipeline_apply_evaluation_f32(context, &pipeline, images, 3, 2, 2, out, err),
          SVIT_E_ARGUMENT, "image 2 has the value 1.1e+37; -1.06e+37..1.06e+37 is accepted");
    svit_loader_config loading;
    svit_loader *loader = NULL;
    size_t n;
    int32_t read[2];
    float batch[2 * 2 * 3];
    WORKS(CREATE(images, labels, NULL));
    ck_assert_int_eq(svit_loader_config_init(&loading, sizeof loading), SVIT_OK);
    loading.batch = 2;
    svit_pipeline_config whole = pipeline;
    whole.source_height = whole.resize_height = whole.output_height = 3;
    whole.source_width = whole.resize_width = whole.output_width = 2;
    WORKS(svit_loader_create(&loader, set, &whole, &loading, err));
    FAILS(svit_loader_next(loader, batch, read, &n, err), SVIT_E_ARGUMENT,
          "sample 1: the image has the value 1.1e+37; -1.06e+37..1.06e+37 is accepted");
    svit_loader_free(loader);
    svit_dataset_free(set);
    images[11] = -1.05e37f;
    WORKS(svit_pipeline_apply_evaluation_f32(context, &pipeline, images, 3, 2, 2, out, err));
    for (size_t i = 0; i < sizeof out / sizeof *out; i++)
        ck_assert(isfinite(out[i]));
    images[11] = 0;
    WORKS(CREATE(images, labels, NULL));
    FAILS(svit_dataset_sample(set, 0, &byte, &label, err), SVIT_E_UNSUPPORTED,
          "the images are float; svit_dataset_sample_f32 reads them");
    FAILS(svit_dataset_sample_f32(set, 2, out, &label, err), SVIT_E_ARGUMENT, "index is 2");
    FAILS(svit_dataset_sample_f32(set, 0, NULL, &label, err), SVIT_E_ARGUMENT, "image is NULL");
    svit_dataset_free(set);
    pipeline.source_filter = SVIT_SOURCE_BICUBIC;
    FAILS(svit_pipeline_apply_evaluation_f32(context, &pipeline, images, 1, 2, 2, out, err),
          SVIT_E_UNSUPPORTED, "source_filter is antialiased");
    FAILS(svit_pipeline_apply_evaluation_f32(context, &pipeline, images, 0, 2, 2, out, err),
          SVIT_E_ARGUMENT, "n is 0");
    ck_assert_int_eq(svit_dataset_is_f32(NULL), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("data_f32");
    TCase *c = tcase_create("data_f32");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_floats_with_the_values_of_bytes_give_the_same_batches, 0,
                        6 * CASES);
    tcase_add_loop_test(c, test_floats_are_not_rounded_or_clipped, 0, 3);
    tcase_add_test(c, test_samples_statistics_and_checks_of_float_images);
    tcase_add_test(c, test_a_fingerprint_depends_on_each_value);
    tcase_add_test(c, test_float_images_may_have_targets);
    tcase_add_loop_test(c, test_steps_on_bytes_are_refused, 0, sizeof REFUSED / sizeof *REFUSED);
    tcase_add_test(c, test_wrong_arguments_of_float_images_are_named);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
