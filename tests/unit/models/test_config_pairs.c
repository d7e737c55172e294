/* Every pair of settings of every architecture: a configuration is refused with a message, or its
 * model trains, infers, writes its file and reads it back, and exports. */
#include "fit.h"

#include "config/fields.h"
#include "models/architecture.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { N = 2, CLASSES = 5, MAX_SETTINGS = 200, SETTING_TEXT = 96, BASE_COUNT = 8 };

/* Small models that differ in what a pair of settings meets. */
static const struct {
    int32_t architecture;
    const char *json;
} BASES[] = {{SVIT_ARCHITECTURE_VIT,
              "{\"patch_size\":4,\"dim\":8,\"depth\":2,\"heads\":2,\"head_dim\":4,\"mlp_dim\":12,"
              "\"head_units\":[],\"pool\":\"class_token\",\"dropout\":0.1}"},
             {SVIT_ARCHITECTURE_VIT,
              "{\"patch_size\":4,\"dim\":8,\"depth\":2,\"heads\":2,\"head_dim\":6,\"mlp_dim\":12,"
              "\"head_units\":[6],\"pool\":\"mean\",\"tokenizer\":\"spt\",\"attention\":\"lsa\"}"},
             {SVIT_ARCHITECTURE_VIT,
              "{\"patch_size\":4,\"dim\":8,\"depth\":2,\"heads\":2,\"head_dim\":8,\"mlp_dim\":12,"
              "\"head_units\":[],\"pool\":\"class_token\",\"mlp_last_gelu\":false,"
              "\"position_tokens\":\"none\",\"rope\":\"axial\",\"rope_theta\":10}"},
             {SVIT_ARCHITECTURE_VIT,
              "{\"patch_size\":4,\"dim\":8,\"depth\":1,\"heads\":2,\"head_dim\":4,\"mlp_dim\":12,"
              "\"head_units\":[],\"mlp_last_gelu\":false,\"pool\":\"attention\",\"pool_heads\":2,"
              "\"pool_mlp_dim\":6}"},
             {SVIT_ARCHITECTURE_VIT,
              "{\"patch_size\":4,\"dim\":8,\"depth\":2,\"heads\":2,\"head_dim\":4,\"mlp_dim\":12,"
              "\"head_units\":[],\"mlp_last_gelu\":false,\"pool\":\"mean\","
              "\"attention\":\"differential\",\"block\":\"parallel-fused\"}"},
             {SVIT_ARCHITECTURE_SHIFTVIT, "{\"dim\":12,\"blocks\":[1,2],\"num_div\":6}"},
             {SVIT_ARCHITECTURE_SHIFTVIT,
              "{\"dim\":12,\"blocks\":[1,1],\"num_div\":6,\"patch_size\":2,\"final_norm\":true}"},
             {SVIT_ARCHITECTURE_MIXER,
              "{\"patch_size\":4,\"dim\":8,\"depth\":2,\"token_mlp_dim\":6,\"mlp_dim\":12}"}};

#define COMMON                                                                                     \
    "{\"input_height\":12,\"input_width\":8,\"num_classes\":5,\"in_channels\":3,"                  \
    "\"classifier\":true}"

/* Values of the fields that are neither words nor flags. A field of another architecture is left
 * out. */
static const char *const NUMBERS[] = {"\"in_channels\":1",
                                      "\"in_channels\":4",
                                      "\"input_height\":13",
                                      "\"input_height\":4",
                                      "\"patch_size\":3",
                                      "\"patch_size\":1",
                                      "\"num_classes\":1",
                                      "\"dropout\":0.4",
                                      "\"drop_path\":0.3",
                                      "\"norm_eps\":1e-3",
                                      "\"depth\":1",
                                      "\"heads\":1",
                                      "\"heads\":3",
                                      "\"head_dim\":20",
                                      "\"head_units\":[]",
                                      "\"head_units\":[7,4]",
                                      "\"attention_dropout\":0.3",
                                      "\"head_dropout\":0.3",
                                      "\"register_tokens\":2",
                                      "\"position_height\":2",
                                      "\"position_width\":3",
                                      "\"lora_rank\":2",
                                      "\"rope_theta\":30",
                                      "\"rope_offset\":1",
                                      "\"rope_height\":5",
                                      "\"rope_width\":7",
                                      "\"pool_heads\":4",
                                      "\"pool_mlp_dim\":1",
                                      "\"blocks\":[2]",
                                      "\"blocks\":[0,1,1]",
                                      "\"mlp_ratio\":0.5",
                                      "\"num_div\":5",
                                      "\"num_div\":12",
                                      "\"shift_pixel\":0",
                                      "\"shift_pixel\":9",
                                      "\"token_mlp_dim\":1"};
enum { NUMBER_COUNT = sizeof NUMBERS / sizeof *NUMBERS };

static svit_context *context;
static fit_folder folder;

/* Thousands of files are written, so they go to memory where the system has such a folder. */
static void setup(void)
{
    fit_folder memory = {"/dev/shm/shiftvit-pairs-XXXXXX"};
    context = fit_context(1);
    folder = mkdtemp(memory.path) ? memory : fit_folder_make();
}

static void teardown(void)
{
    svit_context_free(context);
    unlink(fit_path(&folder, "model.safetensors"));
    unlink(fit_path(&folder, "model.onnx"));
    ck_assert_int_eq(rmdir(folder.path), 0);
}

static bool has_field(const sv_field_table *table, const char *member)
{
    char key[64];
    sscanf(member, "\"%63[^\"]\"", key);
    return sv_fields_find_key(table, key) != NULL;
}

/* All words, both values of all flags, and the numbers. Returns their count. */
static size_t list_settings(char settings[MAX_SETTINGS][SETTING_TEXT], const sv_field_table *table)
{
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++) {
        const sv_field *field = &table->fields[i];
        if (field->kind == SV_FIELD_FLAG)
            for (int flag = 0; flag < 2; flag++)
                snprintf(settings[count++], SETTING_TEXT, "\"%s\":%s", sv_field_key(field),
                         flag ? "true" : "false");
        if (field->kind == SV_FIELD_WORD && strcmp(field->name, "architecture") != 0)
            for (size_t word = 0; word < SV_FIELD_WORDS && field->words[word]; word++)
                snprintf(settings[count++], SETTING_TEXT, "\"%s\":\"%s\"", sv_field_key(field),
                         field->words[word]);
        ck_assert_uint_lt(count, MAX_SETTINGS - NUMBER_COUNT);
    }
    for (size_t i = 0; i < NUMBER_COUNT; i++)
        if (has_field(table, NUMBERS[i]))
            snprintf(settings[count++], SETTING_TEXT, "%s", NUMBERS[i]);
    return count;
}

/* The base with both settings; the second one wins where they are of one field. */
static svit_model_config config_of(size_t base, const char *a, const char *b)
{
    const int32_t architecture = BASES[base].architecture;
    const sv_field_table *table = sv_architectures[architecture].fields;
    svit_model_config config;
    svit_error error = {.struct_size = sizeof error};
    char text[2][1 << 14];
    char head[64];
    snprintf(head, sizeof head, "{\"architecture\":\"%s\"}", sv_architectures[architecture].name);
    snprintf(text[0], sizeof text[0], "{%s}", a);
    snprintf(text[1], sizeof text[1], "{%s}", b);
    WORKS(svit_model_config_from_json(&config, sizeof config, head, err));
    const char *const layers[] = {COMMON, BASES[base].json, text[0], text[1]};
    const sv_field_struct one = {table, &config};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        ck_assert_msg(sv_fields_of_structs_from_text(&one, 1, "a layer", layers[i], &error) ==
                          SVIT_OK,
                      "%s: %s", layers[i], error.message);
    return config;
}

static void fill(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (float)((i * 37 + 11) % 64) / 64 - 0.25f;
}

/* One step, after which the logits of inference are finite. */
static void train(svit_model *model, const svit_model_config *config, float *logits, size_t classes)
{
    svit_session_config plan;
    svit_session *session = NULL;
    svit_optimizer *optimizer = NULL;
    static float images[N * 16 * 16 * 4], dlogits[N * 4096];
    fill(images, N * (size_t)config->input_height * config->input_width * config->in_channels);
    fill(dlogits, N * classes);
    WORKS(svit_session_config_init(&plan, sizeof plan));
    plan.max_batch = N;
    plan.mode = SVIT_MODE_TRAIN;
    plan.input_gradient = 1;
    WORKS(svit_session_create(&session, model, &plan, err));
    WORKS(svit_optimizer_create(&optimizer, model, NULL, err));
    WORKS(svit_forward(session, images, N, logits, err));
    WORKS(svit_backward(session, dlogits, N, err));
    WORKS(svit_step(optimizer, session, err));
    WORKS(svit_session_set_mode(session, SVIT_MODE_INFER, err));
    WORKS(svit_forward(session, images, N, logits, err));
    for (size_t i = 0; i < N * classes; i++)
        ck_assert(isfinite(logits[i]));
    svit_optimizer_free(optimizer);
    svit_session_free(session);
}

/* The file holds the model as it infers, adapters of LoRA merged. */
static void save_and_export(svit_model *model)
{
    svit_model *again = NULL;
    const char *path = fit_path(&folder, "model.safetensors");
    WORKS(svit_model_save(model, path, err));
    WORKS(svit_model_load(&again, context, path, err));
    svit_model_free(again);
    svit_error error = {.struct_size = sizeof error};
    const svit_status status =
        svit_model_export_onnx(model, fit_path(&folder, "model.onnx"), NULL, &error);
    ck_assert_msg(status == SVIT_OK || status == SVIT_E_UNSUPPORTED, "export: %s", error.message);
}

/* Returns whether the configuration is accepted. */
static bool check_config(const svit_model_config *config)
{
    static float logits[N * 4096];
    svit_model *model = NULL;
    svit_error error = {.struct_size = sizeof error};
    const svit_status status = svit_model_create(&model, context, config, 1, &error);
    if (status != SVIT_OK) {
        ck_assert_msg(status == SVIT_E_ARGUMENT && strlen(error.message) > 20, "%d: %s",
                      (int)status, error.message);
        return false;
    }
    const size_t classes =
        config->classifier ? config->num_classes : sv_architecture_of(config)->features(config);
    ck_assert_uint_le(classes, 4096);
    train(model, config, logits, classes);
    save_and_export(model);
    svit_model_free(model);
    return true;
}

START_TEST(test_every_pair_of_settings_works_or_is_refused)
{
    static char settings[MAX_SETTINGS][SETTING_TEXT];
    const size_t base = (size_t)_i;
    const size_t count = list_settings(settings, sv_architectures[BASES[base].architecture].fields);
    size_t accepted = 0, pairs = 0;
    for (size_t a = 0; a < count; a++)
        for (size_t b = a; b < count; b++, pairs++) {
            svit_model_config config = config_of(base, settings[a], settings[b]);
            mark_point();
            accepted += check_config(&config);
        }
    printf("base %zu: %zu pairs of %zu settings, %zu accepted\n", base, pairs, count, accepted);
    ck_assert_uint_gt(accepted, pairs / 3);
}
END_TEST

static Suite *config_pairs_suite(void)
{
    Suite *suite = suite_create("config pairs");
    TCase *all = tcase_create("config pairs");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_loop_test(all, test_every_pair_of_settings_works_or_is_refused, 0, BASE_COUNT);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(config_pairs_suite)
