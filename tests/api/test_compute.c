/* Checks sessions that compute in bfloat16 or int8: their results are near those of float32, and
 * they have the same bits on any number of threads. */
#include "fit.h"

#include <shiftvit/shiftvit.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const MODELS[] = {
    "{\"input_height\":20,\"input_width\":20,\"dim\":48,\"blocks\":[2,2],\"num_div\":6}",
    "{\"input_height\":20,\"input_width\":20,\"dim\":112,\"blocks\":[1,1]}",
    "{\"architecture\":\"vit\",\"input_height\":20,\"input_width\":20,\"patch_size\":4,\"dim\":48,"
    "\"depth\":2,\"heads\":2,\"head_dim\":24,\"mlp_dim\":64,\"head_units\":[32],"
    "\"num_classes\":10,\"tokenizer\":\"spt\",\"attention\":\"lsa\",\"dropout\":0.1,"
    "\"attention_dropout\":0.1,\"head_dropout\":0.1,\"drop_path\":0.1}",
    /* Heads as wide as a token, so that their weights are folded. */
    "{\"architecture\":\"vit\",\"input_height\":20,\"input_width\":20,\"patch_size\":4,\"dim\":48,"
    "\"depth\":2,\"heads\":2,\"head_dim\":48,\"mlp_dim\":64,\"head_units\":[32],"
    "\"num_classes\":10,\"dropout\":0.1,\"attention_dropout\":0.1,\"head_dropout\":0.1}",
    "{\"architecture\":\"mixer\",\"input_height\":20,\"input_width\":20,\"patch_size\":4,"
    "\"dim\":48,\"depth\":2,\"token_mlp_dim\":33,\"mlp_dim\":96,\"num_classes\":10,"
    "\"dropout\":0.1,\"drop_path\":0.1}",
};
enum {
    MODEL_COUNT = sizeof MODELS / sizeof *MODELS,
    BATCH = 24,
    CLASSES = 10,
    PIXELS = 20 * 20 * 3
};

#define OK(call) ck_assert_msg((call) == SVIT_OK, "%s", err.message)

/* The results of one training forward and backward. */
typedef struct result {
    float logits[BATCH * CLASSES];
    float *gradients;
    size_t count;
} result;

static void read_gradients(result *of, const svit_model *model, const svit_session *session)
{
    of->count = (size_t)svit_model_parameter_elements(model);
    of->gradients = malloc(of->count * sizeof(float));
    fit_copy_gradients(model, session, of->gradients);
}

static svit_session *open_session(svit_model *model, int32_t compute, int32_t mode)
{
    svit_error err = {.struct_size = sizeof err};
    svit_session *session = NULL;
    svit_session_config config;
    OK(svit_session_config_init(&config, sizeof config));
    config.max_batch = BATCH;
    config.mode = mode;
    config.compute = compute;
    OK(svit_session_create(&session, model, &config, &err));
    return session;
}

static svit_model *open_model(const char *json, uint32_t threads)
{
    svit_error err = {.struct_size = sizeof err};
    svit_context *context = NULL;
    svit_context_config context_config;
    svit_model *model = NULL;
    svit_model_config config;
    OK(svit_context_config_init(&context_config, sizeof context_config));
    context_config.threads = threads;
    OK(svit_context_create(&context, &context_config, &err));
    OK(svit_model_config_from_json(&config, sizeof config, json, &err));
    OK(svit_model_create(&model, context, &config, 4, &err));
    svit_context_free(context);
    return model;
}

static const float *images(void)
{
    static float pixels[BATCH * PIXELS];
    uint32_t state = 12345;
    for (size_t i = 0; i < sizeof pixels / sizeof *pixels; i++) {
        state = state * 1664525u + 1013904223u;
        pixels[i] = (float)(state >> 8) / 16777216.0f;
    }
    return pixels;
}

static result compute_with(const char *json, int32_t compute, uint32_t threads)
{
    result of;
    int32_t labels[BATCH];
    float dlogits[BATCH * CLASSES], loss;
    svit_error err = {.struct_size = sizeof err};
    svit_model *model = open_model(json, threads);
    svit_session *session = open_session(model, compute, SVIT_MODE_TRAIN);
    for (size_t i = 0; i < BATCH; i++)
        labels[i] = (int32_t)(i % CLASSES);
    OK(svit_forward(session, images(), BATCH, of.logits, &err));
    OK(svit_cross_entropy(of.logits, labels, BATCH, CLASSES, 0, &loss, dlogits, &err));
    OK(svit_backward(session, dlogits, BATCH, &err));
    read_gradients(&of, model, session);
    svit_session_free(session);
    svit_model_free(model);
    return of;
}

/* |a - b| / |b| */
static double distance(const float *a, const float *b, size_t count)
{
    double sum = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        sum += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        size += (double)b[i] * b[i];
    }
    return sqrt(sum / size);
}

/* Rounding to bfloat16 is off by at most 2^-8 of a value. The many roundings of a few layers stay
 * within a few times this. If the distance is 0, the session has computed in float32. */
START_TEST(test_bfloat16_is_near_float32)
{
    result exact = compute_with(MODELS[_i], SVIT_COMPUTE_F32, 2);
    result rounded = compute_with(MODELS[_i], SVIT_COMPUTE_BF16, 2);
    double logits = distance(rounded.logits, exact.logits, BATCH * CLASSES);
    double gradients = distance(rounded.gradients, exact.gradients, exact.count);
    ck_assert_msg(logits > 1e-5 && logits < 0x1p-6, "logits differ by %g", logits);
    ck_assert_msg(gradients > 1e-5 && gradients < 0x1p-5, "gradients differ by %g", gradients);
    free(exact.gradients);
    free(rounded.gradients);
}
END_TEST

START_TEST(test_bfloat16_gives_the_same_bits_on_any_number_of_threads)
{
    static const uint32_t threads[] = {2, 3, 8};
    result one = compute_with(MODELS[_i], SVIT_COMPUTE_BF16, 1);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        result many = compute_with(MODELS[_i], SVIT_COMPUTE_BF16, threads[i]);
        ck_assert_mem_eq(many.logits, one.logits, sizeof one.logits);
        ck_assert_mem_eq(many.gradients, one.gradients, one.count * sizeof(float));
        free(many.gradients);
    }
    free(one.gradients);
}
END_TEST

/* Inference with int8 weights: each weight is off by at most 1/254 of the largest one of its output
 * channel. */
START_TEST(test_int8_is_near_float32)
{
    float exact[BATCH * CLASSES], rounded[BATCH * CLASSES];
    svit_error err = {.struct_size = sizeof err};
    svit_model *model = open_model(MODELS[_i], 2);
    svit_session *whole = open_session(model, SVIT_COMPUTE_F32, SVIT_MODE_INFER);
    svit_session *bytes = open_session(model, SVIT_COMPUTE_INT8, SVIT_MODE_INFER);
    OK(svit_forward(whole, images(), BATCH, exact, &err));
    OK(svit_forward(bytes, images(), BATCH, rounded, &err));
    double logits = distance(rounded, exact, BATCH * CLASSES);
    ck_assert_msg(logits > 1e-5 && logits < 0.03, "logits differ by %g", logits);
    svit_session_free(whole);
    svit_session_free(bytes);
    svit_model_free(model);
}
END_TEST

static Suite *compute_suite(void)
{
    Suite *suite = suite_create("compute");
    TCase *all = tcase_create("types");
    tcase_add_loop_test(all, test_bfloat16_is_near_float32, 0, MODEL_COUNT);
    tcase_add_loop_test(all, test_bfloat16_gives_the_same_bits_on_any_number_of_threads, 0,
                        MODEL_COUNT);
    tcase_add_loop_test(all, test_int8_is_near_float32, 0, MODEL_COUNT);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(compute_suite)
