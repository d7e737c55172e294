/* Checks runs that are extended by more epochs, from any of their events on. */
#include "checkpoint_edit.h"
#include "trainer_support.h"

#include <math.h>

/* Opens a trainer that goes on with the run of the folder. */
static svit_trainer *resume_run(svit_model *model, plan p, svit_dataset *with)
{
    p.trainer.existing = SVIT_EXISTING_RESUME;
    svit_trainer *trainer = open_trainer(model, &p, with);
    WORKS(svit_trainer_resume(trainer, err));
    return trainer;
}

/* Without a learning rate the first epoch stays the best. The new patience counts from the next end
 * of an epoch on, also where more epochs have passed since the best one; until then the run can be
 * stopped and resumed. Regression: its checkpoints were refused. */
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
        svit_trainer_event event;
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
        WORKS(svit_trainer_checkpoint(trainer, err));
        svit_trainer_free(trainer);
        trainer = resume_run(model, longer, validation);
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

/* Without more epochs a larger patience, or 0, is accepted at any event, also where the old one has
 * ended the run; the run then has as many epochs as one that had it from the start. */
START_TEST(test_a_larger_patience_goes_on_without_more_epochs)
{
    enum { ALL = 4 };
    const uint32_t before = (uint32_t)_i / 4, after = (uint32_t)_i % 4;
    plan p = plan_make(ALL), later;
    p.optimizer.schedule = SVIT_SCHEDULE_CONSTANT;
    p.optimizer.learning_rate = 0;
    p.trainer.patience = before;
    later = p;
    later.trainer.patience = after;
    later.trainer.existing = SVIT_EXISTING_RESUME;
    const uint32_t first = before > 0 && before + 1 < ALL ? before + 1 : ALL;
    const uint32_t last = after > 0 && after + 1 < ALL ? after + 1 : ALL;
    for (uint32_t events = 1; events <= first * (STEPS + 1); events++) {
        leave_checkpoint(p, validation, (int)events);
        svit_model *model = fit_model(context, CLASSES, 9);
        svit_trainer *trainer = open_trainer(model, &later, validation);
        if (after == before || (before > 0 && (after == 0 || after > before))) {
            WORKS(svit_trainer_resume(trainer, err));
            WORKS(svit_trainer_run(trainer, NULL, NULL, err));
            ck_assert_uint_eq(svit_trainer_history_count(trainer), last);
        } else {
            FAILS(svit_trainer_resume(trainer, err), SVIT_E_ARGUMENT,
                  before > 0 ? "a resumed run needs as many or more, or 0; with more epochs, any"
                             : "patience is 0 in the checkpoint and ");
        }
        svit_trainer_free(trainer);
        svit_model_free(model);
    }
}
END_TEST

/* A run that stopped early and goes on with a larger patience, or 0, has the weights of one that
 * had it from the start, the last or the best ones; the schedule has the same length. */
START_TEST(test_more_patience_gives_the_weights_of_one_that_had_it)
{
    enum { ALL = 12 };
    plan p = plan_make(ALL), whole;
    p.trainer.keep = _i % 2 ? SVIT_KEEP_BEST : SVIT_KEEP_LAST;
    p.trainer.patience = 1;
    p.trainer.existing = SVIT_EXISTING_OVERWRITE;
    p.optimizer.learning_rate = 1;
    whole = p;
    whole.trainer.patience = _i / 2 ? 3 : 0;
    svit_model *model = fit_model(context, CLASSES, 1), *wanted = train_whole(whole, validation);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    const size_t rows = svit_trainer_history_count(trainer);
    ck_assert_uint_lt(rows, ALL);
    svit_trainer_free(trainer);
    trainer = resume_run(model, whole, validation);
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    ck_assert_uint_gt(svit_trainer_history_count(trainer), rows);
    ck_assert(fit_same(model, wanted));
    svit_trainer_free(trainer);
    svit_model_free(model);
    svit_model_free(wanted);
}
END_TEST

/* The schedules that have a length. */
static const int32_t LONG[] = {SVIT_SCHEDULE_WARMUP_COSINE, SVIT_SCHEDULE_LINEAR,
                               SVIT_SCHEDULE_ONE_CYCLE, SVIT_SCHEDULE_PIECEWISE};
enum { LONG_COUNT = sizeof LONG / sizeof *LONG };

/* A run whose length and warm-up were given keeps both, if it is resumed or extended without them.
 * The extension is a run as any other: the program that made it resumes it, and extends it again.
 * Regression: the resume was refused. */
START_TEST(test_a_run_keeps_a_length_that_was_given)
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
        svit_model *model = fit_model(context, CLASSES, 9);
        svit_trainer *trainer;
        svit_trainer_event event;
        for (uint32_t resumes = 0; resumes < 2 * (ALL - OLD + 1); resumes++) {
            later.trainer.epochs = OLD + resumes / 2;
            trainer = resume_run(model, later, validation);
            do {
                double rate;
                WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
                const uint64_t steps = svit_optimizer_steps(svit_trainer_optimizer(trainer));
                WORKS(svit_learning_rate(&p.optimizer, steps - 1, &rate, err));
                ck_assert_double_eq(event.learning_rate, rate);
            } while (event.kind != SVIT_EVENT_FINISHED && resumes % 2);
            WORKS(svit_trainer_checkpoint(trainer, err));
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

/* A warm-up that the caller gives counts: in an extension, and a plain resume needs that of the
 * run. */
START_TEST(test_a_given_length_may_have_a_given_warmup)
{
    plan p = plan_make(2);
    svit_trainer_event event;
    double rate;
    p.optimizer.schedule = SVIT_SCHEDULE_LINEAR;
    p.optimizer.total_steps = 11;
    p.optimizer.warmup_steps = 3;
    leave_checkpoint(p, validation, 1);
    p.optimizer.total_steps = 0;
    p.optimizer.warmup_steps = 4;
    p.trainer.existing = SVIT_EXISTING_RESUME;
    svit_model *model = fit_model(context, CLASSES, 9);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    FAILS(svit_trainer_resume(trainer, err), SVIT_E_ARGUMENT,
          "warmup_steps is 3 in the checkpoint and 4 here");
    svit_trainer_free(trainer);
    p.trainer.epochs = 3;
    trainer = resume_run(model, p, validation);
    WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    p.optimizer.total_steps = 11;
    WORKS(svit_learning_rate(&p.optimizer, 1, &rate, err));
    ck_assert_double_eq(event.learning_rate, rate);
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

/* A run without a length is not damaged where the average of the trainer needs one. */
START_TEST(test_an_average_that_the_run_lacks_is_named)
{
    plan p = plan_make(2);
    p.optimizer.schedule = SVIT_SCHEDULE_CONSTANT;
    leave_checkpoint(p, validation, 1);
    p.optimizer.ema = SVIT_EMA_SWA;
    p.trainer.existing = SVIT_EXISTING_RESUME;
    svit_model *model = fit_model(context, CLASSES, 9);
    for (p.trainer.epochs = 2; p.trainer.epochs <= 3; p.trainer.epochs++) {
        svit_trainer *trainer = open_trainer(model, &p, validation);
        FAILS(svit_trainer_resume(trainer, err), SVIT_E_ARGUMENT, "ema is none in the checkpoint");
        svit_trainer_free(trainer);
    }
    svit_model_free(model);
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

enum { SMALL = 6, SHORT = 3, LONGER = 6 };

static double multiply_adds(uint32_t side)
{
    svit_model_config config = fit_model_config(CLASSES);
    config.input_height = config.input_width = side;
    uint64_t count;
    WORKS(svit_model_multiply_adds(&config, &count, NULL, err));
    return (double)count;
}

/* A run whose first half is on smaller images. */
static plan early_plan(int32_t schedule, uint64_t total)
{
    plan p = plan_make(SHORT);
    p.trainer.early_fraction = 0.5;
    p.trainer.early_height = p.trainer.early_width = SMALL;
    p.optimizer.schedule = schedule;
    p.optimizer.total_steps = total;
    p.optimizer.warmup_steps = total / 2;
    return p;
}

/* The first epochs, of the schedule's or, with a given length or a constant rate, of all. */
static const struct {
    int32_t schedule;
    uint64_t total;
    int32_t anew;
    uint32_t before, after; /* epochs on smaller images, of the run and of its extension */
} EARLY[] = {{SVIT_SCHEDULE_WARMUP_COSINE, 0, 0, 2, 2},
             {SVIT_SCHEDULE_WARMUP_COSINE, 0, 1, 2, 3},
             {SVIT_SCHEDULE_LINEAR, 8, 0, 2, 3},
             {SVIT_SCHEDULE_CONSTANT, 0, 0, 2, 3}};
enum { EARLY_COUNT = sizeof EARLY / sizeof *EARLY };

/* What a step of an epoch, from 0, adds to the arithmetic. */
static double step_pflop(uint64_t epoch, uint64_t step, uint32_t early)
{
    const double images_of_step = step < STEPS ? BATCH : SAMPLES - (STEPS - 1) * BATCH;
    return 6e-15 * images_of_step * multiply_adds(epoch < early ? SMALL : SIDE);
}

/* The history counts what was computed, before and after an extension, which changes no row. */
START_TEST(test_an_extension_counts_its_arithmetic_on)
{
    const int which = _i % EARLY_COUNT, events = _i / EARLY_COUNT + 1;
    plan p = early_plan(EARLY[which].schedule, EARLY[which].total), later = p;
    double done = 0;
    svit_trainer_event row;
    leave_checkpoint(p, validation, events);
    for (int i = 0; i < events; i++)
        if (i % (STEPS + 1) < STEPS)
            done += step_pflop((uint64_t)i / (STEPS + 1), (uint64_t)i % (STEPS + 1) + 1,
                               EARLY[which].before);
    later.trainer.epochs = LONGER;
    later.trainer.schedule_anew = EARLY[which].anew;
    for (int resumes = 0; resumes < 2; resumes++) {
        svit_model *model = fit_model(context, CLASSES, 9);
        svit_trainer *trainer = resume_run(model, later, validation);
        double wanted = done, before = 0;
        for (size_t i = 0; i < svit_trainer_history_count(trainer); i++) {
            WORKS(svit_trainer_history(trainer, i, &row, sizeof row, err));
            for (uint64_t step = 1; step <= STEPS && !resumes; step++)
                before += step_pflop(i, step, EARLY[which].before);
            if (!resumes)
                ck_assert_double_eq_tol(row.pflop, before, 1e-12 * before);
        }
        do {
            WORKS(svit_trainer_step(trainer, &row, sizeof row, err));
            if (row.kind == SVIT_EVENT_STEP)
                wanted += step_pflop(row.epoch - 1, row.step, EARLY[which].after);
            ck_assert_msg(fabs(row.pflop - wanted) <= 1e-12 * wanted,
                          "case %d, event %d, epoch %d: %g, not %g", which, events, (int)row.epoch,
                          row.pflop, wanted);
        } while (row.kind != SVIT_EVENT_FINISHED);
        done = wanted; /* a run that has ended, resumed */
        svit_trainer_free(trainer);
        svit_model_free(model);
    }
}
END_TEST

/* Rewrites the checkpoint as a library before the count of smaller images wrote it. */
static void make_old(void)
{
    enum { DIGITS = 16, COLUMNS = 12 };
    const char *path = fit_path(&folder, "checkpoint.safetensors");
    svit_checkpoint *checkpoint = NULL;
    WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
    const char *history = svit_checkpoint_value(checkpoint, "trainer.history");
    char *old = calloc(strlen(history) + 1, 1);
    for (size_t i = 0; i < strlen(history); i += COLUMNS * DIGITS)
        strncat(old, history + i, (COLUMNS - 1) * DIGITS);
    svit_checkpoint_free(checkpoint);
    checkpoint_edit(path, "trainer.history", 0, old);
    checkpoint_rename(path, "trainer.state.early", "trainer.state.e____");
    free(old);
}

START_TEST(test_an_older_checkpoint_goes_on_and_is_extended)
{
    const int which = _i % EARLY_COUNT, events = _i / EARLY_COUNT + 1;
    plan p = early_plan(EARLY[which].schedule, EARLY[which].total);
    for (uint32_t epochs = SHORT; epochs <= LONGER; epochs += LONGER - SHORT) {
        svit_trainer_event rows[2][LONGER];
        svit_model *models[2];
        p.trainer.schedule_anew = EARLY[which].anew;
        for (int old = 0; old < 2; old++) {
            p.trainer.epochs = SHORT;
            leave_checkpoint(p, validation, events);
            if (old)
                make_old();
            p.trainer.epochs = epochs;
            models[old] = fit_model(context, CLASSES, 9);
            svit_trainer *trainer = resume_run(models[old], p, validation);
            WORKS(svit_trainer_run(trainer, NULL, NULL, err));
            for (uint32_t i = 0; i < epochs; i++)
                WORKS(svit_trainer_history(trainer, i, &rows[old][i], sizeof **rows, err));
            svit_trainer_free(trainer);
        }
        ck_assert(fit_same(models[0], models[1]));
        for (uint32_t i = 0; i < epochs; i++)
            ck_assert_msg(memcmp(&rows[0][i].pflop, &rows[1][i].pflop, sizeof(double)) == 0,
                          "%u epochs, epoch %u: %g, not %g", epochs, i + 1, rows[1][i].pflop,
                          rows[0][i].pflop);
        svit_model_free(models[0]);
        svit_model_free(models[1]);
    }
}
END_TEST

/* The mean of the weights as the header defines it, from the weights after each step. */
typedef struct mean {
    double *sum;
    float *last;
    size_t elements;
    uint64_t count, steps;
} mean;

/* Notes a step of a run whose snapshots begin after `start` steps. */
static void mean_add(mean *m, const svit_model *model, uint64_t start, uint64_t every)
{
    const uint64_t done = ++m->steps;
    free(m->last);
    m->last = fit_weights(model, &m->elements);
    if (!m->sum)
        m->sum = calloc(m->elements, sizeof *m->sum);
    if (done < start + every) {
        m->count = 0;
        memset(m->sum, 0, m->elements * sizeof *m->sum);
    } else if ((done - start) % every == 0) {
        m->count++;
        for (size_t i = 0; i < m->elements; i++)
            m->sum[i] += (double)m->last[i];
    }
}

static void mean_check(const mean *m, const svit_model *model, int which, int events)
{
    float *found = fit_weights(model, NULL);
    for (size_t i = 0; i < m->elements; i++) {
        const double wanted = m->count ? m->sum[i] / (double)m->count : (double)m->last[i];
        ck_assert_msg(fabs(found[i] - wanted) <= 1e-6 * (1 + fabs(wanted)),
                      "case %d, event %d: weight %zu is %g, the mean of %d weights %g", which,
                      events, i, (double)found[i], (int)m->count, wanted);
    }
    free(found);
}

/* Makes steps until an event, or to the end if `events` is 0. */
static void run_mean(mean *m, svit_trainer *trainer, const svit_model *model, const plan *p,
                     uint32_t length, int events)
{
    const uint64_t all = (uint64_t)STEPS * length, cut = (uint64_t)SAMPLES * length / BATCH;
    const uint64_t total = all - cut < STEPS ? cut : all;
    const uint64_t start = (uint64_t)(p->optimizer.swa_start * (double)total);
    svit_trainer_event event;
    do {
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
        if (event.kind == SVIT_EVENT_STEP)
            mean_add(m, model, start, p->optimizer.swa_every);
    } while (event.kind != SVIT_EVENT_FINISHED && --events != 0);
}

/* Runs that keep their length or get another one, of which the mean begins before or after the
 * steps that are done; a checkpoint by an older library, which does not count, where nothing is
 * extended. */
static const struct {
    double start;
    uint64_t every;
    uint32_t epochs;
    int32_t anew, is_old;
} MEANS[] = {{0.5, 1, 5, 1, 0}, {0.25, 2, 6, 1, 0}, {0.75, 1, 9, 1, 0}, {0, 1, 4, 1, 0},
             {0.5, 1, 5, 0, 0}, {0.25, 3, 5, 0, 0}, {0.5, 1, 3, 0, 0},  {0.5, 2, 3, 0, 1}};
enum { MEAN_COUNT = sizeof MEANS / sizeof *MEANS };

START_TEST(test_an_extension_adds_to_the_mean_of_the_weights)
{
    for (int events = 1; events <= SHORT * (STEPS + 1); events++) {
        plan p = plan_make(SHORT);
        p.trainer.existing = SVIT_EXISTING_OVERWRITE;
        p.optimizer.ema = SVIT_EMA_SWA;
        p.optimizer.swa_start = MEANS[_i].start;
        p.optimizer.swa_every = MEANS[_i].every;
        p.optimizer.schedule = SVIT_SCHEDULE_LINEAR;
        mean m = {0};
        svit_model *model = fit_model(context, CLASSES, 1);
        svit_trainer *trainer = open_trainer(model, &p, NULL);
        run_mean(&m, trainer, model, &p, SHORT, events);
        WORKS(svit_trainer_checkpoint(trainer, err));
        svit_trainer_free(trainer);
        svit_model_free(model);
        if (MEANS[_i].is_old)
            checkpoint_rename(fit_path(&folder, "checkpoint.safetensors"),
                              "svit.optimizer.snapshots", "svit.optimizer.snap_____");
        p.trainer.epochs = MEANS[_i].epochs;
        p.trainer.schedule_anew = MEANS[_i].anew;
        model = fit_model(context, CLASSES, 9);
        trainer = resume_run(model, p, NULL);
        run_mean(&m, trainer, model, &p, MEANS[_i].anew ? MEANS[_i].epochs : SHORT, 0);
        mean_check(&m, model, _i, events);
        svit_trainer_free(trainer);
        svit_model_free(model);
        free(m.sum);
        free(m.last);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("trainer_extend");
    TCase *c = tcase_create("trainer_extend");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_an_extension_may_have_another_patience, 0, 4 * 4);
    tcase_add_loop_test(c, test_a_larger_patience_goes_on_without_more_epochs, 0, 4 * 4);
    tcase_add_loop_test(c, test_more_patience_gives_the_weights_of_one_that_had_it, 0, 4);
    tcase_add_loop_test(c, test_a_run_keeps_a_length_that_was_given, 0, LONG_COUNT);
    tcase_add_test(c, test_a_given_length_may_have_a_given_warmup);
    tcase_add_test(c, test_an_average_that_the_run_lacks_is_named);
    tcase_add_test(c, test_a_given_length_that_cannot_be_is_refused);
    tcase_add_loop_test(c, test_an_extension_counts_its_arithmetic_on, 0,
                        EARLY_COUNT * SHORT * (STEPS + 1));
    tcase_add_loop_test(c, test_an_older_checkpoint_goes_on_and_is_extended, 0,
                        EARLY_COUNT * SHORT * (STEPS + 1));
    tcase_add_loop_test(c, test_an_extension_adds_to_the_mean_of_the_weights, 0, MEAN_COUNT);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
