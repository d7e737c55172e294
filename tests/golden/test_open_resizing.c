/* The preprocessing that files of timm and OpenCLIP describe. What they leave out has the defaults
 * of timm 1.0 and open_clip 3.3. */
#include "open_pipeline.h"
#include "suite.h"

/* timm and OpenCLIP leave out what is usual among their models. */
START_TEST(test_timm_and_openclip_have_their_defaults)
{
    static const double imagenet[2][3] = {IMAGENET}, openai[2][3] = {OPENAI};
    svit_pipeline_config pipeline;
    open_case all, *self = &all;
    case_begin(self, "pretrained_timm_dinov2");
    case_weights(self, "");
    case_text(self, "config.json",
              "{\"architecture\":\"vit_small_patch14_dinov2\",\"model_args\":{\"num_heads\":4},"
              "\"pretrained_cfg\":{\"input_size\":[3,42,28]}}");
    pipeline_of(&pipeline, self, "{\"input_height\":42,\"input_width\":42}");
    ck_assert_int_eq(pipeline.source_filter, SVIT_SOURCE_BICUBIC);
    ck_assert_uint_eq(pipeline.source_height, 48); /* 42 / 0.875 */
    check_colours(&pipeline, imagenet[0], imagenet[1]);
    case_end(self);
    for (size_t i = 0; i < 3; i++) {
        static const char *const ends[] = {",\"preprocess_cfg\":{}}", ",\"preprocess_cfg\":null}",
                                           "}"};
        char text[200];
        case_begin(self, "pretrained_openclip");
        case_weights(self, "");
        snprintf(text, sizeof text,
                 "{\"model_cfg\":{\"embed_dim\":10,\"quick_gelu\":true,\"vision_cfg\":"
                 "{\"head_width\":10,\"width\":40,\"image_size\":32}}%s",
                 ends[i]);
        case_text(self, "open_clip_config.json", text);
        pipeline_of(&pipeline, self, NULL);
        ck_assert_int_eq(pipeline.source_filter, SVIT_SOURCE_BICUBIC);
        ck_assert_uint_eq(pipeline.source_height, 32);
        ck_assert_int_eq(pipeline.evaluation, SVIT_EVALUATE_CROP);
        check_colours(&pipeline, openai[0], openai[1]);
        case_end(self);
    }
}
END_TEST

/* OpenCLIP's words for the interpolation; "random" is of the training. A word that it does not know
 * leaves the model without a pipeline. */
START_TEST(test_words_of_openclip_for_the_interpolation)
{
    static const struct word {
        const char *text;
        int32_t filter; /* -1: no pipeline */
    } words[] = {{"bicubic", SVIT_SOURCE_BICUBIC},
                 {"random", SVIT_SOURCE_BICUBIC},
                 {"bilinear", SVIT_SOURCE_SHORTER_SIDE},
                 {"nearest", -1}};
    char text[300];
    svit_model *model = NULL;
    svit_pipeline_config pipeline;
    open_case all, *self = &all;
    case_begin(self, "pretrained_openclip");
    case_weights(self, "");
    snprintf(
        text, sizeof text,
        "{\"model_cfg\":{\"embed_dim\":10,\"quick_gelu\":true,\"vision_cfg\":{\"head_width\":10,"
        "\"width\":40,\"image_size\":32}},\"preprocess_cfg\":{\"interpolation\":\"%s\"}}",
        words[_i].text);
    case_text(self, "open_clip_config.json", text);
    WORKS(case_open(self, &model, NULL));
    const svit_status status = svit_model_get_pipeline(model, &pipeline, sizeof pipeline, NULL);
    ck_assert_int_eq(status, words[_i].filter < 0 ? SVIT_E_STATE : SVIT_OK);
    if (status == SVIT_OK)
        ck_assert_int_eq(pipeline.source_filter, words[_i].filter);
    svit_model_free(model);
    case_end(self);
}
END_TEST

/* Requires that fine-tuning takes these colours, of which the first mean and the last deviation are
 * given, and brings whole images to the size of the input. */
static void check_fine_tuning(const svit_model *model, double mean, double deviation)
{
    svit_pipeline_config pipeline;
    svit_model_config config;
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    WORKS(svit_fine_tuning_settings(model, 100, NULL, 0, NULL, 0, &pipeline, sizeof pipeline, err));
    ck_assert_uint_eq(pipeline.source_height, config.input_height);
    ck_assert_uint_eq(pipeline.output_width, config.input_width);
    ck_assert_double_eq(pipeline.mean[0], mean);
    ck_assert_double_eq(pipeline.variance[2], deviation * deviation);
    ck_assert_double_eq(pipeline.scale, 1.0 / 255);
}

/* A pipeline that comes and goes takes the colours of the pretraining with it. */
static void check_forgotten(svit_model *model)
{
    svit_pipeline_config pipeline;
    WORKS(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    pipeline.mean[0] = 0.25;
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    WORKS(svit_model_set_pipeline(model, NULL, err));
    check_fine_tuning(model, 0.5, 0.5);
}

/* Where one scale of both axes fills an input that is no square, timm and OpenCLIP round the longer
 * side of the image to the nearest pixel, and OpenCLIP forgets its interpolation. For a square they
 * round down. */
START_TEST(test_inputs_that_are_no_squares)
{
    static const char oblong[] = "{\"input_height\":32,\"input_width\":40}",
                      square[] = "{\"input_height\":32,\"input_width\":32}";
    static const char timm[] = "{\"architecture\":\"vit_small_patch14_dinov2\",\"model_args\":"
                               "{\"num_heads\":4},\"pretrained_cfg\":{%s}}";
    static const char openclip[] =
        "{\"model_cfg\":{\"embed_dim\":10,\"quick_gelu\":true,\"vision_cfg\":{\"head_width\":10,"
        "\"width\":40,\"image_size\":32}},\"preprocess_cfg\":{%s}}";
    static const struct {
        const char *golden, *file, *text, *members, *fields;
        int32_t filter;         /* -1: no pipeline */
        uint32_t height, width; /* of the resized image */
    } cases[] = {
        {"pretrained_timm_dinov2", "config.json", timm, "\"input_size\":[3,42,28]", NULL,
         SVIT_SOURCE_KEEP_RATIO_BICUBIC, 48, 32},
        {"pretrained_timm_dinov2", "config.json", timm,
         "\"input_size\":[3,42,28],\"crop_mode\":\"center\",\"crop_pct\":1", NULL,
         SVIT_SOURCE_KEEP_RATIO_BICUBIC, 42, 28},
        {"pretrained_timm_dinov2", "config.json", timm,
         "\"input_size\":[3,42,28],\"interpolation\":\"bilinear\"", NULL, SVIT_SOURCE_KEEP_RATIO,
         48, 32},
        {"pretrained_timm_dinov2", "config.json", timm,
         "\"input_size\":[3,42,28],\"crop_mode\":\"squash\"", NULL, SVIT_SOURCE_SQUASH_BICUBIC, 48,
         32},
        {"pretrained_timm_dinov2", "config.json", timm,
         "\"input_size\":[3,42,28],\"crop_mode\":\"border\"", NULL, -1, 0, 0},
        {"pretrained_openclip", "open_clip_config.json", openclip,
         "\"resize_mode\":\"shortest\",\"interpolation\":\"bilinear\"", oblong,
         SVIT_SOURCE_KEEP_RATIO_BICUBIC, 32, 40},
        {"pretrained_openclip", "open_clip_config.json", openclip, "\"resize_mode\":\"squash\"",
         oblong, SVIT_SOURCE_SQUASH_BICUBIC, 32, 40},
        {"pretrained_openclip", "open_clip_config.json", openclip, "\"resize_mode\":\"shortest\"",
         square, SVIT_SOURCE_BICUBIC, 32, 32},
        {"pretrained_openclip", "open_clip_config.json", openclip, "\"resize_mode\":\"longest\"",
         oblong, -1, 0, 0},
    };
    open_case all, *self = &all;
    svit_pipeline_config pipeline;
    svit_model *model = NULL;
    char text[400];
    case_begin(self, cases[_i].golden);
    case_weights(self, "");
    snprintf(text, sizeof text, cases[_i].text, cases[_i].members);
    case_text(self, cases[_i].file, text);
    WORKS(case_open(self, &model, cases[_i].fields));
    const svit_status status = svit_model_get_pipeline(model, &pipeline, sizeof pipeline, NULL);
    ck_assert_int_eq(status, cases[_i].filter < 0 ? SVIT_E_STATE : SVIT_OK);
    if (status == SVIT_OK) {
        ck_assert_int_eq(pipeline.source_filter, cases[_i].filter);
        ck_assert_uint_eq(pipeline.source_height, cases[_i].height);
        ck_assert_uint_eq(pipeline.source_width, cases[_i].width);
    } else {
        ck_assert_msg(strstr(self->warning, "but its mean and deviation"), "%s", self->warning);
        check_fine_tuning(model, strstr(cases[_i].golden, "timm") ? 0.485 : 0.48145466,
                          strstr(cases[_i].golden, "timm") ? 0.225 : 0.27577711);
        check_forgotten(model);
    }
    svit_model_free(model);
    case_end(self);
}
END_TEST

static Suite *open_resizing_suite(void)
{
    Suite *suite = suite_create("open_resizing");
    TCase *tcase = tcase_create("open");
    tcase_add_test(tcase, test_timm_and_openclip_have_their_defaults);
    tcase_add_loop_test(tcase, test_words_of_openclip_for_the_interpolation, 0, 4);
    tcase_add_loop_test(tcase, test_inputs_that_are_no_squares, 0, 9);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(open_resizing_suite)
