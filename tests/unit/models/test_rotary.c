/* Checks ViTs with rotary positions: inputs of other sizes, initial frequencies, and keys without a
 * bias. */
#include "fit.h"

#include <math.h>

static svit_context *context;
static fit_folder folder;

static void setup(void)
{
    context = fit_context(2);
    folder = fit_folder_make();
}

static void teardown(void)
{
    svit_context_free(context);
    fit_folder_remove(&folder);
}

#define COMMON                                                                                     \
    "{\"architecture\":\"vit\",\"input_height\":16,\"input_width\":16,\"patch_size\":4,\"dim\":"   \
    "16,"                                                                                          \
    "\"depth\":2,\"heads\":2,\"head_dim\":8,\"mlp_dim\":20,\"head_units\":[],\"num_classes\":5,"   \
    "\"mlp_last_gelu\":false,\"dropout\":0,\"attention_dropout\":0,\"head_dropout\":0,"
#define ANY_SIZE COMMON "\"position_tokens\":\"none\","

static svit_model_config config_of(const char *json)
{
    svit_model_config config;
    WORKS(svit_model_config_from_json(&config, sizeof config, json, err));
    return config;
}

static svit_model *model_of(const svit_model_config *config, uint64_t seed)
{
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, config, seed, err));
    return model;
}

enum { HEIGHT = 24, WIDTH = 12, N = 3, CLASSES = 5, PIXELS = HEIGHT * WIDTH * 3 };

/* The logits of N images of HEIGHT x WIDTH pixels. */
static void run(const svit_model *model, float *logits)
{
    static float images[N * PIXELS];
    svit_session *session = NULL;
    svit_session_config config;
    for (size_t i = 0; i < N * PIXELS; i++)
        images[i] = (float)((i * 7919) % 1000) / 500 - 1;
    WORKS(svit_session_config_init(&config, sizeof config));
    config.mode = SVIT_MODE_INFER;
    config.max_batch = N;
    config.input_height = HEIGHT;
    config.input_width = WIDTH;
    WORKS(svit_session_create(&session, (svit_model *)model, &config, err));
    WORKS(svit_forward(session, images, N, logits, err));
    svit_session_free(session);
}

/* Draws all parameters of `to` and gives those of `too` the same values. */
static void draw_both(svit_model *to, svit_model *too)
{
    static float values[1 << 14];
    for (size_t i = 0; i < svit_model_parameter_count(to); i++) {
        const char *name = svit_model_parameter_name(to, i);
        int64_t shape[8];
        size_t rank, elements = 1;
        WORKS(svit_model_parameter_shape(to, name, shape, &rank, err));
        for (size_t r = 0; r < rank; r++)
            elements *= (size_t)shape[r];
        for (size_t j = 0; j < elements; j++)
            values[j] = (float)((i * 131 + j * 7919) % 997) / 997 - 0.4f;
        WORKS(svit_model_set_parameter(to, name, values, elements, err));
        WORKS(svit_model_set_parameter(too, name, values, elements, err));
    }
}

static const char *const ANY_SIZES[] = {
    ANY_SIZE "\"pool\":\"mean\"}",
    ANY_SIZE "\"pool\":\"class_token\",\"rope\":\"axial\",\"rope_theta\":100}",
    ANY_SIZE "\"pool\":\"mean-patches\",\"rope\":\"axial\",\"rope_theta\":100,\"rope_offset\":1,"
             "\"rope_height\":4,\"rope_width\":4}",
    ANY_SIZE "\"pool\":\"class_token\",\"rope\":\"centred\",\"rope_theta\":100,"
             "\"rope_pairs\":\"halves\",\"register_tokens\":2}",
    ANY_SIZE "\"pool\":\"class_token\",\"rope\":\"mixed\",\"rope_theta\":10,\"tokenizer\":\"spt\"}",
};

/* A session for another size computes what a model that is made for it computes. */
START_TEST(test_models_without_positions_accept_other_sizes)
{
    float logits[N * CLASSES], wanted[N * CLASSES];
    svit_model_config config = config_of(ANY_SIZES[_i]), other = config;
    other.input_height = HEIGHT;
    other.input_width = WIDTH;
    svit_model *model = model_of(&config, 1), *made = model_of(&other, 1);
    draw_both(model, made);
    run(model, logits);
    run(made, wanted);
    ck_assert_mem_eq(logits, wanted, sizeof wanted);
    svit_model_free(model);
    svit_model_free(made);
}
END_TEST

static const struct {
    const char *json;
    uint32_t height, width;
    const char *message;
} SIZES_REFUSED[] = {
    {COMMON "\"pool\":\"mean\",\"rope\":\"axial\",\"rope_theta\":100}", 24, 12,
     "position embedding is for 16 x 16 only"},
    {ANY_SIZE "\"pool\":\"flatten\"}", 24, 12, "head is for 16 x 16 only"},
    {ANY_SIZE "\"pool\":\"mean\"}", 24, 13,
     "input is 24 x 13; both are multiples of patch_size, 4"},
    {ANY_SIZE "\"pool\":\"mean\"}", 2, 4, "input is 2 x 4; both are multiples of patch_size, 4"},
    {ANY_SIZE "\"pool\":\"mean\",\"patch_padding\":\"valid\"}", 3, 9,
     "input is 3 x 9; both are at least patch_size, 4"},
};

START_TEST(test_other_sizes_are_refused)
{
    const svit_model_config config = config_of(SIZES_REFUSED[_i].json);
    svit_model *model = model_of(&config, 1);
    svit_session *session = NULL;
    svit_session_config options;
    WORKS(svit_session_config_init(&options, sizeof options));
    options.input_height = SIZES_REFUSED[_i].height;
    options.input_width = SIZES_REFUSED[_i].width;
    FAILS(svit_session_create(&session, model, &options, err), SVIT_E_ARGUMENT,
          SIZES_REFUSED[_i].message);
    svit_model_free(model);
}
END_TEST

/* Frequencies of a head: of pair j the magnitude 10^(-4 j / 8), of pair j + 2 the same at a right
 * angle. Heads differ. */
START_TEST(test_initial_frequencies)
{
    enum { HEADS = 2, PAIRS = 4 };
    const svit_model_config config = config_of(COMMON "\"rope\":\"mixed\",\"rope_theta\":10}");
    svit_model *model = model_of(&config, 7);
    float f[2][HEADS][PAIRS], other[2][HEADS][PAIRS];
    WORKS(svit_model_get_parameter(model, "blocks.0.attn.rope", f[0][0], 16, err));
    WORKS(svit_model_get_parameter(model, "blocks.1.attn.rope", other[0][0], 16, err));
    for (size_t h = 0; h < HEADS; h++)
        for (size_t j = 0; j < PAIRS; j++) {
            const double magnitude = pow(10, -0.5 * (double)(j % 2));
            ck_assert_double_eq_tol(hypot(f[0][h][j], f[1][h][j]), magnitude, 1e-6);
            if (j < 2)
                ck_assert_double_eq_tol(f[0][h][j] * f[0][h][j + 2] + f[1][h][j] * f[1][h][j + 2],
                                        0, 1e-6);
        }
    ck_assert_float_ne(f[0][0][0], f[0][1][0]);
    ck_assert_float_ne(f[0][0][0], other[0][0][0]);
    svit_model_free(model);
}
END_TEST

/* Configurations of rotary positions that are refused. */
static const struct {
    const char *fields, *message;
} REFUSED[] = {
    {"\"rope\":\"axial\"}", "rope_theta is 0; with rotary"},
    {"\"rope_theta\":10}", "rope_theta is 10; without rotary"},
    {"\"rope\":\"axial\",\"rope_theta\":1e-300}", "rope_theta is 1e-300; it is at least"},
    {"\"rope\":\"axial\",\"rope_theta\":10,\"head_dim\":6}", "head_dim is 6"},
    {"\"rope\":\"centred\",\"rope_theta\":10,\"rope_offset\":1}", "rope_offset is 1"},
    {"\"rope\":\"axial\",\"rope_theta\":10,\"rope_height\":1}", "both are 0, or none is"},
    {"\"rope\":\"mixed\",\"rope_theta\":10,\"rope_pairs\":\"halves\"}", "rope_pairs is 'halves'"},
    {"\"no_key_bias\":true,\"qkv_bias\":false}", "no_key_bias is true"},
    {"\"qk_norm\":true,\"names\":\"paper\"}", "qk_norm"},
};

START_TEST(test_configurations_are_refused)
{
    char json[1024];
    svit_model_config config;
    snprintf(json, sizeof json, "%s%s",
             "{\"architecture\":\"vit\",\"head_units\":[],\"mlp_last_gelu\":false,",
             REFUSED[_i].fields);
    FAILS(svit_model_config_from_json(&config, sizeof config, json, err), SVIT_E_ARGUMENT,
          REFUSED[_i].message);
}
END_TEST

enum { WIDTH_OF_HEADS = 16, QKV = 3 * WIDTH_OF_HEADS };
static const char QKV_BIAS[] = "blocks.1.attn.qkv.bias";

/* Saves a model whose keys have a bias, under a configuration that says whether they may. */
static const char *file_with_key_bias(int keyless)
{
    const svit_model_config config = config_of(ANY_SIZE "\"pool\":\"mean\"}");
    svit_model *model = model_of(&config, 3);
    float bias[QKV] = {[WIDTH_OF_HEADS + 2] = 0.5f};
    const char *path = fit_path(&folder, "model.safetensors");
    WORKS(svit_model_set_parameter(model, QKV_BIAS, bias, QKV, err));
    WORKS(svit_model_save(model, path, err));
    svit_model_free(model);
    if (!keyless)
        return path;
    static char bytes[1 << 17];
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    const size_t length = fread(bytes, 1, sizeof bytes, file);
    size_t at = 0;
    while (at < length && strncmp(bytes + at, "no_key_bias", 11) != 0)
        at++;
    while (at < length && strncmp(bytes + at, "false", 5) != 0)
        at++;
    ck_assert_uint_lt(at, length);
    memcpy(bytes + at, "true ", 5);
    rewind(file);
    ck_assert_uint_eq(fwrite(bytes, 1, length, file), length);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

START_TEST(test_keys_with_a_bias_are_refused)
{
    svit_model_config config = config_of(ANY_SIZE "\"pool\":\"mean\",\"no_key_bias\":true}");
    svit_model *model = model_of(&config, 3), *other = NULL;
    float bias[QKV] = {[WIDTH_OF_HEADS - 1] = 1, [2 * WIDTH_OF_HEADS] = 1};
    WORKS(svit_model_set_parameter(model, QKV_BIAS, bias, QKV, err));
    bias[2 * WIDTH_OF_HEADS - 1] = 1;
    FAILS(svit_model_set_parameter(model, QKV_BIAS, bias, QKV, err), SVIT_E_ARGUMENT,
          "element 31 for parameter 'blocks.1.attn.qkv.bias' is 1; with no_key_bias it is 0");
    const char *path = file_with_key_bias(0);
    FAILS(svit_model_load_with_config(&other, context, &config, path, err), SVIT_E_FORMAT,
          "element 18 of 'blocks.1.attn.qkv.bias' is 0.5");
    FAILS(svit_model_load_mapped(&other, context, &config, path, NULL, err), SVIT_E_FORMAT,
          "no_key_bias");
    FAILS(svit_model_load_into(model, path, NULL, 0, NULL, err), SVIT_E_FORMAT, "no_key_bias");
    path = file_with_key_bias(1);
    FAILS(svit_model_load(&other, context, path, err), SVIT_E_FORMAT, "no_key_bias");
    FAILS(svit_model_map(&other, context, path, err), SVIT_E_FORMAT, "no_key_bias");
    svit_model_free(model);
}
END_TEST

/* Nor does a gradient of the program's, such as one with noise, give keys a bias. */
START_TEST(test_gradients_of_key_biases_are_refused)
{
    svit_model_config config = config_of(ANY_SIZE "\"pool\":\"mean\",\"no_key_bias\":true}");
    svit_model *model = model_of(&config, 3);
    svit_session *session = NULL;
    svit_session_config options;
    WORKS(svit_session_config_init(&options, sizeof options));
    options.mode = SVIT_MODE_TRAIN;
    WORKS(svit_session_create(&session, model, &options, err));
    float gradient[QKV] = {[WIDTH_OF_HEADS - 1] = 1, [2 * WIDTH_OF_HEADS] = 1}, got[QKV];
    WORKS(svit_session_set_gradient(session, QKV_BIAS, gradient, QKV, err));
    float noisy[QKV] = {[WIDTH_OF_HEADS] = 1e-3f};
    FAILS(svit_session_set_gradient(session, QKV_BIAS, noisy, QKV, err), SVIT_E_ARGUMENT,
          "element 16 for the gradient of 'blocks.1.attn.qkv.bias' is 0.001");
    WORKS(svit_session_get_gradient(session, QKV_BIAS, got, QKV, err));
    ck_assert_mem_eq(got, gradient, sizeof got);
    svit_session_free(session);
    svit_model_free(model);
}
END_TEST

/* Whatever updates the weights, the keys' bias stays 0. */
START_TEST(test_training_leaves_the_key_bias_0)
{
    static const char *const optimizers[] = {"adamw", "sgd", "lion", "muon"};
    static float images[N * 16 * 16 * 3], logits[N * CLASSES];
    svit_model_config config = config_of(
        ANY_SIZE "\"pool\":\"mean\",\"no_key_bias\":true,\"rope\":\"axial\",\"rope_theta\":10}");
    svit_model *model = model_of(&config, 3);
    svit_session *session = NULL;
    svit_optimizer *optimizer = NULL;
    svit_session_config options;
    svit_optimizer_config of;
    char json[64];
    float bias[QKV];
    WORKS(svit_session_config_init(&options, sizeof options));
    options.max_batch = N;
    options.mode = SVIT_MODE_TRAIN;
    WORKS(svit_session_create(&session, model, &options, err));
    snprintf(json, sizeof json, "{\"optimizer\":\"%s\",\"learning_rate\":0.01}", optimizers[_i]);
    WORKS(svit_optimizer_config_from_json(&of, sizeof of, json, err));
    WORKS(svit_optimizer_create(&optimizer, model, &of, err));
    for (int step = 0; step < 3; step++) {
        for (size_t i = 0; i < N * 16 * 16 * 3; i++)
            images[i] = (float)((i * 7919 + (size_t)step) % 1000) / 500 - 1;
        WORKS(svit_forward(session, images, N, logits, err));
        WORKS(svit_backward(session, logits, N, err));
        WORKS(svit_session_get_gradient(session, QKV_BIAS, bias, QKV, err));
        for (size_t i = 0; i < WIDTH_OF_HEADS; i++) {
            ck_assert_float_ne(bias[i], 0);
            ck_assert_float_eq(bias[WIDTH_OF_HEADS + i], 0);
        }
        WORKS(svit_step(optimizer, session, err));
    }
    WORKS(svit_model_get_parameter(model, QKV_BIAS, bias, QKV, err));
    for (size_t i = 0; i < WIDTH_OF_HEADS; i++) {
        ck_assert_float_ne(bias[i], 0);
        ck_assert_float_eq(bias[WIDTH_OF_HEADS + i], 0);
    }
    svit_optimizer_free(optimizer);
    svit_session_free(session);
    svit_model_free(model);
}
END_TEST

/* The gradient of one parameter after a pass in which `pattern` alone is trainable. */
static void gradient_of(const char *pattern, const char *name, float *gradient, size_t elements)
{
    static float images[N * 16 * 16 * 3], logits[N * CLASSES];
    const svit_model_config config =
        config_of(ANY_SIZE "\"pool\":\"mean\",\"rope\":\"mixed\",\"rope_theta\":10,"
                           "\"qk_norm\":true,\"attention_norm\":true}");
    svit_model *model = model_of(&config, 3);
    svit_session *session = NULL;
    svit_session_config options;
    WORKS(svit_model_set_trainable(model, "*", 0, err));
    WORKS(svit_model_set_trainable(model, pattern, 1, err));
    WORKS(svit_session_config_init(&options, sizeof options));
    options.max_batch = N;
    options.mode = SVIT_MODE_TRAIN;
    WORKS(svit_session_create(&session, model, &options, err));
    for (size_t i = 0; i < N * 16 * 16 * 3; i++)
        images[i] = (float)((i * 7919) % 1000) / 500 - 1;
    WORKS(svit_forward(session, images, N, logits, err));
    WORKS(svit_backward(session, logits, N, err));
    WORKS(svit_session_get_gradient(session, name, gradient, elements, err));
    svit_session_free(session);
    svit_model_free(model);
}

static const struct {
    const char *name;
    size_t elements;
} BETWEEN[] = {{"blocks.0.attn.rope", 16},         {"blocks.1.attn.rope", 16},
               {"blocks.0.attn.q_norm.weight", 8}, {"blocks.0.attn.k_norm.bias", 8},
               {"blocks.1.attn.norm.weight", 16},  {"blocks.0.attn.qkv.weight", 48 * 16}};

/* Whether the others are frozen does not matter to a gradient. */
START_TEST(test_frozen_neighbours_change_no_gradient)
{
    static float all[48 * 16], alone[48 * 16];
    const char *name = BETWEEN[_i].name;
    double largest = 0;
    gradient_of("*", name, all, BETWEEN[_i].elements);
    gradient_of(name, name, alone, BETWEEN[_i].elements);
    for (size_t i = 0; i < BETWEEN[_i].elements; i++)
        largest = fmax(largest, fabs(all[i]));
    ck_assert_double_gt(largest, 0);
    ck_assert_mem_eq(all, alone, BETWEEN[_i].elements * sizeof *all);
}
END_TEST

#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

static Suite *rotary_suite(void)
{
    Suite *suite = suite_create("rotary positions");
    TCase *all = tcase_create("rotary");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_loop_test(all, test_models_without_positions_accept_other_sizes, 0, COUNT(ANY_SIZES));
    tcase_add_loop_test(all, test_other_sizes_are_refused, 0, COUNT(SIZES_REFUSED));
    tcase_add_test(all, test_initial_frequencies);
    tcase_add_loop_test(all, test_configurations_are_refused, 0, COUNT(REFUSED));
    tcase_add_test(all, test_keys_with_a_bias_are_refused);
    tcase_add_test(all, test_gradients_of_key_biases_are_refused);
    tcase_add_loop_test(all, test_frozen_neighbours_change_no_gradient, 0, COUNT(BETWEEN));
    tcase_add_loop_test(all, test_training_leaves_the_key_bias_0, 0, 4);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(rotary_suite)
