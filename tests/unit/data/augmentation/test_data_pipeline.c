/* Checks pipelines: evaluation and training are compositions of the public resampling functions,
 * the configuration survives JSON, and every field is checked. */
#include "data_support.h"

#include "data/augmentation/pipeline.h"
#include "data/augmentation/pipeline_config.h"

#include <shiftvit/image.h>
#include <shiftvit/pipeline.h>

#include <math.h>
#include <stddef.h>

#define DRAW(plan, seed, epoch, sample, batch)                                                     \
    sv_pipeline_draw(plan, &(sv_augment_key){seed, epoch, sample},                                 \
                     &(sv_augment_key){seed, epoch, batch})

static svit_pipeline_config config_make(void)
{
    svit_pipeline_config config;
    ck_assert_int_eq(svit_pipeline_config_init(&config, sizeof config), SVIT_OK);
    return config;
}

START_TEST(test_default_is_that_of_the_keras_example)
{
    svit_pipeline_config config = config_make();
    ck_assert_uint_eq(config.struct_size, sizeof config);
    ck_assert_uint_eq(config.source_height, 32);
    ck_assert_uint_eq(config.resize_width, 52);
    ck_assert_uint_eq(config.output_height, 48);
    ck_assert_double_eq(config.flip_probability, 0.5);
    ck_assert_double_eq(config.scale, 1.0 / 255);
    size_t height = 0, width = 0;
    WORKS(svit_pipeline_evaluation_size(&config, &height, &width, err));
    ck_assert_uint_eq(height, 48);
    config.evaluation = SVIT_EVALUATE_KEEP;
    WORKS(svit_pipeline_evaluation_size(&config, &height, &width, err));
    ck_assert_uint_eq(height, 52);
    ck_assert_uint_eq(width, 52);
    ck_assert_int_eq(svit_pipeline_config_init(NULL, sizeof config), SVIT_E_ARGUMENT);
    ck_assert_int_eq(svit_pipeline_config_init(&config, 3), SVIT_E_ARGUMENT);
}
END_TEST

/* Sizes of all kinds: larger and smaller than the image, narrow, one pixel, with and without the
 * source step. */
static const struct size_case {
    uint32_t in[2], source[2], resize[2], output[2];
} SIZES[] = {
    {{32, 32}, {32, 32}, {52, 52}, {48, 48}}, {{50, 37}, {32, 32}, {52, 52}, {48, 48}},
    {{32, 32}, {32, 32}, {72, 72}, {72, 72}}, {{7, 90}, {20, 33}, {11, 40}, {11, 13}},
    {{64, 64}, {64, 64}, {16, 9}, {5, 9}},    {{1, 1}, {1, 1}, {3, 2}, {1, 1}},
    {{5, 5}, {1, 9}, {1, 20}, {1, 20}},
};
enum { SIZE_CASES = sizeof SIZES / sizeof *SIZES, ROOM = 100 * 100 * 3 };

static svit_pipeline_config config_of(const struct size_case *size)
{
    svit_pipeline_config config = config_make();
    config.source_height = size->source[0];
    config.source_width = size->source[1];
    config.resize_height = size->resize[0];
    config.resize_width = size->resize[1];
    config.output_height = size->output[0];
    config.output_width = size->output[1];
    const double mean[3] = {0.4914, 0.4822, 0.4465};
    const double variance[3] = {0.061, 0.0594, 0.0683};
    memcpy(config.mean, mean, sizeof mean);
    memcpy(config.variance, variance, sizeof variance);
    return config;
}

/* Resizes an image with the public functions; the result is in units of bytes, before it is
 * normalised. */
static void resize_reference(float *resized, const uint8_t *rgb, const struct size_case *size)
{
    static uint8_t source[ROOM];
    static float bytes[ROOM];
    WORKS(svit_resize_nearest_u8(rgb, size->in[0], size->in[1], source, size->source[0],
                                 size->source[1], err));
    for (size_t i = 0; i < (size_t)3 * size->source[0] * size->source[1]; i++)
        bytes[i] = source[i];
    WORKS(svit_resize_bilinear_f32(bytes, size->source[0], size->source[1], 3, resized,
                                   size->resize[0], size->resize[1], err));
}

static double normalised(const svit_pipeline_config *config, double value, size_t c)
{
    return (value * config->scale - config->mean[c]) / sqrt(config->variance[c]);
}

START_TEST(test_evaluation_is_nearest_then_bilinear_twice)
{
    svit_context *context = context_open();
    const struct size_case *size = &SIZES[_i];
    svit_pipeline_config config = config_of(size);
    static uint8_t rgb[3 * ROOM];
    static float resized[ROOM], wanted[ROOM];
    static float got[3 * ROOM];
    enum { N = 3 };
    size_t image = (size_t)3 * size->in[0] * size->in[1];
    bytes_fill(rgb, N * image, 31 + (uint32_t)_i);
    for (int32_t evaluation = 0; evaluation < 2; evaluation++) {
        config.evaluation = evaluation;
        WORKS(svit_pipeline_apply_evaluation(context, &config, rgb, N, size->in[0], size->in[1],
                                             got, err));
        const uint32_t *out = evaluation == SVIT_EVALUATE_KEEP ? size->resize : size->output;
        size_t elements = (size_t)3 * out[0] * out[1];
        for (size_t n = 0; n < N; n++) {
            resize_reference(resized, rgb + n * image, size);
            WORKS(svit_resize_bilinear_f32(resized, size->resize[0], size->resize[1], 3, wanted,
                                           out[0], out[1], err));
            for (size_t i = 0; i < elements; i++)
                ck_assert_double_le(
                    fabs(got[n * elements + i] - normalised(&config, wanted[i], i % 3)), 1e-5);
        }
    }
    svit_context_free(context);
}
END_TEST

START_TEST(test_training_is_a_crop_and_a_mirror_of_the_resized_image)
{
    const struct size_case *size = &SIZES[_i];
    svit_pipeline_config config = config_of(size);
    static uint8_t rgb[ROOM];
    static float resized[ROOM], got[ROOM];
    bytes_fill(rgb, (size_t)3 * size->in[0] * size->in[1], 41);
    resize_reference(resized, rgb, size);
    sv_allocator allocator = sv_allocator_default();
    sv_pipeline *plan = NULL;
    WORKS(sv_pipeline_create(&plan, &allocator, &config, size->in[0], size->in[1], false, err));
    float *scratch = malloc(sv_pipeline_scratch(plan) * sizeof *scratch);
    size_t mirrored = 0;
    for (uint32_t sample = 0; sample < 20; sample++) {
        sv_augmentation crop = DRAW(plan, 5, 2, sample, 0);
        ck_assert_uint_le(crop.top + size->output[0], size->resize[0]);
        ck_assert_uint_le(crop.left + size->output[1], size->resize[1]);
        mirrored += crop.mirror;
        sv_pipeline_train(plan, got, rgb, &crop, scratch);
        for (size_t y = 0; y < size->output[0]; y++)
            for (size_t x = 0; x < size->output[1]; x++)
                for (size_t c = 0; c < 3; c++) {
                    size_t column = crop.left + (crop.mirror ? size->output[1] - 1 - x : x);
                    float byte = resized[((crop.top + y) * size->resize[1] + column) * 3 + c];
                    ck_assert_double_le(
                        fabs(got[(y * size->output[1] + x) * 3 + c] - normalised(&config, byte, c)),
                        1e-5);
                }
    }
    ck_assert_uint_gt(mirrored, 0);
    ck_assert_uint_lt(mirrored, 20);
    free(scratch);
    sv_pipeline_free(plan);
}
END_TEST

/* Crops, mirrors and normalises an image with the public functions. */
static void crop_reference(float *out, const float *resized, const svit_pipeline_config *config,
                           const sv_augmentation *augmentation)
{
    static float crop[ROOM];
    size_t row = (size_t)config->output_width * 3;
    for (size_t y = 0; y < config->output_height; y++)
        for (size_t i = 0; i < row; i++)
            crop[y * row + i] = (float)normalised(
                config,
                resized[((augmentation->top + y) * config->resize_width + augmentation->left) * 3 +
                        i],
                i % 3);
    if (augmentation->mirror)
        WORKS(svit_flip_horizontal_f32(crop, config->output_height, config->output_width, 3, out,
                                       err));
    else
        memcpy(out, crop, config->output_height * row * sizeof *out);
}

/* Applies the public functions of rotation and zoom one after the other. */
static void affine_reference(float *out, const float *in, const svit_pipeline_config *config,
                             const sv_augmentation *augmentation)
{
    static float rotated[ROOM];
    size_t height = config->output_height;
    size_t width = config->output_width;
    double transform[6];
    WORKS(svit_affine_rotation(augmentation->turns, height, width, transform, err));
    WORKS(svit_affine_f32(in, height, width, 3, transform, rotated, err));
    WORKS(svit_affine_zoom(augmentation->height_factor, augmentation->width_factor, height, width,
                           transform, err));
    WORKS(svit_affine_f32(rotated, height, width, 3, transform, out, err));
}

static const double AFFINES[][2] = {{0.02, 0}, {0, 0.2}, {0.02, 0.2}, {1, 0.99}}; /* turns, zoom */
enum { AFFINE_CASES = sizeof AFFINES / sizeof *AFFINES };

START_TEST(test_training_rotates_then_zooms_the_cropped_image)
{
    const struct size_case *size = &SIZES[_i / AFFINE_CASES];
    svit_pipeline_config config = config_of(size);
    config.rotation = AFFINES[_i % AFFINE_CASES][0];
    config.zoom = AFFINES[_i % AFFINE_CASES][1];
    static uint8_t rgb[ROOM];
    static float resized[ROOM], crop[ROOM], wanted[ROOM], got[ROOM];
    bytes_fill(rgb, (size_t)3 * size->in[0] * size->in[1], 43);
    resize_reference(resized, rgb, size);
    sv_allocator allocator = sv_allocator_default();
    sv_pipeline *plan = NULL;
    WORKS(sv_pipeline_create(&plan, &allocator, &config, size->in[0], size->in[1], false, err));
    float *scratch = malloc(sv_pipeline_scratch(plan) * sizeof *scratch);
    for (uint32_t sample = 0; sample < 10; sample++) {
        sv_augmentation augmentation = DRAW(plan, 6, 1, sample, 0);
        sv_pipeline_train(plan, got, rgb, &augmentation, scratch);
        crop_reference(crop, resized, &config, &augmentation);
        affine_reference(wanted, crop, &config, &augmentation);
        for (size_t i = 0; i < (size_t)3 * size->output[0] * size->output[1]; i++)
            ck_assert_double_le(fabs(got[i] - wanted[i]), 2e-5);
    }
    free(scratch);
    sv_pipeline_free(plan);
}
END_TEST

static sv_augmentation draw_of(const svit_pipeline_config *config, uint64_t seed, uint64_t epoch,
                               uint32_t sample, uint32_t batch)
{
    sv_allocator allocator = sv_allocator_default();
    sv_pipeline *plan = NULL;
    WORKS(sv_pipeline_create(&plan, &allocator, config, 32, 32, false, err));
    sv_augmentation augmentation = DRAW(plan, seed, epoch, sample, batch);
    sv_pipeline_free(plan);
    return augmentation;
}

START_TEST(test_rotation_and_zoom_are_drawn_apart_from_crop_and_mirror)
{
    svit_pipeline_config plain = config_make();
    plain.per_batch = _i;
    svit_pipeline_config affine = plain;
    affine.rotation = 0.02;
    affine.zoom = 0.2;
    for (uint32_t sample = 0; sample < 50; sample++) {
        sv_augmentation a = draw_of(&plain, 8, 3, sample, 4);
        sv_augmentation b = draw_of(&affine, 8, 3, sample, 4);
        ck_assert(a.top == b.top && a.left == b.left && a.mirror == b.mirror);
        ck_assert(a.turns == 0 && a.height_factor == 0 && a.width_factor == 0);
        ck_assert(b.turns != 0 && b.height_factor != 0 && b.height_factor != b.width_factor);
        sv_augmentation other_batch = draw_of(&affine, 8, 3, sample, 5);
        ck_assert(b.turns == other_batch.turns && b.width_factor == other_batch.width_factor);
        ck_assert_double_ne(b.turns, draw_of(&affine, 9, 3, sample, 4).turns);
        ck_assert_double_ne(b.turns, draw_of(&affine, 8, 2, sample, 4).turns);
        ck_assert_double_ne(b.turns, draw_of(&affine, 8, 3, sample + 1, 4).turns);
    }
}
END_TEST

START_TEST(test_rotation_and_zoom_are_uniform_in_their_range)
{
    svit_pipeline_config config = config_make();
    config.rotation = 0.02;
    config.zoom = 0.2;
    sv_allocator allocator = sv_allocator_default();
    sv_pipeline *plan = NULL;
    WORKS(sv_pipeline_create(&plan, &allocator, &config, 32, 32, false, err));
    enum { DRAWS = 20000, PARTS = 5 };
    size_t parts[3][PARTS] = {{0}};
    double product = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        sv_augmentation augmentation = DRAW(plan, 78, i / 100, i % 100, 0);
        const double units[3] = {augmentation.turns / 0.02, augmentation.height_factor / 0.2,
                                 augmentation.width_factor / 0.2};
        for (size_t k = 0; k < 3; k++) {
            ck_assert(units[k] >= -1 && units[k] < 1);
            parts[k][(size_t)((units[k] + 1) / 2 * PARTS)]++;
        }
        product += units[1] * units[2];
    }
    for (size_t i = 0; i < 3 * PARTS; i++)
        ck_assert_uint_le(abs((int)parts[i / PARTS][i % PARTS] - DRAWS / PARTS), 250);
    ck_assert_double_le(fabs(product / DRAWS),
                        0.01); /* 4.2 standard deviations of the mean, 1 / (3 sqrt(DRAWS)) */
    sv_pipeline_free(plan);
}
END_TEST

START_TEST(test_draws_are_uniform_and_a_function_of_their_numbers)
{
    svit_pipeline_config config = config_make();
    config.flip_probability = 0.25;
    sv_allocator allocator = sv_allocator_default();
    sv_pipeline *plan = NULL;
    WORKS(sv_pipeline_create(&plan, &allocator, &config, 32, 32, false, err));
    enum { DRAWS = 20000, PLACES = 5 };
    size_t top[PLACES] = {0};
    size_t left[PLACES] = {0};
    size_t mirrored = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        sv_augmentation crop = DRAW(plan, 77, i / 100, i % 100, 0);
        sv_augmentation again = DRAW(plan, 77, i / 100, i % 100, 9);
        ck_assert(crop.top == again.top && crop.left == again.left && crop.mirror == again.mirror);
        top[crop.top]++;
        left[crop.left]++;
        mirrored += crop.mirror;
    }
    for (size_t i = 0; i < PLACES; i++) {
        ck_assert_uint_le(abs((int)top[i] - DRAWS / PLACES),
                          250); /* 4.4 standard deviations of 57 */
        ck_assert_uint_le(abs((int)left[i] - DRAWS / PLACES), 250);
    }
    ck_assert_uint_le(abs((int)mirrored - DRAWS / 4), 270);
    sv_pipeline_free(plan);
}
END_TEST

/* Compares all fields one by one, because there is padding in front of flip_probability. */
static void configs_equal(const svit_pipeline_config *a, const svit_pipeline_config *b)
{
    ck_assert_mem_eq(a, b, offsetof(svit_pipeline_config, per_batch) + sizeof a->per_batch);
    ck_assert_mem_eq(&a->flip_probability, &b->flip_probability,
                     sizeof *a - offsetof(svit_pipeline_config, flip_probability));
}

START_TEST(test_json_gives_back_every_field)
{
    svit_pipeline_config config = config_of(&SIZES[3]);
    config.evaluation = SVIT_EVALUATE_KEEP;
    config.per_batch = 1;
    config.flip_probability = 0.1;
    config.scale = 1.0 / 3;
    config.rotation = 0.02;
    config.zoom = 0.7;
    char text[1024];
    size_t needed = 0;
    WORKS(svit_pipeline_config_to_json(&config, NULL, 0, &needed, err));
    ck_assert_uint_le(needed, sizeof text);
    WORKS(svit_pipeline_config_to_json(&config, text, needed, &needed, err));
    ck_assert_uint_eq(needed, strlen(text) + 1);
    svit_pipeline_config back;
    memset(&back, 0xff, sizeof back);
    WORKS(svit_pipeline_config_from_json(&back, sizeof back, text, err));
    configs_equal(&back, &config);
    FAILS(svit_pipeline_config_to_json(&config, text, needed - 1, NULL, err), SVIT_E_ARGUMENT,
          "capacity");
    svit_pipeline_config standard = config_make();
    WORKS(svit_pipeline_config_from_json(&back, sizeof back, "{}", err));
    configs_equal(&back, &standard);
    WORKS(svit_pipeline_config_from_json(&back, sizeof back, "{\"mean\":[1,2.5,-3]}", err));
    ck_assert_double_eq(back.mean[1], 2.5);
}
END_TEST

START_TEST(test_a_struct_smaller_than_this_version_is_refused)
{
    svit_pipeline_config config = config_make();
    char text[1024];
    config.struct_size--;
    FAILS(svit_pipeline_config_to_json(&config, text, sizeof text, NULL, err), SVIT_E_ARGUMENT,
          "struct_size");
}
END_TEST

START_TEST(test_json_that_is_no_pipeline_is_refused)
{
    const struct {
        const char *json;
        svit_status status;
        const char *part;
    } cases[] = {
        {"", SVIT_E_FORMAT, "preprocessing"},
        {"[]", SVIT_E_FORMAT, "preprocessing"},
        {"{\"scale\":1", SVIT_E_FORMAT, "preprocessing"},
        {"{\"scale\":1,\"scale\":2}", SVIT_E_FORMAT, "preprocessing"},
        {"{\"sclae\":1}", SVIT_E_ARGUMENT,
         "'sclae' is no field of preprocessing; did you mean 'scale'"},
        {"{\"source_height\":-1}", SVIT_E_ARGUMENT, "source_height is -1"},
        {"{\"source_height\":4294967297}", SVIT_E_ARGUMENT, "source_height is 4294967297"},
        {"{\"source_height\":32.5}", SVIT_E_ARGUMENT, "source_height is not a whole number"},
        {"{\"source_width\":0}", SVIT_E_ARGUMENT, "source_width is 0"},
        {"{\"resize_width\":47}", SVIT_E_ARGUMENT, "resize_width is 47"},
        {"{\"evaluation\":\"cut\"}", SVIT_E_ARGUMENT,
         "'resize' or 'keep' or 'crop' or 'crop-floor'"},
        {"{\"evaluation\":1}", SVIT_E_ARGUMENT, "'resize' or 'keep' or 'crop'"},
        {"{\"filter\":\"nearest\"}", SVIT_E_ARGUMENT, "'bilinear'"},
        {"{\"per_batch\":1}", SVIT_E_ARGUMENT, "true or false"},
        {"{\"scale\":\"1\"}", SVIT_E_ARGUMENT, "scale is not a number"},
        {"{\"mean\":[0,0]}", SVIT_E_ARGUMENT, "3 numbers"},
        {"{\"variance\":[1,1,null]}", SVIT_E_ARGUMENT, "variance is not a number"},
        {"{\"rotation\":[0.1]}", SVIT_E_ARGUMENT, "rotation is not a number"},
        {"{\"zoom\":1}", SVIT_E_ARGUMENT, "zoom is 1"},
    };
    svit_pipeline_config config = config_make();
    const svit_pipeline_config before = config;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FAILS(svit_pipeline_config_from_json(&config, sizeof config, cases[i].json, err),
              cases[i].status, cases[i].part);
        configs_equal(&config, &before);
    }
}
END_TEST

START_TEST(test_every_field_is_checked_and_named)
{
    const double odd[] = {0, -1, NAN, INFINITY};
    svit_pipeline_config good = config_make();
    size_t height, width;
#define REFUSED(field, value, part)                                                                \
    do {                                                                                           \
        svit_pipeline_config bad = good;                                                           \
        bad.field = (value);                                                                       \
        FAILS(svit_pipeline_evaluation_size(&bad, &height, &width, err), SVIT_E_ARGUMENT, part);   \
    } while (0)
    REFUSED(source_height, 0, "source_height is 0");
    REFUSED(source_width, 8193, "source_width is 8193");
    REFUSED(resize_height, 8193, "resize_height is 8193");
    REFUSED(resize_width, 47, "resize_width is 47");
    REFUSED(resize_height, 47, "resize_height is 47");
    REFUSED(output_height, 0, "output_height is 0");
    REFUSED(output_width, 53, "output_width, 53");
    REFUSED(evaluation, 4, "evaluation is 4");
    REFUSED(per_batch, -1, "per_batch is -1");
    REFUSED(flip_probability, 1.5, "flip_probability is 1.5");
    REFUSED(flip_probability, NAN, "flip_probability is");
    REFUSED(mean[1], NAN, "mean[1] is");
    for (size_t i = 0; i < 4; i++) {
        REFUSED(scale, odd[i], "scale is");
        REFUSED(variance[2], odd[i], "variance[2] is");
    }
    for (size_t i = 1; i < 4; i++) {
        REFUSED(rotation, odd[i], "rotation is");
        REFUSED(zoom, odd[i], "zoom is");
    }
    REFUSED(rotation, 1.01, "rotation is 1.01");
    REFUSED(zoom, 1, "zoom is 1");
    REFUSED(struct_size, 4, "struct_size");
#undef REFUSED
}
END_TEST

START_TEST(test_wrong_arguments_of_pipelines_are_named)
{
    svit_context *context = context_open();
    svit_pipeline_config config = config_make();
    static uint8_t rgb[32 * 32 * 3];
    static float out[48 * 48 * 3];
    size_t side = 0;
    const size_t most = (size_t)-1;
    FAILS(svit_pipeline_evaluation_size(NULL, &side, &side, err), SVIT_E_ARGUMENT, "config");
    FAILS(svit_pipeline_evaluation_size(&config, NULL, &side, err), SVIT_E_ARGUMENT, "height");
    FAILS(svit_pipeline_evaluation_size(&config, &side, NULL, err), SVIT_E_ARGUMENT, "width");
    FAILS(svit_pipeline_config_from_json(NULL, sizeof config, "{}", err), SVIT_E_ARGUMENT,
          "config");
    FAILS(svit_pipeline_config_from_json(&config, 2, "{}", err), SVIT_E_ARGUMENT, "size is 2");
    FAILS(svit_pipeline_config_from_json(&config, sizeof config, NULL, err), SVIT_E_ARGUMENT,
          "json");
    FAILS(svit_pipeline_config_to_json(NULL, NULL, 0, &side, err), SVIT_E_ARGUMENT, "config");
    FAILS(svit_pipeline_config_to_json(&config, NULL, 9, &side, err), SVIT_E_ARGUMENT, "buffer");
    FAILS(svit_pipeline_apply_evaluation(NULL, &config, rgb, 1, 32, 32, out, err), SVIT_E_ARGUMENT,
          "context");
    FAILS(svit_pipeline_apply_evaluation(context, NULL, rgb, 1, 32, 32, out, err), SVIT_E_ARGUMENT,
          "config");
    FAILS(svit_pipeline_apply_evaluation(context, &config, NULL, 1, 32, 32, out, err),
          SVIT_E_ARGUMENT, "pixels");
    FAILS(svit_pipeline_apply_evaluation(context, &config, rgb, 0, 32, 32, out, err),
          SVIT_E_ARGUMENT, "n is 0");
    FAILS(svit_pipeline_apply_evaluation(context, &config, rgb, most, 32, 32, out, err),
          SVIT_E_ARGUMENT, "n is");
    FAILS(svit_pipeline_apply_evaluation(context, &config, rgb, 1, 0, 32, out, err),
          SVIT_E_ARGUMENT, "height is 0");
    FAILS(svit_pipeline_apply_evaluation(context, &config, rgb, 1, 32, 16385, out, err),
          SVIT_E_ARGUMENT, "width is 16385");
    FAILS(svit_pipeline_apply_evaluation(context, &config, rgb, 1, 32, 32, NULL, err),
          SVIT_E_ARGUMENT, "out");
    WORKS(svit_pipeline_apply_evaluation(context, &config, rgb, 1, 32, 32, out, err));
    svit_context_free(context);
}
END_TEST

static Suite *pipeline_suite(void)
{
    Suite *suite = suite_create("data_pipeline");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, test_default_is_that_of_the_keras_example);
    tcase_add_loop_test(cases, test_evaluation_is_nearest_then_bilinear_twice, 0, SIZE_CASES);
    tcase_add_loop_test(cases, test_training_is_a_crop_and_a_mirror_of_the_resized_image, 0,
                        SIZE_CASES);
    tcase_add_loop_test(cases, test_training_rotates_then_zooms_the_cropped_image, 0,
                        SIZE_CASES * AFFINE_CASES);
    tcase_add_loop_test(cases, test_rotation_and_zoom_are_drawn_apart_from_crop_and_mirror, 0, 2);
    tcase_add_test(cases, test_rotation_and_zoom_are_uniform_in_their_range);
    tcase_add_test(cases, test_draws_are_uniform_and_a_function_of_their_numbers);
    tcase_add_test(cases, test_json_gives_back_every_field);
    tcase_add_test(cases, test_a_struct_smaller_than_this_version_is_refused);
    tcase_add_test(cases, test_json_that_is_no_pipeline_is_refused);
    tcase_add_test(cases, test_every_field_is_checked_and_named);
    tcase_add_test(cases, test_wrong_arguments_of_pipelines_are_named);
    suite_add_tcase(suite, cases);
    return suite;
}

TEST_MAIN(pipeline_suite)
