/* Checks datasets of the samples of several others. */
#include "data_support.h"

#include "data/datasets/dataset_ops.h"

#include <shiftvit/dataset.h>

enum { SIDE = 2, PIXELS = SIDE * SIDE * 3, MOST = 5 };

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

typedef struct samples {
    uint8_t pixels[MOST * PIXELS];
    int32_t labels[MOST];
} samples;

/* A dataset of images whose bytes are first, first + 1, and so on, with these labels modulo
 * `classes`. `in` has them while the dataset is used. */
static svit_dataset *memory(samples *in, size_t count, int first, size_t classes)
{
    svit_dataset *out = NULL;
    for (size_t i = 0; i < count; i++) {
        memset(in->pixels + i * PIXELS, first + (int)i, PIXELS);
        in->labels[i] = (int32_t)((first + (int)i) % (int)classes);
    }
    WORKS(svit_dataset_memory(&out, context, in->pixels, in->labels, count, SIDE, SIDE, 3, classes,
                              err));
    return out;
}

static svit_dataset *concatenate(svit_dataset *const *parents, size_t count)
{
    svit_dataset *out = NULL;
    WORKS(svit_dataset_concatenate(&out, parents, count, err));
    return out;
}

static void fails(svit_dataset *const *parents, size_t count, const char *message)
{
    svit_dataset *out = NULL;
    FAILS(svit_dataset_concatenate(&out, parents, count, err), SVIT_E_ARGUMENT, message);
    ck_assert_ptr_null(out);
}

/* All numbers of samples of four parents, 1 to 3 each, which are freed before samples are read. */
START_TEST(test_every_sample_is_that_of_its_part)
{
    enum { PARTS = 4, SIZES = 3 };
    for (int sizes = 0; sizes < SIZES * SIZES * SIZES * SIZES; sizes++) {
        static samples in[PARTS];
        svit_dataset *parents[PARTS];
        int count = 0, rest = sizes;
        for (size_t k = 0; k < PARTS; k++, rest /= SIZES) {
            parents[k] = memory(&in[k], (size_t)(rest % SIZES + 1), count, 7);
            count += rest % SIZES + 1;
        }
        svit_dataset *chain = concatenate(parents, PARTS);
        for (size_t k = 0; k < PARTS; k++)
            svit_dataset_free(parents[k]);
        ck_assert_uint_eq(svit_dataset_count(chain), (size_t)count);
        ck_assert_uint_eq(svit_dataset_classes(chain), 7);
        for (int i = 0; i < count; i++) {
            uint8_t image[PIXELS];
            int32_t label = -1, alone = -1;
            WORKS(svit_dataset_sample(chain, (size_t)i, image, &label, err));
            WORKS(svit_dataset_label(chain, (size_t)i, &alone, err));
            ck_assert_int_eq(image[0], i);
            ck_assert_int_eq(image[PIXELS - 1], i);
            ck_assert_int_eq(label, i % 7);
            ck_assert_int_eq(alone, i % 7);
        }
        int32_t label = -1;
        FAILS(svit_dataset_label(chain, (size_t)count, &label, err), SVIT_E_ARGUMENT, "index is");
        svit_dataset_free(chain);
    }
}
END_TEST

/* Slices that are put together again are the dataset: its fingerprint, and its epochs in order. */
START_TEST(test_slices_become_the_dataset_again)
{
    samples in;
    uint64_t whole = 0, again = 0;
    svit_dataset *parent = memory(&in, MOST, 0, 2), *parts[2] = {NULL, NULL};
    WORKS(svit_dataset_slice(&parts[0], parent, 0, 2, err));
    WORKS(svit_dataset_slice(&parts[1], parent, 2, 3, err));
    svit_dataset *chain = concatenate(parts, 2);
    WORKS(svit_dataset_fingerprint(parent, &whole, err));
    WORKS(svit_dataset_fingerprint(chain, &again, err));
    ck_assert_uint_eq(whole, again);
    svit_dataset *const twice[] = {chain, chain};
    svit_dataset *doubled = concatenate(twice, 2);
    ck_assert_uint_eq(svit_dataset_count(doubled), 2 * MOST);
    svit_dataset_free(doubled);
    svit_dataset_free(chain);
    svit_dataset_free(parts[0]);
    svit_dataset_free(parts[1]);
    svit_dataset_free(parent);
}
END_TEST

static svit_dataset *open_list(const char *text)
{
    return list_open(context, &folder, text, &pipeline);
}

START_TEST(test_classes_are_those_of_all_parts_by_name)
{
    svit_dataset *const parents[] = {open_list("path,label\n/0,cat\n/1,dog\n"),
                                     open_list("path,label\n/2,ant\n/3,dog\n/4,bee\n"),
                                     open_list("path,label\n/5,bee\n")};
    static const char *const names[] = {"cat", "dog", "ant", "bee"};
    static const int32_t labels[] = {0, 1, 2, 1, 3, 3};
    svit_dataset *chain = concatenate(parents, 3);
    for (size_t k = 0; k < 3; k++)
        svit_dataset_free(parents[k]);
    ck_assert_uint_eq(svit_dataset_classes(chain), 4);
    for (size_t k = 0; k < 4; k++)
        ck_assert_str_eq(svit_dataset_class_name(chain, k), names[k]);
    ck_assert_ptr_null(svit_dataset_class_name(chain, 4));
    for (size_t i = 0; i < 6; i++) {
        char path[16];
        int32_t label = -1;
        WORKS(svit_dataset_path(chain, i, path, sizeof path, NULL, err));
        WORKS(svit_dataset_label(chain, i, &label, err));
        ck_assert_int_eq(path[1], '0' + (int)i);
        ck_assert_int_eq(label, labels[i]);
    }
    svit_dataset_free(chain);
}
END_TEST

/* Parts with the same names keep their labels, also where two classes have one name. */
START_TEST(test_equal_names_need_no_matching)
{
    static const char *const cranes[] = {"crane", "cat", "crane"};
    svit_dataset *list = open_list("path,label\n/0,cat\n"), *named = NULL;
    WORKS(svit_dataset_match_classes(&named, list, cranes, 3, err));
    svit_dataset *const same[] = {named, named}, *const other[] = {named, list};
    svit_dataset *chain = concatenate(same, 2);
    ck_assert_uint_eq(svit_dataset_classes(chain), 3);
    ck_assert_str_eq(svit_dataset_class_name(chain, 2), "crane");
    fails(other, 2, "classes 0 and 2 of parents[0] are 'crane'");
    svit_dataset_free(chain);
    svit_dataset_free(named);
    svit_dataset_free(list);
}
END_TEST

START_TEST(test_labels_without_names_stay)
{
    samples in[2];
    svit_dataset *const parents[] = {memory(&in[0], 2, 0, 2), memory(&in[1], 3, 2, 9)};
    svit_dataset *chain = concatenate(parents, 2);
    int32_t label = -1;
    ck_assert_uint_eq(svit_dataset_classes(chain), 9);
    WORKS(svit_dataset_label(chain, 4, &label, err));
    ck_assert_int_eq(label, 4);
    svit_dataset_free(chain);
    svit_dataset_free(parents[0]);
    svit_dataset_free(parents[1]);
}
END_TEST

START_TEST(test_targets_are_joined_by_equal_names_only)
{
    float targets[2] = {0, 0};
    svit_dataset *const parents[] = {open_list("path,x,y\n/0,1,2\n"),
                                     open_list("path,x,y\n/1,3,4\n"),
                                     open_list("path,y,x\n/2,5,6\n"), open_list("path,x\n/3,7\n")};
    svit_dataset *chain = concatenate(parents, 2);
    ck_assert_int_eq(svit_dataset_has_targets(chain), 1);
    WORKS(svit_dataset_targets(chain, 1, targets, err));
    ck_assert_float_eq(targets[0], 3);
    ck_assert_float_eq(targets[1], 4);
    for (size_t k = 2; k < 4; k++) {
        svit_dataset *const wrong[] = {chain, parents[k]};
        fails(wrong, 2, "parents[1] and parents[0] have other targets");
    }
    svit_dataset_free(chain);
    for (size_t k = 0; k < 4; k++)
        svit_dataset_free(parents[k]);
}
END_TEST

START_TEST(test_what_differs_is_named)
{
    samples in;
    static const float values[SIDE * SIDE * 3] = {0}, target = 1;
    const int32_t label = 0;
    svit_dataset *first = memory(&in, 1, 0, 2), *others[4] = {NULL, NULL, NULL, NULL};
    WORKS(svit_dataset_memory(&others[0], context, in.pixels, &label, 1, 3, 1, 3, 2, err));
    WORKS(svit_dataset_memory_f32(&others[1], context, values, &label, NULL, 1, SIDE, SIDE, 3, 2,
                                  err));
    WORKS(svit_dataset_memory_targets(&others[2], context, in.pixels, &target, 1, SIDE, SIDE, 3, 1,
                                      err));
    pipeline.source_height = pipeline.source_width = SIDE;
    others[3] = open_list("path,label\n/0,cat\n");
    static const char *const messages[] = {
        "parents[2] has height 3 and parents[0] height 2; all have the same",
        "parents[2] has images of floats and parents[0] images of bytes;",
        "parents[2] has targets and parents[0] labels;",
        "parents[2] has class names and parents[0] no class names;"};
    for (size_t k = 0; k < 4; k++) {
        svit_dataset *const parents[] = {first, first, others[k]};
        fails(parents, 3, messages[k]);
        svit_dataset_free(others[k]);
    }
    svit_dataset *const missing[] = {first, NULL};
    fails(missing, 2, "parents[1] is NULL");
    fails(missing, 0, "count is 0");
    svit_dataset_free(first);
}
END_TEST

static svit_status byte_image(void *user, size_t index, void *image, int32_t *label,
                              svit_error *err)
{
    (void)user;
    (void)index;
    (void)err;
    memset(image, 7, PIXELS);
    *label = 0;
    return SVIT_OK;
}

static svit_dataset *functions(void)
{
    static const char *const names[] = {"cat"};
    svit_dataset *out = NULL;
    svit_custom_dataset custom;
    ck_assert_int_eq(svit_custom_dataset_init(&custom, sizeof custom), SVIT_OK);
    custom.count = custom.classes = 1;
    custom.height = custom.width = SIDE;
    custom.class_names = names;
    custom.sample = byte_image;
    WORKS(svit_dataset_custom(&out, context, &custom, err));
    return out;
}

/* What a dataset is to loaders is what any of its parts needs. */
START_TEST(test_flags_are_those_of_all_parts)
{
    pipeline.source_height = pipeline.source_width = SIDE;
    svit_dataset *list = open_list("path,label\n/0,cat\n/1,cat\n"), *custom = functions();
    svit_dataset *const mixed[] = {list, custom}, *const files[] = {list, list};
    svit_dataset *chain = concatenate(mixed, 2), *of_files = concatenate(files, 2);
    ck_assert(!chain->is_of_files && chain->caller_thread_only && chain->varies);
    ck_assert(chain->label_needs_image && !of_files->label_needs_image);
    ck_assert(of_files->is_of_files && !of_files->caller_thread_only && !of_files->varies);
    /* Each part is a shard of its own if there are shards. */
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(sv_dataset_shard_end(of_files, i), 4);
    of_files->is_of_shards = true;
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(sv_dataset_shard_end(of_files, i), i < 2 ? 2 : 4);
    svit_dataset_free(chain);
    svit_dataset_free(of_files);
    svit_dataset_free(custom);
    svit_dataset_free(list);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("data_concatenate");
    TCase *c = tcase_create("data_concatenate");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_every_sample_is_that_of_its_part);
    tcase_add_test(c, test_slices_become_the_dataset_again);
    tcase_add_test(c, test_classes_are_those_of_all_parts_by_name);
    tcase_add_test(c, test_equal_names_need_no_matching);
    tcase_add_test(c, test_labels_without_names_stay);
    tcase_add_test(c, test_targets_are_joined_by_equal_names_only);
    tcase_add_test(c, test_what_differs_is_named);
    tcase_add_test(c, test_flags_are_those_of_all_parts);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
