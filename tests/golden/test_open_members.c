/* Each member of each file beside the weights is left out, and then replaced by each of a list of
 * values of every kind. The checkpoint is refused with a message that names its place, or it
 * computes what the whole files say: only members that the tensors cannot contradict may change the
 * logits. */
#include "open_case.h"
#include "suite.h"

enum { MEMBERS = 14, TEXT = 2000 };

/* A member with its value. `tells`: the tensors do not show it, so that another value is another
 * model. */
typedef struct member {
    const char *key, *value;
    bool tells;
} member;

/* Members of which one value is another model, which it has to be: all the rest are refused or
 * change nothing. */
static const char *const OTHERS[][2] = {{"pool_type", "\"avg\""}};

/* A file beside the weights of a golden file: the members stand where `around` has its %s. `second`
 * is another file, which stays as it is. */
static const struct described {
    const char *golden, *file, *around, *second[2];
    member members[MEMBERS];
} FILES[] = {
    {"pretrained_hf_vit",
     "config.json",
     "{%s}",
     {NULL},
     {{"architectures", "[\"ViTForImageClassification\"]", true},
      {"model_type", "\"vit\"", true},
      {"hidden_size", "32", false},
      {"num_hidden_layers", "3", false},
      {"num_attention_heads", "2", true},
      {"intermediate_size", "96", false},
      {"image_size", "28", true},
      {"patch_size", "7", false},
      {"layer_norm_eps", "1e-12", true},
      {"hidden_act", "\"gelu\"", true},
      {"num_channels", "3", false},
      {"id2label", "{\"0\":\"a\",\"1\":\"b\"}", false},
      {"problem_type", "\"regression\"", false}}},
    {"pretrained_hf_dinov2_reg_swiglu",
     "config.json",
     "{\"model_type\":\"dinov2_with_registers\",%s}",
     {NULL},
     {{"architectures", "[\"Dinov2WithRegistersForImageClassification\"]", true},
      {"num_attention_heads", "3", true},
      {"image_size", "28", true},
      {"patch_size", "14", false},
      {"use_swiglu_ffn", "true", false},
      {"num_register_tokens", "3", false},
      {"mlp_ratio", "4", false},
      {"layerscale_value", "1.0", false},
      {"layer_norm_eps", "1e-6", true}}},
    {"pretrained_hf_clip",
     "config.json",
     "{\"model_type\":\"clip\",\"vision_config\":{%s}}",
     {NULL},
     {{"num_attention_heads", "4", true},
      {"patch_size", "8", false},
      {"image_size", "32", true},
      {"projection_dim", "10", false},
      {"hidden_act", "\"quick_gelu\"", true},
      {"layer_norm_eps", "1e-5", true}}},
    {"pretrained_hf_clip",
     "config.json",
     "{\"architectures\":[\"CLIPModel\"],%s}",
     {NULL},
     {{"model_type", "\"clip\"", true},
      {"vision_config", "{\"num_attention_heads\":4,\"patch_size\":8}", true}}},
    {"family_hf_siglip",
     "config.json",
     "{\"model_type\":\"siglip_vision_model\",%s}",
     {NULL},
     {{"num_attention_heads", "3", true},
      {"image_size", "32", true},
      {"num_patches", "16", true},
      {"patch_size", "8", false},
      {"hidden_act", "\"gelu_pytorch_tanh\"", true},
      {"vision_use_head", "true", true}}},
    {"family_hf_dinov3",
     "config.json",
     "{\"model_type\":\"dinov3_vit\",%s}",
     {NULL},
     {{"num_attention_heads", "3", true},
      {"image_size", "32", true},
      {"patch_size", "8", false},
      {"use_gated_mlp", "false", true},
      {"hidden_act", "\"gelu\"", true},
      {"key_bias", "false", false},
      {"rope_theta", "100.0", true},
      {"layer_norm_eps", "1e-5", true}}},
    {"pretrained_timm_plain",
     "config.json",
     "{%s}",
     {NULL},
     {{"architecture", "\"vit_tiny_patch16_224\"", true},
      {"global_pool", "\"token\"", true},
      {"num_classes", "7", false},
      {"num_features", "192", false},
      {"label_names", "[\"a\",\"b\"]", false},
      {"model_args", "{\"img_size\":[28,35],\"num_heads\":2,\"patch_size\":7}", true}}},
    {"pretrained_timm_plain",
     "config.json",
     "{\"architecture\":\"vit_tiny_patch16_224\",\"model_args\":{%s}}",
     {NULL},
     {{"img_size", "[28,35]", true},
      {"num_heads", "2", true},
      {"patch_size", "7", false},
      {"embed_dim", "32", false},
      {"depth", "3", false},
      {"num_classes", "10", false},
      {"mlp_ratio", "3.0", false},
      {"qkv_bias", "true", false},
      {"class_token", "true", false},
      {"in_chans", "3", false},
      {"no_embed_class", "false", false},
      {"global_pool", "\"token\"", true}}},
    {"pretrained_timm_dinov2",
     "config.json",
     "{\"architecture\":\"vit_small_patch14_dinov2\",\"model_args\":{\"num_heads\":4},"
     "\"pretrained_cfg\":{%s}}",
     {NULL},
     {{"input_size", "[3,42,28]", true},
      {"mean", "[0.5,0.5,0.5]", false},
      {"std", "[0.5,0.5,0.5]", false},
      {"interpolation", "\"bicubic\"", false},
      {"crop_pct", "0.9", false},
      {"crop_mode", "\"center\"", false},
      {"tag", "\"lvd142m\"", false}}},
    {"pretrained_openclip",
     "open_clip_config.json",
     "{\"model_cfg\":{\"embed_dim\":10,\"quick_gelu\":true,\"vision_cfg\":{%s}}}",
     {NULL},
     {{"image_size", "32", true},
      {"layers", "2", false},
      {"width", "40", false},
      {"head_width", "10", true},
      {"patch_size", "8", false},
      {"mlp_ratio", "4.0", false},
      {"pool_type", "\"tok\"", false},
      {"final_ln_after_pool", "false", false},
      {"no_ln_pre", "false", false},
      {"norm_kwargs", "{}", false},
      {"act_kwargs", "null", false},
      {"qk_norm", "false", false},
      {"attentional_pool", "false", false},
      {"timm_model_name", "null", false}}},
    {"pretrained_openclip",
     "open_clip_config.json",
     "{\"model_cfg\":{\"quick_gelu\":true,\"vision_cfg\":{\"head_width\":10,\"width\":40,"
     "\"image_size\":32}},\"preprocess_cfg\":{%s}}",
     {NULL},
     {{"mean", "[0.5,0.5,0.5]", false},
      {"std", "[0.5,0.5,0.5]", false},
      {"interpolation", "\"bicubic\"", false},
      {"resize_mode", "\"shortest\"", false},
      {"mode", "\"RGB\"", false},
      {"size", "[32,32]", false}}},
    {"pretrained_openclip",
     "open_clip_config.json",
     "{\"model_cfg\":{%s}}",
     {NULL},
     {{"embed_dim", "10", false},
      {"quick_gelu", "true", true},
      {"vision_cfg", "{\"head_width\":10,\"width\":40,\"image_size\":32}", true}}},
    {"pretrained_hf_vit",
     "preprocessor_config.json",
     "{%s}",
     {"config.json", "{\"model_type\":\"vit\",\"num_attention_heads\":2,\"patch_size\":7,"
                     "\"image_size\":28}"},
     {{"size", "{\"height\":28,\"width\":28}", true},
      {"crop_size", "28", true},
      {"do_resize", "true", false},
      {"do_rescale", "true", false},
      {"do_normalize", "true", false},
      {"do_center_crop", "true", false},
      {"do_pad", "false", false},
      {"default_to_square", "true", false},
      {"image_mean", "[0.5,0.5,0.5]", false},
      {"image_std", "[0.5,0.5,0.5]", false},
      {"resample", "3", false},
      {"rescale_factor", "0.00392156862745098", false},
      {"image_processor_type", "\"ViTImageProcessor\"", false}}},
    {"pretrained_hf_vit",
     "model.safetensors.index.json",
     "{\"metadata\":{},%s}",
     {"config.json", "{\"model_type\":\"vit\",\"num_attention_heads\":2,\"patch_size\":7,"
                     "\"image_size\":28}"},
     {{"weight_map", "{\"classifier.weight\":\"model.safetensors\"}", false}}},
};
enum { FILE_COUNT = sizeof FILES / sizeof *FILES };

/* What takes a value's place; NULL leaves the member out. */
static const char *const VALUES[] = {NULL,
                                     "null",
                                     "true",
                                     "false",
                                     "0",
                                     "1",
                                     "2",
                                     "3",
                                     "7",
                                     "14",
                                     "40",
                                     "64",
                                     "-1",
                                     "0.5",
                                     "1e30",
                                     "1e-320",
                                     "\"\"",
                                     "\"text\"",
                                     "\"avg\"",
                                     "\"map\"",
                                     "\"\\u0000\"",
                                     "\"bilinear\"",
                                     "\"squash\"",
                                     "\"border\"",
                                     "\"longest\"",
                                     "\"silu\"",
                                     "\"vit_small_patch16_224\"",
                                     "[]",
                                     "[1]",
                                     "[28,28]",
                                     "[3,28,28]",
                                     "[3,-1,\"a\"]",
                                     "[\"a\",\"b\",\"c\"]",
                                     "[0,0,0]",
                                     "{}",
                                     "{\"0\":\"a\"}",
                                     "{\"height\":40,\"width\":30}",
                                     "{\"height\":\"a\"}",
                                     "{\"height\":28}",
                                     "{\"shortest_edge\":9000}",
                                     "{\"height\":28,\"width\":9000}",
                                     "{\"height\":28,\"width\":4}",
                                     "[\"a\",28]",
                                     "[28,\"a\"]",
                                     "{\"shortest_edge\":40}",
                                     "{\"shortest_edge\":4}"};
enum { VALUE_COUNT = sizeof VALUES / sizeof *VALUES };

/* The members, the one of number `changed` with another value. */
static void write_file(const open_case *self, const struct described *of, size_t changed,
                       const char *value)
{
    char members[TEXT] = "", text[TEXT];
    for (size_t i = 0; i < MEMBERS && of->members[i].key; i++) {
        const char *now = i == changed ? value : of->members[i].value;
        const size_t length = strlen(members);
        if (now)
            snprintf(members + length, sizeof members - length, "%s\"%s\":%s",
                     length > 0 ? "," : "", of->members[i].key, now);
    }
    if (members[0] == '\0') /* a comma before it stays right */
        snprintf(members, sizeof members, "\"nothing\":0");
    snprintf(text, sizeof text, of->around, members);
    case_text(self, of->file, text);
}

/* Whether the members describe preprocessing: the model opens without what is not understood. */
static bool is_preprocessing(const struct described *of)
{
    return strcmp(of->file, "preprocessor_config.json") == 0 ||
           strstr(of->around, "\"pretrained_cfg\":{%s}") ||
           strstr(of->around, "\"preprocess_cfg\":{%s}");
}

static bool is_other_model(const member *of, const char *value)
{
    for (size_t i = 0; value && i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (strcmp(OTHERS[i][0], of->key) == 0 && strcmp(OTHERS[i][1], value) == 0)
            return true;
    return false;
}

/* Opens the folder, and says whether it computes the golden logits. */
static void check(open_case *self, const member *of, const char *value, bool has_to_open)
{
    svit_model *model = NULL;
    size_t elements;
    const svit_status status = case_open(self, &model, NULL);
    const char *shown = value ? value : "left out";
    /* A file with a NUL character is no JSON as a whole. */
    ck_assert_msg(status == SVIT_OK || !has_to_open || strstr(self->err.message, "is not JSON"),
                  "%s %s: %s", of->key, shown, self->err.message);
    if (status != SVIT_OK) {
        ck_assert_msg(status == SVIT_E_FORMAT || status == SVIT_E_ARGUMENT ||
                          status == SVIT_E_UNSUPPORTED || status == SVIT_E_IO,
                      "%s %s: %d, %s", of->key, shown, (int)status, self->err.message);
        ck_assert_msg(strstr(self->err.message, self->folder.path), "%s %s: %s", of->key, shown,
                      self->err.message);
        ck_assert_ptr_null(model);
        return;
    }
    golden_free(golden_floats(self->golden, "input", &elements));
    svit_model_config config;
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    const bool is_input =
        2 * (size_t)config.input_height * config.input_width * config.in_channels == elements;
    ck_assert_msg(of->tells || is_input, "%s %s: another input", of->key, shown);
    if (is_other_model(of, value))
        ck_assert_msg(case_difference(self, model) > 1e-3, "%s %s: passed over", of->key, shown);
    else if (!of->tells)
        ck_assert_msg(case_difference(self, model) <= 1e-5, "%s %s: other logits", of->key, shown);
    svit_model_free(model);
}

START_TEST(test_members_are_refused_or_change_nothing)
{
    const struct described *of = &FILES[_i];
    open_case all, *self = &all;
    case_begin(self, of->golden);
    case_weights(self, "");
    if (of->second[0])
        case_text(self, of->second[0], of->second[1]);
    write_file(self, of, MEMBERS, NULL);
    case_agrees(self, NULL);
    for (size_t i = 0; i < MEMBERS && of->members[i].key; i++)
        for (size_t v = 0; v < VALUE_COUNT; v++) {
            write_file(self, of, i, VALUES[v]);
            check(self, &of->members[i], VALUES[v], is_preprocessing(of) && !of->members[i].tells);
        }
    case_end(self);
}
END_TEST

static Suite *open_members_suite(void)
{
    Suite *suite = suite_create("open_members");
    TCase *tcase = tcase_create("open");
    tcase_add_loop_test(tcase, test_members_are_refused_or_change_nothing, 0, FILE_COUNT);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(open_members_suite)
