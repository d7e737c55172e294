/* Checkpoints whose names, files and types occur in the wild: prefixes, several encoders, shards,
 * F64, and images of other channels. */
#include "open_case.h"
#include "suite.h"

#include "base/numbers/byte_order.h"

static const char VIT[] =
    "{\"architectures\":[\"ViTForImageClassification\"],\"model_type\":\"vit\","
    "\"num_attention_heads\":2,\"patch_size\":7,\"id2label\":{\"0\":\"ant\",\"1\":\"bee\","
    "\"2\":\"cat\",\"3\":\"dog\",\"4\":\"eel\",\"5\":\"fox\"}}";
static const char TIMM[] = "{\"architecture\":\"vit_tiny_patch16_224\",\"model_args\":"
                           "{\"num_heads\":2,\"img_size\":[28,35]}}";

/* Goldens under names of both libraries. */
static const struct source {
    const char *golden, *config;
} SOURCES[] = {{"pretrained_hf_vit", VIT}, {"pretrained_timm_plain", TIMM}};

static const char *const PREFIXES[] = {
    "module.",  "model.",   "_orig_mod.",       "backbone.",         "net.",    "encoder.",
    "student.", "teacher.", "module.backbone.", "model_ema.module.", "a.b.c.d."};
enum { PREFIX_COUNT = sizeof PREFIXES / sizeof *PREFIXES };

START_TEST(test_any_prefix_is_found)
{
    open_case all, *self = &all;
    case_begin(self, SOURCES[_i / PREFIX_COUNT].golden);
    case_weights(self, PREFIXES[_i % PREFIX_COUNT]);
    case_text(self, "config.json", SOURCES[_i / PREFIX_COUNT].config);
    case_agrees(self, NULL);
    case_end(self);
}
END_TEST

/* What a masked autoencoder has beside its encoder is left out behind any prefix, too. */
START_TEST(test_decoders_are_left_out_behind_any_prefix)
{
    static const struct masked {
        const char *name, *type, *tensor;
    } masked[] = {
        {"ViTForMaskedImageModeling", "vit", "decoder.0.weight"},
        {"DeiTForMaskedImageModeling", "deit", "decoder.0.bias"},
        {"ViTMAEForPreTraining", "vit_mae", "decoder.decoder_layers.0.output.dense.bias"}};
    static const int64_t ONE[] = {1};
    static own_tensor list[CASE_TENSORS];
    const char *prefix = _i < PREFIX_COUNT ? PREFIXES[_i] : "";
    open_case all, *self = &all;
    char text[200];
    case_begin(self, "pretrained_hf_vit");
    const size_t count = own_golden(list, self, prefix);
    for (size_t i = 0; i < sizeof masked / sizeof *masked; i++) {
        snprintf(text, sizeof text, "%s%s", prefix, masked[i].tensor);
        list[count] = own(text, 1, ONE, NULL);
        own_write(self, list, count + 1);
        snprintf(text, sizeof text,
                 "{\"architectures\":[\"%s\"],\"model_type\":\"%s\",\"num_attention_heads\":2,"
                 "\"patch_size\":7}",
                 masked[i].name, masked[i].type);
        case_text(self, "config.json", text);
        case_agrees(self, NULL);
    }
    /* Another module whose name ends so is none. */
    svit_model *model = NULL;
    snprintf(text, sizeof text, "%sxdecoder.bias", prefix);
    list[count] = own(text, 1, ONE, NULL);
    own_write(self, list, count + 1);
    FAILS(svit_model_open(&model, self->context, self->folder.path, NULL, NULL, err), SVIT_E_FORMAT,
          "xdecoder.bias' belongs to no parameter");
    own_free(list, count);
    case_end(self);
}
END_TEST

/* Writes the weights under two prefixes, those under `zero` all zero. */
static void write_two(open_case *self, const char *right, const char *zero)
{
    size_t bytes;
    uint64_t header = 0;
    case_part(self, "a.safetensors", right, 0, 1);
    case_part(self, "b.safetensors", zero, 0, 1);
    char *file = fit_read(fit_path(&self->folder, "b.safetensors"), &bytes);
    for (int i = 7; i >= 0; i--)
        header = header << 8 | (uint8_t)file[i];
    memset(file + 8 + header, 0, bytes - 8 - header);
    fit_write(fit_path(&self->folder, "b.safetensors"), file, bytes);
    free(file);
}

/* The index of two files that share the tensors between them. */
static void write_index(open_case *self, const char *const *files, size_t count)
{
    char *text = malloc(65536);
    size_t length = (size_t)snprintf(text, 65536, "{\"metadata\":{},\"weight_map\":{");
    for (size_t f = 0; f < count; f++) {
        sv_safetensors *file;
        WORKS(sv_safetensors_open(&file, &self->context->allocator,
                                  fit_path(&self->folder, files[f]), err));
        for (size_t i = 0; i < sv_safetensors_count(file); i++)
            length +=
                (size_t)snprintf(text + length, 65536 - length, "%s\"%s\":\"%s\"",
                                 f + i > 0 ? "," : "", sv_safetensors_at(file, i)->name, files[f]);
        sv_safetensors_close(file);
    }
    snprintf(text + length, 65536 - length, "}}");
    case_text(self, "model.safetensors.index.json", text);
    free(text);
}

START_TEST(test_shards_are_one_checkpoint)
{
    static const char *const files[] = {"model-00001-of-00002.safetensors",
                                        "model-00002-of-00002.safetensors"};
    open_case all, *self = &all;
    case_begin(self, SOURCES[_i].golden);
    case_part(self, files[0], "", 0, 2);
    case_part(self, files[1], "", 1, 2);
    write_index(self, files, 2);
    case_text(self, "config.json", SOURCES[_i].config);
    case_agrees(self, NULL);
    case_end(self);
}
END_TEST

/* Of several encoders the teacher or the average of weights is taken, and the others are left
 * alone. Where none is preferred the caller has to choose. */
START_TEST(test_one_of_several_encoders_is_taken)
{
    static const char *const files[] = {"a.safetensors", "b.safetensors"};
    static const struct pair {
        const char *right, *zero;
    } pairs[] = {{"teacher.backbone.", "student.backbone."},
                 {"model_ema.", "model."},
                 {"encoder.", "student.encoder."},
                 {"module.teacher.", "module.student."},
                 {"module.teacher.backbone.", "module.student.backbone."},
                 {"model.ema.", "model.net."},
                 {"model.ema.", "model."},
                 {"ema.", ""}};
    open_case all, *self = &all;
    case_begin(self, "pretrained_timm_plain");
    write_two(self, pairs[_i].right, pairs[_i].zero);
    write_index(self, files, 2);
    case_text(self, "config.json", TIMM);
    case_agrees(self, NULL);
    case_end(self);
}
END_TEST

/* A word such as "ema" counts as a whole: in "semantic" it says nothing. */
START_TEST(test_equal_encoders_need_a_choice)
{
    static const char *const files[] = {"a.safetensors", "b.safetensors"};
    static const char *const pairs[][2] = {{"left.", "right."},
                                           {"image_encoder.", "semantic_encoder."},
                                           {"net.left.", "net.right."},
                                           {"module.teacher.a.", "module.teacher.b."}};
    open_case all, *self = &all;
    svit_model *model = NULL;
    char wanted[120];
    svit_open_options options = {.struct_size = sizeof options, .prefix = pairs[_i][0]};
    case_begin(self, "pretrained_timm_plain");
    write_two(self, pairs[_i][0], pairs[_i][1]);
    write_index(self, files, 2);
    case_text(self, "config.json", TIMM);
    snprintf(wanted, sizeof wanted, "'%s' and '%s'; the option prefix", pairs[_i][0], pairs[_i][1]);
    FAILS(svit_model_open(&model, self->context, self->folder.path, NULL, NULL, err),
          SVIT_E_ARGUMENT, wanted);
    WORKS(svit_model_open(&model, self->context, self->folder.path, &options, NULL, err));
    ck_assert_double_le(case_difference(self, model), 1e-5);
    svit_model_free(model);
    options.prefix = "middle.";
    snprintf(wanted, sizeof wanted,
             "begin with the prefix 'middle.'; there are some that begin with '%s'", pairs[_i][0]);
    FAILS(svit_model_open(&model, self->context, self->folder.path, &options, NULL, err),
          SVIT_E_ARGUMENT, wanted);
    case_end(self);
}
END_TEST

/* The question names the encoders that are equally good, not those that are left out anyway. */
START_TEST(test_a_question_names_the_equal_encoders)
{
    static const char *const files[] = {"a.safetensors", "b.safetensors", "c.safetensors"};
    static const char *const prefixes[] = {"student.", "teacher.a.backbone.",
                                           "teacher.b.backbone."};
    open_case all, *self = &all;
    svit_model *model = NULL;
    case_begin(self, "pretrained_timm_plain");
    for (size_t i = 0; i < 3; i++)
        case_part(self, files[i], prefixes[i], 0, 1);
    write_index(self, files, 3);
    case_text(self, "config.json", TIMM);
    const svit_status status = case_open(self, &model, NULL);
    ck_assert_msg(status == SVIT_E_ARGUMENT &&
                      strstr(self->err.message,
                             "'teacher.a.backbone.' and 'teacher.b.backbone.'; the option prefix"),
                  "%s", self->err.message);
    case_end(self);
}
END_TEST

/* timm's name may have its owner before it and the tag of its weights behind it. */
START_TEST(test_names_may_have_a_tag)
{
    static const char *const names[] = {
        "vit_large_patch16_siglip_512", "vit_large_patch16_siglip_512.v2_webli",
        "timm/vit_large_patch16_siglip_512.v2_webli", "hf-hub:timm/vit_large_patch16_siglip_512"};
    open_case all, *self = &all;
    svit_model *model = NULL;
    svit_model_config config;
    svit_open_options options = {
        .struct_size = sizeof options, .name = names[_i], .fields = "{\"heads\":3}"};
    case_begin(self, "family_timm_siglip");
    case_weights(self, "");
    WORKS(svit_model_open(&model, self->context, self->folder.path, &options, NULL, err));
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    ck_assert_int_eq(config.activation, SVIT_ACTIVATION_GELU_TANH);
    svit_model_free(model);
    options.name = "timm/swin_tiny_patch4_window7_224.ms_in1k";
    FAILS(svit_model_open(&model, self->context, self->folder.path, &options, NULL, err),
          SVIT_E_UNSUPPORTED, "'timm/swin_tiny_patch4_window7_224.ms_in1k' is one of the Swin");
    case_end(self);
}
END_TEST

/* More parts, or more characters, than a prefix may have. */
START_TEST(test_prefixes_have_a_limit)
{
    static const char *const texts[][2] = {
        {"a.b.c.d.e.f.g.h.i.j.", "has more than 9 parts"},
        {"a1234567890123456789012345678901234567890123456789012345678901234567890123456789."
         "b123456789012345678901234567890123456789012345678.",
         "begin with more than 127 bytes"}};
    open_case all, *self = &all;
    case_begin(self, "pretrained_timm_plain");
    case_text(self, "config.json", TIMM);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        svit_model *model = NULL;
        case_weights(self, texts[i][0]);
        FAILS(svit_model_open(&model, self->context, self->folder.path, NULL, NULL, err),
              SVIT_E_UNSUPPORTED, texts[i][1]);
    }
    case_end(self);
}
END_TEST

/* Of many encoders the caller chooses one. */
START_TEST(test_many_encoders_need_a_choice)
{
    enum { COUNT = 8 };
    open_case all, *self = &all;
    svit_model *model = NULL;
    char names[COUNT][40];
    const char *files[COUNT];
    case_begin(self, "pretrained_timm_plain");
    for (int i = 0; i < COUNT; i++) {
        char prefix[16];
        snprintf(prefix, sizeof prefix, "e%02d.", i);
        snprintf(names[i], sizeof names[i], "part-%02d.safetensors", i);
        files[i] = names[i];
        case_part(self, names[i], prefix, 0, 1);
    }
    write_index(self, files, COUNT);
    case_text(self, "config.json", TIMM);
    FAILS(svit_model_open(&model, self->context, self->folder.path, NULL, NULL, err),
          SVIT_E_ARGUMENT, "'e00.' and 'e01.'; the option prefix");
    const svit_open_options options = {.struct_size = sizeof options, .prefix = "e05."};
    const svit_status status =
        svit_model_open(&model, self->context, self->folder.path, &options, NULL, &self->err);
    ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
    svit_model_free(model);
    case_end(self);
}
END_TEST

/* Writes all weights as F64. */
static void write_f64(open_case *self)
{
    char *header = malloc(1 << 20);
    size_t length = 8, offset = 0;
    FILE *data = tmpfile();
    for (size_t i = 0; i < sv_safetensors_count(self->golden); i++) {
        const sv_safetensors_entry *entry = sv_safetensors_at(self->golden, i);
        if (strncmp(entry->name, "param.", 6) != 0)
            continue;
        char shape[128] = "";
        float *values = golden_floats(self->golden, entry->name, NULL);
        for (size_t r = 0; r < entry->desc.rank; r++)
            snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%lld",
                     r > 0 ? "," : "", (long long)entry->desc.shape[r]);
        for (size_t e = 0; e < entry->desc.elements; e++) {
            double value = values[e];
            sv_little_endian(&value, sizeof value, 1);
            ck_assert_uint_eq(fwrite(&value, sizeof value, 1, data), 1);
        }
        const size_t end = offset + 8 * entry->desc.elements;
        length += (size_t)sprintf(header + length,
                                  "%c\"%s\":{\"dtype\":\"F64\",\"shape\":[%s],"
                                  "\"data_offsets\":[%zu,%zu]}",
                                  length == 8 ? '{' : ',', entry->name + 6, shape, offset, end);
        offset = end;
        golden_free(values);
    }
    length += (size_t)sprintf(header + length, "}");
    sv_store_little(header, length - 8, 8);
    header = realloc(header, length + offset);
    rewind(data);
    ck_assert_uint_eq(fread(header + length, 1, offset, data), offset);
    fclose(data);
    fit_write(fit_path(&self->folder, "model.safetensors"), header, length + offset);
    free(header);
}

/* Doubles that hold float32 values give the same model; the report says that they are converted. */
START_TEST(test_doubles_are_converted)
{
    open_case all, *self = &all;
    svit_model *model = NULL;
    char text[8192];
    svit_load_report report = {.struct_size = sizeof report, .text = text, .capacity = sizeof text};
    case_begin(self, "pretrained_timm_plain");
    write_f64(self);
    case_text(self, "config.json", TIMM);
    WORKS(svit_model_open(&model, self->context, self->folder.path, NULL, &report, err));
    ck_assert_ptr_nonnull(strstr(text, "converted patch_embed.proj.weight\n"));
    ck_assert_double_le(case_difference(self, model), 1e-5);
    svit_model_free(model);
    case_end(self);
}
END_TEST

/* With other channels each filter is summed (one channel) or repeated (others), as timm does. */
START_TEST(test_channels_are_adapted)
{
    static const char *const fields[] = {"{\"in_channels\":1}", "{\"in_channels\":4}"};
    const size_t channels = _i == 0 ? 1 : 4, area = 49;
    open_case all, *self = &all;
    svit_model *model = NULL;
    case_begin(self, "pretrained_timm_plain");
    case_weights(self, "");
    case_text(self, "config.json", TIMM);
    WORKS(case_open(self, &model, fields[_i]));
    float *filters = golden_floats(self->golden, "param.patch_embed.proj.weight", NULL);
    float *got = malloc(32 * area * channels * sizeof *got);
    WORKS(
        svit_model_get_parameter(model, "patch_embed.proj.weight", got, 32 * area * channels, err));
    for (size_t o = 0; o < 32; o++)
        for (size_t a = 0; a < area; a++)
            for (size_t c = 0; c < channels; c++) {
                const float *of = filters + o * 3 * area + a;
                const float wanted =
                    channels == 1 ? of[0] + of[area] + of[2 * area] : of[c % 3 * area] * 0.75f;
                ck_assert_float_eq(got[(o * area + a) * channels + c], wanted);
            }
    golden_free(filters);
    free(got);
    svit_model_free(model);
    case_end(self);
}
END_TEST

START_TEST(test_class_names_and_preprocessing_come_along)
{
    open_case all, *self = &all;
    svit_model *model = NULL;
    svit_pipeline_config pipeline;
    case_begin(self, "pretrained_hf_vit");
    case_weights(self, "");
    case_text(self, "config.json", VIT);
    case_text(self, "preprocessor_config.json",
              "{\"size\":{\"height\":28,\"width\":28},\"resample\":2,\"rescale_factor\":0."
              "00392156862745098,"
              "\"image_mean\":[0.5,0.4,0.3],\"image_std\":[0.5,0.25,0.2]}");
    WORKS(case_open(self, &model, NULL));
    ck_assert_str_eq(svit_model_class_name(model, 3), "dog");
    WORKS(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, err));
    ck_assert_int_eq(pipeline.source_filter, SVIT_SOURCE_SQUASH);
    ck_assert_uint_eq(pipeline.source_height, 28);
    ck_assert_double_eq(pipeline.mean[1], 0.4);
    ck_assert_double_eq(pipeline.variance[2], 0.2 * 0.2);
    svit_model_free(model);
    case_text(self, "preprocessor_config.json",
              "{\"size\":{\"shortest_edge\":32},\"crop_size\":{\"height\":28,\"width\":28},"
              "\"resample\":3,\"image_mean\":[0.5,0.4,0.3],\"image_std\":[0.5,0.25,0.2]}");
    WORKS(case_open(self, &model, NULL));
    WORKS(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, err));
    ck_assert_int_eq(pipeline.source_filter, SVIT_SOURCE_BICUBIC);
    ck_assert_uint_eq(pipeline.source_width, 32);
    ck_assert_uint_eq(pipeline.output_width, 28);
    svit_model_free(model);
    case_end(self);
}
END_TEST

static Suite *open_names_suite(void)
{
    Suite *suite = suite_create("open_names");
    TCase *tcase = tcase_create("open");
    tcase_add_test(tcase, test_prefixes_have_a_limit);
    tcase_add_test(tcase, test_many_encoders_need_a_choice);
    tcase_add_loop_test(tcase, test_any_prefix_is_found, 0, 2 * PREFIX_COUNT);
    tcase_add_loop_test(tcase, test_decoders_are_left_out_behind_any_prefix, 0, PREFIX_COUNT + 1);
    tcase_add_loop_test(tcase, test_shards_are_one_checkpoint, 0, 2);
    tcase_add_loop_test(tcase, test_one_of_several_encoders_is_taken, 0, 8);
    tcase_add_test(tcase, test_a_question_names_the_equal_encoders);
    tcase_add_loop_test(tcase, test_equal_encoders_need_a_choice, 0, 4);
    tcase_add_loop_test(tcase, test_names_may_have_a_tag, 0, 4);
    tcase_add_test(tcase, test_doubles_are_converted);
    tcase_add_loop_test(tcase, test_channels_are_adapted, 0, 2);
    tcase_add_test(tcase, test_class_names_and_preprocessing_come_along);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(open_names_suite)
