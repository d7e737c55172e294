/* Checks the source step: antialiased resizing gives Pillow's bytes, and training and prediction
 * see the same image in its own aspect ratio. */
#include "build.h"
#include "data_support.h"

#include "io/safetensors.h"

#include <shiftvit/image.h>
#include <shiftvit/loader.h>

/* The files of both orders of resizing: make_antialias.py. */
static const struct {
    const char *path;
    int32_t bilinear, bicubic; /* SVIT_SOURCE_* */
} PILLOWS[] = {
    {GOLDEN_FOLDER "/antialias-13.safetensors", SVIT_SOURCE_SHORTER_SIDE, SVIT_SOURCE_BICUBIC},
    {GOLDEN_FOLDER "/antialias-12.safetensors", SVIT_SOURCE_SHORTER_SIDE_PILLOW_12,
     SVIT_SOURCE_BICUBIC_PILLOW_12}};
enum { PILLOW_COUNT = sizeof PILLOWS / sizeof *PILLOWS };

static uint8_t *pillow_read(const sv_allocator *allocator, const char *path,
                            const sv_safetensors_entry *entry)
{
    ck_assert_int_eq(entry->desc.dtype, SV_DTYPE_U8);
    uint8_t *bytes = malloc(entry->desc.elements);
    sv_file *raw = NULL;
    WORKS(sv_file_open(&raw, allocator, path, err));
    WORKS(sv_file_read_at(raw, entry->offset, bytes, entry->desc.elements, err));
    sv_file_close(allocator, raw);
    return bytes;
}

static svit_pipeline_config shorter_side(uint32_t height, uint32_t width)
{
    svit_pipeline_config config;
    ck_assert_int_eq(svit_pipeline_config_init(&config, sizeof config), SVIT_OK);
    config.source_height = config.resize_height = config.output_height = height;
    config.source_width = config.resize_width = config.output_width = width;
    config.source_filter = SVIT_SOURCE_SHORTER_SIDE;
    return config;
}

/* Fills an image of this size with the noise that make_antialias.py draws. */
static uint8_t *noise(size_t height, size_t width)
{
    uint8_t *rgb = malloc(height * width * 3);
    bytes_fill(rgb, height * width * 3, (uint32_t)(1000 * height + width));
    return rgb;
}

/* Resizes as KIND in the name of a tensor says. Returns false if this order of resizing has no name
 * there: svit_resize_antialias_u8 has today's. */
static bool resize_as(svit_context *context, const char *kind, int pillow, const size_t in[2],
                      const size_t out[2], const uint8_t *rgb, uint8_t *got)
{
    svit_pipeline_config config = shorter_side((uint32_t)out[0], (uint32_t)out[1]);
    if (strcmp(kind, "stretch") == 0) {
        WORKS(svit_resize_antialias_u8(context, rgb, in[0], in[1], got, out[0], out[1], err));
        return pillow == 0;
    }
    config.source_filter =
        strcmp(kind, "bicubic") == 0 ? PILLOWS[pillow].bicubic : PILLOWS[pillow].bilinear;
    WORKS(svit_pipeline_apply_source(context, &config, rgb, in[0], in[1], got, err));
    return true;
}

static void check_entry(svit_context *context, const sv_allocator *allocator, int pillow,
                        const sv_safetensors_entry *entry)
{
    char kind[16];
    size_t in[2], out[2];
    ck_assert_int_eq(
        sscanf(entry->name, "%15[a-z].%zux%zu.%zux%zu", kind, &in[0], &in[1], &out[0], &out[1]), 5);
    uint8_t *wanted = pillow_read(allocator, PILLOWS[pillow].path, entry);
    uint8_t *rgb = noise(in[0], in[1]), *got = malloc(out[0] * out[1] * 3);
    ck_assert_uint_eq(entry->desc.elements, out[0] * out[1] * 3);
    if (resize_as(context, kind, pillow, in, out, rgb, got))
        for (size_t b = 0; b < entry->desc.elements; b++)
            ck_assert_msg(got[b] == wanted[b], "%s: byte %zu is %d, not %d", entry->name, b, got[b],
                          wanted[b]);
    free(got);
    free(rgb);
    free(wanted);
}

START_TEST(test_resizing_has_the_bytes_of_pillow)
{
    sv_allocator allocator = sv_allocator_default();
    svit_context *context = context_open();
    sv_safetensors *file = NULL;
    WORKS(sv_safetensors_open(&file, &allocator, PILLOWS[_i].path, err));
    ck_assert_uint_eq(sv_safetensors_count(file), 45);
    for (size_t i = 0; i < sv_safetensors_count(file); i++)
        check_entry(context, &allocator, _i, sv_safetensors_at(file, i));
    sv_safetensors_close(file);
    svit_context_free(context);
}
END_TEST

/* Draws a red disc on white, `radius` pixels wide each way, in the middle of a height x width
 * image. */
static uint8_t *disc(size_t height, size_t width, double radius)
{
    uint8_t *rgb = malloc(height * width * 3);
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            double down = (double)y + 0.5 - (double)height / 2;
            double right = (double)x + 0.5 - (double)width / 2;
            uint8_t other = down * down + right * right < radius * radius ? 0 : 255;
            uint8_t *pixel = rgb + (y * width + x) * 3;
            pixel[0] = 255;
            pixel[1] = pixel[2] = other;
        }
    return rgb;
}

/* Counts the rows and columns of the disc, where green is below one half. */
static void disc_measure(const uint8_t *rgb, size_t side, size_t *rows, size_t *columns)
{
    size_t middle = side / 2;
    *rows = *columns = 0;
    for (size_t i = 0; i < side; i++) {
        *rows += rgb[(i * side + middle) * 3 + 1] < 128;
        *columns += rgb[(middle * side + i) * 3 + 1] < 128;
    }
}

START_TEST(test_the_aspect_ratio_is_kept)
{
    static const size_t SIZES[][2] = {{100, 300}, {300, 100}, {200, 200}, {40, 60}};
    enum { SIDE = 50 };
    svit_context *context = context_open();
    svit_pipeline_config config = shorter_side(SIDE, SIDE);
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        size_t height = SIZES[i][0];
        size_t width = SIZES[i][1];
        size_t least = height < width ? height : width;
        uint8_t *rgb = disc(height, width, 0.4 * (double)least);
        uint8_t out[SIDE * SIDE * 3];
        size_t rows;
        size_t columns;
        WORKS(svit_pipeline_apply_source(context, &config, rgb, height, width, out, err));
        disc_measure(out, SIDE, &rows, &columns);
        ck_assert_int_le(abs((int)rows - 4 * SIDE / 5), 1);
        ck_assert_int_le(abs((int)columns - 4 * SIDE / 5), 1);
        ck_assert_int_le(abs((int)rows - (int)columns), 1);
        free(rgb);
    }
    svit_context_free(context);
}
END_TEST

/* The nearest whole number to a / b; of two, the even one. */
static size_t nearest(size_t a, size_t b)
{
    const size_t down = a / b, twice = 2 * (a % b);
    return down + (twice > b || (twice == b && down % 2 == 1));
}

/* The offset of a central crop, half to even. */
static size_t centre(size_t size, size_t crop)
{
    return nearest(size - crop, 2);
}

/* An image is resized to the rounded size, and the middle of that cut out, in two steps of their
 * own. */
START_TEST(test_the_longer_side_is_rounded_to_the_nearest_pixel)
{
    enum { HEIGHT = 10, WIDTH = 14, MOST = 45 };
    static const int32_t both[2][2] = {
        {SVIT_SOURCE_KEEP_RATIO, SVIT_SOURCE_SQUASH},
        {SVIT_SOURCE_KEEP_RATIO_BICUBIC, SVIT_SOURCE_SQUASH_BICUBIC}};
    static uint8_t whole[3 * MOST * WIDTH * MOST], got[3 * HEIGHT * WIDTH];
    size_t rounded_up = 0;
    svit_context *context = context_open();
    for (size_t height = 1; height < MOST; height += 3)
        for (size_t width = 1; width < MOST; width += 2) {
            const bool is_wide = width * HEIGHT >= height * WIDTH;
            const size_t h = is_wide ? HEIGHT : nearest(height * WIDTH, width),
                         w = is_wide ? nearest(width * HEIGHT, height) : WIDTH;
            const int32_t *filters = both[width / 2 % 2];
            uint8_t *rgb = noise(height, width);
            svit_pipeline_config config = shorter_side(HEIGHT, WIDTH);
            config.source_filter = filters[0];
            WORKS(svit_pipeline_apply_source(context, &config, rgb, height, width, got, err));
            config = shorter_side((uint32_t)h, (uint32_t)w);
            config.source_filter = filters[1];
            WORKS(svit_pipeline_apply_source(context, &config, rgb, height, width, whole, err));
            const uint8_t *from = whole + 3 * (centre(h, HEIGHT) * w + centre(w, WIDTH));
            for (size_t y = 0; y < HEIGHT; y++)
                ck_assert_msg(memcmp(got + 3 * y * WIDTH, from + 3 * y * w, 3 * WIDTH) == 0,
                              "%zu x %zu, row %zu", height, width, y);
            rounded_up += h * width > height * WIDTH || w * height > width * HEIGHT;
            free(rgb);
        }
    ck_assert_uint_gt(rounded_up, 50);
    svit_context_free(context);
}
END_TEST

/* Requires that an evaluated image, of `side` pixels each way, is the part of `rgb` from
 * (top, left) on. */
static void check_part(const float *values, size_t side, const uint8_t *rgb, size_t width,
                       size_t top, size_t left)
{
    for (size_t y = 0; y < side; y++)
        for (size_t b = 0; b < 3 * side; b++)
            ck_assert_msg(values[y * 3 * side + b] ==
                              (float)rgb[((top + y) * width + left) * 3 + b],
                          "width %zu, side %zu: row %zu, byte %zu", width, side, y, b);
}

/* The centre of an image whose height is that of the source, by one rule for the source step and
 * the crop after it: together, one after the other, and where the source step alone cuts.
 * Regression: that of transformers' processors was torchvision's. */
START_TEST(test_the_centre_is_rounded_to_even_or_down)
{
    enum { SIDE = 20, MOST = 60 };
    static const int32_t evaluations[] = {SVIT_EVALUATE_CROP, SVIT_EVALUATE_CROP_FLOOR};
    static uint8_t source[3 * SIDE * SIDE];
    static float values[3 * SIDE * SIDE];
    svit_context *context = context_open();
    svit_pipeline_config config = shorter_side(SIDE, SIDE);
    config.evaluation = evaluations[_i];
    config.scale = 1;
    for (size_t width = SIDE; width < MOST; width++)
        for (uint32_t side = SIDE; side > SIDE - 6; side--) {
            const size_t top = _i ? (SIDE - side) / 2 : centre(SIDE, side),
                         left = _i ? (width - side) / 2 : centre(width, side);
            uint8_t *rgb = noise(SIDE, width);
            config.output_height = config.output_width = side;
            WORKS(
                svit_pipeline_apply_evaluation(context, &config, rgb, 1, SIDE, width, values, err));
            check_part(values, side, rgb, width, top, left);
            WORKS(svit_pipeline_apply_source(context, &config, rgb, SIDE, width, source, err));
            WORKS(svit_pipeline_apply_evaluation(context, &config, source, 1, SIDE, SIDE, values,
                                                 err));
            check_part(values, side, rgb, width, top, left);
            free(rgb);
        }
    svit_context_free(context);
}
END_TEST

/* Both filters leave an image of the source size as it is. */
START_TEST(test_an_image_of_the_source_size_is_copied)
{
    svit_context *context = context_open();
    uint8_t *rgb = noise(21, 34);
    uint8_t got[21 * 34 * 3];
    svit_pipeline_config config = shorter_side(21, 34);
    for (int32_t filter = 0; filter < 2; filter++) {
        config.source_filter = filter;
        memset(got, 0, sizeof got);
        WORKS(svit_pipeline_apply_source(context, &config, rgb, 21, 34, got, err));
        ck_assert_mem_eq(got, rgb, sizeof got);
    }
    free(rgb);
    svit_context_free(context);
}
END_TEST

/* Stripes of one pixel become grey if they are averaged, and black or white if pixels are skipped.
 * Regression: every folder is brought to 32 x 32 and enlarged again. */
START_TEST(test_a_folder_keeps_the_detail_that_the_size_allows)
{
    NEEDS(HAS_PNG, "PNG");
    enum { PHOTO = 200, LARGE = 224, SMALL = 48 };
    svit_context *context = context_open();
    test_folder folder = folder_make();
    subfolder_make(&folder, "only");
    uint8_t *rgb = noise(PHOTO, PHOTO);
    for (size_t i = 0; i < PHOTO * PHOTO * 3; i++) /* stripes of 8 pixels, then noise of 0..15 */
        rgb[i] = (uint8_t)(rgb[i] / 16 + (i / 3 % PHOTO / 8 % 2 ? 240 : 0));
    WORKS(svit_image_write_png(context, path_in(&folder, "only/p.png"), rgb, PHOTO, PHOTO, err));
    static const size_t SIDES[] = {SMALL, LARGE};
    for (size_t s = 0; s < 2; s++) {
        size_t side = SIDES[s];
        static uint8_t got[LARGE * LARGE * 3];
        int32_t label = -1;
        svit_dataset *dataset = NULL;
        WORKS(svit_dataset_folder(&dataset, context, folder.path, side, side, 3,
                                  SVIT_SOURCE_SHORTER_SIDE, err));
        WORKS(svit_dataset_sample(dataset, 0, got, &label, err));
        size_t changes = 0; /* changes from dark to light and back, along the middle row */
        for (size_t x = 1; x < side; x++)
            changes += (got[(side / 2 * side + x) * 3] < 128) !=
                       (got[(side / 2 * side + x - 1) * 3] < 128);
        ck_assert_uint_eq(changes, PHOTO / 8 - 1);
        svit_dataset_free(dataset);
    }
    free(rgb);
    folder_remove(&folder);
    svit_context_free(context);
}
END_TEST

/* Compares a folder's sample, after the pipeline, with the pipeline on the image itself: evaluation
 * in training and prediction have the same bits. */
START_TEST(test_training_and_prediction_see_the_same_bits)
{
    NEEDS(HAS_PNG, "PNG");
    static const size_t SIZES[][2] = {{60, 90}, {90, 60}, {20, 21}, {1, 70}, {48, 48}};
    enum { SIDE = 48, ELEMENTS = SIDE * SIDE * 3 };
    svit_context *context = context_open();
    for (int32_t filter = 0; filter < 2; filter++)
        for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
            size_t height = SIZES[i][0];
            size_t width = SIZES[i][1];
            test_folder folder = folder_make();
            subfolder_make(&folder, "only");
            uint8_t *rgb = noise(height, width);
            WORKS(svit_image_write_png(context, path_in(&folder, "only/p.png"), rgb, height, width,
                                       err));
            svit_pipeline_config config = shorter_side(SIDE, SIDE);
            config.source_filter = filter;
            config.output_height = config.output_width = SIDE - 5;
            svit_dataset *dataset = NULL;
            static uint8_t sample[ELEMENTS];
            static float trained[ELEMENTS];
            static float predicted[ELEMENTS];
            int32_t label;
            size_t elements = (SIDE - 5) * (SIDE - 5) * 3;
            WORKS(svit_dataset_folder(&dataset, context, folder.path, SIDE, SIDE, 3, filter, err));
            WORKS(svit_dataset_sample(dataset, 0, sample, &label, err));
            WORKS(svit_pipeline_apply_evaluation(context, &config, sample, 1, SIDE, SIDE, trained,
                                                 err));
            WORKS(svit_pipeline_apply_evaluation(context, &config, rgb, 1, height, width, predicted,
                                                 err));
            ck_assert_mem_eq(trained, predicted, elements * sizeof *trained);
            svit_dataset_free(dataset);
            free(rgb);
            folder_remove(&folder);
        }
    svit_context_free(context);
}
END_TEST

/* A loader applies the same source step to a dataset of another size than the source's, also if
 * training crops, mirrors, rotates and zooms. */
START_TEST(test_a_loader_does_the_source_step)
{
    enum { SIDE = 40, HIGH = 60, WIDE = 90, CROP = 32, COUNT = 5 };
    svit_context *context = context_open();
    svit_pipeline_config config = shorter_side(SIDE, SIDE);
    svit_loader_config loading;
    ck_assert_int_eq(svit_loader_config_init(&loading, sizeof loading), SVIT_OK);
    loading.batch = COUNT;
    loading.seed = 3;
    config.output_height = config.output_width = CROP;
    config.rotation = _i & 2 ? 0.1 : 0;
    config.zoom = _i & 2 ? 0.2 : 0;
    loading.augment = _i & 1;
    uint8_t *large = malloc(COUNT * HIGH * WIDE * 3);
    static uint8_t small[COUNT * SIDE * SIDE * 3];
    static float out[2][COUNT * CROP * CROP * 3];
    const int32_t labels[COUNT] = {0, 1, 2, 1, 0};
    bytes_fill(large, COUNT * HIGH * WIDE * 3, 5);
    for (size_t i = 0; i < COUNT; i++)
        WORKS(svit_pipeline_apply_source(context, &config, large + i * HIGH * WIDE * 3, HIGH, WIDE,
                                         small + i * SIDE * SIDE * 3, err));
    for (int s = 0; s < 2; s++) {
        svit_dataset *dataset = NULL;
        svit_loader *loader = NULL;
        int32_t got[COUNT];
        size_t n = 0;
        WORKS(svit_dataset_memory(&dataset, context, s ? small : large, labels, COUNT,
                                  s ? SIDE : HIGH, s ? SIDE : WIDE, 3, 3, err));
        WORKS(svit_loader_create(&loader, dataset, &config, &loading, err));
        WORKS(svit_loader_next(loader, out[s], got, &n, err));
        ck_assert_uint_eq(n, COUNT);
        svit_loader_free(loader);
        svit_dataset_free(dataset);
    }
    ck_assert_mem_eq(out[0], out[1], sizeof out[0]);
    free(large);
    svit_context_free(context);
}
END_TEST

START_TEST(test_the_source_filter_is_in_the_json)
{
    static const char *const WORDS[] = {"\"nearest\"", "\"shorter-side\""};
    for (int32_t filter = 0; filter < 2; filter++) {
        svit_pipeline_config config = shorter_side(20, 30);
        svit_pipeline_config back;
        char text[1024];
        config.source_filter = filter;
        WORKS(svit_pipeline_config_to_json(&config, text, sizeof text, NULL, err));
        ck_assert_ptr_nonnull(strstr(text, "\"source_filter\""));
        ck_assert_ptr_nonnull(strstr(text, WORDS[filter]));
        WORKS(svit_pipeline_config_from_json(&back, sizeof back, text, err));
        ck_assert_int_eq(back.source_filter, filter);
    }
    svit_pipeline_config config = shorter_side(20, 30);
    WORKS(svit_pipeline_config_from_json(&config, sizeof config, "{\"source_height\":9}", err));
    ck_assert_int_eq(config.source_filter, SVIT_SOURCE_NEAREST);
    FAILS(svit_pipeline_config_from_json(&config, sizeof config, "{\"source_filter\":\"lanczos\"}",
                                         err),
          SVIT_E_ARGUMENT, "source_filter is 'lanczos'; it is 'nearest' or 'shorter-side'");
    FAILS(svit_pipeline_config_from_json(&config, sizeof config, "{\"source_filter\":1}", err),
          SVIT_E_ARGUMENT, "source_filter");
    FAILS(svit_pipeline_config_from_json(&config, sizeof config, "{\"source_filter\":\"x\"}", err),
          SVIT_E_ARGUMENT, "'keep-ratio-bicubic'");
}
END_TEST

START_TEST(test_wrong_arguments_of_the_source_step_are_named)
{
    svit_context *context = context_open();
    uint8_t a[12] = {0};
    uint8_t b[12] = {0};
    svit_pipeline_config config = shorter_side(2, 2);
    FAILS(svit_resize_antialias_u8(NULL, a, 2, 2, b, 2, 2, err), SVIT_E_ARGUMENT, "context");
    FAILS(svit_resize_antialias_u8(context, NULL, 2, 2, b, 2, 2, err), SVIT_E_ARGUMENT, "in is");
    FAILS(svit_resize_antialias_u8(context, a, 2, 2, NULL, 2, 2, err), SVIT_E_ARGUMENT, "out is");
    FAILS(svit_resize_antialias_u8(context, a, 2, 2, a, 2, 2, err), SVIT_E_ARGUMENT, "same array");
    FAILS(svit_resize_antialias_u8(context, a, 0, 2, b, 2, 2, err), SVIT_E_ARGUMENT, "height is 0");
    FAILS(svit_resize_antialias_u8(context, a, 2, 2, b, 2, 16385, err), SVIT_E_ARGUMENT,
          "out_width is 16385");
    FAILS(svit_pipeline_apply_source(NULL, &config, a, 2, 2, b, err), SVIT_E_ARGUMENT, "context");
    FAILS(svit_pipeline_apply_source(context, NULL, a, 2, 2, b, err), SVIT_E_ARGUMENT, "config");
    FAILS(svit_pipeline_apply_source(context, &config, NULL, 2, 2, b, err), SVIT_E_ARGUMENT,
          "pixels");
    FAILS(svit_pipeline_apply_source(context, &config, a, 2, 2, NULL, err), SVIT_E_ARGUMENT, "out");
    FAILS(svit_pipeline_apply_source(context, &config, a, 2, 2, a, err), SVIT_E_ARGUMENT,
          "same array");
    FAILS(svit_pipeline_apply_source(context, &config, a, 2, 0, b, err), SVIT_E_ARGUMENT,
          "width is 0");
    config.source_filter = 9;
    FAILS(svit_pipeline_apply_source(context, &config, a, 2, 2, b, err), SVIT_E_ARGUMENT,
          "source_filter is 9");
    svit_dataset *dataset = NULL;
    FAILS(svit_dataset_folder(&dataset, context, "/", 2, 2, 3, -1, err), SVIT_E_ARGUMENT,
          "filter is -1");
    svit_context_free(context);
}
END_TEST

static Suite *source_suite(void)
{
    Suite *suite = suite_create("source");
    TCase *cases = tcase_create("all");
    tcase_add_loop_test(cases, test_resizing_has_the_bytes_of_pillow, 0, PILLOW_COUNT);
    tcase_add_test(cases, test_the_aspect_ratio_is_kept);
    tcase_add_test(cases, test_the_longer_side_is_rounded_to_the_nearest_pixel);
    tcase_add_loop_test(cases, test_the_centre_is_rounded_to_even_or_down, 0, 2);
    tcase_add_test(cases, test_an_image_of_the_source_size_is_copied);
    tcase_add_test(cases, test_a_folder_keeps_the_detail_that_the_size_allows);
    tcase_add_test(cases, test_training_and_prediction_see_the_same_bits);
    tcase_add_loop_test(cases, test_a_loader_does_the_source_step, 0, 4);
    tcase_add_test(cases, test_the_source_filter_is_in_the_json);
    tcase_add_test(cases, test_wrong_arguments_of_the_source_step_are_named);
    suite_add_tcase(suite, cases);
    return suite;
}

TEST_MAIN(source_suite)
