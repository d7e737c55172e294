/* Model configurations: presets, JSON, and what is refused. */
#include "fit.h"

#include "models/parameters.h"

static const struct {
    const char *name;
    uint64_t parameters;
} presets[] = {
    {"shiftvit-cifar10", 11690602}, {"shiftvit-cifar10-keras", 11690602},
    {"shiftvit-t-light", 19608328}, {"shiftvit-t", 28566664},
    {"shiftvit-s-light", 33796360}, {"shiftvit-s", 50304136},
    {"shiftvit-b-light", 59708776}, {"shiftvit-b", 89026408},
};
enum { PRESETS = sizeof presets / sizeof *presets };

START_TEST(test_presets_have_the_papers_numbers_of_parameters)
{
    svit_model_config config;
    WORKS(svit_model_config_preset(&config, sizeof config, presets[_i].name, err));
    sv_allocator allocator = sv_allocator_default();
    sv_parameter_table table;
    sv_parameter_table_init(&table, &allocator);
    WORKS(sv_shiftvit_parameters(&table, &config, err));
    ck_assert_uint_eq(table.elements, presets[_i].parameters);
    sv_parameter_table_free(&table);
    ck_assert_str_eq(svit_model_preset_name((size_t)_i), presets[_i].name);
    ck_assert_ptr_null(svit_model_preset_name(PRESETS));
}
END_TEST

START_TEST(test_a_model_of_the_default_preset_has_11690602_parameters)
{
    svit_context *context = fit_context(0);
    svit_model_config config;
    WORKS(svit_model_config_init(&config, sizeof config));
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, &config, 1, err));
    ck_assert_uint_eq(svit_model_parameter_elements(model), 11690602);
    svit_model_free(model);
    svit_context_free(context);
}
END_TEST

START_TEST(test_every_preset_has_training_settings)
{
    for (size_t i = 0; i < PRESETS; i++) {
        svit_model_config model;
        svit_trainer_config trainer;
        svit_optimizer_config optimizer;
        svit_pipeline_config pipeline;
        WORKS(svit_model_config_preset(&model, sizeof model, presets[i].name, err));
        WORKS(svit_training_preset(presets[i].name, &trainer, sizeof trainer, &optimizer,
                                   sizeof optimizer, &pipeline, sizeof pipeline, err));
        ck_assert_uint_eq(pipeline.output_height, model.input_height);
        ck_assert_int_eq(optimizer.schedule, SVIT_SCHEDULE_WARMUP_COSINE);
    }
    FAILS(svit_training_preset("vit", NULL, 0, NULL, 0, NULL, 0, err), SVIT_E_ARGUMENT, "'vit'");
}
END_TEST

static char *json_of(const svit_model_config *config)
{
    size_t needed;
    WORKS(svit_model_config_to_json(config, NULL, 0, &needed, err));
    char *json = malloc(needed);
    WORKS(svit_model_config_to_json(config, json, needed, NULL, err));
    return json;
}

START_TEST(test_json_round_trips_every_preset)
{
    svit_model_config config, back;
    WORKS(svit_model_config_preset(&config, sizeof config, presets[_i].name, err));
    char *json = json_of(&config);
    WORKS(svit_model_config_from_json(&back, sizeof back, json, err));
    ck_assert(fit_same_config(&back, &config));
    free(json);
}
END_TEST

START_TEST(test_an_empty_object_is_the_default)
{
    svit_model_config config, defaults;
    WORKS(svit_model_config_from_json(&config, sizeof config, "{}", err));
    WORKS(svit_model_config_init(&defaults, sizeof defaults));
    ck_assert(fit_same_config(&config, &defaults));
}
END_TEST

START_TEST(test_without_classifier_the_features_are_the_classes)
{
    svit_model_config config;
    WORKS(svit_model_config_from_json(&config, sizeof config, "{\"classifier\":false}", err));
    ck_assert_uint_eq(config.num_classes, 768);
    FAILS(svit_model_config_from_json(&config, sizeof config,
                                      "{\"classifier\":false,\"num_classes\":10}", err),
          SVIT_E_ARGUMENT, "num_classes is 10");
}
END_TEST

static const struct {
    const char *json;
    svit_status status;
    const char *part;
} wrong[] = {
    {"", SVIT_E_FORMAT, "JSON"},
    {"[]", SVIT_E_FORMAT, "object"},
    {"{\"dim\":96,\"dim\":96}", SVIT_E_FORMAT, "JSON"},
    {"{\"dims\":96}", SVIT_E_ARGUMENT, "'dims'"},
    {"{\"architecture\":\"vit\"}", SVIT_E_ARGUMENT, "architecture is 'vit'"},
    {"{\"architecture\":0}", SVIT_E_ARGUMENT, "architecture"},
    {"{\"input_height\":0}", SVIT_E_ARGUMENT, "input_height is 0"},
    {"{\"input_height\":8193}", SVIT_E_ARGUMENT, "input_height is 8193"},
    {"{\"input_width\":-1}", SVIT_E_ARGUMENT, "input_width is -1"},
    {"{\"input_width\":48.5}", SVIT_E_ARGUMENT, "input_width"},
    {"{\"in_channels\":\"3\"}", SVIT_E_ARGUMENT, "in_channels"},
    {"{\"num_classes\":1048577}", SVIT_E_ARGUMENT, "num_classes"},
    {"{\"patch_size\":257}", SVIT_E_ARGUMENT, "patch_size"},
    {"{\"dim\":4294967392}", SVIT_E_ARGUMENT, "dim is 4294967392"},
    {"{\"blocks\":2}", SVIT_E_ARGUMENT, "blocks"},
    {"{\"blocks\":[]}", SVIT_E_ARGUMENT, "blocks"},
    {"{\"blocks\":[1,1,1,1,1,1,1,1,1]}", SVIT_E_ARGUMENT, "blocks"},
    {"{\"blocks\":[1,1001]}", SVIT_E_ARGUMENT, "blocks is 1001"},
    {"{\"blocks\":[1,\"2\"]}", SVIT_E_ARGUMENT, "blocks"},
    {"{\"mlp_ratio\":0}", SVIT_E_ARGUMENT, "mlp_ratio is 0"},
    {"{\"mlp_ratio\":0.001}", SVIT_E_ARGUMENT, "mlp_ratio"},
    {"{\"num_div\":0}", SVIT_E_ARGUMENT, "num_div"},
    {"{\"num_div\":3}", SVIT_E_ARGUMENT, "num_div is 3"},
    {"{\"shift_pixel\":8193}", SVIT_E_ARGUMENT, "shift_pixel"},
    {"{\"shift\":\"False\"}", SVIT_E_ARGUMENT, "shift is 'False'"},
    {"{\"groups\":\"both\"}", SVIT_E_ARGUMENT, "groups"},
    {"{\"groups\":\"sections\",\"num_div\":48}", SVIT_E_ARGUMENT, "2 sections"},
    {"{\"groups\":\"sections\",\"num_div\":13}", SVIT_E_ARGUMENT, "cannot be divided"},
    {"{\"norm\":\"batch\"}", SVIT_E_ARGUMENT, "norm"},
    {"{\"patch_norm\":1}", SVIT_E_ARGUMENT, "patch_norm"},
    {"{\"final_norm\":\"true\"}", SVIT_E_ARGUMENT, "final_norm"},
    {"{\"patch_padding\":\"full\"}", SVIT_E_ARGUMENT, "patch_padding"},
    {"{\"merge_padding\":null}", SVIT_E_ARGUMENT, "merge_padding"},
    {"{\"classifier\":0}", SVIT_E_ARGUMENT, "classifier"},
    {"{\"norm_eps\":0}", SVIT_E_ARGUMENT, "norm_eps"},
    {"{\"dropout\":1}", SVIT_E_ARGUMENT, "dropout is 1"},
    {"{\"drop_path\":-0.1}", SVIT_E_ARGUMENT, "drop_path"},
    {"{\"drop_path_rule\":\"block\"}", SVIT_E_ARGUMENT, "drop_path_rule"},
    {"{\"init\":\"zero\"}", SVIT_E_ARGUMENT, "init"},
    {"{\"patch_padding\":\"valid\",\"input_height\":3}", SVIT_E_ARGUMENT, "input_height is 3"},
    {"{\"merge_padding\":\"valid\",\"input_width\":28}", SVIT_E_ARGUMENT, "input_width is 28"},
};

START_TEST(test_each_wrong_field_is_named)
{
    svit_model_config config;
    memset(&config, 0x5a, sizeof config);
    svit_model_config before = config;
    FAILS(svit_model_config_from_json(&config, sizeof config, wrong[_i].json, err),
          wrong[_i].status, wrong[_i].part);
    ck_assert_mem_eq(&config, &before, sizeof config);
}
END_TEST

START_TEST(test_wrong_structs_are_refused)
{
    svit_context *context = fit_context(1);
    svit_model *model = NULL;
    svit_model_config config = fit_model_config(3);
    config.shift = 2;
    FAILS(svit_model_create(&model, context, &config, 0, err), SVIT_E_ARGUMENT, "shift is 2");
    config = fit_model_config(3);
    config.stages = 9;
    FAILS(svit_model_create(&model, context, &config, 0, err), SVIT_E_ARGUMENT, "stages is 9");
    config = fit_model_config(3);
    config.dropout = 0.0 / 0.0;
    FAILS(svit_model_create(&model, context, &config, 0, err), SVIT_E_ARGUMENT, "dropout");
    config = fit_model_config(3);
    config.struct_size = 8;
    FAILS(svit_model_create(&model, context, &config, 0, err), SVIT_E_ARGUMENT, "struct_size");
    ck_assert_ptr_null(model);
    ck_assert_int_eq(svit_model_config_init(NULL, sizeof config), SVIT_E_ARGUMENT);
    ck_assert_int_eq(svit_model_config_init(&config, 3), SVIT_E_ARGUMENT);
    FAILS(svit_model_config_preset(&config, sizeof config, "shiftvit", err), SVIT_E_ARGUMENT,
          "shiftvit-t-light");
    svit_context_free(context);
}
END_TEST

START_TEST(test_a_longer_struct_of_a_newer_header_is_read_if_its_tail_is_zero)
{
    struct {
        svit_model_config config;
        uint64_t newer;
    } later = {.config = fit_model_config(3)};
    later.config.struct_size = sizeof later;
    svit_context *context = fit_context(1);
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, &later.config, 0, err));
    svit_model_free(model);
    later.newer = 1;
    FAILS(svit_model_create(&model, context, &later.config, 0, err), SVIT_E_VERSION, "version");
    svit_context_free(context);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("config");
    TCase *c = tcase_create("config");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, test_presets_have_the_papers_numbers_of_parameters, 0, PRESETS);
    tcase_add_test(c, test_a_model_of_the_default_preset_has_11690602_parameters);
    tcase_add_test(c, test_every_preset_has_training_settings);
    tcase_add_loop_test(c, test_json_round_trips_every_preset, 0, PRESETS);
    tcase_add_test(c, test_an_empty_object_is_the_default);
    tcase_add_test(c, test_without_classifier_the_features_are_the_classes);
    tcase_add_loop_test(c, test_each_wrong_field_is_named, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(c, test_wrong_structs_are_refused);
    tcase_add_test(c, test_a_longer_struct_of_a_newer_header_is_read_if_its_tail_is_zero);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
