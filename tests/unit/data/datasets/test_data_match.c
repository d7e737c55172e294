/* Checks views of datasets whose labels are those of another list of class names, and the paths of
 * samples through views. */
#include "data_support.h"

#include "data/datasets/dataset_ops.h"

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
    return list_open(context, &folder, text, &pipeline);
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
    static const char *const with_null[] = {"ant", NULL}, *const latin[] = {"ant", "\xe9mu"};
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
    FAILS(svit_dataset_match_classes(&out, labels, latin, 2, err), SVIT_E_ARGUMENT,
          "names[1] is '\\xE9mu', which is not UTF-8");
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

/* Two classes of one name would become one. Equal names that no image has do no harm. */
START_TEST(test_equal_names_of_images_are_refused)
{
    static const char *const twice[] = {"ant", "bee", "cat", "bee"};
    static const char *const others[] = {"cat", "crane", "bee", "ant", "crane"};
    int32_t label;
    svit_dataset *out = NULL;
    svit_dataset *labels = open_list("path,label\na,ant\nb,bee\n");
    FAILS(svit_dataset_match_classes(&out, labels, twice, 4, err), SVIT_E_ARGUMENT,
          "classes 1 and 3 of the names are 'bee', a class of the dataset");
    WORKS(svit_dataset_match_classes(&out, labels, others, 5, err));
    WORKS(svit_dataset_label(out, 0, &label, err));
    ck_assert_int_eq(label, 3);
    WORKS(svit_dataset_label(out, 1, &label, err));
    ck_assert_int_eq(label, 2);
    svit_dataset_free(out);
    const char *const *own = labels->names;
    static const char *const same[] = {"bee", "bee"};
    labels->names = same;
    FAILS(svit_dataset_match_classes(&out, labels, twice, 3, err), SVIT_E_ARGUMENT,
          "classes 0 and 1 of the dataset are 'bee'");
    labels->names = own;
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

static int32_t give_sample(size_t index, uint8_t *rgb, int32_t *label, void *user)
{
    (void)user;
    memset(rgb, (int)index, 4 * 4 * 3);
    *label = (int32_t)(index % 3);
    return 0;
}

/* The label alone, the label with the image, and the target of its class are one, for datasets of
 * every kind and views of them. */
START_TEST(test_a_label_is_that_of_its_sample)
{
    enum { COUNT = 12, SIDE = 32 };
    static uint8_t pixels[COUNT * 4 * 4 * 3], image[SIDE * SIDE * 3];
    static const int32_t labels[COUNT] = {2, 0, 1, 1, 2, 0, 0, 1, 2, 2, 1, 0};
    static const size_t order[] = {7, 0, 11, 3};
    static const char *const turned[] = {"dots", "disc", "ring"};
    svit_dataset *sets[6] = {NULL};
    const char *known[10];
    WORKS(svit_dataset_synthetic(&sets[0], context, 1, SVIT_SPLIT_TRAIN, COUNT, err));
    WORKS(svit_dataset_callback(&sets[1], context, give_sample, COUNT, 4, 4, 3, 3, NULL, err));
    WORKS(svit_dataset_memory(&sets[2], context, pixels, labels, COUNT, 4, 4, 3, 3, err));
    for (size_t k = 0; k < 10; k++)
        known[k] = svit_dataset_class_name(sets[0], 9 - k);
    WORKS(svit_dataset_match_classes(&sets[3], sets[0], known, 10, err));
    WORKS(svit_dataset_select(&sets[4], sets[3], order, 4, err));
    WORKS(svit_dataset_select(&sets[5], sets[1], order, 4, err));
    for (size_t s = 0; s < 6; s++)
        for (size_t i = 0; i < svit_dataset_count(sets[s]); i++) {
            int32_t alone = -1, with = -2;
            float targets[10];
            WORKS(svit_dataset_label(sets[s], i, &alone, err));
            WORKS(svit_dataset_sample(sets[s], i, image, &with, err));
            ck_assert_msg(alone == with, "dataset %zu, sample %zu: %d and %d", s, i, alone, with);
            WORKS(svit_dataset_targets(sets[s], i, targets, err));
            for (size_t k = 0; k < svit_dataset_classes(sets[s]); k++)
                ck_assert(targets[k] == ((int32_t)k == alone ? 1 : 0));
            FAILS(svit_dataset_targets(sets[s], svit_dataset_count(sets[s]), targets, err),
                  SVIT_E_ARGUMENT, "index");
        }
    int32_t old = -1, new = -1;
    for (size_t i = 0; i < COUNT; i++) {
        WORKS(svit_dataset_label(sets[0], i, &old, err));
        WORKS(svit_dataset_label(sets[3], i, &new, err));
        ck_assert_int_eq(new, 9 - old);
    }
    svit_dataset *none = NULL;
    FAILS(svit_dataset_match_classes(&none, sets[0], turned, 3, err), SVIT_E_ARGUMENT,
          "is none of the 3 names");
    for (size_t s = 6; s-- > 0;)
        svit_dataset_free(sets[s]);
}
END_TEST

/* A loader that shuffles within windows asks where a shard ends: without shards at the end of
 * all. */
START_TEST(test_views_end_where_their_datasets_do)
{
    svit_dataset *list = open_list("path,label\n/a.png,x\nb.png,y\n/c.png,x\n"), *view = NULL;
    static const char *const both[] = {"y", "x"};
    WORKS(svit_dataset_match_classes(&view, list, both, 2, err));
    for (size_t i = 0; i < 3; i++)
        ck_assert_uint_eq(sv_dataset_shard_end(view, i), 3);
    svit_dataset_free(view);
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
    tcase_add_test(c, test_equal_names_of_images_are_refused);
    tcase_add_test(c, test_paths_through_views);
    tcase_add_test(c, test_a_label_is_that_of_its_sample);
    tcase_add_test(c, test_views_end_where_their_datasets_do);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
