/* Checks that a damaged checkpoint is refused, that the message names the damaged entry, and that
 * the trainer does not change: it then resumes exactly from a good checkpoint. Regression: `waited`
 * without an epoch ends the process. */
#include "trainer_support.h"

#include "checkpoint_edit.h"

enum { EPOCHS = 3, DIGITS = 16, ROW = 12 * DIGITS };
#define NAN_BITS "7ff8000000000000"
#define INFINITE_BITS "7ff0000000000000"
#define TWO_BITS "4000000000000000"
#define MINUS_ONE_BITS "bff0000000000000"
#define STATE "trainer.state."

typedef struct damage {
    const char *key;
    size_t from; /* 0: the whole value is replaced */
    const char *value;
    const char *part; /* part of the message; NULL: the key */
} damage;

/* Damages of a run at step 1 of epoch 3; its epochs, steps and samples are 3, 3 and 22. */
static const damage DAMAGES[] = {
    {STATE "epoch", 0, "4", NULL},
    {STATE "epoch", 0, "1", STATE "rows"},
    {STATE "epoch", 0, "18446744073709551615", NULL},
    {STATE "epoch", 0, "18446744073709551616", NULL},
    {STATE "epoch", 0, "-1", NULL},
    {STATE "epoch", 0, " 2", NULL},
    {STATE "epoch", 0, "", NULL},
    {STATE "epoch", 0, "2x", NULL},
    {STATE "rows", 0, "1", NULL},
    {STATE "rows", 0, "3", NULL},
    {STATE "position", 0, "4", NULL},
    {STATE "position", 0, "0", STATE "train.samples"},
    {STATE "best_epoch", 0, "0", NULL},
    {STATE "best_epoch", 0, "3", NULL},
    {STATE "waited", 0, "3", NULL},
    {STATE "waited", 0, "5", NULL},
    {STATE "best_top1", 0, NAN_BITS, NULL},
    {STATE "best_top1", 0, TWO_BITS, NULL},
    {STATE "best_top1", 0, "3ff", NULL},
    {STATE "best_top1", 0, "3FF0000000000000", NULL},
    {STATE "train.samples", 0, "7", NULL},
    {STATE "train.samples", 0, "16", NULL},
    {STATE "train.top5", 0, "9", NULL},
    {STATE "train.top1", 0, "9", NULL},
    {STATE "train.loss", 0, NAN_BITS, NULL},
    {STATE "train.loss", 0, INFINITE_BITS, NULL},
    {STATE "early", 0, "1", NULL},
    {STATE "early", 0, "x", NULL},
    {"svit.optimizer.steps", 0, "6", "optimizer.steps"},
    {"svit.optimizer.swapped", 0, "1", "optimizer.swapped"},
    {"svit.session.counter", 0, "8", "session.counter"},
    {"trainer.history", 0, "", "does not have 2 epochs"},
    {"trainer.history", ROW, "g", "damaged at epoch 2"},
    {"trainer.history", DIGITS, NAN_BITS, "epoch 1 that no run"},
    {"trainer.history", ROW, NAN_BITS, "epoch 2 that no run"},
    {"trainer.history", 3 * DIGITS, NAN_BITS, "epoch 1 that no run"},
    {"trainer.history", 4 * DIGITS, TWO_BITS, "epoch 1 that no run"},
    {"trainer.history", 5 * DIGITS, TWO_BITS, "epoch 1 that no run"},
    {"trainer.history", ROW + 6 * DIGITS, MINUS_ONE_BITS, "epoch 2 that no run"},
    {"trainer.history", 7 * DIGITS, NAN_BITS, "epoch 1 that no run"},
    {"trainer.history", 8 * DIGITS, MINUS_ONE_BITS, "epoch 1 that no run"},
    {"trainer.history", 9 * DIGITS, NAN_BITS, "epoch 1 that no run"},
    {"trainer.history", 10 * DIGITS, "0000000000000002", "epoch 1 that no run"},
    {"trainer.history", ROW + 10 * DIGITS, "0000000000000003", "epoch 2 that no run"},
    {"trainer.history", 11 * DIGITS, MINUS_ONE_BITS, "epoch 1 that no run"},
    {"trainer.history", ROW + 11 * DIGITS, NAN_BITS, "epoch 2 that no run"},
};

static plan damage_plan(void)
{
    plan p = plan_make(EPOCHS);
    p.trainer.keep = SVIT_KEEP_BEST;
    p.trainer.existing = SVIT_EXISTING_RESUME;
    return p;
}

/* The resume fails and changes nothing: resuming from the good file then ends with the weights of
 * the whole run. */
static void check_refused(const plan *p, svit_dataset *with, const svit_model *whole,
                          svit_status status, const char *part, const char *file, const char *sound,
                          size_t bytes)
{
    svit_model *model = fit_model(context, CLASSES, 99), *same = fit_model(context, CLASSES, 99);
    svit_trainer *trainer = open_trainer(model, p, with);
    FAILS(svit_trainer_resume(trainer, err), status, part);
    ck_assert(fit_same(model, same));
    ck_assert_uint_eq(svit_trainer_history_count(trainer), 0);
    fit_write(fit_path(&folder, file), sound, bytes);
    WORKS(svit_trainer_resume(trainer, err));
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    ck_assert_msg(fit_same(model, whole), "after '%s'", part);
    svit_trainer_free(trainer);
    svit_model_free(same);
    svit_model_free(model);
}

START_TEST(test_a_damaged_entry_is_named_and_changes_nothing)
{
    const char *file = "checkpoint.safetensors";
    plan p = damage_plan();
    svit_model *whole = train_whole(p, validation);
    leave_checkpoint(p, validation, 2 * (STEPS + 1) + 1);
    size_t bytes, best_bytes;
    char *sound = fit_read(fit_path(&folder, file), &bytes);
    char *best = fit_read(fit_path(&folder, "best.safetensors"), &best_bytes);
    for (size_t i = 0; i < sizeof DAMAGES / sizeof *DAMAGES; i++) {
        const damage *d = &DAMAGES[i];
        fit_write(fit_path(&folder, file), sound, bytes);
        fit_write(fit_path(&folder, "best.safetensors"), best, best_bytes);
        checkpoint_edit(fit_path(&folder, file), d->key, d->from, d->value);
        check_refused(&p, validation, whole, SVIT_E_FORMAT, d->part ? d->part : d->key, file, sound,
                      bytes);
    }
    free(best);
    free(sound);
    svit_model_free(whole);
}
END_TEST

/* The plan of a run whose loss never changes, so that its first epoch is the best. */
static plan first_best_plan(void)
{
    plan p = damage_plan();
    p.trainer.epochs = 4;
    p.optimizer.schedule = SVIT_SCHEDULE_CONSTANT;
    p.optimizer.learning_rate = 0;
    p.optimizer.weight_decay = 0;
    return p;
}

static void check_resume(const plan *p, svit_status status, const char *part)
{
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, p, validation);
    if (status == SVIT_OK)
        WORKS(svit_trainer_resume(trainer, err));
    else
        FAILS(svit_trainer_resume(trainer, err), status, part);
    if (status == SVIT_OK)
        WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    svit_trainer_free(trainer);
    svit_model_free(model);
}

/* Without the best weights a run goes on that ends with the last ones. The reverse is refused, also
 * for a longer run. */
START_TEST(test_a_run_without_its_best_weights_goes_on_with_the_last)
{
    const plan best = first_best_plan();
    plan last = best, longer = best;
    last.trainer.keep = SVIT_KEEP_LAST;
    longer.trainer.epochs = 6;
    leave_checkpoint(best, validation, 2 * (STEPS + 1));
    ck_assert_int_eq(unlink(fit_path(&folder, "best.safetensors")), 0);
    check_resume(&best, SVIT_E_IO, "best.safetensors");
    check_resume(&best, SVIT_E_IO, "; keep 'last' goes on without it");
    fit_write(fit_path(&folder, "best.safetensors"), "no model", 8);
    check_resume(&best, SVIT_E_FORMAT, "; keep 'last' goes on without it");
    check_resume(&last, SVIT_OK, "");
    check_resume(&best, SVIT_E_ARGUMENT, "keep is last in the checkpoint and best here");
    check_resume(&longer, SVIT_E_ARGUMENT, "keep is last in the checkpoint and best here");
}
END_TEST

/* The other one of two epochs, with the number of epochs since it. */
START_TEST(test_a_best_epoch_that_is_not_the_historys_is_refused)
{
    const char *file = "checkpoint.safetensors";
    plan p = damage_plan();
    svit_model *whole = train_whole(p, validation);
    leave_checkpoint(p, validation, 2 * (STEPS + 1));
    size_t bytes;
    char *sound = fit_read(fit_path(&folder, file), &bytes);
    svit_checkpoint *checkpoint = NULL;
    WORKS(svit_checkpoint_open(&checkpoint, context, fit_path(&folder, file), err));
    int is_last = strcmp(svit_checkpoint_value(checkpoint, STATE "best_epoch"), "2") == 0;
    svit_checkpoint_free(checkpoint);
    checkpoint_edit(fit_path(&folder, file), STATE "best_epoch", 0, is_last ? "1" : "2");
    checkpoint_edit(fit_path(&folder, file), STATE "waited", 0, is_last ? "1" : "0");
    check_refused(&p, validation, whole, SVIT_E_FORMAT, STATE "best_epoch", file, sound, bytes);
    free(sound);
    svit_model_free(whole);
}
END_TEST

START_TEST(test_a_missing_entry_is_named_and_changes_nothing)
{
    static const char *const KEYS[] = {STATE "rows", "trainer.epochs", "svit.optimizer.steps",
                                       "trainer.history", "trainer.pipeline"};
    static const char *const PARTS[] = {STATE "rows", "trainer.epochs", "svit.optimizer.steps",
                                        "not have 2 epochs", "trainer.pipeline"};
    const char *file = "checkpoint.safetensors";
    plan p = damage_plan();
    p.trainer.keep = SVIT_KEEP_LAST;
    svit_model *whole = train_whole(p, validation);
    leave_checkpoint(p, validation, 2 * (STEPS + 1));
    size_t bytes;
    char *sound = fit_read(fit_path(&folder, file), &bytes);
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
        char other[64];
        snprintf(other, sizeof other, "%s", KEYS[i]);
        other[strlen(other) - 1] = '_';
        fit_write(fit_path(&folder, file), sound, bytes);
        checkpoint_rename(fit_path(&folder, file), KEYS[i], other);
        check_refused(&p, validation, whole, SVIT_E_FORMAT, PARTS[i], file, sound, bytes);
    }
    free(sound);
    svit_model_free(whole);
}
END_TEST

START_TEST(test_a_run_without_its_best_weights_is_not_resumed)
{
    const char *file = "best.safetensors";
    plan p = damage_plan();
    svit_model *whole = train_whole(p, validation);
    leave_checkpoint(p, validation, STEPS + 2);
    size_t bytes;
    char *sound = fit_read(fit_path(&folder, file), &bytes);
    unlink(fit_path(&folder, file));
    check_refused(&p, validation, whole, SVIT_E_IO, file, file, sound, bytes);
    leave_checkpoint(p, validation, STEPS + 2);
    fit_write(fit_path(&folder, file), sound, bytes / 2);
    check_refused(&p, validation, whole, SVIT_E_FORMAT, file, file, sound, bytes);
    free(sound);
    svit_model_free(whole);
}
END_TEST

/* Entries that only a run with validation has. */
START_TEST(test_a_best_epoch_without_validation_is_refused)
{
    static const damage damages[] = {
        {STATE "best_epoch", 0, "1", NULL},
        {STATE "waited", 0, "1", NULL},
        {STATE "best_top1", 0, TWO_BITS, NULL},
        {"trainer.history", 4 * DIGITS, TWO_BITS, "epoch 1 that no run"},
    };
    const char *file = "checkpoint.safetensors";
    plan p = damage_plan();
    p.trainer.keep = SVIT_KEEP_LAST;
    svit_model *whole = train_whole(p, NULL);
    leave_checkpoint(p, NULL, STEPS + 1);
    size_t bytes;
    char *sound = fit_read(fit_path(&folder, file), &bytes);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        const damage *d = &damages[i];
        fit_write(fit_path(&folder, file), sound, bytes);
        checkpoint_edit(fit_path(&folder, file), d->key, d->from, d->value);
        check_refused(&p, NULL, whole, SVIT_E_FORMAT, d->part ? d->part : d->key, file, sound,
                      bytes);
    }
    free(sound);
    svit_model_free(whole);
}
END_TEST

/* A step of an epoch after the last one. */
START_TEST(test_a_step_after_the_end_is_refused)
{
    const char *file = "checkpoint.safetensors";
    plan p = damage_plan();
    p.trainer.keep = SVIT_KEEP_LAST;
    p.trainer.patience = 1000;
    svit_model *whole = train_whole(p, validation);
    leave_checkpoint(p, validation, EPOCHS * (STEPS + 1));
    size_t bytes;
    char *sound = fit_read(fit_path(&folder, file), &bytes);
    checkpoint_edit(fit_path(&folder, file), STATE "position", 0, "1");
    check_refused(&p, validation, whole, SVIT_E_FORMAT, STATE "position", file, sound, bytes);
    free(sound);
    svit_model_free(whole);
}
END_TEST

/* A best epoch out of 0 epochs. Regression: the row before the first one of the history is read. */
START_TEST(test_patience_that_ran_out_before_the_first_epoch_is_refused)
{
    const char *file = "checkpoint.safetensors";
    plan p = damage_plan();
    p.trainer.patience = 1;
    svit_model *whole = train_whole(p, validation);
    leave_checkpoint(p, validation, 0);
    size_t bytes;
    char *sound = fit_read(fit_path(&folder, file), &bytes);
    checkpoint_edit(fit_path(&folder, file), STATE "waited", 0, "1");
    check_refused(&p, validation, whole, SVIT_E_FORMAT, STATE "waited", file, sound, bytes);
    free(sound);
    svit_model_free(whole);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("trainer_damage");
    TCase *c = tcase_create("trainer_damage");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_a_damaged_entry_is_named_and_changes_nothing);
    tcase_add_test(c, test_a_run_without_its_best_weights_goes_on_with_the_last);
    tcase_add_test(c, test_a_best_epoch_that_is_not_the_historys_is_refused);
    tcase_add_test(c, test_a_missing_entry_is_named_and_changes_nothing);
    tcase_add_test(c, test_a_run_without_its_best_weights_is_not_resumed);
    tcase_add_test(c, test_a_best_epoch_without_validation_is_refused);
    tcase_add_test(c, test_a_step_after_the_end_is_refused);
    tcase_add_test(c, test_patience_that_ran_out_before_the_first_epoch_is_refused);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
