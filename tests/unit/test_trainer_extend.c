/* Checks runs that are extended by more epochs, from any of their events on. */
#include "checkpoint_edit.h"
#include "test_trainer_support.h"

#include <math.h>

/* Opens a trainer that goes on with the run of the folder. */
static svit_trainer *resume_run(svit_model *model, plan p, svit_dataset *with)
{
    p.trainer.existing = SVIT_EXISTING_RESUME;
    svit_trainer *trainer = open_trainer(model, &p, with);
    WORKS(svit_trainer_resume(trainer, err));
    return trainer;
}

/* Without a learning rate the first epoch stays the best. The new patience counts from the next end of an epoch on,
 * also where more epochs have passed since the best one. */
START_TEST(test_an_extension_may_have_another_patience)
{
    enum { OLD = 4, ALL = 7 };
    const uint32_t before = (uint32_t)_i / 4, after = (uint32_t)_i % 4;
    plan p = plan_make(OLD);
    p.optimizer.schedule = SVIT_SCHEDULE_CONSTANT;
    p.optimizer.learning_rate = 0;
    p.trainer.patience = before;
    const uint32_t first = before > 0 && before + 1 < OLD ? before + 1 : OLD;
    for (uint32_t events = 1; events <= first * (STEPS + 1); events++) {
        leave_checkpoint(p, validation, (int)events);
        plan longer = p;
        longer.trainer.epochs = ALL;
        longer.trainer.patience = after;
        svit_model *model = fit_model(context, CLASSES, 9);
        svit_trainer *trainer = resume_run(model, longer, validation);
        WORKS(svit_trainer_run(trainer, NULL, NULL, err));
        /* The epochs that have an end: those that are done, and the one that has begun. */
        uint32_t rows = (events + STEPS) / (STEPS + 1);
        rows = after == 0 ? ALL : rows < after + 1 ? after + 1 : rows;
        ck_assert_msg(svit_trainer_history_count(trainer) == rows,
                      "patience %u, then %u, after event %u: %zu epochs, not %u", before, after,
                      events, svit_trainer_history_count(trainer), rows);
        svit_trainer_free(trainer);
        svit_model_free(model);
    }
}
END_TEST

/* The schedules that have a length. */
static const int32_t LONG[] = {SVIT_SCHEDULE_WARMUP_COSINE, SVIT_SCHEDULE_LINEAR,
                               SVIT_SCHEDULE_ONE_CYCLE, SVIT_SCHEDULE_PIECEWISE};
enum { LONG_COUNT = sizeof LONG / sizeof *LONG };

/* A run whose length and warm-up were given keeps both, if it is extended without them; a run that is only resumed
 * needs the same settings. The extension is a run as any other, which is resumed and extended again. */
START_TEST(test_an_extension_keeps_a_length_that_was_given)
{
    enum { OLD = 2, ALL = 4, TOTAL = 11, WARMUP = 3 };
    plan p = plan_make(OLD), later;
    p.optimizer.schedule = LONG[_i];
    p.optimizer.total_steps = TOTAL;
    p.optimizer.warmup_steps = WARMUP;
    p.optimizer.point_count = 2;
    p.optimizer.points[0] = (svit_schedule_point){0, 1};
    p.optimizer.points[1] = (svit_schedule_point){1, 0.25};
    for (int events = 1; events <= OLD * (STEPS + 1); events++) {
        leave_checkpoint(p, validation, events);
        later = p;
        later.optimizer.total_steps = later.optimizer.warmup_steps = 0;
        later.trainer.existing = SVIT_EXISTING_RESUME;
        svit_model *model = fit_model(context, CLASSES, 9);
        svit_trainer *trainer = open_trainer(model, &later, validation);
        FAILS(svit_trainer_resume(trainer, err), SVIT_E_ARGUMENT,
              "warmup_steps is 3 in the checkpoint");
        svit_trainer_free(trainer);
        svit_trainer_event event;
        for (uint32_t epochs = OLD + 1; epochs <= ALL; epochs++) {
            later.trainer.epochs = epochs;
            trainer = resume_run(model, later, validation);
            do {
                double rate;
                WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
                const uint64_t steps = svit_optimizer_steps(svit_trainer_optimizer(trainer));
                WORKS(svit_learning_rate(&p.optimizer, steps - 1, &rate, err));
                ck_assert_double_eq(event.learning_rate, rate);
            } while (event.kind != SVIT_EVENT_FINISHED);
            svit_trainer_free(trainer);
        }
        later.trainer.epochs++;
        later.trainer.schedule_anew = 1;
        trainer = resume_run(model, later, validation);
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
        ck_assert_double_gt(event.learning_rate, 0);
        svit_trainer_free(trainer);
        svit_model_free(model);
    }
}
END_TEST

/* Without a length, or with more warm-up than steps, a checkpoint is damaged. */
START_TEST(test_a_given_length_that_cannot_be_is_refused)
{
    static const struct {
        const char *key, *value;
    } cases[] = {{"total_steps", "0"},
                 {"total_steps", "2"},
                 {"warmup_steps", "12"},
                 {"total_steps", "x"},
                 {"warmup_steps", ""}};
    plan p = plan_make(2);
    p.optimizer.schedule = SVIT_SCHEDULE_LINEAR;
    p.optimizer.total_steps = 11;
    p.optimizer.warmup_steps = 3;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char key[64];
        plan later = p;
        leave_checkpoint(p, validation, 2);
        snprintf(key, sizeof key, "trainer.optimizer.%s", cases[i].key);
        checkpoint_edit(fit_path(&folder, "checkpoint.safetensors"), key, 0, cases[i].value);
        later.optimizer.total_steps = later.optimizer.warmup_steps = 0;
        later.trainer.epochs = 3;
        later.trainer.existing = SVIT_EXISTING_RESUME;
        svit_model *model = fit_model(context, CLASSES, 9);
        svit_trainer *trainer = open_trainer(model, &later, validation);
        FAILS(svit_trainer_resume(trainer, err), SVIT_E_FORMAT, "trainer.optimizer.");
        svit_trainer_free(trainer);
        svit_model_free(model);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("trainer_extend");
    TCase *c = tcase_create("trainer_extend");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_an_extension_may_have_another_patience, 0, 4 * 4);
    tcase_add_loop_test(c, test_an_extension_keeps_a_length_that_was_given, 0, LONG_COUNT);
    tcase_add_test(c, test_a_given_length_that_cannot_be_is_refused);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
