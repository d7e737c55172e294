/* Numbers at the edge of float32: what a step makes of them. */
#include "suite.h"

#include <shiftvit/shiftvit.h>

#include <math.h>
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

/* The first step of Adam is the learning rate's size, whatever the gradient's: black pictures
 * through sixteen norms gave gradients of 1e31, whose squares made the second moment infinite. */
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

/* A picture without any contrast: variance zero in every norm at first. */
START_TEST(test_black_pictures_train)
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

static Suite *extremes_suite(void)
{
    Suite *suite = suite_create("extremes");
    TCase *all = tcase_create("step");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, test_adam_steps_by_the_learning_rate_at_any_gradient);
    tcase_add_test(all, test_black_pictures_train);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(extremes_suite)
