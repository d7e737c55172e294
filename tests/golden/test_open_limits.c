/* The ends of what svit_model_open takes: the lengths of paths, the numbers of files and encoders,
 * files without tensors, and forms of a checkpoint that only one class of a library writes. */
#include "open_case.h"
#include "suite.h"

#include <sys/stat.h>

#define VIT "\"model_type\":\"vit\",\"num_attention_heads\":2,\"patch_size\":7"
static const char TIMM[] = "{\"architecture\":\"vit_tiny_patch16_224\",\"model_args\":"
                           "{\"num_heads\":2,\"img_size\":[28,35]}}";

/* `path` lengthened to `length` bytes by parts that lead nowhere else. */
static char *lengthen(const char *path, size_t length)
{
    char *out = malloc(length + 1);
    size_t at = strlen(path);
    ck_assert_uint_le(at, length);
    memcpy(out, path, at);
    if ((length - at) % 2 == 1)
        out[at++] = '/';
    for (; at < length; at += 2)
        memcpy(out + at, "/.", 2);
    out[length] = '\0';
    return out;
}

/* The longest name that is put behind a folder's path decides how long that path may be. */
START_TEST(test_paths_have_a_limit)
{
    enum { MOST = 4095 };
    static const char PART[] = "model-00001-of-00001-with-a-long-name.safetensors";
    static const char INDEX[] = "{\"weight_map\":{\"a\":\"model-00001-of-00001-with-a-long-name"
                                ".safetensors\"}}";
    static const struct {
        const char *weights, *opened; /* the file; what is put behind the folder's path */
        size_t longest;               /* bytes of the longest name that is looked for */
    } ways[] = {{"model.safetensors", "", sizeof "adapter_model.safetensors"},
                {"model.safetensors", "/model.safetensors", sizeof "preprocessor_config.json"},
                {"checkpoint.safetensors", "", sizeof "model.safetensors.index.json"},
                {PART, "/model.safetensors.index.json", sizeof PART}};
    open_case all, *self = &all;
    case_begin(self, "pretrained_hf_vit");
    case_part(self, ways[_i].weights, "", 0, 1);
    case_text(self, "config.json", "{" VIT "}");
    if (_i == 3)
        case_text(self, "model.safetensors.index.json", INDEX);
    for (size_t bytes = MOST - 60; bytes <= MOST + 5; bytes++) {
        svit_model *model = NULL;
        char *folder = lengthen(self->folder.path, bytes), *path = malloc(bytes + 64);
        sprintf(path, "%s%s", folder, ways[_i].opened);
        const svit_status status =
            svit_model_open(&model, self->context, path, NULL, NULL, &self->err);
        if (bytes + ways[_i].longest > MOST)
            ck_assert_msg(status == SVIT_E_ARGUMENT &&
                              strstr(self->err.message, "is too long; it has at most 4095 bytes"),
                          "%zu: %d, %s", bytes, (int)status, self->err.message);
        else
            ck_assert_msg(status == SVIT_OK || (_i == 3 && !strstr(self->err.message, "too long")),
                          "%zu: %s", bytes, self->err.message);
        svit_model_free(model);
        free(folder);
        free(path);
    }
    case_end(self);
}
END_TEST

START_TEST(test_an_index_has_a_limit)
{
    enum { MOST = 1000 };
    static char text[64 * (MOST + 2)];
    open_case all, *self = &all;
    svit_model *model = NULL;
    case_begin(self, "pretrained_hf_vit");
    for (int more = 0; more < 2; more++) {
        size_t length = (size_t)sprintf(text, "{\"weight_map\":{");
        for (int i = 0; i < MOST + more; i++)
            length += (size_t)sprintf(text + length, "%s\"t%d\":\"part-%d.safetensors\"",
                                      i ? "," : "", i, i);
        sprintf(text + length, "}}");
        case_text(self, "model.safetensors.index.json", text);
        FAILS(svit_model_open(&model, self->context, self->folder.path, NULL, NULL, err),
              more ? SVIT_E_FORMAT : SVIT_E_IO,
              more ? "index.json: more than 1000 files" : "part-0.safetensors");
    }
    case_clear(self);
    const char *index = fit_path(&self->folder, "model.safetensors.index.json");
    ck_assert_int_eq(mkdir(index, 0700), 0);
    FAILS(svit_model_open(&model, self->context, self->folder.path, NULL, NULL, err), SVIT_E_IO,
          "model.safetensors.index.json' is a folder");
    ck_assert_int_eq(rmdir(index), 0);
    case_end(self);
}
END_TEST

/* Files without an encoder. A name that only ends like an anchor's is none. */
START_TEST(test_what_is_no_encoder)
{
    static const int64_t SHAPE[] = {2, 3, 2, 2};
    static const char *const names[] = {"", "xpatch_embed.proj.weight", "patch_embed.proj.weights"};
    open_case all, *self = &all;
    svit_model *model = NULL;
    char wanted[64];
    case_begin(self, "pretrained_hf_vit");
    const own_tensor tensor = own(names[_i], 4, SHAPE, NULL);
    own_write(self, &tensor, _i > 0);
    snprintf(wanted, sizeof wanted, "the first is '%s'", names[_i]);
    FAILS(svit_model_open(&model, self->context, self->folder.path, NULL, NULL, err),
          SVIT_E_UNSUPPORTED, wanted);
    case_end(self);
}
END_TEST

/* A tensor that is named like another library's patch embedding belongs to no other encoder. */
START_TEST(test_an_encoder_has_one_library)
{
    static const int64_t SHAPE[] = {2, 3, 2, 2};
    static own_tensor list[CASE_TENSORS];
    open_case all, *self = &all;
    svit_model *model = NULL;
    case_begin(self, "pretrained_timm_plain");
    const size_t count = own_golden(list, self, "");
    list[count] = own("conv1.weight", 4, SHAPE, NULL);
    own_write(self, list, count + 1);
    case_text(self, "config.json", TIMM);
    FAILS(svit_model_open(&model, self->context, self->folder.path, NULL, NULL, err), SVIT_E_FORMAT,
          "conv1.weight");
    own_free(list, count);
    case_end(self);
}
END_TEST

/* The copy that is used may come first or last, and the other's first part may be long. */
START_TEST(test_an_encoder_stands_anywhere)
{
    static const char LONG[] =
        "student_with_a_name_of_more_than_a_hundred_characters_since_whoever_"
        "wrote_it_down_had_a_great_deal_of_time_to_spend.";
    static const char *const pairs[][2] = {{"teacher.", "student."},
                                           {"student_and.ema.", "z."},
                                           {"teacher.", LONG},
                                           {"z.teacher.", "student.a."},
                                           {"module.teacher.", "module.student."},
                                           {"model.ema.", "model."},
                                           {"teacher.", ""}};
    static const int64_t SHAPE[] = {2, 3, 2, 2};
    static own_tensor list[CASE_TENSORS];
    open_case all, *self = &all;
    case_begin(self, "pretrained_timm_plain");
    case_text(self, "config.json", TIMM);
    const char *const *pair = pairs[_i / 2];
    const size_t last = _i % 2, count = own_golden(list + !last, self, pair[0]);
    char name[160];
    snprintf(name, sizeof name, "%spatch_embed.proj.weight", pair[1]);
    list[last ? count : 0] = own(name, 4, SHAPE, NULL);
    own_write(self, list, count + 1);
    case_agrees(self, NULL);
    /* Only the other copy is left out. */
    svit_model *model = NULL;
    for (int inside = 0; inside < 2; inside++) {
        snprintf(name, sizeof name, "%sunknown.weight", inside ? pair[0] : "");
        list[count + 1] = own(name, 4, SHAPE, NULL);
        own_write(self, list, count + 2);
        FAILS(svit_model_open(&model, self->context, self->folder.path, NULL, NULL, err),
              SVIT_E_FORMAT, "unknown.weight' belongs to no parameter");
    }
    own_free(list, count + 2);
    case_end(self);
}
END_TEST

/* The caller's prefix is found whatever its place. As many encoders beside it as are passed over
 * are left out, and of one more the tensors are unknown. */
START_TEST(test_an_encoder_among_many_is_found)
{
    static const size_t counts[] = {8, 9, 41, 42};
    static const int64_t SHAPE[] = {32, 3, 7, 7};
    static own_tensor list[CASE_TENSORS];
    open_case all, *self = &all;
    svit_model *model = NULL;
    char name[60], prefix[30];
    const size_t last = counts[_i] - 1;
    case_begin(self, "pretrained_timm_plain");
    snprintf(prefix, sizeof prefix, "e%02zu.", last);
    for (size_t i = 0; i < last; i++) {
        snprintf(name, sizeof name, "e%02zu.patch_embed.proj.weight", i);
        list[i] = own(name, 4, SHAPE, NULL);
    }
    const size_t count = own_golden(list + last, self, prefix);
    own_write(self, list, count + last);
    case_text(self, "config.json", TIMM);
    svit_open_options options = {.struct_size = sizeof options, .prefix = prefix};
    const svit_status status =
        svit_model_open(&model, self->context, self->folder.path, &options, NULL, &self->err);
    if (last <= 40) {
        ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
        ck_assert_double_le(case_difference(self, model), 1e-5);
    } else {
        ck_assert_msg(
            status == SVIT_E_FORMAT &&
                strstr(self->err.message, "'e40.patch_embed.proj.weight' belongs to no parameter"),
            "%d: %s", (int)status, self->err.message);
    }
    svit_model_free(model);
    options.prefix = "e99.";
    FAILS(svit_model_open(&model, self->context, self->folder.path, &options, NULL, err),
          SVIT_E_ARGUMENT, "no encoder's names begin with the prefix 'e99.'");
    own_free(list + last, count);
    case_end(self);
}
END_TEST

/* Classes of transformers whose pooling is not that of their type. */
static const struct class_case {
    const char *golden, *prefix, *config;
    int32_t pool;
    bool final_norm;
} CLASSES[] = {
    {"pretrained_hf_clip", "",
     "{\"architectures\":[\"CLIPForImageClassification\"],\"model_type\":\"clip_vision_model\","
     "\"num_attention_heads\":4,\"image_size\":32,\"patch_size\":8}",
     SVIT_POOL_MEAN_PATCHES, false},
    {"family_hf_siglip", "vision_model.",
     "{\"architectures\":[\"SiglipForImageClassification\"],\"model_type\":\"siglip_vision_model\","
     "\"num_attention_heads\":3,\"image_size\":32,\"patch_size\":8}",
     SVIT_POOL_MEAN_PATCHES, true},
    {"pretrained_hf_vit", "",
     "{\"architectures\":[\"DeiTForImageClassification\"],\"model_type\":"
     "\"deit\",\"num_attention_heads\":2,\"patch_size\":7}",
     SVIT_POOL_CLASS_TOKEN, true},
    {"pretrained_hf_vit", "",
     "{\"architectures\":[\"DeiTForImageClassificationWithTeacher\"],"
     "\"model_type\":\"deit\",\"num_attention_heads\":2,\"patch_size\":7}",
     SVIT_POOL_CLASS_TOKEN, true},
    {"pretrained_hf_vit", "", "{\"architectures\":[\"ViTForMaskedImageModeling\"]," VIT "}",
     SVIT_POOL_CLASS_TOKEN, true},
    {"pretrained_hf_vit", "",
     "{\"architectures\":[\"ViTMAEForPreTraining\"],\"model_type\":\"vit_mae\""
     ",\"num_attention_heads\":2,\"patch_size\":7}",
     SVIT_POOL_CLASS_TOKEN, true},
};

START_TEST(test_classes_tell_the_pooling)
{
    const struct class_case *of = &CLASSES[_i];
    open_case all, *self = &all;
    svit_model *model = NULL;
    svit_model_config config;
    case_begin(self, of->golden);
    case_weights(self, of->prefix);
    case_text(self, "config.json", of->config);
    const bool lacks_classifier = of->pool != SVIT_POOL_CLASS_TOKEN;
    const svit_status status =
        case_open(self, &model, lacks_classifier ? "{\"classifier\":false}" : NULL);
    ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    ck_assert_int_eq(config.pool, of->pool);
    ck_assert_int_eq(config.final_norm, of->final_norm);
    if (of->pool == SVIT_POOL_CLASS_TOKEN)
        ck_assert_double_le(case_difference(self, model), 1e-5);
    svit_model_free(model);
    case_end(self);
}
END_TEST

/* SigLIP 2 embeds patches that are flat, [dim, height * width * channels], and states their
 * number. */
START_TEST(test_flat_patches_are_embedded)
{
    enum { DIM = 48, SIDE = 8, CHANNELS = 3, AREA = SIDE * SIDE };
    static const char WEIGHT[] = "embeddings.patch_embedding.weight";
    static const int64_t SHAPE[] = {DIM, AREA * CHANNELS};
    static own_tensor list[CASE_TENSORS];
    static float flat[DIM * AREA * CHANNELS];
    open_case all, *self = &all;
    case_begin(self, "family_hf_siglip");
    const size_t count = own_golden(list, self, "");
    for (size_t t = 0; t < count; t++) {
        if (strcmp(list[t].name, WEIGHT) != 0)
            continue;
        for (size_t i = 0; i < sizeof flat / sizeof *flat; i++)
            flat[i] = list[t].from[i / (AREA * CHANNELS) * AREA * CHANNELS + i % CHANNELS * AREA +
                                   i % (AREA * CHANNELS) / CHANNELS];
        golden_free((float *)(uintptr_t)list[t].from);
        list[t] = own(WEIGHT, 2, SHAPE, flat);
    }
    own_write(self, list, count);
    case_text(self, "config.json",
              "{\"model_type\":\"siglip2_vision_model\",\"num_attention_heads\":3,"
              "\"num_patches\":16,\"patch_size\":8}");
    case_agrees(self, NULL);
    case_end(self);
}
END_TEST

/* What is asked for: heads of the usual widths, and what flat patches do not show. */
START_TEST(test_questions_name_candidates)
{
    static const char CONFIG[] =
        "{\"architecture\":\"vit\",\"input_height\":32,\"input_width\":32,\"patch_size\":16,"
        "\"dim\":192,\"depth\":1,\"heads\":3,\"head_dim\":64,\"mlp_dim\":8,\"head_units\":[],"
        "\"num_classes\":2,\"mlp_last_gelu\":false,\"pool\":\"class_token\"}";
    open_case all, *self = &all;
    svit_model *model = NULL;
    svit_model_config config;
    case_begin(self, "pretrained_hf_vit");
    WORKS(svit_model_config_from_json(&config, sizeof config, CONFIG, err));
    WORKS(svit_model_create(&model, self->context, &config, 1, err));
    WORKS(svit_model_save_mapped(model, fit_path(&self->folder, "model.safetensors"), "timm", err));
    svit_model_free(model);
    model = NULL;
    ck_assert_int_eq(case_open(self, &model, NULL), SVIT_E_ARGUMENT);
    ck_assert_msg(strstr(self->err.message, "heads (3, 6, 2)"), "%s", self->err.message);
    case_end(self);
}
END_TEST

START_TEST(test_flat_patches_ask_for_their_size)
{
    static const struct {
        const char *fields, *part;
    } cases[] = {
        {"{\"heads\":2,\"norm_eps\":1e-12,\"activation\":\"gelu\",\"pool\":\"class_token\"}",
         "or patch_size (pixels), in_channels (3 for RGB), input_height (pixels)"},
        {"{\"heads\":2,\"norm_eps\":1e-12,\"activation\":\"gelu\",\"pool\":\"class_token\","
         "\"input_height\":28,\"input_width\":28}",
         "or patch_size (pixels), in_channels (3 for RGB)"},
        {"{\"heads\":2,\"norm_eps\":1e-12,\"activation\":\"gelu\",\"pool\":\"class_token\","
         "\"patch_size\":7}",
         "or in_channels (3 for RGB)"},
    };
    static own_tensor list[CASE_TENSORS];
    open_case all, *self = &all;
    svit_model *model = NULL;
    case_begin(self, "pretrained_hf_vit");
    const size_t count = own_golden(list, self, "");
    for (size_t t = 0; t < count; t++)
        if (strstr(list[t].name, "patch_embeddings.projection.weight"))
            list[t] = own(list[t].name, 2, (const int64_t[]){32, 147}, list[t].from);
    own_write(self, list, count);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(case_open(self, &model, cases[i].fields), SVIT_E_ARGUMENT);
        ck_assert_msg(strstr(self->err.message, cases[i].part), "%zu: %s", i, self->err.message);
    }
    own_free(list, count);
    case_end(self);
}
END_TEST

/* Sizes that the caller states: a height without a width, and less than a patch. */
START_TEST(test_stated_sizes_count)
{
    open_case all, *self = &all;
    svit_model *model = NULL;
    case_begin(self, "pretrained_hf_vit");
    case_weights(self, "");
    case_text(self, "config.json", "{" VIT "}");
    case_agrees(self, "{\"input_height\":28}");
    ck_assert_int_eq(case_open(self, &model, "{\"input_height\":6,\"input_width\":6}"),
                     SVIT_E_ARGUMENT);
    ck_assert_msg(strstr(self->err.message, "input_height is 6"), "%s", self->err.message);
    case_end(self);
}
END_TEST

/* Images of seven channels have no pipeline; a configuration that names only some classes names
 * none, and a warning says so unless all are transformers' LABEL_0 and so on. */
START_TEST(test_what_does_not_come_along)
{
    static const char PREPROCESSOR[] =
        "{\"size\":{\"height\":28,\"width\":28},\"resample\":2,\"image_mean\":[0.5,0.5,0.5],"
        "\"image_std\":[0.5,0.5,0.5]}";
    static const struct {
        const char *names, *warning; /* NULL: there is none */
        const char *fifth;           /* the name of class 5; NULL: there are no names */
    } cases[] = {
        {"{\"0\":\"a\",\"1\":\"b\",\"2\":7,\"3\":\"d\",\"4\":\"e\",\"5\":\"f\"}",
         "config.json has no text that names class 2: the model gets no names", NULL},
        {"{\"0\":\"LABEL_0\",\"1\":\"b\",\"2\":\"LABEL_2\",\"3\":\"d\",\"4\":\"e\",\"5\":\"f\"}",
         NULL, "f"},
        {"{\"0\":\"LABEL_0\",\"1\":\"LABEL_1\",\"2\":\"LABEL_2\",\"3\":\"LABEL_3\",\"4\":\"LABEL_"
         "4\","
         "\"5\":\"LABEL_5\"}",
         NULL, NULL},
        {"{\"1\":\"a\",\"2\":\"b\",\"3\":\"c\",\"4\":\"d\",\"5\":\"e\",\"6\":\"f\"}",
         "names class 0", NULL},
        {"[\"a\",\"b\",\"c\",\"d\",null,\"f\"]", "names class 4", NULL}};
    open_case all, *self = &all;
    case_begin(self, "pretrained_hf_vit");
    case_weights(self, "");
    case_text(self, "preprocessor_config.json", PREPROCESSOR);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        svit_model *model = NULL;
        svit_pipeline_config pipeline;
        char text[512];
        snprintf(text, sizeof text, "{" VIT ",\"id2label\":%s}", cases[i].names);
        case_text(self, "config.json", text);
        self->warning[0] = '\0';
        WORKS(case_open(self, &model, NULL));
        const char *name = svit_model_class_name(model, 5);
        ck_assert_str_eq(name ? name : "", cases[i].fifth ? cases[i].fifth : "");
        ck_assert_msg(cases[i].warning ? strstr(self->warning, cases[i].warning) != NULL
                                       : self->warning[0] == '\0',
                      "%s", self->warning);
        WORKS(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, err));
        svit_model_free(model);
        WORKS(case_open(self, &model, "{\"in_channels\":7}"));
        FAILS(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, err), SVIT_E_STATE,
              "pipeline");
        svit_model_free(model);
    }
    case_end(self);
}
END_TEST

static Suite *open_limits_suite(void)
{
    Suite *suite = suite_create("open_limits");
    TCase *tcase = tcase_create("open");
    tcase_add_loop_test(tcase, test_paths_have_a_limit, 0, 4);
    tcase_add_test(tcase, test_an_index_has_a_limit);
    tcase_add_loop_test(tcase, test_what_is_no_encoder, 0, 3);
    tcase_add_test(tcase, test_an_encoder_has_one_library);
    tcase_add_loop_test(tcase, test_an_encoder_stands_anywhere, 0, 14);
    tcase_add_loop_test(tcase, test_an_encoder_among_many_is_found, 0, 4);
    tcase_add_loop_test(tcase, test_classes_tell_the_pooling, 0, sizeof CLASSES / sizeof *CLASSES);
    tcase_add_test(tcase, test_flat_patches_are_embedded);
    tcase_add_test(tcase, test_questions_name_candidates);
    tcase_add_test(tcase, test_flat_patches_ask_for_their_size);
    tcase_add_test(tcase, test_stated_sizes_count);
    tcase_add_test(tcase, test_what_does_not_come_along);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(open_limits_suite)
