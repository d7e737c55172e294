/* Checkpoints whose images are no whole number of patches, such as SigLIP's of 384 pixels with
 * patches of 14: as by timm, transformers and OpenCLIP the image has the stated size, and no patch
 * reads what lies behind the last whole one. */
#include "open_pipeline.h"
#include "suite.h"

#define VIT                                                                                        \
    "\"model_type\":\"vit\",\"num_attention_heads\":2,\"patch_size\":7,"                           \
    "\"architectures\":[\"ViTForImageClassification\"]"

enum { SIDE = 28, WIDE = 31, IMAGES = 2, MOST = 64 };

static const struct {
    const char *golden, *config, *preprocessor;
    uint32_t source; /* of the pipeline */
    int32_t filter;
} SIDES[] = {
    {"pretrained_hf_vit", "{" VIT ",\"image_size\":31}",
     "{\"image_processor_type\":\"ViTImageProcessor\",\"size\":{\"height\":31,\"width\":31}}", WIDE,
     SVIT_SOURCE_SQUASH},
    {"pretrained_hf_vit", "{" VIT ",\"image_size\":28}",
     "{\"image_processor_type\":\"DeiTImageProcessor\",\"size\":36,\"crop_size\":31}", 36,
     SVIT_SOURCE_SQUASH_BICUBIC},
    {"pretrained_hf_vit",
     "{\"architecture\":\"vit_tiny_patch16_224\",\"num_classes\":7,\"model_args\":{\"num_heads\":2}"
     ","
     "\"pretrained_cfg\":{\"input_size\":[3,31,31],\"crop_pct\":0.9,\"interpolation\":\"bicubic\"}"
     "}",
     NULL, 34, SVIT_SOURCE_BICUBIC},
};
enum { SIDE_COUNT = sizeof SIDES / sizeof *SIDES };

static void logits_of(svit_model *model, const float *images, float *logits)
{
    svit_session_config config;
    svit_session *session = NULL;
    svit_session_config_init(&config, sizeof config);
    config.max_batch = IMAGES;
    WORKS(svit_session_create(&session, model, &config, err));
    WORKS(svit_forward(session, images, IMAGES, logits, err));
    svit_session_free(session);
}

/* The golden input, and the same within larger images whose other pixels are large. */
static void fill(const open_case *self, float *small, float *large)
{
    float *input = golden_floats(self->golden, "input", NULL);
    memcpy(small, input, IMAGES * SIDE * SIDE * 3 * sizeof *small);
    golden_free(input);
    for (size_t i = 0; i < IMAGES * WIDE * WIDE * 3; i++)
        large[i] = 1e3f;
    for (size_t row = 0; row < IMAGES * SIDE; row++)
        memcpy(large + (row / SIDE * WIDE + row % SIDE) * WIDE * 3, small + row * SIDE * 3,
               SIDE * 3 * sizeof *small);
}

START_TEST(test_the_image_has_the_stated_size)
{
    static float small[IMAGES * SIDE * SIDE * 3], large[IMAGES * WIDE * WIDE * 3];
    open_case all, *self = &all;
    svit_model *model = NULL, *whole = NULL;
    svit_model_config config;
    svit_pipeline_config pipeline;
    float logits[MOST], wanted[MOST];
    case_begin(self, SIDES[_i].golden);
    case_weights(self, "");
    case_text(self, "config.json", SIDES[_i].config);
    if (SIDES[_i].preprocessor)
        case_text(self, "preprocessor_config.json", SIDES[_i].preprocessor);
    WORKS(case_open(self, &model, NULL));
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    ck_assert_uint_eq(config.input_height, WIDE);
    ck_assert_uint_eq(config.input_width, WIDE);
    ck_assert_int_eq(config.patch_padding, SVIT_PADDING_VALID);
    WORKS(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, err));
    ck_assert_uint_eq(pipeline.output_height, WIDE);
    ck_assert_uint_eq(pipeline.source_height, SIDES[_i].source);
    ck_assert_int_eq(pipeline.source_filter, SIDES[_i].filter);
    WORKS(case_open(self, &whole, "{\"input_height\":28,\"input_width\":28}"));
    fill(self, small, large);
    logits_of(model, large, logits);
    logits_of(whole, small, wanted);
    ck_assert_mem_eq(logits, wanted, IMAGES * config.num_classes * sizeof *logits);
    svit_model_free(whole);
    svit_model_free(model);
    case_end(self);
}
END_TEST

static Suite *open_sides_suite(void)
{
    Suite *suite = suite_create("open_sides");
    TCase *tcase = tcase_create("open");
    tcase_add_loop_test(tcase, test_the_image_has_the_stated_size, 0, SIDE_COUNT);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(open_sides_suite)
