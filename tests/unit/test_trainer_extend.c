/* Checks runs that are extended by more epochs, from any of their events on. */
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

static Suite *suite(void)
{
    Suite *all = suite_create("trainer_extend");
    TCase *c = tcase_create("trainer_extend");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_an_extension_may_have_another_patience, 0, 4 * 4);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
