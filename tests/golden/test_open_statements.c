/* What no tensor shows, and only a file or the caller can say: a grid that is no square, and what
 * becomes of the logits. */
#include "open_case.h"
#include "suite.h"

#define VIT "\"model_type\":\"vit\",\"num_attention_heads\":2,\"patch_size\":7"

/* A grid whose size nothing states is a square, and only something that is stated says that it
 * belongs to the patches alone of a model with other tokens: a grid of 2 x 4 and a class token have
 * 9 rows too. */
static const struct square {
    const char *golden, *config, *fields;
    uint32_t height, width; /* 0: it is refused */
    int32_t position;
} SQUARES[] = {
#define FACTS "\"norm_eps\":1e-5,\"activation\":\"gelu\",\"pool\":\"class_token\",\"heads\":2"
    {"openclip_tower", NULL, "{" FACTS "}", 0, 0, 0},
    {"openclip_tower", NULL, "{" FACTS ",\"input_height\":4,\"input_width\":8}", 4, 8,
     SVIT_POSITION_ALL},
    {"openclip_tower", NULL, "{" FACTS ",\"position_tokens\":\"patches\"}", 6, 6,
     SVIT_POSITION_PATCHES},
    {"openclip_tower", NULL,
     "{" FACTS ",\"position_tokens\":\"patches\",\"input_height\":4,\"input_width\":8}", 4, 8,
     SVIT_POSITION_PATCHES}, /* interpolated from 3 x 3 */
#define DINOV2 "{\"architecture\":\"vit_small_patch14_dinov2\",\"model_args\":{\"num_heads\":3"
    {"pretrained_timm_dinov2_reg", DINOV2 "}}", NULL, 0, 0, 0},
    {"pretrained_timm_dinov2_reg", DINOV2 ",\"no_embed_class\":false}}", NULL, 0, 0, 0},
    {"pretrained_timm_dinov2_reg", DINOV2 ",\"no_embed_class\":true}}", NULL, 42, 42,
     SVIT_POSITION_PATCHES},
    {"pretrained_timm_dinov2_reg", DINOV2 ",\"img_size\":42}}", NULL, 42, 42,
     SVIT_POSITION_PATCHES},
    /* Registers of transformers have no positions, so that 5 rows are those of 2 x 2 patches. */
    {"pretrained_hf_dinov2_reg_swiglu",
     "{\"architectures\":[\"Dinov2WithRegistersForImageClassification\"],\"model_type\":"
     "\"dinov2_with_registers\",\"num_attention_heads\":3,\"patch_size\":14,"
     "\"use_swiglu_ffn\":true}",
     NULL, 28, 28, SVIT_POSITION_CLASS_PATCHES},
};

START_TEST(test_a_grid_is_stated_or_plainly_a_square)
{
    const struct square *of = &SQUARES[_i];
    open_case all, *self = &all;
    svit_model *model = NULL;
    svit_model_config config;
    case_begin(self, of->golden);
    case_weights(self, "");
    if (of->config)
        case_text(self, "config.json", of->config);
    const svit_status status = case_open(self, &model, of->fields);
    ck_assert_msg((status == SVIT_OK) == (of->height > 0), "%s", self->err.message);
    if (status != SVIT_OK) {
        ck_assert_msg(strstr(self->err.message,
                             "the position embedding has 9 rows, which are no square with the "),
                      "%s", self->err.message);
    } else {
        WORKS(svit_model_get_config(model, &config, sizeof config, err));
        ck_assert_uint_eq(config.input_height, of->height);
        ck_assert_uint_eq(config.input_width, of->width);
        ck_assert_int_eq(config.position_tokens, of->position);
        if (of->config)
            ck_assert_double_le(case_difference(self, model), 1e-5);
    }
    svit_model_free(model);
    case_end(self);
}
END_TEST

#define TIMM                                                                                       \
    "\"architecture\":\"vit_tiny_patch16_224\",\"model_args\":{\"num_heads\":2,\"img_size\":[28,"  \
    "35]}"

/* What predictors make of the logits is what transformers' pipeline makes of them: by problem_type,
 * and of one label the sigmoid. Features have no such statement. */
static const struct output_case {
    const char *golden, *members;
    int64_t labels; /* of the classifier; 0: as many as there are */
    int32_t output; /* 0: it is refused */
} OUTPUTS[] = {
    {"pretrained_hf_vit", "", 0, SVIT_OUTPUT_SOFTMAX},
    {"pretrained_hf_vit", ",\"problem_type\":null", 0, SVIT_OUTPUT_SOFTMAX},
    {"pretrained_hf_vit", ",\"problem_type\":\"single_label_classification\"", 0,
     SVIT_OUTPUT_SOFTMAX},
    {"pretrained_hf_vit", ",\"problem_type\":\"multi_label_classification\"", 0,
     SVIT_OUTPUT_SIGMOID},
    {"pretrained_hf_vit", ",\"problem_type\":\"regression\"", 0, SVIT_OUTPUT_LOGITS},
    {"pretrained_hf_vit", "", 1, SVIT_OUTPUT_SIGMOID},
    {"pretrained_hf_vit", ",\"problem_type\":\"regression\"", 1, SVIT_OUTPUT_LOGITS},
    {"pretrained_hf_vit", ",\"problem_type\":\"other\"", 0, 0},
    {"pretrained_hf_vit", ",\"problem_type\":7", 0, 0},
    {"pretrained_hf_vit", ",\"problem_type\":\"regression\"", -1, SVIT_OUTPUT_SOFTMAX},
    {"pretrained_timm_plain", "", 0, SVIT_OUTPUT_SOFTMAX},
    {"pretrained_timm_plain", "", 1, SVIT_OUTPUT_SOFTMAX},
    {"pretrained_timm_plain", ",\"model_type\":\"timm_wrapper\"", 0, SVIT_OUTPUT_SOFTMAX},
    {"pretrained_timm_plain", ",\"model_type\":\"timm_wrapper\"", 1, SVIT_OUTPUT_SIGMOID},
    {"pretrained_timm_plain",
     ",\"model_type\":\"timm_wrapper\",\"problem_type\":\"multi_label_classification\"", 0,
     SVIT_OUTPUT_SIGMOID},
    {"pretrained_timm_plain", ",\"problem_type\":\"regression\"", 1, SVIT_OUTPUT_LOGITS},
    {"pretrained_timm_plain", ",\"problem_type\":\"other\"", 0, 0},
};

START_TEST(test_the_problem_tells_the_output)
{
    static own_tensor list[CASE_TENSORS];
    const struct output_case *of = &OUTPUTS[_i];
    open_case all, *self = &all;
    svit_model *model = NULL;
    char text[512];
    size_t kept = 0;
    case_begin(self, of->golden);
    const size_t count = own_golden(list, self, "");
    for (size_t t = 0; t < count; t++) {
        const bool is_head =
            strncmp(list[t].name, "classifier.", 11) == 0 || strncmp(list[t].name, "head.", 5) == 0;
        if (is_head && of->labels < 0) {
            golden_free((float *)(uintptr_t)list[t].from);
            continue;
        }
        if (is_head && of->labels > 0) {
            const int64_t shape[] = {of->labels, list[t].desc.shape[1]};
            list[t] = own(list[t].name, list[t].desc.rank, shape, list[t].from);
        }
        list[kept++] = list[t];
    }
    own_write(self, list, kept);
    snprintf(text, sizeof text, "{%s%s}", strcmp(of->golden, "pretrained_hf_vit") == 0 ? VIT : TIMM,
             of->members);
    case_text(self, "config.json", text);
    const svit_status status = case_open(self, &model, NULL);
    if (of->output == 0)
        ck_assert_msg(status == SVIT_E_UNSUPPORTED &&
                          strstr(self->err.message, "'regression', 'multi_label_classification' "
                                                    "and 'single_label_classification'"),
                      "%s", self->err.message);
    else
        ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
    if (status == SVIT_OK)
        ck_assert_int_eq(svit_model_output(model), of->output);
    svit_model_free(model);
    own_free(list, kept);
    case_end(self);
}
END_TEST

static Suite *open_statements_suite(void)
{
    Suite *suite = suite_create("open_statements");
    TCase *tcase = tcase_create("open");
    tcase_add_loop_test(tcase, test_a_grid_is_stated_or_plainly_a_square, 0,
                        sizeof SQUARES / sizeof *SQUARES);
    tcase_add_loop_test(tcase, test_the_problem_tells_the_output, 0,
                        sizeof OUTPUTS / sizeof *OUTPUTS);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(open_statements_suite)
