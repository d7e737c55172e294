/* Trainings and evaluations run on the context of their argument, with the same bits, and on that
 * of the model where the two compute differently. */
#include "trainer_support.h"

#include "context/context.h"

static char warned[256];

static void take_log(void *user, int32_t level, const char *message)
{
    (void)user;
    if (level == SVIT_LOG_WARNING)
        snprintf(warned, sizeof warned, "%s", message);
}

/* Counts its calls in *user. */
static void host_counting(void *user, size_t count, svit_task_function task, void *task_user)
{
    ++*(unsigned *)user;
    for (size_t i = 0; i < count; i++)
        task(task_user, i);
}

static svit_context *counting_context(unsigned *calls)
{
    svit_context_config config;
    svit_context *made = NULL;
    WORKS(svit_context_config_init(&config, sizeof config));
    config.threads = 2;
    config.parallel_for = host_counting;
    config.parallel_for_user = calls;
    config.log = take_log;
    WORKS(svit_context_create(&made, &config, err));
    return made;
}

/* The contexts of the model and of the calls, and how often tasks ran on each. */
static svit_context *of_model, *of_call;
static unsigned on_model, on_call;
static svit_model *model;

static void setup_contexts(void)
{
    setup();
    of_model = counting_context(&on_model);
    of_call = counting_context(&on_call);
    model = fit_model(of_model, CLASSES, 1);
    on_model = on_call = 0;
    warned[0] = '\0';
}

static void teardown_contexts(void)
{
    svit_model_free(model);
    svit_context_free(of_call);
    svit_context_free(of_model);
    teardown();
}

static plan plan_on_disk(void)
{
    plan p = plan_make(2);
    p.optimizer.ema = SVIT_EMA_PLAIN;
    p.optimizer.ema_momentum = 0.9;
    p.optimizer.clip_norm = 1;
    return p;
}

static svit_trainer *create(const plan *p, svit_model *of)
{
    svit_trainer *trainer = NULL;
    WORKS(svit_trainer_create(&trainer, of_call, of, training, validation, &p->trainer,
                              &p->optimizer, &p->pipeline, err));
    return trainer;
}

/* Runs the first epoch, goes on from its checkpoint in another trainer, and compares with a run
 * that the context of the data has done alone. */
static void check_training(void)
{
    plan p = plan_on_disk();
    svit_model *whole = train_whole(p, validation);
    svit_trainer *trainer = create(&p, model);
    svit_trainer_event event = {0};
    while (event.kind != SVIT_EVENT_EPOCH)
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    svit_trainer_free(trainer);
    p.trainer.existing = SVIT_EXISTING_RESUME;
    trainer = create(&p, model);
    WORKS(svit_trainer_resume(trainer, err));
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    ck_assert(fit_same(model, whole));
    svit_trainer_free(trainer);
    svit_model_free(whole);
}

START_TEST(test_training_runs_on_its_context)
{
    check_training();
    ck_assert_uint_gt(on_call, 0);
    ck_assert_uint_eq(on_model, 0);
    ck_assert_str_eq(warned, "");
}
END_TEST

START_TEST(test_training_runs_on_the_context_of_the_model_where_they_differ)
{
    of_call->isa = of_call->isa == SV_ISA_BASELINE ? SV_ISA_BASELINE + 1 : SV_ISA_BASELINE;
    check_training();
    ck_assert_uint_eq(on_call, 0);
    ck_assert_uint_gt(on_model, 0);
    ck_assert_msg(strstr(warned, "the model runs on its own") != NULL, "%s", warned);
}
END_TEST

static void evaluate(svit_context *on, double *loss, float *logits)
{
    const plan p = plan_make(1);
    WORKS(svit_evaluate(on, model, validation, &p.pipeline, BATCH, loss, NULL, NULL, err));
    WORKS(svit_evaluate_logits(on, model, validation, &p.pipeline, BATCH, SVIT_COMPUTE_F32,
                               SVIT_TTA_FLIP, logits, NULL, err));
}

START_TEST(test_evaluation_runs_on_its_context)
{
    double loss, wanted_loss;
    float logits[VALIDATION * CLASSES], wanted[VALIDATION * CLASSES];
    evaluate(of_call, &loss, logits);
    ck_assert_uint_gt(on_call, 0);
    ck_assert_uint_eq(on_model, 0);
    evaluate(of_model, &wanted_loss, wanted);
    ck_assert_double_eq(loss, wanted_loss);
    ck_assert_mem_eq(logits, wanted, sizeof wanted);
    ck_assert_str_eq(warned, "");
    on_call = on_model = 0;
    of_call->isa = of_call->isa == SV_ISA_BASELINE ? SV_ISA_BASELINE + 1 : SV_ISA_BASELINE;
    evaluate(of_call, &loss, logits);
    ck_assert_uint_eq(on_call, 0);
    ck_assert_uint_gt(on_model, 0);
    ck_assert_double_eq(loss, wanted_loss);
    ck_assert_msg(strstr(warned, "the model runs on its own") != NULL, "%s", warned);
}
END_TEST

static Suite *trainer_context_suite(void)
{
    Suite *suite = suite_create("trainer_context");
    TCase *all = tcase_create("trainer_context");
    tcase_add_checked_fixture(all, setup_contexts, teardown_contexts);
    tcase_add_test(all, test_training_runs_on_its_context);
    tcase_add_test(all, test_training_runs_on_the_context_of_the_model_where_they_differ);
    tcase_add_test(all, test_evaluation_runs_on_its_context);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(trainer_context_suite)
