/* Checks model configurations: presets, JSON, and what is refused. */
#include "fit.h"
#include "preset_sizes.h"

#include "models/architecture.h"
#include "models/config.h"

START_TEST(test_presets_have_the_papers_numbers_of_parameters_and_multiply_adds)
{
    svit_model_config config;
    WORKS(svit_model_config_preset(&config, sizeof config, presets[_i].name, err));
    sv_allocator allocator = sv_allocator_default();
    sv_parameter_table table;
    WORKS(sv_model_parameters(&table, &allocator, &config, err));
    ck_assert_uint_eq(table.elements, presets[_i].parameters);
    uint64_t forward, training;
    WORKS(svit_model_multiply_adds(&config, &forward, &training, err));
    ck_assert_uint_eq(forward, presets[_i].forward);
    ck_assert_uint_eq(training, presets[_i].training);
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
    svit_model_config model;
    svit_trainer_config trainer;
    svit_optimizer_config optimizer;
    svit_pipeline_config pipeline;
    WORKS(svit_model_config_preset(&model, sizeof model, presets[_i].name, err));
    WORKS(svit_training_preset(presets[_i].name, &trainer, sizeof trainer, &optimizer,
                               sizeof optimizer, &pipeline, sizeof pipeline, err));
    ck_assert_uint_eq(pipeline.output_height, model.input_height);
    ck_assert_uint_eq(pipeline.output_width, model.input_width);
    int32_t of_examples = strcmp(presets[_i].name, "shiftvit-cifar10-fast") == 0 ||
                                  strcmp(presets[_i].name, "shiftvit-cifar10-narrow") == 0 ||
                                  strcmp(presets[_i].name, "shiftvit-cifar100") == 0
                              ? SVIT_SOURCE_SHORTER_SIDE
                              : SVIT_SOURCE_NEAREST;
    ck_assert_int_eq(pipeline.source_filter,
                     model.input_width >= 224 ? SVIT_SOURCE_BICUBIC : of_examples);
    FAILS(svit_training_preset("vit", NULL, 0, NULL, 0, NULL, 0, err), SVIT_E_ARGUMENT, "'vit'");
}
END_TEST

static const struct {
    const char *preset;
    uint32_t epochs, batch, patience;
    int32_t schedule;
    double decay, smoothing, warmup;
    uint32_t exclude, resize;
    double rotation, zoom, bytes; /* the value of a byte of 255 */
    int32_t decay_rule;
} trainings[] = {
    {"shiftvit-cifar10", 100, 256, 5, SVIT_SCHEDULE_WARMUP_COSINE, 1e-4, 0, 0.15, 0, 52, 0, 0, 1,
     SVIT_DECAY_SCALED},
    {"shiftvit-cifar10-seed001", 100, 256, 5, SVIT_SCHEDULE_WARMUP_COSINE, 1e-4, 0, 0.15, 0, 52, 0,
     0, 1, SVIT_DECAY_UNSCALED},
    {"shiftvit-cifar10-seed004", 100, 256, 5, SVIT_SCHEDULE_WARMUP_COSINE, 1e-4, 0, 0.15, 0, 52, 0,
     0, 1, SVIT_DECAY_UNSCALED},
    {"vit-cifar100", 50, 256, 0, SVIT_SCHEDULE_CONSTANT, 1e-4, 0, 0.1, 0, 72, 0.02, 0.2, 255,
     SVIT_DECAY_SCALED},
    {"slvit-cifar100", 50, 256, 0, SVIT_SCHEDULE_CONSTANT, 1e-4, 0, 0.1, 0, 72, 0.02, 0.2, 255,
     SVIT_DECAY_SCALED},
    {"vit-cifar100-seed002", 50, 256, 0, SVIT_SCHEDULE_CONSTANT, 1e-4, 0, 0.1, 0, 72, 0.02, 0.2,
     255, SVIT_DECAY_SCALED},
    {"slvit-cifar100-seed002", 50, 256, 0, SVIT_SCHEDULE_CONSTANT, 1e-4, 0, 0.1, 0, 72, 0.02, 0.2,
     255, SVIT_DECAY_SCALED},
    {"slvit-cifar100-seed003", 50, 256, 0, SVIT_SCHEDULE_CONSTANT, 0, 0, 0.1, 0, 72, 0.02, 0.2, 255,
     SVIT_DECAY_SCALED},
    {"vit-cifar100-seed003", 50, 256, 0, SVIT_SCHEDULE_CONSTANT, 0, 0, 0.1, 0, 72, 0.02, 0.2, 255,
     SVIT_DECAY_SCALED},
    {"slvit-paper-cifar10", 100, 128, 0, SVIT_SCHEDULE_WARMUP_COSINE, 0.05, 0.1, 0.1, 7, 32, 0, 0,
     1, SVIT_DECAY_SCALED},
    {"vit-paper-cifar100", 100, 128, 0, SVIT_SCHEDULE_WARMUP_COSINE, 0.05, 0.1, 0.1, 7, 32, 0, 0, 1,
     SVIT_DECAY_SCALED},
    {"mixer-cifar10", 100, 128, 0, SVIT_SCHEDULE_WARMUP_COSINE, 0.05, 0.1, 0.1, 7, 32, 0, 0, 1,
     SVIT_DECAY_SCALED},
};

START_TEST(test_training_settings_are_those_of_the_examples)
{
    svit_trainer_config trainer;
    svit_optimizer_config optimizer;
    svit_pipeline_config pipeline;
    WORKS(svit_training_preset(trainings[_i].preset, &trainer, sizeof trainer, &optimizer,
                               sizeof optimizer, &pipeline, sizeof pipeline, err));
    ck_assert_uint_eq(trainer.epochs, trainings[_i].epochs);
    ck_assert_uint_eq(trainer.batch, trainings[_i].batch);
    ck_assert_uint_eq(trainer.patience, trainings[_i].patience);
    ck_assert_double_eq(trainer.label_smoothing, trainings[_i].smoothing);
    ck_assert_double_eq(trainer.warmup_fraction, trainings[_i].warmup);
    ck_assert_int_eq(optimizer.schedule, trainings[_i].schedule);
    ck_assert_double_eq(optimizer.learning_rate, 1e-3);
    ck_assert_double_eq(optimizer.weight_decay, trainings[_i].decay);
    ck_assert_uint_eq(optimizer.decay_exclude, trainings[_i].exclude);
    ck_assert_int_eq(optimizer.decay_rule, trainings[_i].decay_rule);
    ck_assert_uint_eq(pipeline.source_height, 32);
    ck_assert_uint_eq(pipeline.resize_height, trainings[_i].resize);
    ck_assert_double_eq(pipeline.flip_probability, 0.5);
    ck_assert_double_eq(pipeline.rotation, trainings[_i].rotation);
    ck_assert_double_eq(pipeline.zoom, trainings[_i].zoom);
    ck_assert_double_eq_tol(255 * pipeline.scale, trainings[_i].bytes, 1e-12);
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

/* For each architecture: an empty JSON object, and the preset that it is equal to. */
static const struct {
    const char *json, *preset;
} defaults[] = {
    {"{}", "shiftvit-cifar10"},
    {"{\"architecture\":\"shiftvit\"}", "shiftvit-cifar10"},
    {"{\"architecture\":\"vit\"}", "vit-cifar100"},
    {"{\"tokenizer\":\"spt\",\"attention\":\"lsa\",\"architecture\":\"vit\"}", "slvit-cifar100"},
    {"{\"architecture\":\"mixer\"}", "mixer-cifar10"},
};

START_TEST(test_a_field_left_out_is_the_architectures_default)
{
    svit_model_config config, preset;
    WORKS(svit_model_config_from_json(&config, sizeof config, defaults[_i].json, err));
    WORKS(svit_model_config_preset(&preset, sizeof preset, defaults[_i].preset, err));
    ck_assert(fit_same_config(&config, &preset));
}
END_TEST

/* Every field of a ViT with its default value. */
static const char keras_vit[] =
    "{\"architecture\":\"vit\",\"input_height\":72,\"input_width\":72,"
    "\"in_channels\":3,\"num_classes\":100,\"patch_size\":6,\"dim\":64,"
    "\"depth\":8,\"heads\":4,\"head_dim\":64,\"mlp_dim\":128,"
    "\"tokenizer\":\"patch\",\"spt_order\":\"seed\",\"attention\":\"global\","
    "\"temperature\":\"divide\",\"qkv_bias\":true,\"mlp_last_gelu\":true,"
    "\"pool\":\"flatten\",\"head_units\":[2048,1024],\"classifier\":true,"
    "\"norm_eps\":1e-06,\"dropout\":0.1,\"attention_dropout\":0.1,"
    "\"head_dropout\":0.5,\"drop_path\":0.0,\"drop_path_rule\":\"network\","
    "\"names\":\"seed\",\"init\":\"seed\"}";

START_TEST(test_the_default_vit_is_the_one_of_keras)
{
    svit_model_config config, written;
    WORKS(svit_model_config_preset(&config, sizeof config, "vit-cifar100", err));
    WORKS(svit_model_config_from_json(&written, sizeof written, keras_vit, err));
    ck_assert(fit_same_config(&config, &written));
    char *json = json_of(&config);
    for (const char *at = keras_vit; (at = strstr(at, ",\"")) != NULL; at++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ":"), at);
        ck_assert_msg(strstr(json, name) != NULL, "%s is not in %s", name, json);
    }
    ck_assert_ptr_null(strstr(json, "blocks"));
    ck_assert_ptr_null(strstr(json, "num_div"));
    free(json);
}
END_TEST

/* Every field of an MLP-Mixer with its default value. */
static const char default_mixer[] =
    "{\"architecture\":\"mixer\",\"input_height\":32,\"input_width\":32,"
    "\"in_channels\":3,\"num_classes\":10,\"patch_size\":4,\"dim\":256,"
    "\"depth\":8,\"token_mlp_dim\":64,\"mlp_dim\":512,\"classifier\":true,"
    "\"norm_eps\":1e-6,\"dropout\":0.0,\"drop_path\":0.1,"
    "\"drop_path_rule\":\"network\",\"init\":\"seed\"}";

START_TEST(test_a_mixer_has_its_own_fields)
{
    svit_model_config config, changed;
    WORKS(svit_model_config_preset(&config, sizeof config, "mixer-cifar10", err));
    char *json = json_of(&config);
    ck_assert_str_eq(json, default_mixer);
    free(json);
    changed = config;
    changed.heads = 65537;
    changed.stages = 77;
    ck_assert_ptr_null(sv_config_difference(&sv_model_config_type, &changed, &config));
    changed.token_mlp_dim = 65;
    ck_assert_str_eq(sv_config_difference(&sv_model_config_type, &changed, &config),
                     "token_mlp_dim");
}
END_TEST

START_TEST(test_fields_of_the_other_architecture_are_ignored)
{
    svit_model_config config, clean;
    WORKS(svit_model_config_preset(&clean, sizeof clean, "vit-cifar100", err));
    config = clean;
    config.stages = 77;
    config.num_div = 3;
    config.mlp_ratio = -1;
    ck_assert(fit_same_config(&config, &clean));
    ck_assert_ptr_null(sv_config_difference(&sv_model_config_type, &config, &clean));
    config.head_units[1] = 1000;
    ck_assert_str_eq(sv_config_difference(&sv_model_config_type, &config, &clean), "head_units");
    config.head_layers = 1;
    ck_assert_str_eq(sv_config_difference(&sv_model_config_type, &config, &clean), "head_units");
    WORKS(svit_model_config_init(&clean, sizeof clean));
    config = clean;
    config.heads = 65537;
    config.pool = 9;
    ck_assert(fit_same_config(&config, &clean));
    ck_assert_ptr_null(sv_config_difference(&sv_model_config_type, &config, &clean));
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
    const char *pool;
    uint32_t features;
} pools[] = {{"flatten", 144 * 64}, {"class_token", 64}, {"mean", 64}};

START_TEST(test_without_classifier_a_vits_features_are_the_classes)
{
    svit_model_config config;
    char json[128];
    snprintf(json, sizeof json,
             "{\"architecture\":\"vit\",\"classifier\":false,\"head_units\":[],\"pool\":\"%s\"}",
             pools[_i].pool);
    WORKS(svit_model_config_from_json(&config, sizeof config, json, err));
    ck_assert_uint_eq(config.num_classes, pools[_i].features);
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
    {"{\"architecture\":\"swin\"}", SVIT_E_ARGUMENT, "architecture is 'swin'"},
    {"{\"heads\":4}", SVIT_E_ARGUMENT, "'heads' is a field of architecture 'vit'"},
    {"{\"head_units\":[]}", SVIT_E_ARGUMENT, "'head_units' is a field of architecture 'vit'"},
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
    {"{\"architecture\":\"vit\",\"blocks\":[1]}", SVIT_E_ARGUMENT,
     "'blocks' is a field of architecture 'shiftvit'"},
    {"{\"architecture\":\"vit\",\"mlp_ratio\":2}", SVIT_E_ARGUMENT,
     "'mlp_ratio' is a field of architecture 'shiftvit'"},
    {"{\"architecture\":\"vit\",\"input_height\":70}", SVIT_E_ARGUMENT,
     "input_height is 70; it is a multiple of patch_size 6, such as 66"},
    {"{\"architecture\":\"vit\",\"patch_padding\":\"valid\",\"input_width\":5}", SVIT_E_ARGUMENT,
     "input_height and input_width are 72 and 5; both are at least patch_size, 6"},
    {"{\"architecture\":\"vit\",\"patch_padding\":\"valid\",\"tokenizer\":\"spt\"}",
     SVIT_E_ARGUMENT, "patch_padding is 'valid', which does not go with this 'tokenizer'"},
    {"{\"architecture\":\"vit\",\"input_width\":5}", SVIT_E_ARGUMENT,
     "input_width is 5; it is a multiple of patch_size 6, such as 6"},
    {"{\"architecture\":\"vit\",\"depth\":0}", SVIT_E_ARGUMENT, "depth is 0"},
    {"{\"architecture\":\"vit\",\"depth\":1001}", SVIT_E_ARGUMENT, "depth is 1001"},
    {"{\"architecture\":\"vit\",\"heads\":0}", SVIT_E_ARGUMENT, "heads is 0"},
    {"{\"architecture\":\"vit\",\"heads\":65537}", SVIT_E_ARGUMENT, "heads is 65537"},
    {"{\"architecture\":\"vit\",\"head_dim\":0}", SVIT_E_ARGUMENT, "head_dim is 0"},
    {"{\"architecture\":\"vit\",\"head_dim\":16385}", SVIT_E_ARGUMENT, "at most 16384"},
    {"{\"architecture\":\"vit\",\"head_dim\":4294967297}", SVIT_E_ARGUMENT,
     "head_dim is 4294967297"},
    {"{\"architecture\":\"vit\",\"mlp_dim\":0}", SVIT_E_ARGUMENT, "mlp_dim is 0"},
    {"{\"architecture\":\"vit\",\"mlp_dim\":1.5}", SVIT_E_ARGUMENT, "mlp_dim"},
    {"{\"architecture\":\"vit\",\"tokenizer\":\"shift\"}", SVIT_E_ARGUMENT, "tokenizer is 'shift'"},
    {"{\"architecture\":\"vit\",\"tokenizer\":\"conv\"}", SVIT_E_ARGUMENT,
     "the tokenizer 'conv' has a patch_size of 2 or 4"},
    {"{\"architecture\":\"vit\",\"tokenizer\":\"conv\",\"patch_size\":4,\"dim\":63}",
     SVIT_E_ARGUMENT, "dim is 63; the tokenizer 'conv' needs an even one"},
    {"{\"architecture\":\"vit\",\"tokenizer\":\"conv\",\"patch_size\":4,\"patch_bias\":false}",
     SVIT_E_ARGUMENT, "the tokenizer 'conv' has biases"},
    {"{\"architecture\":\"vit\",\"tokenizer\":\"conv\",\"patch_size\":4,\"names\":\"paper\"}",
     SVIT_E_ARGUMENT, "tokenizer is not its default"},
    {"{\"architecture\":\"vit\",\"spt_order\":\"keras\"}", SVIT_E_ARGUMENT, "spt_order is 'keras'"},
    {"{\"architecture\":\"vit\",\"attention\":1}", SVIT_E_ARGUMENT, "attention is not text"},
    {"{\"architecture\":\"vit\",\"temperature\":\"add\"}", SVIT_E_ARGUMENT, "temperature is 'add'"},
    {"{\"architecture\":\"vit\",\"qkv_bias\":1}", SVIT_E_ARGUMENT, "qkv_bias"},
    {"{\"architecture\":\"vit\",\"mlp_last_gelu\":\"true\"}", SVIT_E_ARGUMENT, "mlp_last_gelu"},
    {"{\"architecture\":\"vit\",\"pool\":\"max\"}", SVIT_E_ARGUMENT,
     "'flatten' or 'class_token' or 'mean'"},
    {"{\"architecture\":\"vit\",\"head_units\":2048}", SVIT_E_ARGUMENT,
     "head_units is not an array of 0 to 8"},
    {"{\"architecture\":\"vit\",\"head_units\":[1,1,1,1,1,1,1,1,1]}", SVIT_E_ARGUMENT,
     "head_units"},
    {"{\"architecture\":\"vit\",\"head_units\":[0]}", SVIT_E_ARGUMENT, "head_units is 0"},
    {"{\"architecture\":\"vit\",\"classifier\":false}", SVIT_E_ARGUMENT,
     "head_units has 2 layers; without a classifier"},
    {"{\"architecture\":\"vit\",\"names\":\"paper\"}", SVIT_E_ARGUMENT,
     "head_units has 2 layers; with names"},
    {"{\"architecture\":\"vit\",\"names\":\"timm\"}", SVIT_E_ARGUMENT, "names is 'timm'"},
    {"{\"architecture\":\"vit\",\"attention_dropout\":1}", SVIT_E_ARGUMENT,
     "attention_dropout is 1"},
    {"{\"architecture\":\"vit\",\"head_dropout\":-0.5}", SVIT_E_ARGUMENT, "head_dropout is -0.5"},
    {"{\"architecture\":\"vit\",\"init\":\"zero\"}", SVIT_E_ARGUMENT, "init is 'zero'"},
    {"{\"architecture\":\"vit\",\"classifier\":false,\"head_units\":[],\"num_classes\":100}",
     SVIT_E_ARGUMENT, "num_classes is 100"},
    {"{\"architecture\":\"vit\",\"classifier\":false,\"head_units\":[],\"dim\":65536}",
     SVIT_E_ARGUMENT, "num_classes is 9437184"},
    {"{\"architecture\":\"mixer\",\"heads\":4}", SVIT_E_ARGUMENT,
     "'heads' is a field of architecture 'vit'; here it is 'mixer'"},
    {"{\"token_mlp_dim\":4}", SVIT_E_ARGUMENT,
     "'token_mlp_dim' is a field of architecture 'mixer'"},
    {"{\"architecture\":\"mixer\",\"token_mlp_dim\":0}", SVIT_E_ARGUMENT, "token_mlp_dim is 0"},
    {"{\"architecture\":\"mixer\",\"token_mlp_dim\":1048577}", SVIT_E_ARGUMENT,
     "token_mlp_dim is 1048577"},
    {"{\"architecture\":\"mixer\",\"mlp_dim\":0}", SVIT_E_ARGUMENT, "mlp_dim is 0"},
    {"{\"architecture\":\"mixer\",\"depth\":1001}", SVIT_E_ARGUMENT, "depth is 1001"},
    {"{\"architecture\":\"mixer\",\"init\":\"paper\"}", SVIT_E_ARGUMENT, "init is 'paper'"},
    {"{\"architecture\":\"mixer\",\"input_height\":30}", SVIT_E_ARGUMENT,
     "input_height is 30; it is a multiple of patch_size 4, such as 28"},
    {"{\"architecture\":\"mixer\",\"input_width\":3}", SVIT_E_ARGUMENT,
     "input_width is 3; it is a multiple of patch_size 4, such as 4"},
    {"{\"architecture\":\"mixer\",\"classifier\":false,\"num_classes\":10}", SVIT_E_ARGUMENT,
     "num_classes is 10; without a classifier the 256 pooled features"},
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
    WORKS(svit_model_config_preset(&config, sizeof config, "vit-cifar100", err));
    config.head_layers = 9;
    FAILS(svit_model_create(&model, context, &config, 0, err), SVIT_E_ARGUMENT,
          "head_layers is 9; it is 0..8");
    config.head_layers = 2;
    config.head_units[1] = 0;
    FAILS(svit_model_create(&model, context, &config, 0, err), SVIT_E_ARGUMENT,
          "head_units[1] is 0");
    config.architecture = 3;
    FAILS(svit_model_create(&model, context, &config, 0, err), SVIT_E_ARGUMENT,
          "architecture is 3");
    config = fit_model_config(3);
    config.struct_size = 8;
    FAILS(svit_model_create(&model, context, &config, 0, err), SVIT_E_ARGUMENT, "struct_size");
    ck_assert_ptr_null(model);
    ck_assert_int_eq(svit_model_config_init(NULL, sizeof config), SVIT_E_ARGUMENT);
    ck_assert_int_eq(svit_model_config_init(&config, 3), SVIT_E_ARGUMENT);
    FAILS(svit_model_config_preset(&config, sizeof config, "shiftvit", err), SVIT_E_ARGUMENT,
          "preset 'shiftvit' is unknown");
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
    tcase_add_loop_test(c, test_presets_have_the_papers_numbers_of_parameters_and_multiply_adds, 0,
                        PRESETS);
    tcase_add_test(c, test_a_model_of_the_default_preset_has_11690602_parameters);
    tcase_add_loop_test(c, test_every_preset_has_training_settings, 0, PRESETS);
    tcase_add_loop_test(c, test_training_settings_are_those_of_the_examples, 0,
                        sizeof trainings / sizeof *trainings);
    tcase_add_loop_test(c, test_json_round_trips_every_preset, 0, PRESETS);
    tcase_add_loop_test(c, test_a_field_left_out_is_the_architectures_default, 0,
                        sizeof defaults / sizeof *defaults);
    tcase_add_test(c, test_the_default_vit_is_the_one_of_keras);
    tcase_add_test(c, test_a_mixer_has_its_own_fields);
    tcase_add_test(c, test_fields_of_the_other_architecture_are_ignored);
    tcase_add_test(c, test_without_classifier_the_features_are_the_classes);
    tcase_add_loop_test(c, test_without_classifier_a_vits_features_are_the_classes, 0,
                        sizeof pools / sizeof *pools);
    tcase_add_loop_test(c, test_each_wrong_field_is_named, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(c, test_wrong_structs_are_refused);
    tcase_add_test(c, test_a_longer_struct_of_a_newer_header_is_read_if_its_tail_is_zero);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
