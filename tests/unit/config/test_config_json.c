/* Checks the JSON of the configurations of sessions, optimisers, trainers and loaders: every field
 * reads back, and every wrong one is named. */
#include "fit.h"

#include "config/fields.h"

#include <float.h>
#include <math.h>

/* The functions of one configuration, with its struct behind a void pointer. */
typedef struct noun {
    const char *name;
    size_t size;
    svit_status (*init)(void *config, size_t size);
    svit_status (*read)(void *config, size_t size, const char *json, svit_error *err);
    svit_status (*write)(const void *config, char *buffer, size_t capacity, size_t *needed,
                         svit_error *err);
    const char *defaults;
    const char *other; /* an object with every field, each with a value other than its default */
} noun;

#define CALLS(noun)                                                                                \
    static svit_status noun##_init(void *config, size_t size)                                      \
    {                                                                                              \
        return svit_##noun##_config_init(config, size);                                            \
    }                                                                                              \
    static svit_status noun##_read(void *config, size_t size, const char *json, svit_error *err)   \
    {                                                                                              \
        return svit_##noun##_config_from_json(config, size, json, err);                            \
    }                                                                                              \
    static svit_status noun##_write(const void *config, char *buffer, size_t capacity,             \
                                    size_t *needed, svit_error *err)                               \
    {                                                                                              \
        return svit_##noun##_config_to_json(config, buffer, capacity, needed, err);                \
    }
CALLS(session)
CALLS(optimizer)
CALLS(trainer)
CALLS(loader)
#define NOUN(noun) #noun, sizeof(svit_##noun##_config), noun##_init, noun##_read, noun##_write

static const noun nouns[] = {
    {NOUN(session),
     "{\"max_batch\":256,\"mode\":\"infer\",\"compute\":\"f32\",\"seed\":0,\"input_height\":0,"
     "\"input_width\":0,\"memory\":\"store\",\"features\":false,\"input_layer\":\"\","
     "\"input_gradient\":false,\"check_finite\":false}",
     "{\"max_batch\":7,\"mode\":\"train\",\"compute\":\"bf16\",\"seed\":18446744073709551615,"
     "\"input_height\":32,\"input_width\":8192,\"memory\":\"stages\",\"features\":true,"
     "\"input_layer\":\"blocks.9\",\"input_gradient\":true,\"check_finite\":true}"},
    {NOUN(optimizer),
     "{\"optimizer\":\"adamw\",\"learning_rate\":0.001,\"beta1\":0.9,\"beta2\":0.999,"
     "\"epsilon\":1e-7,\"weight_decay\":0.0001,\"momentum\":0.0,\"clip_norm\":0.0,"
     "\"ema_momentum\":0.0,\"lr_start\":0.0,\"warmup_steps\":0,\"total_steps\":0,"
     "\"schedule\":\"constant\",\"decay_rule\":\"scaled\",\"decay_exclude\":[],\"nesterov\":false,"
     "\"ema\":\"none\",\"sgd_form\":\"keras\",\"epsilon_form\":\"keras\","
     "\"adamw_learning_rate\":0.001,\"lookahead_alpha\":0.5,\"swa_start\":0.0,\"layer_decay\":1.0,"
     "\"swa_every\":0,"
     "\"step_size\":0,\"step_factor\":0.1,\"restart_steps\":0,\"restart_factor\":1,"
     "\"lookahead\":0,\"groups\":[],\"points\":[]}",
     "{\"optimizer\":\"sgd\",\"learning_rate\":0.2,\"beta1\":0.8,\"beta2\":0.99,\"epsilon\":1e-8,"
     "\"weight_decay\":0.05,\"momentum\":0.9,\"clip_norm\":5.0,\"ema_momentum\":0.999,"
     "\"lr_start\":0.1,\"warmup_steps\":9007199254740993,\"total_steps\":9007199254740995,"
     "\"schedule\":\"warmup-cosine\",\"decay_rule\":\"unscaled\",\"decay_exclude\":[\"bias\","
     "\"position\"],\"nesterov\":true,\"ema\":\"keras\",\"sgd_form\":\"torch\","
     "\"epsilon_form\":\"torch\",\"adamw_learning_rate\":0.003,\"lookahead_alpha\":0.25,"
     "\"swa_start\":0.75,\"layer_decay\":0.65,\"swa_every\":7,\"step_size\":30,\"step_factor\":0.2,"
     "\"restart_steps\":5,\"restart_factor\":2,\"lookahead\":6,\"groups\":[{\"pattern\":\"head.*\","
     "\"lr_scale\":10.0,\"weight_decay\":0.0,\"trainable\":true,\"rule\":\"auto\"},{\"pattern\":"
     "\"*.bias\",\"lr_scale\":1.0,\"weight_decay\":-1.0,\"trainable\":false,\"rule\":\"element\"}],"
     "\"points\":[[0.0,0.2],[0.4,1.0],[1.0,0.0]]}"},
    {NOUN(trainer),
     "{\"epochs\":100,\"batch\":256,\"accumulate\":1,\"patience\":5,\"keep\":\"last\",\"seed\":0,"
     "\"label_smoothing\":0.0,\"warmup_fraction\":0.15,\"checkpoint_seconds\":0.0,"
     "\"compute\":\"f32\",\"prefetch\":2,\"memory\":\"store\",\"existing\":\"refuse\",\"loss\":"
     "\"cross-entropy\","
     "\"sampling\":\"shuffle\",\"tta\":\"none\",\"class_weights\":[],\"tensorboard\":false,"
     "\"schedule_anew\":false,"
     "\"leaves\":0,\"shuffle_window\":0,\"check_finite\":false,\"early_height\":0,"
     "\"early_width\":0,\"class_weighting\":\"given\",\"early_fraction\":0.0}",
     "{\"epochs\":3,\"batch\":8,\"accumulate\":1,\"patience\":4294967295,\"keep\":\"best\","
     "\"seed\":9,\"label_smoothing\":0.1,\"warmup_fraction\":1.0,\"checkpoint_seconds\":2.5,"
     "\"compute\":\"bf16\",\"prefetch\":16,\"memory\":\"blocks\",\"existing\":\"overwrite\","
     "\"loss\":\"binary\","
     "\"sampling\":\"balanced\",\"tta\":\"flip-shift\",\"class_weights\":[0.5,2.0],"
     "\"tensorboard\":true,\"schedule_anew\":true,\"leaves\":7,"
     "\"shuffle_window\":6,\"check_finite\":true,\"early_height\":24,"
     "\"early_width\":16384,\"class_weighting\":\"given\",\"early_fraction\":0.5}"},
    {NOUN(loader),
     "{\"batch\":256,\"seed\":0,\"shuffle\":false,\"augment\":false,\"prefetch\":2,"
     "\"sampling\":\"shuffle\",\"leaves\":0,\"rank\":0,\"ranks\":1,"
     "\"shuffle_window\":0}",
     "{\"batch\":65536,\"seed\":1,\"shuffle\":true,\"augment\":true,\"prefetch\":0,"
     "\"sampling\":\"balanced\",\"leaves\":8,\"rank\":2,\"ranks\":3,\"shuffle_window\":0}"},
};
enum { NOUNS = sizeof nouns / sizeof *nouns };

typedef union any {
    svit_session_config session;
    svit_optimizer_config optimizer;
    svit_trainer_config trainer;
    svit_loader_config loader;
    unsigned char bytes[512];
} any;

static void check_text(const noun *what, const any *config, const char *wanted)
{
    char text[1024];
    size_t needed = 0;
    WORKS(what->write(config, NULL, 0, &needed, err));
    ck_assert_uint_eq(needed, strlen(wanted) + 1);
    WORKS(what->write(config, text, sizeof text, &needed, err));
    ck_assert_str_eq(text, wanted);
    FAILS(what->write(config, text, needed - 1, NULL, err), SVIT_E_ARGUMENT, "capacity");
}

START_TEST(test_every_field_reads_back)
{
    const noun *what = &nouns[_i];
    any config, back;
    memset(&config, 0, sizeof config);
    memset(&back, 0xff, sizeof back);
    ck_assert_int_eq(what->init(&config, what->size), SVIT_OK);
    check_text(what, &config, what->defaults);
    WORKS(what->read(&back, what->size, "{}", err));
    ck_assert_mem_eq(&back, &config, what->size);
    WORKS(what->read(&back, what->size, what->defaults, err));
    ck_assert_mem_eq(&back, &config, what->size);
    WORKS(what->read(&back, what->size, what->other, err));
    check_text(what, &back, what->other);
}
END_TEST

START_TEST(test_a_wrong_call_writes_nothing)
{
    const noun *what = &nouns[_i];
    any config, before;
    memset(&config, 0x5a, sizeof config);
    before = config;
    FAILS(what->read(&config, what->size, "[]", err), SVIT_E_FORMAT, what->name);
    FAILS(what->read(&config, what->size, "{\"seed\":1,\"seed\":2}", err), SVIT_E_FORMAT, "'seed'");
    FAILS(what->read(&config, what->size, "{\"seeed\":1}", err), SVIT_E_ARGUMENT,
          "'seeed' is no field of the ");
    if (what->read != optimizer_read)
        FAILS(what->read(&config, what->size, "{\"seeed\":1}", err), SVIT_E_ARGUMENT,
              "did you mean 'seed'?");
    FAILS(what->read(&config, 2, "{}", err), SVIT_E_ARGUMENT, "size is 2");
    FAILS(what->read(NULL, what->size, "{}", err), SVIT_E_ARGUMENT, "config is NULL");
    FAILS(what->read(&config, what->size, NULL, err), SVIT_E_ARGUMENT, "json is NULL");
    FAILS(what->write(NULL, NULL, 0, NULL, err), SVIT_E_ARGUMENT, "config is NULL");
    ck_assert_mem_eq(&config, &before, sizeof config);
    ck_assert_int_eq(what->init(&config, what->size), SVIT_OK);
    config.session.struct_size = 4;
    FAILS(what->write(&config, NULL, 0, NULL, err), SVIT_E_ARGUMENT, "struct_size");
}
END_TEST

/* An error for configuration nouns[noun]. */
enum { SESSION, OPTIMIZER, TRAINER, LOADER };
static const struct {
    int noun;
    const char *json;
    const char *part;
} wrong[] = {
    {SESSION, "{\"max_batch\":0}", "max_batch is 0; it is in [1, 65536]"},
    {SESSION, "{\"max_batch\":4294967297}", "max_batch is 4294967297; it is in [1, 65536]"},
    {SESSION, "{\"max_batch\":1.5}", "max_batch is not a whole number"},
    {SESSION, "{\"max_batch\":1.0}", "max_batch is not a whole number"},
    {SESSION, "{\"mode\":\"fit\"}", "mode is 'fit'; it is 'infer' or 'train'"},
    {SESSION, "{\"mode\":1}", "mode is not text; it is 'infer' or 'train'"},
    {SESSION, "{\"compute\":\"fp16\"}", "compute is 'fp16'; it is 'f32' or 'bf16' or 'int8'"},
    {SESSION, "{\"compute\":\"int8\",\"mode\":\"train\"}", "only infers"},
    {SESSION, "{\"seed\":-1}", "seed is not a whole number from 0"},
    {SESSION, "{\"seed\":18446744073709551615,\"memory\":\"all\"}", "memory is 'all'"},
    {SESSION, "{\"input_width\":8193}", "input_width is 8193; it is in [0, 8192]"},
    {SESSION, "{\"struct_size\":48}", "'struct_size' is no field"},
    {SESSION, "{\"reserved\":0}", "'reserved' is no field"},
    {OPTIMIZER, "{\"kind\":\"sgd\"}", "'kind' is no field"},
    {OPTIMIZER, "{\"group_count\":1}",
     "'group_count' is no field of the optimizer configuration; it follows from the length of "
     "'groups'"},
    {OPTIMIZER, "{\"optimiser\":\"sgd\"}", "did you mean 'optimizer'?"},
    {OPTIMIZER, "{\"optimizer\":\"adam\"}",
     "optimizer is 'adam'; it is 'adamw' or 'sgd' or 'muon' or 'lion'"},
    {OPTIMIZER, "{\"groups\":[{\"pattern\":\"a\"},{}]}", "groups[1]: pattern is empty"},
    {OPTIMIZER, "{\"groups\":[{\"pattern\":\"a\",\"rate\":1}]}",
     "groups[0]: 'rate' is no field of a parameter group"},
    {OPTIMIZER, "{\"groups\":[{\"pattern\":7}]}", "groups[0]: pattern is not text"},
    {OPTIMIZER, "{\"groups\":[{\"pattern\":\"a\",\"rule\":\"muon\"}]}",
     "groups[0]: rule is 'muon'; it is 'auto' or 'element' or 'matrix'"},
    {OPTIMIZER, "{\"groups\":{}}", "groups is not an array of at most 16 parameter groups"},
    {OPTIMIZER, "{\"points\":[[0,1,2]]}", "points[0]: it is no pair [fraction, factor]"},
    {OPTIMIZER, "{\"points\":[[0,1],[1.5,0]]}", "points[1]: the fraction is 1.5; it is in [0, 1]"},
    {OPTIMIZER, "{\"schedule\":\"piecewise\"}",
     "points has 0 elements; a piecewise schedule has at least 2"},
    {OPTIMIZER, "{\"schedule\":\"piecewise\",\"total_steps\":9,\"points\":[[0,1]]}",
     "points has 1 elements; a piecewise schedule has at least 2"},
    {OPTIMIZER, "{\"schedule\":\"piecewise\",\"total_steps\":9,\"points\":[[0,1],[0,0]]}",
     "points[1] has fraction 0; it is above that of the point before, 0"},
    {OPTIMIZER, "{\"schedule\":\"step\",\"step_size\":0}", "step_size is 0"},
    {OPTIMIZER, "{\"learning_rate\":-0.1}", "learning_rate is -0.1; it is in [0, "},
    {OPTIMIZER, "{\"learnign_rate\":0.1}", "did you mean 'learning_rate'?"},
    {OPTIMIZER, "{\"beta1\":1}", "beta1 is 1; it is in [0, 1)"},
    {OPTIMIZER, "{\"epsilon\":0}", "epsilon is 0; it is in (0, "},
    {OPTIMIZER, "{\"momentum\":\"0.9\"}", "momentum is not a number"},
    {OPTIMIZER, "{\"decay_exclude\":\"bias\"}", "decay_exclude is not an array of words"},
    {OPTIMIZER, "{\"decay_exclude\":[\"weight\"]}",
     "decay_exclude is 'weight'; it is 'bias' or 'norm' or 'position'"},
    {OPTIMIZER, "{\"nesterov\":1}", "nesterov is not true or false"},
    {OPTIMIZER, "{\"schedule\":\"warmup-cosine\",\"total_steps\":5,\"warmup_steps\":6}",
     "warmup_steps is 6; it is at most total_steps"},
    {TRAINER, "{\"epochs\":0}", "epochs is 0; it is in [1, 1000000]"},
    {TRAINER, "{\"label_smoothing\":1}", "label_smoothing is 1; it is in [0, 1)"},
    {TRAINER, "{\"checkpoint_seconds\":-1}",
     "checkpoint_seconds is -1; it is a finite number from 0"},
    {TRAINER, "{\"accumulate\":9,\"batch\":8}", "accumulate is 9; it is at most batch, 8"},
    {TRAINER, "{\"leaves\":9,\"batch\":8}", "leaves is 9; it is at most batch, 8"},
    {TRAINER, "{\"leaves\":4,\"accumulate\":2}", "accumulate is 2 and leaves is 4"},
    {TRAINER, "{\"compute\":\"int8\"}", "compute is 'int8'; it is 'f32' or 'bf16'"},
    {TRAINER, "{\"keep\":\"first\"}", "keep is 'first'; it is 'last' or 'best'"},
    {TRAINER, "{\"folder\":\"run\"}", "folder is a string that the struct only points to"},
    {LOADER, "{\"batch\":0}", "batch is 0; it is in [1, 65536]"},
    {LOADER, "{\"shuffle\":1}", "shuffle is not true or false"},
    {LOADER, "{\"prefetch\":17}", "prefetch is 17; it is in [0, 16]"},
};

START_TEST(test_each_wrong_field_is_named)
{
    const noun *what = &nouns[wrong[_i].noun];
    any config;
    FAILS(what->read(&config, what->size, wrong[_i].json, err), SVIT_E_ARGUMENT, wrong[_i].part);
}
END_TEST

/* A third of a key's characters may be wrong, and two of a key of five. */
START_TEST(test_a_key_is_suggested_if_it_resembles_the_wrong_one)
{
    static const struct {
        const char *key, *similar;
    } cases[] = {
        {"poitn", "points"},        {"decay", NULL},
        {"moment", "momentum"},     {"warmups", NULL},
        {"step_rate", "step_size"}, {"learn_rate", "learning_rate"},
        {"learn_rates", NULL},      {"eps", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        svit_optimizer_config config;
        svit_error error = {.struct_size = sizeof error};
        char json[64], wanted[160];
        int length = snprintf(wanted, sizeof wanted,
                              "'%s' is no field of the optimizer configuration", cases[i].key);
        if (cases[i].similar)
            snprintf(wanted + length, sizeof wanted - (size_t)length, "; did you mean '%s'?",
                     cases[i].similar);
        snprintf(json, sizeof json, "{\"%s\":1}", cases[i].key);
        ck_assert_int_eq(svit_optimizer_config_from_json(&config, sizeof config, json, &error),
                         SVIT_E_ARGUMENT);
        ck_assert_str_eq(error.message, wanted);
    }
}
END_TEST

START_TEST(test_structs_are_checked_before_they_are_written)
{
    svit_trainer_config trainer;
    svit_optimizer_config optimizer;
    svit_session_config session;
    svit_loader_config loader;
    svit_trainer_config_init(&trainer, sizeof trainer);
    svit_optimizer_config_init(&optimizer, sizeof optimizer);
    svit_session_config_init(&session, sizeof session);
    svit_loader_config_init(&loader, sizeof loader);
    trainer.label_smoothing = NAN;
    FAILS(svit_trainer_config_to_json(&trainer, NULL, 0, NULL, err), SVIT_E_ARGUMENT,
          "label_smoothing is nan; it is in [0, 1)");
    trainer.label_smoothing = 0;
    trainer.checkpoint_seconds = INFINITY;
    FAILS(svit_trainer_config_to_json(&trainer, NULL, 0, NULL, err), SVIT_E_ARGUMENT,
          "checkpoint_seconds is inf");
    optimizer.kind = 4;
    FAILS(svit_optimizer_config_to_json(&optimizer, NULL, 0, NULL, err), SVIT_E_ARGUMENT,
          "kind is 4; it is 0..3: 'adamw' or 'sgd' or 'muon' or 'lion'");
    optimizer.kind = 0;
    optimizer.decay_exclude = 8;
    FAILS(svit_optimizer_config_to_json(&optimizer, NULL, 0, NULL, err), SVIT_E_ARGUMENT,
          "decay_exclude is 8; it is 0..7");
    session.mode = -1;
    FAILS(svit_session_config_to_json(&session, NULL, 0, NULL, err), SVIT_E_ARGUMENT,
          "mode is -1; it is 0..1: 'infer' or 'train'");
    loader.augment = 2;
    FAILS(svit_loader_config_to_json(&loader, NULL, 0, NULL, err), SVIT_E_ARGUMENT,
          "svit_loader_config: augment is 2; it is 0..1");
}
END_TEST

/* A trainer counts the steps of a schedule itself. A program that uses an optimiser directly must
 * set them, so JSON may leave them out. */
START_TEST(test_a_schedule_without_steps_is_read)
{
    svit_optimizer_config config;
    double rate;
    WORKS(svit_optimizer_config_from_json(&config, sizeof config,
                                          "{\"schedule\":\"warmup-cosine\"}", err));
    ck_assert_int_eq(config.schedule, SVIT_SCHEDULE_WARMUP_COSINE);
    FAILS(svit_learning_rate(&config, 0, &rate, err), SVIT_E_ARGUMENT, "total_steps is 0");
}
END_TEST

/* Regression: the folder and the description were written, and the text could not be read. */
START_TEST(test_what_a_trainer_writes_is_read_with_every_text_set)
{
    char text[1024], again[1024];
    svit_trainer_config config, other;
    svit_trainer_config_init(&config, sizeof config);
    config.folder = "runs/\"a\"";
    config.description = "a note";
    config.epochs = 7;
    WORKS(svit_trainer_config_to_json(&config, text, sizeof text, NULL, err));
    WORKS(svit_trainer_config_from_json(&other, sizeof other, text, err));
    ck_assert_ptr_null(other.folder);
    ck_assert_ptr_null(other.description);
    WORKS(svit_trainer_config_to_json(&other, again, sizeof again, NULL, err));
    ck_assert_str_eq(text, again);
    ck_assert_uint_eq(other.epochs, 7);
}
END_TEST

/* The three structs of a training. */
typedef struct training {
    svit_trainer_config trainer;
    svit_optimizer_config optimizer;
    svit_pipeline_config pipeline;
} training;

static void training_init(training *t, const char *preset)
{
    WORKS(svit_training_preset(preset, &t->trainer, sizeof t->trainer, &t->optimizer,
                               sizeof t->optimizer, &t->pipeline, sizeof t->pipeline, err));
}

static svit_status training_read(training *t, const char *json, svit_error *err)
{
    return svit_training_from_json(&t->trainer, &t->optimizer, &t->pipeline, json, err);
}

START_TEST(test_settings_of_a_training_are_fields_of_three_structs)
{
    training t, same;
    training_init(&t, "vit-cifar100");
    training_init(&same, "vit-cifar100");
    WORKS(training_read(&t, "{\"epochs\":7,\"learning_rate\":0.25,\"zoom\":0.5}", err));
    ck_assert_uint_eq(t.trainer.epochs, 7);
    ck_assert_double_eq(t.optimizer.learning_rate, 0.25);
    ck_assert_double_eq(t.pipeline.zoom, 0.5);
    same.trainer.epochs = 7;
    same.optimizer.learning_rate = 0.25;
    same.pipeline.zoom = 0.5;
    ck_assert_mem_eq(&t, &same, sizeof t);
    static const char *const cases[][2] = {
        {"{\"epoch\":7}", "'epoch' is no field of the training settings; did you mean 'epochs'?"},
        {"{\"epochs\":7,\"zoom\":1}", "zoom is 1; it is in [0, 1)"},
        {"{\"accumulate\":300}", "accumulate is 300; it is at most batch, 256"},
        {"{\"folder\":\"x\"}", "folder is a string"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        FAILS(training_read(&t, cases[i][0], err), SVIT_E_ARGUMENT, cases[i][1]);
    FAILS(training_read(&t, "[]", err), SVIT_E_FORMAT, "the training settings");
    FAILS(svit_training_from_json(NULL, &t.optimizer, &t.pipeline, "{}", err), SVIT_E_ARGUMENT,
          "trainer is NULL");
    ck_assert_mem_eq(&t, &same, sizeof t);
}
END_TEST

/* Every preset's settings read back from their JSON, which has neither folder nor description. */
START_TEST(test_settings_of_every_preset_read_back)
{
    static char text[8192], again[8192];
    const char *name;
    for (size_t i = 0; (name = svit_model_preset_name(i)); i++) {
        training t, back;
        training_init(&t, name);
        training_init(&back, "vit-cifar100-seed003");
        /* Lists that are replaced, also by empty ones. */
        WORKS(training_read(
            &back,
            "{\"class_weights\":[1,2],\"augment\":[{\"name\":\"flip\",\"probability\":0.5}]}",
            err));
        t.trainer.folder = "somewhere";
        WORKS(svit_training_to_json(&t.trainer, &t.optimizer, &t.pipeline, text, sizeof text, NULL,
                                    err));
        ck_assert_ptr_null(strstr(text, "somewhere"));
        WORKS(training_read(&back, text, err));
        WORKS(svit_training_to_json(&back.trainer, &back.optimizer, &back.pipeline, again,
                                    sizeof again, NULL, err));
        ck_assert_str_eq(again, text);
        ck_assert_uint_eq(back.trainer.class_weight_count, 0);
        ck_assert_uint_eq(back.pipeline.augment_count, t.pipeline.augment_count);
    }
}
END_TEST

START_TEST(test_fields_are_described)
{
    static char text[32768];
    WORKS(svit_config_fields("training", text, sizeof text, NULL, err));
    ck_assert_ptr_nonnull(strstr(text,
                                 "{\"name\":\"label_smoothing\",\"type\":\"number\",\"accepted\":"
                                 "\"in [0, 1)\",\"default\":0.0}"));
    ck_assert_ptr_nonnull(strstr(text, "\"name\":\"augment\""));
    ck_assert_ptr_null(strstr(text, "\"name\":\"folder\""));
    const char *name;
    for (size_t i = 0; (name = svit_model_architecture_name(i)); i++) {
        WORKS(svit_config_fields(name, text, sizeof text, NULL, err));
        ck_assert_ptr_nonnull(strstr(text, "\"name\":\"num_classes\",\"type\":\"integer\""));
    }
    FAILS(svit_config_fields("resnet", text, sizeof text, NULL, err), SVIT_E_ARGUMENT,
          "of is 'resnet'; known are 'training', 'shiftvit', 'vit', 'mixer'");
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("config JSON");
    TCase *c = tcase_create("config JSON");
    tcase_add_test(c, test_settings_of_a_training_are_fields_of_three_structs);
    tcase_add_test(c, test_settings_of_every_preset_read_back);
    tcase_add_test(c, test_fields_are_described);
    tcase_add_loop_test(c, test_every_field_reads_back, 0, NOUNS);
    tcase_add_loop_test(c, test_a_wrong_call_writes_nothing, 0, NOUNS);
    tcase_add_loop_test(c, test_each_wrong_field_is_named, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(c, test_a_key_is_suggested_if_it_resembles_the_wrong_one);
    tcase_add_test(c, test_structs_are_checked_before_they_are_written);
    tcase_add_test(c, test_a_schedule_without_steps_is_read);
    tcase_add_test(c, test_what_a_trainer_writes_is_read_with_every_text_set);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
