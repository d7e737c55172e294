/* Checks the folder of a run: who may use it, and what happens to a run that is in it. */
#include "trainer_support.h"

#include <math.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define EVENTS "events.out.tfevents.shiftvit"
#define EXTRA "other.safetensors" /* a file that does not belong to a run */

static const char *const FILES[] = {"checkpoint.safetensors", "best.safetensors", "history.csv",
                                    "run.json"};
enum { FILE_COUNT = sizeof FILES / sizeof *FILES };

/* The content of the trainer's files at some moment. */
typedef struct snapshot {
    char *data[FILE_COUNT];
    size_t bytes[FILE_COUNT];
} snapshot;

static snapshot snapshot_take(void)
{
    snapshot all = {0};
    for (size_t i = 0; i < FILE_COUNT; i++)
        if (access(fit_path(&folder, FILES[i]), F_OK) == 0)
            all.data[i] = fit_read(fit_path(&folder, FILES[i]), &all.bytes[i]);
    return all;
}

static void snapshot_put(const snapshot *all)
{
    for (size_t i = 0; i < FILE_COUNT; i++) {
        unlink(fit_path(&folder, FILES[i]));
        if (all->data[i])
            fit_write(fit_path(&folder, FILES[i]), all->data[i], all->bytes[i]);
    }
}

static int snapshot_same(const snapshot *a, const snapshot *b, size_t i)
{
    return !a->data[i] == !b->data[i] && a->bytes[i] == b->bytes[i] &&
           (!a->data[i] || memcmp(a->data[i], b->data[i], a->bytes[i]) == 0);
}

static void snapshot_free(snapshot *all)
{
    for (size_t i = 0; i < FILE_COUNT; i++)
        free(all->data[i]);
}

static int has(const char *name)
{
    return access(fit_path(&folder, name), F_OK) == 0;
}

static svit_status create(svit_trainer **out, svit_model *model, const plan *p, svit_error *err)
{
    return svit_trainer_create(out, context, model, training, validation, &p->trainer,
                               &p->optimizer, &p->pipeline, err);
}

static void steps(svit_trainer *trainer, int count)
{
    svit_trainer_event event;
    for (int i = 0; i < count; i++)
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
}

/* Leaves a run with all its files, in the middle of its second epoch. */
static void leave_run(plan p)
{
    p.trainer.existing = SVIT_EXISTING_OVERWRITE;
    p.trainer.description = "{\"run\": \"old\"}";
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    steps(trainer, STEPS + 2);
    WORKS(svit_trainer_checkpoint(trainer, err));
    svit_trainer_free(trainer);
    svit_model_free(model);
    for (size_t i = 0; i < FILE_COUNT; i++)
        ck_assert_msg(has(FILES[i]), "%s is missing", FILES[i]);
}

START_TEST(test_a_used_folder_is_refused_by_default_and_stays)
{
    plan p = plan_make(2);
    svit_trainer *trainer = NULL;
    leave_run(p);
    svit_model *model = fit_model(context, CLASSES, 1);
    FAILS(create(&trainer, model, &p, err), SVIT_E_STATE, folder.path);
    FAILS(create(&trainer, model, &p, err), SVIT_E_STATE,
          "holds a run (checkpoint.safetensors, 1 epochs done)");
    FAILS(create(&trainer, model, &p, err), SVIT_E_STATE, "SVIT_EXISTING_RESUME to go on");
    FAILS(create(&trainer, model, &p, err), SVIT_E_STATE, "SVIT_EXISTING_OVERWRITE to replace");
    svit_pipeline_config pipeline;
    FAILS(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, err), SVIT_E_STATE, "");
    for (size_t i = 0; i < FILE_COUNT; i++) {
        for (size_t k = 0; k < FILE_COUNT; k++)
            unlink(fit_path(&folder, FILES[k]));
        fit_write(fit_path(&folder, FILES[i]), "x", 1);
        FAILS(create(&trainer, model, &p, err), SVIT_E_STATE, FILES[i]);
    }
    unlink(fit_path(&folder, FILES[FILE_COUNT - 1]));
    fit_write(fit_path(&folder, EXTRA), "x", 1);
    WORKS(create(&trainer, model, &p, err));
    svit_trainer_free(trainer);
    p.trainer.existing = 3;
    FAILS(create(&trainer, model, &p, err), SVIT_E_ARGUMENT, "existing is 3; it is 0..2");
    svit_model_free(model);
}
END_TEST

START_TEST(test_the_folder_is_made_last_and_one_trainer_has_it)
{
    char deep[128], upper[128];
    snprintf(upper, sizeof upper, "%s/a", folder.path);
    snprintf(deep, sizeof deep, "%s/a/b", folder.path);
    plan p = plan_make(1), wrong;
    p.trainer.folder = deep;
    wrong = p;
    wrong.pipeline.output_height = 4;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = NULL, *second = NULL;
    FAILS(create(&trainer, model, &wrong, err), SVIT_E_ARGUMENT, "4 x 8");
    wrong = p;
    wrong.trainer.description = "\xc3(";
    FAILS(create(&trainer, model, &wrong, err), SVIT_E_ARGUMENT, "description is not UTF-8");
    ck_assert_int_ne(access(upper, F_OK), 0);
    WORKS(create(&trainer, model, &p, err));
    ck_assert_int_eq(access(deep, F_OK), 0);
    for (int existing = 0; existing <= SVIT_EXISTING_OVERWRITE; existing++) {
        plan other = p;
        other.trainer.existing = existing;
        FAILS(create(&second, model, &other, err), SVIT_E_STATE, "is in use by another process");
    }
    svit_trainer_free(trainer);
    ck_assert_int_ne(access(upper, F_OK), 0);
    svit_model_free(model);
}
END_TEST

START_TEST(test_a_run_that_is_to_go_on_is_resumed_before_its_first_step)
{
    plan p = plan_make(2);
    leave_run(p);
    snapshot before = snapshot_take();
    p.trainer.existing = SVIT_EXISTING_RESUME;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    svit_trainer_event event;
    FAILS(svit_trainer_step(trainer, &event, sizeof event, err), SVIT_E_STATE,
          "no step is made before svit_trainer_resume has succeeded");
    FAILS(svit_trainer_run(trainer, NULL, NULL, err), SVIT_E_STATE, "svit_trainer_resume");
    FAILS(svit_trainer_checkpoint(trainer, err), SVIT_E_STATE, "svit_trainer_resume");
    snapshot after = snapshot_take();
    for (size_t i = 0; i < FILE_COUNT; i++)
        ck_assert_msg(snapshot_same(&before, &after, i), "%s has changed", FILES[i]);
    WORKS(svit_trainer_resume(trainer, err));
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    svit_trainer_free(trainer);
    svit_model_free(model);
    snapshot_free(&before);
    snapshot_free(&after);
}
END_TEST

/* Stops within the first epoch, or at its end, which writes the first checkpoint. */
START_TEST(test_an_overwritten_run_is_whole_until_the_first_checkpoint)
{
    plan p = plan_make(2);
    leave_run(p);
    fit_write(fit_path(&folder, EXTRA), "x", 1);
    snapshot old = snapshot_take();
    p.trainer.existing = SVIT_EXISTING_OVERWRITE;
    p.trainer.description = _i ? NULL : "{\"run\": \"new\"}";
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    FAILS(svit_trainer_resume(trainer, err), SVIT_E_STATE, "SVIT_EXISTING_OVERWRITE");
    steps(trainer, STEPS);
    snapshot same = snapshot_take();
    for (size_t i = 0; i < FILE_COUNT; i++)
        ck_assert_msg(snapshot_same(&old, &same, i), "%s has changed", FILES[i]);
    WORKS(svit_trainer_checkpoint(trainer, err));
    ck_assert_int_eq(has("best.safetensors"), 0);
    ck_assert_int_eq(has("history.csv"), 0);
    ck_assert_int_eq(has("run.json"), !_i);
    snapshot now = snapshot_take();
    ck_assert_int_eq(snapshot_same(&old, &now, 0), 0);
    if (!_i)
        ck_assert_str_eq(now.data[3], "{\"run\": \"new\"}");
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    ck_assert_int_eq(has("best.safetensors"), 1);
    ck_assert_int_eq(has("history.csv"), 1);
    ck_assert_int_eq(has(EXTRA), 1);
    svit_trainer_free(trainer);
    svit_model_free(model);
    snapshot_free(&old);
    snapshot_free(&same);
    snapshot_free(&now);
}
END_TEST

static void check_description(const char *wanted)
{
    svit_checkpoint *checkpoint = NULL;
    WORKS(svit_checkpoint_open(&checkpoint, context, fit_path(&folder, FILES[0]), err));
    const char *found = svit_checkpoint_value(checkpoint, "trainer.description");
    ck_assert_msg(wanted ? found && strcmp(found, wanted) == 0 : !found, "it is %s", found);
    svit_checkpoint_free(checkpoint);
}

START_TEST(test_the_description_is_in_each_checkpoint_and_in_the_folder)
{
    static const char TEXT[] = "{\"n\\u00e4me\": \"\xc3\xa4 \\\" \xf0\x9f\x90\x88\",\n \"x\": 1}";
    plan p = plan_make(2);
    p.trainer.description = TEXT;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    steps(trainer, 1);
    ck_assert_int_eq(has("run.json"), 0);
    WORKS(svit_trainer_checkpoint(trainer, err));
    check_description(TEXT);
    char *file = fit_read(fit_path(&folder, "run.json"), NULL);
    ck_assert_str_eq(file, TEXT);
    free(file);
    svit_trainer_free(trainer);

    p.trainer.existing = SVIT_EXISTING_RESUME;
    p.trainer.description = NULL;
    trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_resume(trainer, err));
    steps(trainer, STEPS);
    check_description(TEXT);
    svit_trainer_free(trainer);

    p.trainer.description = "another";
    trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_resume(trainer, err));
    WORKS(svit_trainer_checkpoint(trainer, err));
    check_description("another");
    svit_trainer_free(trainer);

    p.trainer.existing = SVIT_EXISTING_OVERWRITE;
    p.trainer.description = NULL;
    trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_checkpoint(trainer, err));
    check_description(NULL);
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

/* Ends the process before its file operation number `operations_left`, counted down to 0. */
static int operations_left;

int __real_rename(const char *from, const char *to);
int __real_unlink(const char *path);
int __wrap_rename(const char *from, const char *to);
int __wrap_unlink(const char *path);

static void count_operation(void)
{
    if (operations_left && --operations_left == 0)
        _exit(9);
}

int __wrap_rename(const char *from, const char *to)
{
    count_operation();
    return __real_rename(from, to);
}

int __wrap_unlink(const char *path)
{
    count_operation();
    return __real_unlink(path);
}

static svit_dataset *dataset_of(svit_context *of)
{
    svit_dataset *dataset = NULL;
    WORKS(svit_dataset_memory(&dataset, of, images, labels, SAMPLES, SIDE, SIDE, 3, CLASSES, err));
    return dataset;
}

/* Replaces the run in a child process; returns whether that has finished. */
static int overwrite_until(const plan *p, int operations)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        svit_context *own = fit_context(1);
        context = own;
        training = dataset_of(own);
        WORKS(svit_dataset_slice(&validation, training, 0, VALIDATION, err));
        svit_trainer *trainer = open_trainer(fit_model(own, CLASSES, 1), p, validation);
        operations_left = operations;
        svit_status status = svit_trainer_run(trainer, NULL, NULL, NULL);
        _exit(status == SVIT_OK ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && (WEXITSTATUS(status) == 9 || WEXITSTATUS(status) == 0));
    return WEXITSTATUS(status) == 0;
}

/* Whether the run of a plan can be resumed. It then ends with the weights `whole`. */
static int goes_on(const plan *p, const svit_model *whole, int operations)
{
    plan own = *p;
    own.trainer.existing = SVIT_EXISTING_RESUME;
    svit_model *model = fit_model(context, CLASSES, 99);
    svit_trainer *trainer = open_trainer(model, &own, validation);
    int resumed = svit_trainer_resume(trainer, NULL) == SVIT_OK;
    if (resumed) {
        WORKS(svit_trainer_run(trainer, NULL, NULL, err));
        ck_assert_msg(fit_same(model, whole), "killed before operation %d", operations);
    }
    svit_trainer_free(trainer);
    svit_model_free(model);
    return resumed;
}

/* Whether the folder has no file of the old run beside the new run's. */
static int is_clean(const plan *new)
{
    const char *wanted = new->trainer.description;
    char *text = has("run.json") ? fit_read(fit_path(&folder, "run.json"), NULL) : NULL;
    const int is_own = wanted ? text && strcmp(text, wanted) == 0 : !text;
    free(text);
    return is_own && !has(EVENTS);
}

/* The new run writes checkpoints only at the end of epochs, or after every step. */
START_TEST(test_a_run_killed_at_any_file_while_it_replaces_another_leaves_one_of_the_two)
{
    plan old = plan_make(3), new;
    old.trainer.keep = SVIT_KEEP_BEST;
    new = old;
    new.trainer.seed = 4;
    new.trainer.epochs = 2;
    new.trainer.existing = SVIT_EXISTING_OVERWRITE;
    new.trainer.description = _i % 2 ? NULL : "{\"run\": \"new\"}";
    new.trainer.checkpoint_seconds = _i / 2 ? 1e-9 : 0;
    svit_model *old_whole = train_whole(old, validation), *new_whole = train_whole(new, validation);
    leave_run(old);
    snapshot before = snapshot_take();
    int survived[2] = {0, 0}, finished = 0;
    for (int n = 1; !finished; n++) {
        snapshot_put(&before);
        fit_write(fit_path(&folder, EVENTS), "old", 3);
        finished = overwrite_until(&new, n);
        snapshot left = snapshot_take();
        int new_goes_on = goes_on(&new, new_whole, n);
        ck_assert_msg(!new_goes_on || is_clean(&new), "before operation %d", n);
        if (new_goes_on)
            snapshot_put(&left);
        int old_goes_on = goes_on(&old, old_whole, n);
        ck_assert_msg(old_goes_on != new_goes_on, "before operation %d: old %d, new %d", n,
                      old_goes_on, new_goes_on);
        if (old_goes_on)
            for (size_t i = 0; i < FILE_COUNT; i++)
                ck_assert_msg(snapshot_same(&before, &left, i), "operation %d: %s", n, FILES[i]);
        survived[new_goes_on]++;
        snapshot_free(&left);
    }
    unlink(fit_path(&folder, EVENTS));
    ck_assert_int_ge(survived[0], 1);
    ck_assert_int_ge(survived[1], 6);
    snapshot_free(&before);
    svit_model_free(old_whole);
    svit_model_free(new_whole);
}
END_TEST

/* The validation loss of weights is that of the history's best epoch. */
static void check_best(svit_model *of, const plan *p, const svit_trainer *trainer, const char *what,
                       int operations)
{
    svit_trainer_event row;
    double loss;
    WORKS(svit_trainer_history(trainer, svit_trainer_history_count(trainer) - 1, &row, sizeof row,
                               err));
    WORKS(svit_trainer_history(trainer, row.best_epoch - 1, &row, sizeof row, err));
    WORKS(svit_evaluate(context, of, validation, &p->pipeline, BATCH, &loss, NULL, NULL, err));
    ck_assert_msg(fabs(loss - row.val_loss) <= 1e-6 * (1 + loss),
                  "operation %d: %s has the loss %.9g, the best epoch, %d, %.9g", operations, what,
                  loss, (int)row.best_epoch, row.val_loss);
}

/* A run is killed at any file and extended at a rate of 0, so that epochs that were done do not
 * come again. The best weights are those of the best epoch all the same, in the model and in the
 * folder: directly after the resume's first step, and at the end. With and without an average, and
 * checkpoints after every step. */
START_TEST(test_a_killed_run_keeps_the_weights_of_its_best_epoch)
{
    plan p = plan_make(6), later;
    p.trainer.keep = SVIT_KEEP_BEST;
    p.trainer.existing = SVIT_EXISTING_OVERWRITE;
    p.trainer.checkpoint_seconds = _i / 2 ? 1e-9 : 0;
    p.optimizer.schedule = SVIT_SCHEDULE_CONSTANT;
    p.optimizer.ema = _i % 2 ? SVIT_EMA_PLAIN : SVIT_EMA_NONE;
    p.optimizer.ema_momentum = 0.5;
    later = p;
    later.trainer.existing = SVIT_EXISTING_RESUME;
    later.trainer.epochs = 8;
    later.optimizer.learning_rate = 0;
    int finished = 0, resumed = 0;
    for (int n = 1; !finished; n++) {
        for (size_t i = 0; i < FILE_COUNT; i++)
            unlink(fit_path(&folder, FILES[i]));
        finished = overwrite_until(&p, n);
        if (!has(FILES[0]))
            continue;
        svit_model *model = fit_model(context, CLASSES, 99), *best = NULL;
        svit_trainer *trainer = open_trainer(model, &later, validation);
        WORKS(svit_trainer_resume(trainer, err));
        steps(trainer, 1);
        for (int at_end = 0; at_end < 2; at_end++) {
            if (svit_trainer_history_count(trainer) > 0) {
                WORKS(svit_model_load(&best, context, fit_path(&folder, FILES[1]), err));
                check_best(best, &p, trainer, at_end ? "the file" : "the file at first", n);
                svit_model_free(best);
            }
            if (at_end)
                check_best(model, &p, trainer, "the model", n);
            else
                WORKS(svit_trainer_run(trainer, NULL, NULL, err));
        }
        svit_trainer_free(trainer);
        svit_model_free(model);
        resumed++;
    }
    ck_assert_int_ge(resumed, 10);
}
END_TEST

static int32_t work_in_root(const svit_trainer_event *event, void *user)
{
    (void)event, (void)user;
    return chdir("/") == 0 ? 0 : 1;
}

START_TEST(test_a_run_stays_in_its_folder_when_the_program_works_in_another)
{
    const char *name = strrchr(folder.path, '/') + 1;
    plan p = plan_make(2);
    p.trainer.folder = name;
    p.trainer.description = "{}";
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = NULL;
    ck_assert_int_eq(chdir("/tmp"), 0);
    WORKS(create(&trainer, model, &p, err));
    WORKS(svit_trainer_run(trainer, work_in_root, NULL, err));
    svit_trainer_free(trainer);
    for (size_t i = 0; i < FILE_COUNT; i++)
        ck_assert_msg(has(FILES[i]), "%s is not in the folder", FILES[i]);
    ck_assert(!has(".lock"));
    svit_model_free(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("trainer_folder");
    TCase *c = tcase_create("trainer_folder");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_a_used_folder_is_refused_by_default_and_stays);
    tcase_add_test(c, test_the_folder_is_made_last_and_one_trainer_has_it);
    tcase_add_test(c, test_a_run_that_is_to_go_on_is_resumed_before_its_first_step);
    tcase_add_loop_test(c, test_an_overwritten_run_is_whole_until_the_first_checkpoint, 0, 2);
    tcase_add_test(c, test_the_description_is_in_each_checkpoint_and_in_the_folder);
    tcase_add_loop_test(
        c, test_a_run_killed_at_any_file_while_it_replaces_another_leaves_one_of_the_two, 0, 4);
    tcase_add_loop_test(c, test_a_killed_run_keeps_the_weights_of_its_best_epoch, 0, 4);
    tcase_add_test(c, test_a_run_stays_in_its_folder_when_the_program_works_in_another);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
