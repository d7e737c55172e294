/* Which of several files beside the weights counts, and which of several members: configurations of
 * two libraries, two files of an image processor, those of an adapter, and class names. */
#include "adapter_case.h"
#include "open_pipeline.h"
#include "suite.h"

#define SEVEN(x) "\"" x "0\",\"" x "1\",\"" x "2\",\"" x "3\",\"" x "4\",\"" x "5\",\"" x "6\""
#define OPENCLIP(members, tower)                                                                   \
    "{\"model_cfg\":{" members "\"vision_cfg\":{" tower "}},\"preprocess_cfg\":{\"mean\":0.75}}"
#define OWN_TOWER "\"width\":40,\"head_width\":10,\"image_size\":"
#define TIMM_CLIP                                                                                  \
    "\"architecture\":\"vit_base_patch32_clip_quickgelu_224\",\"labels\":[" SEVEN(                 \
        "a") ",\"b\","                                                                             \
             "\"c\"],\"problem_type\":\"multi_label_classification\",\"model_args\":{\"num_"       \
             "heads\":4,"                                                                          \
             "\"img_size\":[32,40]},\"pretrained_cfg\":{\"crop_mode\":\"squash\",\"mean\":0.25}"
#define OTHER                                                                                      \
    "{\"architecture\":\"vit_tiny_patch16_224\",\"global_pool\":\"avg\",\"num_classes\":3,"        \
    "\"pretrained_cfg\":{\"mean\":0.25}}"
#define PROCESSOR(mean)                                                                            \
    "{\"image_processor_type\":\"CLIPImageProcessor\",\"size\":32,\"crop_size\":32,"               \
    "\"image_mean\":" mean "}"

/* A folder with both configurations; the tensors have the names of one library. */
static const struct both {
    const char *golden, *prefix, *config, *openclip, *preprocessor, *fields;
    double mean; /* that of red in the preprocessing that counts */
    bool is_tower;
} BOTH[] = {
    /* The other one would have the usual GELU, and nothing contradicts it. */
    {"pretrained_timm_clip", "", "{" TIMM_CLIP "}", OPENCLIP("", OWN_TOWER "[32,40]"), NULL, NULL,
     0.25, false},
    {"pretrained_timm_clip", "visual.", "{" TIMM_CLIP "}", OPENCLIP("", OWN_TOWER "[32,40]"), NULL,
     NULL, 0.25, false},
    {"pretrained_hf_clip", "",
     "{\"architectures\":[\"CLIPModel\"],\"model_type\":\"clip\",\"vision_config\":"
     "{\"num_attention_heads\":4,\"patch_size\":8}}",
     OPENCLIP("", OWN_TOWER "32"), PROCESSOR("0.125"), NULL, 0.125, false},
    {"pretrained_openclip", "", OTHER,
     OPENCLIP("\"embed_dim\":10,\"quick_gelu\":true,", OWN_TOWER "32"), PROCESSOR("0.125"), NULL,
     0.75, true},
    {"family_timm_siglip", "visual.trunk.", OTHER,
     OPENCLIP("", "\"timm_pool\":\"map\",\"timm_proj\":\"none\",\"timm_model_name\":"
                  "\"vit_base_patch16_siglip_224\""),
     NULL, "{\"heads\":3}", 0.75, true},
    {"family_timm_siglip", "module.visual.trunk.", OTHER,
     OPENCLIP("", "\"timm_pool\":\"map\",\"timm_proj\":\"none\",\"timm_model_name\":"
                  "\"vit_base_patch16_siglip_224\""),
     NULL, "{\"heads\":3}", 0.75, true},
    /* A config.json that does not say what the model is. */
    {"pretrained_timm_clip", "", "{\"num_classes\":3,\"pretrained_cfg\":{\"mean\":0.25}}",
     OPENCLIP("\"embed_dim\":9,\"quick_gelu\":true,", OWN_TOWER "[32,40]"), NULL, NULL, 0.75, true},
};

START_TEST(test_the_configuration_of_the_tensors_counts)
{
    const struct both *of = &BOTH[_i];
    open_case all, *self = &all;
    svit_pipeline_config pipeline;
    svit_model *model = NULL;
    case_begin(self, of->golden);
    case_weights(self, of->prefix);
    case_text(self, "config.json", of->config);
    case_text(self, "open_clip_config.json", of->openclip);
    if (of->preprocessor)
        case_text(self, "preprocessor_config.json", of->preprocessor);
    case_agrees(self, of->fields);
    pipeline_of(&pipeline, self, of->fields);
    ck_assert_double_eq(pipeline.mean[0], of->mean);
    /* The other one's name is not compared with what the tensors tell. */
    if (of->is_tower)
        ck_assert_msg(self->warnings == 0, "%s", self->warning);
    WORKS(case_open(self, &model, of->fields));
    const bool has_labels = !of->is_tower && strstr(of->config, "labels");
    const char *name = svit_model_class_name(model, 6);
    ck_assert_str_eq(name ? name : "", has_labels ? "a6" : "");
    ck_assert_int_eq(svit_model_output(model),
                     has_labels ? SVIT_OUTPUT_SIGMOID : SVIT_OUTPUT_SOFTMAX);
    svit_model_free(model);
    case_end(self);
}
END_TEST

#define VIT "{\"model_type\":\"vit\",\"num_attention_heads\":2,\"patch_size\":7,\"image_size\":28}"
#define FITS(mean)                                                                                 \
    "{\"image_processor_type\":\"ViTImageProcessor\",\"size\":28,\"image_mean\":" mean "}"
#define NESTED(processor) "{\"processor_class\":\"x\",\"image_processor\":" processor "}"

/* transformers 5 takes the processor in processor_config.json where that has one. */
START_TEST(test_the_nested_processor_counts)
{
    static const struct {
        const char *processor;
        double mean;
    } cases[] = {{NESTED(FITS("0.75")), 0.75},
                 {NESTED("null"), 0.25},
                 {"{\"processor_class\":\"x\"}", 0.25}};
    open_case all, *self = &all;
    svit_pipeline_config pipeline;
    svit_model *model = NULL;
    case_begin(self, "pretrained_hf_vit");
    case_weights(self, "");
    case_text(self, "config.json", VIT);
    case_text(self, "preprocessor_config.json", FITS("0.25"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        case_text(self, "processor_config.json", cases[i].processor);
        pipeline_of(&pipeline, self, NULL);
        ck_assert_double_eq(pipeline.mean[0], cases[i].mean);
    }
    case_text(self, "processor_config.json", NESTED("{\"image_processor_type\":\"ViTX\"}"));
    WORKS(case_open(self, &model, NULL));
    FAILS(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, err), SVIT_E_STATE,
          "pipeline");
    ck_assert_msg(strncmp(self->warning, "processor_config.json: the image processor", 42) == 0,
                  "%s", self->warning);
    svit_model_free(model);
    case_end(self);
}
END_TEST

#define WIDE(mean)                                                                                 \
    "{\"image_processor_type\":\"ViTImageProcessor\",\"size\":{\"height\":42,\"width\":35},"       \
    "\"image_mean\":" mean "}"
#define TIMM                                                                                       \
    "{\"architecture\":\"vit_tiny_patch16_224\",\"model_args\":{\"num_heads\":2,\"img_size\":"     \
    "[28,35]},\"pretrained_cfg\":{\"crop_mode\":\"squash\",\"mean\":0.75}}"

/* An adapter's folder may have the preprocessing with which it was trained. */
static const struct adapted {
    const char *golden, *config;
    const char *own[2];  /* preprocessor_config.json and processor_config.json of the adapter */
    const char *base[2]; /* those of the model */
    double mean;
    uint32_t height; /* of the input */
} ADAPTED[] = {
    {"pretrained_hf_vit", VIT, {NULL, NULL}, {FITS("0.75"), NULL}, 0.75, 28},
    {"pretrained_hf_vit", VIT, {FITS("0.25"), NULL}, {FITS("0.75"), NULL}, 0.25, 28},
    {"pretrained_hf_vit", VIT, {FITS("0.25"), NULL}, {NULL, NULL}, 0.25, 28},
    {"pretrained_hf_vit", VIT, {FITS("0.25"), NULL}, {NULL, NESTED(FITS("0.75"))}, 0.25, 28},
    {"pretrained_hf_vit", VIT, {NULL, NESTED(FITS("0.25"))}, {FITS("0.75"), NULL}, 0.25, 28},
    {"pretrained_hf_vit", VIT, {FITS("0.5"), NESTED(FITS("0.25"))}, {NULL, NULL}, 0.25, 28},
    {"pretrained_hf_vit", VIT, {NULL, "{\"a\":0}"}, {FITS("0.75"), NULL}, 0.75, 28},
    {"pretrained_hf_vit", VIT, {WIDE("0.25"), NULL}, {FITS("0.75"), NULL}, 0.25, 42},
    {"pretrained_timm_plain", TIMM, {NULL, NULL}, {NULL, NULL}, 0.75, 28},
    {"pretrained_timm_plain", TIMM, {WIDE("0.25"), NULL}, {NULL, NULL}, 0.25, 28},
};

START_TEST(test_the_preprocessing_of_an_adapter_counts)
{
    static const char *const names[] = {"preprocessor_config.json", "processor_config.json"};
    const struct adapted *of = &ADAPTED[_i];
    open_case all, *self = &all;
    fit_folder folder = fit_folder_make();
    svit_pipeline_config pipeline;
    svit_model_config config;
    case_begin(self, of->golden);
    case_weights(self, "");
    case_text(self, "config.json", of->config);
    adapter_write(self, &folder, "", NULL, 0);
    for (size_t i = 0; i < 2; i++) {
        if (of->own[i])
            fit_write(fit_path(&folder, names[i]), of->own[i], strlen(of->own[i]));
        if (of->base[i])
            case_text(self, names[i], of->base[i]);
    }
    svit_model *model = adapter_open(self, &folder, NULL);
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    ck_assert_uint_eq(config.input_height, of->height);
    WORKS(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, err));
    ck_assert_double_eq(pipeline.mean[0], of->mean);
    svit_model_free(model);
    for (size_t i = 0; i < 2; i++)
        unlink(fit_path(&folder, names[i]));
    adapter_end(self, &folder);
}
END_TEST

/* A file of an adapter that is no JSON is an error, as one of the model is. */
START_TEST(test_the_files_of_an_adapter_are_read)
{
    static const char *const names[] = {"preprocessor_config.json", "processor_config.json"};
    open_case all, *self = &all;
    fit_folder folder = fit_folder_make();
    svit_model *model = NULL;
    case_begin(self, "pretrained_hf_vit");
    case_weights(self, "");
    case_text(self, "config.json", VIT);
    adapter_write(self, &folder, "", NULL, 0);
    fit_write(fit_path(&folder, names[_i]), "{", 1);
    ck_assert_int_eq(adapter_try(self, &model, &folder, NULL, NULL), SVIT_E_FORMAT);
    ck_assert_msg(strstr(self->err.message, fit_path(&folder, names[_i])), "%s", self->err.message);
    unlink(fit_path(&folder, names[_i]));
    adapter_end(self, &folder);
}
END_TEST

#define OBJECT(x)                                                                                  \
    "{\"0\":\"" x "0\",\"1\":\"" x "1\",\"2\":\"" x "2\",\"3\":\"" x "3\",\"4\":\"" x "4\","       \
    "\"5\":\"" x "5\",\"6\":\"" x "6\"}"
#define LABELS "\"labels\":[" SEVEN("labels") "]"
#define LABEL_NAMES "\"label_names\":[" SEVEN("names") "]"
#define ID2LABEL "\"id2label\":" OBJECT("id")
#define PRETRAINED "\"pretrained_cfg\":{\"label_names\":[" SEVEN("cfg") "]}"

/* Files of timm have class names in several places: its own of several versions, and transformers'
 * first one for its models. */
START_TEST(test_class_names_of_timm_are_found)
{
    static const char *const cases[][2] = {
        {LABELS, "labels3"},
        {LABEL_NAMES, "names3"},
        {ID2LABEL, "id3"},
        {PRETRAINED, "cfg3"},
        {PRETRAINED "," ID2LABEL "," LABEL_NAMES "," LABELS, "labels3"},
        {PRETRAINED "," ID2LABEL "," LABEL_NAMES, "names3"},
        {PRETRAINED "," ID2LABEL, "id3"},
        {PRETRAINED "," ID2LABEL ",\"label_names\":null,\"labels\":null", "id3"},
        {PRETRAINED ",\"id2label\":null,\"labels\":7", "cfg3"},
        {PRETRAINED ",\"id2label\":" OBJECT("LABEL_"), "cfg3"},
        {PRETRAINED ",\"label_names\":[]", "cfg3"},
    };
    open_case all, *self = &all;
    char text[1200];
    case_begin(self, "pretrained_timm_plain");
    case_weights(self, "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        svit_model *model = NULL;
        snprintf(text, sizeof text,
                 "{\"architecture\":\"vit_tiny_patch16_224\",\"model_args\":{\"num_heads\":2,"
                 "\"img_size\":[28,35]},%s}",
                 cases[i][0]);
        case_text(self, "config.json", text);
        WORKS(case_open(self, &model, NULL));
        const char *name = svit_model_class_name(model, 3);
        ck_assert_msg(name && strcmp(name, cases[i][1]) == 0, "%s: %s", cases[i][0],
                      name ? name : "none");
        svit_model_free(model);
    }
    case_end(self);
}
END_TEST

static Suite *open_sources_suite(void)
{
    Suite *suite = suite_create("open_sources");
    TCase *tcase = tcase_create("open");
    tcase_add_loop_test(tcase, test_the_configuration_of_the_tensors_counts, 0,
                        sizeof BOTH / sizeof *BOTH);
    tcase_add_test(tcase, test_the_nested_processor_counts);
    tcase_add_loop_test(tcase, test_the_preprocessing_of_an_adapter_counts, 0,
                        sizeof ADAPTED / sizeof *ADAPTED);
    tcase_add_loop_test(tcase, test_the_files_of_an_adapter_are_read, 0, 2);
    tcase_add_test(tcase, test_class_names_of_timm_are_found);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(open_sources_suite)
