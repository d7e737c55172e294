/* The preprocessing that files of transformers describe, and members that no tool reads. */
#include "open_pipeline.h"
#include "suite.h"

#define VIT_MEMBERS                                                                                \
    "\"model_type\":\"vit\",\"num_attention_heads\":2,\"patch_size\":7,"                           \
    "\"architectures\":[\"ViTForImageClassification\"]"
static const char VIT[] = "{" VIT_MEMBERS "}", VIT_28[] = "{" VIT_MEMBERS ",\"image_size\":28}";

static void case_vit(open_case *self)
{
    case_begin(self, "pretrained_hf_vit");
    case_weights(self, "");
    case_text(self, "config.json", VIT);
}

/* What the file says counts, and the model's type where it names no class. */
START_TEST(test_what_files_say_counts)
{
    static const double zero[] = {0, 0, 0}, one[] = {1, 1, 1}, given[] = {0.1, 0.2, 0.3};
    svit_pipeline_config pipeline;
    open_case all, *self = &all;
    case_vit(self);
    case_text(self, "preprocessor_config.json",
              "{\"image_processor_type\":\"ViTImageProcessor\",\"size\":28,\"resample\":3,"
              "\"image_mean\":[0.1,0.2,0.3],\"image_std\":[0.1,0.2,0.3]}");
    pipeline_of(&pipeline, self, NULL);
    ck_assert_int_eq(pipeline.source_filter, SVIT_SOURCE_SQUASH_BICUBIC);
    check_colours(&pipeline, given, given);
    case_text(self, "preprocessor_config.json", "{\"size\":28,\"do_normalize\":false}");
    pipeline_of(&pipeline, self, NULL);
    ck_assert_int_eq(pipeline.source_filter, SVIT_SOURCE_SQUASH);
    check_colours(&pipeline, zero, one);
    case_text(self, "preprocessor_config.json", "{\"size\":28,\"default_to_square\":false}");
    pipeline_of(&pipeline, self, NULL);
    ck_assert_int_eq(pipeline.source_filter, SVIT_SOURCE_SHORTER_SIDE);
    case_end(self);
}
END_TEST

/* A processor that is named and not known may read the same members otherwise, and without one they
 * have no defaults. */
START_TEST(test_what_is_not_known_is_no_pipeline)
{
    static const char facts[] = "{\"heads\":2,\"norm_eps\":1e-12,\"activation\":\"gelu\","
                                "\"pool\":\"class_token\"}";
    static const char *const texts[][2] = {
        {"\"image_processor_type\":\"ViTX\",\"size\":28,\"resample\":2,\"do_normalize\":false",
         "the image processor 'ViTX' is not known"},
        {"\"size\":28,\"image_mean\":[0,0,0],\"image_std\":[1,1,1]",
         "neither its image processor nor resample"},
        {"\"size\":28,\"resample\":1", "resample is neither 2"},
        {"\"size\":28,\"resample\":\"bicubic\"", "resample is no number"},
        {"\"size\":28,\"resample\":2,\"image_std\":[1,1,1]", "neither its image processor nor"},
        {"\"size\":28,\"resample\":2,\"image_mean\":[0,0,0]", "neither its image processor nor"},
        {"\"size\":28,\"resample\":2,\"image_mean\":[0,0,0],\"image_std\":null",
         "neither its image processor nor"},
        {"\"size\":{\"longest_edge\":28},\"resample\":2", "size has neither shortest_edge"},
        {"\"size\":{\"shortest_edge\":28,\"longest_edge\":40},\"resample\":2",
         "size has neither shortest_edge"},
        {"\"size\":{\"shortest_edge\":28,\"height\":28,\"width\":28},\"resample\":2",
         "size has neither shortest_edge"},
        {"\"size\":{\"height\":28,\"width\":28,\"max_width\":28},\"resample\":2",
         "size has neither shortest_edge"},
        {"\"size\":{\"min_pixels\":28,\"max_pixels\":784},\"resample\":2",
         "size has neither shortest_edge"},
        {"\"size\":{\"height\":28},\"resample\":2", "size has neither shortest_edge"},
        {"\"size\":[28,28,28],\"resample\":2", "size has neither shortest_edge"},
        {"\"size\":[28],\"resample\":2", "size has neither shortest_edge"},
        {"\"size\":{},\"resample\":2", "size has neither shortest_edge"},
        {"\"resample\":2", "size has neither shortest_edge"},
        {"\"size\":{\"shortest_edge\":28.5},\"resample\":2", "size is not of 1 to 8192"},
        {"\"size\":9000,\"resample\":2", "size is not of 1 to 8192"},
        {"\"size\":28,\"resample\":2,\"do_center_crop\":true", "crop_size is not 1 to 8192"},
        {"\"size\":28,\"resample\":2,\"do_center_crop\":1", "do_center_crop is neither"},
        {"\"size\":28,\"resample\":2,\"crop_size\":{\"shortest_edge\":28}",
         "crop_size is neither a number"},
        {"\"size\":28,\"resample\":2,\"crop_size\":{\"height\":28,\"width\":28,\"max_width\":9}",
         "crop_size is neither a number"},
        {"\"size\":28,\"resample\":2,\"crop_size\":35", "crop_size is larger than size"},
        {"\"size\":28,\"resample\":2,\"do_resize\":false", "do_resize is false"},
        {"\"size\":28,\"resample\":2,\"do_flip_channel_order\":true",
         "do_flip_channel_order is true"},
        {"\"size\":28,\"resample\":2,\"rescale_offset\":true", "rescale_offset is true"},
        {"\"size\":28,\"resample\":2,\"do_resize\":0", "do_resize is neither true nor false"},
        {"\"size\":28,\"resample\":2,\"use_square_size\":true", "use_square_size is true"},
        {"\"size\":28,\"resample\":2,\"do_rescale\":\"no\"", "do_rescale is neither true nor"},
        {"\"size\":28,\"resample\":2,\"rescale_factor\":\"1/255\"", "rescale_factor is no number"},
        {"\"size\":28,\"resample\":2,\"do_normalize\":1", "do_normalize is neither true nor"},
        {"\"size\":28,\"resample\":2,\"default_to_square\":1", "default_to_square is neither"},
    };
    open_case all, *self = &all;
    svit_pipeline_config pipeline;
    svit_model *model = NULL;
    char text[300];
    case_begin(self, "pretrained_hf_vit");
    case_weights(self, "");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        snprintf(text, sizeof text, "{%s}", texts[i][0]);
        case_text(self, "preprocessor_config.json", text);
        self->warning[0] = '\0';
        WORKS(case_open(self, &model, facts));
        FAILS(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, err), SVIT_E_STATE,
              "pipeline");
        ck_assert_msg(strstr(self->warning, texts[i][1]) != NULL, "'%s' is not in '%s'",
                      texts[i][1], self->warning);
        svit_model_free(model);
    }
    case_text(self, "preprocessor_config.json",
              "{\"size\":{\"shortest_edge\":28,\"longest_edge\":null},\"resample\":2,"
              "\"do_normalize\":false}");
    pipeline_of(&pipeline, self, facts);
    ck_assert_int_eq(pipeline.source_filter, SVIT_SOURCE_SHORTER_SIDE);
    case_end(self);
}
END_TEST

/* Colours and words that no pipeline has: the model was refused with them, and of a negative
 * deviation the square was taken. */
START_TEST(test_values_that_are_none_are_no_pipeline)
{
    static const char timm[] = "{\"architecture\":\"vit_tiny_patch16_224\",\"model_args\":"
                               "{\"num_heads\":2,\"img_size\":[28,35]},\"pretrained_cfg\":{%s}}";
    static const char openclip[] =
        "{\"model_cfg\":{\"embed_dim\":10,\"quick_gelu\":true,\"vision_cfg\":{\"head_width\":10,"
        "\"width\":40,\"image_size\":32}},\"preprocess_cfg\":{%s}}";
    static const char huggingface[] = "{\"image_processor_type\":\"ViTImageProcessor\",%s}";
    static const struct {
        const char *golden, *file, *text, *colours, *part;
    } cases[] = {
        {"pretrained_hf_vit", "preprocessor_config.json", huggingface,
         "\"size\":28,\"image_std\":[0,0.5,0.5]", "variance[0] is 0"},
        {"pretrained_hf_vit", "preprocessor_config.json", huggingface,
         "\"size\":28,\"image_std\":[0.5,0.5,-0.5]", "variance[2] is -0.25"},
        {"pretrained_hf_vit", "preprocessor_config.json", huggingface,
         "\"size\":28,\"rescale_factor\":-1", "scale is -1"},
        {"pretrained_hf_vit", "preprocessor_config.json", huggingface,
         "\"size\":28,\"image_mean\":[0,1e300,0]", "mean[1] 1e+300"},
        {"pretrained_timm_plain", "config.json", timm, "\"crop_mode\":\"squash\",\"std\":[0,0,0]",
         "variance[0] is 0"},
        {"pretrained_openclip", "open_clip_config.json", openclip, "\"std\":[1,0,1]",
         "variance[1] is 0"},
        {"pretrained_hf_vit", "preprocessor_config.json", huggingface,
         "\"size\":28,\"image_mean\":\"grey\"", "neither a number nor a list of one"},
        {"pretrained_hf_vit", "preprocessor_config.json", huggingface,
         "\"size\":28,\"image_mean\":[]", "neither a number nor a list of one"},
        {"pretrained_hf_vit", "preprocessor_config.json", huggingface,
         "\"size\":28,\"image_std\":[0.5,0.4]", "neither a number nor a list of one"},
        {"pretrained_hf_vit", "preprocessor_config.json", huggingface,
         "\"size\":28,\"image_std\":[1,1,1,1,1]", "neither a number nor a list of one"},
        {"pretrained_timm_plain", "config.json", timm,
         "\"crop_mode\":\"squash\",\"mean\":[\"a\",0,0]", "neither a number nor a list of one"},
        {"pretrained_openclip", "open_clip_config.json", openclip, "\"mean\":{\"a\":1}",
         "neither a number nor a list of one"},
        {"pretrained_timm_plain", "config.json", timm, "\"crop_pct\":\"0.9\"",
         "crop_pct is no number"},
        {"pretrained_timm_plain", "config.json", timm, "\"interpolation\":3",
         "interpolation is no text"},
        {"pretrained_timm_plain", "config.json", timm, "\"crop_mode\":[]", "crop_mode is no text"},
        {"pretrained_openclip", "open_clip_config.json", openclip, "\"interpolation\":3",
         "interpolation is no text"},
        {"pretrained_openclip", "open_clip_config.json", openclip, "\"resize_mode\":1",
         "resize_mode is no text"},
        {"pretrained_openclip", "open_clip_config.json", openclip, "\"mode\":\"L\"",
         "mode is not 'RGB'"},
        {"pretrained_timm_plain", "config.json",
         "{\"architecture\":\"vit_tiny_patch16_224\",\"model_args\":{\"num_heads\":2,\"img_size\":"
         "[28,35]},\"pretrained_cfg\":%s}",
         "[1]", "pretrained_cfg: it is no object"},
        {"pretrained_openclip", "open_clip_config.json",
         "{\"model_cfg\":{\"embed_dim\":10,\"quick_gelu\":true,\"vision_cfg\":{\"head_width\":10,"
         "\"width\":40,\"image_size\":32}},\"preprocess_cfg\":%s}",
         "true", "preprocess_cfg: it is no object"},
        {"pretrained_hf_vit", "processor_config.json", "{\"image_processor\":%s}", "\"ViT\"",
         "image_processor is no object"},
    };
    open_case all, *self = &all;
    svit_pipeline_config pipeline;
    svit_model *model = NULL;
    char text[400];
    case_begin(self, cases[_i].golden);
    case_weights(self, "");
    case_text(self, "config.json", VIT);
    snprintf(text, sizeof text, cases[_i].text, cases[_i].colours);
    case_text(self, cases[_i].file, text);
    const svit_status status = case_open(self, &model, NULL);
    ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
    FAILS(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, err), SVIT_E_STATE,
          "pipeline");
    ck_assert_msg(strstr(self->warning, cases[_i].part) != NULL, "'%s' is not in '%s'",
                  cases[_i].part, self->warning);
    ck_assert_double_le(case_difference(self, model), 1e-5);
    svit_model_free(model);
    case_end(self);
}
END_TEST

/* A number, or a list of one, is that of every channel: the model was refused with a number. null
 * is the class's own colour. */
START_TEST(test_one_number_is_that_of_all_channels)
{
    static const double halves[] = {0.5, 0.5, 0.5}, quarters[] = {0.25, 0.25, 0.25};
    static const char *const texts[] = {"\"image_mean\":0.5,\"image_std\":0.25",
                                        "\"image_mean\":[0.5],\"image_std\":[0.25]",
                                        "\"image_mean\":null,\"image_std\":0.25"};
    open_case all, *self = &all;
    svit_pipeline_config pipeline;
    char text[200];
    case_vit(self);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        snprintf(text, sizeof text,
                 "{\"image_processor_type\":\"ViTImageProcessor\",\"size\":28,%s}", texts[i]);
        case_text(self, "preprocessor_config.json", text);
        pipeline_of(&pipeline, self, NULL);
        check_colours(&pipeline, halves, quarters);
    }
    case_end(self);
}
END_TEST

/* Images of another number of channels have the mean of the numbers, as in timm. */
START_TEST(test_channels_of_another_number_have_the_mean)
{
    static const char *const fields[] = {"{\"in_channels\":1}", "{\"in_channels\":4}",
                                         "{\"in_channels\":2}"};
    static const uint32_t channels[] = {1, 4, 2};
    open_case all, *self = &all;
    svit_pipeline_config pipeline;
    case_vit(self);
    case_text(self, "preprocessor_config.json",
              "{\"image_processor_type\":\"ViTImageProcessor\",\"size\":28,"
              "\"image_mean\":[0.5,0.25,0.75],\"image_std\":[0.5,0.25,0.125]}");
    for (size_t i = 0; i < 3; i++) {
        pipeline_of(&pipeline, self, fields[i]);
        ck_assert_uint_eq(pipeline.channels, channels[i]);
        for (uint32_t c = 0; c < channels[i]; c++) {
            ck_assert_double_eq(pipeline.mean[c], 0.5);
            ck_assert_double_eq(pipeline.variance[c], (0.875 / 3) * (0.875 / 3));
        }
    }
    case_end(self);
}
END_TEST

/* Of many channels the mean is kept, for fine-tuning: no resize of theirs is antialiased. Numbers
 * of all seven count alike. */
START_TEST(test_many_channels_have_one_mean)
{
    static const char *const means[][2] = {
        {"[0.5,0.25,0.75]", "[0.5,0.25,0.125]"},
        {"[0.5,0.5,0.25,0.75,0.5,0.5,0.5]", "[0.5,0.25,0.125,0.5,0.25,0.125,0.875]"}};
    const double deviation = _i == 0 ? 0.875 / 3 : 2.625 / 7;
    open_case all, *self = &all;
    char text[300];
    svit_pipeline_config pipeline;
    svit_model *model = NULL;
    case_vit(self);
    snprintf(text, sizeof text,
             "{\"image_processor_type\":\"ViTImageProcessor\",\"size\":28,\"image_mean\":%s,"
             "\"image_std\":%s}",
             means[_i][0], means[_i][1]);
    case_text(self, "preprocessor_config.json", text);
    WORKS(case_open(self, &model, "{\"in_channels\":7}"));
    FAILS(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, err), SVIT_E_STATE,
          "pipeline");
    WORKS(svit_fine_tuning_settings(model, 9, NULL, 0, NULL, 0, &pipeline, sizeof pipeline, err));
    ck_assert_uint_eq(pipeline.channels, 7);
    ck_assert_double_eq_tol(pipeline.mean[0], 0.5, 1e-12);
    ck_assert_double_eq_tol(pipeline.variance[0], deviation * deviation, 1e-12);
    ck_assert_int_eq(pipeline.source_filter, SVIT_SOURCE_NEAREST);
    svit_model_free(model);
    case_end(self);
}
END_TEST

#define DEIT "\"DeiTImageProcessor\","
#define VIT_PROCESSOR "\"ViTImageProcessor\","

/* The input is what the preprocessor leaves of images, the grid of the positions that of the
 * configuration; the caller may want another input. Resized images that are smaller than the input
 * leave the model without a pipeline. */
START_TEST(test_the_input_is_what_the_preprocessor_leaves)
{
    static const struct input {
        const char *preprocessor, *fields; /* the class, and members */
        uint32_t side, source;             /* of the input; of the resized image, 0: no pipeline */
    } inputs[] = {
        {DEIT "\"size\":35,\"crop_size\":21", NULL, 21, 35},
        {VIT_PROCESSOR "\"size\":35,\"crop_size\":21", NULL, 35, 35},
        {VIT_PROCESSOR "\"size\":{\"height\":42,\"width\":42}", NULL, 42, 42},
        {VIT_PROCESSOR "\"size\":{\"shortest_edge\":30}", NULL, 28, 30},
        {DEIT "\"size\":{\"shortest_edge\":30},\"crop_size\":21,\"do_center_crop\":false", NULL, 28,
         30},
        {DEIT "\"size\":35,\"crop_size\":21", "{\"input_height\":28,\"input_width\":28}", 28, 35},
        {DEIT "\"size\":35,\"crop_size\":21", "{\"input_height\":14,\"input_width\":14}", 14, 35},
        {VIT_PROCESSOR "\"size\":{\"shortest_edge\":20}", NULL, 28, 0},
        {DEIT "\"size\":{\"height\":256,\"width\":256}", NULL, 224, 256},
        {DEIT "\"size\":{\"height\":42,\"width\":42}", NULL, 28, 0},
        {VIT_PROCESSOR "\"size\":35,\"do_pad\":true,\"pad_size\":{\"height\":42,\"width\":42}",
         NULL, 28, 0},
        {DEIT "\"size\":35,\"crop_size\":21,\"do_pad\":true", NULL, 28, 0},
        {VIT_PROCESSOR "\"size\":35,\"do_pad\":false,\"pad_size\":42", NULL, 35, 35},
        {VIT_PROCESSOR "\"size\":35,\"do_pad\":null,\"rescale_factor\":null", NULL, 35, 35},
        {VIT_PROCESSOR "\"size\":35,\"do_resize\":null", NULL, 28, 0},
        {VIT_PROCESSOR "\"size\":null", NULL, 28, 0},
    };
    open_case all, *self = &all;
    case_begin(self, "pretrained_hf_vit");
    case_weights(self, "");
    case_text(self, "config.json", VIT_28);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        char text[200];
        svit_model *model = NULL;
        svit_model_config config;
        svit_pipeline_config pipeline;
        snprintf(text, sizeof text, "{\"image_processor_type\":%s}", inputs[i].preprocessor);
        case_text(self, "preprocessor_config.json", text);
        WORKS(case_open(self, &model, inputs[i].fields));
        WORKS(svit_model_get_config(model, &config, sizeof config, err));
        ck_assert_uint_eq(config.input_height, inputs[i].side);
        ck_assert_uint_eq(config.input_width, inputs[i].side);
        const svit_status status = svit_model_get_pipeline(model, &pipeline, sizeof pipeline, NULL);
        ck_assert_int_eq(status == SVIT_OK, inputs[i].source > 0);
        if (status == SVIT_OK) {
            ck_assert_uint_eq(pipeline.source_height, inputs[i].source);
            ck_assert_uint_eq(pipeline.output_height, inputs[i].side);
        }
        svit_model_free(model);
    }
    case_end(self);
}
END_TEST

/* A file of this library says what it is. */
START_TEST(test_own_files_take_no_options)
{
    const svit_open_options options[] = {{.name = "vit_tiny_patch16_224"},
                                         {.prefix = "model."},
                                         {.base = "elsewhere"},
                                         {.fields = "{\"dim\": 7}"}};
    static const char *const refused[] = {"name is", "prefix is", "base is", NULL};
    open_case all, *self = &all;
    svit_model *model = NULL, *again = NULL;
    case_vit(self);
    WORKS(case_open(self, &model, NULL));
    const char *path = fit_path(&self->folder, "own.safetensors");
    WORKS(svit_model_save(model, path, err));
    for (size_t i = 0; i < 4; i++) {
        svit_open_options local = options[i];
        local.struct_size = sizeof local;
        svit_status status = svit_model_open(&again, self->context, path, &local, NULL, &self->err);
        ck_assert_int_eq(status, refused[i] ? SVIT_E_ARGUMENT : SVIT_OK);
        if (refused[i])
            ck_assert_msg(strstr(self->err.message, refused[i]), "%s", self->err.message);
    }
    svit_model_free(again);
    svit_model_free(model);
    case_end(self);
}
END_TEST

/* The caller's pooling counts where timm's file names one that is not computed. */
START_TEST(test_the_callers_pooling_counts)
{
    open_case all, *self = &all;
    svit_model *model = NULL;
    case_begin(self, "pretrained_timm_plain");
    case_weights(self, "");
    case_text(self, "config.json",
              "{\"architecture\":\"vit_tiny_patch16_224\",\"global_pool\":\"\",\"model_args\":"
              "{\"num_heads\":2,\"img_size\":[28,35]}}");
    ck_assert_int_eq(case_open(self, &model, NULL), SVIT_E_UNSUPPORTED);
    WORKS(case_open(self, &model, "{\"pool\":\"class_token\"}"));
    svit_model_free(model);
    case_end(self);
}
END_TEST

static Suite *open_preprocessing_suite(void)
{
    Suite *suite = suite_create("open_preprocessing");
    TCase *tcase = tcase_create("open");
    tcase_add_test(tcase, test_what_files_say_counts);
    tcase_add_test(tcase, test_what_is_not_known_is_no_pipeline);
    tcase_add_loop_test(tcase, test_values_that_are_none_are_no_pipeline, 0, 21);
    tcase_add_test(tcase, test_one_number_is_that_of_all_channels);
    tcase_add_test(tcase, test_channels_of_another_number_have_the_mean);
    tcase_add_loop_test(tcase, test_many_channels_have_one_mean, 0, 2);
    tcase_add_test(tcase, test_the_input_is_what_the_preprocessor_leaves);
    tcase_add_test(tcase, test_own_files_take_no_options);
    tcase_add_test(tcase, test_the_callers_pooling_counts);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(open_preprocessing_suite)
