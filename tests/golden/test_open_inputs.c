/* The size of the input where it is not that of the positions in the file, and images that have no
 * one size. */
#include "open_pipeline.h"
#include "suite.h"

enum { MOST = 1 << 16 };

/* Opens the folder of a configuration. *out becomes the model's configuration, and `positions` its
 * position embedding. */
static void open_with(svit_model_config *out, float positions[MOST], open_case *self,
                      const char *config, const char *fields, size_t rows)
{
    svit_model *model = NULL;
    case_text(self, "config.json", config);
    const svit_status status = case_open(self, &model, fields);
    ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
    WORKS(svit_model_get_config(model, out, sizeof *out, err));
    ck_assert_uint_le(rows * out->dim, MOST);
    WORKS(svit_model_get_parameter(model, "pos_embed", positions, rows * out->dim, err));
    svit_model_free(model);
}

#define NAMED(name, arguments, pretrained)                                                         \
    "{\"architecture\":\"" name                                                                    \
    "\",\"model_args\":{\"num_heads\":2,\"img_size\":[28,35]" arguments                            \
    "},\"pretrained_cfg\":{\"crop_mode\":\"squash\"" pretrained "}}"
#define TIMM(arguments, pretrained) NAMED("vit_tiny_patch16_224", arguments, pretrained)
#define DYNAMIC ",\"dynamic_img_size\":true"
#define IMAGES ",\"input_size\":[3,14,21]"

/* With dynamic_img_size timm interpolates the positions of img_size for images of input_size. */
START_TEST(test_images_of_dynamic_models_have_their_own_size)
{
    static const struct {
        const char *config;
        uint32_t height, width;
    } cases[] = {
        {TIMM(DYNAMIC, IMAGES), 14, 21},
        {TIMM(",\"dynamic_img_size\":false", IMAGES), 28, 35},
        {TIMM(",\"dynamic_img_size\":null", IMAGES), 28, 35},
        {TIMM("", IMAGES), 28, 35},
        {TIMM(DYNAMIC, ""), 224, 224},
        {NAMED("test_vit", "", IMAGES), 14, 21},
        {NAMED("test_vit", ",\"dynamic_img_size\":false", IMAGES), 28, 35},
        {NAMED("vit_intern300m_patch14_448.ogvl_dist", "", IMAGES), 14, 21},
    };
    static float found[MOST], wanted[MOST];
    open_case all, *self = &all;
    svit_model_config config;
    svit_pipeline_config pipeline;
    char input[80];
    case_begin(self, "pretrained_timm_plain");
    case_weights(self, "");
    const uint32_t height = cases[_i].height, width = cases[_i].width;
    const size_t rows = 1 + height / 7 * (width / 7);
    snprintf(input, sizeof input, "{\"input_height\":%u,\"input_width\":%u}", height, width);
    open_with(&config, wanted, self, TIMM("", ""), input, rows);
    open_with(&config, found, self, cases[_i].config, NULL, rows);
    ck_assert_uint_eq(config.input_height, height);
    ck_assert_uint_eq(config.input_width, width);
    ck_assert_mem_eq(found, wanted, rows * config.dim * sizeof *found);
    pipeline_of(&pipeline, self, NULL);
    ck_assert_uint_eq(pipeline.output_height, height);
    ck_assert_uint_eq(pipeline.output_width, width);
    /* The caller has the last word. */
    open_with(&config, found, self, cases[_i].config, "{\"input_height\":21,\"input_width\":21}",
              10);
    ck_assert_uint_eq(config.input_height, 21);
    case_end(self);
}
END_TEST

#define DINOV2(image)                                                                              \
    "{\"architectures\":[\"Dinov2ForImageClassification\"],\"model_type\":\"dinov2\",\"num_"       \
    "attention_heads\":4," image "\"patch_size\":14}"
#define REGISTERS(image)                                                                           \
    "{\"architectures\":[\"Dinov2WithRegistersForImageClassification\"],\"model_type\":\"dinov2_"  \
    "with_registers\",\"num_attention_heads\":3," image "\"patch_size\":14,\"use_swiglu_ffn\":"    \
    "true}"
#define VIT(image) "{\"model_type\":\"vit\",\"num_attention_heads\":2," image "\"patch_size\":7}"
#define SIZES(edge, crop)                                                                          \
    "\"size\":{\"shortest_edge\":" edge "},\"crop_size\":{\"height\":" crop ",\"width\":" crop     \
    "},\"do_center_crop\":true"

/* A configuration without the size that is the default of transformers: the file's positions are a
 * square, and images have the size that the preprocessor leaves of them. */
START_TEST(test_images_have_the_size_of_the_preprocessor)
{
    static const struct {
        const char *golden, *bare, *stated, *preprocessor;
        uint32_t side, rows; /* of the input; of the positions */
    } cases[] = {
        {"pretrained_hf_dinov2", DINOV2(""), DINOV2("\"image_size\":42,"), SIZES("32", "28"), 28,
         5},
        {"pretrained_hf_dinov2", DINOV2(""), DINOV2("\"image_size\":42,"), SIZES("60", "56"), 56,
         17},
        {"pretrained_hf_dinov2", DINOV2(""), DINOV2("\"image_size\":42,"), SIZES("42", "42"), 42,
         10},
        {"pretrained_hf_dinov2_reg_swiglu", REGISTERS(""), REGISTERS("\"image_size\":28,"),
         SIZES("48", "42"), 42, 10},
        {"pretrained_hf_vit", VIT(""), VIT("\"image_size\":28,"), SIZES("35", "21"), 21, 10},
    };
    static float found[MOST], wanted[MOST];
    open_case all, *self = &all;
    svit_model_config config;
    svit_pipeline_config pipeline;
    char text[200];
    case_begin(self, cases[_i].golden);
    case_weights(self, "");
    snprintf(text, sizeof text, "{%s}", cases[_i].preprocessor);
    case_text(self, "preprocessor_config.json", text);
    open_with(&config, wanted, self, cases[_i].stated, NULL, cases[_i].rows);
    ck_assert_uint_eq(config.input_height, cases[_i].side);
    open_with(&config, found, self, cases[_i].bare, NULL, cases[_i].rows);
    ck_assert_uint_eq(config.input_height, cases[_i].side);
    ck_assert_uint_eq(config.input_width, cases[_i].side);
    ck_assert_mem_eq(found, wanted, cases[_i].rows * config.dim * sizeof *found);
    pipeline_of(&pipeline, self, NULL);
    ck_assert_uint_eq(pipeline.output_height, cases[_i].side);
    ck_assert_uint_eq(self->warnings, 0);
    case_end(self);
}
END_TEST

/* The caller's input is not that of the preprocessor; of a side that is not named that one is
 * taken. */
START_TEST(test_the_callers_size_comes_first)
{
    static const struct {
        const char *fields;
        uint32_t height, width;
    } cases[] = {{"{\"input_height\":42,\"input_width\":42}", 42, 42},
                 {"{\"input_height\":42,\"input_width\":14}", 42, 14},
                 {"{\"input_height\":42}", 42, 28}};
    static float found[MOST];
    open_case all, *self = &all;
    svit_model_config config;
    case_begin(self, "pretrained_hf_dinov2");
    case_weights(self, "");
    case_text(self, "preprocessor_config.json", "{" SIZES("32", "28") "}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t rows = 1 + cases[i].height / 14 * (cases[i].width / 14);
        open_with(&config, found, self, DINOV2(""), cases[i].fields, rows);
        ck_assert_uint_eq(config.input_height, cases[i].height);
        ck_assert_uint_eq(config.input_width, cases[i].width);
    }
    case_end(self);
}
END_TEST

#define DINOV3                                                                                     \
    "{\"model_type\":\"dinov3_vit\",\"num_attention_heads\":3,\"image_size\":32,\"patch_size\":8}"
#define CLASS(name) "\"image_processor_type\":\"" name "ImageProcessor\","
#define WHOLE "\"do_center_crop\":false,\"size\":"

/* Models of transformers that take images of any size get whole ones of a preprocessor that keeps
 * their ratio and cuts nothing: no pipeline makes those of one size. Mean and deviation stay. */
START_TEST(test_whole_images_of_any_ratio_are_no_pipeline)
{
    static const struct {
        const char *golden, *config, *preprocessor;
        bool has_pipeline;
    } cases[] = {
        {"pretrained_hf_dinov2", DINOV2("\"image_size\":42,"),
         CLASS("Bit") WHOLE "{\"shortest_edge\":42}", false},
        {"pretrained_hf_dinov2", DINOV2("\"image_size\":42,"), CLASS("Bit") WHOLE "42", false},
        {"pretrained_hf_dinov2", DINOV2("\"image_size\":42,"),
         WHOLE "{\"shortest_edge\":42},\"crop_size\":42", false},
        {"pretrained_hf_dinov2", DINOV2("\"image_size\":42,"),
         CLASS("Bit") WHOLE "{\"height\":42,\"width\":42}", true},
        {"pretrained_hf_dinov2", DINOV2("\"image_size\":42,"),
         CLASS("Bit") "\"size\":{\"shortest_edge\":42},\"crop_size\":42", true},
        {"pretrained_hf_dinov2_reg_swiglu", REGISTERS("\"image_size\":28,"),
         CLASS("Bit") WHOLE "{\"shortest_edge\":28}", false},
        {"family_hf_dinov3", DINOV3, CLASS("DINOv3ViT") "\"size\":{\"shortest_edge\":32}", false},
        {"family_hf_dinov3", DINOV3, CLASS("DINOv3ViT") "\"size\":32", true},
        {"pretrained_hf_vit", VIT("\"image_size\":28,"),
         CLASS("ViT") "\"size\":{\"shortest_edge\":28}", true},
    };
    open_case all, *self = &all;
    svit_pipeline_config pipeline;
    svit_model *model = NULL;
    char text[300];
    case_begin(self, cases[_i].golden);
    case_weights(self, "");
    case_text(self, "config.json", cases[_i].config);
    snprintf(text, sizeof text, "{\"image_mean\":0.25,\"image_std\":0.5,%s}",
             cases[_i].preprocessor);
    case_text(self, "preprocessor_config.json", text);
    WORKS(case_open(self, &model, NULL));
    const svit_status status = svit_model_get_pipeline(model, &pipeline, sizeof pipeline, NULL);
    ck_assert_int_eq(status, cases[_i].has_pipeline ? SVIT_OK : SVIT_E_STATE);
    ck_assert_int_eq(self->warnings, !cases[_i].has_pipeline);
    if (!cases[_i].has_pipeline) {
        ck_assert_msg(strstr(self->warning, "preprocessor_config.json: images keep their ratio and "
                                            "no centre is cut"),
                      "%s", self->warning);
        ck_assert_ptr_nonnull(strstr(self->warning, "but its mean and deviation"));
        WORKS(svit_fine_tuning_settings(model, 100, NULL, 0, NULL, 0, &pipeline, sizeof pipeline,
                                        err));
    }
    ck_assert_double_eq(pipeline.mean[0], 0.25);
    svit_model_free(model);
    case_end(self);
}
END_TEST

static Suite *open_inputs_suite(void)
{
    Suite *suite = suite_create("open_inputs");
    TCase *tcase = tcase_create("open");
    tcase_add_loop_test(tcase, test_images_of_dynamic_models_have_their_own_size, 0, 5);
    tcase_add_loop_test(tcase, test_images_have_the_size_of_the_preprocessor, 0, 5);
    tcase_add_test(tcase, test_the_callers_size_comes_first);
    tcase_add_loop_test(tcase, test_whole_images_of_any_ratio_are_no_pipeline, 0, 9);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(open_inputs_suite)
