/* Checkpoints whose images are no whole number of patches, such as SigLIP's of 384 pixels with
 * patches of 14: as by timm, transformers and OpenCLIP the image has the stated size, and no patch
 * reads what lies behind the last whole one. */
#include "open_pipeline.h"
#include "suite.h"

#define VIT                                                                                        \
    "\"model_type\":\"vit\",\"num_attention_heads\":2,\"patch_size\":7,"                           \
    "\"architectures\":[\"ViTForImageClassification\"]"

enum { IMAGES = 2, MOST_PIXELS = 40 * 40, MOST_LOGITS = 64 };

static const struct {
    const char *golden, *config, *preprocessor;
    size_t height, width; /* of the golden images, which are whole patches */
    uint32_t high, wide;  /* of the stated ones */
    uint32_t source_high; /* of the pipeline */
    int32_t filter;
} SIDES[] = {
    {"pretrained_hf_vit", "{" VIT ",\"image_size\":31}",
     "{\"image_processor_type\":\"ViTImageProcessor\",\"size\":{\"height\":31,\"width\":31}}", 28,
     28, 31, 31, 31, SVIT_SOURCE_SQUASH},
    {"pretrained_hf_vit", "{" VIT ",\"image_size\":28}",
     "{\"image_processor_type\":\"DeiTImageProcessor\",\"size\":36,\"crop_size\":31}", 28, 28, 31,
     31, 36, SVIT_SOURCE_SQUASH_BICUBIC},
    /* The resize is that of all 30 x 39 pixels, not of the 28 x 35 that patches read. */
    {"pretrained_timm_plain",
     "{\"architecture\":\"vit_tiny_patch16_224\",\"global_pool\":\"token\",\"model_args\":"
     "{\"img_size\":[30,39],\"num_heads\":2,\"patch_size\":7},\"pretrained_cfg\":"
     "{\"input_size\":[3,30,39],\"crop_pct\":0.9,\"interpolation\":\"bicubic\"}}",
     NULL, 28, 35, 30, 39, 33, SVIT_SOURCE_KEEP_RATIO_BICUBIC},
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

/* The golden input, within larger images whose other pixels are large. */
static void fill(const open_case *self, size_t side, float *large)
{
    const size_t height = SIDES[side].height, row = SIDES[side].width * 3;
    const size_t high = SIDES[side].high, wide_row = (size_t)SIDES[side].wide * 3;
    float *input = golden_floats(self->golden, "input", NULL);
    for (size_t i = 0; i < IMAGES * high * wide_row; i++)
        large[i] = 1e3f;
    for (size_t i = 0; i < IMAGES * height; i++)
        memcpy(large + (i / height * high + i % height) * wide_row, input + i * row,
               row * sizeof *large);
    golden_free(input);
}

static void check_pipeline(const svit_model *model, size_t side)
{
    svit_pipeline_config pipeline;
    WORKS(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, err));
    ck_assert_uint_eq(pipeline.output_height, SIDES[side].high);
    ck_assert_uint_eq(pipeline.source_height, SIDES[side].source_high);
    ck_assert_int_eq(pipeline.source_filter, SIDES[side].filter);
}

START_TEST(test_the_image_has_the_stated_size)
{
    static float large[IMAGES * MOST_PIXELS * 3];
    open_case all, *self = &all;
    svit_model *model = NULL;
    svit_model_config config;
    float logits[MOST_LOGITS];
    size_t elements;
    case_begin(self, SIDES[_i].golden);
    case_weights(self, "");
    case_text(self, "config.json", SIDES[_i].config);
    if (SIDES[_i].preprocessor)
        case_text(self, "preprocessor_config.json", SIDES[_i].preprocessor);
    ck_assert_msg(case_open(self, &model, NULL) == SVIT_OK, "%s", self->err.message);
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    ck_assert_uint_eq(config.input_height, SIDES[_i].high);
    ck_assert_uint_eq(config.input_width, SIDES[_i].wide);
    ck_assert_int_eq(config.patch_padding, SVIT_PADDING_VALID);
    check_pipeline(model, (size_t)_i);
    fill(self, (size_t)_i, large);
    logits_of(model, large, logits);
    float *wanted = golden_floats(self->golden, "logits", &elements);
    ck_assert_double_le(golden_difference(logits, wanted, elements),
                        1e-5 * golden_largest(wanted, elements));
    golden_free(wanted);
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
