/* Checks views of datasets whose labels are those of another list of class names, and the paths of
 * samples through views. */
#include "test_data_support.h"

#include <shiftvit/dataset.h>

static svit_context *context;
static atomic_llong held;
static test_folder folder;
static svit_pipeline_config pipeline;

static void setup(void)
{
    held = 0;
    context = context_counting(&held);
    folder = folder_make();
    ck_assert_int_eq(svit_pipeline_config_init(&pipeline, sizeof pipeline), SVIT_OK);
}

static void teardown(void)
{
    svit_context_free(context);
    folder_remove(&folder);
    ck_assert_int_eq(held, 0);
}

static svit_dataset *open_list(const char *text)
{
    svit_dataset *out = NULL;
    file_write(&folder, "list.csv", text, strlen(text));
    WORKS(svit_dataset_list(&out, context, path_in(&folder, "list.csv"), &pipeline, err));
    return out;
}

enum { NAMES = 6 };
static const char *const names[NAMES] = {"ant", "bee", "cat", "dog", "elk", "fox"};

/* Every subset of the classes, in two orders of the names. */
START_TEST(test_every_subset_gets_the_labels_of_its_names)
{
    for (unsigned subset = 1; subset < 1u << NAMES; subset++)
        for (int reversed = 0; reversed < 2; reversed++) {
            char text[256] = "path,label\n";
            const char *wanted[NAMES];
            svit_dataset *view = NULL;
            for (size_t k = 0; k < NAMES; k++) {
                wanted[k] = names[reversed ? NAMES - 1 - k : k];
                if (subset & 1u << k)
                    snprintf(text + strlen(text), 32, "/%zu.png,%s\n", k, names[k]);
            }
            svit_dataset *list = open_list(text);
            WORKS(svit_dataset_match_classes(&view, list, wanted, NAMES, err));
            ck_assert_uint_eq(svit_dataset_classes(view), NAMES);
            ck_assert_uint_eq(svit_dataset_count(view), svit_dataset_count(list));
            svit_dataset_free(list);
            for (size_t i = 0; i < svit_dataset_count(view); i++) {
                int32_t label = -1;
                char path[64];
                float targets[NAMES];
                WORKS(svit_dataset_path(view, i, path, sizeof path, NULL, err));
                WORKS(svit_dataset_label(view, i, &label, err));
                ck_assert_str_eq(wanted[label], names[path[1] - '0']);
                ck_assert_str_eq(svit_dataset_class_name(view, (size_t)label), wanted[label]);
                WORKS(svit_dataset_targets(view, i, targets, err));
                for (int32_t k = 0; k < NAMES; k++)
                    ck_assert(targets[k] == (float)(k == label));
            }
            svit_dataset_free(view);
        }
}
END_TEST

START_TEST(test_what_does_not_match_is_refused)
{
    svit_dataset *out = NULL;
    static const char *const with_null[] = {"ant", NULL};
    uint8_t pixel[3] = {0};
    int32_t label = 0;
    svit_dataset *labels = open_list("path,label\na,ant\nb,yak\n");
    svit_dataset *numbers = open_list("path,ant,bee\na,1,2\n");
    svit_dataset *unnamed = NULL;
    WORKS(svit_dataset_memory(&unnamed, context, pixel, &label, 1, 1, 1, 3, 1, err));
    FAILS(svit_dataset_match_classes(&out, labels, names, NAMES, err), SVIT_E_ARGUMENT,
          "class 1, 'yak', is none of the 6 names; the first is 'ant'");
    FAILS(svit_dataset_match_classes(&out, labels, with_null, 2, err), SVIT_E_ARGUMENT,
          "names[1] is NULL");
    FAILS(svit_dataset_match_classes(&out, labels, names, 0, err), SVIT_E_ARGUMENT, "count is 0");
    FAILS(svit_dataset_match_classes(&out, unnamed, names, NAMES, err), SVIT_E_ARGUMENT,
          "no class names");
    FAILS(svit_dataset_match_classes(&out, numbers, names, NAMES, err), SVIT_E_ARGUMENT,
          "must be the same in the same order");
    FAILS(svit_dataset_match_classes(&out, numbers, names + 1, 2, err), SVIT_E_ARGUMENT,
          "must be the same in the same order");
    FAILS(svit_dataset_match_classes(NULL, numbers, names, 2, err), SVIT_E_ARGUMENT, "out");
    FAILS(svit_dataset_match_classes(&out, NULL, names, 2, err), SVIT_E_ARGUMENT, "parent");
    FAILS(svit_dataset_match_classes(&out, numbers, NULL, 2, err), SVIT_E_ARGUMENT, "names");
    ck_assert_ptr_null(out);
    WORKS(svit_dataset_match_classes(&out, numbers, names, 2, err));
    float targets[2];
    WORKS(svit_dataset_targets(out, 0, targets, err));
    ck_assert(targets[0] == 1 && targets[1] == 2);
    ck_assert_int_eq(svit_dataset_has_targets(out), 1);
    svit_dataset_free(out);
    svit_dataset_free(unnamed);
    svit_dataset_free(numbers);
    svit_dataset_free(labels);
}
END_TEST

START_TEST(test_paths_through_views)
{
    svit_dataset *list = open_list("path,label\n/a.png,x\nb.png,y\n/c.png,x\n");
    svit_dataset *slice = NULL, *chosen = NULL, *synthetic = NULL;
    static const size_t indices[] = {1, 0};
    char path[256], wanted[256];
    size_t needed = 0;
    WORKS(svit_dataset_slice(&slice, list, 1, 2, err));
    WORKS(svit_dataset_select(&chosen, slice, indices, 2, err));
    WORKS(svit_dataset_path(chosen, 0, path, sizeof path, NULL, err));
    ck_assert_str_eq(path, "/c.png");
    snprintf(wanted, sizeof wanted, "%s/b.png", folder.path);
    WORKS(svit_dataset_path(chosen, 1, NULL, 0, &needed, err));
    ck_assert_uint_eq(needed, strlen(wanted) + 1);
    WORKS(svit_dataset_path(chosen, 1, path, needed, NULL, err));
    ck_assert_str_eq(path, wanted);
    FAILS(svit_dataset_path(chosen, 1, path, needed - 1, NULL, err), SVIT_E_ARGUMENT, "capacity");
    FAILS(svit_dataset_path(chosen, 2, path, sizeof path, NULL, err), SVIT_E_ARGUMENT, "index");
    FAILS(svit_dataset_path(NULL, 0, path, sizeof path, NULL, err), SVIT_E_ARGUMENT, "dataset");
    WORKS(svit_dataset_synthetic(&synthetic, context, 1, SVIT_SPLIT_TRAIN, 10, err));
    WORKS(svit_dataset_path(synthetic, 0, path, sizeof path, &needed, err));
    ck_assert_str_eq(path, "");
    ck_assert_uint_eq(needed, 1);
    svit_dataset_free(synthetic);
    svit_dataset_free(chosen);
    svit_dataset_free(slice);
    svit_dataset_free(list);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("data_match");
    TCase *c = tcase_create("data_match");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_every_subset_gets_the_labels_of_its_names);
    tcase_add_test(c, test_what_does_not_match_is_refused);
    tcase_add_test(c, test_paths_through_views);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
