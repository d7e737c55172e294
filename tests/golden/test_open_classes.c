/* Configurations of transformers whose class is not stated or has no classes, and the biases of
 * DINOv3. */
#include "open_case.h"
#include "suite.h"

enum { LABELS = 3, WIDEST = 64 };

static float weight_of(size_t i)
{
    return (float)((double)(i * 29 % 17) / 17 - 0.4);
}

/* A class for images, whose pooling only it has. */
static const struct class_case {
    const char *golden, *before; /* what stands before the golden file's names */
    const char *name, *config;   /* the members beside `architectures` */
    int64_t width;               /* of the classifier's input; 0: the golden file has one */
    int32_t pool;
} CLASSES[] = {
    {"pretrained_hf_clip", "", "CLIPForImageClassification",
     "\"model_type\":\"clip\",\"vision_config\":{\"num_attention_heads\":4,\"image_size\":32,"
     "\"patch_size\":8}",
     40, SVIT_POOL_MEAN_PATCHES},
    {"pretrained_hf_clip", "", "MetaClip2ForImageClassification",
     "\"model_type\":\"metaclip_2\",\"vision_config\":{\"num_attention_heads\":4,\"image_size\":32,"
     "\"patch_size\":8}",
     40, SVIT_POOL_MEAN_PATCHES},
    {"family_hf_siglip", "vision_model.", "SiglipForImageClassification",
     "\"model_type\":\"siglip\",\"vision_config\":{\"num_attention_heads\":3,\"image_size\":32,"
     "\"patch_size\":8}",
     48, SVIT_POOL_MEAN_PATCHES},
    {"family_hf_siglip", "vision_model.", "Siglip2ForImageClassification",
     "\"model_type\":\"siglip2\",\"vision_config\":{\"num_attention_heads\":3,\"num_patches\":16,"
     "\"patch_size\":8}",
     48, SVIT_POOL_MEAN_PATCHES},
    {"pretrained_hf_dinov2", "", "Dinov2ForImageClassification",
     "\"model_type\":\"dinov2\",\"num_attention_heads\":4,\"image_size\":42,\"patch_size\":14", 0,
     SVIT_POOL_CLASS_MEAN},
    {"pretrained_hf_dinov2_reg_swiglu", "", "Dinov2WithRegistersForImageClassification",
     "\"model_type\":\"dinov2_with_registers\",\"num_attention_heads\":3,\"image_size\":28,"
     "\"patch_size\":14,\"use_swiglu_ffn\":true",
     0, SVIT_POOL_CLASS_MEAN},
};
enum { CLASS_COUNT = sizeof CLASSES / sizeof *CLASSES };

/* Writes the weights behind a prefix, with a classifier beside the encoder. */
static void write_classifier(const open_case *self, const struct class_case *of, const char *prefix)
{
    static own_tensor list[CASE_TENSORS];
    static float weight[LABELS * WIDEST];
    char name[64];
    snprintf(name, sizeof name, "%s%s", prefix, of->before);
    const size_t golden = own_golden(list, self, name);
    size_t count = golden;
    for (size_t i = 0; i < LABELS * WIDEST; i++)
        weight[i] = weight_of(i);
    if (of->width > 0) {
        const int64_t shape[] = {LABELS, of->width};
        snprintf(name, sizeof name, "%sclassifier.weight", prefix);
        list[count++] = own(name, 2, shape, weight);
        snprintf(name, sizeof name, "%sclassifier.bias", prefix);
        list[count++] = own(name, 1, shape, weight);
    }
    own_write(self, list, count);
    own_free(list, golden);
}

static void write_class(const open_case *self, const char *before, const char *members)
{
    char text[512];
    snprintf(text, sizeof text, "{%s%s}", before, members);
    case_text(self, "config.json", text);
}

/* The logits of the golden input, of which there are fewer than 32. */
static size_t logits_of(const open_case *self, svit_model *model, float out[32])
{
    svit_session *session;
    svit_model_config config;
    float *input = golden_floats(self->golden, "input", NULL);
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    ck_assert_uint_le(config.num_classes, 32);
    WORKS(svit_session_create(&session, model, NULL, err));
    WORKS(svit_forward(session, input, 1, out, err));
    svit_session_free(session);
    golden_free(input);
    return config.num_classes;
}

/* Without `architectures` the classifier tells the class, and so the same logits. */
START_TEST(test_a_classifier_tells_the_class)
{
    static const char *const without[] = {"", "\"architectures\":null,", "\"architectures\":[],"};
    static const char *const prefixes[] = {"", "module.", "_orig_mod.model."};
    const struct class_case *of = &CLASSES[_i / 3];
    open_case all, *self = &all;
    svit_model_config config;
    float wanted[32], got[32];
    char stated[128];
    svit_model *model = NULL;
    case_begin(self, of->golden);
    write_classifier(self, of, prefixes[_i % 3]);
    snprintf(stated, sizeof stated, "\"architectures\":[\"%s\"],", of->name);
    write_class(self, stated, of->config);
    WORKS(case_open(self, &model, NULL));
    const size_t count = logits_of(self, model, wanted);
    svit_model_free(model);
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        write_class(self, without[i], of->config);
        const svit_status status = case_open(self, &model, NULL);
        ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
        WORKS(svit_model_get_config(model, &config, sizeof config, err));
        ck_assert_int_eq(config.pool, of->pool);
        ck_assert_int_eq(config.final_norm, strcmp(of->golden, "pretrained_hf_clip") != 0);
        ck_assert_uint_eq(logits_of(self, model, got), count);
        ck_assert_mem_eq(got, wanted, count * sizeof *got);
        svit_model_free(model);
    }
    case_end(self);
}
END_TEST

/* transformers has no class of a tower alone with a classifier: its pooling is asked for. */
START_TEST(test_an_unknown_class_is_asked_for)
{
    static const struct class_case TOWERS[] = {
        {"pretrained_hf_clip", "", NULL,
         "\"model_type\":\"clip_vision_model\",\"num_attention_heads\":4,\"image_size\":32,"
         "\"patch_size\":8",
         40, SVIT_POOL_CLASS_TOKEN},
        {"pretrained_hf_clip", "", NULL,
         "\"architectures\":[\"CLIPVisionModel\"],\"model_type\":\"clip_vision_model\","
         "\"num_attention_heads\":4,\"image_size\":32,\"patch_size\":8",
         40, SVIT_POOL_CLASS_TOKEN}};
    open_case all, *self = &all;
    svit_model *model = NULL;
    case_begin(self, TOWERS[_i].golden);
    write_classifier(self, &TOWERS[_i], "");
    write_class(self, "", TOWERS[_i].config);
    const svit_status status = case_open(self, &model, NULL);
    ck_assert_int_eq(status, _i ? SVIT_OK : SVIT_E_ARGUMENT);
    if (_i == 0) {
        ck_assert_msg(strstr(self->err.message, "pool (class_token, mean-patches or attention)"),
                      "%s", self->err.message);
        WORKS(case_open(self, &model, "{\"pool\":\"class_token\"}"));
    }
    svit_model_free(model);
    case_end(self);
}
END_TEST

/* A model with a configuration of no labels was saved without a classifier: none is missing. */
START_TEST(test_a_class_without_labels_has_no_classifier)
{
    static const char *const lost[] = {"classifier.", NULL};
    static const char *const labels[] = {"{}", "null", "{\"0\":\"a\"}"};
    open_case all, *self = &all;
    svit_model *model = NULL;
    svit_model_config config;
    char text[256];
    case_begin(self, "pretrained_hf_vit");
    snprintf(text, sizeof text,
             "{\"architectures\":[\"ViTForImageClassification\"],\"model_type\":\"vit\","
             "\"num_attention_heads\":2,\"patch_size\":7,\"id2label\":%s}",
             labels[_i]);
    const svit_status status = case_open_without(self, &model, lost, text);
    ck_assert_msg(status == (_i ? SVIT_E_FORMAT : SVIT_OK), "%s", self->err.message);
    if (_i == 0) {
        WORKS(svit_model_get_config(model, &config, sizeof config, err));
        ck_assert_int_eq(config.classifier, 0);
    } else {
        ck_assert_ptr_nonnull(strstr(self->err.message, "there is no classifier"));
    }
    svit_model_free(model);
    case_end(self);
}
END_TEST

/* What stands where attention pooling is and the file has none of its tensors. */
START_TEST(test_a_lost_attention_pooling_is_named)
{
    static const char *const lost[] = {"head.", NULL};
    static const char *const members[] = {"", ",\"vision_use_head\":null",
                                          ",\"vision_use_head\":true"};
    open_case all, *self = &all;
    svit_model *model = NULL;
    char text[256];
    case_begin(self, "family_hf_siglip");
    snprintf(text, sizeof text,
             "{\"architectures\":[\"SiglipVisionModel\"],\"model_type\":\"siglip_vision_model\","
             "\"num_attention_heads\":3,\"image_size\":32,\"patch_size\":8%s}",
             members[_i]);
    ck_assert_int_eq(case_open_without(self, &model, lost, text), SVIT_E_FORMAT);
    ck_assert_msg(strstr(self->err.message,
                         "there is no attention pooling, which the class SiglipVisionModel "
                         "states"),
                  "%s", self->err.message);
    case_end(self);
}
END_TEST

/* Members of DINOv3, in the order of a number's digits; the last value of three is none. */
static const struct bias {
    const char *name;
    bool otherwise;
} BIASES[] = {{"query_bias", true},
              {"key_bias", false},
              {"value_bias", true},
              {"proj_bias", true},
              {"mlp_bias", true}};
enum { QUERY, KEY, VALUE, PROJ, MLP, BIAS_COUNT, BIAS_CASES = 3 * 3 * 3 * 3 * 3 };

/* Of all statements of biases those of blocks that are not computed are refused by the member's
 * name, and those of others are what the tensors are. */
START_TEST(test_biases_of_dinov3_are_those_that_are_computed)
{
    open_case all, *self = &all;
    size_t refused = 0;
    case_begin(self, "family_hf_dinov3");
    case_weights(self, "");
    for (size_t number = 0; number < BIAS_CASES; number++) {
        static const char *const words[] = {"false", "true"};
        bool has[BIAS_COUNT];
        char text[400] = "\"model_type\":\"dinov3_vit\",\"num_attention_heads\":3,"
                         "\"image_size\":32,\"patch_size\":8";
        size_t rest = number;
        for (size_t i = 0; i < BIAS_COUNT; i++, rest /= 3) {
            has[i] = rest % 3 == 2 ? BIASES[i].otherwise : rest % 3 == 1;
            if (rest % 3 < 2)
                snprintf(text + strlen(text), sizeof text - strlen(text), ",\"%s\":%s",
                         BIASES[i].name, words[rest % 3]);
        }
        write_class(self, "", text);
        const char *part = !has[PROJ]                 ? "proj_bias is false; true is accepted"
                           : !has[MLP]                ? "mlp_bias is false; true is accepted"
                           : has[QUERY] != has[VALUE] ? "equal ones are accepted"
                           : has[QUERY]               ? NULL
                           : has[KEY]                 ? "key_bias true and value_bias false; equal"
                                      : "qkv_bias is false by config.json: query_bias, but true";
        svit_model *model = NULL;
        const svit_status status = case_open(self, &model, NULL);
        ck_assert_msg((status == SVIT_OK) == !part, "%s: %s", text, self->err.message);
        if (part)
            ck_assert_msg(strstr(self->err.message, part), "%s: %s", text, self->err.message);
        else
            ck_assert_double_le(case_difference(self, model), 1e-5);
        refused += part != NULL;
        svit_model_free(model);
    }
    ck_assert_uint_eq(refused, BIAS_CASES - 2 * 2 * 3 * 2 * 2);
    case_end(self);
}
END_TEST

static Suite *open_classes_suite(void)
{
    Suite *suite = suite_create("open_classes");
    TCase *tcase = tcase_create("open");
    tcase_add_loop_test(tcase, test_a_classifier_tells_the_class, 0, 3 * CLASS_COUNT);
    tcase_add_loop_test(tcase, test_an_unknown_class_is_asked_for, 0, 2);
    tcase_add_loop_test(tcase, test_a_class_without_labels_has_no_classifier, 0, 3);
    tcase_add_loop_test(tcase, test_a_lost_attention_pooling_is_named, 0, 3);
    tcase_add_test(tcase, test_biases_of_dinov3_are_those_that_are_computed);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(open_classes_suite)
