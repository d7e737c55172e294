/* Compares the evaluation of ImageNet (shorter side, bicubic, antialiased, centre crop) with
 * torchvision on images of Pillow: the bytes are equal. */
#include "fit.h"
#include "golden.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static sv_safetensors *file;
static svit_context *context;

static void setup(void)
{
    file = golden_open("augment");
    context = fit_context(1);
}

static void teardown(void)
{
    svit_context_free(context);
    sv_safetensors_close(file);
}

static int64_t clip(int64_t value)
{
    return value < 0 ? 0 : value > 255 ? 255 : value;
}

/* The image that the golden file's formula gives. */
static uint8_t *make_image(int64_t height, int64_t width, int64_t k)
{
    uint8_t *rgb = malloc((size_t)(height * width * 3));
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++)
            for (int64_t c = 0; c < 3; c++) {
                int64_t u = x + k;
                int64_t t = (u * (3 + c) + y * (5 - c)) % 512, triangle = t < 256 ? t : 511 - t;
                int64_t value = 3 * triangle / 4 + 60 * ((u / 7 + y / 5) % 2) +
                                (3 * u * u + 7 * y * y + (c + 1) * u * y) / 16 % 32 - 20;
                rgb[(y * width + x) * 3 + c] = (uint8_t)clip(value);
            }
    return rgb;
}

static uint64_t fnv1a(const uint8_t *data, size_t bytes)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ data[i]) * 0x100000001B3u;
    return hash;
}

/* The metadata of the golden file: hashes of input and output. */
static const struct {
    int image;
    uint32_t shorter, crop;
    uint64_t in, out;
} CASES[] = {
    {0, 40, 35, 0xd32d03fa22fe9c7f, 0x84bfffa3a4e1c42a},
    {0, 256, 224, 0xd32d03fa22fe9c7f, 0xbfe123f74033f7dd},
    {1, 40, 35, 0x565ade94766bd78d, 0x722f134ae1e34105},
    {1, 256, 224, 0x565ade94766bd78d, 0xb4b04c5a8df2af1c},
};

static svit_pipeline_config pipeline_of(uint32_t shorter, uint32_t crop)
{
    svit_pipeline_config pipeline;
    ck_assert_int_eq(svit_pipeline_config_init(&pipeline, sizeof pipeline), SVIT_OK);
    pipeline.source_height = pipeline.source_width = shorter;
    pipeline.resize_height = pipeline.resize_width = shorter;
    pipeline.output_height = pipeline.output_width = crop;
    pipeline.source_filter = SVIT_SOURCE_BICUBIC;
    pipeline.evaluation = SVIT_EVALUATE_CROP;
    pipeline.scale = 1;
    return pipeline;
}

static void to_bytes(uint8_t *out, const float *values, size_t elements)
{
    for (size_t i = 0; i < elements; i++) {
        out[i] = (uint8_t)values[i];
        ck_assert(out[i] == values[i]);
    }
}

/* A part of the result is in the file, which shows where a wrong hash comes from. */
static void check_parts(int image, uint32_t crop, const uint8_t *bytes)
{
    char name[64];
    size_t step = crop == 35 ? 1 : 16;
    snprintf(name, sizeof name, crop == 35 ? "eval.40.35.out%d" : "eval.256.224.every16th%d",
             image);
    const sv_safetensors_entry *entry = sv_safetensors_find(file, name);
    uint8_t wanted[35 * 35 * 3];
    ck_assert_uint_le(entry->bytes, sizeof wanted);
    WORKS(sv_safetensors_read_bytes(file, entry, wanted, err));
    const uint8_t *at = wanted;
    for (size_t y = 0; y < crop; y += step)
        for (size_t x = 0; x < crop; x += step)
            for (size_t c = 0; c < 3; c++, at++)
                ck_assert_msg(*at == bytes[(y * crop + x) * 3 + c],
                              "%s at %zu, %zu, %zu: %d, not %d", name, y, x, c,
                              bytes[(y * crop + x) * 3 + c], *at);
}

/* The image goes through the whole pipeline at once, and through a dataset's source step and a
 * loader's pipeline: both give the bytes. */
START_TEST(test_bytes)
{
    const uint32_t crop = CASES[_i].crop, shorter = CASES[_i].shorter;
    int32_t *shapes = golden_labels(file, "eval.shapes", NULL);
    const int32_t *shape = shapes + 3 * CASES[_i].image;
    size_t height = (size_t)shape[0], width = (size_t)shape[1], elements = (size_t)crop * crop * 3;
    uint8_t *image = make_image(shape[0], shape[1], shape[2]);
    ck_assert_uint_eq(fnv1a(image, height * width * 3), CASES[_i].in);
    svit_pipeline_config pipeline = pipeline_of(shorter, crop);
    float *values = malloc(elements * sizeof *values);
    uint8_t *bytes = malloc(elements), *source = malloc((size_t)shorter * shorter * 3);
    WORKS(svit_pipeline_apply_evaluation(context, &pipeline, image, 1, height, width, values, err));
    to_bytes(bytes, values, elements);
    check_parts(CASES[_i].image, crop, bytes);
    ck_assert_uint_eq(fnv1a(bytes, elements), CASES[_i].out);
    WORKS(svit_pipeline_apply_source(context, &pipeline, image, height, width, source, err));
    WORKS(svit_pipeline_apply_evaluation(context, &pipeline, source, 1, shorter, shorter, values,
                                         err));
    to_bytes(bytes, values, elements);
    ck_assert_uint_eq(fnv1a(bytes, elements), CASES[_i].out);
    free(source);
    free(bytes);
    free(values);
    free(image);
    golden_free(shapes);
}
END_TEST

/* With ImageNet's mean and deviation. */
START_TEST(test_normalised_values)
{
    static const double deviation[] = {0.229, 0.224, 0.225}, mean[] = {0.485, 0.456, 0.406};
    float *wanted = golden_floats(file, "eval.40.35.normalized0", NULL), values[35 * 35 * 3];
    svit_pipeline_config pipeline = pipeline_of(40, 35);
    pipeline.scale = 1.0 / 255;
    for (int c = 0; c < 3; c++) {
        pipeline.mean[c] = mean[c];
        pipeline.variance[c] = deviation[c] * deviation[c];
    }
    uint8_t *image = make_image(300, 400, 0);
    WORKS(svit_pipeline_apply_evaluation(context, &pipeline, image, 1, 300, 400, values, err));
    ck_assert_double_le(golden_difference(values, wanted, 35 * 35 * 3), 1e-6);
    free(image);
    golden_free(wanted);
}
END_TEST

/* The presets of ImageNet evaluate in this way. */
START_TEST(test_preset)
{
    svit_pipeline_config pipeline;
    WORKS(svit_training_preset("shiftvit-t", NULL, 0, NULL, 0, &pipeline, sizeof pipeline, err));
    ck_assert_uint_eq(pipeline.source_height, 256);
    ck_assert_uint_eq(pipeline.output_height, 224);
    ck_assert_int_eq(pipeline.source_filter, SVIT_SOURCE_BICUBIC);
    ck_assert_int_eq(pipeline.evaluation, SVIT_EVALUATE_CROP);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("evaluation_golden");
    TCase *c = tcase_create("evaluation_golden");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_bytes, 0, sizeof CASES / sizeof *CASES);
    tcase_add_test(c, test_normalised_values);
    tcase_add_test(c, test_preset);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
