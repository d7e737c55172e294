/* Every function that reads a struct of the caller's checks its size and its fields before it does
 * anything else, and names the struct. */
#include "trainer_support.h"

static svit_model *model;
static plan p;

static void open_all(void)
{
    setup();
    model = fit_model(context, CLASSES, 1);
    p = plan_make(1);
    p.trainer.folder = NULL;
}

static void close_all(void)
{
    svit_model_free(model);
    teardown();
}

static svit_pipeline_config pipeline_of(uint32_t size, uint32_t channels)
{
    svit_pipeline_config config = p.pipeline;
    config.struct_size = size;
    config.channels = channels;
    return config;
}

/* A build without shards says so. */
static void check_shards(const char *file, const svit_pipeline_config *bad, const char *part)
{
    svit_error err = {.struct_size = sizeof err};
    svit_dataset *data = NULL;
    const svit_status status = svit_dataset_shards(&data, context, file, bad, &err);
    ck_assert_msg(status == SVIT_E_UNSUPPORTED ||
                      (status == SVIT_E_ARGUMENT && strstr(err.message, part)),
                  "%d: %s", (int)status, err.message);
}

/* A pipeline that is too small, too large, or has a field that is out of its range. */
START_TEST(test_pipelines_are_checked)
{
    static const struct {
        uint32_t size, channels;
        const char *part;
    } cases[] = {{3, 3, "struct_size of svit_pipeline_config is 3"},
                 {0, 3, "struct_size of svit_pipeline_config is 0"},
                 {70000, 3, "struct_size of svit_pipeline_config is 70000"},
                 {sizeof(svit_pipeline_config), 0, "channels is 0"},
                 {sizeof(svit_pipeline_config), 1025, "channels is 1025"}};
    const char *part = cases[_i].part;
    const svit_pipeline_config bad = pipeline_of(cases[_i].size, cases[_i].channels);
    char file[128];
    svit_dataset *data = NULL;
    svit_features *features = NULL;
    svit_trainer *trainer = NULL;
    size_t height, width;
    double loss, top1, top5;
    float out[SIDE * SIDE * 3];
    snprintf(file, sizeof file, "%s/list.csv", folder.path);
    fit_write(file, "path,label\na.png,x\n", 19);
    FAILS(svit_pipeline_evaluation_size(&bad, &height, &width, err), SVIT_E_ARGUMENT, part);
    FAILS(svit_pipeline_apply_evaluation(context, &bad, images, 1, SIDE, SIDE, out, err),
          SVIT_E_ARGUMENT, part);
    FAILS(svit_dataset_list(&data, context, file, &bad, err), SVIT_E_ARGUMENT, part);
    FAILS(svit_dataset_folder_pipeline(&data, context, folder.path, &bad, err), SVIT_E_ARGUMENT,
          part);
    check_shards(file, &bad, part);
    FAILS(svit_features_compute(&features, model, training, &bad, NULL, err), SVIT_E_ARGUMENT,
          part);
    FAILS(svit_evaluate(context, model, training, &bad, 4, &loss, &top1, &top5, err),
          SVIT_E_ARGUMENT, part);
    FAILS(svit_trainer_create(&trainer, context, model, training, NULL, &p.trainer, &p.optimizer,
                              &bad, err),
          SVIT_E_ARGUMENT, part);
    FAILS(svit_model_set_pipeline(model, &bad, err), SVIT_E_ARGUMENT, part);
    ck_assert(!data && !features && !trainer);
    ck_assert_int_eq(unlink(file), 0);
}
END_TEST

START_TEST(test_configurations_of_models_are_checked)
{
    const char *path = fit_path(&folder, "model.safetensors");
    svit_model *out = NULL;
    svit_model_config config = fit_model_config(CLASSES);
    uint64_t forward, backward;
    WORKS(svit_model_save(model, path, err));
    for (int i = 0; i < 2; i++) {
        const char *part = i ? "dim is 0" : "struct_size of svit_model_config is 5";
        config.struct_size = i ? sizeof config : 5;
        config.dim = i ? 0 : config.dim;
        FAILS(svit_model_load_with_config(&out, context, &config, path, err), SVIT_E_ARGUMENT,
              part);
        FAILS(svit_model_load_mapped(&out, context, &config, path, "timm", err), SVIT_E_ARGUMENT,
              part);
        FAILS(svit_model_create(&out, context, &config, 1, err), SVIT_E_ARGUMENT, part);
        FAILS(svit_model_multiply_adds(&config, &forward, &backward, err), SVIT_E_ARGUMENT, part);
    }
    svit_open_options options = {.struct_size = 5};
    FAILS(svit_model_open(&out, context, path, &options, NULL, err), SVIT_E_ARGUMENT,
          "struct_size of svit_open_options is 5");
    svit_load_report report = {.struct_size = 5};
    FAILS(svit_model_open(&out, context, path, NULL, &report, err), SVIT_E_ARGUMENT,
          "struct_size of svit_load_report is 5");
    FAILS(svit_model_load_into(model, path, "timm", 0, &report, err), SVIT_E_ARGUMENT,
          "struct_size of svit_load_report is 5");
    ck_assert_ptr_null(out);

    /* Of a later version: its fields may be 0. */
    struct {
        svit_load_report known;
        uint64_t later;
    } larger = {.known.struct_size = sizeof larger, .later = 1};
    FAILS(svit_model_load_into(model, path, "timm", 0, &larger.known, err), SVIT_E_VERSION,
          "svit_load_report sets a field");
    larger.later = 0;
    WORKS(svit_model_load_into(model, path, NULL, 0, &larger.known, err));
    ck_assert_uint_eq(larger.known.loaded, svit_model_parameter_count(model));
}
END_TEST

/* Each of the three structs of a training, when it is read and when it is written. */
START_TEST(test_structs_of_a_training_are_checked)
{
    static const char *const names[] = {"svit_trainer_config", "svit_optimizer_config",
                                        "svit_pipeline_config"};
    char text[16384], part[64];
    for (int i = 0; i < 3; i++) {
        plan bad = p;
        *(i == 0   ? &bad.trainer.struct_size
          : i == 1 ? &bad.optimizer.struct_size
                   : &bad.pipeline.struct_size) = 7;
        snprintf(part, sizeof part, "struct_size of %s is 7", names[i]);
        FAILS(svit_training_to_json(&bad.trainer, &bad.optimizer, &bad.pipeline, text, sizeof text,
                                    NULL, err),
              SVIT_E_ARGUMENT, part);
        FAILS(svit_training_from_json(&bad.trainer, &bad.optimizer, &bad.pipeline, "{}", err),
              SVIT_E_ARGUMENT, part);
    }
    svit_trainer *trainer = open_trainer(model, &p, NULL);
    svit_trainer_event event;
    for (size_t i = 0; i < 3; i++) {
        static const size_t sizes[] = {0, 3, 65537};
        snprintf(part, sizeof part, "size is %zu; give sizeof(svit_trainer_event)", sizes[i]);
        FAILS(svit_trainer_step(trainer, &event, sizes[i], err), SVIT_E_ARGUMENT, part);
    }
    svit_trainer_free(trainer);
}
END_TEST

/* The sizes that programs of library 0.1 have. */
enum {
    OLD_MODEL = offsetof(svit_model_config, class_token),
    OLD_TRAINER = offsetof(svit_trainer_config, loss)
};

/* A field that an older struct lacks may be lost where it is at its default, and only there. */
START_TEST(test_an_older_struct_is_filled_only_where_it_holds_all)
{
    static const char *const json[] = {
        "{\"architecture\": \"vit\", \"dim\": 24, \"heads\": 2, \"head_dim\": 12, \"depth\": 1}",
        "{\"architecture\": \"vit\", \"dim\": 24, \"heads\": 2, \"head_dim\": 12, \"depth\": 1,"
        " \"rope\": \"axial\", \"rope_theta\": 100}"};
    svit_model_config config, before, old;
    memset(&old, 0x5A, sizeof old);
    before = old;
    for (int i = 1; i >= 0; i--) {
        svit_model *vit = NULL;
        const char *part = "lacks the field rope";
        WORKS(svit_model_config_from_json(&config, sizeof config, json[i], err));
        WORKS(svit_model_create(&vit, context, &config, 1, err));
        if (i == 1) {
            FAILS(svit_model_get_config(vit, &old, OLD_MODEL, err), SVIT_E_VERSION, part);
            FAILS(svit_model_config_from_json(&old, OLD_MODEL, json[i], err), SVIT_E_VERSION, part);
            ck_assert_mem_eq(&old, &before, sizeof old);
        } else {
            WORKS(svit_model_config_from_json(&old, OLD_MODEL, json[i], err));
            WORKS(svit_model_get_config(vit, &old, OLD_MODEL, err));
            ck_assert_uint_eq(old.struct_size, OLD_MODEL);
            ck_assert_mem_eq(&old.architecture, &config.architecture,
                             OLD_MODEL - sizeof old.struct_size);
        }
        svit_model_free(vit);
    }
}
END_TEST

/* One of three structs cannot hold its part, so none is written. */
START_TEST(test_older_structs_of_a_training_are_filled_together)
{
    svit_trainer_config trainer = p.trainer;
    svit_optimizer_config optimizer = p.optimizer;
    svit_pipeline_config pipeline = p.pipeline;
    trainer.struct_size = OLD_TRAINER;
    FAILS(svit_training_from_json(&trainer, &optimizer, &pipeline,
                                  "{\"tta\": \"flip\", \"learning_rate\": 0.125, \"epochs\": 9}",
                                  err),
          SVIT_E_VERSION, "lacks the field tta");
    ck_assert_mem_eq(&optimizer, &p.optimizer, sizeof optimizer);
    ck_assert_uint_eq(trainer.epochs, p.trainer.epochs);
    WORKS(svit_training_from_json(&trainer, &optimizer, &pipeline,
                                  "{\"learning_rate\": 0.125, \"epochs\": 9}", err));
    ck_assert_double_eq(optimizer.learning_rate, 0.125);
    ck_assert_uint_eq(trainer.epochs, 9);
    ck_assert_uint_eq(trainer.struct_size, OLD_TRAINER);
    optimizer = p.optimizer;
    FAILS(svit_training_preset("vit-mae-cifar100", &trainer, OLD_TRAINER, &optimizer,
                               sizeof optimizer, NULL, 0, err),
          SVIT_E_VERSION, "lacks the field loss");
    ck_assert_mem_eq(&optimizer, &p.optimizer, sizeof optimizer);
}
END_TEST

START_TEST(test_an_older_pipeline_is_filled_only_where_it_holds_all)
{
    svit_pipeline_config config = p.pipeline, old;
    const size_t size = offsetof(svit_pipeline_config, zoom);
    config.zoom = 0;
    WORKS(svit_model_set_pipeline(model, &config, err));
    WORKS(svit_model_get_pipeline(model, &old, size, err));
    config.zoom = 0.25;
    WORKS(svit_model_set_pipeline(model, &config, err));
    FAILS(svit_model_get_pipeline(model, &old, size, err), SVIT_E_VERSION, "lacks the field zoom");
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("config_sizes");
    TCase *c = tcase_create("config_sizes");
    tcase_add_checked_fixture(c, open_all, close_all);
    tcase_add_loop_test(c, test_pipelines_are_checked, 0, 5);
    tcase_add_test(c, test_configurations_of_models_are_checked);
    tcase_add_test(c, test_structs_of_a_training_are_checked);
    tcase_add_test(c, test_an_older_struct_is_filled_only_where_it_holds_all);
    tcase_add_test(c, test_older_structs_of_a_training_are_filled_together);
    tcase_add_test(c, test_an_older_pipeline_is_filled_only_where_it_holds_all);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
