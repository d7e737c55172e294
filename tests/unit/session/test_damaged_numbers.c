/* Changes each number in the metadata of checkpoints and model files into what is none, or too
 * large: it is named. */
#include "checkpoint_edit.h"

static svit_context *context;
static svit_model *model;
static fit_folder folder;
static const char *path;

static void setup(void)
{
    context = fit_context(1);
    model = fit_model(context, 3, 1);
    folder = fit_folder_make();
    path = strdup(fit_path(&folder, "model.safetensors"));
}

static void teardown(void)
{
    free((char *)path);
    fit_folder_remove(&folder);
    svit_model_free(model);
    svit_context_free(context);
}

static const char *const WORDS[] = {
    "", "x", "-1", "+1", " 1", "1x", "1.", "1e", "/", ":", "18446744073709551616"};
enum { WORD_COUNT = sizeof WORDS / sizeof *WORDS };

START_TEST(test_entries_of_a_checkpoint_are_whole_numbers)
{
    static const char *const keys[] = {"optimizer",       "optimizer.kind",    "optimizer.ema",
                                       "optimizer.steps", "optimizer.swapped", "session"};
    svit_optimizer *optimizer = NULL;
    WORKS(svit_optimizer_create(&optimizer, model, NULL, err));
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        for (size_t w = 0; w < WORD_COUNT; w++) {
            svit_checkpoint *checkpoint = NULL;
            char key[64], part[128];
            snprintf(key, sizeof key, "svit.%s", keys[k]);
            WORKS(svit_checkpoint_save(path, model, optimizer, NULL, NULL, NULL, 0, err));
            checkpoint_edit(path, key, 0, WORDS[w]);
            snprintf(part, sizeof part, "entry '%s' is '%s', not an integer", key, WORDS[w]);
            FAILS(svit_checkpoint_open(&checkpoint, context, path, err), SVIT_E_FORMAT, part);
            ck_assert_ptr_null(checkpoint);
        }
    svit_optimizer_free(optimizer);
}
END_TEST

START_TEST(test_the_version_of_a_file_is_a_number_that_is_known)
{
    svit_model *loaded = NULL;
    svit_checkpoint *checkpoint = NULL;
    for (size_t w = 0; w < WORD_COUNT; w++) {
        WORKS(svit_model_save(model, path, err));
        checkpoint_edit(path, "format_version", 0, WORDS[w]);
        FAILS(svit_model_load(&loaded, context, path, err), SVIT_E_FORMAT, "format_version is '");
        WORKS(svit_checkpoint_save(path, model, NULL, NULL, NULL, NULL, 0, err));
        checkpoint_edit(path, "format_version", 0, WORDS[w]);
        FAILS(svit_checkpoint_open(&checkpoint, context, path, err), SVIT_E_FORMAT,
              "format_version is '");
    }
    WORKS(svit_model_save(model, path, err));
    checkpoint_edit(path, "format_version", 0, "99");
    FAILS(svit_model_load(&loaded, context, path, err), SVIT_E_VERSION,
          "format_version is 99; this library reads up to ");
    ck_assert_ptr_null(loaded);
}
END_TEST

START_TEST(test_a_feature_set_says_its_format)
{
    static const struct {
        const char *key, *value;
        svit_status status;
    } cases[] = {{"format", "features", SVIT_OK}, /* of another program */
                 {"format", "", SVIT_OK},
                 {"format_version", "2", SVIT_E_FORMAT},
                 {"format_version", "", SVIT_E_FORMAT}};
    static const float values[2] = {1, 2};
    svit_features *set = NULL, *loaded = NULL;
    WORKS(svit_features_create(&set, context, values, NULL, 1, 2, 0, NULL, err));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        WORKS(svit_features_save(set, path, err));
        checkpoint_edit(path, cases[i].key, 0, cases[i].value);
        svit_status status = svit_features_load(&loaded, context, path, NULL);
        ck_assert_msg(status == cases[i].status, "case %zu: %d", i, (int)status);
        svit_features_free(loaded);
        loaded = NULL;
    }
    WORKS(svit_features_save(set, path, err));
    checkpoint_rename(path, "format_version", "format_versioN");
    ck_assert_int_ne(svit_features_load(&loaded, context, path, NULL), SVIT_OK);
    svit_features_free(set);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("damaged_numbers");
    TCase *c = tcase_create("damaged_numbers");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_entries_of_a_checkpoint_are_whole_numbers);
    tcase_add_test(c, test_the_version_of_a_file_is_a_number_that_is_known);
    tcase_add_test(c, test_a_feature_set_says_its_format);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
