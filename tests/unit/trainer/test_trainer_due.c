/* Checks checkpoints that are due and cannot be written. */
#include "trainer_support.h"

#include <sys/stat.h>

#define CHECKPOINT "checkpoint.safetensors"

static int has_checkpoint(void)
{
    return access(fit_path(&folder, CHECKPOINT), F_OK) == 0;
}

/* A checkpoint that is due and cannot be written fails a call before its step: every step has its
 * event, and once the place is free the run has the weights of one that was not disturbed. */
START_TEST(test_a_checkpoint_that_fails_costs_no_step)
{
    plan p = plan_make(1);
    size_t elements;
    svit_trainer_event event;
    svit_model *wanted = train_whole(p, NULL), *model = fit_model(context, CLASSES, 1);
    p.trainer.checkpoint_seconds = 1e-9;
    svit_trainer *trainer = open_trainer(model, &p, NULL);
    for (uint64_t step = 1; step <= STEPS + 1; step++) {
        if (step > 1) {
            unlink(fit_path(&folder, CHECKPOINT));
            ck_assert_int_eq(mkdir(fit_path(&folder, CHECKPOINT), 0700), 0);
            for (int i = 0; i < 2; i++)
                FAILS(svit_trainer_step(trainer, &event, sizeof event, err), SVIT_E_IO, CHECKPOINT);
            ck_assert_int_eq(rmdir(fit_path(&folder, CHECKPOINT)), 0);
        }
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
        ck_assert_int_eq(event.kind, step <= STEPS ? SVIT_EVENT_STEP : SVIT_EVENT_EPOCH);
        ck_assert_uint_eq(event.step, step <= STEPS ? step : STEPS);
        ck_assert_int_eq(has_checkpoint(), step > 1);
    }
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    float *whole = fit_weights(wanted, &elements), *found = fit_weights(model, &elements);
    ck_assert_mem_eq(whole, found, elements * sizeof *found);
    free(whole);
    free(found);
    svit_trainer_free(trainer);
    svit_model_free(model);
    svit_model_free(wanted);
}
END_TEST

/* A run of whole epochs whose first checkpoint cannot be written leaves no file of a run, such as a
 * history, so that the same run begins anew in the folder. */
START_TEST(test_a_first_checkpoint_that_fails_leaves_no_run)
{
    static const char *const FILES[] = {"history.csv", "best.safetensors", "run.json",
                                        "events.out.tfevents.shiftvit"};
    plan p = plan_make(1);
    svit_trainer_event event;
    p.trainer.tensorboard = 1;
    p.trainer.description = "{}";
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    for (int step = 0; step < STEPS; step++)
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    ck_assert_int_eq(mkdir(fit_path(&folder, CHECKPOINT), 0700), 0);
    FAILS(svit_trainer_step(trainer, &event, sizeof event, err), SVIT_E_IO, CHECKPOINT);
    svit_trainer_free(trainer);
    ck_assert_int_eq(rmdir(fit_path(&folder, CHECKPOINT)), 0);
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++)
        ck_assert_msg(access(fit_path(&folder, FILES[i]), F_OK) != 0, "%s is there", FILES[i]);
    p.trainer.existing = SVIT_EXISTING_REFUSE;
    trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    svit_trainer_free(trainer);
    unlink(fit_path(&folder, FILES[3]));
    svit_model_free(model);
}
END_TEST

/* Without validation, weights that no checkpoint can hold are not called a validation's. */
START_TEST(test_a_checkpoint_of_infinite_weights_is_named)
{
    plan p = plan_make(1);
    svit_status status = SVIT_OK;
    svit_error error = {.struct_size = sizeof error};
    svit_trainer_event event;
    p.trainer.batch = SAMPLES;
    p.optimizer.kind = SVIT_OPTIMIZER_SGD;
    p.optimizer.ema = SVIT_EMA_NONE;
    p.optimizer.schedule = SVIT_SCHEDULE_CONSTANT;
    p.optimizer.learning_rate = 3e38;
    p.optimizer.weight_decay = 1e10;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, NULL);
    for (int i = 0; i < 2 && status == SVIT_OK; i++)
        status = svit_trainer_step(trainer, &event, sizeof event, &error);
    ck_assert_int_eq(status, SVIT_E_NUMERIC);
    ck_assert_msg(strncmp(error.message, "epoch 1, checkpoint: an element of ", 35) == 0, "%s",
                  error.message);
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("trainer_due");
    TCase *c = tcase_create("trainer_due");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_a_checkpoint_that_fails_costs_no_step);
    tcase_add_test(c, test_a_first_checkpoint_that_fails_leaves_no_run);
    tcase_add_test(c, test_a_checkpoint_of_infinite_weights_is_named);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
