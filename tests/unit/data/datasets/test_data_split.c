/* Checks the random splits of datasets. */
#include "data_support.h"

#include "data/datasets/dataset_ops.h"

#include <shiftvit/dataset.h>

enum { MOST = 64, SPLITS = 3 };

static svit_context *context;
static atomic_llong held;
static uint8_t pixels[MOST];
static int32_t labels[MOST];

static void setup(void)
{
    held = 0;
    context = context_counting(&held);
}

static void teardown(void)
{
    svit_context_free(context);
    ck_assert_int_eq(held, 0);
}

/* A dataset of classes of these sizes, whose images are the index of their sample. Samples of a
 * class lie apart. */
static svit_dataset *of_sizes(const size_t *sizes, size_t classes)
{
    svit_dataset *out = NULL;
    size_t count = 0;
    for (size_t round = 0; round < MOST; round++)
        for (size_t k = 0; k < classes; k++)
            if (round < sizes[k]) {
                pixels[count] = (uint8_t)count;
                labels[count++] = (int32_t)k;
            }
    WORKS(svit_dataset_memory(&out, context, pixels, labels, count, 1, 1, 1, classes, err));
    return out;
}

static int pixel_of(const svit_dataset *dataset, size_t index)
{
    uint8_t pixel = 0;
    int32_t label;
    WORKS(svit_dataset_sample(dataset, index, &pixel, &label, err));
    return pixel;
}

static void free_splits(svit_dataset **splits)
{
    for (size_t k = 0; k < SPLITS; k++)
        svit_dataset_free(splits[k]);
}

/* Counts the samples of each class in a split, which may be NULL. */
static void count_classes(size_t *counts, const svit_dataset *split)
{
    for (size_t i = 0; i < svit_dataset_count(split); i++) {
        int32_t label = -1;
        WORKS(svit_dataset_label(split, i, &label, err));
        counts[label]++;
    }
}

static size_t nearest_share(size_t size, double fraction)
{
    const size_t share = (size_t)((double)size * fraction + 0.5);
    return fraction > 0 && share == 0 ? 1 : share;
}

/* What a class gives to two splits, in other words than the library's: without room for both the
 * larger share is cut to the room that the other one leaves, but not below it. */
static void wanted_shares(size_t shares[2], size_t size, double first, double second)
{
    const size_t room = size > 0 ? size - 1 : 0;
    shares[0] = nearest_share(size, first);
    shares[1] = nearest_share(size, second);
    const size_t larger = shares[0] < shares[1], smaller = shares[1 - larger];
    if (shares[0] + shares[1] <= room)
        return;
    shares[larger] = room >= 2 * smaller ? room - smaller : room / 2;
    if (room < 2 * smaller)
        shares[1 - larger] = room / 2;
}

/* All sizes of three classes, with fractions of which some are 0: each sample is in one split, and
 * each class has its share. */
START_TEST(test_each_class_gives_its_share)
{
    static const double fractions[] = {0, 0.1, 0.25, 0.4, 0.55, 0.85};
    for (size_t code = 0; code < 6 * 6 * 6 * 36; code++) {
        const size_t sizes[] = {code % 6 + 1, code / 6 % 6 * 3, code / 36 % 6 * 4};
        const double validation = fractions[code / 216 % 6], test = fractions[code / 1296];
        if (validation + test >= 1)
            continue;
        svit_dataset *parent = of_sizes(sizes, 3), *splits[SPLITS] = {NULL, NULL, NULL};
        size_t shares[3][2], sums[2] = {0, 0}, counts[SPLITS][3] = {{0}};
        for (size_t k = 0; k < 3; k++) {
            wanted_shares(shares[k], sizes[k], validation, test);
            sums[0] += shares[k][0];
            sums[1] += shares[k][1];
        }
        if ((sums[0] > 0 || validation == 0) && (sums[1] > 0 || test == 0)) {
            WORKS(svit_dataset_split(splits, parent, validation, test, code, err));
            int seen[MOST] = {0};
            for (size_t split = 0; split < SPLITS; split++) {
                count_classes(counts[split], splits[split]);
                for (size_t i = 0; i < svit_dataset_count(splits[split]); i++)
                    ck_assert_int_eq(seen[pixel_of(splits[split], i)]++, 0);
            }
            for (size_t k = 0; k < 3; k++) {
                ck_assert_uint_eq(counts[SVIT_SPLIT_VALIDATION][k], shares[k][0]);
                ck_assert_uint_eq(counts[SVIT_SPLIT_TEST][k], shares[k][1]);
                ck_assert_uint_eq(counts[SVIT_SPLIT_TRAIN][k],
                                  sizes[k] - shares[k][0] - shares[k][1]);
            }
            free_splits(splits);
        }
        svit_dataset_free(parent);
    }
}
END_TEST

START_TEST(test_fractions_need_not_be_alike)
{
    static const size_t sizes[] = {20, 10};
    static const struct {
        double validation, test;
        size_t counts[SPLITS]; /* by SVIT_SPLIT_* */
    } cases[] = {
        {0.8, 0.1, {[SVIT_SPLIT_TRAIN] = 3, [SVIT_SPLIT_VALIDATION] = 24, [SVIT_SPLIT_TEST] = 3}},
        {0.1, 0.6, {[SVIT_SPLIT_TRAIN] = 9, [SVIT_SPLIT_VALIDATION] = 3, [SVIT_SPLIT_TEST] = 18}},
        {0.97,
         0.01,
         {[SVIT_SPLIT_TRAIN] = 2, [SVIT_SPLIT_VALIDATION] = 26, [SVIT_SPLIT_TEST] = 2}}};
    svit_dataset *parent = of_sizes(sizes, 2);
    for (size_t i = 0; i < 3; i++) {
        svit_dataset *splits[SPLITS] = {NULL, NULL, NULL};
        WORKS(svit_dataset_split(splits, parent, cases[i].validation, cases[i].test, 3, err));
        for (size_t split = 0; split < SPLITS; split++)
            ck_assert_uint_eq(svit_dataset_count(splits[split]), cases[i].counts[split]);
        free_splits(splits);
    }
    svit_dataset_free(parent);
}
END_TEST

/* Recorded, since a run that is resumed has to find the splits with which it began. */
START_TEST(test_a_seed_draws_the_same_everywhere)
{
    static const size_t sizes[] = {5, 4};
    static const int wanted[SPLITS][5] = {{2, 6, 0, 3, 1}, {8, 5}, {7, 4}};
    svit_dataset *parent = of_sizes(sizes, 2), *splits[SPLITS] = {NULL, NULL, NULL};
    WORKS(svit_dataset_split(splits, parent, 0.2, 0.2, 42, err));
    for (size_t split = 0; split < SPLITS; split++)
        for (size_t i = 0; i < svit_dataset_count(splits[split]); i++)
            ck_assert_int_eq(pixel_of(splits[split], i), wanted[split][i]);
    ck_assert_uint_eq(svit_dataset_count(splits[SVIT_SPLIT_TRAIN]), 5);
    svit_dataset_free(parent);
    free_splits(splits);
}
END_TEST

/* Every sample is in every split for some seed. */
START_TEST(test_other_seeds_draw_others)
{
    static const size_t sizes[] = {4, 6};
    svit_dataset *parent = of_sizes(sizes, 2);
    int seen[SPLITS][10] = {{0}};
    for (uint64_t seed = 0; seed < 200; seed++) {
        svit_dataset *splits[SPLITS] = {NULL, NULL, NULL};
        WORKS(svit_dataset_split(splits, parent, 0.25, 0.25, seed, err));
        for (size_t split = 0; split < SPLITS; split++)
            for (size_t i = 0; i < svit_dataset_count(splits[split]); i++)
                seen[split][pixel_of(splits[split], i)]++;
        free_splits(splits);
    }
    for (size_t i = 0; i < 10; i++)
        for (size_t split = 0; split < SPLITS; split++)
            ck_assert_int_gt(seen[split][i], 20);
    svit_dataset_free(parent);
}
END_TEST

/* Of one sample each, classes have nothing to give: the fraction is that of all samples. */
START_TEST(test_classes_too_small_are_drawn_together)
{
    static const size_t sizes[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    svit_dataset *parent = of_sizes(sizes, 10), *splits[SPLITS] = {NULL, NULL, NULL};
    WORKS(svit_dataset_split(splits, parent, 0.2, 0.3, 1, err));
    ck_assert_uint_eq(svit_dataset_count(splits[SVIT_SPLIT_VALIDATION]), 2);
    ck_assert_uint_eq(svit_dataset_count(splits[SVIT_SPLIT_TEST]), 3);
    ck_assert_uint_eq(svit_dataset_count(splits[SVIT_SPLIT_TRAIN]), 5);
    svit_dataset_free(parent);
    free_splits(splits);
}
END_TEST

START_TEST(test_targets_are_drawn_without_classes)
{
    float targets[20] = {0};
    svit_dataset *parent = NULL, *splits[SPLITS] = {NULL, NULL, NULL};
    WORKS(svit_dataset_memory_targets(&parent, context, pixels, targets, 10, 1, 1, 1, 2, err));
    WORKS(svit_dataset_split(splits, parent, 0.35, 0, 1, err));
    ck_assert_uint_eq(svit_dataset_count(splits[SVIT_SPLIT_VALIDATION]), 3);
    ck_assert_ptr_null(splits[SVIT_SPLIT_TEST]);
    ck_assert_int_eq(svit_dataset_has_targets(splits[SVIT_SPLIT_TRAIN]), 1);
    svit_dataset_free(parent);
    free_splits(splits);
}
END_TEST

/* Samples of shards keep their order, also those of a view of them. */
START_TEST(test_samples_of_shards_stay_in_order)
{
    static const size_t sizes[] = {20, 20};
    svit_dataset *parent = of_sizes(sizes, 2), *half = NULL;
    parent->is_of_shards = true;
    WORKS(svit_dataset_slice(&half, parent, 3, 30, err));
    svit_dataset *const sources[] = {parent, half};
    for (size_t source = 0; source < 2; source++) {
        svit_dataset *splits[SPLITS] = {NULL, NULL, NULL};
        WORKS(svit_dataset_split(splits, sources[source], 0.3, 0.3, 5, err));
        for (size_t split = 0; split < SPLITS; split++)
            for (size_t i = 1; i < svit_dataset_count(splits[split]); i++)
                ck_assert_int_gt(pixel_of(splits[split], i), pixel_of(splits[split], i - 1));
        free_splits(splits);
    }
    svit_dataset_free(half);
    svit_dataset_free(parent);
}
END_TEST

START_TEST(test_what_cannot_be_drawn_is_refused)
{
    static const double wrong[][2] = {
        {-0.1, 0},  {0, -0.1},        {1, 0},           {0, 1},
        {0.5, 0.5}, {(double)NAN, 0}, {0, (double)NAN}, {(double)INFINITY, 0}};
    static const size_t sizes[] = {3}, one[] = {1};
    svit_dataset *parent = of_sizes(sizes, 1), *splits[SPLITS] = {NULL, NULL, NULL};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        FAILS(svit_dataset_split(splits, parent, wrong[i][0], wrong[i][1], 1, err), SVIT_E_ARGUMENT,
              "0 or more are accepted, and a sum below 1");
    svit_dataset_free(parent);
    float targets[MOST] = {0};
    WORKS(svit_dataset_memory_targets(&parent, context, pixels, targets, MOST, 1, 1, 1, 1, err));
    FAILS(svit_dataset_split(splits, parent, 0.01, 0.2, 1, err), SVIT_E_ARGUMENT,
          "64 samples are too few for validation 0.01 and test 0.2");
    svit_dataset_free(parent);
    parent = of_sizes(one, 1);
    FAILS(svit_dataset_split(splits, parent, 0.5, 0, 1, err), SVIT_E_ARGUMENT,
          "1 samples are too few for validation 0.5 and test 0");
    WORKS(svit_dataset_split(splits, parent, 0, 0, 1, err));
    ck_assert_uint_eq(svit_dataset_count(splits[SVIT_SPLIT_TRAIN]), 1);
    svit_dataset_free(parent);
    free_splits(splits);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("data_split");
    TCase *c = tcase_create("data_split");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_each_class_gives_its_share);
    tcase_add_test(c, test_fractions_need_not_be_alike);
    tcase_add_test(c, test_a_seed_draws_the_same_everywhere);
    tcase_add_test(c, test_other_seeds_draw_others);
    tcase_add_test(c, test_classes_too_small_are_drawn_together);
    tcase_add_test(c, test_targets_are_drawn_without_classes);
    tcase_add_test(c, test_samples_of_shards_stay_in_order);
    tcase_add_test(c, test_what_cannot_be_drawn_is_refused);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
