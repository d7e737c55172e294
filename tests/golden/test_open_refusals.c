/* What svit_model_open refuses or asks for: contradictions, what nothing tells, models that are not
 * computed, and damaged files beside the weights. */
#include "open_case.h"
#include "suite.h"

#include <sys/stat.h>

#define VIT "\"model_type\":\"vit\",\"num_attention_heads\":2,\"patch_size\":7"

/* A golden file, the JSON files beside it, the caller's fields, and what comes of it. */
static const struct refusal {
    const char *golden, *file, *text, *fields;
    svit_status status;
    const char *part;
} REFUSALS[] = {
    /* Contradictions name both sides. */
    {"pretrained_hf_vit", "config.json", "{" VIT ",\"hidden_size\":64}", NULL, SVIT_E_FORMAT,
     "dim is 64 by config.json: hidden_size, but 32 by the tensors"},
    {"pretrained_hf_vit", "config.json", "{" VIT ",\"num_hidden_layers\":12}", NULL, SVIT_E_FORMAT,
     "depth is 12 by config.json: num_hidden_layers, but 3 by the tensors"},
    {"pretrained_hf_vit", "config.json", "{" VIT ",\"intermediate_size\":128}", NULL, SVIT_E_FORMAT,
     "mlp_dim is 128 by config.json: intermediate_size, but 96 by the tensors"},
    {"pretrained_hf_vit", "config.json", "{" VIT ",\"image_size\":35}", NULL, SVIT_E_FORMAT,
     "the position embedding has 17 rows"},
    {"pretrained_hf_vit", "config.json",
     "{\"model_type\":\"vit\",\"num_attention_heads\":5,\"patch_size\":7}", NULL, SVIT_E_FORMAT,
     "heads is 5 by config.json: num_attention_heads; the width of queries is 32"},
    {"pretrained_hf_vit", "config.json",
     "{\"model_type\":\"dinov3_vit\",\"num_attention_heads\":2,\"patch_size\":7}",
     "{\"layer_scale\":false}", SVIT_E_FORMAT, "the position embedding has 17 rows"},
#define TIMM(members) "{\"architecture\":\"vit_tiny_patch16_224\"," members "}"
#define ARGUMENTS(members) TIMM("\"model_args\":{\"img_size\":[28,35],\"num_heads\":2," members "}")
    {"pretrained_timm_plain", "config.json", ARGUMENTS("\"embed_dim\":96"), NULL, SVIT_E_FORMAT,
     "dim is 96 by config.json: model_args: embed_dim, but 32 by the tensors"},
    {"pretrained_timm_plain", "config.json", ARGUMENTS("\"depth\":4"), NULL, SVIT_E_FORMAT,
     "depth is 4 by config.json: model_args: depth, but 3 by the tensors"},
    {"pretrained_timm_plain", "config.json", ARGUMENTS("\"patch_size\":4"), NULL, SVIT_E_FORMAT,
     "patch_size is 4 by config.json: model_args: patch_size, but 7 by the tensors"},
    {"pretrained_timm_plain", "config.json", ARGUMENTS("\"in_chans\":1"), NULL, SVIT_E_FORMAT,
     "in_channels is 1 by config.json: model_args: in_chans, but 3 by the tensors"},
    {"pretrained_timm_plain", "config.json", ARGUMENTS("\"qkv_bias\":false"), NULL, SVIT_E_FORMAT,
     "qkv_bias is false by config.json: model_args: qkv_bias, but true by the tensors"},
    {"pretrained_timm_plain", "config.json", ARGUMENTS("\"init_values\":0.1"), NULL, SVIT_E_FORMAT,
     "layer_scale is true by config.json: model_args: init_values, but false by the tensors"},
    {"pretrained_timm_plain", "config.json", ARGUMENTS("\"class_token\":false"), NULL,
     SVIT_E_FORMAT, "class_token is 'none' by config.json: model_args: class_token, but 'present'"},
    {"pretrained_timm_plain", "config.json", ARGUMENTS("\"mlp_ratio\":4"), NULL, SVIT_E_FORMAT,
     "mlp_ratio is 4 by config.json, but the MLP of the tensors has 96 channels, 3 times"},
    {"pretrained_timm_plain", "config.json",
     TIMM("\"num_classes\":1000,\"model_args\":{\"img_size\":[28,35],\"num_heads\":2}"), NULL,
     SVIT_E_FORMAT, "num_classes is 1000 by config.json: num_classes, but 7 by the tensors"},
    /* What a field cannot hold is refused before it contradicts anything. */
    {"pretrained_hf_vit", "config.json", "{" VIT ",\"qkv_bias\":5}", NULL, SVIT_E_FORMAT,
     "qkv_bias is 5 by config.json: qkv_bias; true and false are accepted"},
    {"pretrained_hf_vit", "config.json", "{" VIT ",\"layer_norm_eps\":1e300}", NULL, SVIT_E_FORMAT,
     "norm_eps is 1e+300 by config.json: layer_norm_eps; it is"},
    {"pretrained_hf_vit", "config.json", "{" VIT ",\"hidden_size\":32.5}", NULL, SVIT_E_FORMAT,
     "dim is 32.5 by config.json: hidden_size; a whole number up to "},
    {"pretrained_hf_vit", "config.json",
     "{\"model_type\":\"vit\",\"num_attention_heads\":2,\"patch_size\":[7,14]}", NULL,
     SVIT_E_UNSUPPORTED, "patch_size is 7 x 14; square patches are accepted"},
    {"pretrained_hf_vit", "config.json", "{" VIT ",\"qkv_bias\":false}", NULL, SVIT_E_FORMAT,
     "qkv_bias is false by config.json: qkv_bias, but true by the tensors"},
    {"pretrained_hf_dinov2", "config.json",
     "{\"model_type\":\"dinov2\",\"num_attention_heads\":4,\"image_size\":42,\"patch_size\":14,"
     "\"mlp_ratio\":2}",
     NULL, SVIT_E_FORMAT, "mlp_ratio is 2 by config.json, but the MLP of the tensors has"},
    /* Lost tensors: a class that has a last layer, and a file that says of how many classes. */
    {"pretrained_hf_clip", "config.json",
     "{\"architectures\":[\"CLIPVisionModelWithProjection\"],\"model_type\":\"clip_vision_model\","
     "\"num_attention_heads\":4,\"image_size\":32,\"patch_size\":8}",
     NULL, SVIT_E_FORMAT, "there is no classifier, which CLIPVisionModelWithProjection has"},
    {"family_timm_siglip", "config.json",
     "{\"architecture\":\"vit_base_patch16_siglip_224\",\"num_classes\":5,\"model_args\":"
     "{\"num_heads\":3}}",
     NULL, SVIT_E_FORMAT, "num_classes"},
    /* The name's heads, whatever the width is. */
    {"pretrained_timm_plain", "config.json", TIMM("\"model_args\":{\"img_size\":[28,35]}"), NULL,
     SVIT_E_FORMAT, "heads is 3 by timm's name; the width of queries is 32"},
    /* Names that are not timm's. */
    {"pretrained_timm_plain", "config.json", "{\"architecture\":\"total_nonsense\"}", NULL,
     SVIT_E_UNSUPPORTED, "'total' is none of its words"},
    {"pretrained_timm_plain", "config.json",
     "{\"architecture\":\"vit_base_patch16_clip_quikgelu_224\"}", NULL, SVIT_E_UNSUPPORTED,
     "'quikgelu' is none of its words"},
    {"pretrained_timm_plain", "config.json", "{\"architecture\":\"vit_base_patch_224\"}", NULL,
     SVIT_E_UNSUPPORTED, "'patch' is none of its words"},
    {"pretrained_timm_plain", "config.json", "{\"architecture\":\"vit__base\"}", NULL,
     SVIT_E_UNSUPPORTED, "'' is none of its words"},
    {"pretrained_timm_plain", "config.json", "{\"architecture\":\"vit-base-patch16-gap224\"}", NULL,
     SVIT_E_UNSUPPORTED, "'gap224' is none of its words"},
    /* What nothing tells. */
    {"pretrained_timm_plain", NULL, NULL, "{\"input_height\":28,\"input_width\":35}",
     SVIT_E_ARGUMENT, "state timm's name of the model, or heads (1"},
    {"pretrained_timm_plain", NULL, NULL,
     "{\"input_height\":28,\"input_width\":35,\"heads\":2,\"norm_eps\":1e-6,\"pool\":"
     "\"class_token\"}",
     SVIT_E_ARGUMENT, "or activation (gelu, gelu-tanh or quick-gelu)"},
    {"pretrained_timm_plain", NULL, NULL, NULL, SVIT_E_FORMAT,
     "the position embedding has 21 rows, which are no square with the 1 tokens before it"},
    {"family_timm_dinov3", NULL, NULL,
     "{\"heads\":3,\"norm_eps\":1e-5,\"activation\":\"gelu\",\"pool\":\"mean-patches\"}",
     SVIT_E_ARGUMENT, "input_height (pixels), rope (axial or centred)"},
    {"pretrained_timm_dinov2_reg", "config.json",
     "{\"architecture\":\"vit_small_patch14_reg1_dinov2\",\"model_args\":{\"num_heads\":3}}", NULL,
     SVIT_E_FORMAT, "register_tokens is 1 by timm's name 'vit_small_patch14_reg1_dinov2', but "},
    {"pretrained_timm_dinov2_reg", "config.json",
     "{\"architecture\":\"vit_small_patch14_reg4_dinov2\",\"model_args\":{\"num_heads\":3,"
     "\"reg_tokens\":3}}",
     NULL, SVIT_E_FORMAT, "register_tokens is 3 by config.json: model_args"},
    /* Models that are not computed. */
    {"pretrained_hf_vit", "config.json", "{\"model_type\":\"swin\"}", NULL, SVIT_E_UNSUPPORTED,
     "model_type is 'swin', which is no plain ViT"},
    {"pretrained_hf_vit", "config.json", "{" VIT ",\"hidden_act\":\"relu\"}", NULL,
     SVIT_E_UNSUPPORTED, "the activation is 'relu'"},
    {"pretrained_hf_vit", "config.json",
     "{\"model_type\":\"dinov3_vit\",\"use_gated_mlp\":true,\"hidden_act\":\"gelu\","
     "\"num_attention_heads\":2,\"patch_size\":7}",
     NULL, SVIT_E_UNSUPPORTED, "the gated MLP has hidden_act 'gelu'"},
    {"pretrained_hf_vit", "config.json",
     "{\"model_type\":\"dinov3_vit\",\"use_gated_mlp\":true,\"hidden_act\":\"swish\","
     "\"num_attention_heads\":2,\"patch_size\":7}",
     "{\"layer_scale\":false}", SVIT_E_FORMAT, "the position embedding has 17 rows"},
    {"pretrained_timm_plain", "config.json", "{\"architecture\":\"vit_base_patch16_rpn_224\"}",
     NULL, SVIT_E_UNSUPPORTED, "ViTs with norms after each branch (ResPostBlock)"},
    {"pretrained_timm_plain", "config.json", "{\"architecture\":\"vit_relpos_base_patch16_224\"}",
     NULL, SVIT_E_UNSUPPORTED, "ViTs with relative positions"},
    {"pretrained_timm_plain", "config.json", "{\"architecture\":\"swin_tiny_patch4_window7_224\"}",
     NULL, SVIT_E_UNSUPPORTED, "Swin (windows of attention)"},
    {"pretrained_timm_plain", "config.json",
     "{\"architecture\":\"vit_tiny_patch16_224\",\"global_pool\":\"max\"}", NULL,
     SVIT_E_UNSUPPORTED, "global_pool is 'max'"},
    {"pretrained_timm_plain", "config.json",
     "{\"architecture\":\"vit_tiny_patch16_224\",\"model_args\":{\"block_fn\":\"x\"}}", NULL,
     SVIT_E_UNSUPPORTED, "model_args has 'block_fn'"},
    {"pretrained_timm_plain", "config.json",
     "{\"architecture\":\"vit_tiny_patch16_224\",\"model_args\":{\"global_pool\":\"avgmax\"}}",
     NULL, SVIT_E_UNSUPPORTED, "model_args: global_pool is 'avgmax'"},
    {"pretrained_timm_plain", "config.json",
     "{\"architecture\":\"vit_tiny_patch16_224\",\"model_args\":{\"global_pool\":3}}", NULL,
     SVIT_E_UNSUPPORTED, "model_args: global_pool is 'no text'"},
    {"pretrained_timm_plain", "config.json",
     "{\"architecture\":\"vit_tiny_patch16_224\",\"model_args\":{\"dynamic_img_pad\":true}}", NULL,
     SVIT_E_UNSUPPORTED, "dynamic_img_pad is true"},
    {"pretrained_openclip", "open_clip_config.json",
     "{\"model_cfg\":{\"vision_cfg\":{\"attentional_pool\":true,\"width\":40}}}", NULL,
     SVIT_E_UNSUPPORTED, "CoCa"},
    /* Attention pooling of a ViT with a class token, whose rotation is not told. */
    {"family_timm_pe_core", NULL, NULL, "{\"rope\":\"none\"}", SVIT_E_UNSUPPORTED,
     "without the 1 tokens before them"},
    /* Damaged files. */
    {"pretrained_hf_vit", "config.json", "{" VIT, NULL, SVIT_E_FORMAT, "config.json"},
    {"pretrained_hf_vit", "config.json", "[]", NULL, SVIT_E_FORMAT, "config.json"},
    {"pretrained_hf_vit", "config.json", "{\"model_type\":\"vit\",\"patch_size\":\"7\"}", NULL,
     SVIT_E_FORMAT, "patch_size is neither a number nor two"},
    {"pretrained_hf_vit", "config.json", "{\"model_type\":\"vit\",\"patch_size\":7.5}", NULL,
     SVIT_E_FORMAT,
     "patch_size is 7.5 by config.json: patch_size; a whole number up to 256 is accepted"},
    {"pretrained_hf_vit", "config.json", "{\"model_type\":\"vit\",\"patch_size\":1e30}", NULL,
     SVIT_E_FORMAT, "a whole number up to 256 is accepted"},
    {"pretrained_hf_vit", "config.json", "{\"model_type\":\"vit\",\"patch_size\":-7}", NULL,
     SVIT_E_FORMAT, "a whole number up to 256 is accepted"},
    {"pretrained_hf_vit", "config.json", "{" VIT ",\"image_size\":\"28\"}", NULL, SVIT_E_FORMAT,
     "image_size is neither a number nor two"},
    {"pretrained_hf_vit", "config.json", "{\"model_type\":7}", NULL, SVIT_E_ARGUMENT, "heads"},
    {"pretrained_hf_clip", "config.json", "{\"model_type\":\"clip\"}", NULL, SVIT_E_FORMAT,
     "has no 'vision_config'"},
    {"pretrained_openclip", "open_clip_config.json", "{}", NULL, SVIT_E_FORMAT,
     "no model_cfg.vision_cfg"},
    {"pretrained_hf_vit", "model.safetensors.index.json", "{}", NULL, SVIT_E_ARGUMENT, "heads"},
    /* The caller's fields. */
    {"pretrained_hf_vit", "config.json", "{" VIT "}", "{\"wings\":2}", SVIT_E_ARGUMENT, "'wings'"},
    {"pretrained_hf_vit", "config.json", "{" VIT "}", "{\"heads\":0}", SVIT_E_ARGUMENT, "heads"},
    {"pretrained_hf_vit", "config.json", "{" VIT "}", "{", SVIT_E_FORMAT, "fields"},
    {"pretrained_hf_vit", "config.json", "{" VIT "}", "{\"dim\":64}", SVIT_E_FORMAT,
     "'pos_embed' is [17, 64]"},
};
enum { REFUSAL_COUNT = sizeof REFUSALS / sizeof *REFUSALS };

START_TEST(test_refusals_say_why)
{
    const struct refusal *wanted = &REFUSALS[_i];
    open_case all, *self = &all;
    svit_model *model = NULL;
    case_begin(self, wanted->golden);
    case_weights(self, "");
    if (wanted->file)
        case_text(self, wanted->file, wanted->text);
    const svit_status status = case_open(self, &model, wanted->fields);
    ck_assert_msg(status == wanted->status && strstr(self->err.message, wanted->part),
                  "%d: %s (not %d: %s)", (int)status, self->err.message, (int)wanted->status,
                  wanted->part);
    ck_assert_ptr_null(model);
    case_end(self);
}
END_TEST

/* An index that names no files of the folder. */
START_TEST(test_indices_are_checked)
{
    static const char *const texts[][2] = {
        {"{\"weight_map\":{}}", "has no weight_map"},
        {"{\"weight_map\":{\"a\":\"../../etc/passwd.safetensors\"}}", "no name of a safetensors"},
        {"{\"weight_map\":{\"a\":7}}", "no name of a safetensors"},
        {"{\"weight_map\":{\"a\":\"weights.bin\"}}",
         "no name of a safetensors file; in Python, from_"},
        {"{\"weight_map\":[]}", "has no weight_map"},
        {"{", "model.safetensors.index.json"}};
    open_case all, *self = &all;
    svit_model *model = NULL;
    case_begin(self, "pretrained_hf_vit");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        case_text(self, "model.safetensors.index.json", texts[i][0]);
        FAILS(svit_model_open(&model, self->context, self->folder.path, NULL, NULL, err),
              SVIT_E_FORMAT, texts[i][1]);
    }
    case_text(self, "model.safetensors.index.json", "{\"weight_map\":{\"a\":\"b.safetensors\"}}");
    FAILS(svit_model_open(&model, self->context, self->folder.path, NULL, NULL, err), SVIT_E_IO,
          "b.safetensors");
    case_end(self);
}
END_TEST

START_TEST(test_folders_without_weights_say_what_is_missing)
{
    open_case all, *self = &all;
    svit_model *model = NULL;
    case_begin(self, "pretrained_hf_vit");
    FAILS(svit_model_open(&model, self->context, self->folder.path, NULL, NULL, err), SVIT_E_IO,
          "the folder holds no weights");
    FAILS(svit_model_open(&model, self->context, "/nowhere/at/all", NULL, NULL, err), SVIT_E_IO,
          "/nowhere/at/all");
    case_end(self);
}
END_TEST

/* Of the checkpoints of a run of transformers the last one is named. */
START_TEST(test_the_last_checkpoint_of_a_run_is_named)
{
    static const char *const names[] = {"checkpoint-1000", "checkpoint-500", "checkpoint-last"};
    open_case all, *self = &all;
    svit_model *model = NULL;
    case_begin(self, "pretrained_hf_vit");
    case_text(self, "checkpoint-2000", "");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_int_eq(mkdir(fit_path(&self->folder, names[i]), 0700), 0);
    FAILS(svit_model_open(&model, self->context, self->folder.path, NULL, NULL, err), SVIT_E_IO,
          "are accepted; its folder checkpoint-1000 may have some");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        rmdir(fit_path(&self->folder, names[i]));
    case_end(self);
}
END_TEST

/* Each pickle is said to become the file that is looked for in its place. */
static const struct {
    const char *name, *text, *part;
} PICKLES[] = {
    {"pytorch_model.bin", "PK",
     "save_file(torch.load('pytorch_model.bin', map_location='cpu'), 'model.safetensors')"},
    {"open_clip_pytorch_model.bin", "PK", "'cpu'), 'open_clip_model.safetensors')"},
    {"adapter_model.bin", "PK", "'cpu'), 'adapter_model.safetensors')"},
    {"pytorch_model.bin.index.json",
     "{\"weight_map\":{\"a\":\"pytorch_model-00001-of-00002.bin\"}}",
     "from_pretrained and save_pretrained write one"},
};
enum { PICKLE_COUNT = sizeof PICKLES / sizeof *PICKLES };

START_TEST(test_pickles_in_a_folder_are_said_to_be)
{
    open_case all, *self = &all;
    svit_model *model = NULL;
    case_begin(self, "pretrained_hf_vit");
    case_text(self, PICKLES[_i].name, PICKLES[_i].text);
    const svit_status status = case_open(self, &model, NULL);
    ck_assert(status == SVIT_E_UNSUPPORTED || status == SVIT_E_FORMAT);
    ck_assert_msg(strstr(self->err.message, PICKLES[_i].part), "%s", self->err.message);
    case_end(self);
}
END_TEST

START_TEST(test_a_pickle_by_its_path_is_said_to_be)
{
    static const char *const files[][3] = {
        {"net.pth", "PK\3\4 and more",
         "save_file(torch.load('net.pth', map_location='cpu'), 'model."},
        {"net.ckpt", "\x80\2 and more", "save_file(torch.load('net.ckpt'"},
        {"adapter_model.bin", "PK\3\4 and more", "'adapter_model.safetensors')"},
        {"net.zip", "PK\3\4 and more", "a zip archive (as torch.save, Keras and NumPy write), not"},
        {"net.pt", "version https://git-lfs", "a Git LFS pointer"},
    };
    open_case all, *self = &all;
    svit_model *model = NULL;
    case_begin(self, "pretrained_hf_vit");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        case_text(self, files[i][0], files[i][1]);
        FAILS(svit_model_open(&model, self->context, fit_path(&self->folder, files[i][0]), NULL,
                              NULL, err),
              SVIT_E_FORMAT, files[i][2]);
    }
    case_end(self);
}
END_TEST

/* Networks that have a conv1 as OpenCLIP's towers have, by what lies beside their weights, and what
 * is said of them. */
static const struct network {
    const char *file, *text, *part;
} NETWORKS[] = {
    {"notes.txt", "", "no tensor is the patch embedding of a ViT under the names of timm"},
    {"config.json", "{\"architecture\":\"xcit_nano_12_p16_224\"}", "is one of the XCiT"},
    {"config.json", "{\"architecture\":\"densenet121\"}", "is one of the DenseNet"},
    {"config.json", "{\"architecture\":\"timm/cait_xxs24_224.fb_dist_in1k\"}",
     "'cait_xxs24_224' is no name of a ViT of timm that is known here"},
    {"open_clip_config.json", "{\"model_cfg\":{\"vision_cfg\":{\"layers\":[3,4,6,3]}}}",
     "open_clip_config.json: layers is a list, as of a ResNet; a number is accepted"},
    {"open_clip_config.json",
     "{\"model_cfg\":{\"vision_cfg\":{\"timm_model_name\":\"convnext_atto\"}}}",
     "'convnext_atto' is one of the ConvNeXt"},
    {"open_clip_config.json",
     "{\"model_cfg\":{\"vision_cfg\":{\"timm_model_name\":\"timm/regnety_002.pycls_in1k\"}}}",
     "'regnety' is none of its words"},
    {"open_clip_config.json", "{\"model_cfg\":{\"vision_cfg\":{\"timm_model_name\":\"\"}}}",
     "no tensor is the patch embedding of a ViT under the names of timm"},
};
enum { NETWORK_COUNT = sizeof NETWORKS / sizeof *NETWORKS };

START_TEST(test_convolutional_networks_are_named)
{
    static const char *const names[] = {"visual.conv1.weight", "visual.layer1.0.conv1.weight",
                                        "visual.layer1.1.conv1.weight"};
    static const int64_t FILTERS[] = {4, 3, 2, 2};
    own_tensor list[3];
    open_case all, *self = &all;
    svit_model *model = NULL;
    case_begin(self, "optim2");
    for (size_t i = 0; i < 3; i++)
        list[i] = own(names[i], 4, FILTERS, NULL);
    own_write(self, list, 3);
    case_text(self, NETWORKS[_i].file, NETWORKS[_i].text);
    FAILS(svit_model_open(&model, self->context, self->folder.path, NULL, NULL, err),
          SVIT_E_UNSUPPORTED, NETWORKS[_i].part);
    case_end(self);
}
END_TEST

/* A file whose only tensor is the patch embedding of a ViT, and one that is no ViT at all. */
START_TEST(test_other_networks_are_named)
{
    open_case all, *self = &all;
    svit_model *model = NULL;
    case_begin(self, "optim2");
    sv_safetensors_tensor tensor = {"patch_embed.proj.weight",
                                    &sv_safetensors_at(self->golden, 0)->desc,
                                    sv_safetensors_at(self->golden, 0)};
    WORKS(sv_safetensors_write(&self->context->allocator,
                               fit_path(&self->folder, "model.safetensors"), "{}", &tensor, 1,
                               case_fill, self, err));
    FAILS(svit_model_open(&model, self->context, self->folder.path, NULL, NULL, err),
          SVIT_E_ARGUMENT,
          " holds weights without a configuration, which are no ViT's: there is no transformer "
          "block");
    case_text(self, "config.json", "{\"model_type\":\"vit\",\"num_hidden_layers\":0}");
    FAILS(svit_model_open(&model, self->context, self->folder.path, NULL, NULL, err),
          SVIT_E_ARGUMENT, "model.safetensors: there is no transformer block");
    unlink(fit_path(&self->folder, "config.json"));
    tensor.name = "features.0.weight";
    WORKS(sv_safetensors_write(&self->context->allocator,
                               fit_path(&self->folder, "model.safetensors"), "{}", &tensor, 1,
                               case_fill, self, err));
    FAILS(svit_model_open(&model, self->context, self->folder.path, NULL, NULL, err),
          SVIT_E_UNSUPPORTED, "the first is 'features.0.weight'");
    case_text(self, "config.json", "{\"model_type\":\"aimv2_vision_model\"}");
    FAILS(svit_model_open(&model, self->context, self->folder.path, NULL, NULL, err),
          SVIT_E_UNSUPPORTED,
          "no tensor is the patch embedding of a ViT under the names of timm, transformers or "
          "OpenCLIP; the first is 'features.0.weight'; config.json: model_type is "
          "'aimv2_vision_model'");
    case_end(self);
}
END_TEST

static Suite *open_refusals_suite(void)
{
    Suite *suite = suite_create("open_refusals");
    TCase *tcase = tcase_create("open");
    tcase_add_loop_test(tcase, test_refusals_say_why, 0, REFUSAL_COUNT);
    tcase_add_test(tcase, test_indices_are_checked);
    tcase_add_test(tcase, test_folders_without_weights_say_what_is_missing);
    tcase_add_test(tcase, test_the_last_checkpoint_of_a_run_is_named);
    tcase_add_loop_test(tcase, test_pickles_in_a_folder_are_said_to_be, 0, PICKLE_COUNT);
    tcase_add_test(tcase, test_a_pickle_by_its_path_is_said_to_be);
    tcase_add_test(tcase, test_other_networks_are_named);
    tcase_add_loop_test(tcase, test_convolutional_networks_are_named, 0, NETWORK_COUNT);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(open_refusals_suite)
