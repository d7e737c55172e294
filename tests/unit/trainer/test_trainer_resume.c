/* Checks what the trainer resumes from, and what it does if its files cannot be written. */
#include "checkpoint_edit.h"
#include "trainer_support.h"

#include <sys/stat.h>

START_TEST(test_another_configuration_is_refused_at_resume_by_field)
{
    plan p = plan_make(2);
    p.optimizer.decay_exclude = SVIT_EXCLUDE_BIAS | SVIT_EXCLUDE_NORM;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_checkpoint(trainer, err));
    svit_trainer_free(trainer);
    p.trainer.existing = SVIT_EXISTING_RESUME;
    for (int i = 0; i < 12; i++) {
        plan other = p;
        static const char *const fields[] = {
            "epochs is 2 in the checkpoint and 1 here; a resumed run needs as many or more",
            "batch is 8 in the checkpoint and 9 here; a resumed run needs the same",
            "seed is 3",
            "patience is 0 in the checkpoint and 1 here; a resumed run needs 0, which never stops;",
            "beta1 is 0.9 in the checkpoint and 0.5 here",
            "preprocessing: 'flip_probability' is 0.5 in the checkpoint and 0.25 here;",
            "the validation data are others than the checkpoint's",
            "optimizer is adamw in the checkpoint and ",
            "the optimizer configuration: 'epsilon_form' is ",
            "preprocessing: 'augment' is none in the checkpoint and [{\"name\":",
            "decay_exclude is bias+norm in the checkpoint and norm+position here;",
            "decay_exclude is bias+norm in the checkpoint and empty here;"};
        other.trainer.epochs -= i == 0;
        other.trainer.batch += i == 1;
        other.trainer.seed += i == 2;
        other.trainer.patience += i == 3;
        other.optimizer.beta1 = i == 4 ? 0.5 : other.optimizer.beta1;
        other.pipeline.flip_probability = i == 5 ? 0.25 : 0.5;
        other.optimizer.kind = i == 7;
        other.optimizer.epsilon_form = i == 8;
        other.pipeline.augment_count = i == 9;
        other.optimizer.decay_exclude = i == 10   ? SVIT_EXCLUDE_NORM | SVIT_EXCLUDE_POSITION
                                        : i == 11 ? 0
                                                  : p.optimizer.decay_exclude;
        other.pipeline.augment[0].kind = SVIT_AUGMENT_TRIVIALAUGMENT;
        trainer = open_trainer(model, &other, i == 6 ? NULL : validation);
        float *before = fit_weights(model, NULL);
        FAILS(svit_trainer_resume(trainer, err), SVIT_E_ARGUMENT, fields[i]);
        float *after = fit_weights(model, NULL);
        ck_assert_mem_eq(before, after, svit_model_parameter_elements(model) * sizeof *after);
        free(before);
        free(after);
        svit_trainer_free(trainer);
    }
    svit_model_free(model);
}
END_TEST

/* Of a long field the message has where the values differ. */
START_TEST(test_a_long_field_is_shown_where_it_differs)
{
    plan p = plan_make(2);
    p.optimizer.groups[0] = (svit_parameter_group){
        .pattern = "layers.*.blocks.*.norm*", .lr_scale = 0.5, .weight_decay = -1, .trainable = 1};
    p.optimizer.group_count = 1;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_checkpoint(trainer, err));
    svit_trainer_free(trainer);
    p.trainer.existing = SVIT_EXISTING_RESUME;
    p.optimizer.groups[0].lr_scale = 0.25;
    trainer = open_trainer(model, &p, validation);
    static const char *const parts[] = {"the optimizer configuration: 'groups' is ...",
                                        "...lr_scale\":0.5,", "...lr_scale\":0.25,",
                                        " here; a resumed run needs the same"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        FAILS(svit_trainer_resume(trainer, err), SVIT_E_ARGUMENT, parts[i]);
    svit_trainer_free(trainer);
    p.optimizer.group_count = 0;
    trainer = open_trainer(model, &p, validation);
    FAILS(svit_trainer_resume(trainer, err), SVIT_E_ARGUMENT, " in the checkpoint and [] here;");
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

/* Trains to the end and returns the weights. */
static float *train_to_end(svit_trainer *trainer, const svit_model *model)
{
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    return fit_weights(model, NULL);
}

/* With a constant learning rate, a finished run that is extended has the same bits as one that had
 * all epochs from the start. */
START_TEST(test_an_extended_run_with_a_constant_rate_is_the_longer_run)
{
    plan p = plan_make(2);
    p.optimizer.schedule = SVIT_SCHEDULE_CONSTANT;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    free(train_to_end(trainer, model));
    svit_trainer_free(trainer);
    p.trainer.epochs = 4;
    p.trainer.existing = SVIT_EXISTING_RESUME;
    trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_resume(trainer, err));
    float *extended = train_to_end(trainer, model);
    ck_assert_uint_eq(svit_trainer_history_count(trainer), 4);
    svit_trainer_free(trainer);

    svit_model *other = fit_model(context, CLASSES, 1);
    p.trainer.folder = NULL;
    p.trainer.existing = SVIT_EXISTING_REFUSE;
    trainer = open_trainer(other, &p, validation);
    float *whole = train_to_end(trainer, other);
    ck_assert_mem_eq(extended, whole, svit_model_parameter_elements(model) * sizeof *whole);
    svit_trainer_free(trainer);
    svit_model_free(other);
    svit_model_free(model);
    free(whole);
    free(extended);
}
END_TEST

/* A run of a model with frozen parameters resumes to the same bits, also with a model in which they
 * are not frozen, or are frozen after the trainer was created. */
START_TEST(test_a_resumed_run_trains_what_the_run_trained)
{
    plan p = plan_make(3);
    p.trainer.existing = SVIT_EXISTING_RESUME;
    p.optimizer.ema = SVIT_EMA_PLAIN;
    p.optimizer.ema_momentum = 0.9;
    svit_model *model = fit_model(context, CLASSES, 1), *late = fit_model(context, CLASSES, 9);
    svit_trainer_event event;
    WORKS(svit_model_set_trainable(model, "*", 0, err));
    WORKS(svit_model_set_trainable(model, "layers.1*", 1, err));
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    WORKS(svit_trainer_checkpoint(trainer, err));
    svit_trainer *resumed = NULL;
    svit_trainer_free(trainer);

    resumed = open_trainer(late, &p, validation);
    if (_i == 1) {
        WORKS(svit_model_set_trainable(late, "*", 0, err));
        WORKS(svit_model_set_trainable(late, "layers.1*", 1, err));
    }
    WORKS(svit_trainer_resume(resumed, err));
    float *got = train_to_end(resumed, late);
    svit_trainer_free(resumed);

    svit_model *other = fit_model(context, CLASSES, 1);
    WORKS(svit_model_set_trainable(other, "*", 0, err));
    WORKS(svit_model_set_trainable(other, "layers.1*", 1, err));
    p.trainer.folder = NULL;
    p.trainer.existing = SVIT_EXISTING_REFUSE;
    trainer = open_trainer(other, &p, validation);
    float *whole = train_to_end(trainer, other);
    ck_assert_mem_eq(got, whole, svit_model_parameter_elements(other) * sizeof *whole);
    svit_trainer_free(trainer);
    svit_model_free(other);
    svit_model_free(late);
    svit_model_free(model);
    free(whole);
    free(got);
}
END_TEST

/* Renames the averages in a checkpoint, which then lacks them. */
static void lose_averages(const char *path)
{
    size_t bytes;
    char *data = fit_read(path, &bytes), *at;
    char *header = strndup(data + 8, sv_load_little(data, 8));
    while ((at = strstr(header, "\"ema.")))
        at[1] = 'x';
    edit_write(path, data, bytes, header);
    free(header);
    free(data);
}

/* A resume that fails leaves the model alone, also where the run has frozen other parameters. */
START_TEST(test_a_failed_resume_freezes_nothing)
{
    plan p = plan_make(3);
    p.trainer.existing = SVIT_EXISTING_RESUME;
    p.optimizer.ema = SVIT_EMA_PLAIN;
    p.optimizer.ema_momentum = 0.9;
    svit_model *model = fit_model(context, CLASSES, 1), *late = fit_model(context, CLASSES, 9);
    svit_trainer_event event;
    int32_t trainable = 0;
    WORKS(svit_model_set_trainable(model, "*", 0, err));
    WORKS(svit_model_set_trainable(model, "layers.1*", 1, err));
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    WORKS(svit_trainer_checkpoint(trainer, err));
    svit_trainer_free(trainer);
    lose_averages(fit_path(&folder, "checkpoint.safetensors"));

    float *before = fit_weights(late, NULL);
    trainer = open_trainer(late, &p, validation);
    FAILS(svit_trainer_resume(trainer, err), SVIT_E_FORMAT, "'ema.");
    float *after = fit_weights(late, NULL);
    ck_assert_mem_eq(before, after, svit_model_parameter_elements(late) * sizeof *before);
    WORKS(svit_model_get_trainable(late, svit_model_parameter_name(late, 0), &trainable, err));
    ck_assert_int_eq(trainable, 1);
    svit_trainer_free(trainer);
    svit_model_free(late);
    svit_model_free(model);
    free(after);
    free(before);
}
END_TEST

/* Returns the learning rate of the last epoch. */
static double last_rate(const svit_trainer *trainer)
{
    svit_trainer_event row = {.struct_size = sizeof row};
    size_t rows = svit_trainer_history_count(trainer);
    WORKS(svit_trainer_history(trainer, rows - 1, &row, sizeof row, err));
    return row.learning_rate;
}

/* A warm-up cosine schedule keeps its length in an extended run: its rate is 0 afterwards. A new
 * schedule covers all epochs. */
START_TEST(test_an_extended_run_keeps_its_schedule_unless_another_is_given)
{
    plan p = plan_make(2);
    p.optimizer.schedule = SVIT_SCHEDULE_WARMUP_COSINE;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    free(train_to_end(trainer, model));
    svit_trainer_free(trainer);
    p.trainer.existing = SVIT_EXISTING_RESUME;
    p.trainer.epochs = 3;
    trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_resume(trainer, err));
    free(train_to_end(trainer, model));
    ck_assert_double_eq(last_rate(trainer), 0);
    svit_trainer_free(trainer);
    trainer = open_trainer(model, &p, validation); /* the same extension once more */
    WORKS(svit_trainer_resume(trainer, err));
    svit_trainer_free(trainer);
    p.trainer.epochs = 4;
    p.optimizer.schedule = SVIT_SCHEDULE_CONSTANT;
    p.optimizer.learning_rate = 0.003;
    trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_resume(trainer, err));
    free(train_to_end(trainer, model));
    ck_assert_double_eq(last_rate(trainer), 0.003);
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

/* The schedules that have a length and end near 0. */
static const int32_t ENDING[] = {SVIT_SCHEDULE_WARMUP_COSINE, SVIT_SCHEDULE_LINEAR,
                                 SVIT_SCHEDULE_ONE_CYCLE};
enum { ENDING_COUNT = sizeof ENDING / sizeof *ENDING };

/* Runs to the end of `epochs`, with the checkpoint's run if `existing` says so. */
static svit_trainer *run_epochs(svit_model *model, plan *p, uint32_t epochs, int32_t existing)
{
    p->trainer.epochs = epochs;
    p->trainer.existing = existing;
    svit_trainer *trainer = open_trainer(model, p, validation);
    if (existing == SVIT_EXISTING_RESUME)
        WORKS(svit_trainer_resume(trainer, err));
    free(train_to_end(trainer, model));
    return trainer;
}

/* The rates of the new epochs are those of a schedule over all of them. The equal schedule used to
 * keep the old length, whatever the caller wanted. */
START_TEST(test_an_extended_run_computes_its_schedule_anew_if_asked)
{
    enum { OLD = 2, ALL = 5 };
    plan p = plan_make(OLD);
    p.optimizer.schedule = ENDING[_i];
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer_free(run_epochs(model, &p, OLD, SVIT_EXISTING_REFUSE));
    p.trainer.schedule_anew = 1;
    svit_trainer *trainer = run_epochs(model, &p, ALL, SVIT_EXISTING_RESUME);
    const double total = (double)SAMPLES / BATCH * ALL;
    svit_optimizer_config whole = p.optimizer;
    whole.total_steps = (uint64_t)total;
    whole.warmup_steps = (uint64_t)(p.trainer.warmup_fraction * (double)whole.total_steps);
    for (size_t i = OLD; i < ALL; i++) {
        svit_trainer_event row = {.struct_size = sizeof row};
        double rate;
        WORKS(svit_trainer_history(trainer, i, &row, sizeof row, err));
        WORKS(svit_learning_rate(&whole, (i + 1) * STEPS - 1, &rate, err));
        ck_assert_double_eq(row.learning_rate, rate);
        ck_assert(i + 1 == ALL || rate > 1e-4);
    }
    svit_trainer_free(trainer);
    /* The extended run goes on as any run does; without the wish a further one keeps its length. */
    svit_trainer_free(run_epochs(model, &p, ALL, SVIT_EXISTING_RESUME));
    p.trainer.schedule_anew = 0;
    trainer = run_epochs(model, &p, ALL + 1, SVIT_EXISTING_RESUME);
    ck_assert_double_le(last_rate(trainer), 1e-5);
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

/* The length is the stored one, of a run that is extended or only resumed: an older library may
 * have counted another for the same epochs. Regression: the optimiser of the resume had its own. */
START_TEST(test_a_run_keeps_the_length_that_its_checkpoint_has)
{
    plan p = plan_make(2);
    p.optimizer.schedule = SVIT_SCHEDULE_LINEAR;
    p.optimizer.total_steps = 9;
    p.optimizer.warmup_steps = 2;
    p.trainer.warmup_fraction = 0.25;
    leave_checkpoint(p, validation, 1);
    checkpoint_edit(fit_path(&folder, "checkpoint.safetensors"), "trainer.schedule_epochs", 0, "2");
    p.trainer.epochs += (uint32_t)_i;
    svit_model *whole = train_whole(p, validation), *model = fit_model(context, CLASSES, 9);
    p.optimizer.total_steps = p.optimizer.warmup_steps = 0;
    svit_trainer_free(run_epochs(model, &p, p.trainer.epochs, SVIT_EXISTING_RESUME));
    ck_assert(fit_same(model, whole));
    svit_model_free(model);
    svit_model_free(whole);
}
END_TEST

/* Warm-up steps that the caller gives count, also where the trainer computes the length. */
START_TEST(test_given_warmup_steps_count_without_a_length)
{
    plan p = plan_make(3);
    p.optimizer.schedule = SVIT_SCHEDULE_LINEAR;
    p.optimizer.lr_start = 0;
    p.optimizer.warmup_steps = 6;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    svit_trainer_event event;
    for (int i = 0; i < 3; i++)
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    ck_assert_double_eq_tol(event.learning_rate, 0.01 * 2 / 6, 1e-12);
    svit_trainer_free(trainer);
    p.trainer.existing = SVIT_EXISTING_OVERWRITE;
    p.optimizer.warmup_steps = 100;
    FAILS(svit_trainer_create(&trainer, context, model, training, validation, &p.trainer,
                              &p.optimizer, &p.pipeline, err),
          SVIT_E_ARGUMENT, "warmup_steps is 100; it is at most total_steps, which is 8");
    svit_model_free(model);
}
END_TEST

/* Alone they made the rate fall at every step, or not at all. */
START_TEST(test_a_schedule_that_lacks_its_period_is_refused)
{
    static const struct {
        int32_t schedule;
        uint64_t period;
        const char *message;
    } cases[] = {
        {SVIT_SCHEDULE_STEP, 0, "step_size is 0; schedule 'step' needs"},
        {SVIT_SCHEDULE_COSINE_RESTARTS, 0, "restart_steps is 0; schedule 'cosine-restarts'"},
        {SVIT_SCHEDULE_COSINE_RESTARTS, 1, "restart_steps is 1; schedule 'cosine-restarts'"}};
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plan p = plan_make(3);
        p.optimizer.schedule = cases[i].schedule;
        p.optimizer.restart_steps = cases[i].period;
        FAILS(svit_trainer_create(&trainer, context, model, training, validation, &p.trainer,
                                  &p.optimizer, &p.pipeline, err),
              SVIT_E_ARGUMENT, cases[i].message);
    }
    svit_model_free(model);
}
END_TEST

/* Overwrites each `part` of the checkpoint with spaces and returns how many there are. */
static size_t checkpoint_blank(const char *part)
{
    static char bytes[1 << 22];
    char path[256];
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder.path);
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    size_t length = fread(bytes, 1, sizeof bytes, file);
    ck_assert_uint_lt(length, sizeof bytes);
    size_t found = 0;
    for (char *at = bytes; (at = memmem(at, length - (size_t)(at - bytes), part, strlen(part)));) {
        memset(at, ' ', strlen(part));
        found++;
    }
    rewind(file);
    ck_assert_uint_eq(fwrite(bytes, 1, length, file), length);
    ck_assert_int_eq(fclose(file), 0);
    return found;
}

/* A checkpoint without newer fields of the pipeline is resumed. Regression: the texts of the
 * pipelines are compared, so that no checkpoint without rotation and zoom is accepted. */
START_TEST(test_a_checkpoint_from_before_a_field_of_the_pipeline_is_resumed)
{
    plan p = plan_make(2);
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_checkpoint(trainer, err));
    ck_assert_uint_gt(checkpoint_blank(",\\\"rotation\\\":0.0,\\\"zoom\\\":0.0"), 0);
    WORKS(svit_trainer_resume(trainer, err));
    svit_trainer_free(trainer);
    p.pipeline.zoom = 0.1;
    p.trainer.existing = SVIT_EXISTING_RESUME;
    trainer = open_trainer(model, &p, validation);
    FAILS(svit_trainer_resume(trainer, err), SVIT_E_ARGUMENT, "zoom");
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

START_TEST(test_without_a_checkpoint_or_folder_there_is_nothing_to_resume)
{
    plan p = plan_make(1);
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, NULL);
    FAILS(svit_trainer_resume(trainer, err), SVIT_E_IO, "checkpoint.safetensors");
    svit_trainer_free(trainer);
    p.trainer.folder = NULL;
    trainer = open_trainer(model, &p, NULL);
    FAILS(svit_trainer_resume(trainer, err), SVIT_E_STATE, "folder");
    FAILS(svit_trainer_checkpoint(trainer, err), SVIT_E_STATE, "folder");
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

START_TEST(test_weights_that_blow_up_are_an_error_and_the_checkpoint_stays)
{
    plan p = plan_make(30);
    p.optimizer.kind = SVIT_OPTIMIZER_SGD;
    p.optimizer.schedule = SVIT_SCHEDULE_CONSTANT;
    p.optimizer.learning_rate = 1e30;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, NULL);
    WORKS(svit_trainer_checkpoint(trainer, err));
    size_t bytes, bytes_after;
    char *before = fit_read(fit_path(&folder, "checkpoint.safetensors"), &bytes);
    FAILS(svit_trainer_run(trainer, NULL, NULL, err), SVIT_E_NUMERIC, "epoch 1, step 2 of ");
    char *after = fit_read(fit_path(&folder, "checkpoint.safetensors"), &bytes_after);
    ck_assert_uint_eq(bytes, bytes_after);
    ck_assert_mem_eq(before, after, bytes);
    free(before);
    free(after);
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

START_TEST(test_an_epoch_whose_files_cannot_be_written_is_done_again)
{
    if (!removes_folders_in_use())
        return;
    plan p = plan_make(2);
    svit_model *unbroken = fit_model(context, CLASSES, 1), *model = fit_model(context, CLASSES, 1);
    svit_trainer *whole = open_trainer(unbroken, &p, validation);
    WORKS(svit_trainer_run(whole, NULL, NULL, err));
    svit_trainer_free(whole);
    p.trainer.existing = SVIT_EXISTING_OVERWRITE;
    svit_trainer *trainer = open_trainer(model, &p, validation);
    svit_trainer_event event;
    for (int step = 0; step < STEPS; step++)
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    fit_folder_remove(&folder);
    for (int again = 0; again < 2; again++) {
        FAILS(svit_trainer_step(trainer, &event, sizeof event, err), SVIT_E_IO, folder.path);
        ck_assert_uint_eq(svit_trainer_history_count(trainer), 0);
    }
    ck_assert_int_eq(mkdir(folder.path, 0700), 0);
    WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    ck_assert_int_eq(event.kind, SVIT_EVENT_EPOCH);
    ck_assert_uint_eq(event.epoch, 1);
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    ck_assert(fit_same(model, unbroken));
    svit_trainer_free(trainer);
    svit_model_free(model);
    svit_model_free(unbroken);
}
END_TEST

START_TEST(test_a_history_that_cannot_be_written_undoes_the_epochs_end)
{
    plan p = plan_make(1);
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    svit_trainer_event event;
    for (int step = 0; step < STEPS; step++)
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    /* best.safetensors can be written, but history.csv cannot, because a folder has its name. */
    ck_assert_int_eq(mkdir(fit_path(&folder, "history.csv"), 0700), 0);
    FAILS(svit_trainer_step(trainer, &event, sizeof event, err), SVIT_E_IO, "history.csv");
    ck_assert_uint_eq(svit_trainer_history_count(trainer), 0);
    ck_assert_int_eq(rmdir(fit_path(&folder, "history.csv")), 0);
    WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    ck_assert_int_eq(event.kind, SVIT_EVENT_EPOCH);
    ck_assert_uint_eq(event.epoch, 1);
    ck_assert_uint_eq(event.best_epoch, 1);
    ck_assert_uint_eq(svit_trainer_history_count(trainer), 1);
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("trainer_resume");
    TCase *c = tcase_create("trainer_resume");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_another_configuration_is_refused_at_resume_by_field);
    tcase_add_test(c, test_a_long_field_is_shown_where_it_differs);
    tcase_add_loop_test(c, test_a_run_keeps_the_length_that_its_checkpoint_has, 0, 2);
    tcase_add_test(c, test_an_extended_run_with_a_constant_rate_is_the_longer_run);
    tcase_add_test(c, test_an_extended_run_keeps_its_schedule_unless_another_is_given);
    tcase_add_loop_test(c, test_an_extended_run_computes_its_schedule_anew_if_asked, 0,
                        ENDING_COUNT);
    tcase_add_test(c, test_given_warmup_steps_count_without_a_length);
    tcase_add_test(c, test_a_schedule_that_lacks_its_period_is_refused);
    tcase_add_test(c, test_a_checkpoint_from_before_a_field_of_the_pipeline_is_resumed);
    tcase_add_test(c, test_without_a_checkpoint_or_folder_there_is_nothing_to_resume);
    tcase_add_test(c, test_weights_that_blow_up_are_an_error_and_the_checkpoint_stays);
    tcase_add_test(c, test_an_epoch_whose_files_cannot_be_written_is_done_again);
    tcase_add_test(c, test_a_history_that_cannot_be_written_undoes_the_epochs_end);
    tcase_add_loop_test(c, test_a_resumed_run_trains_what_the_run_trained, 0, 2);
    tcase_add_test(c, test_a_failed_resume_freezes_nothing);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
