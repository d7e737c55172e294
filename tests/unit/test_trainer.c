/* The trainer: resuming to the bit, early stopping, the best weights, history, stopping. */
#include "fit.h"

#include <math.h>
#include <stddef.h>
#include <sys/stat.h>

enum { SAMPLES = 22, VALIDATION = 10, SIDE = 8, CLASSES = 3, BATCH = 8, STEPS = 3 };

static svit_context *context;
static fit_folder folder;
static uint8_t pictures[SAMPLES * SIDE * SIDE * 3];
static int32_t labels[SAMPLES];
static svit_dataset *training, *validation;

/* Pictures of noise; class c is brighter in channel c. */
static void setup(void)
{
    context = fit_context(2);
    folder = fit_folder_make();
    uint32_t state = 1;
    for (size_t i = 0; i < SAMPLES; i++) {
        labels[i] = (int32_t)(i % CLASSES);
        for (size_t k = 0; k < SIDE * SIDE * 3; k++) {
            state = state * 1664525u + 1013904223u;
            uint32_t bright = k % 3 == i % CLASSES ? 90 : 0;
            pictures[i * SIDE * SIDE * 3 + k] = (uint8_t)((state >> 24) % 120 + bright);
        }
    }
    WORKS(svit_dataset_memory(&training, context, pictures, labels, SAMPLES, SIDE, SIDE, CLASSES,
                              err));
    WORKS(svit_dataset_slice(&validation, training, 0, VALIDATION, err));
}

static void teardown(void)
{
    svit_dataset_free(validation);
    svit_dataset_free(training);
    svit_context_free(context);
    fit_folder_remove(&folder);
}

typedef struct plan {
    svit_trainer_config trainer;
    svit_optimizer_config optimizer;
    svit_pipeline_config pipeline;
} plan;

static plan plan_make(uint32_t epochs)
{
    plan p;
    WORKS(svit_training_preset("shiftvit-cifar10", &p.trainer, sizeof p.trainer, &p.optimizer,
                               sizeof p.optimizer, &p.pipeline, sizeof p.pipeline, err));
    p.trainer.epochs = epochs;
    p.trainer.batch = BATCH;
    p.trainer.patience = 0;
    p.trainer.seed = 3;
    p.trainer.folder = folder.path;
    p.optimizer.learning_rate = 0.01;
    p.pipeline.source_height = p.pipeline.source_width = SIDE;
    p.pipeline.resize_height = p.pipeline.resize_width = SIDE + 2;
    p.pipeline.output_height = p.pipeline.output_width = SIDE;
    return p;
}

static svit_trainer *open_trainer(svit_model *model, const plan *p, svit_dataset *with)
{
    svit_trainer *trainer = NULL;
    WORKS(svit_trainer_create(&trainer, context, model, training, with, &p->trainer, &p->optimizer,
                              &p->pipeline, err));
    return trainer;
}

/* Stops at event number `left`, counted down to 0; never where it is below 0. */
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
    if (_i) { /* averages, parts, best weights, no prefetch */
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
    for (int event = 1; event <= EVENTS; event++) {
        svit_model *model = fit_model(context, CLASSES, 1);
        p.trainer.memory = event % 3; /* which has no say in the bits */
        svit_trainer *first = open_trainer(model, &p, validation);
        int left = event;
        FAILS(svit_trainer_run(first, stop_after, &left, err), SVIT_E_STOPPED, "77");
        ck_assert_int_eq(svit_trainer_stop_value(first), 77);
        svit_trainer_free(first);
        svit_model_free(model);

        model = fit_model(context, CLASSES, 99);
        p.trainer.memory = (event + 1) % 3;
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
}
END_TEST

START_TEST(test_parts_of_a_batch_give_the_gradient_of_the_whole)
{
    plan p = plan_make(1);
    p.trainer.folder = NULL;
    svit_model_config config = fit_model_config(CLASSES);
    config.dropout = config.drop_path = 0;
    float *weights[2];
    size_t elements;
    for (int i = 0; i < 2; i++) {
        p.trainer.accumulate = i ? 3 : 1;
        p.optimizer.kind = SVIT_OPTIMIZER_SGD;
        svit_model *model = NULL;
        WORKS(svit_model_create(&model, context, &config, 1, err));
        svit_trainer *trainer = open_trainer(model, &p, NULL);
        WORKS(svit_trainer_run(trainer, NULL, NULL, err));
        weights[i] = fit_weights(model, &elements);
        svit_trainer_free(trainer);
        svit_model_free(model);
    }
    for (size_t i = 0; i < elements; i++)
        ck_assert_float_eq_tol(weights[0][i], weights[1][i], 1e-6f);
    free(weights[0]);
    free(weights[1]);
}
END_TEST

START_TEST(test_patience_ends_a_run_that_does_not_get_better)
{
    plan p = plan_make(50);
    p.trainer.patience = 2;
    p.optimizer.schedule = SVIT_SCHEDULE_CONSTANT;
    p.optimizer.learning_rate = 0; /* nothing ever changes: epoch 1 is the best */
    p.optimizer.weight_decay = 0;
    svit_model *model = fit_model(context, CLASSES, 1), *same = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    svit_trainer_event event = {0};
    do
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    while (event.kind != SVIT_EVENT_FINISHED);
    ck_assert_int_eq(event.stopped_early, 1);
    ck_assert_uint_eq(event.epoch, 3);
    ck_assert_uint_eq(event.best_epoch, 1);
    ck_assert_uint_eq(svit_trainer_history_count(trainer), 3);
    ck_assert(fit_same(model, same));
    WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    ck_assert_int_eq(event.kind, SVIT_EVENT_FINISHED);
    svit_trainer_free(trainer);
    svit_model_free(model);
    svit_model_free(same);
}
END_TEST

START_TEST(test_patience_counts_from_the_best_epoch)
{
    enum { PATIENCE = 3 };
    plan p = plan_make(60);
    p.trainer.patience = PATIENCE;
    p.trainer.folder = NULL;
    p.optimizer.schedule = SVIT_SCHEDULE_CONSTANT;
    p.optimizer.learning_rate = 5e-3;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    size_t rows = svit_trainer_history_count(trainer);
    uint64_t waits = 0; /* epochs without a better one, all together */
    svit_trainer_event row;
    for (size_t i = 0; i < rows; i++) {
        WORKS(svit_trainer_history(trainer, i, &row, sizeof row, err));
        ck_assert_int_eq(row.epoch - row.best_epoch >= PATIENCE, i + 1 == rows);
        waits += row.best_epoch != row.epoch;
    }
    ck_assert_uint_lt(rows, 60);
    ck_assert_uint_gt(waits, PATIENCE);
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

START_TEST(test_the_best_weights_are_kept_and_written)
{
    plan p = plan_make(4);
    p.trainer.keep = SVIT_KEEP_BEST;
    svit_model *model = fit_model(context, CLASSES, 1), *best = NULL;
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    svit_trainer_event row;
    double most = -1;
    uint64_t epoch = 0;
    for (size_t i = 0; i < svit_trainer_history_count(trainer); i++) {
        WORKS(svit_trainer_history(trainer, i, &row, sizeof row, err));
        if (row.val_top1 > most) {
            most = row.val_top1;
            epoch = i + 1;
        }
        ck_assert_uint_eq(row.best_epoch, epoch);
    }
    double top1;
    WORKS(svit_evaluate(context, model, validation, &p.pipeline, 4, NULL, &top1, NULL, err));
    ck_assert_double_eq(top1, most);
    double loss[3];
    for (int32_t i = SVIT_COMPUTE_F32; i <= SVIT_COMPUTE_INT8; i++) {
        WORKS(svit_evaluate_as(context, model, validation, &p.pipeline, 4, i, &loss[i], NULL, NULL,
                               err));
        ck_assert_double_eq_tol(loss[i], loss[0], 0.02);
    }
    FAILS(svit_evaluate_as(context, model, validation, &p.pipeline, 4, 3, NULL, &top1, NULL, err),
          SVIT_E_ARGUMENT, "compute is 3");
    WORKS(svit_model_load(&best, context, fit_path(&folder, "best.safetensors"), err));
    ck_assert(fit_same(model, best));
    svit_trainer_free(trainer);
    svit_model_free(model);
    svit_model_free(best);
}
END_TEST

START_TEST(test_history_has_a_row_an_epoch_with_the_known_columns)
{
    plan p = plan_make(2);
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, NULL);
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    char *text = fit_read(fit_path(&folder, "history.csv"), NULL);
    static const char head[] = "epoch,train_loss,train_top1,train_top5,val_loss,val_top1,val_top5,"
                               "lr,images_per_second,seconds\n";
    ck_assert(strncmp(text, head, strlen(head)) == 0);
    int epoch;
    double loss, top1, top5;
    ck_assert_int_eq(sscanf(text + strlen(head), "%d,%lf,%lf,%lf,,,,", &epoch, &loss, &top1, &top5),
                     4);
    svit_trainer_event row;
    WORKS(svit_trainer_history(trainer, 0, &row, sizeof row, err));
    ck_assert_double_eq_tol(loss, row.train_loss, 1e-8);
    ck_assert(isnan(row.val_top1));
    ck_assert_uint_eq(row.best_epoch, 0);
    ck_assert_double_eq(top5, 1);
    FAILS(svit_trainer_history(trainer, 2, &row, sizeof row, err), SVIT_E_ARGUMENT, "index is 2");
    free(text);
    svit_trainer_free(trainer);
    svit_model_free(model);
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

START_TEST(test_another_configuration_is_refused_at_resume_by_field)
{
    plan p = plan_make(2);
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_checkpoint(trainer, err));
    svit_trainer_free(trainer);
    for (int i = 0; i < 8; i++) {
        plan other = p;
        static const char *const fields[] = {"epochs is 2",      "batch is 8",      "seed is 3",
                                             "patience",         "optimizer.beta1", "pipeline",
                                             "validation_count", "optimizer.kind"};
        other.trainer.epochs += i == 0;
        other.trainer.batch += i == 1;
        other.trainer.seed += i == 2;
        other.trainer.patience += i == 3;
        other.optimizer.beta1 = i == 4 ? 0.5 : other.optimizer.beta1;
        other.pipeline.flip_probability = i == 5 ? 0.25 : 0.5;
        other.optimizer.kind = i == 7;
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

/* Overwrites each `part` of the checkpoint with spaces; returns how many there were. */
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

/* A checkpoint's text of the pipeline was compared as it stood, so that none from before rotation
 * and zoom could be resumed. */
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
    trainer = open_trainer(model, &p, validation);
    FAILS(svit_trainer_resume(trainer, err), SVIT_E_ARGUMENT, "pipeline");
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
    FAILS(svit_trainer_run(trainer, NULL, NULL, err), SVIT_E_NUMERIC, "");
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
    plan p = plan_make(2);
    svit_model *unbroken = fit_model(context, CLASSES, 1), *model = fit_model(context, CLASSES, 1);
    svit_trainer *whole = open_trainer(unbroken, &p, validation);
    WORKS(svit_trainer_run(whole, NULL, NULL, err));
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
    svit_trainer_free(whole);
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
    /* best.safetensors can be written, history.csv cannot: a folder has its name. */
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
    FAILS(CREATE(model, NULL), SVIT_E_ARGUMENT, "validation is NULL");
    p = plan_make(0);
    FAILS(CREATE(model, NULL), SVIT_E_ARGUMENT, "epochs is 0");
    p = plan_make(1);
    p.trainer.accumulate = BATCH + 1;
    FAILS(CREATE(model, NULL), SVIT_E_ARGUMENT, "accumulate is 9");
    p = plan_make(1);
    p.trainer.memory = 3;
    FAILS(CREATE(model, NULL), SVIT_E_ARGUMENT, "memory is 3; it is in [0, 2]");
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

/* `memory` came to the struct later. */
START_TEST(test_a_caller_without_the_last_field_stores)
{
    plan p = plan_make(1);
    svit_model *model = fit_model(context, CLASSES, 1);
    p.trainer.struct_size = offsetof(svit_trainer_config, memory);
    p.trainer.memory = 3; /* not his */
    svit_trainer_free(open_trainer(model, &p, NULL));
    p.trainer.struct_size--;
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
    tcase_set_timeout(c, 240);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_a_run_broken_after_any_event_and_resumed_gives_the_same_bits, 0, 2);
    tcase_add_test(c, test_parts_of_a_batch_give_the_gradient_of_the_whole);
    tcase_add_test(c, test_patience_ends_a_run_that_does_not_get_better);
    tcase_add_test(c, test_patience_counts_from_the_best_epoch);
    tcase_add_test(c, test_the_best_weights_are_kept_and_written);
    tcase_add_test(c, test_history_has_a_row_an_epoch_with_the_known_columns);
    tcase_add_test(c, test_events_tell_where_the_run_stands);
    tcase_add_test(c, test_another_configuration_is_refused_at_resume_by_field);
    tcase_add_test(c, test_a_checkpoint_from_before_a_field_of_the_pipeline_is_resumed);
    tcase_add_test(c, test_without_a_checkpoint_or_folder_there_is_nothing_to_resume);
    tcase_add_test(c, test_weights_that_blow_up_are_an_error_and_the_checkpoint_stays);
    tcase_add_test(c, test_an_epoch_whose_files_cannot_be_written_is_done_again);
    tcase_add_test(c, test_a_history_that_cannot_be_written_undoes_the_epochs_end);
    tcase_add_test(c, test_what_cannot_be_trained_is_refused_and_the_model_stays);
    tcase_add_test(c, test_a_caller_without_the_last_field_stores);
    tcase_add_test(c, test_the_schedule_is_filled_in_from_the_dataset);
    tcase_add_test(c, test_the_trainer_keeps_what_it_needs_alive);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
