/* Gradients of the input: their bits do not depend on memory modes, frozen layers or threads, they
 * change no gradient of a parameter, and they are right for any number of channels. tests/grad and
 * tests/reference compare their values. */
#include "calls.h"

#include <shiftvit/shiftvit.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SIZE "\"input_height\":26,\"input_width\":24,\"num_classes\":5,"
#define VIT                                                                                        \
    "\"architecture\":\"vit\",\"input_height\":24,\"input_width\":24,\"num_classes\":5,"           \
    "\"patch_size\":6,\"dim\":24,\"depth\":2,\"heads\":2,\"head_dim\":12,\"mlp_dim\":40"

/* Every kind of first layer, with dropout in the blocks. Dropout between the features and the first
 * trained layer would act in sessions with an input gradient alone. */
static const char *const MODELS[] = {
    VIT ",\"head_units\":[],\"pool\":\"class_token\",\"head_dropout\":0",
    VIT ",\"head_units\":[16],\"tokenizer\":\"spt\",\"attention\":\"lsa\",\"head_dropout\":0",
    ("\"architecture\":\"shiftvit\"," SIZE "\"dim\":24,\"blocks\":[1,2],\"num_div\":6,"
     "\"drop_path\":0.2,\"patch_padding\":\"valid\""),
    ("\"architecture\":\"shiftvit\"," SIZE "\"dim\":24,\"blocks\":[1,1],\"num_div\":6,"
     "\"mixer\":\"depthwise\",\"stem\":\"conv\""),
    ("\"architecture\":\"shiftvit\"," SIZE "\"dim\":24,\"blocks\":[1,1],\"num_div\":6,"
     "\"patch_size\":2,\"stem\":\"whitened\""),
    ("\"architecture\":\"mixer\",\"input_height\":24,\"input_width\":24,\"num_classes\":5,"
     "\"patch_size\":6,\"dim\":20,\"depth\":2,\"token_mlp_dim\":10,\"mlp_dim\":30"),
    VIT ",\"head_units\":[],\"pool\":\"attention\",\"pool_heads\":3,\"pool_mlp_dim\":40,\"mlp_"
        "norm\":true,\"mlp_last_gelu\":false,"
        "\"position_tokens\":\"none\",\"head_dropout\":0"};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS, N = 3, CLASSES = 5 };
enum { PIXELS = 26 * 24, MOST = N * PIXELS * 6, MEMORY_MODES = 3, MAX_CHANNELS = 4 };

typedef struct fixture {
    svit_context *context;
    svit_model *model;
    float images[MOST], dlogits[N * CLASSES];
} fixture;

static void fill(float *values, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525 + 1013904223;
        values[i] = (float)(seed >> 8) / (1 << 24) - 0.5f;
    }
}

static void open_fixture(fixture *f, const char *fields, const char *more, uint32_t threads)
{
    char json[1024];
    svit_context_config context;
    svit_model_config config;
    err.struct_size = sizeof err;
    snprintf(json, sizeof json, "{%s%s}", fields, more);
    OK(svit_context_config_init(&context, sizeof context));
    context.threads = threads;
    OK(svit_context_create(&f->context, &context, &err));
    OK(svit_model_config_from_json(&config, sizeof config, json, &err));
    OK(svit_model_create(&f->model, f->context, &config, 7, &err));
    fill(f->images, MOST, 1);
    fill(f->dlogits, N * CLASSES, 2);
}

static void close_fixture(fixture *f)
{
    svit_model_free(f->model);
    svit_context_free(f->context);
}

static svit_session_config plan_of(int32_t memory, bool input_gradient, const char *layer)
{
    svit_session_config plan;
    OK(svit_session_config_init(&plan, sizeof plan));
    plan.max_batch = N;
    plan.mode = SVIT_MODE_TRAIN;
    plan.memory = memory;
    plan.input_gradient = input_gradient;
    snprintf(plan.input_layer, sizeof plan.input_layer, "%s", layer);
    return plan;
}

/* The results of a pass: the gradient of the input, and those of all parameters. */
typedef struct gradients {
    float input[MOST];
    float *parameters;
    size_t input_elements, elements;
} gradients;

static size_t elements_of(const svit_model *model, const char *name)
{
    int64_t shape[8];
    size_t rank, elements = 1;
    OK(svit_model_parameter_shape(model, name, shape, &rank, &err));
    for (size_t r = 0; r < rank; r++)
        elements *= (size_t)shape[r];
    return elements;
}

/* A parameter without a gradient has zeros. */
static void read_parameters(gradients *out, fixture *f, const svit_session *session)
{
    out->elements = (size_t)svit_model_parameter_elements(f->model);
    out->parameters = calloc(out->elements, sizeof(float));
    float *to = out->parameters;
    for (size_t i = 0; i < svit_model_parameter_count(f->model); i++) {
        const char *name = svit_model_parameter_name(f->model, i);
        const size_t elements = elements_of(f->model, name);
        svit_status status = svit_session_get_gradient(session, name, to, elements, &err);
        ck_assert(status == SVIT_OK || status == SVIT_E_STATE);
        to += elements;
    }
}

/* Two passes, since gradients of parameters add up and that of the input does not. The images are
 * cleared before each backward. The caller frees out->parameters. */
static void run(gradients *out, fixture *f, const svit_session_config *plan, bool calls_input)
{
    svit_session *session = NULL;
    float logits[N * CLASSES], images[MOST];
    OK(svit_session_create(&session, f->model, plan, &err));
    out->input_elements = N * svit_session_input_size(session);
    ck_assert_uint_le(out->input_elements, MOST);
    for (size_t i = 0; i < MOST; i++)
        out->input[i] = NAN;
    for (int pass = 0; pass < 2; pass++) {
        memcpy(images, f->images, sizeof images);
        OK(svit_forward(session, images, N, logits, &err));
        memset(images, 0, sizeof images);
        OK(calls_input ? svit_backward_input(session, f->dlogits, N, out->input, &err)
                       : svit_backward(session, f->dlogits, N, &err));
    }
    if (calls_input)
        ck_assert(isnan(out->input[MOST - 1]) || out->input_elements == MOST);
    read_parameters(out, f, session);
    svit_session_free(session);
}

/* Asserts once for all elements: Check writes a line to a file for each assertion. */
static void check_finite(const gradients *got)
{
    for (size_t i = 0; i < got->input_elements; i++)
        if (!isfinite(got->input[i]))
            ck_abort_msg("element %zu of the input gradient is %g", i, (double)got->input[i]);
}

static void check_input(const gradients *got, const gradients *wanted)
{
    bool any = false;
    ck_assert_uint_eq(got->input_elements, wanted->input_elements);
    ck_assert_mem_eq(got->input, wanted->input, wanted->input_elements * sizeof(float));
    check_finite(got);
    for (size_t i = 0; i < got->input_elements; i++)
        any = any || got->input[i] != 0;
    ck_assert(any);
}

static void check_parameters(const gradients *got, const gradients *wanted)
{
    ck_assert_mem_eq(got->parameters, wanted->parameters, wanted->elements * sizeof(float));
}

/* The first two layers that have names, after which a session may begin. */
static const char *const LAYERS[] = {"", "patch_embed", "features"};
enum { LAYER_COUNT = sizeof LAYERS / sizeof *LAYERS };

START_TEST(test_memory_and_frozen_layers_change_no_bit)
{
    fixture f;
    static gradients wanted, got;
    const char *layer = LAYERS[_i % LAYER_COUNT];
    open_fixture(&f, MODELS[_i / LAYER_COUNT], "", 2);
    svit_session_config plan = plan_of(SVIT_MEMORY_STORE, true, layer);
    run(&wanted, &f, &plan, true);
    for (int32_t memory = 0; memory < MEMORY_MODES; memory++) {
        plan = plan_of(memory, false, layer);
        run(&got, &f, &plan, false);
        check_parameters(&got, &wanted);
        free(got.parameters);
        plan.input_gradient = 1;
        run(&got, &f, &plan, false);
        check_parameters(&got, &wanted);
        free(got.parameters);
        run(&got, &f, &plan, true);
        check_parameters(&got, &wanted);
        check_input(&got, &wanted);
        free(got.parameters);
    }
    OK(svit_model_set_trainable(f.model, "*", 0, &err));
    for (int32_t memory = 0; memory < MEMORY_MODES; memory++) {
        plan = plan_of(memory, true, layer);
        run(&got, &f, &plan, true);
        check_input(&got, &wanted);
        free(got.parameters);
    }
    free(wanted.parameters);
    close_fixture(&f);
}
END_TEST

/* More first layers: dropout of tokens and of the head, hidden layers of the head, a class token
 * alone, tokens of the class and of distillation, register tokens, and norms before the blocks. */
static const char *const MORE_MODELS[] = {
    VIT ",\"head_units\":[16,12],\"pool\":\"flatten\",\"dropout\":0.2,\"head_dropout\":0.3",
    VIT ",\"head_units\":[],\"pool\":\"mean\",\"head_dropout\":0.3,\"pre_norm\":true",
    VIT ",\"head_units\":[16],\"pool\":\"class_token\",\"dropout\":0.1,\"head_dropout\":0.5",
    VIT ",\"head_units\":[],\"pool\":\"class-mean\",\"register_tokens\":2,\"head_dropout\":0.1",
    VIT ",\"head_units\":[],\"pool\":\"class_token\",\"distilled\":true,\"head_dropout\":0.2",
    VIT ",\"head_units\":[],\"tokenizer\":\"spt\",\"attention\":\"lsa\",\"dropout\":0.3",
    ("\"architecture\":\"shiftvit\"," SIZE "\"dim\":24,\"blocks\":[1,1,1],\"num_div\":6,"
     "\"final_norm\":true,\"norm\":\"group\",\"drop_path\":0.2"),
    ("\"architecture\":\"mixer\",\"input_height\":24,\"input_width\":24,\"num_classes\":5,"
     "\"patch_size\":6,\"dim\":20,\"depth\":1,\"token_mlp_dim\":10,\"mlp_dim\":30,"
     "\"drop_path\":0.3")};
enum { MORE_COUNT = sizeof MORE_MODELS / sizeof *MORE_MODELS };

/* What is trained: all, nothing, the head alone, all but the head, the blocks alone. */
static const char *const TRAINABLE[][2] = {
    {NULL, NULL}, {"*", NULL}, {"*", "head*"}, {"head*", NULL}, {"*", "*.blocks.*"}};
enum { TRAINABLE_COUNT = sizeof TRAINABLE / sizeof *TRAINABLE };

static void set_trainable(fixture *f, const char *const patterns[2])
{
    OK(svit_model_set_trainable(f->model, "*", 1, &err));
    for (int i = 0; i < 2 && patterns[i]; i++) {
        svit_status status = svit_model_set_trainable(f->model, patterns[i], i, &err);
        ck_assert(status == SVIT_OK || status == SVIT_E_ARGUMENT); /* no such parameter */
    }
}

/* Both calls give the parameters the same gradients, whatever is trained above the first layer. */
static size_t check_both_calls(fixture *f, const char *layer)
{
    static gradients of_input, alone;
    size_t cases = 0;
    for (size_t t = 0; t < TRAINABLE_COUNT; t++)
        for (int32_t memory = 0; memory < MEMORY_MODES; memory++, cases++) {
            set_trainable(f, TRAINABLE[t]);
            const svit_session_config plan = plan_of(memory, true, layer);
            run(&of_input, f, &plan, true);
            run(&alone, f, &plan, false);
            check_parameters(&alone, &of_input);
            check_finite(&of_input);
            free(of_input.parameters);
            free(alone.parameters);
        }
    return cases;
}

/* A backward without the input's gradient wrote to NULL where the first layer had no parameters or
 * frozen ones. */
START_TEST(test_both_calls_at_every_first_layer)
{
    fixture f;
    svit_session *session = NULL;
    const char *name;
    open_fixture(&f, _i < MODEL_COUNT ? MODELS[_i] : MORE_MODELS[_i - MODEL_COUNT], "", 2);
    svit_session_config plan = plan_of(SVIT_MEMORY_STORE, false, "");
    plan.mode = SVIT_MODE_INFER;
    plan.features = 1;
    OK(svit_session_create(&session, f.model, &plan, &err));
    size_t cases = check_both_calls(&f, "");
    for (size_t i = 0; (name = svit_session_layer_name(session, i)) != NULL; i++)
        if (strcmp(name, "logits") != 0)
            cases += check_both_calls(&f, name);
    ck_assert_uint_ge(cases, 4 * TRAINABLE_COUNT * MEMORY_MODES);
    svit_session_free(session);
    close_fixture(&f);
}
END_TEST

START_TEST(test_threads_change_no_bit)
{
    fixture f;
    static gradients wanted, got;
    const svit_session_config plan = plan_of(SVIT_MEMORY_STORE, true, "");
    open_fixture(&f, MODELS[_i], "", 1);
    run(&wanted, &f, &plan, true);
    close_fixture(&f);
    for (uint32_t threads = 2; threads <= 3; threads++) {
        open_fixture(&f, MODELS[_i], "", threads);
        run(&got, &f, &plan, true);
        check_input(&got, &wanted);
        check_parameters(&got, &wanted);
        free(got.parameters);
        close_fixture(&f);
    }
    free(wanted.parameters);
}
END_TEST

/* All parameters one behind the other; the caller frees them. */
static float *copy_weights(const svit_model *model)
{
    float *all = malloc(svit_model_parameter_elements(model) * sizeof *all), *at = all;
    for (size_t i = 0; i < svit_model_parameter_count(model); i++) {
        const char *name = svit_model_parameter_name(model, i);
        int64_t shape[8];
        size_t rank, elements = 1;
        OK(svit_model_parameter_shape(model, name, shape, &rank, &err));
        for (size_t axis = 0; axis < rank; axis++)
            elements *= (size_t)shape[axis];
        OK(svit_model_get_parameter(model, name, at, elements, &err));
        at += elements;
    }
    return all;
}

/* A step updates nothing but what is trained, and nothing where all is frozen. */
START_TEST(test_a_frozen_model_keeps_its_weights)
{
    fixture f;
    svit_session *session = NULL;
    svit_optimizer *optimizer = NULL;
    float logits[N * CLASSES], dnhwc[MOST];
    open_fixture(&f, MODELS[0], "", 2);
    OK(svit_model_set_trainable(f.model, "*", 0, &err));
    const svit_session_config plan = plan_of(SVIT_MEMORY_STORE, true, "");
    OK(svit_session_create(&session, f.model, &plan, &err));
    OK(svit_optimizer_create(&optimizer, f.model, NULL, &err));
    float *before = copy_weights(f.model);
    OK(svit_forward(session, f.images, N, logits, &err));
    OK(svit_backward_input(session, f.dlogits, N, dnhwc, &err));
    OK(svit_step(optimizer, session, &err));
    OK(svit_session_zero_gradients(session, &err));
    float *after = copy_weights(f.model);
    ck_assert_mem_eq(before, after, svit_model_parameter_elements(f.model) * sizeof *before);
    free(before);
    free(after);
    svit_optimizer_free(optimizer);
    svit_session_free(session);
    close_fixture(&f);
}
END_TEST

/* Of a model whose first layer is this parameter, its weights of one channel become the sums of
 * those of all channels: w1[o, ..] = sum of w[o, c, ..]. Weights with four dimensions have the
 * channels in the second one; the others have them last. */
static void sum_channels(svit_model *to, const svit_model *from, const char *name, size_t channels)
{
    int64_t shape[8];
    size_t rank, elements = elements_of(from, name), each = elements / channels;
    OK(svit_model_parameter_shape(from, name, shape, &rank, &err));
    float *many = malloc(elements * sizeof *many), *one = calloc(each, sizeof *one);
    OK(svit_model_get_parameter(from, name, many, elements, &err));
    const size_t area = rank == 4 ? (size_t)(shape[2] * shape[3]) : 1;
    for (size_t i = 0; i < elements; i++)
        one[i / (area * channels) * area + i % area] += many[i];
    OK(svit_model_set_parameter(to, name, one, each, &err));
    free(many);
    free(one);
}

static const struct {
    size_t model;
    const char *first; /* the weight of the first layer */
} CHANNEL_MODELS[] = {{0, "patch_embed.proj.weight"},
                      {2, "patch_embed.proj.weight"},
                      {3, "patch_embed.conv1.weight"},
                      {5, "stem.proj.weight"}};
enum { CHANNEL_MODEL_COUNT = sizeof CHANNEL_MODELS / sizeof *CHANNEL_MODELS };

/* If all channels of an image are equal, a model of four channels computes what one of a single
 * channel does whose weights are their sums. The single channel's gradient is the sum over the
 * four. */
START_TEST(test_one_channel_has_the_sum_over_four)
{
    fixture four, one;
    static gradients of_four, of_one;
    const char *fields = MODELS[CHANNEL_MODELS[_i].model], *first = CHANNEL_MODELS[_i].first;
    open_fixture(&four, fields, ",\"in_channels\":4", 2);
    open_fixture(&one, fields, ",\"in_channels\":1", 2);
    for (size_t i = 0; i < svit_model_parameter_count(one.model); i++) {
        const char *name = svit_model_parameter_name(one.model, i);
        sum_channels(one.model, four.model, name, strcmp(name, first) == 0 ? MAX_CHANNELS : 1);
    }
    for (size_t i = 0; i < MOST; i++)
        four.images[i] = one.images[i / MAX_CHANNELS];
    const svit_session_config plan = plan_of(SVIT_MEMORY_STORE, true, "");
    run(&of_four, &four, &plan, true);
    run(&of_one, &one, &plan, true);
    ck_assert_uint_eq(of_four.input_elements, MAX_CHANNELS * of_one.input_elements);
    double largest = 0;
    for (size_t i = 0; i < of_one.input_elements; i++)
        largest = fmax(largest, fabs(of_one.input[i]));
    for (size_t i = 0; i < of_one.input_elements; i++) {
        double sum = 0;
        for (size_t c = 0; c < MAX_CHANNELS; c++)
            sum += of_four.input[i * MAX_CHANNELS + c];
        ck_assert_msg(fabs(sum - of_one.input[i]) <= 2e-6 * largest, "%zu: %.9g, not %.9g", i, sum,
                      of_one.input[i]);
    }
    ck_assert_double_gt(largest, 0);
    free(of_four.parameters);
    free(of_one.parameters);
    close_fixture(&four);
    close_fixture(&one);
}
END_TEST

/* dfeatures = dlogits W, in plain loops. */
START_TEST(test_features_before_a_linear_head_get_its_weights)
{
    enum { DIM = 24 };
    fixture f;
    static gradients got;
    float weight[CLASSES * DIM];
    open_fixture(&f, MODELS[0], "", 2);
    const svit_session_config plan = plan_of(SVIT_MEMORY_STORE, true, "features");
    run(&got, &f, &plan, true);
    ck_assert_uint_eq(got.input_elements, N * DIM);
    OK(svit_model_get_parameter(f.model, "head.fc1.weight", weight, CLASSES * DIM, &err));
    for (size_t n = 0; n < N; n++)
        for (size_t i = 0; i < DIM; i++) {
            double sum = 0;
            for (size_t k = 0; k < CLASSES; k++)
                sum += (double)f.dlogits[n * CLASSES + k] * weight[k * DIM + i];
            ck_assert_double_le(fabs(sum - got.input[n * DIM + i]), 1e-6);
        }
    free(got.parameters);
    close_fixture(&f);
}
END_TEST

START_TEST(test_misuse_of_the_input_gradient)
{
    fixture f;
    svit_session *session = NULL, *plain = NULL;
    float logits[N * CLASSES], dnhwc[MOST];
    open_fixture(&f, MODELS[0], "", 2);
    svit_session_config plan = plan_of(SVIT_MEMORY_STORE, false, "");
    OK(svit_session_create(&plain, f.model, &plan, &err));
    OK(svit_forward(plain, f.images, N, logits, &err));
    FAILS(SVIT_E_STATE, "create one with input_gradient 1",
          svit_backward_input(plain, f.dlogits, N, dnhwc, &err));
    OK(svit_backward(plain, f.dlogits, N, &err));
    plan.input_gradient = 2;
    FAILS(SVIT_E_ARGUMENT, "input_gradient is 2",
          svit_session_create(&session, f.model, &plan, &err));
    plan.input_gradient = 1;
    plan.mode = SVIT_MODE_INFER;
    FAILS(SVIT_E_ARGUMENT, "input_gradient is 1 in mode 'infer'",
          svit_session_create(&session, f.model, &plan, &err));
    plan.mode = SVIT_MODE_TRAIN;
    OK(svit_session_create(&session, f.model, &plan, &err));
    FAILS(SVIT_E_STATE, "without a forward",
          svit_backward_input(session, f.dlogits, N, dnhwc, &err));
    OK(svit_forward(session, f.images, N, logits, &err));
    FAILS(SVIT_E_ARGUMENT, "dnhwc", svit_backward_input(session, f.dlogits, N, NULL, &err));
    FAILS(SVIT_E_ARGUMENT, "dlogits", svit_backward_input(session, NULL, N, dnhwc, &err));
    FAILS(SVIT_E_ARGUMENT, "session", svit_backward_input(NULL, f.dlogits, N, dnhwc, &err));
    FAILS(SVIT_E_ARGUMENT, "n is 2; the last forward had 3",
          svit_backward_input(session, f.dlogits, 2, dnhwc, &err));
    f.dlogits[4] = NAN;
    FAILS(SVIT_E_NUMERIC, "dlogits[4]", svit_backward_input(session, f.dlogits, N, dnhwc, &err));
    f.dlogits[4] = 0;
    OK(svit_backward_input(session, f.dlogits, N, dnhwc, &err));
    FAILS(SVIT_E_STATE, "without a forward",
          svit_backward_input(session, f.dlogits, N, dnhwc, &err));
    svit_session_free(session);
    svit_session_free(plain);
    close_fixture(&f);
}
END_TEST

static Suite *input_gradient_suite(void)
{
    Suite *suite = suite_create("input gradient");
    TCase *all = tcase_create("input gradient");
    add_cases(all, test_memory_and_frozen_layers_change_no_bit, MODEL_COUNT * LAYER_COUNT);
    add_cases(all, test_both_calls_at_every_first_layer, MODEL_COUNT + MORE_COUNT);
    tcase_add_loop_test(all, test_threads_change_no_bit, 0, MODEL_COUNT);
    tcase_add_test(all, test_a_frozen_model_keeps_its_weights);
    tcase_add_loop_test(all, test_one_channel_has_the_sum_over_four, 0, CHANNEL_MODEL_COUNT);
    tcase_add_test(all, test_features_before_a_linear_head_get_its_weights);
    tcase_add_test(all, test_misuse_of_the_input_gradient);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(input_gradient_suite)
