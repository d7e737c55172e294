/* Adapters whose names are not those of the model's file: of a class around an encoder that was
 * saved alone, of one of the two maps that a gated MLP joins, and of what the model leaves out. */
#include "adapter_case.h"
#include "suite.h"

#include "models/model.h"

/* The file of Dinov2Model, and an adapter of Dinov2ForImageClassification: the classifier reads
 * class token and mean, and "dinov2." stands before the names of the pair, whose product is 0. */
START_TEST(test_an_adapter_of_a_class_around_the_encoder)
{
    static const char prefix[] = "dinov2.", more[] = ",\"auto_mapping\":{\"base_model_class\":"
                                                     "\"Dinov2ForImageClassification\"}";
    open_case all, *self = &all;
    fit_folder folder = fit_folder_make();
    own_tensor list[CASE_TENSORS], adapter[4];
    char text[4096];
    svit_load_report report = {.struct_size = sizeof report, .text = text, .capacity = sizeof text};
    size_t held = 0, changed = 0;
    case_begin(self, "pretrained_hf_dinov2");
    const size_t count = own_golden(list, self, "");
    for (size_t i = 0; i < count; i++) {
        char name[160];
        if (strncmp(list[i].name, "classifier.", 11) == 0) {
            adapter[changed] = list[i];
            snprintf(adapter[changed++].name, sizeof name, "base_model.model.%.128s", list[i].name);
            continue;
        }
        memcpy(name, list[i].name, sizeof name);
        list[held] = list[i];
        snprintf(list[held++].name, sizeof name, "%s", name + strlen(prefix));
    }
    ck_assert_uint_eq(changed, 2);
    own_write(self, list, held);
    case_text(self, "config.json",
              "{\"architectures\":[\"Dinov2Model\"],\"model_type\":\"dinov2\","
              "\"num_attention_heads\":4,\"image_size\":42,\"patch_size\":14}");
    adapter[2] =
        own("base_model.model.dinov2.encoder.layer.1.attention.attention.query.lora_A.weight", 2,
            (const int64_t[]){2, 32}, NULL);
    adapter[3] =
        own("base_model.model.dinov2.encoder.layer.1.attention.attention.query.lora_B.weight", 2,
            (const int64_t[]){32, 2}, NULL);
    adapter_write(self, &folder, more, adapter, 4);
    svit_model *model = adapter_open(self, &folder, &report);
    ck_assert_double_le(case_difference(self, model), 1e-5);
    /* What the adapter brings is not missing. */
    ck_assert_uint_eq(report.loaded, model->parameters.count);
    ck_assert_uint_eq(report.missing + report.mismatched, 0);
    ck_assert_ptr_null(strstr(text, "missing"));
    svit_model_free(model);
    for (size_t i = 0; i < held; i++)
        golden_free((float *)(uintptr_t)list[i].from);
    golden_free((float *)(uintptr_t)adapter[0].from);
    golden_free((float *)(uintptr_t)adapter[1].from);
    adapter_end(self, &folder);
}
END_TEST

/* A class without a classifier of its own, such as the encoder or one of the user's, changes
 * nothing in how a file of a class with one is read. */
START_TEST(test_the_class_of_the_file_counts_beside_others)
{
    static const char *const classes[] = {"Dinov2Model", "MyNet"};
    open_case all, *self = &all;
    fit_folder folder = fit_folder_make();
    char more[160];
    case_begin(self, "pretrained_hf_dinov2");
    case_weights(self, "");
    case_text(self, "config.json",
              "{\"architectures\":[\"Dinov2ForImageClassification\"],\"model_type\":\"dinov2\","
              "\"num_attention_heads\":4,\"image_size\":42,\"patch_size\":14}");
    snprintf(more, sizeof more, ",\"auto_mapping\":{\"base_model_class\":\"%s\"}", classes[_i]);
    adapter_write(self, &folder, more, NULL, 0);
    svit_model *model = adapter_open(self, &folder, NULL);
    ck_assert_double_le(case_difference(self, model), 1e-5);
    svit_model_free(model);
    adapter_end(self, &folder);
}
END_TEST

/* DINOv3's gate and values are two tensors of one weight: either may have a pair alone. Without a
 * gate up_proj is the whole. */
START_TEST(test_either_map_of_a_gated_mlp_is_adapted)
{
    enum { DIM = 48, HIDDEN = 96, RANK = 2 };
    static const char *const maps[] = {"gate_proj", "up_proj", "up_proj"};
    static const int64_t shape[] = {HIDDEN, DIM};
    const bool gated = _i < 2;
    const size_t elements = (gated ? 2 : 1) * HIDDEN * DIM;
    open_case all, *self = &all;
    fit_folder folder = fit_folder_make();
    own_tensor list[CASE_TENSORS], adapter[2];
    float ones[HIDDEN * RANK], *weight = malloc(2 * HIDDEN * DIM * sizeof *weight);
    float *base = malloc(2 * HIDDEN * DIM * sizeof *base);
    svit_model *model = NULL;
    for (size_t i = 0; i < HIDDEN * RANK; i++)
        ones[i] = 1;
    case_begin(self, "family_hf_dinov3");
    size_t count = own_golden(list, self, "");
    const size_t golden = count;
    for (size_t block = 0; gated && block < 2; block++) {
        char name[160];
        snprintf(name, sizeof name, "layer.%zu.mlp.gate_proj.weight", block);
        list[count++] = own(name, 2, shape, NULL);
        snprintf(name, sizeof name, "layer.%zu.mlp.gate_proj.bias", block);
        list[count++] = own(name, 1, shape, NULL);
    }
    own_write(self, list, count);
    case_text(self, "config.json",
              gated ? "{\"model_type\":\"dinov3_vit\",\"num_attention_heads\":3,\"image_size\":32,"
                      "\"patch_size\":8,\"num_register_tokens\":2,\"use_gated_mlp\":true,"
                      "\"hidden_act\":\"silu\"}"
                    : "{\"model_type\":\"dinov3_vit\",\"num_attention_heads\":3,\"image_size\":32,"
                      "\"patch_size\":8,\"num_register_tokens\":2}");
    WORKS(case_open(self, &model, NULL));
    WORKS(svit_model_get_parameter(model, "blocks.1.mlp.fc1.weight", base, elements, err));
    svit_model_free(model);
    for (int half = 0; half < 2; half++) {
        char name[160];
        snprintf(name, sizeof name, "base_model.model.layer.1.mlp.%s.lora_%c.weight", maps[_i],
                 "AB"[half]);
        adapter[half] = half == 0 ? own(name, 2, (const int64_t[]){RANK, DIM}, ones)
                                  : own(name, 2, (const int64_t[]){HIDDEN, RANK}, ones);
    }
    adapter_write(self, &folder, "", adapter, 2);
    model = adapter_open(self, &folder, NULL);
    WORKS(svit_model_get_parameter(model, "blocks.1.mlp.fc1.weight", weight, elements, err));
    for (size_t e = 0; e < elements; e++) {
        const bool is_in = !gated || e / (HIDDEN * DIM) == (size_t)_i;
        const double added = is_in ? 4 : 0; /* alpha / r of two ones */
        ck_assert_double_le(fabs((double)weight[e] - (double)base[e] - added), 1e-6);
    }
    svit_model_free(model);
    own_free(list, golden);
    free(weight);
    free(base);
    adapter_end(self, &folder);
}
END_TEST

/* DINOv2's gate and values are two modules, and one tensor of its file: either may have a pair
 * alone, and so may both together under the tensor's name. */
START_TEST(test_either_half_of_a_joined_map_is_adapted)
{
    enum { DIM = 36, HIDDEN = 96, RANK = 2 };
    static const struct {
        const char *map;
        size_t first, rows;
    } parts[] = {
        {"gate_proj", 0, HIDDEN}, {"up_proj", HIDDEN, HIDDEN}, {"weights_in", 0, 2 * HIDDEN}};
    const size_t first = parts[_i].first, rows = parts[_i].rows;
    static float ones[2 * HIDDEN * RANK], base[2 * HIDDEN * DIM], weight[2 * HIDDEN * DIM];
    open_case all, *self = &all;
    fit_folder folder = fit_folder_make();
    svit_model *model = NULL;
    char names[2][160];
    for (size_t e = 0; e < sizeof ones / sizeof *ones; e++)
        ones[e] = 1;
    case_begin(self, "pretrained_hf_dinov2_reg_swiglu");
    case_weights(self, "");
    case_text(self, "config.json",
              "{\"architectures\":[\"Dinov2WithRegistersForImageClassification\"],\"model_type\":"
              "\"dinov2_with_registers\",\"num_attention_heads\":3,\"image_size\":28,"
              "\"patch_size\":14,\"use_swiglu_ffn\":true}");
    WORKS(case_open(self, &model, NULL));
    WORKS(svit_model_get_parameter(model, "blocks.1.mlp.fc1.weight", base, 2 * HIDDEN * DIM, err));
    svit_model_free(model);
    for (int half = 0; half < 2; half++)
        snprintf(names[half], sizeof names[half],
                 "base_model.model.dinov2_with_registers.encoder.layer.1.mlp.%s.lora_%c.weight",
                 parts[_i].map, "AB"[half]);
    own_tensor adapter[] = {own(names[0], 2, (const int64_t[]){RANK, DIM}, ones),
                            own(names[1], 2, (const int64_t[]){(int64_t)rows, RANK}, ones)};
    adapter_write(self, &folder, "", adapter, 2);
    model = adapter_open(self, &folder, NULL);
    WORKS(
        svit_model_get_parameter(model, "blocks.1.mlp.fc1.weight", weight, 2 * HIDDEN * DIM, err));
    for (size_t e = 0; e < 2 * HIDDEN * DIM; e++) {
        const bool is_in = e / DIM >= first && e / DIM < first + rows;
        ck_assert_double_le(fabs((double)weight[e] - (double)base[e] - (is_in ? 4 : 0)), 1e-6);
    }
    svit_model_free(model);
    model = NULL;
    adapter[1] = own(names[1], 2, (const int64_t[]){HIDDEN - 1, RANK}, ones);
    adapter_write(self, &folder, "", adapter, 2);
    ck_assert_int_eq(adapter_try(self, &model, &folder, NULL, NULL), SVIT_E_FORMAT);
    ck_assert_ptr_nonnull(strstr(self->err.message, "and its other half do not fit the weight"));
    adapter_end(self, &folder);
}
END_TEST

/* A checkpoint, and a tensor of its adapter that belongs to no weight of the model. */
typedef struct beside {
    const char *golden, *text, *prefix, *tensor;
    bool left_out; /* its module's own tensors are passed over in the checkpoint, too */
} beside;
static const char CLIP[] = "{\"model_type\":\"clip_vision_model\",\"num_attention_heads\":4,"
                           "\"image_size\":32,\"patch_size\":8}";
static const char VIT[] = "{\"model_type\":\"vit\",\"num_attention_heads\":2,\"image_size\":28,"
                          "\"patch_size\":7}";
static const char TIMM[] =
    "{\"architecture\":\"vit_tiny_patch16_224\",\"model_args\":{\"num_heads\":"
    "2,\"img_size\":[28,35]}}";
static const char SIGLIP[] =
    "{\"architectures\":[\"SiglipForImageClassification\"],\"model_type\":\"siglip_vision_model\","
    "\"num_attention_heads\":3,\"image_size\":32,\"patch_size\":8}";
static const char TOWER[] = "{\"model_cfg\":{\"embed_dim\":10,\"quick_gelu\":true,\"vision_cfg\":{"
                            "\"head_width\":10,\"width\":40,\"image_size\":32}}}";
static const beside BESIDE[] = {
    {"pretrained_hf_clip", CLIP, "",
     "base_model.model.text_model.encoder.layers.0.self_attn.q_proj.lora_A.weight", true},
    {"pretrained_hf_clip", CLIP, "", "base_model.model.text_projection.lora_B.weight", true},
    {"pretrained_hf_clip", CLIP, "", "base_model.model.text_projection.weight", true},
    {"pretrained_hf_vit", VIT, "", "base_model.model.vit.pooler.dense.lora_A.weight", true},
    {"pretrained_hf_vit", VIT, "", "base_model.model.pooler.dense.lora_B.weight", true},
    {"family_hf_siglip", SIGLIP, "vision_model.",
     "base_model.model.vision_model.head.attention.out_proj.lora_A.weight", true},
    {"pretrained_openclip", TOWER, "",
     "base_model.model.transformer.resblocks.7.mlp.c_fc.lora_A.weight", true},
    {"pretrained_timm_plain", TIMM, "", "base_model.model.decoder_embed.lora_A.weight", true},
    {"pretrained_hf_clip", CLIP, "", "text_projection.lora_B.weight", false},
    {"pretrained_hf_clip", CLIP, "", "base_model.model.text_projections.lora_A.weight", false},
    {"pretrained_openclip", TOWER, "",
     "base_model.model.visual.transformer.resblocks.7.mlp.c_fc.lora_A.weight", false},
    {"family_hf_siglip", SIGLIP, "vision_model.",
     "base_model.model.vision_model.heads.attention.out_proj.lora_A.weight", false},
    {"pretrained_timm_plain", TIMM, "", "base_model.model.blocks.0.attn.qkv.magnitude", false},
};
enum { BESIDE_COUNT = sizeof BESIDE / sizeof *BESIDE };

/* PEFT finds modules by the ends of their names, and so those that the model leaves out. */
START_TEST(test_tensors_of_what_is_left_out_are_passed_over)
{
    const beside *of = &BESIDE[_i];
    open_case all, *self = &all;
    fit_folder folder = fit_folder_make();
    char text[8192], line[200];
    svit_load_report report = {.struct_size = sizeof report, .text = text, .capacity = sizeof text};
    svit_model *model = NULL, *alone = NULL;
    case_begin(self, of->golden);
    case_weights(self, of->prefix);
    case_text(self, of->text == TOWER ? "open_clip_config.json" : "config.json", of->text);
    const char *fields = of->text == SIGLIP ? "{\"classifier\":false}" : NULL;
    WORKS(case_open(self, &alone, fields));
    const own_tensor tensor = own(of->tensor, 2, (const int64_t[]){2, 32}, NULL);
    adapter_write(self, &folder, "", &tensor, 1);
    const svit_status status = adapter_try(self, &model, &folder, fields, &report);
    if (of->left_out) {
        ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
        ck_assert_mem_eq(model->weights, alone->weights,
                         alone->parameters.elements * sizeof *alone->weights);
        snprintf(line, sizeof line, "\nextra %s\n", of->tensor);
        ck_assert_msg(strstr(text, line) && report.extra == 1, "%s", text);
    } else {
        snprintf(line, sizeof line, "'%.96s' belongs to no weight of the model", of->tensor);
        ck_assert_msg(status == SVIT_E_FORMAT && strstr(self->err.message, line), "%s",
                      self->err.message);
    }
    svit_model_free(model);
    svit_model_free(alone);
    adapter_end(self, &folder);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("adapters under other names");
    TCase *c = tcase_create("names");
    tcase_add_test(c, test_an_adapter_of_a_class_around_the_encoder);
    tcase_add_loop_test(c, test_the_class_of_the_file_counts_beside_others, 0, 2);
    tcase_add_loop_test(c, test_either_map_of_a_gated_mlp_is_adapted, 0, 3);
    tcase_add_loop_test(c, test_either_half_of_a_joined_map_is_adapted, 0, 3);
    tcase_add_loop_test(c, test_tensors_of_what_is_left_out_are_passed_over, 0, BESIDE_COUNT);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
