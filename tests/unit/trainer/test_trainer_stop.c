/* A run that the context's stop function ends, at each of its questions: it goes on to the same
 * weights, in the same trainer or from its checkpoint. */
#include "trainer_support.h"

enum { EPOCHS = 2, WANTED = 7, BATCHES = 2, QUESTIONS = EPOCHS * (STEPS + BATCHES) };

static unsigned questions, stop_at;

static int32_t answer(void *user)
{
    (void)user;
    return ++questions == stop_at ? WANTED : 0;
}

static svit_context *plain;

static void setup_stop(void)
{
    svit_context_config config;
    setup();
    plain = context;
    WORKS(svit_context_config_init(&config, sizeof config));
    config.threads = 2;
    config.stop = answer;
    WORKS(svit_context_create(&context, &config, err));
    questions = stop_at = 0;
}

static void teardown_stop(void)
{
    svit_context_free(context);
    context = plain;
    teardown();
}

static plan plan_with_average(void)
{
    plan p = plan_make(EPOCHS);
    p.optimizer.ema = SVIT_EMA_PLAIN;
    return p;
}

static int32_t finish(const svit_trainer_event *event, void *user)
{
    *(int32_t *)user = event->kind;
    return 0;
}

static void check_goes_on(const svit_model *whole, const plan *p, int from_checkpoint)
{
    int32_t last = -1;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, p, validation);
    FAILS(svit_trainer_run(trainer, NULL, NULL, err), SVIT_E_STOPPED,
          "the stop function of the context returned 7 ");
    ck_assert_uint_eq(questions, stop_at);
    ck_assert_int_eq(svit_trainer_stop_value(trainer), WANTED);
    stop_at = 0;
    if (from_checkpoint) {
        plan again = *p;
        again.trainer.existing = SVIT_EXISTING_RESUME;
        svit_trainer_free(trainer);
        svit_model_free(model);
        model = fit_model(context, CLASSES, 2);
        trainer = open_trainer(model, &again, validation);
        WORKS(svit_trainer_resume(trainer, err));
    }
    WORKS(svit_trainer_run(trainer, finish, &last, err));
    ck_assert_int_eq(last, SVIT_EVENT_FINISHED);
    ck_assert_int_eq(svit_trainer_stop_value(trainer), 0);
    ck_assert_uint_eq(svit_trainer_history_count(trainer), EPOCHS);
    ck_assert(fit_same(model, whole));
    svit_trainer_free(trainer);
    svit_model_free(model);
}

START_TEST(test_run_stops_and_goes_on)
{
    plan p = plan_with_average();
    svit_model *whole = train_whole(p, validation);
    ck_assert_uint_eq(questions, QUESTIONS);
    p.trainer.existing = SVIT_EXISTING_OVERWRITE;
    for (unsigned at = 1; at <= QUESTIONS; at++) {
        questions = 0;
        stop_at = at;
        check_goes_on(whole, &p, _i);
    }
    svit_model_free(whole);
}
END_TEST

/* A step that was stopped comes with the next call, a validation begins again, and the weights are
 * not the average meanwhile. */
START_TEST(test_step_begins_a_validation_again)
{
    plan p = plan_with_average();
    svit_model *whole = train_whole(p, validation);
    svit_model *model = fit_model(context, CLASSES, 1);
    p.trainer.folder = NULL;
    svit_trainer *trainer = open_trainer(model, &p, validation);
    svit_trainer_event event;
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        for (int step = 0; step < STEPS; step++) {
            questions = 0;
            stop_at = 1;
            FAILS(svit_trainer_step(trainer, &event, sizeof event, err), SVIT_E_STOPPED,
                  "the stop function of the context returned 7");
            WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
        }
        float *before = fit_weights(model, NULL);
        for (unsigned at = 1; at <= BATCHES; at++) {
            questions = 0;
            stop_at = at;
            FAILS(svit_trainer_step(trainer, &event, sizeof event, err), SVIT_E_STOPPED,
                  "the stop function of the context returned 7");
        }
        size_t elements;
        float *after = fit_weights(model, &elements);
        ck_assert_mem_eq(before, after, elements * sizeof *after);
        free(before);
        free(after);
        stop_at = 0;
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
        ck_assert_int_eq(event.kind, SVIT_EVENT_EPOCH);
    }
    WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    ck_assert_int_eq(event.kind, SVIT_EVENT_FINISHED);
    ck_assert(fit_same(model, whole));
    svit_trainer_free(trainer);
    svit_model_free(model);
    svit_model_free(whole);
}
END_TEST

static Suite *trainer_stop_suite(void)
{
    Suite *suite = suite_create("trainer_stop");
    TCase *all = tcase_create("trainer_stop");
    tcase_add_checked_fixture(all, setup_stop, teardown_stop);
    tcase_add_loop_test(all, test_run_stops_and_goes_on, 0, 2);
    tcase_add_test(all, test_step_begins_a_validation_again);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(trainer_stop_suite)
