/* Models that are ended after one of their blocks. */
#include "calls.h"

#include <shiftvit/shiftvit.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define SIZE "\"input_height\":24,\"input_width\":24,\"patch_size\":6,"
#define VIT                                                                                        \
    "{\"architecture\":\"vit\"," SIZE "\"dim\":24,\"depth\":3,\"heads\":2,\"head_dim\":12,"        \
    "\"mlp_dim\":40,\"mlp_last_gelu\":false,"
#define SHIFTVIT                                                                                   \
    "{\"architecture\":\"shiftvit\",\"input_height\":24,\"input_width\":24,\"dim\":24,"            \
    "\"blocks\":[1,2,0,1],\"num_classes\":5,\"num_div\":6,"

static const char *const MODELS[] = {
    SHIFTVIT "\"final_norm\":false}",
    SHIFTVIT "\"final_norm\":true,\"mixer\":\"depthwise\",\"stem\":\"conv\",\"patch_size\":4}",
    VIT "\"head_units\":[],\"pool\":\"class_token\",\"register_tokens\":2}",
    VIT "\"head_units\":[7],\"pool\":\"flatten\"}",
    VIT "\"head_units\":[],\"pool\":\"class_token\",\"distilled\":true}",
    VIT "\"head_units\":[],\"pool\":\"attention\",\"pool_heads\":2,\"pool_mlp_dim\":10,"
        "\"head_norm\":true}",
    VIT "\"head_units\":[],\"pool\":\"mean\",\"classifier\":false}",
    VIT "\"head_units\":[],\"pool\":\"mean\",\"classifier\":false,"
        "\"mask_ratio\":0.5}",
    "{\"architecture\":\"mixer\"," SIZE
    "\"dim\":20,\"depth\":2,\"token_mlp_dim\":10,\"mlp_dim\":30}"};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS, N = 3, PIXELS = 24 * 24 * 3 };
enum {
    SHIFT = 0,
    SHIFT_NORM = 1,
    CLASS_TOKEN = 2,
    FLATTEN = 3,
    MASKED = 7,
    MIXER = MODEL_COUNT - 1,
    MAX_VALUES = 1 << 17
};

static svit_context *context;
static float images[N * PIXELS];

static void setup(void)
{
    err.struct_size = sizeof err;
    OK(svit_context_create(&context, NULL, &err));
    for (size_t i = 0; i < N * PIXELS; i++)
        images[i] = (float)sin((double)i * 0.37) + (float)(i / PIXELS);
}

static void teardown(void)
{
    svit_context_free(context);
}

static svit_model *create(size_t index)
{
    svit_model_config config;
    svit_model *model;
    OK(svit_model_config_from_json(&config, sizeof config, MODELS[index], &err));
    OK(svit_model_create(&model, context, &config, 7, &err));
    return model;
}

static svit_session *open_session(svit_model *model)
{
    svit_session_config config;
    svit_session *session;
    OK(svit_session_config_init(&config, sizeof config));
    config.max_batch = N;
    config.features = 1;
    OK(svit_session_create(&session, model, &config, &err));
    return session;
}

/* The output of a layer for the images; the caller frees it. */
static float *layer_output(svit_model *model, const char *layer, size_t *tokens, size_t *channels)
{
    svit_session *session = open_session(model);
    OK(svit_session_layer_shape(session, layer, tokens, channels, &err));
    const size_t elements = N * *tokens * *channels;
    float *out = malloc(elements * sizeof *out);
    OK(svit_forward_features(session, images, N, layer, out, elements, &err));
    svit_session_free(session);
    return out;
}

static float *logits_of(svit_model *model, size_t *classes)
{
    svit_model_config config;
    svit_session *session = open_session(model);
    OK(svit_model_get_config(model, &config, sizeof config, &err));
    *classes = config.num_classes;
    float *out = malloc(N * *classes * sizeof *out);
    OK(svit_forward(session, images, N, out, &err));
    svit_session_free(session);
    return out;
}

static bool is_block(const char *layer)
{
    return strncmp(layer, "blocks.", 7) == 0 || strncmp(layer, "layers.", 7) == 0;
}

/* Copies the name of layer `index` of a new model; false past the last one. */
static bool layer_name(char name[64], size_t model_index, size_t index)
{
    svit_model *model = create(model_index);
    svit_session *session = open_session(model);
    const char *found = svit_session_layer_name(session, index);
    if (found)
        snprintf(name, 64, "%s", found);
    svit_session_free(session);
    svit_model_free(model);
    return found != NULL;
}

static void expect_parameters_of(svit_model *part, svit_model *whole)
{
    static float values[MAX_VALUES], expected[MAX_VALUES];
    ck_assert_uint_le(svit_model_parameter_count(part), svit_model_parameter_count(whole));
    for (size_t i = 0; i < svit_model_parameter_count(part); i++) {
        const char *name = svit_model_parameter_name(part, i);
        int64_t shape[8];
        size_t rank, elements = 1;
        OK(svit_model_parameter_shape(part, name, shape, &rank, &err));
        for (size_t axis = 0; axis < rank; axis++)
            elements *= (size_t)shape[axis];
        ck_assert_uint_le(elements, MAX_VALUES);
        OK(svit_model_get_parameter(part, name, values, elements, &err));
        OK(svit_model_get_parameter(whole, name, expected, elements, &err));
        ck_assert_mem_eq(values, expected, elements * sizeof *values);
    }
}

static void expect_no_classifier(svit_model *model, size_t logits)
{
    svit_model_config config;
    OK(svit_model_get_config(model, &config, sizeof config, &err));
    ck_assert_int_eq(config.classifier, 0);
    ck_assert_uint_eq(config.num_classes, logits);
}

/* The output of the block has the same bits after the model has been ended there, unless the model
 * masked patches, of which its encoder now sees all. */
static void truncate_at(size_t index, const char *layer)
{
    svit_model *whole = create(index), *part = create(index);
    size_t tokens, channels, part_tokens, part_channels;
    OK(svit_model_truncate(part, layer, &err));
    expect_parameters_of(part, whole);
    float *expected = layer_output(whole, layer, &tokens, &channels);
    float *block = layer_output(part, layer, &part_tokens, &part_channels);
    ck_assert_uint_eq(part_tokens, index == MASKED ? 2 * tokens : tokens);
    ck_assert_uint_eq(channels, part_channels);
    if (index != MASKED)
        ck_assert_mem_eq(block, expected, N * tokens * channels * sizeof *block);
    expect_no_classifier(part, index == FLATTEN ? tokens * channels : channels);
    free(expected);
    free(block);
    svit_model_free(whole);
    svit_model_free(part);
}

static void refuse(size_t index, const char *layer)
{
    svit_model *model = create(index);
    svit_model_config before, after;
    OK(svit_model_get_config(model, &before, sizeof before, &err));
    FAILS(SVIT_E_ARGUMENT, layer, svit_model_truncate(model, layer, &err));
    OK(svit_model_get_config(model, &after, sizeof after, &err));
    ck_assert_mem_eq(&before, &after, sizeof before);
    svit_model_free(model);
}

START_TEST(test_a_model_ends_after_any_block_and_no_other_layer)
{
    char layer[64];
    size_t blocks = 0;
    for (size_t i = 0; layer_name(layer, (size_t)_i, i); i++)
        if (is_block(layer)) {
            truncate_at((size_t)_i, layer);
            blocks++;
        } else {
            refuse((size_t)_i, layer);
        }
    ck_assert_uint_ge(blocks, 2);
}
END_TEST

START_TEST(test_names_of_no_block_are_refused)
{
    static const char *const names[] = {
        "blocks.3",          "blocks.00",         "blocks.0x",        "layers.2.blocks.0",
        "layers.1.blocks.2", "layers.4.blocks.0", "layers.0.blocks.", "blocks.-1"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        refuse((size_t)_i, names[i]);
}
END_TEST

/* mean[i] of x[tokens, channels] over the tokens */
static double mean_of(const float *x, size_t tokens, size_t channels, size_t i)
{
    double sum = 0;
    for (size_t t = 0; t < tokens; t++)
        sum += x[t * channels + i];
    return sum / (double)tokens;
}

/* The layer norm of x[channels], whose weights are 1 and biases 0, at i. */
static double norm_of(const float *x, size_t channels, size_t i)
{
    const double mean = mean_of(x, channels, 1, 0);
    double square = 0;
    for (size_t k = 0; k < channels; k++)
        square += (x[k] - mean) * (x[k] - mean) / (double)channels;
    return (x[i] - mean) / sqrt(square + 1e-6);
}

/* Without a final norm the logits are the means over the tokens of the block; with one they are
 * the norm of the class token. */
START_TEST(test_the_logits_are_the_pooled_features)
{
    const size_t index = _i ? CLASS_TOKEN : SHIFT;
    const char *layer = _i ? "blocks.1" : "layers.1.blocks.0";
    svit_model *whole = create(index), *part = create(index);
    size_t tokens, channels, classes;
    float *block = layer_output(whole, layer, &tokens, &channels);
    OK(svit_model_truncate(part, layer, &err));
    float *logits = logits_of(part, &classes);
    ck_assert_uint_eq(classes, channels);
    for (size_t n = 0; n < N; n++)
        for (size_t i = 0; i < channels; i++) {
            const float *x = block + n * tokens * channels;
            const double expected = _i ? norm_of(x, channels, i) : mean_of(x, tokens, channels, i);
            ck_assert_double_le(fabs(expected - logits[n * channels + i]), 1e-5);
        }
    free(block);
    free(logits);
    svit_model_free(whole);
    svit_model_free(part);
}
END_TEST

START_TEST(test_the_final_norm_goes_with_the_last_stage)
{
    svit_model_config config;
    for (int i = 0; i < 2; i++) {
        svit_model *model = create(SHIFT_NORM);
        OK(svit_model_truncate(model, i ? "layers.3.blocks.0" : "layers.1.blocks.1", &err));
        OK(svit_model_get_config(model, &config, sizeof config, &err));
        ck_assert_int_eq(config.final_norm, i);
        ck_assert_uint_eq(config.stages, i ? 4 : 2);
        ck_assert_uint_eq(config.blocks[3], (uint32_t)i);
        svit_model_free(model);
    }
}
END_TEST

/* A new classifier, a file, and what was frozen. */
START_TEST(test_a_truncated_model_is_a_model)
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    static char file[1 << 18];
    svit_model *model = create(SHIFT), *read;
    size_t bytes, classes;
    int32_t trainable;
    OK(svit_model_set_classes(model, names, 5, &err));
    OK(svit_model_set_trainable(model, "layers.0.*", 0, &err));
    OK(svit_model_truncate(model, "layers.1.blocks.0", &err));
    ck_assert_ptr_null(svit_model_class_name(model, 0));
    OK(svit_model_get_trainable(model, "layers.0.blocks.0.mlp.fc1.weight", &trainable, &err));
    ck_assert_int_eq(trainable, 0);
    OK(svit_model_replace_head(model, 3, 1, &err));
    OK(svit_model_save_memory(model, file, sizeof file, &bytes, &err));
    OK(svit_model_load_memory(&read, context, file, bytes, &err));
    float *logits = logits_of(model, &classes), *same = logits_of(read, &classes);
    ck_assert_uint_eq(classes, 3);
    ck_assert_mem_eq(logits, same, N * 3 * sizeof *logits);
    free(logits);
    free(same);
    svit_model_free(model);
    svit_model_free(read);
}
END_TEST

START_TEST(test_a_model_in_use_is_not_truncated)
{
    svit_model *model = create(MIXER);
    svit_session *session = open_session(model);
    FAILS(SVIT_E_STATE, "it is truncated", svit_model_truncate(model, "blocks.0", &err));
    svit_session_free(session);
    OK(svit_model_truncate(model, "blocks.0", &err));
    svit_model_free(model);
}
END_TEST

static Suite *truncate_suite(void)
{
    Suite *suite = suite_create("truncate");
    TCase *all = tcase_create("truncate");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_loop_test(all, test_a_model_ends_after_any_block_and_no_other_layer, 0, MODEL_COUNT);
    tcase_add_loop_test(all, test_names_of_no_block_are_refused, 0, MODEL_COUNT);
    tcase_add_loop_test(all, test_the_logits_are_the_pooled_features, 0, 2);
    tcase_add_test(all, test_the_final_norm_goes_with_the_last_stage);
    tcase_add_test(all, test_a_truncated_model_is_a_model);
    tcase_add_test(all, test_a_model_in_use_is_not_truncated);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(truncate_suite)
