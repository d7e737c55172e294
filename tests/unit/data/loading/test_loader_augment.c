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

/* Every repetition of a sample in a batch has the batch's crop. */
START_TEST(test_repeated_samples_have_the_crop_of_the_batch)
{
    numbered *self = numbered_make();
    int mirrored = 0, places[2][4];
    self->pipeline.per_batch = 1;
    for (int repeat = 0; repeat < 2; repeat++) {
        if (repeat) {
            self->pipeline.augment_count = 1;
            self->pipeline.augment[0] =
                (svit_augment_step){.kind = SVIT_AUGMENT_REPEAT, .count = 3};
        }
        svit_loader *loader = loader_make(self, config_make(0, 1, 0));
        for (size_t b = 0; b < 4; b++)
            ck_assert_uint_eq(places_count(loader, &mirrored, &places[repeat][b]), 1);
        svit_loader_free(loader);
    }
    ck_assert_mem_eq(places[1], places[0], sizeof *places);
    numbered_free(self);
}
END_TEST

/* A pipeline that shows the whole image, with these steps. */
static numbered *steps_make(const char *json)
{
    numbered *self = numbered_make();
    char text[512];
    snprintf(text, sizeof text,
             "{\"source_height\":8,\"source_width\":8,\"resize_height\":8,\"resize_width\":8,"
             "\"output_height\":8,\"output_width\":8,\"scale\":1.0,\"flip_probability\":0,"
             "\"augment\":%s}",
             json);
    WORKS(svit_pipeline_config_from_json(&self->pipeline, sizeof self->pipeline, text, err));
    return self;
}

enum { WHOLE = SIDE * SIDE * 3 };

/* Reads the images of one epoch by sample. */
static void read_epoch(svit_loader *loader, uint64_t epoch, float images[SAMPLES][WHOLE])
{
    static float batch_images[SAMPLES * WHOLE];
    int32_t batch_labels[SAMPLES];
    size_t n;
    WORKS(svit_loader_seek(loader, epoch, 0, err));
    for (;;) {
        WORKS(svit_loader_next(loader, batch_images, batch_labels, &n, err));
        if (n == 0)
            return;
        for (size_t i = 0; i < n; i++)
            memcpy(images[batch_labels[i]], batch_images + i * WHOLE, sizeof images[0]);
    }
}

#define ALL_STEPS                                                                                  \
    "[{\"name\":\"crop\",\"padding\":2,\"mode\":\"reflect\"},{\"name\":\"flip\",\"mode\":"         \
    "\"alternating\"},"                                                                            \
    "{\"name\":\"randaugment\",\"n\":2,\"m\":12},{\"name\":\"trivialaugment\"},"                   \
    "{\"name\":\"autoaugment\"},{\"name\":\"color-jitter\",\"brightness\":0.2,\"hue\":0.1},"       \
    "{\"name\":\"resized-crop\",\"mode\":\"bicubic\"},"                                            \
    "{\"name\":\"erasing\"},{\"name\":\"cutout\",\"size\":2}]"

/* The steps of a sample depend on seed, epoch and sample, not on prefetching or the batch size, and
 * they differ between epochs. */
START_TEST(test_steps_depend_on_seed_epoch_and_sample_alone)
{
    static float wanted[SAMPLES][WHOLE], got[SAMPLES][WHOLE];
    numbered *self = steps_make(ALL_STEPS);
    svit_loader *loader = loader_make(self, config_make(1, 1, 2));
    read_epoch(loader, 3, wanted);
    svit_loader_free(loader);
    svit_loader_config config = config_make(0, 1, 0);
    config.batch = 7;
    loader = loader_make(self, config);
    read_epoch(loader, 3, got);
    ck_assert_mem_eq(got, wanted, sizeof got);
    read_epoch(loader, 4, got);
    size_t same = 0;
    for (size_t i = 0; i < SAMPLES; i++)
        same += memcmp(got[i], wanted[i], sizeof got[i]) == 0;
    ck_assert_uint_le(same, 2);
    svit_loader_free(loader);
    config.seed++;
    loader = loader_make(self, config);
    read_epoch(loader, 3, got);
    ck_assert(memcmp(got, wanted, sizeof got) != 0);
    svit_loader_free(loader);
    numbered_free(self);
}
END_TEST

START_TEST(test_an_alternating_flip_mirrors_each_image_in_every_second_epoch)
{
    static float epochs[3][SAMPLES][WHOLE];
    numbered *self = steps_make("[{\"name\":\"flip\",\"mode\":\"alternating\"}]");
    svit_loader *loader = loader_make(self, config_make(1, 1, 0));
    size_t mirrored = 0;
    for (uint64_t epoch = 0; epoch < 3; epoch++)
        read_epoch(loader, epoch, epochs[epoch]);
    for (size_t i = 0; i < SAMPLES; i++) {
        mirrored += epochs[0][i][0] > 0;
        ck_assert_float_eq(epochs[0][i][0] + epochs[1][i][0], SIDE - 1);
        ck_assert_mem_eq(epochs[0][i], epochs[2][i], sizeof epochs[0][i]);
    }
    ck_assert_uint_gt(mirrored, SAMPLES / 4);
    ck_assert_uint_lt(mirrored, SAMPLES - SAMPLES / 4);
    svit_loader_free(loader);
    numbered_free(self);
}
END_TEST

/* Evaluation has no augmentation. */
START_TEST(test_steps_are_for_training_alone)
{
    static float images[SAMPLES][WHOLE];
    numbered *self = steps_make(ALL_STEPS);
    svit_loader *loader = loader_make(self, config_make(0, 0, 0));
    read_epoch(loader, 0, images);
    for (size_t i = 0; i < SAMPLES; i++)
        for (size_t k = 0; k < WHOLE; k++)
            ck_assert_float_eq(images[i][k], self->rgb[i * WHOLE + k]);
    svit_loader_free(loader);
    numbered_free(self);
}
END_TEST

START_TEST(test_wrong_steps_are_refused)
{
    static const char *const cases[][2] = {
        {"[{\"name\":\"crops\"}]", "augment[0]: name is 'crops'; it is one of 'crop', 'flip'"},
        {"[{}]", "augment[0]: it is no object with a \"name\""},
        {"[7]", "augment[0]: it is no object"},
        {"[{\"name\":\"flip\"},{\"name\":\"crop\",\"n\":1}]",
         "augment[1]: 'n' is no field of 'crop'"},
        {"[{\"name\":\"randaugment\",\"m\":31}]", "m is 31; it is in [0, 30]"},
        {"[{\"name\":\"erasing\",\"scale\":[0.5,0.2]}]", "the first is at most the second"},
        {"[{\"name\":\"erasing\",\"ratio\":[0,1]}]", "ratio is 0"},
        {"[{\"name\":\"cutout\"},{\"name\":\"flip\"}]",
         "augment[1] is 'flip', which comes before 'cutout'"},
        {"[{\"name\":\"crop\",\"padding\":257}]", "padding is 257; it is in [0, 256]"},
        {"[{\"name\":\"crop\",\"mode\":\"edge\"}]", "mode is 'edge'; it is 'zero' or 'reflect'"},
        {"[{\"name\":\"flip\",\"probability\":1.5}]", "probability is 1.5; it is in [0, 1]"},
        {"[{\"name\":\"flip\",\"mode\":\"always\"}]",
         "mode is 'always'; it is 'random' or 'alternating'"},
        {"[{\"name\":\"color-jitter\",\"hue\":0.75}]", "hue is 0.75; it is in [0, 0.5]"},
        {"[{\"name\":\"color-jitter\",\"contrast\":256}]", "contrast is 256; it is in [0, 255]"},
        {"[{\"name\":\"randaugment\",\"n\":0}]", "n is 0; it is in [1, 16]"},
        {"[{\"name\":\"autoaugment\",\"policy\":\"svhn\"}]",
         "policy is 'svhn'; it is 'cifar10' or 'imagenet'"},
        {"[{\"name\":\"resized-crop\",\"mode\":\"nearest\"}]",
         "mode is 'nearest'; it is 'bilinear' or 'bicubic'"},
        {"[{\"name\":\"resized-crop\",\"scale\":[0.5,2]}]", "scale is 2; it is in (0, 1]"},
        {"[{\"name\":\"cutout\",\"size\":0}]", "size is 0; it is in [1, 8192]"},
        {"[{\"name\":\"mixup\",\"alpha\":0}]", "alpha is 0; it is in (0, 1000]"},
        {"[{\"name\":\"repeat\",\"n\":17}]", "n is 17; it is in [1, 16]"},
        {"[{\"name\":\"repeat\"},{\"name\":\"mixup\"},{\"name\":\"repeat\",\"n\":2}]",
         "augment[2] is a second 'repeat'; one is accepted"},
        {"{}", "augment is not an array of at most 16 augmentation steps"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        svit_pipeline_config config;
        snprintf(text, sizeof text, "{\"augment\":%s}", cases[i][0]);
        FAILS(svit_pipeline_config_from_json(&config, sizeof config, text, err), SVIT_E_ARGUMENT,
              cases[i][1]);
    }
    numbered *self = steps_make("[{\"name\":\"crop\",\"padding\":8}]");
    svit_loader *loader = NULL;
    svit_loader_config config = config_make(0, 1, 0);
    FAILS(svit_loader_create(&loader, self->dataset, &self->pipeline, &config, err),
          SVIT_E_ARGUMENT, "padding is 8; it is below the sides of the images, 8 x 8");
    self->pipeline.augment[0].kind = 99;
    FAILS(svit_loader_create(&loader, self->dataset, &self->pipeline, &config, err),
          SVIT_E_ARGUMENT, "augment[0]: kind is 99");
    numbered_free(self);
}
END_TEST

/* The next epoch of one batch, in images[SAMPLES] and labels[SAMPLES]. */
static void read_whole(svit_loader *loader, float images[SAMPLES][WHOLE], int32_t labels[SAMPLES])
{
    size_t n;
    WORKS(svit_loader_next(loader, images[0], labels, &n, err));
    ck_assert_uint_eq(n, SAMPLES);
    WORKS(svit_loader_next(loader, images[0], labels, &n, err));
    ck_assert_uint_eq(n, 0);
}

/* Two samples have a class of their own each, and are read about 8 times in an epoch. The first
 * reading in an epoch is that of an epoch which reads each sample once. */
START_TEST(test_readings_of_a_balanced_sample_are_augmented_apart)
{
    static float once[SAMPLES][WHOLE], got[2][SAMPLES][WHOLE];
    int32_t labels[2][SAMPLES];
    numbered *self = steps_make("[{\"name\":\"randaugment\"},{\"name\":\"resized-crop\"}]");
    svit_loader_config config = config_make(0, 1, 0);
    svit_loader *plain = loader_make(self, config);
    read_epoch(plain, 0, once);
    svit_loader_free(plain);
    svit_dataset_free(self->dataset);
    for (int i = 0; i < SAMPLES; i++)
        self->labels[i] = i < 2 ? i : 2;
    WORKS(svit_dataset_memory(&self->dataset, self->context, self->rgb, self->labels, SAMPLES, SIDE,
                              SIDE, 3, 3, err));
    config.shuffle = 1;
    config.batch = SAMPLES;
    config.sampling = SVIT_SAMPLING_BALANCED;
    svit_loader *loader = loader_make(self, config);
    size_t same = 0, pairs = 0;
    int firsts = 0;
    for (int epoch = 0; epoch < 2; epoch++)
        read_whole(loader, got[epoch], labels[epoch]);
    for (size_t a = 0; a < 2 * SAMPLES; a++) {
        const float *image = got[a / SAMPLES][a % SAMPLES];
        const int32_t label = labels[a / SAMPLES][a % SAMPLES];
        firsts += label < 2 && memcmp(image, once[label], sizeof *once) == 0;
        for (size_t b = 0; b < a && label < 2; b++) {
            if (labels[b / SAMPLES][b % SAMPLES] != label)
                continue;
            pairs++;
            same += memcmp(image, got[b / SAMPLES][b % SAMPLES], sizeof *once) == 0;
        }
    }
    ck_assert_uint_gt(pairs, 180);
    ck_assert_uint_lt(same, 10);
    ck_assert_int_ge(firsts, 2);
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
    tcase_add_test(cases, test_crops_are_random_for_each_image_or_each_batch);
    tcase_add_test(cases, test_repeated_samples_have_the_crop_of_the_batch);
    tcase_add_test(cases, test_readings_of_a_balanced_sample_are_augmented_apart);
    tcase_add_test(cases, test_steps_depend_on_seed_epoch_and_sample_alone);
    tcase_add_test(cases, test_an_alternating_flip_mirrors_each_image_in_every_second_epoch);
    tcase_add_test(cases, test_steps_are_for_training_alone);
    tcase_add_test(cases, test_wrong_steps_are_refused);
    tcase_add_test(cases, test_flip_probability_0_and_1_are_certain);
    tcase_add_test(cases, test_augmentation_of_a_sample_does_not_depend_on_the_batch_size);
    suite_add_tcase(suite, cases);
    return suite;
}

TEST_MAIN(augment_suite)
