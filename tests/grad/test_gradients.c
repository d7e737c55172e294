/* Compares every gradient with central differences, in double precision, on the same sources as the
 * library. The loss is a random projection of the logits, so that every logit counts. Dropout and
 * DropPath are on; a fixed counter keeps their masks. */
#include "build.h"
#include "session/session.h"
#include "suite.h"
#include "worst.h"

#include "base/numbers/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The images are not square, and their tokens are not a multiple of 32. */
#define VIT                                                                                        \
    "{\"architecture\":\"vit\",\"input_height\":12,\"input_width\":20,\"patch_size\":4,"           \
    "\"dim\":12,\"depth\":2,\"mlp_dim\":14,\"num_classes\":4"
#define TWO_HEADS ",\"heads\":2,\"head_dim\":5"
/* Heads so wide that their weights are folded. */
#define WIDE_HEADS ",\"heads\":2,\"head_dim\":15"

static const char *const CONFIGS[] = {
    "{\"input_height\":12,\"input_width\":12,\"dim\":12,\"blocks\":[2,1],\"num_classes\":5}",
    "{\"input_height\":13,\"input_width\":22,\"dim\":12,\"blocks\":[1,2,1],\"num_classes\":3,"
    "\"num_div\":4,\"mlp_ratio\":1.5}",
    "{\"input_height\":12,\"input_width\":20,\"dim\":24,\"blocks\":[2,2],\"num_classes\":4,"
    "\"num_div\":6,\"shift\":\"keras\",\"groups\":\"sections\"}",
    "{\"input_height\":21,\"input_width\":14,\"dim\":12,\"blocks\":[2,1],\"num_classes\":4,"
    "\"norm\":\"group\",\"patch_norm\":true,\"final_norm\":true,\"patch_padding\":\"valid\","
    "\"merge_padding\":\"valid\",\"drop_path_rule\":\"network\"}",
    "{\"input_height\":8,\"input_width\":12,\"dim\":12,\"blocks\":[1,1,1],\"shift_pixel\":2,"
    "\"classifier\":false,\"num_classes\":48,\"drop_path_rule\":\"constant\"}",
    "{\"input_height\":5,\"input_width\":5,\"dim\":16,\"blocks\":[2],\"num_classes\":2,"
    "\"shift_pixel\":9,\"num_div\":5,\"dropout\":0,\"drop_path\":0,\"in_channels\":2}",
    "{\"input_height\":9,\"input_width\":8,\"dim\":12,\"blocks\":[1,1],\"num_classes\":3,"
    "\"patch_size\":2,\"stem\":\"whitened\",\"patch_norm\":true}",
    "{\"input_height\":16,\"input_width\":12,\"dim\":12,\"blocks\":[2,1],\"num_classes\":3,"
    "\"mixer\":\"depthwise\"}",
    "{\"input_height\":13,\"input_width\":8,\"dim\":12,\"blocks\":[1,1],\"num_classes\":3,"
    "\"stem\":\"conv\"}",
    "{\"input_height\":6,\"input_width\":7,\"dim\":12,\"blocks\":[1],\"num_classes\":3,"
    "\"patch_size\":2,\"stem\":\"conv\",\"patch_norm\":true}",
    /* Weights so large that the backward works on blocks of images. */
    "{\"input_height\":8,\"input_width\":12,\"dim\":160,\"blocks\":[1],\"num_classes\":2}",
    "{\"input_height\":8,\"input_width\":8,\"dim\":160,\"blocks\":[1],\"num_classes\":2,"
    "\"norm\":\"group\"}",
    VIT TWO_HEADS ",\"head_units\":[10,7]}",
    VIT TWO_HEADS ",\"head_units\":[],\"tokenizer\":\"conv\",\"pool\":\"class_token\"}",
    VIT TWO_HEADS ",\"head_units\":[10,7],\"tokenizer\":\"spt\",\"attention\":\"lsa\","
                  "\"drop_path\":0.2}",
    VIT TWO_HEADS ",\"head_units\":[],\"tokenizer\":\"spt\",\"spt_order\":\"paper\","
                  "\"attention\":\"lsa\",\"temperature\":\"multiply\",\"qkv_bias\":false,"
                  "\"mlp_last_gelu\":false,\"names\":\"paper\",\"pool\":\"class_token\","
                  "\"drop_path\":0.1,\"drop_path_rule\":\"constant\"}",
    VIT TWO_HEADS ",\"head_units\":[9],\"pool\":\"mean\",\"dropout\":0,\"attention_dropout\":0,"
                  "\"head_dropout\":0}",
    VIT ",\"heads\":1,\"head_dim\":12,\"head_units\":[],\"names\":\"paper\",\"qkv_bias\":false,"
        "\"pool\":\"class_token\",\"attention\":\"lsa\"}",
    VIT TWO_HEADS
    ",\"head_units\":[],\"mlp_last_gelu\":false,\"pool\":\"attention\",\"pool_heads\":3,"
    "\"pool_mlp_dim\":10,\"mlp_norm\":true,\"position_tokens\":\"none\","
    "\"register_tokens\":2,\"class_token\":\"present\"}",
    VIT TWO_HEADS
    ",\"head_units\":[],\"mlp_last_gelu\":false,\"pool\":\"mean-patches\","
    "\"class_token\":\"none\",\"register_tokens\":2,\"mlp\":\"swiglu\",\"mlp_norm\":true,"
    "\"layer_scale\":true}",
    VIT WIDE_HEADS ",\"head_units\":[10,7]}",
    VIT WIDE_HEADS ",\"head_units\":[10,7],\"tokenizer\":\"spt\",\"attention\":\"lsa\","
                   "\"drop_path\":0.2}",
    VIT WIDE_HEADS ",\"head_units\":[],\"attention\":\"lsa\",\"temperature\":\"multiply\","
                   "\"qkv_bias\":false,\"names\":\"paper\",\"pool\":\"class_token\","
                   "\"drop_path\":0.1,\"drop_path_rule\":\"constant\"}",
    VIT WIDE_HEADS ",\"head_units\":[9],\"pool\":\"mean\",\"dropout\":0,"
                   "\"attention_dropout\":0,\"head_dropout\":0}",
    /* Adapters of LoRA: alone, with LayerScale, without a bias, on heads so wide that they would be
     * folded, and without a projection. */
    VIT TWO_HEADS ",\"head_units\":[10],\"lora_rank\":3,\"lora_alpha\":5}",
    VIT TWO_HEADS ",\"head_units\":[10],\"mlp_last_gelu\":false,\"layer_scale\":true,"
                  "\"lora_rank\":4,\"lora_alpha\":2}",
    VIT WIDE_HEADS ",\"head_units\":[],\"attention\":\"lsa\",\"qkv_bias\":false,"
                   "\"lora_rank\":1,\"lora_alpha\":0.5}",
    VIT ",\"heads\":1,\"head_dim\":12,\"head_units\":[],\"names\":\"paper\",\"qkv_bias\":false,"
        "\"pool\":\"class_token\",\"attention\":\"lsa\",\"lora_rank\":12,\"lora_alpha\":12}",
    /* Differential attention, parallel blocks and root-mean-square norms. */
    VIT ",\"heads\":2,\"head_dim\":6,\"head_units\":[],\"mlp_last_gelu\":false,\"pool\":\"mean\","
        "\"attention\":\"differential\",\"layer_scale\":true,\"block\":\"parallel-fused\","
        "\"lora_rank\":2,\"lora_alpha\":3,\"drop_path\":0.2}",
    VIT ",\"heads\":2,\"head_dim\":8,\"head_units\":[],\"mlp_last_gelu\":false,\"pool\":\"mean\","
        "\"attention\":\"differential\",\"rms_norm\":true,\"tokenizer\":\"spt\"}",
    VIT TWO_HEADS ",\"head_units\":[],\"mlp_last_gelu\":false,\"pool\":\"class_token\","
                  "\"qk_norm\":true,\"pre_norm\":true,\"rms_norm\":true,\"qkv_bias\":false,"
                  "\"block\":\"parallel\",\"drop_path\":0.2}",
    /* Masked autoencoding: 6 of 15 patches are visible, or 12 behind two registers. */
    "{\"architecture\":\"vit\",\"input_height\":12,\"input_width\":20,\"patch_size\":4,"
    "\"dim\":12,\"depth\":2,\"mlp_dim\":14" TWO_HEADS ",\"classifier\":false,\"head_units\":[],"
    "\"pool\":\"class_token\",\"names\":\"paper\",\"mlp_last_gelu\":false,\"drop_path\":0.1,"
    "\"mask_ratio\":0.6}",
    "{\"architecture\":\"vit\",\"input_height\":12,\"input_width\":20,\"patch_size\":4,"
    "\"dim\":12,\"depth\":1,\"mlp_dim\":14,\"heads\":3,\"head_dim\":5,\"classifier\":false,"
    "\"head_units\":[],\"pool\":\"mean\",\"register_tokens\":2,\"mask_ratio\":0.2}",
    /* Token counts and widths around those of vectors. */
    "{\"architecture\":\"mixer\",\"input_height\":12,\"input_width\":20,\"patch_size\":4,"
    "\"dim\":12,\"depth\":2,\"token_mlp_dim\":9,\"mlp_dim\":14,\"num_classes\":4,"
    "\"dropout\":0.2,\"drop_path\":0.2}",
    "{\"architecture\":\"mixer\",\"input_height\":21,\"input_width\":33,\"patch_size\":3,"
    "\"dim\":35,\"depth\":2,\"token_mlp_dim\":17,\"mlp_dim\":7,\"num_classes\":4,"
    "\"dropout\":0.1,\"drop_path_rule\":\"constant\"}",
    "{\"architecture\":\"mixer\",\"input_height\":5,\"input_width\":5,\"patch_size\":5,"
    "\"dim\":3,\"depth\":1,\"token_mlp_dim\":1,\"mlp_dim\":2,\"classifier\":false,"
    "\"in_channels\":2,\"dropout\":0.1}",
    /* Patches of odd size with shifted copies, which move by half a patch, rounded down. */
    "{\"architecture\":\"vit\",\"input_height\":9,\"input_width\":15,\"patch_size\":3,"
    "\"dim\":12,\"depth\":1,\"mlp_dim\":14,\"num_classes\":4" TWO_HEADS ",\"head_units\":[10],"
    "\"tokenizer\":\"spt\",\"attention\":\"lsa\"}",
    "{\"architecture\":\"vit\",\"input_height\":10,\"input_width\":15,\"patch_size\":5,"
    "\"dim\":12,\"depth\":1,\"mlp_dim\":14,\"num_classes\":4" TWO_HEADS ",\"head_units\":[],"
    "\"tokenizer\":\"spt\",\"spt_order\":\"paper\",\"pool\":\"class_token\"}",
    /* 462 tokens: several blocks of queries. */
    "{\"architecture\":\"vit\",\"input_height\":88,\"input_width\":84,\"patch_size\":4,"
    "\"dim\":6,\"depth\":1,\"heads\":2,\"head_dim\":3,\"mlp_dim\":5,\"head_units\":[],"
    "\"num_classes\":3,\"pool\":\"mean\",\"attention\":\"lsa\"}",
    "{\"architecture\":\"vit\",\"input_height\":88,\"input_width\":84,\"patch_size\":4,"
    "\"dim\":6,\"depth\":1,\"heads\":2,\"head_dim\":7,\"mlp_dim\":5,\"head_units\":[],"
    "\"num_classes\":3,\"pool\":\"mean\",\"attention\":\"lsa\"}",
    /* One token, and 1,025 tokens with the class token. */
    "{\"architecture\":\"vit\",\"input_height\":4,\"input_width\":4,\"patch_size\":4,"
    "\"dim\":6,\"depth\":1,\"heads\":2,\"head_dim\":7,\"mlp_dim\":5,\"head_units\":[],"
    "\"num_classes\":3}",
    "{\"architecture\":\"vit\",\"input_height\":4,\"input_width\":4,\"patch_size\":4,"
    "\"dim\":6,\"depth\":1,\"heads\":2,\"head_dim\":3,\"mlp_dim\":5,\"head_units\":[],"
    "\"num_classes\":3}",
    "{\"architecture\":\"vit\",\"input_height\":32,\"input_width\":32,\"patch_size\":1,"
    "\"dim\":6,\"depth\":1,\"heads\":2,\"head_dim\":3,\"mlp_dim\":5,\"head_units\":[],"
    "\"num_classes\":3,\"pool\":\"class_token\",\"attention\":\"lsa\"}",
};

enum { CONFIG_COUNT = sizeof CONFIGS / sizeof *CONFIGS, BATCH = 3 };

/* Directions of each parameter that are compared, one if a pass takes long; elements of the
 * input. */
enum { DIRECTIONS = 2, INPUT_PROBES = 24, LONG = 256 /* tokens */ };

typedef struct fixture {
    svit_context *context;
    svit_model *model;
    svit_session *session;
    double *input, *projection, *logits;
    size_t logit_count;
    sv_random random;
} fixture;

static double centred(sv_random *random)
{
    return 2 * sv_random_unit(random) - 1;
}

static fixture open_with_dropout(const char *json, const char *gemm, bool input_gradient,
                                 bool drops)
{
    fixture b = {0};
    svit_error err = {.struct_size = sizeof err};
    sv_random_start(&b.random, 7, 99, 0, 0);
    svit_context_config context;
    svit_context_config_init(&context, sizeof context);
    context.threads = 2;
    context.gemm = gemm;
    ck_assert_int_eq(svit_context_create(&b.context, &context, &err), SVIT_OK);
    svit_model_config config;
    ck_assert_msg(svit_model_config_from_json(&config, sizeof config, json, &err) == SVIT_OK, "%s",
                  err.message);
    if (!drops)
        config.dropout = config.attention_dropout = config.head_dropout = config.drop_path = 0;
    ck_assert_msg(svit_model_create(&b.model, b.context, &config, 3, &err) == SVIT_OK, "%s",
                  err.message);
    for (size_t i = 0; i < b.model->parameters.count; i++) {
        const sv_parameter *parameter = &b.model->parameters.list[i];
        for (size_t j = 0; j < parameter->desc.elements; j++)
            b.model->weights[parameter->offset + j] += 0.3 * centred(&b.random);
    }
    sv_model_touch(b.model);
    svit_session_config session;
    svit_session_config_init(&session, sizeof session);
    session.max_batch = BATCH;
    session.mode = SVIT_MODE_TRAIN;
    session.seed = 11;
    session.input_gradient = input_gradient;
    ck_assert_msg(svit_session_create(&b.session, b.model, &session, &err) == SVIT_OK, "%s",
                  err.message);
    size_t pixels = BATCH * sv_shape_tokens(b.session->input) * b.session->input.channels;
    b.logit_count = BATCH * b.session->classes;
    b.input = malloc(pixels * sizeof(double));
    b.projection = malloc(b.logit_count * sizeof(double));
    b.logits = malloc(b.logit_count * sizeof(double));
    for (size_t i = 0; i < pixels; i++)
        b.input[i] = sv_random_unit(&b.random);
    for (size_t i = 0; i < b.logit_count; i++)
        b.projection[i] = centred(&b.random);
    return b;
}

static fixture open_fixture(const char *json, const char *gemm, bool input_gradient)
{
    return open_with_dropout(json, gemm, input_gradient, true);
}

static void close_fixture(fixture *b)
{
    free(b->input);
    free(b->projection);
    free(b->logits);
    svit_session_free(b->session);
    svit_model_free(b->model);
    svit_context_free(b->context);
}

static double projected(fixture *b)
{
    ck_assert_int_eq(svit_session_set_counter(b->session, 5, NULL), SVIT_OK);
    sv_session_forward(b->session, b->input, BATCH, b->logits);
    double sum = 0;
    for (size_t i = 0; i < b->logit_count; i++)
        sum += b->projection[i] * b->logits[i];
    return sum;
}

/* Moves the weights of a parameter by `step` along signs[elements]. */
static void move(fixture *b, const sv_parameter *parameter, const double *signs, double step)
{
    double *weights = b->model->weights + parameter->offset;
    for (size_t i = 0; i < parameter->desc.elements; i++)
        weights[i] += step * signs[i];
    sv_model_touch(b->model);
}

/* Compares the derivative along signs[elements] with a central difference. Its steps have the same
 * length for any number of elements, and so has the error of rounding per step, which the division
 * by the step of one element makes larger in a longer parameter. */
static void check_direction(fixture *b, const sv_parameter *parameter, const double *gradients,
                            const double *signs, size_t nonzero, double largest)
{
    const double length = sqrt((double)nonzero), step = 1e-6 / length;
    double derivative = 0;
    for (size_t i = 0; i < parameter->desc.elements; i++)
        derivative += signs[i] * gradients[parameter->offset + i];
    move(b, parameter, signs, step);
    const double above = projected(b);
    move(b, parameter, signs, -2 * step);
    const double below = projected(b), quotient = (above - below) / (2 * step);
    move(b, parameter, signs, step);
    ck_assert_msg(fabs(quotient - derivative) <= 1e-7 * length * fmax(largest, 0.1),
                  "%s, %zu elements: %.12g, difference quotient %.12g", parameter->name, nonzero,
                  derivative, quotient);
}

/* Checks a parameter along random signs of all elements, so that each of them counts, and along one
 * element; the tolerance is relative to the parameter's largest gradient. */
static void check_parameter(fixture *b, const sv_parameter *parameter, const double *gradients)
{
    const size_t elements = parameter->desc.elements;
    size_t heads, tokens = 0;
    double largest = 0, *signs = calloc(elements, sizeof *signs);
    for (size_t i = 0; i < elements; i++)
        largest = worst_of(largest, fabs(gradients[parameter->offset + i]));
    ck_assert_msg(isfinite(largest) && largest > 0, "%s has no gradient", parameter->name);
    signs[sv_random_below(&b->random, (uint32_t)elements)] = 1;
    check_direction(b, parameter, gradients, signs, 1, largest);
    sv_session_last_attention(b->session, &heads, &tokens);
    for (int direction = 0; direction < (tokens > LONG ? 1 : DIRECTIONS); direction++) {
        for (size_t i = 0; i < elements; i++)
            signs[i] = sv_random_unit(&b->random) < 0.5 ? -1 : 1;
        check_direction(b, parameter, gradients, signs, elements, largest);
    }
    free(signs);
}

START_TEST(test_gradients_equal_difference_quotients)
{
    NEEDS(HAS_CBLAS || _i < CONFIG_COUNT, "CBLAS");
    fixture b =
        open_fixture(CONFIGS[_i % CONFIG_COUNT], _i < CONFIG_COUNT ? "tile" : "cblas", false);
    projected(&b);
    sv_session_backward(b.session, b.projection, BATCH, NULL);
    size_t bytes = b.model->parameters.elements * sizeof(double);
    double *gradients = malloc(bytes);
    memcpy(gradients, b.session->gradients.values, bytes);
    for (size_t i = 0; i < b.model->parameters.count; i++)
        check_parameter(&b, &b.model->parameters.list[i], gradients);
    free(gradients);
    close_fixture(&b);
}
END_TEST

/* Checks elements spread over all images; the tolerance is that of parameters. */
static void check_input(fixture *b, const double *dinput, size_t elements)
{
    const double step = 1e-6;
    double largest = 0;
    for (size_t i = 0; i < elements; i++)
        largest = worst_of(largest, fabs(dinput[i]));
    ck_assert_msg(isfinite(largest) && largest > 0, "the input has no gradient");
    const size_t stride = elements / INPUT_PROBES | 1;
    for (size_t i = 0; i < elements; i += stride) {
        const double kept = b->input[i];
        b->input[i] = kept + step;
        double above = projected(b);
        b->input[i] = kept - step;
        double below = projected(b);
        b->input[i] = kept;
        double quotient = (above - below) / (2 * step), error = fabs(quotient - dinput[i]);
        ck_assert_msg(error <= 1e-7 * fmax(largest, 0.1),
                      "input[%zu]: %.12g, difference quotient %.12g", i, dinput[i], quotient);
    }
}

START_TEST(test_input_gradients_equal_difference_quotients)
{
    fixture b = open_fixture(CONFIGS[_i], "tile", true);
    const size_t elements = BATCH * sv_shape_elements(b.session->input);
    double *dinput = malloc(elements * sizeof(double));
    for (size_t i = 0; i < elements; i++)
        dinput[i] = NAN;
    projected(&b);
    sv_session_backward(b.session, b.projection, BATCH, dinput);
    check_input(&b, dinput, elements);
    free(dinput);
    close_fixture(&b);
}
END_TEST

START_TEST(test_gradients_accumulate)
{
    fixture b = open_fixture(CONFIGS[0], "tile", false);
    size_t total = b.model->parameters.elements;
    projected(&b);
    sv_session_backward(b.session, b.projection, BATCH, NULL);
    double *once = malloc(total * sizeof(double));
    memcpy(once, b.session->gradients.values, total * sizeof(double));
    projected(&b);
    sv_session_backward(b.session, b.projection, BATCH, NULL);
    for (size_t i = 0; i < total; i++)
        ck_assert_double_le(fabs(b.session->gradients.values[i] - 2 * once[i]),
                            1e-13 + 1e-12 * fabs(once[i]));
    free(once);
    close_fixture(&b);
}
END_TEST

/* A session that trains parameter `index` alone, or all others. */
static svit_session *session_of(fixture *b, size_t index, bool is_frozen)
{
    svit_session *session;
    svit_error err = {.struct_size = sizeof err};
    const char *name = b->model->parameters.list[index].name;
    svit_session_config config = b->session->config;
    ck_assert_int_eq(svit_model_set_trainable(b->model, "*", is_frozen, &err), SVIT_OK);
    ck_assert_int_eq(svit_model_set_trainable(b->model, name, !is_frozen, &err), SVIT_OK);
    ck_assert_msg(svit_session_create(&session, b->model, &config, &err) == SVIT_OK, "%s",
                  err.message);
    return session;
}

/* Compares the gradients of a session with those of all parameters. */
static void check_subset(const svit_session *session, const double *gradients)
{
    const sv_parameter_table *table = &session->model->parameters;
    size_t elements = 0;
    for (size_t i = 0; i < table->count; i++) {
        const sv_parameter *parameter = &table->list[i];
        const double *got = sv_gradients_at(&session->gradients, parameter->offset);
        const double *wanted = gradients + parameter->offset;
        double largest = 0, difference = 0;
        ck_assert_msg(!got == parameter->frozen, "%s", parameter->name);
        for (size_t k = 0; got && k < parameter->desc.elements; k++) {
            largest = worst_of(largest, fabs(wanted[k]));
            difference = worst_of(difference, fabs(got[k] - wanted[k]));
        }
        ck_assert_msg(difference <= 1e-12 * largest, "%s: %g of %g", parameter->name, difference,
                      largest);
        elements += got ? parameter->desc.elements : 0;
    }
    ck_assert_uint_eq(session->gradients.subset.elements, elements);
}

/* Each parameter trained alone, and each one frozen alone. Without dropout, which layers below the
 * trained ones do not have. */
START_TEST(test_gradients_do_not_depend_on_what_is_frozen)
{
    fixture b = open_with_dropout(CONFIGS[_i], "tile", false, false);
    svit_session *whole = b.session;
    size_t heads, tokens = 0;
    sv_session_last_attention(whole, &heads, &tokens);
    const size_t total = b.model->parameters.elements, count = b.model->parameters.count;
    double *gradients = malloc(total * sizeof(double));
    projected(&b);
    sv_session_backward(whole, b.projection, BATCH, NULL);
    memcpy(gradients, whole->gradients.values, total * sizeof(double));
    for (size_t i = 0; tokens <= LONG && i < 2 * count; i++) {
        b.session = session_of(&b, i % count, i >= count);
        projected(&b);
        sv_session_backward(b.session, b.projection, BATCH, NULL);
        check_subset(b.session, gradients);
        svit_session_free(b.session);
        b.session = whole;
    }
    free(gradients);
    close_fixture(&b);
}
END_TEST

static Suite *gradients_suite(void)
{
    Suite *suite = suite_create("gradients in double");
    TCase *layers = tcase_create("models");
    tcase_add_loop_test(layers, test_gradients_equal_difference_quotients, 0, 2 * CONFIG_COUNT);
    tcase_add_loop_test(layers, test_input_gradients_equal_difference_quotients, 0, CONFIG_COUNT);
    tcase_add_loop_test(layers, test_gradients_do_not_depend_on_what_is_frozen, 0, CONFIG_COUNT);
    tcase_add_test(layers, test_gradients_accumulate);
    suite_add_tcase(suite, layers);
    return suite;
}

TEST_MAIN(gradients_suite)
