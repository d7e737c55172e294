/* Feature sets whose samples are the patches of images. */
#include "test_feature_sets_support.h"

/* The layers have this grid, behind `prefix` tokens. */
static const struct {
    const char *json, *layer;
    size_t prefix, height, width, channels;
} CASES[] = {
    {VIT, "blocks.0", 3, 4, 4, 24},
    {VIT, "patch_embed", 0, 4, 4, 24},
    {DISTILLED, "blocks.0", 2, 4, 4, 24},
    {SHIFTVIT, "layers.0.blocks.0", 0, 6, 6, 24},
    {SHIFTVIT, "layers.1.blocks.0", 0, 3, 3, 48},
    {"{\"architecture\":\"vit\",\"input_height\":24,\"input_width\":24,\"patch_size\":8,"
     "\"num_classes\":10,\"dim\":24,\"depth\":1,\"heads\":2,\"head_dim\":12,\"mlp_dim\":40}",
     "blocks.0", 0, 3, 3, 24},
    {"{\"architecture\":\"mixer\"," SIZE "\"dim\":20,\"depth\":1,\"token_mlp_dim\":10,"
     "\"mlp_dim\":30}",
     "blocks.0", 0, 4, 4, 20},
};
enum { MOST = 64 * 48 };

/* The mean of a patch and its neighbours in the grid. */
static double mean_around(const float *x, size_t i, size_t k, size_t height, size_t width, size_t c)
{
    double sum = 0;
    int count = 0;
    for (size_t j = 0; j < height * width; j++)
        if (labs((long)(j / width) - (long)(i / width)) <= 1 &&
            labs((long)(j % width) - (long)(i % width)) <= 1) {
            sum += x[j * c + k];
            count++;
        }
    return sum / count;
}

START_TEST(test_samples_are_the_patches_of_the_images)
{
    fixture f;
    static float layer[MOST];
    const size_t height = CASES[_i].height, width = CASES[_i].width, c = CASES[_i].channels;
    const size_t patches = height * width, prefix = CASES[_i].prefix;
    open_fixture(&f, CASES[_i].json, 2);
    svit_features *set = compute(&f, CASES[_i].layer, SVIT_TOKENS_PATCHES, 8);
    svit_features *means = compute(&f, CASES[_i].layer, SVIT_TOKENS_PATCHES_3X3, 5);
    int32_t tokens;
    size_t h, w;
    OK(svit_features_grid(set, &tokens, &h, &w, err));
    ck_assert(tokens == SVIT_TOKENS_PATCHES && h == height && w == width);
    OK(svit_features_grid(means, &tokens, &h, &w, err));
    ck_assert(tokens == SVIT_TOKENS_PATCHES_3X3 && h == height && w == width);
    svit_features *some = NULL;
    OK(svit_features_coreset(&some, means, 2, err));
    OK(svit_features_grid(some, &tokens, &h, &w, err));
    ck_assert(tokens == SVIT_TOKENS_PATCHES_3X3 && h == height && w == width);
    svit_features_free(some);
    ck_assert_uint_eq(svit_features_count(set), COUNT * patches);
    ck_assert_uint_eq(svit_features_count(means), COUNT * patches);
    for (size_t n = 0; n < COUNT; n += COUNT - 1) {
        layer_of(&f, CASES[_i].layer, n, layer, (prefix + patches) * c);
        const float *x = layer + prefix * c, *got = svit_features_values(set) + n * patches * c,
                    *mean = svit_features_values(means) + n * patches * c;
        for (size_t i = 0; i < patches * c; i++) {
            ck_assert_float_eq_tol(got[i], x[i], 1e-5f);
            const double wanted = mean_around(x, i / c, i % c, height, width, c);
            ck_assert_double_le(fabs(mean[i] - wanted), 1e-5);
        }
        uint8_t rgb[SIDE * SIDE * 3];
        int32_t label;
        OK(svit_dataset_sample(f.data, n, rgb, &label, err));
        for (size_t i = 0; i < patches; i++)
            ck_assert_int_eq(svit_features_labels(set)[n * patches + i], label);
    }
    svit_features_free(set);
    svit_features_free(means);
    close_fixture(&f);
}
END_TEST

/* A layer of one token has one sample for each image. */
START_TEST(test_pooled_features_stay_those_of_images)
{
    fixture f;
    int32_t tokens;
    size_t h, w;
    open_fixture(&f, VIT, 1);
    svit_features *set = compute(&f, NULL, SVIT_TOKENS_PATCHES, 8),
                  *mean = compute(&f, NULL, SVIT_TOKENS_MEAN, 8);
    OK(svit_features_grid(set, &tokens, &h, &w, err));
    ck_assert(tokens == SVIT_TOKENS_MEAN && h == 1 && w == 1);
    ck_assert_uint_eq(svit_features_count(set), COUNT);
    ck_assert_mem_eq(svit_features_values(set), svit_features_values(mean),
                     COUNT * 48 * sizeof(float));
    svit_features_free(set);
    svit_features_free(mean);
    close_fixture(&f);
}
END_TEST

START_TEST(test_sets_of_patches_are_kept_in_files_and_apart)
{
    fixture f;
    const test_folder folder = folder_make();
    const char *path = path_in(&folder, "other.safetensors");
    svit_features *read = NULL;
    int32_t tokens;
    size_t h, w;
    open_fixture(&f, SHIFTVIT, 1);
    svit_features *set = compute(&f, "layers.1.blocks.0", SVIT_TOKENS_PATCHES_3X3, 8),
                  *plain = compute(&f, "layers.1.blocks.0", SVIT_TOKENS_PATCHES, 8),
                  *mean = compute(&f, "layers.1.blocks.0", SVIT_TOKENS_MEAN, 8);
    OK(svit_features_save(set, path, err));
    OK(svit_features_load(&read, f.context, path, err));
    OK(svit_features_grid(read, &tokens, &h, &w, err));
    ck_assert(tokens == SVIT_TOKENS_PATCHES_3X3 && h == 3 && w == 3);
    OK(svit_features_append(read, set, err));
    ck_assert_uint_eq(svit_features_count(read), 2 * COUNT * 9);
    FAILS(svit_features_append(read, plain, err), SVIT_E_ARGUMENT,
          "patches-3x3 of 3 x 3 and patches of 3 x 3 tokens");
    FAILS(svit_features_append(mean, plain, err), SVIT_E_ARGUMENT, "mean of 1 x 1");
    svit_features_free(read);
    svit_features_free(set);
    svit_features_free(plain);
    svit_features_free(mean);
    close_fixture(&f);
    folder_remove(&folder);
}
END_TEST

/* The visible patches of a masked autoencoder come after its class token and registers, on no
 * grid. */
START_TEST(test_visible_patches_have_a_mean)
{
    enum { PREFIX = 3, VISIBLE = 4, WIDTH = 24 };
    fixture f;
    float layer[(PREFIX + VISIBLE) * WIDTH];
    open_fixture(
        &f,
        "{\"architecture\":\"vit\",\"input_height\":24,\"input_width\":24,\"patch_size\":6,"
        "\"dim\":24,\"depth\":2,\"heads\":2,\"head_dim\":12,\"mlp_dim\":48,"
        "\"class_token\":\"present\",\"register_tokens\":2,\"mask_ratio\":0.75,"
        "\"classifier\":false,\"head_units\":[],\"pool\":\"class_token\"}",
        1);
    svit_features *set = compute(&f, "blocks.0", SVIT_TOKENS_MEAN, 8);
    layer_of(&f, "blocks.0", 0, layer, (PREFIX + VISIBLE) * WIDTH);
    for (size_t k = 0; k < WIDTH; k++) {
        double sum = 0;
        for (size_t t = PREFIX; t < PREFIX + VISIBLE; t++)
            sum += (double)layer[t * WIDTH + k];
        ck_assert_double_le(fabs(svit_features_values(set)[k] - sum / VISIBLE), 1e-5);
    }
    svit_features_free(set);
    svit_features_config config;
    svit_features_config_init(&config, sizeof config);
    config.layer = "blocks.0";
    config.tokens = SVIT_TOKENS_PATCHES;
    const svit_pipeline_config pipeline = pipeline_of(24);
    FAILS(svit_features_compute(&set, f.model, f.data, &pipeline, &config, err), SVIT_E_ARGUMENT,
          "has visible patches alone");
    close_fixture(&f);
}
END_TEST

/* Class tokens, patches and means are told apart in files as in sets. */
START_TEST(test_the_tokens_of_a_set_are_kept_in_files)
{
    static const int32_t kinds[] = {SVIT_TOKENS_MEAN, SVIT_TOKENS_CLASS, SVIT_TOKENS_PATCHES,
                                    SVIT_TOKENS_PATCHES_3X3};
    const test_folder folder = folder_make();
    const char *path = path_in(&folder, "other.safetensors");
    fixture f;
    open_fixture(&f, VIT, 1);
    svit_features *sets[4], *read[4] = {NULL};
    for (size_t i = 0; i < 4; i++) {
        sets[i] = compute(&f, "blocks.0", kinds[i], 8);
        OK(svit_features_save(sets[i], path, err));
        OK(svit_features_load(&read[i], f.context, path, err));
    }
    for (size_t i = 0; i < 4; i++) {
        int32_t tokens;
        size_t h, w;
        OK(svit_features_grid(read[i], &tokens, &h, &w, err));
        ck_assert_int_eq(tokens, kinds[i]);
        for (size_t k = 0; k < 4; k++)
            if (i != k)
                FAILS(svit_features_append(read[i], sets[k], err), SVIT_E_ARGUMENT, "tokens");
        OK(svit_features_append(read[i], sets[i], err));
    }
    for (size_t i = 0; i < 4; i++) {
        svit_features_free(sets[i]);
        svit_features_free(read[i]);
    }
    close_fixture(&f);
    folder_remove(&folder);
}
END_TEST

static const struct {
    const char *metadata, *part; /* NULL: it is read */
} FILES[] = {
    {"\"tokens\":\"patches\",\"grid\":\"2x3\"", NULL},
    {"\"grid\":\"2x3\"", NULL},
    {"\"tokens\":\"class\"", NULL},
    {"\"tokens\":\"mean\",\"grid\":\"2x3\"", "tokens is 'mean'"},
    {"\"tokens\":\"patches\"", "grid is '(not given)'"},
    {"\"tokens\":\"patches\",\"grid\":\"\"", "grid is ''"},
    {"\"tokens\":\"patches\",\"grid\":\"2x\"", "grid is '2x'"},
    {"\"tokens\":\"patches\",\"grid\":\"00000000000000000002x00000000000000000003\"", NULL},
    {"\"tokens\":\"patches\",\"grid\":\"2x3x\"", "grid is '2x3x'"},
    {"\"tokens\":\"patches\",\"grid\":\"-2x3\"", "grid is '-2x3'"},
    {"\"tokens\":\"patches\",\"grid\":\"0x3\"", "grid is '0x3'"},
    {"\"tokens\":\"patches\",\"grid\":\"3x0\"", "grid is '3x0'"},
    {"\"tokens\":\"patches\",\"grid\":\" 2x3\"", "grid is ' 2x3'"},
    {"\"tokens\":\"patches\",\"grid\":\"4294967296x4294967296\"", "grid is '4294967296x"},
    {"\"tokens\":\"patches\",\"grid\":\"99999999999999999999999999x1\"", "grid is '999"},
};

START_TEST(test_grids_of_files_are_checked)
{
    const test_folder folder = folder_make();
    const char *path = path_in(&folder, "other.safetensors");
    char header[400];
    unsigned char file[512] = {0};
    svit_context *context = context_of(1);
    svit_features *set = NULL;
    const int length =
        snprintf(header, sizeof header,
                 "{\"__metadata__\":{%s},\"features\":{\"dtype\":\"F32\",\"shape\":[1,1],"
                 "\"data_offsets\":[0,4]}}",
                 FILES[_i].metadata);
    file[0] = (unsigned char)length;
    memcpy(file + 8, header, (size_t)length);
    file_write(&folder, "other.safetensors", file, 8 + (size_t)length + 4);
    if (FILES[_i].part)
        FAILS(svit_features_load(&set, context, path, err), SVIT_E_FORMAT, FILES[_i].part);
    else
        OK(svit_features_load(&set, context, path, err));
    svit_features_free(set);
    svit_context_free(context);
    folder_remove(&folder);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("feature_patches");
    TCase *c = tcase_create("core");
    tcase_add_loop_test(c, test_samples_are_the_patches_of_the_images, 0,
                        sizeof CASES / sizeof *CASES);
    tcase_add_test(c, test_pooled_features_stay_those_of_images);
    tcase_add_test(c, test_sets_of_patches_are_kept_in_files_and_apart);
    tcase_add_test(c, test_visible_patches_have_a_mean);
    tcase_add_test(c, test_the_tokens_of_a_set_are_kept_in_files);
    tcase_add_loop_test(c, test_grids_of_files_are_checked, 0, sizeof FILES / sizeof *FILES);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
