/* Checks the trainer: exact resuming, gradient accumulation, events, and its creation. */
#include "trainer_support.h"

#include <math.h>
#include <stddef.h>

/* A callback that stops at event number `left`, counted down to 0; below 0 it never stops. */
static int32_t stop_after(const svit_trainer_event *event, void *user)
{
    (void)event;
    int *left = user;
    return --*left == 0 ? 77 : 0;
}

START_TEST(test_a_run_broken_after_any_event_and_resumed_gives_the_same_bits)
{
    enum { EPOCHS = 2, EVENTS = EPOCHS * (STEPS + 1) + 1 };
    plan p = plan_make(EPOCHS);
    if (_i == 2)
        p.trainer.leaves = 7; /* more than the last batch has images */
    if (_i == 1) {            /* averages, micro-batches, best weights, no prefetch */
        p.optimizer.ema = SVIT_EMA_PLAIN;
        p.optimizer.ema_momentum = 0.9;
        p.optimizer.clip_norm = 0.5;
        p.trainer.accumulate = 3;
        p.trainer.keep = SVIT_KEEP_BEST;
        p.trainer.prefetch = 0;
        p.trainer.label_smoothing = 0.1;
    }
    svit_model *unbroken = fit_model(context, CLASSES, 1);
    svit_trainer *whole = open_trainer(unbroken, &p, validation);
    WORKS(svit_trainer_run(whole, NULL, NULL, err));
    fit_folder own = fit_folder_make();
    p.trainer.folder = own.path;
    for (int event = 1; event <= EVENTS; event++) {
        svit_model *model = fit_model(context, CLASSES, 1);
        p.trainer.memory = event % 3; /* which does not change the result */
        p.trainer.existing = SVIT_EXISTING_OVERWRITE;
        svit_trainer *first = open_trainer(model, &p, validation);
        int left = event;
        FAILS(svit_trainer_run(first, stop_after, &left, err), SVIT_E_STOPPED, "77");
        ck_assert_int_eq(svit_trainer_stop_value(first), 77);
        svit_trainer_free(first);
        svit_model_free(model);

        model = fit_model(context, CLASSES, 99);
        p.trainer.memory = (event + 1) % 3;
        p.trainer.existing = SVIT_EXISTING_RESUME;
        svit_trainer *second = open_trainer(model, &p, validation);
        WORKS(svit_trainer_resume(second, err));
        WORKS(svit_trainer_run(second, NULL, NULL, err));
        ck_assert_msg(fit_same(model, unbroken), "broken after event %d", event);
        ck_assert_uint_eq(svit_trainer_history_count(second), EPOCHS);
        for (size_t row = 0; row < EPOCHS; row++) {
            svit_trainer_event a, b;
            WORKS(svit_trainer_history(whole, row, &a, sizeof a, err));
            WORKS(svit_trainer_history(second, row, &b, sizeof b, err));
            ck_assert_double_eq(a.train_loss, b.train_loss);
            ck_assert_double_eq(a.train_top1, b.train_top1);
            ck_assert_double_eq(a.val_loss, b.val_loss);
            ck_assert_double_eq(a.learning_rate, b.learning_rate);
            ck_assert_uint_eq(a.best_epoch, b.best_epoch);
        }
        svit_trainer_free(second);
        svit_model_free(model);
    }
    svit_trainer_free(whole);
    svit_model_free(unbroken);
    fit_folder_remove(&own);
}
END_TEST

START_TEST(test_micro_batches_and_leaves_give_the_gradient_of_the_batch)
{
    plan p = plan_make(1);
    p.trainer.folder = NULL;
    svit_model_config config = fit_model_config(CLASSES);
    config.dropout = config.drop_path = 0;
    float *weights[3];
    size_t elements;
    for (int i = 0; i < 3; i++) {
        p.trainer.accumulate = i == 1 ? 3 : 1;
        p.trainer.leaves = i == 2 ? 3 : 0;
        p.optimizer.kind = SVIT_OPTIMIZER_SGD;
        svit_model *model = NULL;
        WORKS(svit_model_create(&model, context, &config, 1, err));
        svit_trainer *trainer = open_trainer(model, &p, NULL);
        WORKS(svit_trainer_run(trainer, NULL, NULL, err));
        weights[i] = fit_weights(model, &elements);
        svit_trainer_free(trainer);
        svit_model_free(model);
    }
    for (size_t i = 0; i < elements; i++) {
        ck_assert_float_eq_tol(weights[0][i], weights[1][i], 1e-6f);
        ck_assert_float_eq_tol(weights[0][i], weights[2][i], 1e-6f);
    }
    for (int i = 0; i < 3; i++)
        free(weights[i]);
}
END_TEST

START_TEST(test_events_tell_where_the_run_stands)
{
    plan p = plan_make(2);
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    for (uint64_t epoch = 1; epoch <= 2; epoch++)
        for (uint64_t step = 1; step <= STEPS + 1; step++) {
            svit_trainer_event event;
            WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
            ck_assert_int_eq(event.kind, step > STEPS ? SVIT_EVENT_EPOCH : SVIT_EVENT_STEP);
            ck_assert_uint_eq(event.epoch, epoch);
            ck_assert_uint_eq(event.epochs, 2);
            ck_assert_uint_eq(event.step, step > STEPS ? STEPS : step);
            ck_assert_uint_eq(event.steps, STEPS);
            ck_assert_double_gt(event.images_per_second, 0);
            ck_assert_double_ge(event.eta_seconds, 0);
            ck_assert_int_eq(isnan(event.val_loss) != 0, step <= STEPS);
        }
    FAILS(svit_trainer_resume(trainer, err), SVIT_E_STATE, "begun");
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

/* A run that is resumed behind the last step of an epoch begins with the validation, which takes
 * time; how long the steps to come take is not known. */
START_TEST(test_a_validation_without_a_step_has_its_time)
{
    plan p = plan_make(3);
    svit_trainer_event event;
    leave_checkpoint(p, validation, STEPS);
    p.trainer.existing = SVIT_EXISTING_RESUME;
    svit_model *model = fit_model(context, CLASSES, 9);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_resume(trainer, err));
    WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    ck_assert_int_eq(event.kind, SVIT_EVENT_EPOCH);
    ck_assert_double_gt(event.seconds, 0);
    ck_assert_double_lt(event.seconds, 600);
    ck_assert_double_eq(event.eta_seconds, 0);
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

/* The line of history.csv that tells an epoch, without validation with empty columns. */
static size_t history_line(char *out, size_t bytes, const svit_trainer_event *row)
{
    const double columns[] = {
        row->train_loss, row->train_top1,    row->train_top5,        row->val_loss, row->val_top1,
        row->val_top5,   row->learning_rate, row->images_per_second, row->seconds,  row->pflop};
    size_t length = (size_t)snprintf(out, bytes, "%u", (unsigned)row->epoch);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        char number[32] = "";
        if (!isnan(columns[i]))
            snprintf(number, sizeof number, "%.9g", columns[i]);
        length += (size_t)snprintf(out + length, bytes - length, ",%s", number);
    }
    return length + (size_t)snprintf(out + length, bytes - length, "\n");
}

START_TEST(test_the_history_file_has_a_line_for_each_epoch)
{
    enum { EPOCHS = 3 };
    plan p = plan_make(EPOCHS);
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, _i ? validation : NULL);
    char wanted[2048];
    size_t length =
        (size_t)snprintf(wanted, sizeof wanted,
                         "epoch,train_loss,train_top1,train_top5,val_loss,val_top1,val_top5,lr,"
                         "images_per_second,seconds,pflop\n");
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    for (size_t i = 0; i < EPOCHS; i++) {
        svit_trainer_event row;
        WORKS(svit_trainer_history(trainer, i, &row, sizeof row, err));
        length += history_line(wanted + length, sizeof wanted - length, &row);
    }
    char *found = fit_read(fit_path(&folder, "history.csv"), NULL);
    ck_assert_str_eq(found, wanted);
    free(found);
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

/* Regression: the message is 'after step 0 of epoch 2' although epoch 1 is complete. */
START_TEST(test_a_stop_tells_the_step_or_the_end_of_the_epoch)
{
    static const char *const places[] = {"77 after step 1 of epoch 1", "77 after step 3 of epoch 1",
                                         "77 at the end of epoch 1", "77 after step 1 of epoch 2",
                                         "77 at the end of epoch 2"};
    static const int events[] = {1, STEPS, STEPS + 1, STEPS + 2, 2 * STEPS + 2};
    plan p = plan_make(2);
    p.trainer.folder = NULL;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        svit_model *model = fit_model(context, CLASSES, 1);
        svit_trainer *trainer = open_trainer(model, &p, validation);
        int left = events[i];
        FAILS(svit_trainer_run(trainer, stop_after, &left, err), SVIT_E_STOPPED, places[i]);
        svit_trainer_free(trainer);
        svit_model_free(model);
    }
}
END_TEST

/* What the callback of a run needs. */
typedef struct inside {
    svit_trainer *trainer;
    svit_model *model;
    size_t epochs;
} inside;

/* Steps and runs are refused. The average, with which the model was validated, is there between two
 * swaps. */
static int32_t look_inside(const svit_trainer_event *event, void *user)
{
    inside *self = user;
    svit_trainer_event other;
    double loss;
    FAILS(svit_trainer_step(self->trainer, &other, sizeof other, err), SVIT_E_STATE,
          "svit_trainer_step: the callback of svit_trainer_run");
    FAILS(svit_trainer_run(self->trainer, NULL, NULL, err), SVIT_E_STATE,
          "svit_trainer_run: the callback of svit_trainer_run");
    FAILS(svit_trainer_resume(self->trainer, err), SVIT_E_STATE, "begun");
    WORKS(svit_trainer_checkpoint(self->trainer, err));
    if (event->kind != SVIT_EVENT_EPOCH)
        return 0;
    self->epochs++;
    WORKS(svit_optimizer_swap_ema(svit_trainer_optimizer(self->trainer), err));
    WORKS(svit_evaluate(context, self->model, validation, NULL, BATCH, &loss, NULL, NULL, err));
    WORKS(svit_optimizer_swap_ema(svit_trainer_optimizer(self->trainer), err));
    ck_assert_double_eq(loss, event->val_loss);
    return 0;
}

START_TEST(test_a_callback_sees_the_average_and_cannot_run_the_trainer)
{
    float *weights[2];
    size_t elements;
    plan p = plan_make(2);
    p.optimizer.ema = SVIT_EMA_PLAIN;
    p.optimizer.ema_momentum = 0.5;
    for (int i = 0; i < 2; i++) {
        svit_model *model = fit_model(context, CLASSES, 1);
        p.trainer.existing = SVIT_EXISTING_OVERWRITE;
        svit_trainer *trainer = open_trainer(model, &p, validation);
        inside self = {trainer, model, 0};
        WORKS(svit_trainer_run(trainer, i ? look_inside : NULL, &self, err));
        ck_assert_uint_eq(self.epochs, i ? 2 : 0);
        weights[i] = fit_weights(model, &elements);
        svit_trainer_free(trainer);
        svit_model_free(model);
    }
    ck_assert_mem_eq(weights[0], weights[1], elements * sizeof(float));
    free(weights[0]);
    free(weights[1]);
}
END_TEST

typedef struct leaving {
    svit_trainer *trainer;
    int32_t answer;
    unsigned events, at;
} leaving;

/* Leaves the average in the model at event `at`. */
static int32_t leave_average(const svit_trainer_event *event, void *user)
{
    (void)event;
    leaving *self = user;
    if (++self->events != self->at)
        return 0;
    WORKS(svit_optimizer_swap_ema(svit_trainer_optimizer(self->trainer), err));
    return self->answer;
}

/* No checkpoint is written that could not be resumed, and the run goes on with the weights. */
START_TEST(test_an_average_that_is_left_in_the_model_is_refused)
{
    plan p = plan_make(2);
    p.optimizer.ema = SVIT_EMA_PLAIN;
    svit_model *whole = train_whole(p, validation);
    p.trainer.existing = SVIT_EXISTING_OVERWRITE;
    for (unsigned at = 1; at <= 2 * (STEPS + 1); at++) {
        svit_model *model = fit_model(context, CLASSES, 1);
        svit_trainer *trainer = open_trainer(model, &p, validation);
        leaving self = {trainer, _i, 0, at};
        FAILS(svit_trainer_run(trainer, leave_average, &self, err), SVIT_E_STATE,
              "the model holds the average of its weights");
        FAILS(svit_trainer_checkpoint(trainer, err), SVIT_E_STATE, "svit_optimizer_swap_ema");
        WORKS(svit_optimizer_swap_ema(svit_trainer_optimizer(trainer), err));
        WORKS(svit_trainer_checkpoint(trainer, err));
        WORKS(svit_trainer_run(trainer, NULL, NULL, err));
        ck_assert(fit_same(model, whole));
        svit_trainer_free(trainer);
        svit_model_free(model);
    }
    svit_model_free(whole);
}
END_TEST

/* Updates that the program makes with the trainer's optimiser are none of the run's, whose last
 * checkpoint stays. */
START_TEST(test_updates_of_the_programs_own_are_refused)
{
    plan p = plan_make(2), again = p;
    svit_model *whole = train_whole(p, validation);
    p.trainer.existing = SVIT_EXISTING_OVERWRITE;
    again.trainer.existing = SVIT_EXISTING_RESUME;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    svit_trainer_event event;
    WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    WORKS(svit_trainer_checkpoint(trainer, err));
    svit_session *session = NULL;
    svit_session_config options;
    WORKS(svit_session_config_init(&options, sizeof options));
    options.mode = SVIT_MODE_TRAIN;
    WORKS(svit_session_create(&session, model, &options, err));
    WORKS(svit_step(svit_trainer_optimizer(trainer), session, err));
    FAILS(svit_trainer_checkpoint(trainer, err), SVIT_E_STATE,
          "the trainer's optimiser counts 2 updates and the run 1, so that no checkpoint");
    FAILS(svit_trainer_run(trainer, NULL, NULL, err), SVIT_E_STATE,
          "the trainer's optimiser counts 4 updates and the run 3");
    svit_session_free(session);
    svit_trainer_free(trainer);
    trainer = open_trainer(model, &again, validation);
    WORKS(svit_trainer_resume(trainer, err));
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    ck_assert(fit_same(model, whole));
    svit_trainer_free(trainer);
    svit_model_free(model);
    svit_model_free(whole);
}
END_TEST

START_TEST(test_what_cannot_be_trained_is_refused_and_the_model_stays)
{
    svit_model *model = fit_model(context, 2, 1);
    plan p = plan_make(1);
    svit_trainer *trainer = NULL;
#define CREATE(m, v)                                                                               \
    svit_trainer_create(&trainer, context, m, training, v, &p.trainer, &p.optimizer, &p.pipeline,  \
                        err)
    FAILS(CREATE(model, NULL), SVIT_E_ARGUMENT, "3 classes");
    FAILS(CREATE(NULL, NULL), SVIT_E_ARGUMENT, "model is NULL");
    svit_model_free(model);
    model = fit_model(context, CLASSES, 1);
    p.trainer.keep = SVIT_KEEP_BEST;
    FAILS(CREATE(model, NULL), SVIT_E_ARGUMENT, "keep is 'best' and there is no validation data");
    p = plan_make(0);
    FAILS(CREATE(model, NULL), SVIT_E_ARGUMENT, "epochs is 0");
    p = plan_make(1);
    p.trainer.accumulate = BATCH + 1;
    FAILS(CREATE(model, NULL), SVIT_E_ARGUMENT, "accumulate is 9");
    p = plan_make(1);
    p.trainer.memory = 3;
    FAILS(CREATE(model, NULL), SVIT_E_ARGUMENT,
          "memory is 3; it is 0..2: 'store' or 'blocks' or 'stages'");
    p = plan_make(1);
    p.trainer.label_smoothing = 1;
    FAILS(CREATE(model, NULL), SVIT_E_ARGUMENT, "label_smoothing");
    p = plan_make(1);
    p.optimizer.beta1 = 2;
    FAILS(CREATE(model, NULL), SVIT_E_ARGUMENT, "beta1");
    p = plan_make(1);
    p.pipeline.output_height = 4;
    FAILS(CREATE(model, NULL), SVIT_E_ARGUMENT, "4 x 8");
    svit_pipeline_config pipeline;
    FAILS(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, err), SVIT_E_STATE, "");
    ck_assert_ptr_null(trainer);
    svit_model_free(model);
}
END_TEST

START_TEST(test_a_struct_smaller_than_the_first_version_is_refused)
{
    plan p = plan_make(1);
    svit_model *model = fit_model(context, CLASSES, 1);
    p.trainer.struct_size = offsetof(svit_trainer_config, loss) - 1;
    svit_trainer *trainer = NULL;
    FAILS(svit_trainer_create(&trainer, context, model, training, NULL, &p.trainer, &p.optimizer,
                              &p.pipeline, err),
          SVIT_E_ARGUMENT, "struct_size of svit_trainer_config");
    svit_model_free(model);
}
END_TEST

START_TEST(test_the_schedule_is_filled_in_from_the_dataset)
{
    plan p = plan_make(5);
    p.trainer.folder = NULL;
    p.optimizer.lr_start = 1e-5;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, NULL);
    svit_optimizer_config filled = p.optimizer;
    filled.total_steps = 13; /* (int)(22 / 8.0 * 5) */
    filled.warmup_steps = 1; /* (int)(0.15 * 13) */
    for (uint64_t step = 0; step < 2 * STEPS; step++) {
        svit_trainer_event event;
        do
            WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
        while (event.kind != SVIT_EVENT_STEP);
        double rate;
        WORKS(svit_learning_rate(&filled, step, &rate, err));
        ck_assert_double_eq(event.learning_rate, rate);
    }
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

START_TEST(test_the_trainer_keeps_what_it_needs_alive)
{
    plan p = plan_make(1);
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    svit_model_free(model);
    svit_dataset_free(validation);
    svit_dataset_free(training);
    svit_context_free(context);
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    svit_trainer_free(trainer);
    validation = training = NULL;
    context = NULL;
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("trainer");
    TCase *c = tcase_create("trainer");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_a_run_broken_after_any_event_and_resumed_gives_the_same_bits, 0, 3);
    tcase_add_test(c, test_micro_batches_and_leaves_give_the_gradient_of_the_batch);
    tcase_add_test(c, test_events_tell_where_the_run_stands);
    tcase_add_test(c, test_a_validation_without_a_step_has_its_time);
    tcase_add_loop_test(c, test_the_history_file_has_a_line_for_each_epoch, 0, 2);
    tcase_add_test(c, test_a_stop_tells_the_step_or_the_end_of_the_epoch);
    tcase_add_test(c, test_a_callback_sees_the_average_and_cannot_run_the_trainer);
    tcase_add_loop_test(c, test_an_average_that_is_left_in_the_model_is_refused, 0, 2);
    tcase_add_test(c, test_updates_of_the_programs_own_are_refused);
    tcase_add_test(c, test_what_cannot_be_trained_is_refused_and_the_model_stays);
    tcase_add_test(c, test_a_struct_smaller_than_the_first_version_is_refused);
    tcase_add_test(c, test_the_schedule_is_filled_in_from_the_dataset);
    tcase_add_test(c, test_the_trainer_keeps_what_it_needs_alive);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
