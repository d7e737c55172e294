/* Checks what a trainer, an evaluation and feature sets say about settings that do not fit each
 * other: errors that name both, and warnings in the log. */
#include "trainer_support.h"

#include "context/context.h"

#include <stdatomic.h>

static char logged[4096];

static void take_log(void *user, int32_t level, const char *message)
{
    (void)user;
    if (level == SVIT_LOG_WARNING)
        snprintf(logged + strlen(logged), sizeof logged - strlen(logged), "%s\n", message);
}

/* A context whose warnings are kept in `logged`. */
static svit_context *listening(void)
{
    svit_context_config config;
    svit_context *out = NULL;
    WORKS(svit_context_config_init(&config, sizeof config));
    config.threads = 1;
    config.log = take_log;
    logged[0] = '\0';
    WORKS(svit_context_create(&out, &config, err));
    return out;
}

/* Names of files and classes get into the log: they steer no terminal, and a long one is cut. */
START_TEST(test_warnings_are_clean_text)
{
    char name[2000];
    svit_context *own = listening();
    sv_context_warn(own, "'%s' and %d", "a\x1b[31mb\xff\n", 7);
    ck_assert_str_eq(logged, "'a\\x1B[31mb\\xFF\\n' and 7\n");
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    logged[0] = '\0';
    sv_context_warn(own, "%s", name);
    ck_assert_uint_eq(strlen(logged), 1023 + strlen("\n"));
    svit_context_free(own);
    WORKS(svit_context_create(&own, NULL, err));
    sv_context_warn(own, "nobody listens to %d", 1);
    svit_context_free(own);
}
END_TEST

START_TEST(test_settings_of_another_schedule_are_warned_of)
{
    static const struct {
        int32_t schedule;
        uint64_t warmup_steps, step_size, restart_steps;
        uint32_t points;
        const char *warnings;
    } cases[] = {
        {SVIT_SCHEDULE_CONSTANT, 0, 0, 0, 0, ""},
        {SVIT_SCHEDULE_CONSTANT, 5, 1, 1, 0, "warmup_steps"},
        {SVIT_SCHEDULE_WARMUP_COSINE, 5, 2, 0, 0, "step_size"},
        {SVIT_SCHEDULE_STEP, 0, 2, 2, 0, "restart_steps"},
        {SVIT_SCHEDULE_COSINE_RESTARTS, 1, 0, 2, 2, "warmup_steps points"},
        {SVIT_SCHEDULE_PIECEWISE, 1, 2, 2, 2, "warmup_steps step_size restart_steps"},
    };
    svit_context *own = listening();
    svit_model *model = fit_model(own, CLASSES, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        svit_trainer *trainer = NULL;
        plan p = plan_make(4);
        char wanted[128] = "", found[128] = "";
        p.trainer.folder = NULL;
        WORKS(svit_optimizer_config_init(&p.optimizer, sizeof p.optimizer));
        p.optimizer.schedule = cases[i].schedule;
        p.optimizer.warmup_steps = cases[i].warmup_steps;
        p.optimizer.step_size = cases[i].step_size;
        p.optimizer.restart_steps = cases[i].restart_steps;
        p.optimizer.point_count = cases[i].points;
        p.optimizer.points[0] = (svit_schedule_point){0, 1};
        p.optimizer.points[1] = (svit_schedule_point){1, 0};
        logged[0] = '\0';
        WORKS(svit_trainer_create(&trainer, own, model, training, NULL, &p.trainer, &p.optimizer,
                                  &p.pipeline, err));
        svit_trainer_free(trainer);
        snprintf(wanted, sizeof wanted, "%s", cases[i].warnings);
        for (char *line = strtok(logged, "\n"); line; line = strtok(NULL, "\n")) {
            ck_assert_ptr_nonnull(strstr(line, " has no effect: it belongs to another schedule"));
            snprintf(found + strlen(found), sizeof found - strlen(found), "%s%.*s",
                     found[0] ? " " : "", (int)strcspn(line, " "), line);
        }
        ck_assert_str_eq(found, wanted);
    }
    svit_model_free(model);
    svit_context_free(own);
}
END_TEST

/* An extension is warned of where its schedule has ended at a rate of nearly 0, and not where the
 * rate is as low without an end. */
START_TEST(test_an_extension_without_a_rate_is_warned_of)
{
    static const struct {
        int32_t schedule;
        uint64_t total;
        double rate, last; /* of the points, that of the last one */
        int32_t warns;
    } cases[] = {
        {SVIT_SCHEDULE_LINEAR, 0, 0.01, 0, 1},     {SVIT_SCHEDULE_WARMUP_COSINE, 6, 0.01, 0, 1},
        {SVIT_SCHEDULE_ONE_CYCLE, 0, 0.01, 0, 1},  {SVIT_SCHEDULE_LINEAR, 12, 0.01, 0, 0},
        {SVIT_SCHEDULE_PIECEWISE, 0, 0.01, 0, 1},  {SVIT_SCHEDULE_PIECEWISE, 0, 0.01, 0.5, 0},
        {SVIT_SCHEDULE_STEP, 0, 0.01, 0, 0},       {SVIT_SCHEDULE_CONSTANT, 0, 0, 0, 0},
        {SVIT_SCHEDULE_PIECEWISE, 12, 0.01, 0, 0}, /* 0 in its middle */
    };
    svit_context *own = listening();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        svit_trainer *trainer = NULL;
        plan p = plan_make(2);
        p.optimizer.schedule = cases[i].schedule;
        p.optimizer.total_steps = cases[i].total;
        p.optimizer.learning_rate = cases[i].rate;
        p.optimizer.lr_start = 0;
        p.optimizer.step_size = 1;
        p.optimizer.step_factor = 0.1;
        p.optimizer.point_count = 3;
        p.optimizer.points[0] = (svit_schedule_point){0, 1};
        p.optimizer.points[1] = (svit_schedule_point){0.5, cases[i].total ? 0 : 1};
        p.optimizer.points[2] = (svit_schedule_point){1, cases[i].last};
        leave_checkpoint(p, validation, 1);
        p.trainer.epochs = 3;
        p.trainer.existing = SVIT_EXISTING_RESUME;
        svit_model *model = fit_model(own, CLASSES, 9);
        WORKS(svit_trainer_create(&trainer, own, model, training, validation, &p.trainer,
                                  &p.optimizer, &p.pipeline, err));
        logged[0] = '\0';
        WORKS(svit_trainer_resume(trainer, err));
        ck_assert_msg((strstr(logged, "schedule has ended") != NULL) == cases[i].warns,
                      "case %zu: '%s'", i, logged);
        svit_trainer_free(trainer);
        svit_model_free(model);
    }
    svit_context_free(own);
}
END_TEST

START_TEST(test_what_does_not_fit_the_model_is_named)
{
    static uint8_t grey[4 * SIDE * SIDE];
    static const int32_t two[4] = {0, 1, 0, 1};
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = NULL;
    svit_dataset *other = NULL;
    plan p = plan_make(1);
    double loss;
    WORKS(svit_dataset_memory(&other, context, grey, two, 4, SIDE, SIDE, 1, 2, err));
    FAILS(svit_trainer_create(&trainer, context, model, other, NULL, &p.trainer, &p.optimizer,
                              &p.pipeline, err),
          SVIT_E_ARGUMENT, "training has images of 1 channels; the model's in_channels is 3");
    FAILS(svit_trainer_create(&trainer, context, model, training, other, &p.trainer, &p.optimizer,
                              &p.pipeline, err),
          SVIT_E_ARGUMENT, "validation has images of 1 channels");
    FAILS(svit_evaluate(context, model, other, &p.pipeline, 4, &loss, NULL, NULL, err),
          SVIT_E_ARGUMENT, "has images of 1 channels");
    p.pipeline.channels = 1;
    FAILS(svit_trainer_create(&trainer, context, model, training, NULL, &p.trainer, &p.optimizer,
                              &p.pipeline, err),
          SVIT_E_ARGUMENT, "the pipeline's channels is 1; the model's in_channels is 3");
    p = plan_make(1);
    p.trainer.loss = SVIT_LOSS_BINARY;
    svit_model *wide = fit_model(context, CLASSES + 2, 1);
    FAILS(svit_trainer_create(&trainer, context, wide, training, NULL, &p.trainer, &p.optimizer,
                              &p.pipeline, err),
          SVIT_E_ARGUMENT, "training has 3 classes or targets; the model has 5 outputs");
    ck_assert_ptr_null(trainer);
    static const size_t batches[] = {0, 65537};
    for (size_t i = 0; i < 2; i++)
        FAILS(svit_evaluate(context, model, training, &p.pipeline, batches[i], &loss, NULL, NULL,
                            err),
              SVIT_E_ARGUMENT, "; it is 1..65536");
    svit_model_free(wide);
    svit_dataset_free(other);
    svit_model_free(model);
}
END_TEST

/* The shares of an evaluation are those of its logits. Five is more than there are classes. */
START_TEST(test_top_1_and_top_5_are_those_of_the_logits)
{
    svit_model *model = fit_model(context, CLASSES, 1);
    plan p = plan_make(1);
    float logits[SAMPLES * CLASSES];
    double loss = -1, top1 = -1, top5 = -1;
    float wanted_loss;
    uint64_t correct;
    WORKS(svit_evaluate(context, model, training, &p.pipeline, 5, &loss, &top1, &top5, err));
    WORKS(svit_evaluate_logits(context, model, training, &p.pipeline, 5, SVIT_COMPUTE_F32,
                               SVIT_TTA_NONE, logits, NULL, err));
    WORKS(svit_count_top1(logits, labels, SAMPLES, CLASSES, &correct, err));
    WORKS(svit_cross_entropy(logits, labels, SAMPLES, CLASSES, 0, &wanted_loss, NULL, err));
    ck_assert_double_eq_tol(loss, wanted_loss, 1e-6);
    ck_assert_double_eq(top1, (double)correct / SAMPLES);
    ck_assert_double_eq(top5, 1);
    svit_model_free(model);
}
END_TEST

/* The model takes the names of its classes from the data, and is frozen as the groups say. */
START_TEST(test_a_trainer_names_and_freezes)
{
    static const struct {
        const char *pattern;
        int32_t trainable;
    } groups[] = {{"*", 0}, {"head*", 1}};
    svit_dataset *named = NULL;
    svit_trainer *trainer = NULL;
    svit_model *model = NULL;
    svit_model_config config = fit_model_config(10);
    plan p = plan_make(1);
    int32_t trainable;
    config.input_height = config.input_width = 32;
    WORKS(svit_model_create(&model, context, &config, 1, err));
    WORKS(svit_dataset_synthetic(&named, context, 1, SVIT_SPLIT_TRAIN, 20, err));
    WORKS(svit_pipeline_config_init(&p.pipeline, sizeof p.pipeline));
    p.pipeline.resize_height = p.pipeline.resize_width = 32;
    p.pipeline.output_height = p.pipeline.output_width = 32;
    p.optimizer.ema = SVIT_EMA_SWA;
    p.optimizer.swa_every = 0; /* once an epoch */
    p.optimizer.group_count = 2;
    for (int i = 0; i < 2; i++) {
        snprintf(p.optimizer.groups[i].pattern, sizeof p.optimizer.groups[i].pattern, "%s",
                 groups[i].pattern);
        p.optimizer.groups[i].lr_scale = 1;
        p.optimizer.groups[i].weight_decay = -1;
        p.optimizer.groups[i].trainable = groups[i].trainable;
        p.optimizer.groups[i].rule = SVIT_RULE_AUTO;
    }
    WORKS(svit_trainer_create(&trainer, context, model, named, NULL, &p.trainer, &p.optimizer,
                              &p.pipeline, err));
    ck_assert_str_eq(svit_model_class_name(model, 9), svit_dataset_class_name(named, 9));
    for (size_t i = 0; i < svit_model_parameter_count(model); i++) {
        const char *name = svit_model_parameter_name(model, i);
        WORKS(svit_model_get_trainable(model, name, &trainable, err));
        ck_assert_msg(trainable == (strncmp(name, "head", 4) == 0), "%s", name);
    }
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    svit_trainer_free(trainer);
    svit_dataset_free(named);
    svit_model_free(model);
    unlink(fit_path(&folder, "events.out.tfevents"));
}
END_TEST

/* NULL stands for the default pipeline, whose output has 32 x 32 pixels; an evaluation takes the
 * model's if it has one. */
START_TEST(test_no_pipeline_is_the_default_one)
{
    svit_pipeline_config pipeline;
    svit_model_config config = fit_model_config(CLASSES);
    svit_trainer *trainer = NULL;
    svit_model *model = NULL, *small = fit_model(context, CLASSES, 1);
    plan p = plan_make(1);
    double loss[2], top1;
    float logits[SAMPLES * CLASSES];
    WORKS(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    config.input_height = pipeline.output_height;
    config.input_width = pipeline.output_width;
    svit_context *own = listening();
    WORKS(svit_model_create(&model, context, &config, 1, err));
    WORKS(svit_evaluate(own, model, training, NULL, 4, &loss[0], &top1, NULL, err));
    ck_assert_str_eq(logged, "pipeline is NULL and the model has none; the default pipeline "
                             "evaluates it\n");
    logged[0] = '\0';
    WORKS(svit_evaluate(own, model, training, &pipeline, 22, &loss[1], NULL, NULL, err));
    ck_assert_double_eq_tol(loss[0], loss[1], 1e-6);
    pipeline.mean[0] = 100;
    pipeline.variance[0] = 100;
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    WORKS(svit_evaluate(own, model, training, NULL, 4, &loss[1], NULL, NULL, err));
    ck_assert_str_eq(logged, "");
    svit_context_free(own);
    ck_assert_double_gt(fabs(loss[0] - loss[1]), 1e-3);
    WORKS(svit_evaluate(context, model, training, &pipeline, 4, &loss[0], NULL, NULL, err));
    ck_assert_double_eq(loss[0], loss[1]);
    FAILS(svit_trainer_create(&trainer, context, small, training, NULL, &p.trainer, &p.optimizer,
                              NULL, err),
          SVIT_E_ARGUMENT, "the model's input is 8 x 8");
    for (int32_t tta = -1; tta <= SVIT_TTA_FLIP_SHIFT + 1; tta += SVIT_TTA_FLIP_SHIFT + 2)
        FAILS(svit_evaluate_logits(context, model, training, NULL, 4, SVIT_COMPUTE_F32, tta, logits,
                                   NULL, err),
              SVIT_E_ARGUMENT, "tta is ");
    svit_model_free(model);
    svit_model_free(small);
}
END_TEST

/* Sets without classes, with one of them named, and with one sample. */
START_TEST(test_feature_sets_of_few_things_are_joined)
{
    static const float rows[6] = {1, 2, 3, 4, 5, 6};
    static const int32_t of[3] = {0, 0, 0};
    static const char *const cat[] = {"cat"}, *const owl[] = {"owl"};
    static const struct {
        const char *const *first, *const *second;
        size_t first_classes, second_classes, classes;
    } cases[] = {{NULL, NULL, 0, 0, 0}, {NULL, NULL, 0, 1, 1}, {NULL, NULL, 1, 0, 1},
                 {cat, NULL, 1, 0, 1},  {NULL, cat, 0, 1, 1},  {cat, owl, 1, 1, 2},
                 {cat, cat, 1, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        svit_features *first = NULL, *second = NULL;
        WORKS(svit_features_create(&first, context, rows, cases[i].first_classes ? of : NULL, 2, 2,
                                   cases[i].first_classes, cases[i].first, err));
        WORKS(svit_features_create(&second, context, rows + 2, cases[i].second_classes ? of : NULL,
                                   1, 2, cases[i].second_classes, cases[i].second, err));
        WORKS(svit_features_append(first, second, err));
        ck_assert_uint_eq(svit_features_count(first), 3);
        ck_assert_uint_eq(svit_features_classes(first), cases[i].classes);
        ck_assert_int_eq(svit_features_labels(first)[2],
                         cases[i].second_classes ? (int32_t)cases[i].classes - 1 : -1);
        ck_assert_float_eq(svit_features_values(first)[5], 4);
        ck_assert((svit_features_class_name(first, 0) != NULL) ==
                  (cases[i].first || cases[i].second));
        svit_features_free(first);
        svit_features_free(second);
    }
}
END_TEST

START_TEST(test_a_preset_is_written_into_structs_of_their_sizes)
{
    plan p;
    static const size_t sizes[] = {0, 3, 65537};
    for (size_t i = 0; i < 3; i++) {
        FAILS(svit_training_preset("shiftvit-cifar10", &p.trainer, sizes[i], NULL, 0, NULL, 0, err),
              SVIT_E_ARGUMENT, "size of svit_trainer_config is ");
        FAILS(
            svit_training_preset("shiftvit-cifar10", NULL, 0, &p.optimizer, sizes[i], NULL, 0, err),
            SVIT_E_ARGUMENT, "size of svit_optimizer_config is ");
        FAILS(
            svit_training_preset("shiftvit-cifar10", NULL, 0, NULL, 0, &p.pipeline, sizes[i], err),
            SVIT_E_ARGUMENT, "size of svit_pipeline_config is ");
    }
    WORKS(svit_training_preset("shiftvit-cifar10", NULL, 0, NULL, 0, NULL, 0, err));
    FAILS(svit_training_preset("none", NULL, 0, NULL, 0, NULL, 0, err), SVIT_E_ARGUMENT,
          "preset 'none' is unknown");
}
END_TEST

/* Features of two layers, of two models, and of data that has targets instead of labels. */
START_TEST(test_feature_sets_know_their_layer_and_their_model)
{
    static const float targets[SAMPLES * CLASSES];
    svit_context *own = listening();
    svit_model *model = fit_model(own, CLASSES, 1), *other = fit_model(own, CLASSES, 2);
    svit_features *first = NULL, *second = NULL, *foreign = NULL, *unlabelled = NULL;
    svit_features_config config;
    svit_dataset *measured = NULL;
    plan p = plan_make(1);
    WORKS(svit_features_config_init(&config, sizeof config));
    config.context = own;
    WORKS(svit_features_compute(&first, model, training, &p.pipeline, &config, err));
    WORKS(svit_features_compute(&foreign, other, training, &p.pipeline, NULL, err));
    config.layer = "layers.1.blocks.0";
    WORKS(svit_features_compute(&second, model, training, &p.pipeline, &config, err));
    ck_assert_str_eq(svit_features_layer(first), "features");
    FAILS(svit_features_append(first, second, err), SVIT_E_ARGUMENT,
          "the sets are of the layers 'features' and 'layers.1.blocks.0'");
    ck_assert_str_eq(logged, "");
    WORKS(svit_features_append(first, foreign, err));
    ck_assert_str_eq(logged, "the features that are appended are those of another model\n");
    logged[0] = '\0';
    WORKS(svit_model_fit_head(other, foreign, NULL, err));
    ck_assert_str_eq(logged, "");
    WORKS(svit_model_fit_head(model, foreign, NULL, err));
    ck_assert_str_eq(logged, "the features are those of another model\n");
    FAILS(svit_model_fit_head(model, second, NULL, err), SVIT_E_ARGUMENT, "'layers.1.blocks.0'");
    WORKS(svit_dataset_memory_targets(&measured, own, images, targets, SAMPLES, SIDE, SIDE, 3,
                                      CLASSES, err));
    WORKS(svit_features_compute(&unlabelled, model, measured, &p.pipeline, NULL, err));
    ck_assert_uint_eq(svit_features_classes(unlabelled), 0);
    for (size_t i = 0; i < SAMPLES; i++)
        ck_assert_int_eq(svit_features_labels(unlabelled)[i], -1);
    svit_features_free(first);
    svit_features_free(second);
    svit_features_free(foreign);
    svit_features_free(unlabelled);
    svit_dataset_free(measured);
    svit_model_free(model);
    svit_model_free(other);
    svit_context_free(own);
}
END_TEST

static atomic_llong held;

static void *count_allocation(void *user, size_t bytes, size_t alignment)
{
    void *memory = NULL;
    (void)user;
    if (posix_memalign(&memory, alignment, bytes) != 0)
        return NULL;
    held += (long long)bytes;
    return memory;
}

static void count_release(void *user, void *memory, size_t bytes)
{
    (void)user;
    held -= (long long)bytes;
    free(memory);
}

/* A run with all its files, and one that is resumed, return every byte. */
START_TEST(test_a_run_returns_its_memory)
{
    for (int resumes = 0; resumes < 2; resumes++) {
        svit_context_config config;
        svit_context *own = NULL;
        svit_trainer *trainer = NULL;
        plan p = plan_make(2 + (uint32_t)resumes);
        WORKS(svit_context_config_init(&config, sizeof config));
        config.threads = 2;
        config.allocate = count_allocation;
        config.release = count_release;
        held = 0;
        WORKS(svit_context_create(&own, &config, err));
        svit_model *model = fit_model(own, CLASSES, 1);
        p.trainer.tensorboard = 1;
        p.trainer.keep = SVIT_KEEP_BEST;
        p.trainer.label_smoothing = 0.1;
        p.trainer.description = "a run";
        p.trainer.existing = resumes ? SVIT_EXISTING_RESUME : SVIT_EXISTING_REFUSE;
        p.optimizer.schedule = SVIT_SCHEDULE_CONSTANT;
        WORKS(svit_trainer_create(&trainer, own, model, training, validation, &p.trainer,
                                  &p.optimizer, &p.pipeline, err));
        if (resumes)
            WORKS(svit_trainer_resume(trainer, err));
        WORKS(svit_trainer_run(trainer, NULL, NULL, err));
        svit_trainer_free(trainer);
        svit_model_free(model);
        svit_context_free(own);
        ck_assert_int_eq(held, 0);
    }
    unlink(fit_path(&folder, "events.out.tfevents.shiftvit"));
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("trainer_checks");
    TCase *c = tcase_create("trainer_checks");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_warnings_are_clean_text);
    tcase_add_test(c, test_settings_of_another_schedule_are_warned_of);
    tcase_add_test(c, test_an_extension_without_a_rate_is_warned_of);
    tcase_add_test(c, test_what_does_not_fit_the_model_is_named);
    tcase_add_test(c, test_top_1_and_top_5_are_those_of_the_logits);
    tcase_add_test(c, test_a_trainer_names_and_freezes);
    tcase_add_test(c, test_no_pipeline_is_the_default_one);
    tcase_add_test(c, test_feature_sets_of_few_things_are_joined);
    tcase_add_test(c, test_a_preset_is_written_into_structs_of_their_sizes);
    tcase_add_test(c, test_feature_sets_know_their_layer_and_their_model);
    tcase_add_test(c, test_a_run_returns_its_memory);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
