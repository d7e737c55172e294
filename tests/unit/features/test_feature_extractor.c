/* Checks extractors against the features of datasets of the same images. */
#include "test_feature_sets_support.h"

static uint8_t pixels[COUNT * SIDE * SIDE * 3];
static float values[COUNT * SIDE * SIDE * 3];

/* The images of the dataset. */
static void read_images(const fixture *f)
{
    int32_t label;
    for (size_t i = 0; i < COUNT; i++)
        OK(svit_dataset_sample(f->data, i, pixels + i * SIDE * SIDE * 3, &label, err));
    for (size_t i = 0; i < COUNT * SIDE * SIDE * 3; i++)
        values[i] = pixels[i];
}

static svit_extractor *extractor_of(const fixture *f, const char *layer, int32_t tokens,
                                    uint32_t batch)
{
    svit_features_config config;
    svit_extractor *out = NULL;
    char name[40] = "";
    svit_features_config_init(&config, sizeof config);
    snprintf(name, sizeof name, "%s", layer ? layer : "");
    config.layer = layer ? name : NULL;
    config.tokens = tokens;
    config.batch = batch;
    OK(svit_extractor_create(&out, f->model, NULL, &config, err));
    memset(name, 'x', sizeof name); /* it has a copy */
    return out;
}

static const struct {
    const char *json, *layer;
    int32_t tokens;
} CASES[] = {{VIT, NULL, SVIT_TOKENS_MEAN},
             {VIT, "blocks.0", SVIT_TOKENS_MEAN},
             {VIT, "blocks.1", SVIT_TOKENS_CLASS},
             {VIT, "blocks.0", SVIT_TOKENS_PATCHES},
             {VIT, "blocks.1", SVIT_TOKENS_PATCHES_3X3},
             {DISTILLED, NULL, SVIT_TOKENS_CLASS},
             {SHIFTVIT, NULL, SVIT_TOKENS_MEAN},
             {SHIFTVIT, "layers.0.blocks.0", SVIT_TOKENS_PATCHES_3X3}};
enum { CASE_COUNT = sizeof CASES / sizeof *CASES };

/* Each case with batches of one, of four and of all images, on one and on three threads. */
START_TEST(test_they_have_the_bits_of_datasets)
{
    static const uint32_t BATCHES[] = {1, 4, 100};
    const uint32_t batch = BATCHES[_i / CASE_COUNT % 3];
    const size_t kind = (size_t)_i % CASE_COUNT;
    fixture f;
    int32_t tokens[2];
    size_t height[2], width[2];
    open_fixture(&f, CASES[kind].json, batch == 4 ? 3 : 1);
    read_images(&f);
    svit_features *set = compute(&f, CASES[kind].layer, CASES[kind].tokens, batch);
    svit_extractor *extractor = extractor_of(&f, CASES[kind].layer, CASES[kind].tokens, batch);
    OK(svit_features_grid(set, &tokens[0], &height[0], &width[0], err));
    OK(svit_extractor_grid(extractor, &tokens[1], &height[1], &width[1], err));
    ck_assert(tokens[0] == tokens[1] && height[0] == height[1] && width[0] == width[1]);
    const size_t channels = svit_extractor_channels(extractor);
    ck_assert_uint_eq(channels, svit_features_channels(set));
    const size_t image = height[0] * width[0] * channels, all = COUNT * image;
    float *found = malloc(all * sizeof *found);
    OK(svit_extract_u8(extractor, pixels, COUNT, SIDE, SIDE, found, err));
    ck_assert_mem_eq(found, svit_features_values(set), all * sizeof *found);
    memset(found, 0, all * sizeof *found);
    OK(svit_extract_f32(extractor, values, COUNT, SIDE, SIDE, found, err));
    ck_assert_mem_eq(found, svit_features_values(set), all * sizeof *found);
    for (size_t i = 0; batch == 1 && i < COUNT; i++) {
        OK(svit_extract_u8(extractor, pixels + i * SIDE * SIDE * 3, 1, SIDE, SIDE, found, err));
        ck_assert_mem_eq(found, svit_features_values(set) + i * image, image * sizeof *found);
    }
    free(found);
    svit_extractor_free(extractor);
    svit_features_free(set);
    close_fixture(&f);
}
END_TEST

/* What was seen before is found again, at no distance. */
START_TEST(test_their_rows_are_queries)
{
    fixture f;
    float *found;
    size_t indices[COUNT], channels;
    float distances[COUNT];
    open_fixture(&f, SHIFTVIT, 2);
    read_images(&f);
    svit_features *set = compute(&f, NULL, SVIT_TOKENS_MEAN, 1);
    svit_extractor *extractor = extractor_of(&f, NULL, SVIT_TOKENS_MEAN, 1);
    channels = svit_extractor_channels(extractor);
    found = malloc(COUNT * channels * sizeof *found);
    OK(svit_extract_u8(extractor, pixels, COUNT, SIDE, SIDE, found, err));
    OK(svit_features_nearest(set, found, COUNT, 1, SVIT_METRIC_EUCLIDEAN, indices, distances, err));
    for (size_t i = 0; i < COUNT; i++)
        ck_assert(indices[i] == i && distances[i] == 0);
    free(found);
    svit_extractor_free(extractor);
    svit_features_free(set);
    close_fixture(&f);
}
END_TEST

/* Images of another size go through the source step; changed weights count at once; the extractor
 * keeps the model. */
START_TEST(test_sizes_weights_and_lifetimes)
{
    fixture f;
    static uint8_t half[16 * 16 * 3], source[SIDE * SIDE * 3];
    const svit_pipeline_config pipeline = pipeline_of(24);
    open_fixture(&f, SHIFTVIT, 1);
    for (size_t i = 0; i < sizeof half; i++)
        half[i] = (uint8_t)(i * 37 % 251);
    OK(svit_pipeline_apply_source(f.context, &pipeline, half, 16, 16, source, err));
    svit_extractor *extractor = extractor_of(&f, NULL, SVIT_TOKENS_MEAN, 1);
    const size_t channels = svit_extractor_channels(extractor), bytes = channels * sizeof(float);
    float *a = malloc(bytes), *b = malloc(bytes), bias[DIM] = {1, 2};
    OK(svit_extract_u8(extractor, half, 1, 16, 16, a, err));
    OK(svit_extract_u8(extractor, source, 1, SIDE, SIDE, b, err));
    ck_assert_mem_eq(a, b, bytes);
    OK(svit_model_set_parameter(f.model, "patch_embed.proj.bias", bias, DIM, err));
    OK(svit_extract_u8(extractor, source, 1, SIDE, SIDE, b, err));
    ck_assert_mem_ne(a, b, bytes);
    close_fixture(&f);
    OK(svit_extract_u8(extractor, source, 1, SIDE, SIDE, a, err));
    ck_assert_mem_eq(a, b, bytes);
    free(a);
    free(b);
    svit_extractor_free(extractor);
}
END_TEST

/* Registers are no class token, though they lie before the patches as well. */
START_TEST(test_registers_are_no_class_token)
{
    static const char REGISTERS[] =
        "{\"architecture\":\"vit\"," SIZE "\"dim\":24,\"depth\":1,\"heads\":2,\"head_dim\":12,"
        "\"mlp_dim\":40,\"head_units\":[],\"pool\":\"mean-patches\",\"class_token\":\"none\","
        "\"register_tokens\":2}";
    fixture f;
    svit_extractor *extractor = NULL;
    svit_features_config config;
    open_fixture(&f, REGISTERS, 1);
    svit_features_config_init(&config, sizeof config);
    config.layer = "blocks.0";
    config.tokens = SVIT_TOKENS_CLASS;
    FAILS(svit_extractor_create(&extractor, f.model, NULL, &config, err), SVIT_E_ARGUMENT,
          "layer 'blocks.0' has no class token");
    config.tokens = SVIT_TOKENS_PATCHES;
    OK(svit_extractor_create(&extractor, f.model, NULL, &config, err));
    svit_extractor_free(extractor);
    close_fixture(&f);
}
END_TEST

START_TEST(test_what_is_refused)
{
    fixture f;
    svit_extractor *extractor = NULL;
    svit_features_config config;
    svit_pipeline_config pipeline = pipeline_of(24);
    float row[DIM * 2];
    open_fixture(&f, SHIFTVIT, 1);
    svit_features_config_init(&config, sizeof config);
    config.layer = "nothing";
    FAILS(svit_extractor_create(&extractor, f.model, NULL, &config, err), SVIT_E_ARGUMENT,
          "layer is 'nothing'");
    config.layer = NULL;
    config.batch = 0;
    FAILS(svit_extractor_create(&extractor, f.model, NULL, &config, err), SVIT_E_ARGUMENT,
          "batch is 0; it is in [1, 65536]");
    pipeline.channels = 4;
    FAILS(svit_extractor_create(&extractor, f.model, &pipeline, NULL, err), SVIT_E_ARGUMENT,
          "in_channels 3; channels of the pipeline is 4");
    ck_assert_ptr_null(extractor);
    extractor = extractor_of(&f, NULL, SVIT_TOKENS_MEAN, 2);
    FAILS(svit_extract_u8(extractor, pixels, 0, SIDE, SIDE, row, err), SVIT_E_ARGUMENT,
          "svit_extract_u8: n is 0");
    FAILS(svit_extract_u8(extractor, pixels, 1, 0, SIDE, row, err), SVIT_E_ARGUMENT,
          "svit_extract_u8: height is 0");
    values[5] = NAN;
    FAILS(svit_extract_f32(extractor, values, 1, SIDE, SIDE, row, err), SVIT_E_ARGUMENT,
          "svit_extract_f32: the image has the value nan");
    svit_extractor_free(extractor);
    OK(svit_model_set_pipeline(f.model, NULL, err));
    FAILS(svit_extractor_create(&extractor, f.model, NULL, NULL, err), SVIT_E_STATE, "pipeline");
    close_fixture(&f);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("feature_extractor");
    TCase *c = tcase_create("feature_extractor");
    tcase_add_loop_test(c, test_they_have_the_bits_of_datasets, 0, 3 * CASE_COUNT);
    tcase_add_test(c, test_their_rows_are_queries);
    tcase_add_test(c, test_sizes_weights_and_lifetimes);
    tcase_add_test(c, test_registers_are_no_class_token);
    tcase_add_test(c, test_what_is_refused);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
