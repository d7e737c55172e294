/* Adapters of LoRA: what they change and what not, against plain loops, in files and in training.
 */
#include "fit.h"

#include <math.h>
#include <stdbool.h>

enum { N = 5, CLASSES = 5, SIDE = 24, PIXELS = SIDE * SIDE * 3, RANK = 3 };
#define ALPHA 6.0

#define VIT                                                                                        \
    "{\"architecture\":\"vit\",\"input_height\":24,\"input_width\":24,\"patch_size\":6,"           \
    "\"depth\":2,\"num_classes\":5,\"mlp_last_gelu\":false,\"attention_dropout\":0,"               \
    "\"dropout\":0.1,\"head_dropout\":0,\"pool\":\"class_token\""

/* Plain; with LayerScale; heads so wide that they are folded without adapters; the paper's names
 * without biases. */
static const char *const MODELS[] = {
    VIT ",\"dim\":24,\"heads\":2,\"head_dim\":12,\"mlp_dim\":40,\"head_units\":[7]}",
    VIT ",\"dim\":24,\"heads\":2,\"head_dim\":12,\"mlp_dim\":40,\"head_units\":[],"
        "\"layer_scale\":true}",
    VIT ",\"dim\":12,\"heads\":2,\"head_dim\":40,\"mlp_dim\":20,\"head_units\":[]}",
    VIT ",\"dim\":24,\"heads\":2,\"head_dim\":12,\"mlp_dim\":40,\"head_units\":[],"
        "\"names\":\"paper\",\"qkv_bias\":false}"};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS, FOLDED = 2 };

static svit_context *context;
static fit_folder folder;
static float images[N * PIXELS];

static void setup(void)
{
    context = fit_context(2);
    folder = fit_folder_make();
    for (size_t i = 0; i < N * PIXELS; i++)
        images[i] = (float)(i * 7 % 31) / 31 - 0.5f;
}

static void teardown(void)
{
    svit_context_free(context);
    fit_folder_remove(&folder);
}

/* Gives the parameters whose names contain `part` random values, since zeros hide errors. */
static void shake(svit_model *model, const char *part, float size)
{
    uint32_t seed = 3;
    for (size_t i = 0; i < svit_model_parameter_count(model); i++) {
        const char *name = svit_model_parameter_name(model, i);
        if (!strstr(name, part))
            continue;
        size_t elements = fit_elements(model, name);
        float *values = malloc(elements * sizeof *values);
        for (size_t k = 0; k < elements; k++) {
            seed = seed * 1664525 + 1013904223;
            values[k] = size * ((float)(seed >> 8) / (1 << 23) - 1);
        }
        WORKS(svit_model_set_parameter(model, name, values, elements, err));
        free(values);
    }
}

static svit_model *open_model(const char *json)
{
    svit_model_config config;
    svit_model *model = NULL;
    WORKS(svit_model_config_from_json(&config, sizeof config, json, err));
    WORKS(svit_model_create(&model, context, &config, 7, err));
    shake(model, "bias", 0.5f);
    shake(model, "gamma", 1);
    return model;
}

static svit_session *open_session(svit_model *model, int32_t mode, uint32_t batch)
{
    svit_session_config config;
    svit_session *session = NULL;
    WORKS(svit_session_config_init(&config, sizeof config));
    config.mode = mode;
    config.max_batch = batch;
    config.seed = 5;
    WORKS(svit_session_create(&session, model, &config, err));
    return session;
}

static void infer(svit_model *model, float *logits, size_t n)
{
    svit_session *session = open_session(model, SVIT_MODE_INFER, (uint32_t)n);
    WORKS(svit_forward(session, images, n, logits, err));
    svit_session_free(session);
}

/* The logits of two forms of one model: sums of some tens of products of order 1 in another order,
 * over two blocks, so a few hundred roundings of 6e-8. */
static void check_near(const float *a, const float *b)
{
    for (size_t i = 0; i < N * CLASSES; i++)
        ck_assert_float_eq_tol(a[i], b[i], 2e-5f * fmaxf(1, fabsf(b[i])));
}

static void train(svit_model *model, svit_session *session, svit_optimizer *optimizer, int steps)
{
    static const int32_t labels[N] = {0, 1, 2, 3, 4};
    float logits[N * CLASSES], dlogits[N * CLASSES], loss;
    (void)model;
    for (int step = 0; step < steps; step++) {
        WORKS(svit_forward(session, images, N, logits, err));
        WORKS(svit_cross_entropy(logits, labels, N, CLASSES, 0, &loss, dlogits, err));
        WORKS(svit_backward(session, dlogits, N, err));
        WORKS(svit_step(optimizer, session, err));
    }
}

static svit_optimizer *open_optimizer(svit_model *model)
{
    svit_optimizer_config config;
    svit_optimizer *optimizer = NULL;
    WORKS(svit_optimizer_config_init(&config, sizeof config));
    config.learning_rate = 0.01;
    WORKS(svit_optimizer_create(&optimizer, model, &config, err));
    return optimizer;
}

/* Without folding the derived weight is W + 0 and not another bit changes. */
START_TEST(test_new_adapters_leave_the_logits_as_they_are)
{
    svit_model *model = open_model(MODELS[_i]);
    float before[N * CLASSES], after[N * CLASSES];
    infer(model, before, N);
    WORKS(svit_model_add_lora(model, RANK, ALPHA, 11, err));
    infer(model, after, N);
    if (_i == FOLDED)
        check_near(after, before);
    else
        ck_assert_mem_eq(before, after, sizeof before);
    infer(model, after, 1);
    for (size_t i = 0; i < CLASSES; i++)
        ck_assert_float_eq_tol(after[i], before[i], 2e-5f * fmaxf(1, fabsf(before[i])));
    svit_model_free(model);
}
END_TEST

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), of = strlen(end);
    return length >= of && strcmp(name + length - of, end) == 0;
}

START_TEST(test_the_initial_values_are_those_of_peft)
{
    svit_model *model = open_model(MODELS[_i]);
    const size_t before = svit_model_parameter_count(model);
    WORKS(svit_model_add_lora(model, RANK, ALPHA, 11, err));
    ck_assert_uint_eq(svit_model_parameter_count(model), before + 2 * 2 * 2);
    svit_model_config config;
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    ck_assert_uint_eq(config.lora_rank, RANK);
    ck_assert_double_eq(config.lora_alpha, ALPHA);
    for (size_t i = 0; i < svit_model_parameter_count(model); i++) {
        const char *name = svit_model_parameter_name(model, i);
        const bool is_a = ends_with(name, ".lora_a"), is_b = ends_with(name, ".lora_b");
        const bool is_head = strncmp(name, "head", 4) == 0 ||
                             strcmp(name, "mlp_head.1.weight") == 0 ||
                             strcmp(name, "mlp_head.1.bias") == 0;
        int32_t trainable;
        WORKS(svit_model_get_trainable(model, name, &trainable, err));
        ck_assert_msg(trainable == (is_a || is_b || is_head), "%s", name);
        size_t elements = fit_elements(model, name);
        float *values = malloc(elements * sizeof *values), largest = 0;
        double sum = 0;
        WORKS(svit_model_get_parameter(model, name, values, elements, err));
        for (size_t k = 0; k < elements; k++) {
            largest = fmaxf(largest, fabsf(values[k]));
            sum += values[k];
        }
        const double bound = 1 / sqrt((double)elements / RANK);
        if (is_b)
            ck_assert_float_eq(largest, 0);
        if (is_a) {
            ck_assert_double_le(largest, bound);
            ck_assert_double_ge(largest, 0.8 * bound);
            ck_assert_double_le(fabs(sum) / (double)elements, 0.3 * bound);
        }
        free(values);
    }
    svit_model_free(model);
}
END_TEST

/* w += alpha / rank * b a, in plain loops. */
static void add_by_hand(svit_model *to, const svit_model *from, const char *adapter)
{
    char b_name[128], w_name[128];
    const int length = (int)strlen(adapter) - 7;
    snprintf(b_name, sizeof b_name, "%.*s.lora_b", length, adapter);
    snprintf(w_name, sizeof w_name, "%.*s.weight", length, adapter);
    const size_t an = fit_elements(from, adapter), bn = fit_elements(from, b_name);
    const size_t in = an / RANK, out = bn / RANK;
    float *a = malloc(an * sizeof *a), *b = malloc(bn * sizeof *b),
          *w = malloc(out * in * sizeof *w);
    WORKS(svit_model_get_parameter(from, adapter, a, an, err));
    WORKS(svit_model_get_parameter(from, b_name, b, bn, err));
    WORKS(svit_model_get_parameter(from, w_name, w, out * in, err));
    for (size_t o = 0; o < out; o++)
        for (size_t i = 0; i < in; i++) {
            double sum = 0;
            for (size_t k = 0; k < RANK; k++)
                sum += (double)b[o * RANK + k] * a[k * in + i];
            w[o * in + i] = (float)(w[o * in + i] + ALPHA / RANK * sum);
        }
    WORKS(svit_model_set_parameter(to, w_name, w, out * in, err));
    free(a);
    free(b);
    free(w);
}

/* A model with adapters has the logits of one whose weights have the products by hand, and so has
 * the merged one and what is written to files. */
START_TEST(test_adapters_merged_by_hand_and_by_the_library_agree)
{
    svit_model *model = open_model(MODELS[_i]), *plain = open_model(MODELS[_i]), *read = NULL;
    float wanted[N * CLASSES], got[N * CLASSES], before[N * CLASSES];
    infer(model, before, N);
    WORKS(svit_model_add_lora(model, RANK, ALPHA, 11, err));
    shake(model, ".lora_", 0.2f);
    for (size_t i = 0; i < svit_model_parameter_count(model); i++)
        if (ends_with(svit_model_parameter_name(model, i), ".lora_a"))
            add_by_hand(plain, model, svit_model_parameter_name(model, i));
    infer(plain, wanted, N);
    infer(model, got, N);
    float moved = 0;
    for (size_t i = 0; i < N * CLASSES; i++)
        moved = fmaxf(moved, fabsf(wanted[i] - before[i]));
    ck_assert_float_gt(moved, 0.01f);
    check_near(got, wanted);

    const char *path = fit_path(&folder, "model.safetensors");
    WORKS(svit_model_save(model, path, err));
    WORKS(svit_model_load(&read, context, path, err));
    ck_assert_uint_eq(svit_model_parameter_count(read), svit_model_parameter_count(plain));
    infer(read, got, N);
    check_near(got, wanted);
    svit_model_free(read);
    size_t needed = 0;
    svit_model_save_memory(model, NULL, 0, &needed, NULL);
    char *bytes = malloc(needed);
    WORKS(svit_model_save_memory(model, bytes, needed, &needed, err));
    WORKS(svit_model_load_memory(&read, context, bytes, needed, err));
    infer(read, got, N);
    check_near(got, wanted);
    free(bytes);

    svit_session *session = open_session(model, SVIT_MODE_INFER, 1);
    FAILS(svit_model_merge_lora(model, err), SVIT_E_STATE, "adapters are merged");
    svit_session_free(session);
    WORKS(svit_model_merge_lora(model, err));
    ck_assert(fit_same(model, read));
    FAILS(svit_model_merge_lora(model, err), SVIT_E_STATE, "no adapters");
    infer(model, got, N);
    check_near(got, wanted);
    int32_t trainable;
    WORKS(svit_model_get_trainable(model, svit_model_parameter_name(model, 0), &trainable, err));
    ck_assert_int_eq(trainable, 0);
    svit_model_free(read);
    svit_model_free(plain);
    svit_model_free(model);
}
END_TEST

/* Copies the gradient of a parameter of a model in which it is trainable. */
static float *gradient_of(const svit_model *model, const svit_session *session, const char *name,
                          size_t *elements)
{
    *elements = fit_elements(model, name);
    float *values = malloc(*elements * sizeof *values);
    WORKS(svit_session_get_gradient(session, name, values, *elements, err));
    return values;
}

/* With dw the gradient of the merged weight:  dB = s dw A^T;  dA = s B^T dw. The other gradients
 * are those of the merged model. */
START_TEST(test_gradients_follow_from_those_of_the_merged_weight)
{
    svit_model *model = open_model(MODELS[_i]), *merged = open_model(MODELS[_i]);
    WORKS(svit_model_add_lora(model, RANK, ALPHA, 11, err));
    shake(model, ".lora_", 0.2f);
    WORKS(svit_model_set_trainable(model, "*", 1, err));
    for (size_t i = 0; i < svit_model_parameter_count(model); i++)
        if (ends_with(svit_model_parameter_name(model, i), ".lora_a"))
            add_by_hand(merged, model, svit_model_parameter_name(model, i));
    svit_session *a = open_session(model, SVIT_MODE_TRAIN, N),
                 *b = open_session(merged, SVIT_MODE_TRAIN, N);
    float logits[N * CLASSES], dlogits[N * CLASSES];
    for (size_t i = 0; i < N * CLASSES; i++)
        dlogits[i] = (float)(i * 3 % 7) / 7 - 0.4f;
    WORKS(svit_forward(a, images, N, logits, err));
    WORKS(svit_backward(a, dlogits, N, err));
    WORKS(svit_forward(b, images, N, logits, err));
    WORKS(svit_backward(b, dlogits, N, err));
    const float s = (float)(ALPHA / RANK);
    for (size_t p = 0; p < svit_model_parameter_count(model); p++) {
        const char *name = svit_model_parameter_name(model, p);
        size_t elements;
        float *got = gradient_of(model, a, name, &elements);
        double *wanted = calloc(elements, sizeof *wanted), largest = 0;
        const bool is_a = ends_with(name, ".lora_a"), is_b = ends_with(name, ".lora_b");
        char of[128];
        snprintf(of, sizeof of, "%.*s%s", (int)strlen(name) - 7 * (is_a || is_b), name,
                 is_a || is_b ? ".weight" : "");
        size_t count, other;
        float *dw = gradient_of(merged, b, of, &count);
        char partner[128];
        snprintf(partner, sizeof partner, "%.*s%s", (int)strlen(name) - 7, name,
                 is_a ? ".lora_b" : ".lora_a");
        if (is_a || is_b) {
            other = fit_elements(model, partner);
            float *values = malloc(other * sizeof *values);
            WORKS(svit_model_get_parameter(model, partner, values, other, err));
            const size_t in = (is_a ? elements : other) / RANK, out = count / in;
            for (size_t o = 0; o < out; o++)
                for (size_t i = 0; i < in; i++)
                    for (size_t k = 0; k < RANK; k++) {
                        if (is_a)
                            wanted[k * in + i] += (double)s * values[o * RANK + k] * dw[o * in + i];
                        else
                            wanted[o * RANK + k] += (double)s * dw[o * in + i] * values[k * in + i];
                    }
            free(values);
        } else {
            for (size_t i = 0; i < elements; i++)
                wanted[i] = dw[i];
        }
        for (size_t i = 0; i < elements; i++)
            largest = fmax(largest, fabs(wanted[i]));
        ck_assert_msg(largest > 0, "%s has no gradient", name);
        /* Sums over 85 tokens of products of float32, relative to the largest. */
        for (size_t i = 0; i < elements; i++)
            ck_assert_msg(fabs(got[i] - wanted[i]) <= 3e-5 * fmax(largest, 0.01),
                          "%s [%zu]: %g, %g", name, i, (double)got[i], wanted[i]);
        free(dw);
        free(wanted);
        free(got);
    }
    svit_session_free(a);
    svit_session_free(b);
    svit_model_free(model);
    svit_model_free(merged);
}
END_TEST

/* Training moves the adapters and the head and no bit of anything else. */
START_TEST(test_training_changes_the_adapters_and_the_head_alone)
{
    svit_model *model = open_model(MODELS[_i]);
    WORKS(svit_model_add_lora(model, RANK, ALPHA, 11, err));
    size_t elements;
    float *before = fit_weights(model, &elements);
    svit_session *session = open_session(model, SVIT_MODE_TRAIN, N);
    svit_optimizer *optimizer = open_optimizer(model);
    train(model, session, optimizer, 3);
    float *after = fit_weights(model, NULL);
    size_t at = 0;
    for (size_t i = 0; i < svit_model_parameter_count(model); i++) {
        const char *name = svit_model_parameter_name(model, i);
        const size_t count = fit_elements(model, name);
        int32_t trainable;
        WORKS(svit_model_get_trainable(model, name, &trainable, err));
        ck_assert_msg((memcmp(before + at, after + at, count * sizeof *after) != 0) == trainable,
                      "%s", name);
        at += count;
    }
    free(before);
    free(after);
    svit_optimizer_free(optimizer);
    svit_session_free(session);
    svit_model_free(model);
}
END_TEST

START_TEST(test_bits_do_not_depend_on_the_number_of_threads)
{
    float *weights[3];
    size_t elements;
    for (uint32_t threads = 1; threads <= 3; threads++) {
        svit_context_free(context);
        context = fit_context(threads);
        svit_model *model = open_model(MODELS[_i]);
        WORKS(svit_model_add_lora(model, RANK, ALPHA, 11, err));
        svit_session *session = open_session(model, SVIT_MODE_TRAIN, N);
        svit_optimizer *optimizer = open_optimizer(model);
        train(model, session, optimizer, 3);
        weights[threads - 1] = fit_weights(model, &elements);
        svit_optimizer_free(optimizer);
        svit_session_free(session);
        svit_model_free(model);
    }
    ck_assert_mem_eq(weights[0], weights[1], elements * sizeof **weights);
    ck_assert_mem_eq(weights[0], weights[2], elements * sizeof **weights);
    for (int i = 0; i < 3; i++)
        free(weights[i]);
}
END_TEST

/* A checkpoint has the adapters, loads as a model with them, and resumes to the same bits. */
START_TEST(test_a_resumed_training_has_the_same_bits)
{
    svit_model *model = open_model(MODELS[_i]), *resumed = NULL;
    const char *path = fit_path(&folder, "checkpoint.safetensors");
    WORKS(svit_model_add_lora(model, RANK, ALPHA, 11, err));
    svit_session *session = open_session(model, SVIT_MODE_TRAIN, N);
    svit_optimizer *optimizer = open_optimizer(model);
    train(model, session, optimizer, 2);
    WORKS(svit_checkpoint_save(path, model, optimizer, session, NULL, NULL, 0, err));
    train(model, session, optimizer, 2);

    svit_checkpoint *checkpoint = NULL;
    WORKS(svit_model_load(&resumed, context, path, err));
    ck_assert_uint_eq(svit_model_parameter_count(resumed), svit_model_parameter_count(model));
    WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
    WORKS(svit_checkpoint_restore(checkpoint, resumed, NULL, NULL, err));
    svit_session *late = open_session(resumed, SVIT_MODE_TRAIN, N);
    svit_optimizer *other = open_optimizer(resumed);
    WORKS(svit_checkpoint_restore(checkpoint, resumed, other, late, err));
    svit_checkpoint_free(checkpoint);
    train(resumed, late, other, 2);
    ck_assert(fit_same(model, resumed));
    svit_optimizer_free(other);
    svit_session_free(late);
    svit_model_free(resumed);
    svit_optimizer_free(optimizer);
    svit_session_free(session);
    svit_model_free(model);
}
END_TEST

START_TEST(test_what_is_not_accepted_is_named)
{
    svit_model *model = open_model(MODELS[0]), *other = fit_model(context, 4, 1);
    float *before = fit_weights(model, NULL);
    FAILS(svit_model_add_lora(NULL, 1, 1, 1, err), SVIT_E_ARGUMENT, "model");
    FAILS(svit_model_merge_lora(NULL, err), SVIT_E_ARGUMENT, "model");
    FAILS(svit_model_add_lora(other, 1, 1, 1, err), SVIT_E_UNSUPPORTED, "shiftvit");
    FAILS(svit_model_add_lora(model, 0, 1, 1, err), SVIT_E_ARGUMENT, "rank is 0");
    FAILS(svit_model_add_lora(model, 25, 1, 1, err), SVIT_E_ARGUMENT, "at most 24");
    FAILS(svit_model_add_lora(model, UINT32_MAX, 1, 1, err), SVIT_E_ARGUMENT, "lora_rank");
    FAILS(svit_model_add_lora(model, 1, 0, 1, err), SVIT_E_ARGUMENT, "lora_alpha is 0");
    FAILS(svit_model_add_lora(model, 1, -1, 1, err), SVIT_E_ARGUMENT, "lora_alpha");
    FAILS(svit_model_add_lora(model, 1, NAN, 1, err), SVIT_E_ARGUMENT, "lora_alpha");
    svit_session *session = open_session(model, SVIT_MODE_INFER, 1);
    FAILS(svit_model_add_lora(model, 1, 1, 1, err), SVIT_E_STATE, "adapters are added");
    svit_session_free(session);
    float *after = fit_weights(model, NULL);
    ck_assert_mem_eq(before, after, svit_model_parameter_elements(model) * sizeof *after);
    free(before);
    free(after);
    WORKS(svit_model_add_lora(model, 24, 1, 1, err));
    FAILS(svit_model_add_lora(model, 1, 1, 1, err), SVIT_E_STATE, "rank 24 already");
    svit_model_config config;
    WORKS(svit_model_config_init(&config, sizeof config));
    config.lora_rank = 4;
    svit_model *none = NULL;
    FAILS(svit_model_create(&none, context, &config, 1, err), SVIT_E_ARGUMENT, "lora_rank is 4");
    svit_model_free(other);
    svit_model_free(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("LoRA");
    TCase *c = tcase_create("LoRA");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_new_adapters_leave_the_logits_as_they_are, 0, MODEL_COUNT);
    tcase_add_loop_test(c, test_the_initial_values_are_those_of_peft, 0, MODEL_COUNT);
    tcase_add_loop_test(c, test_adapters_merged_by_hand_and_by_the_library_agree, 0, MODEL_COUNT);
    tcase_add_loop_test(c, test_gradients_follow_from_those_of_the_merged_weight, 0, MODEL_COUNT);
    tcase_add_loop_test(c, test_training_changes_the_adapters_and_the_head_alone, 0, MODEL_COUNT);
    tcase_add_loop_test(c, test_bits_do_not_depend_on_the_number_of_threads, 0, MODEL_COUNT);
    tcase_add_loop_test(c, test_a_resumed_training_has_the_same_bits, 0, MODEL_COUNT);
    tcase_add_test(c, test_what_is_not_accepted_is_named);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
