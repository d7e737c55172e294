/* Checks trainers whose loss is a function of the program: it replaces the loss bit for bit, its
 * failures lose nothing, and a resumed run needs it again. */
#include "trainer_support.h"

#include <math.h>
#include <stdbool.h>

/* What the function of a test does, and what it has seen. */
typedef struct custom {
    int32_t loss;        /* SVIT_LOSS_* that it repeats */
    float smoothing;     /* of labels */
    int calls, fails_at; /* number of the call that fails; 0: none */
    int32_t status;      /* of that failure; SVIT_OK: see `fault` */
    enum { NO_MESSAGE, MESSAGE, NO_LOSS, NO_GRADIENT, NO_LAST_GRADIENT, INFINITE } fault;
    size_t largest, samples;
} custom;

static svit_status break_down(svit_loss_call *call, const custom *self, svit_error *err)
{
    for (size_t i = self->fault == NO_LAST_GRADIENT; i < call->n * call->classes; i++)
        call->dlogits[call->n * call->classes - 1 - i] = 0;
    call->loss = 1;
    if (self->fault == MESSAGE)
        return svit_error_set(err, self->status, "the teacher is ill");
    if (self->fault == NO_LOSS)
        call->loss = NAN;
    if (self->fault == INFINITE)
        call->dlogits[call->n * call->classes - 1] = INFINITY;
    return self->status;
}

static svit_status custom_loss(svit_loss_call *call, void *user, svit_error *err)
{
    custom *self = user;
    ck_assert_uint_eq(call->struct_size, sizeof *call);
    ck_assert_uint_eq(call->classes, CLASSES);
    ck_assert_ptr_nonnull(err);
    ck_assert((call->labels == NULL) != (call->targets == NULL));
    if (++self->calls == self->fails_at) {
        if (self->fault == NO_GRADIENT) {
            call->loss = 1;
            return SVIT_OK;
        }
        return break_down(call, self, err);
    }
    self->samples += call->n;
    self->largest = call->n > self->largest ? call->n : self->largest;
    if (self->loss == SVIT_LOSS_MSE)
        return svit_mean_squared_error(call->logits, call->targets, call->n, CLASSES, &call->loss,
                                       call->dlogits, err);
    if (self->loss == SVIT_LOSS_BINARY)
        return svit_binary_cross_entropy(call->logits, call->targets, NULL, call->n, CLASSES,
                                         self->smoothing, &call->loss, call->dlogits, err);
    if (call->targets)
        return svit_cross_entropy_soft(call->logits, call->targets, call->n, CLASSES, &call->loss,
                                       call->dlogits, err);
    return svit_cross_entropy(call->logits, call->labels, call->n, CLASSES, self->smoothing,
                              &call->loss, call->dlogits, err);
}

static float targets[SAMPLES * CLASSES];

static void set_targets(void)
{
    for (size_t i = 0; i < SAMPLES * CLASSES; i++)
        targets[i] = (float)(i % 5 % 2);
    svit_dataset_free(validation);
    svit_dataset_free(training);
    WORKS(svit_dataset_memory_targets(&training, context, images, targets, SAMPLES, SIDE, SIDE, 3,
                                      CLASSES, err));
    WORKS(svit_dataset_slice(&validation, training, 0, VALIDATION, err));
}

/* Patches of 2 pixels, so that the last stage has 2 x 2 tokens, which the shift does not clear. */
static svit_model *new_model(void)
{
    svit_model_config config = fit_model_config(CLASSES);
    svit_model *model = NULL;
    config.patch_size = 2;
    WORKS(svit_model_create(&model, context, &config, 1, err));
    return model;
}

/* All weights of the model: as many in every test. */
enum { WEIGHTS = 2083 };

enum { EPOCHS = 3 };

/* Runs a plan with its loss or with a function, and returns the weights and the last row. */
static float *run(const plan *p, custom *with, svit_trainer_event *row)
{
    svit_model *model = new_model();
    svit_trainer *trainer = open_trainer(model, p, validation);
    if (with)
        WORKS(svit_trainer_set_loss(trainer, custom_loss, with, err));
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    WORKS(svit_trainer_history(trainer, EPOCHS - 1, row, sizeof *row, err));
    size_t elements;
    float *weights = fit_weights(model, &elements);
    ck_assert_uint_eq(elements, WEIGHTS);
    svit_trainer_free(trainer);
    svit_model_free(model);
    return weights;
}

static const struct {
    int32_t loss;
    bool mixes;
    float smoothing;
    uint32_t accumulate; /* 3 makes micro-batches of unequal sizes */
} CASES[] = {{SVIT_LOSS_CROSS_ENTROPY, false, 0, 1},
             {SVIT_LOSS_CROSS_ENTROPY, false, 0, 3},
             {SVIT_LOSS_CROSS_ENTROPY, false, 0.1f, 3},
             {SVIT_LOSS_CROSS_ENTROPY, true, 0, 3},
             {SVIT_LOSS_BINARY, false, 0.1f, 3},
             {SVIT_LOSS_MSE, false, 0, 3},
             {SVIT_LOSS_MSE, false, 0, 1}};
enum { CASE_COUNT = sizeof CASES / sizeof *CASES };

static plan plan_of(size_t index)
{
    plan p = plan_make(EPOCHS);
    p.trainer.folder = NULL;
    p.trainer.loss = CASES[index].loss;
    p.trainer.accumulate = CASES[index].accumulate;
    p.trainer.label_smoothing = (double)CASES[index].smoothing;
    if (CASES[index].mixes)
        WORKS(svit_training_from_json(&p.trainer, &p.optimizer, &p.pipeline,
                                      "{\"augment\":[{\"name\":\"mixup\"}]}", err));
    if (p.trainer.loss != SVIT_LOSS_CROSS_ENTROPY)
        set_targets();
    return p;
}

START_TEST(test_a_function_that_repeats_the_loss_gives_the_same_bits)
{
    const size_t index = (size_t)_i, elements = SAMPLES * EPOCHS;
    const plan p = plan_of(index);
    custom with = {.loss = CASES[index].loss, .smoothing = CASES[index].smoothing};
    svit_trainer_event wanted, got;
    float *a = run(&p, NULL, &wanted), *b = run(&p, &with, &got);
    ck_assert_mem_eq(a, b, WEIGHTS * sizeof *a);
    ck_assert_mem_eq(&wanted.train_loss, &got.train_loss, sizeof wanted.train_loss);
    ck_assert_mem_eq(&wanted.val_loss, &got.val_loss, sizeof wanted.val_loss);
    ck_assert_uint_eq(with.samples, elements);
    ck_assert_uint_eq(with.largest, CASES[index].accumulate == 1 ? BATCH : 3);
    free(a);
    free(b);
}
END_TEST

/* Class weights and smoothing of the configuration do not reach a function. */
START_TEST(test_the_configuration_does_not_change_a_function)
{
    plan p = plan_of(1);
    custom with = {0}, again = {0};
    svit_trainer_event row;
    float *a = run(&p, &with, &row);
    p.trainer.label_smoothing = 0.3;
    p.trainer.class_weight_count = CLASSES;
    for (int i = 0; i < CLASSES; i++)
        p.trainer.class_weights[i] = 1 + i;
    float *b = run(&p, &again, &row);
    ck_assert_mem_eq(a, b, WEIGHTS * sizeof(float));
    free(a);
    free(b);
}
END_TEST

static const struct {
    int32_t status, fault;
    int32_t reported;
    const char *text;
} FAULTS[] = {
    {SVIT_E_IO, MESSAGE, SVIT_E_IO, "the teacher is ill"},
    {SVIT_E_STOPPED, NO_MESSAGE, SVIT_E_STOPPED, "the loss function returned -7 (SVIT_E_STOPPED)"},
    {3, NO_MESSAGE, SVIT_E_STOPPED, "the loss function returned 3"},
    {SVIT_OK, NO_LOSS, SVIT_E_NUMERIC, "the loss function gave the loss nan"},
    {SVIT_OK, NO_GRADIENT, SVIT_E_NUMERIC, "dlogits[0] is nan"},
    {SVIT_OK, NO_LAST_GRADIENT, SVIT_E_NUMERIC, "dlogits[8] is nan"},
    {SVIT_OK, INFINITE, SVIT_E_NUMERIC, "dlogits[8] is inf"}};
enum { FAULT_COUNT = sizeof FAULTS / sizeof *FAULTS };

/* The second micro-batch of the second step fails; the run goes on as if it had not. */
START_TEST(test_a_failing_function_loses_nothing)
{
    const plan p = plan_of(1);
    custom with = {0};
    svit_trainer_event row, event;
    float *wanted = run(&p, &with, &row);
    custom failing = {.fails_at = 5, .status = FAULTS[_i].status, .fault = FAULTS[_i].fault};
    svit_model *model = new_model();
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_set_loss(trainer, custom_loss, &failing, err));
    WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    float *before = fit_weights(model, NULL);
    FAILS(svit_trainer_run(trainer, NULL, NULL, err), FAULTS[_i].reported, FAULTS[_i].text);
    ck_assert_uint_eq(svit_optimizer_steps(svit_trainer_optimizer(trainer)), 1);
    float *after = fit_weights(model, NULL);
    ck_assert_mem_eq(before, after, WEIGHTS * sizeof(float));
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    float *got = fit_weights(model, NULL);
    ck_assert_mem_eq(got, wanted, WEIGHTS * sizeof *got);
    svit_trainer_free(trainer);
    svit_model_free(model);
    free(before);
    free(after);
    free(got);
    free(wanted);
}
END_TEST

static svit_trainer *reopen(svit_model *model, plan p)
{
    p.trainer.existing = SVIT_EXISTING_RESUME;
    return open_trainer(model, &p, validation);
}

START_TEST(test_a_resumed_run_needs_the_function_again)
{
    plan p = plan_of(1);
    custom with = {0}, first = {0}, second = {0};
    svit_trainer_event event;
    float *wanted = run(&p, &with, &event);
    p.trainer.folder = folder.path;
    svit_model *model = new_model();
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_set_loss(trainer, custom_loss, &first, err));
    for (int i = 0; i < 2; i++)
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    WORKS(svit_trainer_checkpoint(trainer, err));
    svit_trainer_free(trainer);
    trainer = reopen(model, p);
    FAILS(svit_trainer_resume(trainer, err), SVIT_E_ARGUMENT,
          "the checkpoint's run has 'loss cross-entropy by a function, sampling shuffle, tta none, "
          "class "
          "weights', this one 'loss cross-entropy, sampling");
    WORKS(svit_trainer_set_loss(trainer, custom_loss, &second, err));
    WORKS(svit_trainer_resume(trainer, err));
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    float *got = fit_weights(model, NULL);
    ck_assert_mem_eq(got, wanted, WEIGHTS * sizeof *got);
    ck_assert_uint_eq(first.samples + second.samples, SAMPLES * EPOCHS);
    svit_trainer_free(trainer);
    svit_model_free(model);
    free(got);
    free(wanted);
}
END_TEST

static svit_status below_zero(svit_loss_call *call, void *user, svit_error *err)
{
    const svit_status status = custom_loss(call, user, err);
    call->loss -= 7;
    return status;
}

/* After each event of the run: within epochs, behind their steps and at their ends. */
START_TEST(test_a_loss_below_0_can_be_resumed)
{
    const size_t index = (size_t)_i % CASE_COUNT;
    const int event_count = _i / CASE_COUNT + 1;
    plan p = plan_of(index);
    custom with = {.loss = CASES[index].loss, .smoothing = CASES[index].smoothing};
    svit_trainer_event wanted_row, row;
    float *wanted = run(&p, &with, &wanted_row);
    p.trainer.folder = folder.path;
    svit_model *model = new_model();
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_set_loss(trainer, below_zero, &with, err));
    for (int i = 0; i < event_count; i++)
        WORKS(svit_trainer_step(trainer, &row, sizeof row, err));
    ck_assert_double_lt(row.train_loss, 0);
    WORKS(svit_trainer_checkpoint(trainer, err));
    svit_trainer_free(trainer);
    trainer = reopen(model, p);
    WORKS(svit_trainer_set_loss(trainer, below_zero, &with, err));
    WORKS(svit_trainer_resume(trainer, err));
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    WORKS(svit_trainer_history(trainer, EPOCHS - 1, &row, sizeof row, err));
    float *got = fit_weights(model, NULL);
    ck_assert_mem_eq(got, wanted, WEIGHTS * sizeof *got);
    ck_assert_double_eq_tol(row.train_loss, wanted_row.train_loss - 7, 1e-5);
    svit_trainer_free(trainer);
    svit_model_free(model);
    free(got);
    free(wanted);
}
END_TEST

START_TEST(test_the_function_can_be_taken_away)
{
    const plan p = plan_of(0);
    custom with = {0};
    svit_trainer_event event;
    svit_model *model = new_model();
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_set_loss(trainer, custom_loss, &with, err));
    WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    ck_assert_int_eq(with.calls, 1);
    WORKS(svit_trainer_set_loss(trainer, NULL, &with, err));
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    ck_assert_int_eq(with.calls, 1);
    FAILS(svit_trainer_set_loss(NULL, custom_loss, NULL, err), SVIT_E_ARGUMENT, "trainer");
    ck_assert_ptr_null(svit_trainer_optimizer(NULL));
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

/* A learning rate of 0 that was set between steps stops the weights. */
START_TEST(test_the_optimizer_may_change_between_steps)
{
    plan p = plan_of(0);
    svit_trainer_event event;
    p.optimizer.schedule = SVIT_SCHEDULE_CONSTANT;
    p.optimizer.ema = SVIT_EMA_NONE;
    p.optimizer.weight_decay = 0;
    svit_model *model = new_model();
    svit_trainer *trainer = open_trainer(model, &p, validation);
    svit_optimizer *optimizer = svit_trainer_optimizer(trainer);
    float *before = fit_weights(model, NULL);
    WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    float *one = fit_weights(model, NULL);
    ck_assert_mem_ne(before, one, WEIGHTS * sizeof(float));
    WORKS(svit_optimizer_set_f64(optimizer, "learning_rate", 0, err));
    WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    float *two = fit_weights(model, NULL);
    ck_assert_mem_eq(one, two, WEIGHTS * sizeof(float));
    ck_assert_uint_eq(svit_optimizer_steps(optimizer), 2);
    svit_trainer_free(trainer);
    svit_model_free(model);
    free(before);
    free(one);
    free(two);
}
END_TEST

/* The rate that was set before a step is that of its event, and of the epoch's after its last step,
 * whatever is set before that. */
START_TEST(test_an_event_has_the_rate_of_its_step)
{
    const int32_t schedules[] = {SVIT_SCHEDULE_CONSTANT, SVIT_SCHEDULE_WARMUP_COSINE};
    plan p = plan_of(0);
    svit_trainer_event event, row;
    p.optimizer.schedule = schedules[_i];
    svit_model *model = new_model();
    svit_trainer *trainer = open_trainer(model, &p, validation);
    svit_optimizer *optimizer = svit_trainer_optimizer(trainer);
    double factor = 1, rate = 0;
    uint64_t total = 0;
    for (int i = 0; i < EPOCHS * (STEPS + 1); i++) {
        const double set = 0.01 * (1 + i % 3);
        WORKS(svit_optimizer_set_f64(optimizer, "learning_rate", set, err));
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
        if (event.kind == SVIT_EVENT_STEP) {
            svit_optimizer_config config = p.optimizer;
            total = (uint64_t)((double)SAMPLES / BATCH * EPOCHS);
            config.total_steps = total;
            config.warmup_steps = (uint64_t)(p.trainer.warmup_fraction * (double)total);
            config.learning_rate = 1;
            config.lr_start = p.optimizer.lr_start / set;
            WORKS(svit_learning_rate(&config, svit_optimizer_steps(optimizer) - 1, &factor, err));
            rate = factor * set;
        }
        ck_assert_double_eq_tol(event.learning_rate, rate, 1e-15);
    }
    WORKS(svit_trainer_history(trainer, EPOCHS - 1, &row, sizeof row, err));
    ck_assert_double_eq(row.learning_rate, event.learning_rate);
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("trainer_loss");
    TCase *c = tcase_create("trainer_loss");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_a_function_that_repeats_the_loss_gives_the_same_bits, 0,
                        CASE_COUNT);
    tcase_add_test(c, test_the_configuration_does_not_change_a_function);
    tcase_add_loop_test(c, test_a_failing_function_loses_nothing, 0, FAULT_COUNT);
    tcase_add_test(c, test_a_resumed_run_needs_the_function_again);
    tcase_add_loop_test(c, test_a_loss_below_0_can_be_resumed, 0,
                        CASE_COUNT * EPOCHS * (STEPS + 1));
    tcase_add_test(c, test_the_function_can_be_taken_away);
    tcase_add_test(c, test_the_optimizer_may_change_between_steps);
    tcase_add_loop_test(c, test_an_event_has_the_rate_of_its_step, 0, 2);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
