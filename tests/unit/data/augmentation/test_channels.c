/* Checks that images of any number of channels are treated, channel by channel, as RGB images whose
 * three channels are that one. */
#include "build.h"
#include "test_channels_support.h"

#include <shiftvit/image.h>

#define SOURCE "\"source_height\": 14, \"source_width\": 12, "
#define RESIZE "\"resize_height\": 19, \"resize_width\": 15, "
#define SIZES SOURCE RESIZE "\"output_height\": 13, \"output_width\": 11"
#define SAME                                                                                       \
    "\"resize_height\": 14, \"resize_width\": 12, \"output_height\": 13, \"output_width\": 11"

static const char *const PIPELINES[] = {
    "{" SIZES "}",
    "{" SIZES ", \"evaluation\": \"keep\", \"source_filter\": \"shorter-side\"}",
    "{" SIZES ", \"evaluation\": \"crop\", \"source_filter\": \"bicubic\"}",
    "{" SOURCE SAME ", \"evaluation\": \"crop\", \"source_filter\": \"bicubic\"}",
    "{" SIZES ", \"rotation\": 0.1, \"zoom\": 0.3}",
    "{" SIZES ", \"augment\": [{\"name\": \"crop\", \"padding\": 3, \"mode\": \"reflect\"},"
    " {\"name\": \"flip\"}, {\"name\": \"cutout\", \"size\": 5}]}",
    "{" SIZES ", \"augment\": [{\"name\": \"crop\", \"padding\": 3},"
    " {\"name\": \"resized-crop\", \"mode\": \"bicubic\"}, {\"name\": \"mixup\"}]}",
    "{" SIZES ", \"augment\": [{\"name\": \"resized-crop\"}, {\"name\": \"erasing\","
    " \"probability\": 1}, {\"name\": \"cutmix\"}, {\"name\": \"repeat\", \"n\": 2}]}",
};
enum { CASES = sizeof PIPELINES / sizeof *PIPELINES };

static uint8_t pixels[COUNT * HEIGHT * WIDTH * MANY];
static const int32_t labels[COUNT] = {0, 1, 2, 2, 1, 0};

static svit_context *context;

static void setup(void)
{
    context = context_open();
    bytes_fill(pixels, sizeof pixels, 9);
}

static void teardown(void)
{
    svit_context_free(context);
}

static svit_dataset *dataset_of(const uint8_t *from, size_t channels)
{
    svit_dataset *out = NULL;
    WORKS(svit_dataset_memory(&out, context, from, labels, COUNT, HEIGHT, WIDTH, channels, CLASSES,
                              err));
    ck_assert_uint_eq(svit_dataset_channels(out), channels);
    return out;
}

/* The pipelines of PIPELINES that work on more channels than have a mean of their own. */
static const size_t BY_NEAREST[] = {0, 4, 5};

/* Copies one of several channels to all three of RGB images. */
static const uint8_t *replicate(size_t channel, size_t channels)
{
    static uint8_t rgb[COUNT * HEIGHT * WIDTH * 3];
    for (size_t i = 0; i < COUNT * HEIGHT * WIDTH; i++)
        memset(rgb + 3 * i, pixels[i * channels + channel], 3);
    return rgb;
}

/* Gives each channel a mean and a variance of its own. */
static void normalise(svit_pipeline_config *pipeline)
{
    for (size_t c = 0; c < SVIT_MAX_CHANNELS; c++) {
        pipeline->mean[c] = 0.4 + 0.07 * (double)c;
        pipeline->variance[c] = 0.05 + 0.03 * (double)c;
    }
}

/* The RGB pipeline with the normalisation of one channel in all three. */
static svit_pipeline_config pipeline_of_channel(const svit_pipeline_config *pipeline,
                                                size_t channel)
{
    svit_pipeline_config out = *pipeline;
    out.channels = 3;
    channel = pipeline->channels <= SVIT_MAX_CHANNELS ? channel : 0;
    for (size_t c = 0; c < 3; c++) {
        out.mean[c] = pipeline->mean[channel];
        out.variance[c] = pipeline->variance[channel];
    }
    return out;
}

static void check_batches(const char *json, size_t channels, int32_t augment)
{
    static float got[LARGEST], wanted[LARGEST];
    float got_targets[COUNT * CLASSES], wanted_targets[COUNT * CLASSES];
    svit_pipeline_config pipeline = pipeline_of(json, channels);
    normalise(&pipeline);
    svit_dataset *dataset = dataset_of(pixels, channels);
    size_t elements = read_epoch(got, got_targets, dataset, &pipeline, augment);
    svit_dataset_free(dataset);
    for (size_t c = 0; c < channels; c++) {
        svit_pipeline_config rgb = pipeline_of_channel(&pipeline, c);
        dataset = dataset_of(replicate(c, channels), 3);
        read_epoch(wanted, wanted_targets, dataset, &rgb, augment);
        svit_dataset_free(dataset);
        ck_assert_mem_eq(got_targets, wanted_targets, sizeof got_targets);
        for (size_t i = 0; i < elements / channels; i++)
            ck_assert_msg(got[i * channels + c] == wanted[3 * i], "pixel %zu, channel %zu", i, c);
    }
}

START_TEST(test_each_channel_of_a_batch_is_that_of_an_rgb_image)
{
    static const size_t channels[] = {1, 4, 2};
    check_batches(PIPELINES[_i % CASES], channels[_i / CASES % 3], _i / CASES / 3);
}
END_TEST

START_TEST(test_so_is_each_of_many_channels_with_one_mean_for_all)
{
    check_batches(PIPELINES[BY_NEAREST[_i / 2]], MANY, _i % 2);
}
END_TEST

/* The same images of bytes and of floats. */
START_TEST(test_many_channels_of_floats_become_what_those_of_bytes_become)
{
    static float floats[COUNT * HEIGHT * WIDTH * MANY], got[LARGEST], wanted[LARGEST];
    float targets[COUNT * CLASSES];
    svit_dataset *dataset = dataset_of(pixels, MANY), *of_floats = NULL;
    svit_pipeline_config pipeline = pipeline_of(PIPELINES[BY_NEAREST[_i / 2]], MANY);
    normalise(&pipeline);
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        floats[i] = pixels[i];
    WORKS(svit_dataset_memory_f32(&of_floats, context, floats, labels, NULL, COUNT, HEIGHT, WIDTH,
                                  MANY, CLASSES, err));
    size_t elements = read_epoch(wanted, targets, dataset, &pipeline, _i % 2);
    ck_assert_uint_eq(read_epoch(got, targets, of_floats, &pipeline, _i % 2), elements);
    ck_assert_mem_eq(got, wanted, elements * sizeof *got);
    svit_dataset_free(of_floats);
    svit_dataset_free(dataset);
}
END_TEST

START_TEST(test_applying_the_pipeline_gives_what_a_loader_gives)
{
    static const size_t some[] = {1, 4, 2};
    const size_t channels = some[_i];
    static float got[LARGEST], wanted[LARGEST];
    static uint8_t source[14 * 12 * 4], expected[14 * 12 * 3];
    float targets[COUNT * CLASSES];
    svit_pipeline_config pipeline = pipeline_of(PIPELINES[2], channels);
    svit_dataset *dataset = dataset_of(pixels, channels);
    size_t elements = read_epoch(wanted, targets, dataset, &pipeline, 0);
    svit_dataset_free(dataset);
    WORKS(
        svit_pipeline_apply_evaluation(context, &pipeline, pixels, COUNT, HEIGHT, WIDTH, got, err));
    ck_assert_mem_eq(got, wanted, elements * sizeof *got);
    for (int32_t filter = SVIT_SOURCE_NEAREST; filter <= SVIT_SOURCE_BICUBIC; filter++) {
        pipeline.source_filter = filter;
        svit_pipeline_config rgb = pipeline;
        rgb.channels = 3;
        WORKS(svit_pipeline_apply_source(context, &pipeline, pixels, HEIGHT, WIDTH, source, err));
        for (size_t c = 0; c < channels; c++) {
            WORKS(svit_pipeline_apply_source(context, &rgb, replicate(c, channels), HEIGHT, WIDTH,
                                             expected, err));
            for (size_t i = 0; i < 14 * 12; i++)
                ck_assert_uint_eq(source[i * channels + c], expected[3 * i]);
        }
    }
}
END_TEST

START_TEST(test_statistics_are_those_of_each_channel)
{
    const size_t channels = CHANNELS[_i];
    double mean[5], variance[5], of_rgb[3], variance_of_rgb[3];
    mean[channels] = variance[channels] = -1;
    svit_dataset *dataset = dataset_of(pixels, channels);
    WORKS(svit_dataset_statistics(dataset, 1.0 / 255, mean, variance, err));
    ck_assert(mean[channels] == -1 && variance[channels] == -1);
    svit_dataset_free(dataset);
    for (size_t c = 0; c < channels; c++) {
        dataset = dataset_of(replicate(c, channels), 3);
        WORKS(svit_dataset_statistics(dataset, 1.0 / 255, of_rgb, variance_of_rgb, err));
        svit_dataset_free(dataset);
        ck_assert(mean[c] == of_rgb[1] && variance[c] == variance_of_rgb[1]);
    }
}
END_TEST

/* The mean and the variance of all values, and nothing behind them. */
START_TEST(test_statistics_of_many_channels_are_those_of_all_values)
{
    static float floats[COUNT * HEIGHT * WIDTH * MANY];
    const size_t elements = sizeof floats / sizeof *floats;
    double sum = 0, squares = 0;
    svit_dataset *dataset = NULL;
    for (size_t i = 0; i < elements; i++) {
        floats[i] = pixels[i];
        sum += pixels[i];
    }
    const double mean = sum / (double)elements;
    for (size_t i = 0; i < elements; i++)
        squares += (pixels[i] - mean) * (pixels[i] - mean);
    for (int is_f32 = 0; is_f32 < 2; is_f32++) {
        double got[2] = {-1, -1}, variance[2] = {-1, -1};
        if (is_f32)
            WORKS(svit_dataset_memory_f32(&dataset, context, floats, labels, NULL, COUNT, HEIGHT,
                                          WIDTH, MANY, CLASSES, err));
        else
            dataset = dataset_of(pixels, MANY);
        WORKS(svit_dataset_statistics(dataset, 0.5, got, variance, err));
        svit_dataset_free(dataset);
        ck_assert_double_eq_tol(got[0], mean / 2, 1e-12 * mean);
        ck_assert_double_eq_tol(variance[0], squares / (double)elements / 4, 1e-12 * squares);
        ck_assert(got[1] == -1 && variance[1] == -1);
    }
}
END_TEST

/* The same bytes as 6 images of 1 channel, or of a quarter of the width and 4 channels. */
START_TEST(test_fingerprints_and_views_know_the_channels)
{
    static uint8_t bytes[2 * 4 * 4];
    uint64_t grey, rgba, part;
    svit_dataset *a = NULL, *b = NULL, *slice = NULL;
    WORKS(svit_dataset_memory(&a, context, bytes, labels, 2, 4, 4, 1, CLASSES, err));
    WORKS(svit_dataset_memory(&b, context, bytes, labels, 2, 2, 2, 4, CLASSES, err));
    WORKS(svit_dataset_slice(&slice, b, 0, 2, err));
    WORKS(svit_dataset_fingerprint(a, &grey, err));
    WORKS(svit_dataset_fingerprint(b, &rgba, err));
    WORKS(svit_dataset_fingerprint(slice, &part, err));
    ck_assert_uint_ne(grey, rgba);
    ck_assert_uint_eq(rgba, part);
    ck_assert_uint_eq(svit_dataset_channels(slice), 4);
    ck_assert_int_eq(svit_dataset_is_f32(slice), 0);
    ck_assert_uint_eq(svit_dataset_channels(NULL), 0);
    svit_dataset_free(slice);
    svit_dataset_free(b);
    svit_dataset_free(a);
}
END_TEST

/* A folder, a list, and a folder of a pipeline decode an image to their channels. */
START_TEST(test_image_files_are_decoded_to_the_channels)
{
    NEEDS(HAS_PNG, "PNG");
    const size_t channels = CHANNELS[_i];
    test_folder folder = folder_make();
    static uint8_t got[HEIGHT * WIDTH * 4];
    static const char list[] = "path,label\na/p.png,a\n";
    int32_t label;
    svit_image *image = NULL;
    svit_pipeline_config pipeline = pipeline_of("{}", channels);
    pipeline.source_height = HEIGHT;
    pipeline.source_width = WIDTH;
    subfolder_make(&folder, "a");
    file_write(&folder, "list.csv", list, sizeof list - 1);
    WORKS(svit_image_write_png(context, path_in(&folder, "a/p.png"), pixels, HEIGHT, WIDTH, err));
    WORKS(svit_image_read(&image, context, path_in(&folder, "a/p.png"), channels, err));
    for (int kind = 0; kind < 3; kind++) {
        svit_dataset *dataset = NULL;
        if (kind == 0)
            WORKS(svit_dataset_folder(&dataset, context, folder.path, HEIGHT, WIDTH, channels,
                                      SVIT_SOURCE_BICUBIC, err));
        else if (kind == 1)
            WORKS(svit_dataset_folder_pipeline(&dataset, context, folder.path, &pipeline, err));
        else
            WORKS(
                svit_dataset_list(&dataset, context, path_in(&folder, "list.csv"), &pipeline, err));
        ck_assert_uint_eq(svit_dataset_channels(dataset), channels);
        WORKS(svit_dataset_sample(dataset, 0, got, &label, err));
        ck_assert_mem_eq(got, svit_image_pixels(image), HEIGHT * WIDTH * channels);
        svit_dataset_free(dataset);
    }
    svit_image_free(image);
    folder_remove(&folder);
}
END_TEST

static int32_t give_channels(size_t index, uint8_t *out, int32_t *label, void *user)
{
    memset(out, (int)index, 2 * 2 * *(size_t *)user);
    *label = 0;
    return 0;
}

START_TEST(test_a_callback_writes_its_channels)
{
    size_t channels = CHANNELS[_i];
    uint8_t got[2 * 2 * 4 + 1] = {0};
    const uint8_t wanted[2 * 2 * 4] = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
    int32_t label;
    svit_dataset *dataset = NULL;
    WORKS(svit_dataset_callback(&dataset, context, give_channels, 9, 2, 2, channels, 1, &channels,
                                err));
    WORKS(svit_dataset_sample(dataset, 7, got, &label, err));
    ck_assert_mem_eq(got, wanted, 4 * channels);
    ck_assert_uint_eq(got[4 * channels], 0);
    svit_dataset_free(dataset);
}
END_TEST

START_TEST(test_json_has_a_number_for_each_channel)
{
    char text[2048];
    svit_pipeline_config config;
    WORKS(svit_pipeline_config_from_json(
        &config, sizeof config, "{\"mean\":[0.5],\"variance\":[0.25],\"channels\":1}", err));
    ck_assert_uint_eq(config.channels, 1);
    ck_assert(config.mean[0] == 0.5 && config.variance[0] == 0.25);
    ck_assert(config.mean[1] == 0 && config.variance[1] == 1);
    WORKS(svit_pipeline_config_to_json(&config, text, sizeof text, NULL, err));
    ck_assert_ptr_nonnull(strstr(text, "\"channels\":1,\"mean\":[0.5],\"variance\":[0.25]"));
    WORKS(svit_pipeline_config_from_json(&config, sizeof config, "{\"channels\":4}", err));
    ck_assert(config.channels == 4 && config.mean[3] == 0 && config.variance[3] == 1);
    WORKS(svit_pipeline_config_to_json(&config, text, sizeof text, NULL, err));
    ck_assert_ptr_nonnull(strstr(text, "\"variance\":[1.0,1.0,1.0,1.0]"));
    WORKS(svit_pipeline_config_from_json(&config, sizeof config,
                                         "{\"mean\":[0.5],\"channels\":1024}", err));
    ck_assert(config.channels == 1024 && config.mean[0] == 0.5 && config.mean[1] == 0);
    WORKS(svit_pipeline_config_to_json(&config, text, sizeof text, NULL, err));
    ck_assert_ptr_nonnull(strstr(text, "\"channels\":1024,\"mean\":[0.5],\"variance\":[1.0],"));
    WORKS(svit_pipeline_config_from_json(&config, sizeof config, "{\"mean\":[1,2,3]}", err));
    ck_assert(config.channels == 3 && config.mean[2] == 3 && config.mean[3] == 0);
    config.variance[3] = -1; /* of a channel that the images do not have */
    WORKS(svit_pipeline_config_to_json(&config, text, sizeof text, NULL, err));
    ck_assert_ptr_nonnull(strstr(text, "\"variance\":[1.0,1.0,1.0],"));
}
END_TEST

START_TEST(test_texts_that_do_not_fit_the_channels_are_refused)
{
    static const struct {
        const char *json, *message;
    } REFUSED[] = {
        {"{\"mean\":[0],\"channels\":3}", "mean is not an array of 3 numbers, as many as channels"},
        {"{\"mean\":[0,0,0],\"channels\":1}", "mean is not an array of 1 number, as many as"},
        {"{\"channels\":4,\"variance\":[1,1,1]}", "variance is not an array of 4 numbers"},
        {"{\"channels\":4,\"variance\":[1,1,1,0]}", "variance is 0"},
        {"{\"channels\":0}", "channels is 0"},
        {"{\"channels\":1025}", "channels is 1025; it is in [1, 1024]"},
        {"{\"channels\":5,\"mean\":[0,0,0,0,0]}",
         "mean is not an array of 1 number, that of all channels above 4"},
        {"{\"channels\":5,\"source_filter\":\"squash\"}",
         "channels is 5; above 4 source_filter must be 'nearest'"},
        {"{\"channels\":5,\"augment\":[{\"name\":\"resized-crop\"}]}",
         "augment[0] is 'resized-crop', which needs channels of 1..4; channels is 5"},
        {"{\"channels\":5,\"scale\":1e300}", "with scale 1e+300"},
        {"{\"channels\":1,\"augment\":[{\"name\":\"color-jitter\"}]}",
         "augment[0] is 'color-jitter', which changes colours and needs channels 3; channels is 1"},
        {"{\"channels\":4,\"augment\":[{\"name\":\"flip\"},{\"name\":\"randaugment\"}]}",
         "augment[1] is 'randaugment'"},
        {"{\"channels\":1,\"augment\":[{\"name\":\"trivialaugment\"}]}", "'trivialaugment'"},
        {"{\"channels\":1,\"augment\":[{\"name\":\"autoaugment\"}]}", "'autoaugment'"},
    };
    svit_pipeline_config config;
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++)
        FAILS(svit_pipeline_config_from_json(&config, sizeof config, REFUSED[i].json, err),
              SVIT_E_ARGUMENT, REFUSED[i].message);
}
END_TEST

START_TEST(test_wrong_numbers_of_channels_are_refused)
{
    svit_dataset *set = NULL;
    svit_loader *loader = NULL;
    size_t two = 2;
    svit_pipeline_config pipeline = pipeline_of("{}", two);
    FAILS(svit_dataset_memory(&set, context, pixels, labels, 1, 2, 2, 1025, CLASSES, err),
          SVIT_E_ARGUMENT, "svit_dataset_memory: channels is 1025; 1..1024 are accepted");
    FAILS(svit_dataset_callback(&set, context, give_channels, 1, 2, 2, 0, 1, &two, err),
          SVIT_E_ARGUMENT, "svit_dataset_callback: channels is 0");
    FAILS(svit_dataset_folder(&set, context, "/", 2, 2, 5, SVIT_SOURCE_NEAREST, err),
          SVIT_E_ARGUMENT,
          "svit_dataset_folder: channels is 5; files give images of 1 (grey), 3 (RGB) and 4");
    FAILS(svit_dataset_folder_pipeline(&set, context, "/", &pipeline, err), SVIT_E_ARGUMENT,
          "svit_dataset_folder_pipeline: channels is 2; files give");
    FAILS(svit_dataset_list(&set, context, "/", &pipeline, err), SVIT_E_ARGUMENT,
          "svit_dataset_list: channels is 2; files give");
    pipeline.channels = 3;
    set = dataset_of(pixels, 1);
    FAILS(svit_loader_create(&loader, set, &pipeline, NULL, err), SVIT_E_ARGUMENT,
          "the dataset's images have 1 channels; channels of the pipeline is 3");
    svit_dataset_free(set);
}
END_TEST

/* Colours whose values of bytes are no finite floats. */
START_TEST(test_colours_beyond_floats_are_refused)
{
    static const char *const texts[][2] = {
        {"{\"mean\":[0,0,6e61]}", "mean[2] 6e+61 and variance[2] 1"},
        {"{\"scale\":1e300}", "with scale 1e+300"},
        {"{\"scale\":1e30,\"variance\":[1e-30,1,1]}", "variance[0] 1e-30"}};
    svit_pipeline_config config;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        FAILS(svit_pipeline_config_from_json(&config, sizeof config, texts[i][0], err),
              SVIT_E_ARGUMENT, texts[i][1]);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("channels");
    TCase *c = tcase_create("channels");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_colours_beyond_floats_are_refused);
    tcase_add_loop_test(c, test_each_channel_of_a_batch_is_that_of_an_rgb_image, 0, 6 * CASES);
    tcase_add_loop_test(c, test_so_is_each_of_many_channels_with_one_mean_for_all, 0, 6);
    tcase_add_loop_test(c, test_many_channels_of_floats_become_what_those_of_bytes_become, 0, 6);
    tcase_add_loop_test(c, test_applying_the_pipeline_gives_what_a_loader_gives, 0, 3);
    tcase_add_loop_test(c, test_statistics_are_those_of_each_channel, 0, 4);
    tcase_add_test(c, test_statistics_of_many_channels_are_those_of_all_values);
    tcase_add_test(c, test_fingerprints_and_views_know_the_channels);
    tcase_add_loop_test(c, test_image_files_are_decoded_to_the_channels, 0, 3);
    tcase_add_loop_test(c, test_a_callback_writes_its_channels, 0, 4);
    tcase_add_test(c, test_json_has_a_number_for_each_channel);
    tcase_add_test(c, test_texts_that_do_not_fit_the_channels_are_refused);
    tcase_add_test(c, test_wrong_numbers_of_channels_are_refused);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
