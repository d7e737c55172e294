/* Checks the augmentation of loaders: what is random for each image or batch, and that it depends
 * only on the seed, the epoch and the sample. */
#include "test_loader_support.h"

/* Returns the place of a crop, which its pixels tell. */
static int crop_place(const float *image)
{
    float first = image[0];
    float last = image[3 * (OUT - 1)];
    float left = first < last ? first : last;
    return (int)left + SIDE * (int)image[1];
}

/* Returns the number of distinct crop places in the next batch, and adds up its mirrored images. */
static size_t places_count(svit_loader *loader, int *mirrored, int *first_place)
{
    batch got = batch_next(loader);
    bool seen[SIDE * SIDE] = {false};
    size_t count = 0;
    for (size_t i = 0; i < got.n; i++) {
        const float *image = got.images + i * ELEMENTS;
        int place = crop_place(image);
        count += !seen[place];
        seen[place] = true;
        *mirrored += image[0] > image[3];
    }
    *first_place = crop_place(got.images);
    return count;
}

START_TEST(test_crops_are_random_for_each_image_or_each_batch)
{
    numbered *self = numbered_make();
    int places[4];
    int mirrored = 0;
    self->pipeline.per_batch = 1;
    svit_loader *loader = loader_make(self, config_make(0, 1, 2));
    for (size_t b = 0; b < 4; b++)
        ck_assert_uint_eq(places_count(loader, &mirrored, &places[b]), 1);
    ck_assert(places[0] != places[1] || places[1] != places[2] || places[2] != places[3]);
    ck_assert_int_gt(mirrored, 0); /* the flip is random for each image */
    ck_assert_int_lt(mirrored, 4 * BATCH);
    svit_loader_free(loader);
    self->pipeline.per_batch = 0;
    loader = loader_make(self, config_make(0, 1, 2));
    int flips = 0;
    size_t distinct = 0;
    for (size_t b = 0; b < 4; b++)
        distinct += places_count(loader, &flips, &places[b]);
    ck_assert_uint_ge(distinct,
                      12); /* at least 12 of 20 draws from 25 places, in four batches of five */
    ck_assert_int_eq(flips, mirrored);
    svit_loader_free(loader);
    numbered_free(self);
}
END_TEST

START_TEST(test_flip_probability_0_and_1_are_certain)
{
    numbered *self = numbered_make();
    for (int certain = 0; certain < 2; certain++) {
        self->pipeline.flip_probability = certain;
        svit_loader *loader = loader_make(self, config_make(0, 1, 0));
        int mirrored = 0;
        int place;
        for (int b = 0; b < 4; b++)
            places_count(loader, &mirrored, &place);
        ck_assert_int_eq(mirrored, certain * 4 * BATCH);
        svit_loader_free(loader);
    }
    numbered_free(self);
}
END_TEST

START_TEST(test_augmentation_of_a_sample_does_not_depend_on_the_batch_size)
{
    numbered *self = numbered_make();
    static float wanted[SAMPLES][ELEMENTS];
    svit_loader *loader = loader_make(self, config_make(1, 1, 2));
    for (batch got = batch_next(loader); got.n > 0; got = batch_next(loader))
        for (size_t i = 0; i < got.n; i++)
            memcpy(wanted[got.labels[i]], got.images + i * ELEMENTS, sizeof wanted[0]);
    svit_loader_free(loader);
    svit_loader_config config = config_make(0, 1, 0);
    config.batch = 1;
    loader = loader_make(self, config);
    for (int i = 0; i < SAMPLES; i++) {
        batch got = batch_next(loader);
        ck_assert_mem_eq(got.images, wanted[i], sizeof wanted[0]);
    }
    svit_loader_free(loader);
    numbered_free(self);
}
END_TEST

static Suite *augment_suite(void)
{
    Suite *suite = suite_create("loader augmentation");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, test_crops_are_random_for_each_image_or_each_batch);
    tcase_add_test(cases, test_flip_probability_0_and_1_are_certain);
    tcase_add_test(cases, test_augmentation_of_a_sample_does_not_depend_on_the_batch_size);
    suite_add_tcase(suite, cases);
    return suite;
}

TEST_MAIN(augment_suite)
