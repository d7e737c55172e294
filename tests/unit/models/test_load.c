/* Checks svit_model_load_mapped, svit_model_load_into and svit_model_save_mapped: what each flag
 * allows, the report, name maps, and that a failed load changes nothing. */
#include "test_load_support.h"

enum {
    SKIP = SVIT_LOAD_SKIP_SHAPE_MISMATCH,
    EXTRA = SVIT_LOAD_IGNORE_EXTRA,
    MISSING = SVIT_LOAD_ALLOW_MISSING
};

/* How the file of the small model is changed, and what loading it then does. */
typedef struct load_case {
    void (*change)(tensor_file *file);
    uint32_t flags;
    svit_status status;
    const char *part; /* of the message */
    uint32_t loaded, missing, mismatched, extra, buffers;
    const char *text;
} load_case;

static void keep(tensor_file *file)
{
    (void)file;
}

static void other_head(tensor_file *file)
{
    tensor_of(file, "head.weight")->shape[0] = 5;
    tensor_of(file, "head.bias")->shape[0] = 5;
}

static void no_norm(tensor_file *file)
{
    remove_tensor(file, "norm.weight");
    remove_tensor(file, "norm.bias");
}

static void more(tensor_file *file)
{
    add_tensor(file, "queue", 2, 2, 3, SV_DTYPE_F32);
    add_tensor(file, "fc_norm.bias", 1, 6, 0, SV_DTYPE_F16);
}

static void buffers(tensor_file *file)
{
    add_tensor(file, "index", 1, 4, 0, SV_DTYPE_I64);
    add_tensor(file, "scale", 1, 2, 0, SV_DTYPE_F64);
}

static void everything(tensor_file *file)
{
    other_head(file);
    no_norm(file);
    more(file);
    buffers(file);
}

static void fewer_rows(tensor_file *file)
{
    tensor_of(file, "pos_embed")->shape[1] = 1;
}

static void odd_grid(tensor_file *file)
{
    tensor_of(file, "pos_embed")->shape[1] = 11; /* 10 patches are no square */
}

static void other_dim(tensor_file *file)
{
    tensor_of(file, "pos_embed")->shape[2] = 5;
}

static void damaged(tensor_file *file)
{
    tensor_of(file, "blocks.0.mlp.fc2.weight")->has_nan = 1;
}

/* The escapes are JSON's: a name of two lines, and one that clears a terminal. */
static void hostile_names(tensor_file *file)
{
    add_tensor(file, "a\\nextra b", 1, 1, 0, SV_DTYPE_F32);
    add_tensor(file, "\\u001b[2J", 1, 1, 0, SV_DTYPE_F32);
}

static void integers(tensor_file *file)
{
    tensor_of(file, "norm.weight")->dtype = SV_DTYPE_I32;
}

static const load_case CASES[] = {
    {keep, 0, SVIT_OK, "", 20, 0, 0, 0, 0, ""},
    {keep, SKIP | EXTRA | MISSING, SVIT_OK, "", 20, 0, 0, 0, 0, ""},
    {other_head, 0, SVIT_E_FORMAT, "'head.weight' is [5, 6]; 'head.fc1.weight' is [3, 6]", 18, 0, 1,
     0, 0, "mismatched head.fc1.weight\n"},
    {other_head, EXTRA | MISSING, SVIT_E_FORMAT, "'head.weight'", 18, 0, 1, 0, 0,
     "mismatched head.fc1.weight\n"},
    {other_head, SKIP, SVIT_OK, "", 18, 0, 2, 0, 0,
     "mismatched head.fc1.weight\nmismatched head.fc1.bias\n"},
    {no_norm, 0, SVIT_E_FORMAT, "'norm.weight' for parameter 'norm.weight' is missing", 16, 1, 0, 0,
     0, "missing norm.weight\n"},
    {no_norm, SKIP | EXTRA, SVIT_E_FORMAT, "is missing", 16, 1, 0, 0, 0, "missing norm.weight\n"},
    {no_norm, MISSING, SVIT_OK, "", 18, 2, 0, 0, 0, "missing norm.weight\nmissing norm.bias\n"},
    {more, 0, SVIT_E_FORMAT, "'queue' belongs to no parameter", 20, 0, 0, 1, 0, "extra queue\n"},
    {more, SKIP | MISSING, SVIT_E_FORMAT, "'queue'", 20, 0, 0, 1, 0, "extra queue\n"},
    {more, EXTRA, SVIT_OK, "", 20, 0, 0, 2, 0, "extra queue\nextra fc_norm.bias\n"},
    {hostile_names, EXTRA, SVIT_OK, "", 20, 0, 0, 2, 0, "extra a\\nextra b\nextra \\x1B[2J\n"},
    {buffers, 0, SVIT_OK, "", 20, 0, 0, 2, 2, "buffer index\nbuffer scale\n"},
    {everything, SKIP | EXTRA | MISSING, SVIT_OK, "", 16, 2, 2, 4, 2,
     "missing norm.weight\nmissing norm.bias\nmismatched head.fc1.weight\n"
     "mismatched head.fc1.bias\nextra queue\nextra fc_norm.bias\nbuffer index\nbuffer scale\n"},
    {odd_grid, 0, SVIT_E_FORMAT, "position_height and position_width", 0, 0, 1, 0, 0,
     "mismatched pos_embed\n"},
    {odd_grid, SKIP, SVIT_OK, "", 19, 0, 1, 0, 0, "mismatched pos_embed\n"},
    {fewer_rows, 0, SVIT_E_FORMAT, "'pos_embed' is [1, 1, 6]; 'pos_embed' is [7, 6]", 0, 0, 1, 0, 0,
     "mismatched pos_embed\n"},
    {other_dim, 0, SVIT_E_FORMAT, "[1, 7, 5]", 0, 0, 1, 0, 0, "mismatched pos_embed\n"},
    {damaged, SKIP | EXTRA | MISSING, SVIT_E_FORMAT, "blocks.0.mlp.fc2.weight", 14, 0, 0, 0, 0, ""},
    {integers, SKIP | EXTRA | MISSING, SVIT_E_FORMAT, "norm.weight", 16, 0, 0, 0, 0, ""},
    {keep, 8, SVIT_E_ARGUMENT, "flags is 8", 0, 0, 0, 0, 0, ""},
};

START_TEST(test_flags_and_report)
{
    const load_case *wanted = &CASES[_i];
    char text[1024] = "as it was";
    svit_load_report report = {.struct_size = sizeof report,
                               .loaded = 99,
                               .missing = 99,
                               .mismatched = 99,
                               .extra = 99,
                               .buffers = 99,
                               .text = text,
                               .capacity = sizeof text};
    svit_model *model = small_model(), *before = small_model();
    tensor_file file = timm_file();
    wanted->change(&file);
    write_tensors(&file);
    if (wanted->status == SVIT_OK)
        WORKS(svit_model_load_into(model, path, "timm", wanted->flags, &report, err));
    else
        FAILS(svit_model_load_into(model, path, "timm", wanted->flags, &report, err),
              wanted->status, wanted->part);
    ck_assert_int_eq(same_weights(model, before), wanted->status != SVIT_OK);
    ck_assert_uint_eq(report.loaded, wanted->loaded);
    ck_assert_uint_eq(report.missing, wanted->missing);
    ck_assert_uint_eq(report.mismatched, wanted->mismatched);
    ck_assert_uint_eq(report.extra, wanted->extra);
    ck_assert_uint_eq(report.buffers, wanted->buffers);
    ck_assert_str_eq(text, wanted->text);
    if (wanted->status != SVIT_E_ARGUMENT)
        ck_assert_uint_eq(report.needed, strlen(wanted->text) + 1);
    svit_model_free(model);
    svit_model_free(before);
}
END_TEST

/* What a flag passes over stays: here the classifier. */
START_TEST(test_skipped_parameters_keep_their_values)
{
    svit_model *model = small_model(), *before = small_model();
    tensor_file file = timm_file();
    float a[18], b[18];
    other_head(&file);
    write_tensors(&file);
    WORKS(svit_model_load_into(model, path, "timm", SKIP, NULL, err));
    WORKS(svit_model_get_parameter(model, "head.fc1.weight", a, 18, err));
    WORKS(svit_model_get_parameter(before, "head.fc1.weight", b, 18, err));
    ck_assert_mem_eq(a, b, sizeof a);
    WORKS(svit_model_get_parameter(model, "blocks.0.attn.qkv.bias", a, 18, err));
    for (size_t i = 0; i < 18; i++)
        ck_assert_float_eq(a[i], value_of("blocks.0.attn.qkv.bias", i));
    svit_model_free(model);
    svit_model_free(before);
}
END_TEST

START_TEST(test_report_is_cut_at_whole_lines)
{
    static const char whole[] = "mismatched head.fc1.weight\nmismatched head.fc1.bias\n";
    const size_t first = strlen("mismatched head.fc1.weight\n");
    const size_t capacity = (size_t)_i;
    char text[sizeof whole + 1];
    memset(text, '#', sizeof text);
    svit_load_report report = {.struct_size = sizeof report, .text = text, .capacity = capacity};
    svit_model *model = small_model();
    tensor_file file = timm_file();
    other_head(&file);
    write_tensors(&file);
    WORKS(svit_model_load_into(model, path, "timm", SKIP, &report, err));
    ck_assert_uint_eq(report.needed, sizeof whole);
    if (capacity > 0)
        ck_assert_uint_eq(strlen(text), capacity >= sizeof whole ? sizeof whole - 1
                                        : capacity > first       ? first
                                                                 : 0);
    ck_assert_mem_eq(text, whole, capacity > 0 ? strlen(text) : 0);
    for (size_t i = capacity; i < sizeof text; i++)
        ck_assert_int_eq(text[i], '#');
    report.struct_size--;
    FAILS(svit_model_load_into(model, path, "timm", SKIP, &report, err), SVIT_E_ARGUMENT,
          "svit_load_report");
    svit_model_free(model);
}
END_TEST

/* F16 and BF16 files hold the values of the small file exactly. */
START_TEST(test_half_precision_files_are_read)
{
    svit_model *model = NULL, *wanted = NULL;
    svit_model_config config = small_config();
    tensor_file file = timm_file();
    write_tensors(&file);
    WORKS(svit_model_load_mapped(&wanted, context, &config, path, "timm", err));
    for (size_t i = 0; i < file.count; i++)
        file.list[i].dtype = i % 2 == (size_t)_i ? SV_DTYPE_F16 : SV_DTYPE_BF16;
    write_tensors(&file);
    WORKS(svit_model_load_mapped(&model, context, &config, path, "timm", err));
    ck_assert(same_weights(model, wanted));
    svit_model_free(model);
    svit_model_free(wanted);
}
END_TEST

/* Element [o, a, i] of the patch embedding is [o, i, a] of the convolution. */
START_TEST(test_convolutions_become_patch_embeddings)
{
    enum { ROWS = 6, CHANNELS = 3, AREA = 16 };
    float weight[ROWS * AREA * CHANNELS];
    svit_model *model = small_model();
    tensor_file file = timm_file();
    write_tensors(&file);
    WORKS(svit_model_load_into(model, path, "timm", 0, NULL, err));
    WORKS(svit_model_get_parameter(model, "patch_embed.proj.weight", weight, ROWS * AREA * CHANNELS,
                                   err));
    for (size_t o = 0; o < ROWS; o++)
        for (size_t a = 0; a < AREA; a++)
            for (size_t i = 0; i < CHANNELS; i++)
                ck_assert_float_eq(
                    weight[(o * AREA + a) * CHANNELS + i],
                    value_of("patch_embed.proj.weight", (o * CHANNELS + i) * AREA + a));
    svit_model_free(model);
}
END_TEST

/* A position embedding of 5 x 2 patches, whose grid the configuration names, and one whose rows are
 * equal, which interpolation must not change. */
START_TEST(test_positions_of_another_grid)
{
    svit_model *model = NULL;
    svit_model_config config = small_config();
    tensor_file file = timm_file();
    float rows[7 * 6];
    odd_grid(&file);
    write_tensors(&file);
    config.position_height = 5;
    config.position_width = 2;
    WORKS(svit_model_load_mapped(&model, context, &config, path, "timm", err));
    WORKS(svit_model_get_parameter(model, "pos_embed", rows, 7 * 6, err));
    for (size_t i = 0; i < 6; i++)
        ck_assert_float_eq(rows[i], value_of("pos_embed", i)); /* of the class token */
    /* Output row 1 of 3 is centred on input row 2 of 5: c = 2.5, r = 5/3, and weights k(j / r) for
     * j = -2..2 with k(0) = 1, k(0.6) = 0.424, k(1.2) = -0.064. */
    for (size_t x = 0; x < 2; x++)
        for (size_t i = 0; i < 6; i++) {
            static const double weights[] = {-0.064, 0.424, 1, 0.424, -0.064};
            double sum = 0;
            for (size_t y = 0; y < 5; y++)
                sum += weights[y] * value_of("pos_embed", (1 + y * 2 + x) * 6 + i) / 1.72;
            ck_assert_double_eq_tol(rows[(1 + 2 + x) * 6 + i], sum, 1e-6);
        }
    svit_model_free(model);
    config.position_height = 4;
    FAILS(svit_model_load_mapped(&model, context, &config, path, "timm", err), SVIT_E_FORMAT,
          "position_height");
}
END_TEST

/* A distilled model has positions of two tokens before those of the patches. */
START_TEST(test_positions_with_fewer_rows_than_the_prefix)
{
    svit_model *model = NULL;
    svit_model_config config = small_config();
    tensor_file file = timm_file();
    config.distilled = 1;
    tensor_of(&file, "pos_embed")->shape[1] = _i;
    write_tensors(&file);
    FAILS(svit_model_load_mapped(&model, context, &config, path, "timm", err), SVIT_E_FORMAT,
          "'pos_embed' is [8, 6] (position_height and position_width");
    ck_assert_ptr_null(model);
}
END_TEST

/* A file that ends anywhere is refused, and changes nothing. */
START_TEST(test_truncated_files_are_refused)
{
    svit_model *model = small_model(), *before = small_model();
    tensor_file file = timm_file();
    size_t bytes = write_tensors(&file);
    uint64_t state = 7;
    for (int i = 0; i < 200; i++) {
        write_tensors(&file);
        state = state * 6364136223846793005u + 1442695040888963407u;
        size_t left = i < 20 ? (size_t)i : (size_t)(state >> 33) % bytes;
        ck_assert_int_eq(truncate(path, (off_t)left), 0);
        FAILS(svit_model_load_into(model, path, "timm", SKIP | EXTRA | MISSING, NULL, err),
              SVIT_E_FORMAT, "model.safetensors");
        ck_assert(same_weights(model, before));
    }
    svit_model_free(model);
    svit_model_free(before);
}
END_TEST

/* A byte of the header that is changed at random gives a status, or a load of what is left. */
START_TEST(test_damaged_headers_do_no_harm)
{
    svit_model *model = small_model();
    tensor_file file = timm_file();
    size_t bytes = write_tensors(&file);
    uint64_t state = 11;
    for (int i = 0; i < 500; i++) {
        write_tensors(&file);
        state = state * 6364136223846793005u + 1442695040888963407u;
        FILE *out = fopen(path, "r+b");
        ck_assert_ptr_nonnull(out);
        fseek(out, (long)((state >> 33) % (bytes < 2000 ? bytes : 2000)), SEEK_SET);
        fputc((int)(state >> 25 & 255), out);
        fclose(out);
        svit_status status =
            svit_model_load_into(model, path, "timm", SKIP | EXTRA | MISSING, NULL, NULL);
        ck_assert(status == SVIT_OK || status == SVIT_E_FORMAT || status == SVIT_E_MEMORY);
    }
    svit_model_free(model);
}
END_TEST

START_TEST(test_a_model_saved_for_timm_loads_again)
{
    svit_model_config config = small_config();
    config.distilled = _i & 1;
    config.layer_scale = _i >> 1 & 1;
    config.pre_norm = _i >> 1 & 1;
    config.patch_bias = !config.pre_norm;
    config.in_channels = _i & 1 ? 2 : 3;
    config.register_tokens = _i >> 2 & 1 ? 2 : 0;
    config.position_tokens = _i >> 2 & 1 ? SVIT_POSITION_PATCHES : SVIT_POSITION_ALL;
    svit_model *model = NULL, *again = NULL;
    WORKS(svit_model_create(&model, context, &config, 5, err));
    WORKS(svit_model_save_mapped(model, path, "timm", err));
    WORKS(svit_model_load_mapped(&again, context, &config, path, "timm", err));
    ck_assert(same_weights(model, again));
    svit_model_free(model);
    svit_model_free(again);
}
END_TEST

/* The file of the small model that was loaded from timm's names has timm's bytes again. */
START_TEST(test_a_file_of_timm_comes_back)
{
    svit_model *model = NULL;
    svit_model_config config = small_config();
    sv_allocator allocator = sv_allocator_default();
    sv_safetensors *back;
    tensor_file file = timm_file();
    float values[MOST_ELEMENTS];
    write_tensors(&file);
    WORKS(svit_model_load_mapped(&model, context, &config, path, "timm", err));
    WORKS(svit_model_save_mapped(model, path, "timm", err));
    WORKS(sv_safetensors_open(&back, &allocator, path, err));
    ck_assert_uint_eq(sv_safetensors_count(back), file.count);
    ck_assert_str_eq(sv_safetensors_metadata(back, "format"), "pt");
    for (size_t i = 0; i < file.count; i++) {
        const tensor *t = &file.list[i];
        const sv_safetensors_entry *entry = sv_safetensors_find(back, t->name);
        ck_assert_msg(entry != NULL, "%s", t->name);
        ck_assert_uint_eq(entry->desc.rank, t->rank);
        ck_assert_mem_eq(entry->desc.shape, t->shape, t->rank * sizeof *t->shape);
        WORKS(sv_safetensors_read_f32(back, entry, values, err));
        for (size_t e = 0; e < elements_of(t); e++)
            ck_assert_float_eq(values[e], value_of(t->name, e));
    }
    sv_safetensors_close(back);
    svit_model_free(model);
}
END_TEST

static const struct {
    const char *fields, *part;
} UNNAMED[] = {
    {"\"tokenizer\":\"spt\"", "'tokenizer'"},
    {"\"attention\":\"lsa\"", "'attention'"},
    {"\"mlp_last_gelu\":true", "'mlp_last_gelu'"},
    {"\"pool\":\"flatten\"", "'pool'"},
    {"\"pool\":\"class-mean\"", "'pool'"},
    {"\"head_units\":[4]", "'head_units'"},
    {"\"head_dim\":4", "'head_dim'"},
    {"\"register_tokens\":2,\"position_tokens\":\"class-patches\"", "'position_tokens'"},
    {"\"names\":\"paper\"", "svit_model_save"},
    {"\"block\":\"parallel\",\"mlp\":\"swiglu\"", "'block'"},
    {"\"block\":\"parallel-fused\",\"mlp_norm\":true", "'block'"},
};

START_TEST(test_models_without_names_in_timm_are_refused)
{
    char json[512];
    svit_model *model = NULL;
    svit_model_config config;
    snprintf(json, sizeof json,
             "{\"architecture\":\"vit\",\"input_height\":12,\"input_width\":8,\"patch_size\":4,"
             "\"dim\":6,\"depth\":1,\"heads\":2,\"mlp_dim\":5,\"num_classes\":3%s%s%s%s,%s}",
             strstr(UNNAMED[_i].fields, "pool") ? "" : ",\"pool\":\"class_token\"",
             strstr(UNNAMED[_i].fields, "head_units") ? "" : ",\"head_units\":[]",
             strstr(UNNAMED[_i].fields, "mlp_last") ? "" : ",\"mlp_last_gelu\":false",
             strstr(UNNAMED[_i].fields, "head_dim") ? "" : ",\"head_dim\":3", UNNAMED[_i].fields);
    WORKS(svit_model_config_from_json(&config, sizeof config, json, err));
    WORKS(svit_model_create(&model, context, &config, 1, err));
    FAILS(svit_model_save_mapped(model, path, "timm", err), SVIT_E_UNSUPPORTED, UNNAMED[_i].part);
    FAILS(svit_model_save_mapped(model, path, "openclip", err), SVIT_E_ARGUMENT, "'openclip'");
    ck_assert_int_ne(access(path, F_OK), 0);
    svit_model_free(model);
}
END_TEST

#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

static Suite *load_suite(void)
{
    Suite *suite = suite_create("loading through name maps");
    TCase *all = tcase_create("load");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_loop_test(all, test_flags_and_report, 0, COUNT(CASES));
    tcase_add_test(all, test_skipped_parameters_keep_their_values);
    tcase_add_loop_test(all, test_report_is_cut_at_whole_lines, 0, 54);
    tcase_add_loop_test(all, test_half_precision_files_are_read, 0, 2);
    tcase_add_test(all, test_convolutions_become_patch_embeddings);
    tcase_add_test(all, test_positions_of_another_grid);
    tcase_add_loop_test(all, test_positions_with_fewer_rows_than_the_prefix, 0, 3);
    tcase_add_test(all, test_truncated_files_are_refused);
    tcase_add_test(all, test_damaged_headers_do_no_harm);
    tcase_add_loop_test(all, test_a_model_saved_for_timm_loads_again, 0, 8);
    tcase_add_test(all, test_a_file_of_timm_comes_back);
    tcase_add_loop_test(all, test_models_without_names_in_timm_are_refused, 0, COUNT(UNNAMED));
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(load_suite)
