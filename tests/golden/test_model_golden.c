/* Compares ShiftViT, ViT, SL-ViT and MLP-Mixer with the original implementations through the public
 * API: logits, loss, every gradient and three AdamW steps. The tolerances are the distance of
 * float32 from the originals in float64. */
#include "gemms.h"
#include "golden.h"
#include "suite.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct model_fixture {
    sv_safetensors *file;
    svit_context *context;
    svit_model *model;
    svit_session *session;
    int32_t *labels;
    float *input;
    size_t n, classes, head_dim;
    svit_error err;
} model_fixture;

#define OK(call) ck_assert_msg((call) == SVIT_OK, "%s", fixture.err.message)

static model_fixture open_fixture(const char *name, const char *gemm)
{
    model_fixture fixture = {.file = golden_open(name), .err = {.struct_size = sizeof fixture.err}};
    svit_context_config context;
    svit_context_config_init(&context, sizeof context);
    context.gemm = gemm;
    OK(svit_context_create(&fixture.context, &context, &fixture.err));
    svit_model_config config;
    OK(svit_model_config_from_json(&config, sizeof config,
                                   sv_safetensors_metadata(fixture.file, "config"), &fixture.err));
    OK(svit_model_create(&fixture.model, fixture.context, &config, 1, &fixture.err));
    fixture.labels = golden_labels(fixture.file, "labels", &fixture.n);
    fixture.classes = config.num_classes;
    fixture.head_dim = config.head_dim;
    svit_session_config session;
    svit_session_config_init(&session, sizeof session);
    session.max_batch = (uint32_t)fixture.n;
    session.mode = SVIT_MODE_TRAIN;
    OK(svit_session_create(&fixture.session, fixture.model, &session, &fixture.err));
    size_t pixels = fixture.n * config.input_height * config.input_width * config.in_channels;
    if (sv_safetensors_find(fixture.file, "input")) {
        fixture.input = golden_floats(fixture.file, "input", NULL);
    } else {
        fixture.input = malloc(pixels * sizeof(float));
        golden_formula(fixture.input, "input", pixels, 4, 0);
    }
    return fixture;
}

static void close_fixture(model_fixture *fixture)
{
    golden_free(fixture->input);
    golden_free(fixture->labels);
    svit_session_free(fixture->session);
    svit_model_free(fixture->model);
    svit_context_free(fixture->context);
    sv_safetensors_close(fixture->file);
}

/* Returns the elements of parameter `index`, and its rank in *rank unless that is NULL. */
static size_t parameter_size(const svit_model *model, size_t index, size_t *rank)
{
    int64_t shape[8];
    size_t dimensions, elements = 1;
    const char *name = svit_model_parameter_name(model, index);
    ck_assert_int_eq(svit_model_parameter_shape(model, name, shape, &dimensions, NULL), SVIT_OK);
    for (size_t i = 0; i < dimensions; i++)
        elements *= (size_t)shape[i];
    if (rank)
        *rank = dimensions;
    return elements;
}

/* Sets the weights: those in the golden file, and the formula for the others. */
static void set_weights(model_fixture *b)
{
    model_fixture fixture = *b;
    char key[160];
    for (size_t i = 0; i < svit_model_parameter_count(fixture.model); i++) {
        const char *name = svit_model_parameter_name(fixture.model, i);
        size_t rank, elements = parameter_size(fixture.model, i, &rank);
        snprintf(key, sizeof key, "param.%s", name);
        float *values;
        if (sv_safetensors_find(fixture.file, key)) {
            values = golden_floats(fixture.file, key, NULL);
        } else {
            values = malloc(elements * sizeof *values);
            golden_formula(values, name, elements, rank, fixture.head_dim);
        }
        OK(svit_model_set_parameter(fixture.model, name, values, elements, &fixture.err));
        golden_free(values);
    }
}

/* Whether a bias of a token MLP is added to all channels of a token. Every later norm subtracts it,
 * so its gradient is 0 but for rounding errors. */
static bool is_token_bias(const char *name)
{
    return strstr(name, "mlp_tokens.fc2.bias") != NULL;
}

/* Runs one forward and backward. Returns the loss and writes the logits. */
static double pass(model_fixture *b, float *logits)
{
    model_fixture fixture = *b;
    float loss, *dlogits = malloc(fixture.n * fixture.classes * sizeof *dlogits);
    OK(svit_forward(fixture.session, fixture.input, fixture.n, logits, &fixture.err));
    OK(svit_cross_entropy(logits, fixture.labels, fixture.n, fixture.classes, 0, &loss, dlogits,
                          &fixture.err));
    OK(svit_backward(fixture.session, dlogits, fixture.n, &fixture.err));
    free(dlogits);
    return loss;
}

static void check_logits_and_loss(model_fixture *fixture, const float *logits, double loss)
{
    size_t elements;
    float *wanted = golden_floats(fixture->file, "logits", &elements);
    float *wanted_loss = golden_floats(fixture->file, "loss", NULL);
    ck_assert_uint_eq(elements, fixture->n * fixture->classes);
    ck_assert_double_le(golden_difference(logits, wanted, elements), 2e-5);
    ck_assert_double_le(fabs(loss - wanted_loss[0]), 5e-6);
    golden_free(wanted);
    golden_free(wanted_loss);
}

static void check_gradients(model_fixture *b)
{
    model_fixture fixture = *b;
    char key[160];
    for (size_t i = 0; i < svit_model_parameter_count(fixture.model); i++) {
        const char *name = svit_model_parameter_name(fixture.model, i);
        snprintf(key, sizeof key, "grad.%s", name);
        size_t elements;
        float *wanted = golden_floats(fixture.file, key, &elements);
        float *gradient = malloc(elements * sizeof *gradient);
        OK(svit_session_get_gradient(fixture.session, name, gradient, elements, &fixture.err));
        double most = golden_difference(gradient, wanted, elements);
        double largest = golden_largest(wanted, elements);
        double limit = is_token_bias(name) ? 5e-8 : 5e-5 * largest;
        ck_assert_msg(most <= limit, "%s: off by %g of %g", name, most, largest);
        free(gradient);
        golden_free(wanted);
    }
}

static void check_steps(model_fixture *b)
{
    model_fixture fixture = *b;
    char key[160];
    svit_optimizer *optimizer = NULL;
    OK(svit_optimizer_create(&optimizer, fixture.model, NULL, &fixture.err));
    float *losses = golden_floats(fixture.file, "step.losses", NULL);
    float *logits = malloc(fixture.n * fixture.classes * sizeof *logits);
    OK(svit_session_zero_gradients(fixture.session, &fixture.err));
    for (size_t step = 0; step < 4; step++) {
        ck_assert_double_le(fabs(pass(&fixture, logits) - losses[step]), 2e-5);
        if (step < 3)
            OK(svit_step(optimizer, fixture.session, &fixture.err));
    }
    size_t checked = 0;
    for (size_t i = 0; i < svit_model_parameter_count(fixture.model); i++) {
        const char *name = svit_model_parameter_name(fixture.model, i);
        snprintf(key, sizeof key, "step3.param.%s", name);
        if (!sv_safetensors_find(fixture.file, key))
            continue;
        size_t elements;
        float *wanted = golden_floats(fixture.file, key, &elements);
        float *weights = malloc(elements * sizeof *weights);
        OK(svit_model_get_parameter(fixture.model, name, weights, elements, &fixture.err));
        double most = golden_difference(weights, wanted, elements);
        /* The gradient of a key's bias is 0 but for rounding errors, too, and Adam makes steps of
         * these. */
        double tolerance = strstr(name, "qkv.bias") || is_token_bias(name) ? 1e-3 : 5e-5;
        ck_assert_msg(most <= tolerance, "%s after 3 steps: off by %g", name, most);
        free(weights);
        golden_free(wanted);
        checked++;
    }
    ck_assert_uint_gt(checked, 10);
    free(logits);
    golden_free(losses);
    svit_optimizer_free(optimizer);
}

static const char *const SMALL[] = {"shiftvit_default_small",
                                    "shiftvit_keras_small",
                                    "shiftvit_paper_small",
                                    "shiftvit_depthwise_small",
                                    "shiftvit_whitened_small",
                                    "shiftvit_conv_small",
                                    "vit_small",
                                    "slvit_small",
                                    "slvit_paper_small",
                                    "mixer_small",
                                    "mixer_odd",
                                    "masked_small"};
enum { SMALL_COUNT = sizeof SMALL / sizeof *SMALL };

START_TEST(test_small_models_equal_the_reference)
{
    GEMM(gemm, _i / SMALL_COUNT);
    model_fixture fixture = open_fixture(SMALL[_i % SMALL_COUNT], gemm);
    set_weights(&fixture);
    float *logits = malloc(fixture.n * fixture.classes * sizeof *logits);
    double loss = pass(&fixture, logits);
    check_logits_and_loss(&fixture, logits, loss);
    check_gradients(&fixture);
    check_steps(&fixture);
    free(logits);
    close_fixture(&fixture);
}
END_TEST

static const struct {
    const char *name;
    uint64_t parameters;
} FULL[] = {{"shiftvit_cifar10_full_default", 11690602},
            {"shiftvit_cifar10_full_keras", 11690602},
            {"shiftvit_t_light_full", 19608328},
            {"vit_cifar100_full", 21759012},
            {"slvit_cifar100_full", 21787748},
            {"slvit_paper_full", 2747248},
            {"mixer_s32_full", 19104624}};
enum { FULL_COUNT = sizeof FULL / sizeof *FULL };

static double norm(const float *values, size_t elements)
{
    double sum = 0;
    for (size_t i = 0; i < elements; i++)
        sum += (double)values[i] * values[i];
    return sqrt(sum);
}

START_TEST(test_full_models_equal_the_reference)
{
    enum { TILE, AMX = 2 };
    GEMM(gemm, _i < FULL_COUNT ? TILE : AMX);
    model_fixture fixture = open_fixture(FULL[_i % FULL_COUNT].name, gemm);
    ck_assert_uint_eq(svit_model_parameter_elements(fixture.model),
                      FULL[_i % FULL_COUNT].parameters);
    set_weights(&fixture);
    float *logits = malloc(fixture.n * fixture.classes * sizeof *logits);
    double loss = pass(&fixture, logits);
    check_logits_and_loss(&fixture, logits, loss);
    size_t count;
    float *norms = golden_floats(fixture.file, "grad_norms", &count);
    ck_assert_uint_eq(count, svit_model_parameter_count(fixture.model));
    for (size_t i = 0; i < count; i++) {
        size_t elements = parameter_size(fixture.model, i, NULL);
        const char *name = svit_model_parameter_name(fixture.model, i);
        float *gradient = malloc(elements * sizeof *gradient);
        OK(svit_session_get_gradient(fixture.session, name, gradient, elements, &fixture.err));
        double got = norm(gradient, elements);
        double rounding = is_token_bias(name) ? 1e-7 : 1e-8;
        ck_assert_msg(fabs(got - norms[i]) <= 1e-4 * norms[i] + rounding,
                      "%s: norm %.9g, wanted %.9g", name, got, (double)norms[i]);
        free(gradient);
    }
    golden_free(norms);
    free(logits);
    close_fixture(&fixture);
}
END_TEST

static const char *const ATTENDING[] = {"vit_small", "slvit_small"};

/* Compares the attention weights of the last layer; the masked diagonal is exactly 0. */
START_TEST(test_attention_equals_keras)
{
    enum { VARIANTS = sizeof ATTENDING / sizeof *ATTENDING };
    GEMM(gemm, _i / VARIANTS);
    model_fixture fixture = open_fixture(ATTENDING[_i % VARIANTS], gemm);
    set_weights(&fixture);
    size_t heads, tokens, elements;
    OK(svit_session_attention_size(fixture.session, &heads, &tokens, &fixture.err));
    float *wanted = golden_floats(fixture.file, "blocks.1.attn.scores", &elements);
    float *logits = malloc(fixture.n * fixture.classes * sizeof *logits);
    float *attention = malloc(elements * sizeof *attention);
    OK(svit_forward_attention(fixture.session, fixture.input, fixture.n, logits, attention,
                              elements, &fixture.err));
    ck_assert_double_le(golden_difference(attention, wanted, elements), 2e-6);
    for (size_t row = 0; _i % VARIANTS == 1 && row < fixture.n * heads * tokens; row++)
        ck_assert_float_eq(attention[row * tokens + row % tokens], 0);
    ck_assert_int_eq(svit_forward_attention(fixture.session, fixture.input, fixture.n, logits,
                                            attention, elements - 1, &fixture.err),
                     SVIT_E_ARGUMENT);
    free(attention);
    free(logits);
    golden_free(wanted);
    close_fixture(&fixture);
}
END_TEST

static Suite *model_golden_suite(void)
{
    Suite *suite = suite_create("model goldens");
    TCase *small = tcase_create("small"), *full = tcase_create("full");
    add_cases(small, test_small_models_equal_the_reference, GEMM_COUNT * SMALL_COUNT);
    add_cases(full, test_full_models_equal_the_reference, 2 * FULL_COUNT);
    tcase_add_loop_test(small, test_attention_equals_keras, 0, 2 * GEMM_COUNT);
    suite_add_tcase(suite, small);
    suite_add_tcase(suite, full);
    return suite;
}

TEST_MAIN(model_golden_suite)
