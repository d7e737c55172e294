/* Checks runs whose first epochs train on smaller images. */
#include "trainer_support.h"

#include "data/resampling/shrink.h"

#include <math.h>

enum { EPOCHS = 4, EARLY = 2, SMALL = 6, CHANNELS = 3, IMAGE = SIDE * SIDE * CHANNELS };

static plan early_plan(void)
{
    plan p = plan_make(EPOCHS);
    p.trainer.early_fraction = 0.5;
    p.trainer.early_height = p.trainer.early_width = SMALL;
    return p;
}

/* The events of a run: its steps, the ends of its epochs, and its own end. */
enum { EVENTS = EPOCHS * (STEPS + 1) + 1 };

static svit_session *open_session(svit_model *model, const plan *p, uint32_t side)
{
    svit_session_config config;
    WORKS(svit_session_config_init(&config, sizeof config));
    config.mode = SVIT_MODE_TRAIN;
    config.max_batch = BATCH;
    config.seed = p->trainer.seed;
    config.input_height = config.input_width = side;
    svit_session *session = NULL;
    WORKS(svit_session_create(&session, model, &config, err));
    return session;
}

static svit_loader *open_loader(const plan *p)
{
    svit_loader_config config;
    WORKS(svit_loader_config_init(&config, sizeof config));
    config.batch = BATCH;
    config.seed = p->trainer.seed;
    config.shuffle = config.augment = 1;
    svit_loader *loader = NULL;
    WORKS(svit_loader_create(&loader, training, &p->pipeline, &config, err));
    return loader;
}

/* One epoch on images of `side` pixels with the public functions, but for the reduction. */
static void train_epoch(svit_session *session, svit_optimizer *optimizer, svit_loader *loader,
                        const sv_shrink *shrink)
{
    float input[BATCH * IMAGE], logits[BATCH * CLASSES], dlogits[BATCH * CLASSES], loss;
    int32_t own[BATCH];
    for (size_t n;;) {
        WORKS(svit_loader_next(loader, input, own, &n, err));
        if (n == 0)
            return;
        for (size_t i = 0; shrink && i < n; i++)
            sv_shrink_run(shrink, input + i * SMALL * SMALL * CHANNELS, input + i * IMAGE);
        WORKS(svit_forward(session, input, n, logits, err));
        WORKS(svit_cross_entropy(logits, own, n, CLASSES, 0, &loss, dlogits, err));
        WORKS(svit_backward(session, dlogits, n, err));
        WORKS(svit_step(optimizer, session, err));
    }
}

/* The whole run in a loop of the test's own. Dropout masks follow the counter of the session. */
static svit_model *train_by_hand(const plan *p)
{
    const sv_allocator allocator = sv_allocator_default();
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_session *small = open_session(model, p, SMALL), *whole = open_session(model, p, SIDE);
    svit_loader *loader = open_loader(p);
    svit_optimizer *optimizer = NULL;
    WORKS(svit_optimizer_create(&optimizer, model, &p->optimizer, err));
    sv_shrink *shrink = NULL;
    WORKS(sv_shrink_create(&shrink, &allocator, SIDE, SIDE, CHANNELS, SMALL, SMALL, err));
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        if (epoch == EARLY)
            WORKS(svit_session_set_counter(whole, svit_session_counter(small), err));
        train_epoch(epoch < EARLY ? small : whole, optimizer, loader,
                    epoch < EARLY ? shrink : NULL);
    }
    sv_shrink_free(shrink);
    svit_optimizer_free(optimizer);
    svit_loader_free(loader);
    svit_session_free(whole);
    svit_session_free(small);
    return model;
}

START_TEST(test_the_first_epochs_train_on_smaller_images)
{
    plan p = early_plan();
    p.optimizer.schedule = SVIT_SCHEDULE_CONSTANT;
    svit_model *model = train_whole(p, validation), *expected = train_by_hand(&p);
    ck_assert(fit_same(model, expected));
    svit_model_free(expected);
    svit_model_free(model);
}
END_TEST

/* In parts of a batch the sums have another order, and the same value. */
START_TEST(test_parts_of_a_batch_are_smaller_too)
{
    plan p = early_plan();
    svit_model_config exact = fit_model_config(CLASSES);
    exact.dropout = exact.drop_path = 0;
    svit_model *models[3];
    for (int i = 0; i < 3; i++) {
        WORKS(svit_model_create(&models[i], context, &exact, 1, err));
        p.trainer.folder = NULL;
        p.trainer.accumulate = i == 1 ? 3 : 1;
        p.trainer.leaves = i == 2 ? 4 : 0;
        svit_trainer *trainer = open_trainer(models[i], &p, NULL);
        WORKS(svit_trainer_run(trainer, NULL, NULL, err));
        svit_trainer_free(trainer);
    }
    size_t elements;
    float *weights = fit_weights(models[0], &elements);
    for (int i = 1; i < 3; i++) {
        float *other = fit_weights(models[i], NULL);
        for (size_t k = 0; k < elements; k++)
            ck_assert_msg(fabsf(weights[k] - other[k]) <= 1e-4f, "parts %d, weight %zu: %g, %g", i,
                          k, (double)weights[k], (double)other[k]);
        free(other);
    }
    free(weights);
    for (int i = 0; i < 3; i++)
        svit_model_free(models[i]);
}
END_TEST

/* Stopped after each event, and gone on with. */
START_TEST(test_a_resumed_run_has_the_same_bits)
{
    plan p = early_plan();
    svit_model *whole = train_whole(p, validation), *model = fit_model(context, CLASSES, 9);
    leave_checkpoint(p, validation, _i);
    p.trainer.existing = SVIT_EXISTING_RESUME;
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_resume(trainer, err));
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    ck_assert(fit_same(model, whole));
    svit_trainer_free(trainer);
    svit_model_free(model);
    svit_model_free(whole);
}
END_TEST

START_TEST(test_a_resume_needs_the_same_images)
{
    plan p = early_plan();
    leave_checkpoint(p, validation, STEPS);
    p.trainer.existing = SVIT_EXISTING_RESUME;
    plan other[3] = {p, p, p};
    other[0].trainer.early_fraction = 0;
    other[1].trainer.early_width = SMALL - 2;
    other[2].trainer.early_fraction = 0.25;
    svit_model *model = fit_model(context, CLASSES, 9);
    for (int i = 0; i < 3; i++) {
        svit_trainer *trainer = open_trainer(model, &other[i], validation);
        FAILS(svit_trainer_resume(trainer, err), SVIT_E_ARGUMENT, "early 0.5 of 6 x 6");
        svit_trainer_free(trainer);
    }
    svit_model_free(model);
}
END_TEST

/* Those of an image of side x side pixels. */
static double multiply_adds(uint32_t side)
{
    svit_model_config config = fit_model_config(CLASSES);
    config.input_height = config.input_width = side;
    uint64_t count;
    WORKS(svit_model_multiply_adds(&config, &count, NULL, err));
    return (double)count;
}

/* The arithmetic of the history, before and after a resume. */
START_TEST(test_the_history_counts_smaller_images)
{
    plan p = early_plan();
    const double few = multiply_adds(SMALL), many = multiply_adds(SIDE);
    ck_assert_double_lt(few, many);
    leave_checkpoint(p, validation, 3 * (STEPS + 1));
    p.trainer.existing = SVIT_EXISTING_RESUME;
    svit_model *model = fit_model(context, CLASSES, 9);
    svit_trainer *trainer = open_trainer(model, &p, validation);
    WORKS(svit_trainer_resume(trainer, err));
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    for (size_t epoch = 1; epoch <= EPOCHS; epoch++) {
        svit_trainer_event event;
        WORKS(svit_trainer_history(trainer, epoch - 1, &event, sizeof event, err));
        const size_t early = epoch < EARLY ? epoch : EARLY;
        const double expected =
            6e-15 * SAMPLES * ((double)early * few + (double)(epoch - early) * many);
        ck_assert_msg(fabs(event.pflop - expected) <= 1e-12 * expected, "epoch %zu: %g, not %g",
                      epoch, event.pflop, expected);
    }
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

/* The time that is left is that of a step so far, times what is left of both sizes. */
START_TEST(test_the_time_left_knows_larger_images)
{
    plan p = early_plan();
    p.trainer.folder = NULL;
    const double few = multiply_adds(SMALL), many = multiply_adds(SIDE);
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, NULL);
    for (int event_count = 0; event_count < EVENTS; event_count++) {
        svit_trainer_event event;
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
        if (event.kind != SVIT_EVENT_STEP || event.step > 1)
            continue;
        const size_t left = (EPOCHS - event.epoch + 1) * STEPS - 1;
        const double expected = event.epoch <= EARLY
                                    ? (double)(left - EARLY * STEPS) + EARLY * STEPS * many / few
                                    : (double)left;
        const double steps = event.eta_seconds * event.images_per_second / BATCH;
        ck_assert_msg(fabs(steps - expected) <= 1e-9 * expected, "epoch %d: %g steps, not %g",
                      (int)event.epoch, steps, expected);
    }
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

/* Fractions round to whole epochs: the images of an epoch are told by its arithmetic. */
START_TEST(test_fractions_are_rounded_to_epochs)
{
    static const struct {
        double fraction;
        size_t epochs;
    } cases[] = {{0, 0}, {0.12, 0}, {0.13, 1}, {0.5, 2}, {0.87, 3}, {0.88, 4}, {1, 4}};
    const double few = multiply_adds(SMALL), many = multiply_adds(SIDE);
    plan p = early_plan();
    p.trainer.folder = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        p.trainer.early_fraction = cases[i].fraction;
        svit_model *model = fit_model(context, CLASSES, 1);
        svit_trainer *trainer = open_trainer(model, &p, NULL);
        WORKS(svit_trainer_run(trainer, NULL, NULL, err));
        svit_trainer_event event;
        WORKS(svit_trainer_history(trainer, EPOCHS - 1, &event, sizeof event, err));
        const double expected =
            6e-15 * SAMPLES *
            ((double)cases[i].epochs * few + (double)(EPOCHS - cases[i].epochs) * many);
        ck_assert_msg(fabs(event.pflop - expected) <= 1e-12 * expected, "%g: %g, not %g",
                      cases[i].fraction, event.pflop, expected);
        svit_trainer_free(trainer);
        svit_model_free(model);
    }
}
END_TEST

START_TEST(test_sizes_that_are_not_accepted)
{
    svit_model *model = fit_model(context, CLASSES, 1), *vit = NULL;
    svit_trainer *trainer = NULL;
    static const struct {
        uint32_t height, width;
        const char *part;
    } cases[] = {{0, SMALL, "are 1 or more"},
                 {SMALL, 0, "are 1 or more"},
                 {SIDE + 1, SMALL, "the model's input, 8 x 8"},
                 {SMALL, SIDE + 1, "the model's input, 8 x 8"},
                 {SMALL, 16385, "early_width"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plan p = early_plan();
        p.trainer.early_height = cases[i].height;
        p.trainer.early_width = cases[i].width;
        FAILS(svit_trainer_create(&trainer, context, model, training, NULL, &p.trainer,
                                  &p.optimizer, &p.pipeline, err),
              SVIT_E_ARGUMENT, cases[i].part);
    }
    /* Regression: of a masked autoencoder the message named num_classes of another model. */
    for (int masked = 0; masked < 2; masked++) {
        svit_model_config config;
        WORKS(svit_model_config_preset(&config, sizeof config,
                                       masked ? "vit-mae-cifar100" : "vit-paper-cifar100", err));
        config.input_height = config.input_width = SIDE;
        config.num_classes = masked ? SIDE * SIDE * CHANNELS : CLASSES;
        config.patch_size = 2;
        WORKS(svit_model_create(&vit, context, &config, 1, err));
        plan p = early_plan();
        p.trainer.loss = masked ? SVIT_LOSS_MSE : SVIT_LOSS_CROSS_ENTROPY;
        FAILS(svit_trainer_create(&trainer, context, vit, training, NULL, &p.trainer, &p.optimizer,
                                  &p.pipeline, err),
              SVIT_E_ARGUMENT,
              "early_height and early_width: input is 6 x 6; this model's position embedding is "
              "for 8 x 8 only");
        svit_model_free(vit);
    }
    svit_model_free(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("trainer_early");
    TCase *c = tcase_create("trainer_early");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_the_first_epochs_train_on_smaller_images);
    tcase_add_test(c, test_parts_of_a_batch_are_smaller_too);
    tcase_add_loop_test(c, test_a_resumed_run_has_the_same_bits, 0, EVENTS);
    tcase_add_test(c, test_a_resume_needs_the_same_images);
    tcase_add_test(c, test_the_history_counts_smaller_images);
    tcase_add_test(c, test_the_time_left_knows_larger_images);
    tcase_add_test(c, test_fractions_are_rounded_to_epochs);
    tcase_add_test(c, test_sizes_that_are_not_accepted);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
