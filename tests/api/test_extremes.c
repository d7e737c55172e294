/* Checks what a training step does at the limits of float32. */
#include "fit.h"

#include <shiftvit/shiftvit.h>

#include "base/threads/fp_env.h"

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { CLASSES = 10 };

static svit_context *context;
static svit_model *model;
static svit_session *session;
static svit_optimizer *optimizer;
static svit_error err = {.struct_size = sizeof err};

#define OK(call) ck_assert_msg((call) == SVIT_OK, "%s", err.message)

static void setup(void)
{
    svit_model_config config;
    svit_session_config training;
    OK(svit_context_create(&context, NULL, &err));
    OK(svit_model_config_from_json(
        &config, sizeof config,
        "{\"input_height\":8,\"input_width\":8,\"dim\":12,\"blocks\":[2,2]}", &err));
    OK(svit_model_create(&model, context, &config, 1, &err));
    OK(svit_session_config_init(&training, sizeof training));
    training.max_batch = 2;
    training.mode = SVIT_MODE_TRAIN;
    OK(svit_session_create(&session, model, &training, &err));
    OK(svit_optimizer_create(&optimizer, model, NULL, &err));
}

static void teardown(void)
{
    svit_optimizer_free(optimizer);
    svit_session_free(session);
    svit_model_free(model);
    svit_context_free(context);
}

static const float GRADIENTS[] = {1e31f, -1e31f, 3e38f, 2e19f, 1e-30f, 1e-45f};
enum { GRADIENT_COUNT = sizeof GRADIENTS / sizeof *GRADIENTS };

/* The first step of Adam has the size of the learning rate, whatever the gradient is. Regression:
 * black images through sixteen norms give gradients of 1e31, whose squares make the second moment
 * infinite. */
START_TEST(test_adam_steps_by_the_learning_rate_at_any_gradient)
{
    float gradient[CLASSES] = {0}, before[CLASSES], after[CLASSES];
    memcpy(gradient, GRADIENTS, sizeof GRADIENTS);
    OK(svit_model_get_parameter(model, "head.bias", before, CLASSES, &err));
    OK(svit_session_set_gradient(session, "head.bias", gradient, CLASSES, &err));
    OK(svit_step(optimizer, session, &err));
    OK(svit_model_get_parameter(model, "head.bias", after, CLASSES, &err));
    for (size_t i = 0; i < GRADIENT_COUNT; i++) {
        double step = fabs((double)after[i] - before[i]);
        int large = fabsf(gradient[i]) > 1;
        ck_assert_msg(large ? fabs(step - 1e-3) < 1e-6 : step < 1e-6, "gradient %g: a step of %g",
                      (double)gradient[i], step);
        ck_assert(step == 0 || (after[i] < before[i]) == (gradient[i] > 0));
    }
    for (size_t step = 0; step < 20; step++) {
        for (size_t i = 0; i < CLASSES; i++)
            gradient[i] = step % 2 ? 0.1f : -0.1f;
        OK(svit_session_set_gradient(session, "head.bias", gradient, CLASSES, &err));
        OK(svit_step(optimizer, session, &err));
    }
    OK(svit_model_get_parameter(model, "head.bias", after, CLASSES, &err));
    for (size_t i = 0; i < CLASSES; i++)
        ck_assert_double_lt(fabs(after[i]), 0.1);
}
END_TEST

/* An image without contrast: the variance is zero in every norm at first. */
START_TEST(test_black_images_train)
{
    static float images[2 * 8 * 8 * 3], logits[2 * CLASSES], dlogits[2 * CLASSES];
    const int32_t labels[] = {1, 2};
    float loss;
    for (size_t step = 0; step < 5; step++) {
        OK(svit_forward(session, images, 2, logits, &err));
        OK(svit_cross_entropy(logits, labels, 2, CLASSES, 0, &loss, dlogits, &err));
        ck_assert(isfinite(loss));
        OK(svit_backward(session, dlogits, 2, &err));
        OK(svit_step(optimizer, session, &err));
    }
}
END_TEST

enum { IMAGE = 8 * 8 * 3 };

/* Regression: the status is SVIT_OK while the logits are NaN. */
START_TEST(test_a_forward_that_overflows_names_the_image)
{
    static float images[2 * IMAGE], logits[2 * CLASSES], again[2 * CLASSES], dlogits[2 * CLASSES];
    int32_t mode = _i ? SVIT_MODE_TRAIN : SVIT_MODE_INFER;
    OK(svit_session_set_mode(session, mode, &err));
    OK(svit_forward(session, images, 2, logits, &err));
    uint64_t counter = svit_session_counter(session);
    for (size_t i = 0; i < IMAGE; i++)
        images[IMAGE + i] = i % 2 ? -3e38f : 3e38f;
    ck_assert_int_eq(svit_forward(session, images, 2, again, &err), SVIT_E_NUMERIC);
    ck_assert_msg(strstr(err.message, "image 1 has the logit 0 of ") != NULL, "%s", err.message);
    ck_assert_uint_eq(svit_session_counter(session), counter);
    ck_assert_int_eq(svit_backward(session, dlogits, 2, &err), SVIT_E_STATE);
    memset(images, 0, sizeof images);
    OK(svit_session_set_counter(session, counter - (uint64_t)_i, &err));
    OK(svit_forward(session, images, 2, again, &err));
    ck_assert_mem_eq(logits, again, sizeof logits);
    if (_i)
        OK(svit_backward(session, dlogits, 2, &err));
}
END_TEST

START_TEST(test_an_attention_forward_that_overflows_names_the_image)
{
    static float images[2 * IMAGE], logits[2 * CLASSES], attention[2 * 2 * 4 * 4];
    svit_model_config config;
    svit_session_config infers;
    svit_model *vit = NULL;
    svit_session *own = NULL;
    OK(svit_model_config_from_json(
        &config, sizeof config,
        "{\"architecture\":\"vit\",\"input_height\":8,\"input_width\":8,\"patch_size\":4,"
        "\"dim\":12,\"depth\":1,\"heads\":2,\"head_dim\":6,\"mlp_dim\":16,\"head_units\":[16],"
        "\"num_classes\":10}",
        &err));
    OK(svit_model_create(&vit, context, &config, 1, &err));
    OK(svit_session_config_init(&infers, sizeof infers));
    infers.max_batch = 2;
    OK(svit_session_create(&own, vit, &infers, &err));
    for (size_t i = 0; i < IMAGE; i++)
        images[IMAGE + i] = i % 2 ? -3e38f : 3e38f;
    ck_assert_int_eq(svit_forward_attention(own, images, 2, logits, attention,
                                            sizeof attention / sizeof *attention, &err),
                     SVIT_E_NUMERIC);
    ck_assert_msg(strstr(err.message, "image 1 has the logit 0 of ") != NULL, "%s", err.message);
    OK(svit_forward_attention(own, images, 1, logits, attention,
                              sizeof attention / sizeof *attention / 2, &err));
    svit_session_free(own);
    svit_model_free(vit);
}
END_TEST

enum { MAX_NUMBERS = 20000 };

/* Copies all gradients for dlogits multiplied by `scale`. Scaling by a power of two leaves every
 * rounding as it is. */
static size_t find_gradients(float all[MAX_NUMBERS], float scale)
{
    static float images[2 * 8 * 8 * 3], logits[2 * CLASSES], dlogits[2 * CLASSES];
    for (size_t i = 0; i < sizeof images / sizeof *images; i++)
        images[i] = (float)(i * 37 % 101) / 128;
    for (size_t i = 0; i < 2 * CLASSES; i++)
        dlogits[i] = scale * ((float)i - 9.5f);
    OK(svit_forward(session, images, 2, logits, &err));
    OK(svit_backward(session, dlogits, 2, &err));
    ck_assert_uint_le(svit_model_parameter_elements(model), MAX_NUMBERS);
    return (size_t)(fit_copy_gradients(model, session, all) - all);
}

/* valgrind, for example, does not emulate this */
static bool can_flush(void)
{
    volatile float least = FLT_MIN;
    sv_fp_env before = sv_fp_env_begin();
    least /= 2;
    sv_fp_env_end(before);
    return least == 0;
}

/* A gradient that vanishes becomes zero or stays a normal number, because subnormal numbers slow
 * down every later sum. The program's own arithmetic still has subnormal numbers. */
START_TEST(test_no_gradient_is_below_the_smallest_normal_number)
{
    if (!can_flush()) {
        skip_check("this CPU, or what runs its programs, keeps subnormal numbers");
        return;
    }
    static float gradients[MAX_NUMBERS];
    size_t count = find_gradients(gradients, 0x1p-125f), normal = 0;
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(gradients[i] == 0 || fabsf(gradients[i]) >= FLT_MIN, "gradient %zu is %g", i,
                      (double)gradients[i]);
        normal += gradients[i] != 0;
    }
    ck_assert_uint_gt(normal, 0);
    volatile float least = FLT_MIN;
    ck_assert(least / 2 > 0);
}
END_TEST

/* The rounding mode of the program is neither used, since the workers would not share it, nor
 * changed. */
START_TEST(test_rounding_of_the_program_does_not_matter)
{
    static float nearest[2][MAX_NUMBERS], upward[2][MAX_NUMBERS];
    size_t count = find_gradients(nearest[0], 1);
    OK(svit_step(optimizer, session, &err));
    fit_copy_weights(model, nearest[1]);
    teardown();
    setup();
    ck_assert_int_eq(fesetround(FE_UPWARD), 0);
    find_gradients(upward[0], 1);
    OK(svit_step(optimizer, session, &err));
    int rounding = fegetround();
    fesetround(FE_TONEAREST);
    fit_copy_weights(model, upward[1]);
    ck_assert_int_eq(rounding, FE_UPWARD);
    ck_assert_mem_eq(upward[0], nearest[0], count * sizeof **nearest);
    ck_assert_mem_eq(upward[1], nearest[1], count * sizeof **nearest);
}
END_TEST

static Suite *extremes_suite(void)
{
    Suite *suite = suite_create("extremes");
    TCase *all = tcase_create("step");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, test_adam_steps_by_the_learning_rate_at_any_gradient);
    tcase_add_test(all, test_black_images_train);
    tcase_add_loop_test(all, test_a_forward_that_overflows_names_the_image, 0, 2);
    tcase_add_test(all, test_an_attention_forward_that_overflows_names_the_image);
    tcase_add_test(all, test_no_gradient_is_below_the_smallest_normal_number);
    tcase_add_test(all, test_rounding_of_the_program_does_not_matter);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(extremes_suite)
