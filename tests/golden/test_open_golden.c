/* Opens the checkpoints of each family by what lies beside the weights, and compares the logits
 * with those of their own code in float64. */
#include "open_case.h"
#include "suite.h"

/* A golden file, the JSON beside its weights, and what the caller has to state. */
static const struct family {
    const char *golden, *file, *text, *fields;
} FAMILIES[] = {
    {"pretrained_hf_vit", "config.json",
     "{\"architectures\":[\"ViTForImageClassification\"],\"model_type\":\"vit\",\"hidden_size\":32,"
     "\"num_hidden_layers\":3,\"num_attention_heads\":2,\"intermediate_size\":96,\"image_size\":28,"
     "\"patch_size\":7,\"layer_norm_eps\":1e-12,\"hidden_act\":\"gelu\",\"num_channels\":3}",
     NULL},
    /* What is the type's default may be absent. */
    {"pretrained_hf_vit", "config.json",
     "{\"model_type\":\"vit\",\"num_attention_heads\":2,\"patch_size\":7}", NULL},
    {"pretrained_hf_vit", "config.json",
     "{\"model_type\":\"vit\",\"num_attention_heads\":2,\"patch_size\":[7,7]}", NULL},
    /* The caller's word counts whatever a file states. */
    {"pretrained_hf_vit", "config.json",
     "{\"model_type\":\"vit\",\"num_attention_heads\":2,\"patch_size\":7,\"layer_norm_eps\":0}",
     "{\"norm_eps\":1e-12}"},
    {"pretrained_hf_dinov2", "config.json",
     "{\"architectures\":[\"Dinov2ForImageClassification\"],\"model_type\":\"dinov2\","
     "\"num_attention_heads\":4,\"image_size\":42,\"patch_size\":14}",
     NULL},
    {"pretrained_hf_dinov2_reg_swiglu", "config.json",
     "{\"architectures\":[\"Dinov2WithRegistersForImageClassification\"],\"model_type\":"
     "\"dinov2_with_registers\",\"num_attention_heads\":3,\"image_size\":28,\"patch_size\":14,"
     "\"use_swiglu_ffn\":true,\"num_register_tokens\":3}",
     NULL},
    {"pretrained_hf_clip", "config.json",
     "{\"architectures\":[\"CLIPVisionModel\"],\"model_type\":\"clip_vision_model\","
     "\"num_attention_heads\":4,\"image_size\":32,\"patch_size\":8}",
     NULL},
    {"pretrained_hf_clip", "config.json",
     "{\"architectures\":[\"CLIPModel\"],\"model_type\":\"clip\",\"vision_config\":"
     "{\"num_attention_heads\":4,\"patch_size\":8}}",
     NULL},
    {"pretrained_hf_clip", "config.json",
     "{\"architectures\":[\"CLIPModel\"],\"model_type\":\"clip\",\"vision_config\":"
     "{\"num_attention_heads\":2,\"patch_size\":8,\"hidden_act\":\"gelu\"},"
     "\"vision_config_dict\":{\"num_attention_heads\":4,\"patch_size\":8}}",
     NULL},
    {"pretrained_hf_clip", "config.json",
     "{\"architectures\":[\"MetaClip2VisionModel\"],\"model_type\":\"metaclip_2_vision_model\","
     "\"num_attention_heads\":4,\"image_size\":32,\"patch_size\":8}",
     NULL},
    {"pretrained_hf_clip", "config.json",
     "{\"architectures\":[\"ChineseCLIPModel\"],\"model_type\":\"chinese_clip\",\"vision_config\":"
     "{\"num_attention_heads\":4,\"patch_size\":8}}",
     NULL},
    {"pretrained_hf_clip", "config.json",
     "{\"architectures\":[\"AltCLIPModel\"],\"model_type\":\"altclip\",\"vision_config\":"
     "{\"num_attention_heads\":2,\"patch_size\":8},\"vision_config_dict\":"
     "{\"num_attention_heads\":4,\"patch_size\":8}}",
     NULL},
    {"family_hf_ijepa", "config.json",
     "{\"architectures\":[\"IJepaForImageClassification\"],\"model_type\":\"ijepa\","
     "\"num_attention_heads\":2,\"image_size\":[16,24],\"patch_size\":8}",
     NULL},
    {"pretrained_openclip", "open_clip_config.json",
     "{\"model_cfg\":{\"embed_dim\":10,\"quick_gelu\":true,\"vision_cfg\":{\"image_size\":32,"
     "\"layers\":2,\"width\":40,\"head_width\":10,\"patch_size\":8}}}",
     NULL},
    {"pretrained_timm_plain", "config.json",
     "{\"architecture\":\"vit_tiny_patch16_224\",\"global_pool\":\"token\",\"model_args\":"
     "{\"img_size\":[28,35],\"num_heads\":2,\"patch_size\":7}}",
     NULL},
    {"pretrained_timm_distilled", "config.json",
     "{\"architecture\":\"deit_tiny_distilled_patch16_224\",\"model_args\":{\"num_heads\":3}}",
     NULL},
    {"pretrained_timm_dinov2", "config.json",
     "{\"architecture\":\"vit_small_patch14_dinov2\",\"model_args\":{\"num_heads\":4},"
     "\"pretrained_cfg\":{\"input_size\":[3,42,28]}}",
     NULL},
    {"pretrained_timm_dinov2_reg", "config.json",
     "{\"architecture\":\"vit_small_patch14_reg4_dinov2\",\"model_args\":{\"num_heads\":3,\"reg_"
     "tokens\":2}}",
     NULL},
    {"pretrained_timm_clip", "config.json",
     "{\"architecture\":\"vit_base_patch32_clip_quickgelu_224\",\"model_args\":{\"num_heads\":4,"
     "\"img_size\":[32,40]}}",
     NULL},
    {"pretrained_timm_mean", "config.json",
     "{\"architecture\":\"vit_tiny_patch16_224\",\"global_pool\":\"avg\",\"model_args\":"
     "{\"num_heads\":2,\"img_size\":[36,48]}}",
     "{\"activation\":\"gelu-tanh\"}"},
    {"pretrained_timm_mean", "config.json",
     "{\"architecture\":\"vit_tiny_patch16_224\",\"model_args\":"
     "{\"num_heads\":2,\"img_size\":[36,48],\"global_pool\":\"avg\"}}",
     "{\"activation\":\"gelu-tanh\"}"},
    {"pretrained_timm_swiglu", "config.json",
     "{\"architecture\":\"vit_tiny_patch16_224\",\"model_args\":{\"num_heads\":3,\"img_size\":"
     "[28,42]}}",
     NULL},
    {"family_timm_rope_axial", "config.json",
     "{\"architecture\":\"vit_small_patch16_rope_224\",\"global_pool\":\"token\",\"model_args\":"
     "{\"img_size\":[32,48],\"num_heads\":3}}",
     NULL},
    {"family_timm_rope_mixed", "config.json",
     "{\"architecture\":\"vit_small_patch16_rope_mixed_224\",\"model_args\":{\"img_size\":32}}",
     NULL},
    {"family_timm_dinov3", "config.json",
     "{\"architecture\":\"vit_small_patch16_dinov3\",\"model_args\":{\"img_size\":[32,48],"
     "\"num_heads\":3}}",
     NULL},
    {"family_timm_eva02", "config.json",
     "{\"architecture\":\"eva02_tiny_patch14_224\",\"model_args\":{\"img_size\":[28,42],"
     "\"num_heads\":3}}",
     NULL},
    {"family_timm_rope_reg_gap", "config.json",
     "{\"architecture\":\"vit_medium_patch16_rope_reg1_gap_256\",\"model_args\":{\"img_size\":32,"
     "\"num_heads\":3}}",
     NULL},
    {"family_timm_dinov3_plus", "config.json",
     "{\"architecture\":\"vit_small_plus_patch16_dinov3\",\"model_args\":{\"img_size\":32,"
     "\"num_heads\":3}}",
     NULL},
    {"family_timm_eva02_base", "config.json",
     "{\"architecture\":\"eva02_base_patch14_448\",\"model_args\":{\"img_size\":28,\"num_heads\":3}"
     "}",
     NULL},
    {"family_timm_pe_core", "config.json",
     "{\"architecture\":\"vit_pe_core_tiny_patch16_384\",\"model_args\":{\"img_size\":32,"
     "\"num_heads\":3}}",
     NULL},
    {"family_hf_dinov3", "config.json",
     "{\"architectures\":[\"DINOv3ViTModel\"],\"model_type\":\"dinov3_vit\",\"num_attention_"
     "heads\":"
     "3,\"image_size\":32,\"patch_size\":8}",
     NULL},
    {"family_timm_reg_gap", "config.json",
     "{\"architecture\":\"vit_medium_patch16_reg4_gap_256\",\"model_args\":{\"img_size\":[32,48],"
     "\"num_heads\":3}}",
     NULL},
    {"family_timm_siglip", "config.json",
     "{\"architecture\":\"vit_base_patch16_siglip_224\",\"model_args\":{\"num_heads\":3}}", NULL},
    {"family_hf_siglip", "config.json",
     "{\"architectures\":[\"SiglipVisionModel\"],\"model_type\":\"siglip_vision_model\","
     "\"num_attention_heads\":3,\"image_size\":32,\"patch_size\":8}",
     NULL},
    {"family_timm_dpwee", "config.json", "{\"architecture\":\"vit_dpwee_patch16_reg1_gap_256\"}",
     NULL},
    {"family_timm_dwee", "config.json",
     "{\"architecture\":\"vit_dwee_patch16_reg1_gap_256\",\"model_args\":{\"img_size\":[32,48]}}",
     NULL},
    {"family_timm_pwee", "config.json",
     "{\"architecture\":\"vit_pwee_patch16_reg1_gap_256\",\"model_args\":{\"num_heads\":3}}", NULL},
    {"family_timm_xp", "config.json",
     "{\"architecture\":\"vit_base_patch16_xp_224\",\"model_args\":{\"img_size\":[32,48]}}", NULL},
};
enum { FAMILY_COUNT = sizeof FAMILIES / sizeof *FAMILIES };

START_TEST(test_families_open_by_their_files)
{
    open_case all, *self = &all;
    case_begin(self, FAMILIES[_i].golden);
    case_weights(self, "");
    case_text(self, FAMILIES[_i].file, FAMILIES[_i].text);
    case_agrees(self, FAMILIES[_i].fields);
    case_end(self);
}
END_TEST

/* Writes the kind of a tensor: its name, with a star for the number of its block, without its last
 * part where that of its whole layer is wanted. */
static void kind_of(char out[160], const char *name, bool of_layer)
{
    size_t length = 0;
    for (size_t i = 0; name[i] && length < 159; i++) {
        const bool is_number = name[i] >= '0' && name[i] <= '9' && i > 0 && name[i - 1] == '.';
        out[length++] = is_number ? '*' : name[i];
        while (is_number && name[i + 1] >= '0' && name[i + 1] <= '9')
            i++;
    }
    out[length] = '\0';
    if (of_layer && strrchr(out, '.'))
        *strrchr(out, '.') = '\0';
}

/* Writes the family's weights without one kind of tensor. */
static void write_without(open_case *self, const own_tensor *list, size_t count, const char *kind,
                          bool of_layer)
{
    static own_tensor kept[CASE_TENSORS];
    size_t left = 0;
    char other[160];
    for (size_t i = 0; i < count; i++) {
        kind_of(other, list[i].name, of_layer);
        if (strcmp(other, kind) != 0)
            kept[left++] = list[i];
    }
    own_write(self, kept, left);
}

/* Whether no model uses tensors of the kind, or a configuration would tell that they are lost: it
 * states registers, and that there is a classifier. */
static bool is_unused(const char *kind)
{
    static const char *const kinds[] = {"embeddings.register_tokens", "head", "classifier"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i], kind) == 0)
            return true;
    return strstr(kind, "mask_token") != NULL;
}

/* A file that has lost all tensors or layers of one kind is not opened as another model without a
 * word. */
START_TEST(test_what_is_lost_is_missed)
{
    static own_tensor list[CASE_TENSORS];
    open_case all, *self = &all;
    const bool of_layer = _i >= FAMILY_COUNT;
    const struct family *of = &FAMILIES[_i % FAMILY_COUNT];
    char kind[160], other[160];
    case_begin(self, of->golden);
    case_text(self, of->file, of->text);
    const size_t count = own_golden(list, self, "");
    own_write(self, list, count);
    self->warnings = 0;
    case_agrees(self, of->fields);
    const unsigned usual = self->warnings;
    for (size_t i = 0; i < count; i++) {
        bool is_first = true;
        svit_model *model = NULL;
        kind_of(kind, list[i].name, of_layer);
        for (size_t k = 0; k < i && is_first; k++) {
            kind_of(other, list[k].name, of_layer);
            is_first = strcmp(kind, other) != 0;
        }
        if (!is_first)
            continue;
        write_without(self, list, count, kind, of_layer);
        self->warnings = 0;
        const svit_status status = case_open(self, &model, of->fields);
        ck_assert_msg(status != SVIT_OK || self->warnings > usual || is_unused(kind),
                      "%s without %s: %d (%s)", of->golden, kind, (int)status, self->err.message);
        svit_model_free(model);
    }
    own_free(list, count);
    case_end(self);
}
END_TEST

/* Two of timm's Perception Encoders have no norm behind their blocks, which their names tell. */
START_TEST(test_a_name_tells_of_no_norm)
{
    static const char *const names[] = {"vit_pe_spatial_tiny_patch16_512",
                                        "vit_pe_lang_large_patch14_448"};
    static const char *const lost[] = {"norm.", "attn_pool.", "head.", NULL};
    open_case all, *self = &all;
    svit_model *model = NULL;
    svit_model_config config;
    char text[200];
    case_begin(self, "family_timm_pe_core");
    snprintf(text, sizeof text,
             "{\"architecture\":\"%s\",\"model_args\":{\"img_size\":32,\"num_heads\":3}}",
             names[_i]);
    const svit_status status = case_open_without(self, &model, lost, text);
    ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    ck_assert_int_eq(config.final_norm || config.head_norm, 0);
    svit_model_free(model);
    case_end(self);
}
END_TEST

/* What the caller says is not compared with a configuration. */
START_TEST(test_the_caller_has_the_last_word)
{
    static const struct word {
        const char *members, *arguments, *fields;
        uint32_t classes;
    } words[] = {{"\"num_classes\":1000,", "", "{\"num_classes\":7}", 7},
                 {"\"num_classes\":1000,", "", "{\"classifier\":false}", 32},
                 {"\"num_classes\":7,", "", "{\"classifier\":false}", 32},
                 {"", ",\"mlp_ratio\":4", "{\"mlp_dim\":96}", 7}};
    const struct word *of = &words[_i];
    open_case all, *self = &all;
    svit_model *model = NULL;
    svit_model_config config;
    char text[300];
    case_begin(self, "pretrained_timm_plain");
    case_weights(self, "");
    snprintf(text, sizeof text,
             "{\"architecture\":\"vit_tiny_patch16_224\",%s\"model_args\":"
             "{\"num_heads\":2,\"img_size\":[28,35]%s}}",
             of->members, of->arguments);
    case_text(self, "config.json", text);
    const svit_status status = case_open(self, &model, of->fields);
    ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    ck_assert_uint_eq(config.num_classes, of->classes);
    svit_model_free(model);
    case_end(self);
}
END_TEST

/* Without a configuration timm's name tells the same, and the caller's fields too. */
START_TEST(test_a_name_or_fields_take_the_place_of_files)
{
    open_case all, *self = &all;
    svit_model *model = NULL;
    svit_open_options options = {.struct_size = sizeof options,
                                 .name = "vit_tiny_patch16_224",
                                 .fields = "{\"heads\":3,\"patch_size\":8}"};
    case_begin(self, "pretrained_timm_distilled");
    case_weights(self, "");
    WORKS(svit_model_open(&model, self->context, self->folder.path, &options, NULL, err));
    ck_assert_double_le(case_difference(self, model), 1e-5);
    svit_model_free(model);
    case_agrees(self, "{\"heads\":3,\"norm_eps\":1e-6,\"activation\":\"gelu\",\"pool\":"
                      "\"class_token\"}");
    case_end(self);
}
END_TEST

/* The report names every field that is known and what tells it. */
START_TEST(test_the_report_explains)
{
    static const char *const lines[] = {
        "field heads 2 config.json: num_attention_heads\n", "field dim 32 the tensors\n",
        "field norm_eps 1e-12 what model_type 'vit' implies\n",
        "field pool 'class_token' the class vit\n", "field activation 'gelu' vit\n"};
    open_case all, *self = &all;
    svit_model *model = NULL;
    char text[8192];
    svit_load_report report = {.struct_size = sizeof report, .text = text, .capacity = sizeof text};
    case_begin(self, "pretrained_hf_vit");
    case_weights(self, "");
    case_text(self, "config.json", FAMILIES[1].text);
    WORKS(svit_model_open(&model, self->context, self->folder.path, NULL, &report, err));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        ck_assert_msg(strstr(text, lines[i]) != NULL, "no '%s' in %s", lines[i], text);
    ck_assert_uint_eq(report.loaded, svit_model_parameter_count(model));
    svit_model_free(model);
    case_end(self);
}
END_TEST

/* A file of this library is opened by its own configuration, whatever lies beside it. */
START_TEST(test_own_files_are_opened)
{
    open_case all, *self = &all;
    svit_model *model = NULL, *again = NULL;
    case_begin(self, "pretrained_hf_vit");
    case_weights(self, "");
    case_text(self, "config.json", FAMILIES[0].text);
    WORKS(case_open(self, &model, NULL));
    WORKS(svit_model_save(model, fit_path(&self->folder, "best.safetensors"), err));
    WORKS(case_open(self, &again, NULL));
    ck_assert_double_le(case_difference(self, again), 1e-5);
    svit_model_free(model);
    svit_model_free(again);
    case_end(self);
}
END_TEST

static Suite *open_golden_suite(void)
{
    Suite *suite = suite_create("open_golden");
    TCase *tcase = tcase_create("open");
    tcase_add_loop_test(tcase, test_families_open_by_their_files, 0, FAMILY_COUNT);
    tcase_add_loop_test(tcase, test_a_name_tells_of_no_norm, 0, 2);
    tcase_add_loop_test(tcase, test_the_caller_has_the_last_word, 0, 4);
    tcase_add_loop_test(tcase, test_what_is_lost_is_missed, 0, 2 * FAMILY_COUNT);
    tcase_add_test(tcase, test_a_name_or_fields_take_the_place_of_files);
    tcase_add_test(tcase, test_the_report_explains);
    tcase_add_test(tcase, test_own_files_are_opened);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(open_golden_suite)
