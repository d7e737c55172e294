/* What timm's names imply and its configurations may state otherwise: poolings and the tokens that
 * they take, the base of rotary positions, and models that transformers has saved for timm. */
#include "open_case.h"
#include "suite.h"

#include "models/open/open_internal.h"

#define ARGUMENTS "\"num_heads\":2,\"patch_size\":8,\"img_size\":16"
#define TINY(arguments)                                                                            \
    "{\"architecture\":\"vit_tiny_patch16_224\",\"model_args\":{" ARGUMENTS arguments "}}"

/* timm leaves the class token out of a pooling unless pool_include_prefix, which one of its names
 * implies. */
#define VIT3(arguments) "{\"architecture\":\"test_vit3\"," arguments "}}"
#define PATCHES_ALONE "attention pooling of the patches without the 1 tokens before them"
static const struct pooling {
    const char *config, *lost[2], *logits, *message; /* of the golden file, or of the refusal */
} POOLINGS[] = {
    {VIT3("\"model_args\":{" ARGUMENTS), {NULL}, "logits.map", NULL},
    {VIT3("\"model_args\":{" ARGUMENTS ",\"pool_include_prefix\":false"),
     {NULL},
     NULL,
     PATCHES_ALONE},
    {VIT3("\"model_args\":{" ARGUMENTS ",\"global_pool\":\"avg\""),
     {"attn_pool."},
     "logits.avg",
     NULL},
    {VIT3("\"global_pool\":\"avg\",\"model_args\":{" ARGUMENTS ",\"global_pool\":\"avg\""),
     {"attn_pool."},
     "logits.avg",
     NULL},
    {"{\"architecture\":\"test_vit2\",\"model_args\":{" ARGUMENTS ",\"pool_include_prefix\":true}}",
     {"attn_pool."},
     "logits.avg",
     NULL},
    {TINY(",\"global_pool\":\"map\",\"pool_include_prefix\":true"), {NULL}, "logits.map", NULL},
    {TINY(",\"global_pool\":\"map\",\"pool_include_prefix\":false"), {NULL}, NULL, PATCHES_ALONE},
    {TINY(",\"global_pool\":\"map\",\"pool_include_prefix\":null"), {NULL}, NULL, PATCHES_ALONE},
    {TINY(",\"global_pool\":\"map\",\"pool_include_prefix\":1"),
     {NULL},
     NULL,
     "pool_include_prefix is not true or false"},
    {TINY(",\"global_pool\":\"map\""), {NULL}, NULL, PATCHES_ALONE},
    {TINY(",\"global_pool\":\"avg\",\"pool_include_prefix\":true"),
     {"attn_pool."},
     "logits.avg",
     NULL},
};

START_TEST(test_a_pooling_takes_the_tokens_that_timms_takes)
{
    const struct pooling *of = &POOLINGS[_i];
    open_case all, *self = &all;
    svit_model *model = NULL;
    case_begin(self, "timm_pools");
    const svit_status status = case_open_without(self, &model, of->lost, of->config);
    ck_assert_msg((status == SVIT_OK) == (of->logits != NULL), "%s", self->err.message);
    if (of->logits)
        ck_assert_double_le(case_difference_from(self, model, of->logits), 1e-5);
    else
        ck_assert_msg(strstr(self->err.message, of->message), "%s", self->err.message);
    svit_model_free(model);
    case_end(self);
}
END_TEST

/* The configuration of the golden file's model under a description, which is opened. */
static svit_model_config config_without(open_case *self, const char *const *lost,
                                        const char *config)
{
    svit_model *model = NULL;
    svit_model_config opened;
    const svit_status status = case_open_without(self, &model, lost, config);
    ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
    WORKS(svit_model_get_config(model, &opened, sizeof opened, err));
    svit_model_free(model);
    return opened;
}

/* The heads of a pooling that the name has are none of another pooling. */
START_TEST(test_a_name_with_attention_pooling_may_have_another)
{
    static const char *const pools[] = {"avg", "token"};
    static const char *const lost[] = {"attn_pool.", NULL};
    open_case all, *self = &all;
    char config[200];
    case_begin(self, "family_timm_pe_core");
    snprintf(config, sizeof config,
             "{\"architecture\":\"vit_pe_core_tiny_patch16_384\",\"model_args\":"
             "{\"img_size\":32,\"num_heads\":3,\"global_pool\":\"%s\"}}",
             pools[_i]);
    const svit_model_config opened = config_without(self, lost, config);
    ck_assert_uint_eq(opened.pool_heads, 0);
    ck_assert_int_eq(opened.pool, _i ? SVIT_POOL_CLASS_TOKEN : SVIT_POOL_MEAN_PATCHES);
    case_end(self);
}
END_TEST

START_TEST(test_the_base_of_rotary_positions_may_be_stated)
{
    static const char *const told[] = {"", ",\"rope_temperature\":50"};
    static const char *const none[] = {NULL};
    open_case all, *self = &all;
    char config[200];
    case_begin(self, "family_timm_dinov3");
    snprintf(config, sizeof config,
             "{\"architecture\":\"vit_small_patch16_dinov3\",\"model_args\":"
             "{\"img_size\":[32,48],\"num_heads\":3%s}}",
             told[_i]);
    const svit_model_config opened = config_without(self, none, config);
    ck_assert_double_eq(opened.rope_theta, _i ? 50 : 100);
    case_end(self);
}
END_TEST

/* transformers names the classes of its configuration also where it saves a model of timm without
 * the classifier. */
START_TEST(test_a_wrapped_model_without_its_classifier_opens)
{
    static const char *const classes[] = {"[\"TimmWrapperModel\"]",
                                          "[\"TimmWrapperForImageClassification\"]",
                                          "[],\"_name_or_path\":\"TimmWrapperModel\""};
    static const char *const lost[] = {"head.", "attn_pool.", NULL};
    open_case all, *self = &all;
    svit_model *model = NULL;
    svit_model_config opened;
    char config[300];
    case_begin(self, "timm_pools");
    snprintf(config, sizeof config,
             "{\"architecture\":\"vit_tiny_patch16_224\",\"architectures\":%s,"
             "\"model_type\":\"timm_wrapper\",\"num_classes\":5,\"model_args\":{" ARGUMENTS "}}",
             classes[_i]);
    const svit_status status = case_open_without(self, &model, lost, config);
    ck_assert_int_eq(status, _i ? SVIT_E_FORMAT : SVIT_OK);
    if (_i) {
        ck_assert_ptr_nonnull(strstr(self->err.message, "there is no classifier"));
    } else {
        WORKS(svit_model_get_config(model, &opened, sizeof opened, err));
        ck_assert_int_eq(opened.classifier, 0);
    }
    svit_model_free(model);
    case_end(self);
}
END_TEST

/* With 0 timm's Block has no LayerScale, and its other blocks have one: the tensors tell. */
START_TEST(test_a_layer_scale_of_zeros_is_what_the_tensors_tell)
{
    static const struct zeros {
        const char *golden, *name, *arguments;
        bool has_scale;
    } ZEROS[] = {
        {"pretrained_timm_plain", "vit_tiny_patch16_224", "\"img_size\":[28,35],\"num_heads\":2",
         false},
        {"family_timm_dinov3", "vit_small_patch16_dinov3", "\"img_size\":[32,48],\"num_heads\":3",
         true},
        {"family_timm_rope_axial", "vit_small_patch16_rope_224",
         "\"img_size\":[32,48],\"num_heads\":3", true},
        {"family_timm_pwee", "vit_pwee_patch16_reg1_gap_256", "\"num_heads\":3", true},
        {"family_timm_dpwee", "vit_dpwee_patch16_reg1_gap_256", "\"patch_drop_rate\":0", true},
    };
    static const char *const none[] = {NULL};
    open_case all, *self = &all;
    svit_model *model = NULL;
    svit_model_config config;
    char text[300];
    for (size_t i = 0; i < sizeof ZEROS / sizeof *ZEROS; i++) {
        case_begin(self, ZEROS[i].golden);
        snprintf(text, sizeof text,
                 "{\"architecture\":\"%s\",\"model_args\":{%s,\"init_values\":0}}", ZEROS[i].name,
                 ZEROS[i].arguments);
        const svit_status status = case_open_without(self, &model, none, text);
        ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
        WORKS(svit_model_get_config(model, &config, sizeof config, err));
        ck_assert_int_eq(config.layer_scale, ZEROS[i].has_scale);
        ck_assert_double_le(case_difference(self, model), 1e-5);
        svit_model_free(model);
        case_end(self);
    }
}
END_TEST

/* A distilled model of timm may have registers, which no model of this library has beside the
 * distillation token. */
START_TEST(test_registers_beside_a_distillation_token_are_refused)
{
    static const int64_t TOKENS[] = {1, 2, 36};
    static own_tensor list[CASE_TENSORS];
    open_case all, *self = &all;
    svit_model *model = NULL;
    case_begin(self, "pretrained_timm_distilled");
    const size_t count = own_golden(list, self, "");
    list[count] = own("reg_token", 3, TOKENS, NULL);
    own_write(self, list, count + 1);
    own_free(list, count);
    case_text(self, "config.json",
              "{\"architecture\":\"deit_tiny_distilled_patch16_224\",\"model_args\":"
              "{\"num_heads\":3,\"reg_tokens\":2}}");
    FAILS(svit_model_open(&model, self->context, self->folder.path, NULL, NULL, err),
          SVIT_E_UNSUPPORTED, "registers beside a distillation token are not computed");
    case_end(self);
}
END_TEST

/* The distilled models of timm with fc_norm have neither norm before their heads. */
START_TEST(test_a_distilled_model_applies_no_norm_of_the_features)
{
    static own_tensor list[CASE_TENSORS];
    open_case all, *self = &all;
    svit_model *model = NULL;
    svit_model_config config;
    case_begin(self, "pretrained_timm_distilled");
    const size_t count = own_golden(list, self, "");
    for (size_t t = 0; t < count; t++)
        if (strncmp(list[t].name, "norm.", 5) == 0) {
            char name[160];
            snprintf(name, sizeof name, "fc_%.100s", list[t].name);
            strcpy(list[t].name, name);
        }
    own_write(self, list, count);
    own_free(list, count);
    case_text(self, "config.json",
              "{\"architecture\":\"deit_tiny_distilled_patch16_224\",\"model_args\":"
              "{\"num_heads\":3,\"fc_norm\":true}}");
    WORKS(case_open(self, &model, NULL));
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    ck_assert_int_eq(config.distilled, 1);
    ck_assert_int_eq(config.final_norm || config.head_norm, 0);
    svit_model_free(model);
    case_end(self);
}
END_TEST

/* The heads of a distilled model are left out together. */
START_TEST(test_a_distilled_model_opens_without_its_classifiers)
{
    open_case all, *self = &all;
    svit_model *model = NULL;
    svit_model_config config;
    case_begin(self, "pretrained_timm_distilled");
    case_weights(self, "");
    case_text(self, "config.json",
              "{\"architecture\":\"deit_tiny_distilled_patch16_224\",\"model_args\":"
              "{\"num_heads\":3}}");
    WORKS(case_open(self, &model, "{\"classifier\":false}"));
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    ck_assert_int_eq(config.distilled, 1);
    ck_assert_uint_eq(config.num_classes, config.dim);
    svit_model_free(model);
    case_end(self);
}
END_TEST

/* What is asked for is what the name does not tell. */
START_TEST(test_a_known_name_is_not_asked_for)
{
    static const char *const none[] = {NULL};
    open_case all, *self = &all;
    svit_model *model = NULL;
    case_begin(self, "family_timm_dinov3");
    ck_assert_int_eq(
        case_open_without(self, &model, none,
                          "{\"architecture\":\"vit_small_patch16_dinov3\",\"model_args\":"
                          "{\"num_heads\":3}}"),
        SVIT_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(self->err.message, ": state input_height"));
    case_end(self);
}
END_TEST

/* The heads of timm 1.0.31, most of whose models are too large for a file of tests. */
static const struct {
    const char *name;
    double heads;
} HEADS[] = {
    {"test_vit2", 2},
    {"test_vit3", 3},
    {"test_vit4", 3},
    {"vit_tiny_patch16_224", 3},
    {"vit_xsmall_patch16_clip_224", 4},
    {"flexivit_small", 6},
    {"vit_wee_patch16_reg1_gap_256", 4},
    {"vit_little_patch16_reg1_gap_256", 5},
    {"deit3_medium_patch16_224", 8},
    {"vit_betwixt_patch16_gap_256", 10},
    {"vit_base_patch32_224", 12},
    {"vit_base_patch16_gap_224", 16},
    {"vit_base_patch16_plus_240", 14},
    {"flexivit_large", 16},
    {"vit_so150m_patch16_reg4_gap_256", 14},
    {"vit_so150m2_patch16_reg1_gap_256", 13},
    {"vit_so400m_patch14_siglip_224", 16},
    {"vit_giantopt_patch16_siglip_256", 16},
    {"vit_gigantic_patch14_224", 16},
    {"vit_pe_core_gigantic_patch14_448", 16},
    {"eva_giant_patch14_224", 16},
    {"vit_giant_patch14_dinov2", 24},
    {"vit_giant_patch14_reg1_tipsv2", 24},
    {"vit_giant_patch16_lingbot", 24},
    {"vit_huge_patch14_224", 16},
    {"vit_huge_plus_patch16_dinov3", 20},
    {"vit_7b_patch16_dinov3", 32},
};

START_TEST(test_a_name_tells_the_heads)
{
    static sv_open open;
    memset(&open, 0, sizeof open);
    WORKS(sv_open_from_timm_name(&open, HEADS[_i].name, err));
    ck_assert_msg(sv_facts_value(&open.facts, "heads", 0) == HEADS[_i].heads, "%s: %g, not %g",
                  HEADS[_i].name, sv_facts_value(&open.facts, "heads", 0), HEADS[_i].heads);
}
END_TEST

/* What else timm 1.0.31 makes by the name; 0 where the model has no rotary positions, or their grid
 * is that of the input. */
static const struct {
    const char *name;
    int32_t pool, activation;
    double eps, theta, grid, offset;
} TOLD[] = {
    {"vit_base_patch32_224", SVIT_POOL_CLASS_TOKEN, SVIT_ACTIVATION_GELU, 1e-6, 0, 0, 0},
    {"vit_medium_patch16_gap_240", SVIT_POOL_MEAN_PATCHES, SVIT_ACTIVATION_GELU, 1e-6, 0, 0, 0},
    {"test_vit2", SVIT_POOL_MEAN_PATCHES, SVIT_ACTIVATION_GELU, 1e-6, 0, 0, 0},
    {"test_vit3", SVIT_POOL_ATTENTION, SVIT_ACTIVATION_GELU, 1e-6, 0, 0, 0},
    {"test_vit4", SVIT_POOL_MEAN_PATCHES, SVIT_ACTIVATION_GELU, 1e-6, 0, 0, 0},
    {"vit_base_patch16_clip_quickgelu_224", SVIT_POOL_CLASS_TOKEN, SVIT_ACTIVATION_QUICK_GELU, 1e-5,
     0, 0, 0},
    {"vit_base_patch16_siglip_224", SVIT_POOL_ATTENTION, SVIT_ACTIVATION_GELU, 1e-6, 0, 0, 0},
    {"vit_base_patch16_siglip_gap_224", SVIT_POOL_MEAN_PATCHES, SVIT_ACTIVATION_GELU, 1e-6, 0, 0,
     0},
    {"vit_base_patch32_siglip_256", SVIT_POOL_ATTENTION, SVIT_ACTIVATION_GELU_TANH, 1e-6, 0, 0, 0},
    {"vit_large_patch16_siglip_512", SVIT_POOL_ATTENTION, SVIT_ACTIVATION_GELU_TANH, 1e-6, 0, 0, 0},
    {"vit_giantopt_patch16_siglip_256", SVIT_POOL_ATTENTION, SVIT_ACTIVATION_GELU_TANH, 1e-6, 0, 0,
     0},
    {"vit_so400m_patch16_siglip_256", SVIT_POOL_ATTENTION, SVIT_ACTIVATION_GELU_TANH, 1e-6, 0, 0,
     0},
    {"vit_so400m_patch14_siglip_224", SVIT_POOL_ATTENTION, SVIT_ACTIVATION_GELU, 1e-6, 0, 0, 0},
    {"eva_giant_patch14_224", SVIT_POOL_MEAN_PATCHES, SVIT_ACTIVATION_GELU, 1e-6, 0, 0, 0},
    {"beit3_base_patch16_224", SVIT_POOL_MEAN_PATCHES, SVIT_ACTIVATION_GELU, 1e-5, 0, 0, 0},
    {"vit_pe_core_base_patch16_224", SVIT_POOL_ATTENTION, SVIT_ACTIVATION_GELU, 1e-5, 10000, 14, 1},
    {"vit_pe_core_large_patch14_336", SVIT_POOL_ATTENTION, SVIT_ACTIVATION_GELU, 1e-5, 10000, 24,
     1},
    {"vit_pe_core_gigantic_patch14_448", SVIT_POOL_ATTENTION, SVIT_ACTIVATION_GELU, 1e-5, 10000, 32,
     0},
    {"vit_pe_lang_large_patch14_448", SVIT_POOL_MEAN_PATCHES, SVIT_ACTIVATION_GELU, 1e-5, 10000, 32,
     1},
    {"vit_pe_spatial_base_patch16_512", SVIT_POOL_MEAN_PATCHES, SVIT_ACTIVATION_GELU, 1e-5, 10000,
     32, 1},
    {"eva02_base_patch14_224", SVIT_POOL_MEAN_PATCHES, SVIT_ACTIVATION_GELU, 1e-6, 10000, 16, 0},
    {"eva02_base_patch16_clip_224", SVIT_POOL_CLASS_TOKEN, SVIT_ACTIVATION_GELU, 1e-6, 10000, 16,
     0},
    {"vit_small_patch16_rope_224", SVIT_POOL_CLASS_TOKEN, SVIT_ACTIVATION_GELU, 1e-6, 100, 0, 0},
    {"vit_small_patch16_rope_mixed_224", SVIT_POOL_CLASS_TOKEN, SVIT_ACTIVATION_GELU, 1e-6, 10, 0,
     0},
    {"vit_base_patch16_rope_reg1_gap_256", SVIT_POOL_MEAN_PATCHES, SVIT_ACTIVATION_GELU, 1e-6,
     10000, 16, 0},
    {"vit_base_patch16_dinov3", SVIT_POOL_MEAN_PATCHES, SVIT_ACTIVATION_GELU, 1e-5, 100, 0, 0},
    {"vit_giant_patch16_lingbot", SVIT_POOL_CLASS_TOKEN, SVIT_ACTIVATION_GELU, 1e-5, 100, 0, 0},
};

START_TEST(test_a_name_tells_what_no_tensor_does)
{
    static sv_open open;
    memset(&open, 0, sizeof open);
    WORKS(sv_open_from_timm_name(&open, TOLD[_i].name, err));
    ck_assert_double_eq(sv_facts_value(&open.facts, "pool", 0), TOLD[_i].pool);
    ck_assert_double_eq(sv_facts_value(&open.facts, "activation", -1), TOLD[_i].activation);
    ck_assert_double_eq(sv_facts_value(&open.facts, "norm_eps", 0), TOLD[_i].eps);
    ck_assert_double_eq(sv_facts_value(&open.facts, "rope_theta", 0), TOLD[_i].theta);
    ck_assert_double_eq(sv_facts_value(&open.facts, "rope_height", 0), TOLD[_i].grid);
    ck_assert_double_eq(sv_facts_value(&open.facts, "rope_width", 0), TOLD[_i].grid);
    ck_assert_double_eq(sv_facts_value(&open.facts, "rope_offset", 0), TOLD[_i].offset);
}
END_TEST

/* What models of timm 1.0.31 have unless they are made with other arguments. */
static const struct {
    const char *name, *field;
    double value;
} USUAL[] = {
    {"vit_tiny_patch16_224", "depth", 12},
    {"vit_xsmall_patch16_clip_224", "depth", 10},
    {"vit_wee_patch16_reg1_gap_256", "depth", 14},
    {"vit_pwee_patch16_reg1_gap_256", "depth", 16},
    {"vit_dpwee_patch16_reg1_gap_256", "depth", 16},
    {"vit_little_patch16_reg1_gap_256", "depth", 14},
    {"vit_mediumd_patch16_reg4_gap_256", "depth", 20},
    {"vit_large_patch16_224", "depth", 24},
    {"vit_huge_patch14_224", "depth", 32},
    {"vit_giant_patch14_224", "depth", 40},
    {"vit_gigantic_patch14_224", "depth", 48},
    {"vit_so150m_patch16_reg4_gap_256", "depth", 18},
    {"vit_so150m2_patch16_reg1_gap_256", "depth", 21},
    {"vit_so400m_patch14_siglip_224", "depth", 27},
    {"vit_small_patch16_36x1_224", "depth", 36},
    {"vit_7b_patch16_dinov3", "depth", 40},
    {"vit_tiny_patch16_224", "qkv_bias", 1},
    {"vit_base_patch16_224_miil", "qkv_bias", 0},
    {"vit_medium_patch16_gap_240", "qkv_bias", 0},
    {"vit_betwixt_patch16_gap_256", "qkv_bias", 0},
    {"vit_so150m2_patch16_reg1_gap_256", "qkv_bias", 0},
    {"vit_small_patch16_dinov3", "qkv_bias", 0},
    {"vit_base_patch16_xp_224", "qkv_bias", 0},
    {"vit_wee_patch16_reg1_gap_256", "layer_scale", 1},
    {"vit_little_patch16_reg1_gap_256", "layer_scale", 1},
    {"vit_medium_patch16_gap_240", "layer_scale", 1},
    {"vit_betwixt_patch16_gap_256", "layer_scale", 1},
    {"vit_so150m2_patch16_reg1_gap_256", "layer_scale", 1},
    {"vit_small_patch16_36x1_224", "layer_scale", 1},
    {"deit3_base_patch16_224", "layer_scale", 1},
    {"vit_base_patch14_dinov2", "layer_scale", 1},
    {"vit_giant_patch14_reg1_tipsv2", "layer_scale", 1},
    {"vit_small_patch16_dinov3", "layer_scale", 1},
    {"vit_small_patch16_rope_224", "layer_scale", 1},
    {"vit_base_patch16_rope_reg1_gap_256", "layer_scale", 1},
    {"vit_base_patch16_plus_240", "layer_scale", 1},
    {"vit_small_patch16_lingbot", "layer_scale", 1},
    {"vit_pe_lang_large_patch14_448", "layer_scale", 1},
    {"vit_pe_spatial_gigantic_patch14_448", "layer_scale", 1},
    {"test_vit2", "layer_scale", 1},
    {"eva02_base_patch14_224", "mlp_norm", 1},
    {"eva02_large_patch14_224", "mlp_norm", 1},
    {"beit3_base_patch16_224", "mlp_norm", 1},
    {"beit3_base_patch16_224", "attention_norm", 1},
    {"vit_small_patch16_dinov3", "class_token", SVIT_CLASS_TOKEN_PRESENT},
    {"vit_small_patch16_dinov3", "register_tokens", 4},
};

/* Opens no file: the fields are what its tensors would tell. */
START_TEST(test_what_is_unusual_for_a_name_is_a_warning)
{
    static sv_open open;
    open_case all, *self = &all;
    const double value = USUAL[_i].value;
    case_begin(self, "timm_pools");
    for (int is_other = 0; is_other < 2; is_other++) {
        const double told = !is_other ? value : value > 1 ? value - 1 : 1 - value;
        memset(&open, 0, sizeof open);
        open.context = self->context;
        WORKS(sv_facts_state(&open.facts, USUAL[_i].field, told, err, SV_OPEN_TENSORS));
        sv_open_compare_with_usual(&open, USUAL[_i].name);
        ck_assert_msg(self->warnings == (unsigned)is_other, "%s: %s %g gives %u warnings",
                      USUAL[_i].name, USUAL[_i].field, told, self->warnings);
    }
    case_end(self);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("open_timm");
    TCase *c = tcase_create("open_timm");
    tcase_add_loop_test(c, test_a_pooling_takes_the_tokens_that_timms_takes, 0,
                        sizeof POOLINGS / sizeof *POOLINGS);
    tcase_add_loop_test(c, test_a_name_with_attention_pooling_may_have_another, 0, 2);
    tcase_add_loop_test(c, test_the_base_of_rotary_positions_may_be_stated, 0, 2);
    tcase_add_loop_test(c, test_a_wrapped_model_without_its_classifier_opens, 0, 3);
    tcase_add_test(c, test_a_layer_scale_of_zeros_is_what_the_tensors_tell);
    tcase_add_test(c, test_registers_beside_a_distillation_token_are_refused);
    tcase_add_test(c, test_a_distilled_model_applies_no_norm_of_the_features);
    tcase_add_test(c, test_a_distilled_model_opens_without_its_classifiers);
    tcase_add_test(c, test_a_known_name_is_not_asked_for);
    tcase_add_loop_test(c, test_a_name_tells_the_heads, 0, sizeof HEADS / sizeof *HEADS);
    tcase_add_loop_test(c, test_what_is_unusual_for_a_name_is_a_warning, 0,
                        sizeof USUAL / sizeof *USUAL);
    tcase_add_loop_test(c, test_a_name_tells_what_no_tensor_does, 0, sizeof TOLD / sizeof *TOLD);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
