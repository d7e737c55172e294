/* Adapters of LoRA: their initial values, their gradients against plain loops, and their training.
 */
#include "test_lora_support.h"

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

/* Attention pooling lies behind the blocks, too, and is frozen as a whole. */
START_TEST(test_attention_pooling_is_frozen)
{
    static const char *const heads[] = {"[7]", "[]", "[]"};
    char json[400];
    svit_model_config config;
    svit_model *model = NULL;
    snprintf(json, sizeof json,
             "{\"architecture\":\"vit\",\"input_height\":12,\"input_width\":12,\"patch_size\":6,"
             "\"dim\":8,\"depth\":1,\"heads\":2,\"head_dim\":4,\"mlp_dim\":8,\"num_classes\":%d,"
             "\"head_units\":%s,\"pool\":\"attention\",\"pool_heads\":2,\"pool_mlp_dim\":4,"
             "\"classifier\":%s}",
             _i == 2 ? 8 : 3, heads[_i], _i == 2 ? "false" : "true");
    WORKS(svit_model_config_from_json(&config, sizeof config, json, err));
    WORKS(svit_model_create(&model, context, &config, 1, err));
    WORKS(svit_model_add_lora(model, 2, 2, 0, err));
    for (size_t i = 0; i < svit_model_parameter_count(model); i++) {
        const char *name = svit_model_parameter_name(model, i);
        int32_t trainable;
        WORKS(svit_model_get_trainable(model, name, &trainable, err));
        ck_assert_msg(trainable == (strstr(name, "lora") || strncmp(name, "head.", 5) == 0), "%s",
                      name);
    }
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

#define TOLERANCE 3e-5

/* values[elements] += s times the sum by which the gradient of an adapter follows from dw[out, in]:
 * dB = s dw A^T;  dA = s B^T dw. */
static void add_adapter_gradient(double *wanted, size_t elements, const svit_model *model,
                                 const char *name, bool is_a, const float *dw, size_t count)
{
    char partner[128];
    snprintf(partner, sizeof partner, "%.*s%s", (int)strlen(name) - 7, name,
             is_a ? ".lora_b" : ".lora_a");
    const size_t other = fit_elements(model, partner);
    const size_t in = (is_a ? elements : other) / RANK, out = count / in;
    float *values = malloc(other * sizeof *values);
    WORKS(svit_model_get_parameter(model, partner, values, other, err));
    for (size_t o = 0; o < out; o++)
        for (size_t i = 0; i < in; i++)
            for (size_t k = 0; k < RANK; k++) {
                const size_t a = k * in + i, b = o * RANK + k;
                wanted[is_a ? a : b] +=
                    ALPHA / RANK * (double)dw[o * in + i] * values[is_a ? b : a];
            }
    free(values);
}

/* The gradient that a parameter of `model` must have, given the passes of the merged model. */
static double *wanted_gradient(const svit_model *model, const svit_model *merged,
                               const svit_session *session, const char *name)
{
    const bool is_a = ends_with(name, ".lora_a"), adapter = is_a || ends_with(name, ".lora_b");
    const size_t elements = fit_elements(model, name);
    size_t count;
    char of[128];
    snprintf(of, sizeof of, "%.*s%s", (int)strlen(name) - 7 * adapter, name,
             adapter ? ".weight" : "");
    float *dw = gradient_of(merged, session, of, &count);
    double *wanted = calloc(elements, sizeof *wanted);
    if (adapter)
        add_adapter_gradient(wanted, elements, model, name, is_a, dw, count);
    for (size_t i = 0; !adapter && i < elements; i++)
        wanted[i] = dw[i];
    free(dw);
    return wanted;
}

/* Sums of float32 over the tokens of all images, in another order: some 30 roundings of the largest
 * terms. The gradients of keys' biases are 0 but for roundings. */
static void check_gradient(const float *got, const double *wanted, size_t elements,
                           const char *name)
{
    double largest = 0;
    for (size_t i = 0; i < elements; i++)
        largest = fmax(largest, fabs(wanted[i]));
    ck_assert_msg(largest > 0, "%s has no gradient", name);
    for (size_t i = 0; i < elements; i++)
        ck_assert_msg(fabs(got[i] - wanted[i]) <= TOLERANCE * fmax(largest, 0.01),
                      "%s [%zu]: %g, %g", name, i, (double)got[i], wanted[i]);
}

static svit_session *backward(svit_model *model)
{
    svit_session *session = open_session(model, SVIT_MODE_TRAIN, N);
    float logits[N * CLASSES], dlogits[N * CLASSES];
    for (size_t i = 0; i < N * CLASSES; i++)
        dlogits[i] = (float)(i * 3 % 7) / 7 - 0.4f;
    WORKS(svit_forward(session, images, N, logits, err));
    WORKS(svit_backward(session, dlogits, N, err));
    return session;
}

/* The gradients of the adapters follow from those of the merged weight, and all others are those of
 * the merged model. */
START_TEST(test_gradients_follow_from_those_of_the_merged_weight)
{
    svit_model *model = open_model(MODELS[_i]), *merged = open_model(MODELS[_i]);
    WORKS(svit_model_add_lora(model, RANK, ALPHA, 11, err));
    shake(model, ".lora_", 0.2f);
    WORKS(svit_model_set_trainable(model, "*", 1, err));
    for (size_t i = 0; i < svit_model_parameter_count(model); i++)
        if (ends_with(svit_model_parameter_name(model, i), ".lora_a"))
            add_by_hand(merged, model, svit_model_parameter_name(model, i));
    svit_session *session = backward(model), *of_merged = backward(merged);
    for (size_t p = 0; p < svit_model_parameter_count(model); p++) {
        const char *name = svit_model_parameter_name(model, p);
        size_t elements;
        float *got = gradient_of(model, session, name, &elements);
        double *wanted = wanted_gradient(model, merged, of_merged, name);
        check_gradient(got, wanted, elements, name);
        free(wanted);
        free(got);
    }
    svit_session_free(session);
    svit_session_free(of_merged);
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
    tcase_add_loop_test(c, test_attention_pooling_is_frozen, 0, 3);
    tcase_add_loop_test(c, test_gradients_follow_from_those_of_the_merged_weight, 0, MODEL_COUNT);
    tcase_add_loop_test(c, test_training_changes_the_adapters_and_the_head_alone, 0, MODEL_COUNT);
    tcase_add_loop_test(c, test_bits_do_not_depend_on_the_number_of_threads, 0, MODEL_COUNT);
    tcase_add_test(c, test_what_is_not_accepted_is_named);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
