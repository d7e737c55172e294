/* Checks the rule by which a number of images decides the settings of a fine-tuning. */
#include "fit.h"

static const struct {
    uint64_t images;
    uint32_t epochs, batch;
    int has_average;
} rows[] = {
    {1, 40, 16, 0},    {200, 40, 16, 0},   {201, 10, 32, 0},   {2000, 10, 32, 0},
    {2001, 10, 64, 0}, {20000, 10, 64, 0}, {20001, 5, 128, 1}, {UINT64_MAX, 5, 128, 1},
};
enum { ROWS = sizeof rows / sizeof *rows };

static const char *const models[] = {
    "{\"dim\":12,\"blocks\":[1,1],\"input_height\":8,\"input_width\":8,\"patch_size\":2,"
    "\"num_classes\":3}",
    "{\"architecture\":\"mixer\",\"input_height\":8,\"input_width\":8,\"patch_size\":4,\"dim\":12,"
    "\"depth\":1,\"token_mlp_dim\":5,\"mlp_dim\":16,\"num_classes\":3}",
    "{\"architecture\":\"vit\",\"input_height\":8,\"input_width\":8,\"patch_size\":4,\"dim\":12,"
    "\"depth\":1,\"heads\":2,\"head_dim\":6,\"mlp_dim\":16,\"head_units\":[16,9],\"num_classes\":"
    "3}"};
enum { MODELS = sizeof models / sizeof *models };

static svit_model *make(svit_context *context, const char *json)
{
    svit_model_config config;
    svit_model *model = NULL;
    WORKS(svit_model_config_from_json(&config, sizeof config, json, err));
    WORKS(svit_model_create(&model, context, &config, 1, err));
    return model;
}

/* Settings of each row of the rule make an optimiser of each model. */
START_TEST(test_the_number_of_images_decides)
{
    svit_context *context = fit_context(1);
    svit_model *model = make(context, models[_i / ROWS]);
    svit_trainer_config trainer;
    svit_optimizer_config config;
    svit_optimizer *optimizer = NULL;
    const size_t i = (size_t)_i % ROWS;
    WORKS(svit_fine_tuning_settings(model, rows[i].images, &trainer, sizeof trainer, &config,
                                    sizeof config, NULL, 0, err));
    ck_assert_uint_eq(trainer.epochs, rows[i].epochs);
    ck_assert_uint_eq(trainer.batch, rows[i].batch);
    ck_assert_uint_eq(trainer.patience, 0);
    ck_assert_int_eq(config.ema != SVIT_EMA_NONE, rows[i].has_average);
    ck_assert_int_eq(config.decay_exclude,
                     SVIT_EXCLUDE_BIAS | SVIT_EXCLUDE_NORM | SVIT_EXCLUDE_POSITION);
    ck_assert(config.learning_rate == 1e-3 && config.weight_decay == 0.05 && config.clip_norm == 1);
    ck_assert_double_eq(config.layer_decay, 0.75);
    ck_assert_uint_eq(config.group_count, 0);
    config.total_steps = 10;
    WORKS(svit_optimizer_create(&optimizer, model, &config, err));
    svit_optimizer_free(optimizer);
    svit_model_free(model);
    svit_context_free(context);
}
END_TEST

/* Adapters are trained with the head, by few images too; the pipeline is the model's. */
START_TEST(test_adapters_and_pipelines)
{
    svit_context *context = fit_context(1);
    svit_model *model = make(context, models[2]);
    svit_optimizer_config config;
    svit_pipeline_config pipeline, own;
    WORKS(svit_fine_tuning_settings(model, 9, NULL, 0, NULL, 0, &pipeline, sizeof pipeline, err));
    ck_assert_uint_eq(pipeline.output_height, 8);
    ck_assert_double_eq(pipeline.mean[2], 0.5);
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    pipeline.zoom = 0.25;
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    WORKS(svit_model_add_lora(model, 2, 2, 1, err));
    WORKS(svit_fine_tuning_settings(model, 9, NULL, 0, &config, sizeof config, &own, sizeof own,
                                    err));
    ck_assert_double_eq(own.zoom, 0.25);
    ck_assert_uint_eq(config.group_count, 0);
    ck_assert_double_eq(config.layer_decay, 1);
    ck_assert_double_eq(config.learning_rate, 3e-3);
    FAILS(svit_fine_tuning_settings(model, 0, NULL, 0, &config, sizeof config, NULL, 0, err),
          SVIT_E_ARGUMENT, "images is 0");
    FAILS(svit_fine_tuning_settings(model, 1, NULL, 0, &config, 2, NULL, 0, err), SVIT_E_ARGUMENT,
          "svit_optimizer_config");
    svit_model_free(model);
    svit_context_free(context);
}
END_TEST

/* Steps of a fine-tuning on so many images, and those of them without a learning rate. */
static uint64_t count_steps(size_t images, uint64_t *without)
{
    enum { MOST = 201, SIDE = 8, CLASSES = 3 };
    static uint8_t pixels[MOST * SIDE * SIDE * 3];
    static int32_t labels[MOST];
    svit_context *context = fit_context(1);
    svit_model *model = make(context, models[2]);
    svit_dataset *dataset = NULL;
    svit_trainer *trainer = NULL;
    svit_trainer_config config;
    svit_optimizer_config optimizer;
    svit_pipeline_config pipeline;
    svit_trainer_event event = {0};
    uint64_t steps = 0;
    *without = 0;
    for (size_t i = 0; i < MOST; i++)
        labels[i] = (int32_t)(i % CLASSES);
    WORKS(svit_dataset_memory(&dataset, context, pixels, labels, images, SIDE, SIDE, 3, CLASSES,
                              err));
    WORKS(svit_fine_tuning_settings(model, images, &config, sizeof config, &optimizer,
                                    sizeof optimizer, &pipeline, sizeof pipeline, err));
    WORKS(svit_trainer_create(&trainer, context, model, dataset, NULL, &config, &optimizer,
                              &pipeline, err));
    while (event.kind != SVIT_EVENT_FINISHED) {
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
        steps += event.kind == SVIT_EVENT_STEP;
        *without += event.kind == SVIT_EVENT_STEP && event.learning_rate == 0;
    }
    svit_trainer_free(trainer);
    svit_dataset_free(dataset);
    svit_model_free(model);
    svit_context_free(context);
    return steps;
}

/* The last batch of an epoch counts, so that a small set is learnt from to the end. */
START_TEST(test_small_sets_are_learnt_from_to_the_end)
{
    static const struct {
        size_t images, steps;
    } sets[] = {{5, 40}, {17, 80}, {100, 280}, {201, 70}};
    uint64_t without;
    ck_assert_uint_eq(count_steps(sets[_i].images, &without), sets[_i].steps);
    ck_assert_uint_eq(without, 0);
}
END_TEST

/* The length of a schedule for every small set and few epochs, by what is left of the last epoch: a
 * rate above 0 in its first step. */
START_TEST(test_no_epoch_is_behind_the_end_of_a_schedule)
{
    enum { BATCH = 4, SIDE = 8, CLASSES = 3, MOST = 2 * BATCH + 1 };
    static uint8_t pixels[MOST * SIDE * SIDE * 3];
    static const int32_t labels[MOST];
    svit_context *context = fit_context(1);
    svit_model *model = make(context, models[2]);
    svit_trainer_config config;
    svit_optimizer_config optimizer;
    svit_pipeline_config pipeline;
    const size_t images = (size_t)_i;
    WORKS(svit_fine_tuning_settings(model, images, &config, sizeof config, &optimizer,
                                    sizeof optimizer, &pipeline, sizeof pipeline, err));
    optimizer.schedule = SVIT_SCHEDULE_LINEAR;
    config.batch = BATCH;
    config.warmup_fraction = 0;
    for (config.epochs = 1; config.epochs <= 2 * BATCH; config.epochs++) {
        svit_dataset *dataset = NULL;
        svit_trainer *trainer = NULL;
        svit_trainer_event event = {0};
        WORKS(svit_dataset_memory(&dataset, context, pixels, labels, images, SIDE, SIDE, 3, CLASSES,
                                  err));
        WORKS(svit_trainer_create(&trainer, context, model, dataset, NULL, &config, &optimizer,
                                  &pipeline, err));
        while (event.kind != SVIT_EVENT_FINISHED) {
            WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
            if (event.kind == SVIT_EVENT_STEP && event.step == 1)
                ck_assert_msg(event.learning_rate > 0, "epoch %u of %u", (unsigned)event.epoch,
                              config.epochs);
        }
        svit_trainer_free(trainer);
        svit_dataset_free(dataset);
    }
    svit_model_free(model);
    svit_context_free(context);
}
END_TEST

/* Many channels have one mean, and no antialiased resize. */
START_TEST(test_pipelines_of_many_channels)
{
    svit_context *context = fit_context(1);
    svit_model *model = make(context, "{\"dim\":12,\"blocks\":[1,1],\"input_height\":8,"
                                      "\"input_width\":8,\"patch_size\":2,\"in_channels\":6}");
    svit_pipeline_config pipeline;
    WORKS(svit_fine_tuning_settings(model, 9, NULL, 0, NULL, 0, &pipeline, sizeof pipeline, err));
    ck_assert_uint_eq(pipeline.channels, 6);
    ck_assert_int_eq(pipeline.source_filter, SVIT_SOURCE_NEAREST);
    ck_assert(pipeline.mean[0] == 0.5 && pipeline.variance[0] == 0.25);
    ck_assert(pipeline.mean[1] == 0 && pipeline.variance[1] == 1);
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    svit_model_free(model);
    svit_context_free(context);
}
END_TEST

static Suite *fine_tuning_suite(void)
{
    Suite *suite = suite_create("fine_tuning");
    TCase *all = tcase_create("rule");
    tcase_add_loop_test(all, test_the_number_of_images_decides, 0, ROWS * MODELS);
    tcase_add_test(all, test_adapters_and_pipelines);
    tcase_add_test(all, test_pipelines_of_many_channels);
    tcase_add_loop_test(all, test_small_sets_are_learnt_from_to_the_end, 0, 4);
    tcase_add_loop_test(all, test_no_epoch_is_behind_the_end_of_a_schedule, 1, 10);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(fine_tuning_suite)
