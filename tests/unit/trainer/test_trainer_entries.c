/* Entries of a checkpoint that older libraries did not write, that belong to one kind of run alone,
 * or whose numbers no run can produce: each is refused by its name, or the run goes on to the same
 * bits. */
#include "trainer_support.h"

#include "checkpoint_edit.h"

#include <math.h>

enum { EPOCHS = 3, DIGITS = 16, COLUMNS = 12 };
#define STATE "trainer.state."
#define NAN_BITS "7ff8000000000000"
#define INFINITE_BITS "7ff0000000000000"
#define MINUS_ONE_BITS "bff0000000000000"
#define TWO_BITS "4000000000000000"

static const char *checkpoint_path(void)
{
    return fit_path(&folder, "checkpoint.safetensors");
}

static plan entries_plan(void)
{
    plan p = plan_make(EPOCHS);
    p.trainer.existing = SVIT_EXISTING_OVERWRITE;
    p.optimizer.schedule = SVIT_SCHEDULE_WARMUP_COSINE;
    return p;
}

/* Resumes and trains to the end, if the resume succeeds; *out has the model then. */
static svit_status finish(const plan *p, svit_dataset *with, svit_model **out, svit_error *why)
{
    plan own = *p;
    own.trainer.existing = SVIT_EXISTING_RESUME;
    *out = fit_model(context, CLASSES, 9);
    svit_trainer *trainer = open_trainer(*out, &own, with);
    const svit_status status = svit_trainer_resume(trainer, why);
    if (status == SVIT_OK)
        WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    svit_trainer_free(trainer);
    return status;
}

/* The checkpoint as it is resumes to the whole run's bits; as a test has changed it, to `part`, or
 * NULL to those bits, too. */
static void check_resume(const plan *p, svit_dataset *with, const svit_model *whole,
                         svit_status wanted, const char *part)
{
    svit_error err = {.struct_size = sizeof err};
    svit_model *model;
    const svit_status status = finish(p, with, &model, &err);
    if (part)
        ck_assert_msg(status == wanted && strstr(err.message, part), "%d: %s (not %d: %s)",
                      (int)status, err.message, (int)wanted, part);
    else
        ck_assert_msg(status == SVIT_OK && fit_same(model, whole), "%d: %s", (int)status,
                      err.message);
    svit_model_free(model);
}

START_TEST(test_entries_of_the_schedule)
{
    static const struct {
        const char *key, *value; /* NULL: the entry is missing */
        svit_status status;
        const char *part; /* NULL: the run goes on */
    } cases[] = {
        {"trainer.optimizer.schedule", "x", SVIT_E_FORMAT, "'x'; it is a whole number"},
        {"trainer.optimizer.schedule", NULL, SVIT_E_FORMAT, "''; it is a whole number"},
        {"trainer.optimizer.schedule", "0", SVIT_E_ARGUMENT, "schedule"},
        {"trainer.schedule_epochs", "0", SVIT_OK, NULL}, /* the length was given */
        {"trainer.schedule_epochs", "4", SVIT_E_FORMAT, "is 4; it must be in 0..3"},
        {"trainer.schedule_epochs", "-1", SVIT_E_FORMAT, "'-1'; it is a whole number"},
        {"trainer.schedule_epochs", "", SVIT_E_FORMAT, "''; it is a whole number"},
        {"trainer.schedule_epochs", NULL, SVIT_OK, NULL},
        {"trainer.epochs", "x", SVIT_E_FORMAT, "'x'; it is a whole number"},
        {"trainer.epochs", "18446744073709551616", SVIT_E_FORMAT, "it is a whole number"},
        {"trainer.epochs", NULL, SVIT_E_FORMAT, "trainer.epochs"},
    };
    const plan p = entries_plan();
    svit_model *whole = train_whole(p, validation);
    leave_checkpoint(p, validation, STEPS + 2);
    size_t bytes;
    char *sound = fit_read(checkpoint_path(), &bytes);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fit_write(checkpoint_path(), sound, bytes);
        if (cases[i].value) {
            checkpoint_edit(checkpoint_path(), cases[i].key, 0, cases[i].value);
        } else {
            char other[64];
            snprintf(other, sizeof other, "%s", cases[i].key);
            other[strlen(other) - 1] = '_';
            checkpoint_rename(checkpoint_path(), cases[i].key, other);
        }
        check_resume(&p, validation, whole, cases[i].status, cases[i].part);
    }
    free(sound);
    svit_model_free(whole);
}
END_TEST

/* Each number of the history as each of these: refused, or one that a run may have. */
START_TEST(test_each_number_of_the_history)
{
    static const char *const values[] = {NAN_BITS, INFINITE_BITS,      MINUS_ONE_BITS,
                                         TWO_BITS, "fff0000000000000", "0000000000000000"};
    /* Columns in which 2 is an amount: the losses, and rates and seconds. */
    static const bool amounts[COLUMNS] = {true, false, false, true, false, false,
                                          true, true,  true,  true, false, true};
    svit_dataset *with = _i ? validation : NULL;
    const plan p = entries_plan();
    svit_model *whole = train_whole(p, with);
    leave_checkpoint(p, with, STEPS + 1);
    size_t bytes;
    char *sound = fit_read(checkpoint_path(), &bytes);
    int refused = 0;
    for (size_t column = 0; column < COLUMNS; column++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            svit_error err = {.struct_size = sizeof err};
            svit_model *model;
            fit_write(checkpoint_path(), sound, bytes);
            /* From its second digit on, since 0 would replace the whole entry. */
            if (column > 0)
                checkpoint_edit(checkpoint_path(), "trainer.history", column * DIGITS, values[v]);
            else
                checkpoint_edit(checkpoint_path(), "trainer.history", 1, values[v] + 1);
            const svit_status status = finish(&p, with, &model, &err);
            if (status == SVIT_OK) {
                ck_assert_msg(amounts[column] || v == 5 || (!with && column < 6 && v == 0),
                              "column %zu is %s", column, values[v]);
                ck_assert_msg(fit_same(model, whole), "column %zu is %s: other weights", column,
                              values[v]);
            } else {
                ck_assert_msg(status == SVIT_E_FORMAT && (strstr(err.message, "trainer.history") ||
                                                          strstr(err.message, STATE "best")),
                              "column %zu is %s: %s", column, values[v], err.message);
                refused++;
            }
            svit_model_free(model);
        }
    ck_assert_msg(refused >= COLUMNS * 3, "%d are refused", refused);
    free(sound);
    svit_model_free(whole);
}
END_TEST

/* At an epoch's end no sample has been counted, so that there is no loss. */
START_TEST(test_sums_of_no_samples)
{
    const plan p = entries_plan();
    svit_model *whole = train_whole(p, validation);
    leave_checkpoint(p, validation, STEPS + 1);
    check_resume(&p, validation, whole, SVIT_OK, NULL);
    leave_checkpoint(p, validation, STEPS + 1);
    checkpoint_edit(checkpoint_path(), STATE "train.loss", 0, TWO_BITS);
    check_resume(&p, validation, whole, SVIT_E_FORMAT, "train.loss' is 2, which no run");
    svit_model_free(whole);
}
END_TEST

/* Without a learning rate the first epoch stays the best, so that patience ends the run behind the
 * second. A step after that would have samples. */
START_TEST(test_patience_ends_a_resumed_run_and_a_step_has_samples)
{
    plan p = entries_plan();
    svit_trainer_event event;
    p.optimizer.schedule = SVIT_SCHEDULE_CONSTANT;
    p.optimizer.learning_rate = 0;
    p.trainer.patience = 1;
    leave_checkpoint(p, validation, 2 * (STEPS + 1));
    p.trainer.existing = SVIT_EXISTING_RESUME;
    svit_model *model = fit_model(context, CLASSES, 9);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_resume(trainer, err));
    WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    ck_assert_int_eq(event.kind, SVIT_EVENT_FINISHED);
    ck_assert_int_eq(event.stopped_early, 1);
    ck_assert_uint_eq(event.epoch, 2);
    svit_trainer_free(trainer);
    svit_model_free(model);
    checkpoint_edit(checkpoint_path(), STATE "position", 0, "1");
    check_resume(&p, validation, NULL, SVIT_E_FORMAT, STATE "train.samples");
}
END_TEST

/* A checkpoint of library 0.1 has no text of what it had no settings for. */
START_TEST(test_a_checkpoint_without_an_objective)
{
    plan p = entries_plan();
    svit_model *whole = train_whole(p, validation);
    leave_checkpoint(p, validation, STEPS + 2);
    checkpoint_rename(checkpoint_path(), "trainer.objective", "trainer.objectivx");
    check_resume(&p, validation, whole, SVIT_OK, NULL);
    leave_checkpoint(p, validation, STEPS + 2);
    checkpoint_rename(checkpoint_path(), "trainer.objective", "trainer.objectivx");
    p.trainer.tta = SVIT_TTA_FLIP;
    check_resume(&p, validation, whole, SVIT_E_ARGUMENT,
                 "the checkpoint's run has 'loss cross-entropy, sampling shuffle, tta none, class "
                 "weights', this one 'loss cross-entropy, sampling shuffle, tta flip, class");
    svit_model_free(whole);
}
END_TEST

START_TEST(test_a_window_is_part_of_the_run)
{
    plan p = entries_plan();
    p.trainer.shuffle_window = 5;
    svit_model *whole = train_whole(p, validation);
    leave_checkpoint(p, validation, STEPS + 2);
    check_resume(&p, validation, whole, SVIT_OK, NULL);
    leave_checkpoint(p, validation, STEPS + 2);
    p.trainer.shuffle_window = 6;
    check_resume(&p, validation, whole, SVIT_E_ARGUMENT, ", shuffle window 5', this one");
    svit_model_free(whole);
}
END_TEST

/* Their periods are settings that count. */
START_TEST(test_schedules_with_periods_are_resumed)
{
    plan p = entries_plan();
    p.optimizer.schedule = _i ? SVIT_SCHEDULE_STEP : SVIT_SCHEDULE_COSINE_RESTARTS;
    p.optimizer.step_size = p.optimizer.restart_steps = 4;
    p.optimizer.step_factor = 0.5;
    svit_model *whole = train_whole(p, validation);
    leave_checkpoint(p, validation, STEPS + 2);
    check_resume(&p, validation, whole, SVIT_OK, NULL);
    leave_checkpoint(p, validation, STEPS + 2);
    p.optimizer.step_size = p.optimizer.restart_steps = 5;
    check_resume(&p, validation, whole, SVIT_E_ARGUMENT,
                 _i ? "'step_size' is 4 in the checkpoint and 5 here"
                    : "'restart_steps' is 4 in the checkpoint and 5 here");
    svit_model_free(whole);
}
END_TEST

/* The whole run is less than a batch, and its schedule has one step. */
START_TEST(test_a_run_of_less_than_a_batch)
{
    plan p = entries_plan();
    p.trainer.epochs = 1;
    p.trainer.batch = 4 * SAMPLES;
    p.optimizer.schedule = SVIT_SCHEDULE_LINEAR;
    p.optimizer.warmup_steps = 0;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, NULL);
    svit_optimizer_config config = p.optimizer;
    svit_trainer_event event;
    double rate;
    WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    config.total_steps = 1;
    WORKS(svit_learning_rate(&config, 0, &rate, err));
    ck_assert_double_eq(event.learning_rate, rate);
    ck_assert_double_gt(rate, 0);
    WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    ck_assert_int_eq(event.kind, SVIT_EVENT_EPOCH);
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

/* The message says how far the run in the folder is, if its checkpoint says so. */
START_TEST(test_a_folder_with_a_run_is_named)
{
    plan p = entries_plan();
    leave_checkpoint(p, validation, STEPS + 1);
    p.trainer.existing = SVIT_EXISTING_REFUSE;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = NULL;
    FAILS(svit_trainer_create(&trainer, context, model, training, validation, &p.trainer,
                              &p.optimizer, &p.pipeline, err),
          SVIT_E_STATE, "(checkpoint.safetensors, 1 epochs done)");
    checkpoint_rename(checkpoint_path(), STATE "epoch", STATE "epocx");
    FAILS(svit_trainer_create(&trainer, context, model, training, validation, &p.trainer,
                              &p.optimizer, &p.pipeline, err),
          SVIT_E_STATE, "(checkpoint.safetensors)");
    svit_model_free(model);
}
END_TEST

static svit_model *adapted(uint64_t seed)
{
    static const char CONFIG[] =
        "{\"architecture\":\"vit\",\"input_height\":8,\"input_width\":8,\"patch_size\":4,\"dim\":8,"
        "\"depth\":2,\"heads\":2,\"head_dim\":4,\"mlp_dim\":16,\"head_units\":[],\"num_classes\":"
        "3}";
    svit_model *model = NULL;
    svit_model_config config;
    WORKS(svit_model_config_from_json(&config, sizeof config, CONFIG, err));
    WORKS(svit_model_create(&model, context, &config, seed, err));
    WORKS(svit_model_add_lora(model, 2, 2, seed, err));
    return model;
}

/* The best weights of a model with adapters are a checkpoint, from which they come back. */
START_TEST(test_the_best_adapters_are_resumed)
{
    plan p = entries_plan();
    p.trainer.keep = SVIT_KEEP_BEST;
    svit_model *whole = adapted(1), *model = adapted(1), *late = adapted(1);
    svit_trainer_event event;
    svit_trainer *trainer = open_trainer(model, &p, validation);
    for (int i = 0; i < 2 * (STEPS + 1); i++)
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    WORKS(svit_trainer_checkpoint(trainer, err));
    svit_trainer_free(trainer);
    p.trainer.existing = SVIT_EXISTING_RESUME;
    trainer = open_trainer(late, &p, validation);
    WORKS(svit_trainer_resume(trainer, err));
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    svit_trainer_free(trainer);
    p.trainer.folder = NULL;
    p.trainer.existing = SVIT_EXISTING_REFUSE;
    trainer = open_trainer(whole, &p, validation);
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    svit_trainer_free(trainer);
    ck_assert(fit_same(late, whole));
    svit_checkpoint *best = NULL;
    WORKS(svit_checkpoint_open(&best, context, fit_path(&folder, "best.safetensors"), err));
    svit_checkpoint_free(best);
    svit_model_free(late);
    svit_model_free(model);
    svit_model_free(whole);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("trainer_entries");
    TCase *c = tcase_create("trainer_entries");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_entries_of_the_schedule);
    tcase_add_loop_test(c, test_each_number_of_the_history, 0, 2);
    tcase_add_test(c, test_sums_of_no_samples);
    tcase_add_test(c, test_patience_ends_a_resumed_run_and_a_step_has_samples);
    tcase_add_test(c, test_a_checkpoint_without_an_objective);
    tcase_add_test(c, test_a_window_is_part_of_the_run);
    tcase_add_loop_test(c, test_schedules_with_periods_are_resumed, 0, 2);
    tcase_add_test(c, test_a_run_of_less_than_a_batch);
    tcase_add_test(c, test_a_folder_with_a_run_is_named);
    tcase_add_test(c, test_the_best_adapters_are_resumed);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
