/* Checks runs whose objective is not the plain cross-entropy of labels: losses of targets, class
 * weights, mixed images and test-time augmentation; and that they resume. */
#include "trainer_support.h"

#include <math.h>

/* Targets of each sample: for SVIT_LOSS_BINARY whether it is of class 0, whether it is not, and
 * whether its number is odd; otherwise numbers that its class gives. */
static float targets[SAMPLES * CLASSES];

static void set_targets(int32_t loss)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        float label = (float)(i % CLASSES);
        targets[3 * i] = loss == SVIT_LOSS_BINARY ? label == 0 : label;
        targets[3 * i + 1] = loss == SVIT_LOSS_BINARY ? label != 0 : -label / 2;
        targets[3 * i + 2] = loss == SVIT_LOSS_BINARY ? (float)(i % 2) : 0.25f;
    }
    svit_dataset_free(validation);
    svit_dataset_free(training);
    WORKS(svit_dataset_memory_targets(&training, context, images, targets, SAMPLES, SIDE, SIDE, 3,
                                      CLASSES, err));
    WORKS(svit_dataset_slice(&validation, training, 0, VALIDATION, err));
}

/* A model without dropout. */
static svit_model *exact_model(void)
{
    svit_model_config config = fit_model_config(CLASSES);
    config.dropout = config.drop_path = 0;
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, &config, 1, err));
    return model;
}

/* The mean loss of the model on the validation set, from its logits. */
static double loss_of(svit_model *model, const plan *p)
{
    float logits[VALIDATION * CLASSES], loss;
    int32_t unset[VALIDATION];
    WORKS(svit_evaluate_logits(context, model, validation, &p->pipeline, 4, SVIT_COMPUTE_F32,
                               SVIT_TTA_NONE, logits, unset, err));
    ck_assert_int_eq(unset[3], -1);
    if (p->trainer.loss == SVIT_LOSS_BINARY)
        WORKS(svit_binary_cross_entropy(logits, targets, NULL, VALIDATION, CLASSES, 0, &loss, NULL,
                                        err));
    else
        WORKS(svit_mean_squared_error(logits, targets, VALIDATION, CLASSES, &loss, NULL, err));
    return (double)loss;
}

enum { EPOCHS = 6 };

/* Sums the gradients of the loss over all samples with the public functions. */
static void find_gradients(svit_model *model, const plan *p, float *gradients)
{
    float logits[SAMPLES * CLASSES], dlogits[SAMPLES * CLASSES], loss;
    static float input[SAMPLES * SIDE * SIDE * 3];
    svit_session_config config;
    svit_session *session = NULL;
    WORKS(svit_session_config_init(&config, sizeof config));
    config.mode = SVIT_MODE_TRAIN;
    config.max_batch = SAMPLES;
    WORKS(svit_session_create(&session, model, &config, err));
    WORKS(svit_pipeline_apply_evaluation(context, &p->pipeline, images, SAMPLES, SIDE, SIDE, input,
                                         err));
    WORKS(svit_forward(session, input, SAMPLES, logits, err));
    if (p->trainer.loss == SVIT_LOSS_BINARY)
        WORKS(svit_binary_cross_entropy(logits, targets, NULL, SAMPLES, CLASSES, 0, &loss, dlogits,
                                        err));
    else
        WORKS(svit_mean_squared_error(logits, targets, SAMPLES, CLASSES, &loss, dlogits, err));
    WORKS(svit_backward(session, dlogits, SAMPLES, err));
    fit_copy_gradients(model, session, gradients);
    svit_session_free(session);
}

/* A loss that is infinite as a float used to be a row of the history. */
START_TEST(test_a_run_ends_where_its_loss_is_infinite)
{
    plan p = plan_make(3);
    p.trainer.loss = SVIT_LOSS_MSE;
    set_targets(SVIT_LOSS_MSE);
    for (size_t i = 0; i < SAMPLES * CLASSES; i++)
        targets[i] = 3e38f;
    svit_dataset_free(training);
    WORKS(svit_dataset_memory_targets(&training, context, images, targets, SAMPLES, SIDE, SIDE, 3,
                                      CLASSES, err));
    svit_model *model = exact_model();
    svit_trainer *trainer = open_trainer(model, &p, validation);
    FAILS(svit_trainer_run(trainer, NULL, NULL, err), SVIT_E_NUMERIC,
          "epoch 1, step 1 of 3: the loss is 9e+76; logits and targets must be finite");
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

/* One step of SGD on all samples, w = w - gradient, with images as they are. */
START_TEST(test_a_step_follows_the_gradient_of_the_loss)
{
    plan p = plan_make(1);
    p.trainer.loss = _i ? SVIT_LOSS_MSE : SVIT_LOSS_BINARY;
    p.trainer.batch = SAMPLES;
    p.trainer.folder = NULL;
    p.optimizer.kind = SVIT_OPTIMIZER_SGD;
    p.optimizer.schedule = SVIT_SCHEDULE_CONSTANT;
    p.optimizer.learning_rate = 1;
    p.optimizer.momentum = p.optimizer.weight_decay = p.optimizer.clip_norm = 0;
    p.pipeline.resize_height = p.pipeline.resize_width = SIDE;
    p.pipeline.flip_probability = 0;
    set_targets(p.trainer.loss);
    svit_model *model = exact_model();
    size_t elements;
    float *before = fit_weights(model, &elements), *gradients = malloc(elements * sizeof(float));
    find_gradients(model, &p, gradients);
    svit_trainer *trainer = open_trainer(model, &p, NULL);
    ck_assert_int_eq(svit_model_output(model), _i ? SVIT_OUTPUT_LOGITS : SVIT_OUTPUT_SIGMOID);
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    float *after = fit_weights(model, NULL), largest = 0;
    for (size_t i = 0; i < elements; i++) {
        ck_assert_float_eq_tol(after[i], before[i] - gradients[i], 1e-6f);
        largest = fmaxf(largest, fabsf(gradients[i]));
    }
    ck_assert_float_gt(largest, 0.01f);
    svit_trainer_free(trainer);
    svit_model_free(model);
    free(after);
    free(gradients);
    free(before);
}
END_TEST

START_TEST(test_losses_of_targets)
{
    plan p = plan_make(EPOCHS);
    p.trainer.loss = _i ? SVIT_LOSS_MSE : SVIT_LOSS_BINARY;
    p.trainer.keep = SVIT_KEEP_BEST;
    p.optimizer.schedule = SVIT_SCHEDULE_CONSTANT;
    set_targets(p.trainer.loss);
    svit_model *model = exact_model();
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    svit_trainer_event first, last, row;
    WORKS(svit_trainer_history(trainer, 0, &first, sizeof first, err));
    WORKS(svit_trainer_history(trainer, EPOCHS - 1, &last, sizeof last, err));
    ck_assert(_i ? isnan(last.train_top1) && isnan(last.val_top1)
                 : last.val_top1 >= 0 && last.val_top1 <= 1);
    ck_assert(isnan(last.train_top5) && isnan(last.val_top5));
    /* The best epoch has the lowest loss, and the model its weights. */
    for (size_t i = 0; i < EPOCHS; i++) {
        WORKS(svit_trainer_history(trainer, i, &row, sizeof row, err));
        WORKS(svit_trainer_history(trainer, last.best_epoch - 1, &first, sizeof first, err));
        ck_assert_double_ge(row.val_loss, first.val_loss);
    }
    ck_assert_double_eq_tol(loss_of(model, &p), first.val_loss, 1e-6);
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

/* Returns the weights after three epochs, stopped and resumed after `broken_at` events. */
static float *run_broken(const plan *p, int broken_at)
{
    plan own = *p;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &own, validation);
    svit_trainer_event event = {.kind = SVIT_EVENT_STEP};
    for (int i = 0; i < broken_at; i++)
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    if (broken_at) {
        WORKS(svit_trainer_checkpoint(trainer, err));
        svit_trainer_free(trainer);
        svit_model_free(model);
        model = fit_model(context, CLASSES, 9);
        own.trainer.existing = SVIT_EXISTING_RESUME;
        trainer = open_trainer(model, &own, validation);
        WORKS(svit_trainer_resume(trainer, err));
    }
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    float *weights = fit_weights(model, NULL);
    svit_trainer_free(trainer);
    svit_model_free(model);
    return weights;
}

enum { KINDS = 4 };

/* A plan of each kind. */
static plan plan_of(int kind)
{
    plan p = plan_make(3);
    p.trainer.existing = SVIT_EXISTING_OVERWRITE;
    if (kind < 2) {
        p.trainer.loss = kind ? SVIT_LOSS_MSE : SVIT_LOSS_BINARY;
        set_targets(p.trainer.loss);
    } else if (kind == 2) {
        p.trainer.sampling = SVIT_SAMPLING_BALANCED;
        p.trainer.tta = SVIT_TTA_FLIP_SHIFT;
        p.trainer.class_weight_count = CLASSES;
        for (int i = 0; i < CLASSES; i++)
            p.trainer.class_weights[i] = 0.5 + i;
    } else {
        const char *steps = "{\"augment\":[{\"name\":\"mixup\"},{\"name\":\"cutmix\"}],"
                            "\"label_smoothing\":0.1}";
        WORKS(svit_training_from_json(&p.trainer, &p.optimizer, &p.pipeline, steps, err));
    }
    return p;
}

START_TEST(test_a_broken_run_gives_the_same_bits)
{
    plan p = plan_of(_i);
    float *whole = run_broken(&p, 0), *broken = run_broken(&p, 5);
    ck_assert_mem_eq(whole, broken, 4 * 200);
    free(broken);
    free(whole);
}
END_TEST

/* Returns the weights after one epoch with this accumulation, or these leaves, and its
 * train_loss. */
static float *run_parts(plan p, uint32_t accumulate, uint32_t leaves, size_t *elements,
                        double *loss)
{
    svit_trainer_event row;
    p.trainer.accumulate = accumulate;
    p.trainer.leaves = leaves;
    p.trainer.epochs = 1;
    p.trainer.folder = NULL;
    p.optimizer.kind = SVIT_OPTIMIZER_SGD;
    svit_model *model = exact_model(); /* masks would depend on the micro-batches */
    svit_trainer *trainer = open_trainer(model, &p, NULL);
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    WORKS(svit_trainer_history(trainer, 0, &row, sizeof row, err));
    *loss = row.train_loss;
    float *weights = fit_weights(model, elements);
    svit_trainer_free(trainer);
    svit_model_free(model);
    return weights;
}

/* With label smoothing, weights of very unlike sizes if they are wanted, and every number of
 * parts. */
START_TEST(test_parts_of_a_batch_give_its_gradient_and_its_loss)
{
    plan p = plan_of(_i % KINDS);
    size_t elements;
    double wanted, loss;
    if (_i >= KINDS && p.trainer.loss != SVIT_LOSS_MSE) {
        p.trainer.label_smoothing = 0.1;
        p.trainer.class_weight_count = CLASSES;
        for (int i = 0; i < CLASSES; i++)
            p.trainer.class_weights[i] = pow(8, i - 1);
    }
    /* Their sums, which divide those of labels, are beyond float. */
    if (_i == 2 * KINDS + 2)
        for (int i = 0; i < CLASSES; i++)
            p.trainer.class_weights[i] *= 0x1p124;
    float *whole = run_parts(p, 1, 0, &elements, &wanted);
    for (uint32_t n = 1; n < 2 * BATCH; n++) {
        float *parts =
            run_parts(p, n < BATCH ? n + 1 : 1, n < BATCH ? 0 : n + 1 - BATCH, &elements, &loss);
        for (size_t i = 0; i < elements; i++)
            ck_assert_msg(fabsf(whole[i] - parts[i]) <= 1e-5f * (1 + fabsf(whole[i])),
                          "weight %zu is %g, in parts %g", i, (double)whole[i], (double)parts[i]);
        ck_assert_msg(fabs(wanted - loss) <= 1e-5 * (1 + fabs(wanted)), "loss %g, in parts %u: %g",
                      wanted, n, loss);
        free(parts);
    }
    free(whole);
}
END_TEST

START_TEST(test_what_is_refused)
{
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = NULL;
#define REFUSED(change, part)                                                                      \
    do {                                                                                           \
        plan p = plan_make(1);                                                                     \
        change;                                                                                    \
        FAILS(svit_trainer_create(&trainer, context, model, training, validation, &p.trainer,      \
                                  &p.optimizer, &p.pipeline, err),                                 \
              SVIT_E_ARGUMENT, part);                                                              \
    } while (0)
    REFUSED(p.trainer.loss = 3, "loss is 3");
    REFUSED(p.trainer.tta = -1, "tta is -1");
    REFUSED(p.trainer.class_weight_count = 129, "class_weight");
    REFUSED((p.trainer.class_weight_count = 2, p.trainer.class_weights[0] = 1,
             p.trainer.class_weights[1] = 1),
            "there are 2 class_weights; the model has 3 classes");
    REFUSED(p.trainer.class_weight_count = 3,
            "it is 0; numbers from 1.17549e-38 to 3.40282e+38 are");
    REFUSED((p.trainer.class_weight_count = 3, p.trainer.class_weights[0] = 1e-300),
            "class_weights[0]: it is 1e-300; numbers from 1.17549e-38");
    REFUSED((p.trainer.loss = SVIT_LOSS_MSE, p.trainer.label_smoothing = 0.1),
            "loss is 'mse', which has neither label_smoothing nor class_weights");
    svit_dataset *two = NULL;
    WORKS(svit_dataset_memory_targets(&two, context, images, targets, 8, SIDE, SIDE, 3, 2, err));
    plan p = plan_make(1);
    p.trainer.loss = SVIT_LOSS_MSE;
    FAILS(svit_trainer_create(&trainer, context, model, two, NULL, &p.trainer, &p.optimizer,
                              &p.pipeline, err),
          SVIT_E_ARGUMENT, "training has 2 targets for each sample; the model has 3 outputs");
    svit_dataset_free(two);
    svit_model_free(model);
}
END_TEST

START_TEST(test_another_objective_is_refused_at_resume)
{
    plan p = plan_make(2);
    p.trainer.tta = SVIT_TTA_FLIP;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_checkpoint(trainer, err));
    svit_trainer_free(trainer);
    p.trainer.existing = SVIT_EXISTING_RESUME;
    p.trainer.tta = SVIT_TTA_NONE;
    trainer = open_trainer(model, &p, validation);
    FAILS(svit_trainer_resume(trainer, err), SVIT_E_ARGUMENT,
          "the checkpoint's run has 'loss cross-entropy, sampling shuffle, tta flip, class "
          "weights', this one");
    svit_trainer_free(trainer);
    p.trainer.tta = SVIT_TTA_FLIP;
    p.trainer.leaves = 2;
    trainer = open_trainer(model, &p, validation);
    FAILS(svit_trainer_resume(trainer, err), SVIT_E_ARGUMENT, "class weights, leaves 2'");
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("trainer_objective");
    TCase *c = tcase_create("trainer_objective");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_a_run_ends_where_its_loss_is_infinite);
    tcase_add_loop_test(c, test_a_step_follows_the_gradient_of_the_loss, 0, 2);
    tcase_add_loop_test(c, test_losses_of_targets, 0, 2);
    tcase_add_loop_test(c, test_a_broken_run_gives_the_same_bits, 0, 4);
    tcase_add_loop_test(c, test_parts_of_a_batch_give_its_gradient_and_its_loss, 0, 2 * KINDS + 3);
    tcase_add_test(c, test_what_is_refused);
    tcase_add_test(c, test_another_objective_is_refused_at_resume);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
