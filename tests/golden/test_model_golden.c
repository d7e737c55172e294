/* ShiftViT, ViT and SL-ViT against the reference implementations: logits, loss, every gradient,
 * three AdamW steps, all through the public API. Tolerances: float32's distance from the float64
 * references. */
#include "gemms.h"
#include "golden.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct bench {
    sv_safetensors *file;
    svit_context *context;
    svit_model *model;
    svit_session *session;
    int32_t *labels;
    float *input;
    size_t n, classes, head_dim;
    svit_error err;
} bench;

#define OK(call) ck_assert_msg((call) == SVIT_OK, "%s", bed.err.message)

static bench open_bench(const char *name, const char *gemm)
{
    bench bed = {.file = golden_open(name), .err = {.struct_size = sizeof bed.err}};
    svit_context_config context;
    svit_context_config_init(&context, sizeof context);
    context.gemm = gemm;
    OK(svit_context_create(&bed.context, &context, &bed.err));
    svit_model_config config;
    OK(svit_model_config_from_json(&config, sizeof config,
                                   sv_safetensors_metadata(bed.file, "config"), &bed.err));
    OK(svit_model_create(&bed.model, bed.context, &config, 1, &bed.err));
    bed.labels = golden_labels(bed.file, "labels", &bed.n);
    bed.classes = config.num_classes;
    bed.head_dim = config.head_dim;
    svit_session_config session;
    svit_session_config_init(&session, sizeof session);
    session.max_batch = (uint32_t)bed.n;
    session.mode = SVIT_MODE_TRAIN;
    OK(svit_session_create(&bed.session, bed.model, &session, &bed.err));
    size_t pixels = bed.n * config.input_height * config.input_width * config.in_channels;
    if (sv_safetensors_find(bed.file, "input")) {
        bed.input = golden_floats(bed.file, "input", NULL);
    } else {
        bed.input = malloc(pixels * sizeof(float));
        golden_formula(bed.input, "input", pixels, 4, 0);
    }
    return bed;
}

static void close_bench(bench *bed)
{
    golden_free(bed->input);
    golden_free(bed->labels);
    svit_session_free(bed->session);
    svit_model_free(bed->model);
    svit_context_free(bed->context);
    sv_safetensors_close(bed->file);
}

/* Elements of parameter `index` and, where asked, its rank. */
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

/* Weights from the file where it has them, else from the formula. */
static void set_weights(bench *b)
{
    bench bed = *b;
    char key[160];
    for (size_t i = 0; i < svit_model_parameter_count(bed.model); i++) {
        const char *name = svit_model_parameter_name(bed.model, i);
        size_t rank, elements = parameter_size(bed.model, i, &rank);
        snprintf(key, sizeof key, "param.%s", name);
        float *values;
        if (sv_safetensors_find(bed.file, key)) {
            values = golden_floats(bed.file, key, NULL);
        } else {
            values = malloc(elements * sizeof *values);
            golden_formula(values, name, elements, rank, bed.head_dim);
        }
        OK(svit_model_set_parameter(bed.model, name, values, elements, &bed.err));
        golden_free(values);
    }
}

/* One forward and backward; the loss comes back, logits where wanted. */
static double pass(bench *b, float *logits)
{
    bench bed = *b;
    float loss, *dlogits = malloc(bed.n * bed.classes * sizeof *dlogits);
    OK(svit_forward(bed.session, bed.input, bed.n, logits, &bed.err));
    OK(svit_cross_entropy(logits, bed.labels, bed.n, bed.classes, 0, &loss, dlogits, &bed.err));
    OK(svit_backward(bed.session, dlogits, bed.n, &bed.err));
    free(dlogits);
    return loss;
}

static void check_logits_and_loss(bench *bed, const float *logits, double loss)
{
    size_t elements;
    float *wanted = golden_floats(bed->file, "logits", &elements);
    float *wanted_loss = golden_floats(bed->file, "loss", NULL);
    ck_assert_uint_eq(elements, bed->n * bed->classes);
    ck_assert_double_le(golden_difference(logits, wanted, elements), 2e-5);
    ck_assert_double_le(fabs(loss - wanted_loss[0]), 5e-6);
    golden_free(wanted);
    golden_free(wanted_loss);
}

static void check_gradients(bench *b)
{
    bench bed = *b;
    char key[160];
    for (size_t i = 0; i < svit_model_parameter_count(bed.model); i++) {
        const char *name = svit_model_parameter_name(bed.model, i);
        snprintf(key, sizeof key, "grad.%s", name);
        size_t elements;
        float *wanted = golden_floats(bed.file, key, &elements);
        float *gradient = malloc(elements * sizeof *gradient);
        OK(svit_session_get_gradient(bed.session, name, gradient, elements, &bed.err));
        double most = golden_difference(gradient, wanted, elements);
        double largest = golden_largest(wanted, elements);
        ck_assert_msg(most <= 5e-5 * largest, "%s: off by %g of %g", name, most, largest);
        free(gradient);
        golden_free(wanted);
    }
}

static void check_steps(bench *b)
{
    bench bed = *b;
    char key[160];
    svit_optimizer *optimizer = NULL;
    OK(svit_optimizer_create(&optimizer, bed.model, NULL, &bed.err));
    float *losses = golden_floats(bed.file, "step.losses", NULL);
    float *logits = malloc(bed.n * bed.classes * sizeof *logits);
    OK(svit_session_zero_gradients(bed.session, &bed.err));
    for (size_t step = 0; step < 4; step++) {
        ck_assert_double_le(fabs(pass(&bed, logits) - losses[step]), 2e-5);
        if (step < 3)
            OK(svit_step(optimizer, bed.session, &bed.err));
    }
    size_t checked = 0;
    for (size_t i = 0; i < svit_model_parameter_count(bed.model); i++) {
        const char *name = svit_model_parameter_name(bed.model, i);
        snprintf(key, sizeof key, "step3.param.%s", name);
        if (!sv_safetensors_find(bed.file, key))
            continue;
        size_t elements;
        float *wanted = golden_floats(bed.file, key, &elements);
        float *weights = malloc(elements * sizeof *weights);
        OK(svit_model_get_parameter(bed.model, name, weights, elements, &bed.err));
        double most = golden_difference(weights, wanted, elements);
        /* A key's bias has no gradient but rounding's: Adam makes steps of it. */
        double tolerance = strstr(name, "qkv.bias") ? 1e-3 : 5e-5;
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
                                    "vit_small",
                                    "slvit_small",
                                    "slvit_paper_small"};
enum { SMALL_COUNT = sizeof SMALL / sizeof *SMALL };

START_TEST(test_small_models_equal_the_reference)
{
    GEMM(gemm, _i / SMALL_COUNT);
    bench bed = open_bench(SMALL[_i % SMALL_COUNT], gemm);
    set_weights(&bed);
    float *logits = malloc(bed.n * bed.classes * sizeof *logits);
    double loss = pass(&bed, logits);
    check_logits_and_loss(&bed, logits, loss);
    check_gradients(&bed);
    check_steps(&bed);
    free(logits);
    close_bench(&bed);
}
END_TEST

static const struct {
    const char *name;
    uint64_t parameters;
} FULL[] = {{"shiftvit_cifar10_full_default", 11690602}, {"shiftvit_cifar10_full_keras", 11690602},
            {"shiftvit_t_light_full", 19608328},         {"vit_cifar100_full", 21759012},
            {"slvit_cifar100_full", 21787748},           {"slvit_paper_full", 2747248}};
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
    bench bed = open_bench(FULL[_i % FULL_COUNT].name, gemm);
    ck_assert_uint_eq(svit_model_parameter_elements(bed.model), FULL[_i % FULL_COUNT].parameters);
    set_weights(&bed);
    float *logits = malloc(bed.n * bed.classes * sizeof *logits);
    double loss = pass(&bed, logits);
    check_logits_and_loss(&bed, logits, loss);
    size_t count;
    float *norms = golden_floats(bed.file, "grad_norms", &count);
    ck_assert_uint_eq(count, svit_model_parameter_count(bed.model));
    for (size_t i = 0; i < count; i++) {
        size_t elements = parameter_size(bed.model, i, NULL);
        const char *name = svit_model_parameter_name(bed.model, i);
        float *gradient = malloc(elements * sizeof *gradient);
        OK(svit_session_get_gradient(bed.session, name, gradient, elements, &bed.err));
        double got = norm(gradient, elements);
        ck_assert_msg(fabs(got - norms[i]) <= 1e-4 * norms[i] + 1e-8, "%s: norm %.9g, wanted %.9g",
                      name, got, (double)norms[i]);
        free(gradient);
    }
    golden_free(norms);
    free(logits);
    close_bench(&bed);
}
END_TEST

static const char *const ATTENDING[] = {"vit_small", "slvit_small"};

/* The last layer's attention weights, the masked diagonal exactly 0. */
START_TEST(test_attention_equals_keras)
{
    enum { VARIANTS = sizeof ATTENDING / sizeof *ATTENDING };
    GEMM(gemm, _i / VARIANTS);
    bench bed = open_bench(ATTENDING[_i % VARIANTS], gemm);
    set_weights(&bed);
    size_t heads, tokens, elements;
    OK(svit_session_attention_size(bed.session, &heads, &tokens, &bed.err));
    float *wanted = golden_floats(bed.file, "blocks.1.attn.scores", &elements);
    float *logits = malloc(bed.n * bed.classes * sizeof *logits);
    float *attention = malloc(elements * sizeof *attention);
    OK(svit_forward_attention(bed.session, bed.input, bed.n, logits, attention, elements,
                              &bed.err));
    ck_assert_double_le(golden_difference(attention, wanted, elements), 2e-6);
    for (size_t row = 0; _i % VARIANTS == 1 && row < bed.n * heads * tokens; row++)
        ck_assert_float_eq(attention[row * tokens + row % tokens], 0);
    ck_assert_int_eq(svit_forward_attention(bed.session, bed.input, bed.n, logits, attention,
                                            elements - 1, &bed.err),
                     SVIT_E_ARGUMENT);
    free(attention);
    free(logits);
    golden_free(wanted);
    close_bench(&bed);
}
END_TEST

static Suite *model_golden_suite(void)
{
    Suite *suite = suite_create("model goldens");
    TCase *small = tcase_create("small"), *full = tcase_create("full");
    tcase_add_loop_test(small, test_small_models_equal_the_reference, 0, GEMM_COUNT * SMALL_COUNT);
    tcase_add_loop_test(full, test_full_models_equal_the_reference, 0, 2 * FULL_COUNT);
    tcase_add_loop_test(small, test_attention_equals_keras, 0, 2 * GEMM_COUNT);
    tcase_set_timeout(full, 120);
    tcase_set_timeout(small, 60);
    suite_add_tcase(suite, small);
    suite_add_tcase(suite, full);
    return suite;
}

TEST_MAIN(model_golden_suite)
