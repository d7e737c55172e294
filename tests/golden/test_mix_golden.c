/* Compares Mixup and CutMix with timm, and the distribution of their random numbers with its
 * moments. */
#include "data/augmentation/mix.h"
#include "fit.h"
#include "golden.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 4, HEIGHT = 11, WIDTH = 13, CLASSES = 6, ELEMENTS = N * HEIGHT * WIDTH * 3 };

static sv_safetensors *file;

static void setup(void)
{
    file = golden_open("augment");
}

static void teardown(void)
{
    sv_safetensors_close(file);
}

/* The targets of the labels with smoothing 0.1. */
static void smooth_targets(float targets[N * CLASSES])
{
    int32_t *labels = golden_labels(file, "mix.labels", NULL);
    for (int i = 0; i < N * CLASSES; i++)
        targets[i] = (float)(0.1 / CLASSES + (labels[i / CLASSES] == i % CLASSES ? 0.9 : 0));
    golden_free(labels);
}

/* Mixes the golden batch and compares images and targets. */
static void check(const sv_mix *mix, const char *name, double tolerance)
{
    char text[64];
    float targets[N * CLASSES];
    float *images = golden_floats(file, "mix.x", NULL);
    smooth_targets(targets);
    for (size_t i = 0; i < N / 2; i++) {
        const size_t a = i % 2 ? N - 1 - i : i,
                     b = N - 1 - a; /* which is first makes no difference */
        sv_mix_pair(mix, images + a * (ELEMENTS / N), images + b * (ELEMENTS / N), HEIGHT, WIDTH, 3,
                    targets + a * CLASSES, targets + b * CLASSES, CLASSES);
    }
    snprintf(text, sizeof text, "%s.x", name);
    float *wanted = golden_floats(file, text, NULL);
    ck_assert_double_le(golden_difference(images, wanted, ELEMENTS), tolerance);
    golden_free(wanted);
    snprintf(text, sizeof text, "%s.targets_smooth0.1", name);
    wanted = golden_floats(file, text, NULL);
    ck_assert_double_le(golden_difference(targets, wanted, N * CLASSES), 1e-6);
    golden_free(wanted);
    golden_free(images);
}

START_TEST(test_mixup)
{
    float *lambda = golden_floats(file, "mixup.lambda", NULL);
    for (int i = 0; i < 2; i++) {
        char name[32];
        snprintf(name, sizeof name, "mixup.timm.%d", i);
        sv_mix mix = {.kind = SVIT_AUGMENT_MIXUP, .lambda = (double)lambda[i]};
        check(&mix, name, 1e-6);
    }
    golden_free(lambda);
}
END_TEST

START_TEST(test_cutmix)
{
    int32_t *box = golden_labels(file, "cutmix.box", NULL);
    float *lambda = golden_floats(file, "cutmix.lambda", NULL);
    sv_mix mix = {.kind = SVIT_AUGMENT_CUTMIX, .lambda = (double)lambda[0]};
    for (int i = 0; i < 2; i++) {
        mix.rows[i] = (size_t)box[i];
        mix.columns[i] = (size_t)box[2 + i];
    }
    check(&mix, "cutmix.timm", 0);
    golden_free(lambda);
    golden_free(box);
}
END_TEST

START_TEST(test_boxes_of_cutmix)
{
    int32_t *rules = golden_labels(file, "cutmix.rule.timm.box", NULL);
    float *lambdas = golden_floats(file, "cutmix.rule.timm.lambda", NULL);
    for (int i = 0; i < 48; i++) {
        const int32_t *rule = rules + 8 * i;
        sv_mix mix = {.kind = SVIT_AUGMENT_CUTMIX, .lambda = (double)lambdas[2 * i]};
        sv_mix_box(&mix, (size_t)rule[0], (size_t)rule[1], (size_t)rule[2], (size_t)rule[3]);
        ck_assert_uint_eq(mix.rows[0], (size_t)rule[4]);
        ck_assert_uint_eq(mix.rows[1], (size_t)rule[5]);
        ck_assert_uint_eq(mix.columns[0], (size_t)rule[6]);
        ck_assert_uint_eq(mix.columns[1], (size_t)rule[7]);
        ck_assert_double_eq_tol(mix.lambda, lambdas[2 * i + 1], 1e-6);
    }
    golden_free(lambdas);
    golden_free(rules);
}
END_TEST

/* Beta(alpha, alpha) has the mean 1/2 and the variance 1 / (8 alpha + 4). With 20,000 draws the
 * means of x and of (x - 1/2)^2 differ from these by less than five of their standard errors, which
 * are at most 0.5 / sqrt(20000) and 0.125 / sqrt(20000). */
START_TEST(test_lambda_is_beta_distributed)
{
    enum { DRAWS = 20000 };
    const double alphas[] = {5e-324, 1e-310, 1e-300, 1e-5, 0.1, 0.8, 1, 8, 1000};
    double alpha = alphas[_i];
    svit_pipeline_config config;
    ck_assert_int_eq(svit_pipeline_config_init(&config, sizeof config), SVIT_OK);
    config.augment_count = 1;
    config.augment[0] =
        (svit_augment_step){.kind = SVIT_AUGMENT_MIXUP, .alpha = alpha, .probability = 1};
    double sum = 0, squares = 0;
    for (uint32_t batch = 0; batch < DRAWS; batch++) {
        double x = sv_mix_draw(&config, 3, 1, batch, 8, 8).lambda;
        ck_assert(x >= 0 && x <= 1);
        sum += x;
        squares += (x - 0.5) * (x - 0.5);
    }
    ck_assert_double_eq_tol(sum / DRAWS, 0.5, 5 * 0.5 / sqrt(DRAWS));
    ck_assert_double_eq_tol(squares / DRAWS, 1 / (8 * alpha + 4), 5 * 0.125 / sqrt(DRAWS));
}
END_TEST

START_TEST(test_choice_probability_and_last_epoch)
{
    enum { DRAWS = 4000 };
    svit_pipeline_config config;
    ck_assert_int_eq(svit_pipeline_config_init(&config, sizeof config), SVIT_OK);
    config.augment_count = 2;
    config.augment[0] = (svit_augment_step){
        .kind = SVIT_AUGMENT_MIXUP, .alpha = 1, .probability = 0.5, .off_epoch = 7};
    config.augment[1] = (svit_augment_step){
        .kind = SVIT_AUGMENT_CUTMIX, .alpha = 1, .probability = 1, .off_epoch = 9};
    int mixup[10] = {0}, cutmix[10] = {0};
    for (uint64_t epoch = 6; epoch < 10; epoch++)
        for (uint32_t batch = 0; batch < DRAWS; batch++) {
            sv_mix mix = sv_mix_draw(&config, 3, epoch, batch, 8, 12);
            mixup[epoch] += mix.kind == SVIT_AUGMENT_MIXUP;
            cutmix[epoch] += mix.kind == SVIT_AUGMENT_CUTMIX;
            ck_assert(mix.kind >= 0 || mix.lambda == 1);
        }
    /* A quarter and a half of the batches, within five standard deviations. */
    ck_assert_int_lt(abs(mixup[6] - DRAWS / 4), 140);
    ck_assert_int_lt(abs(cutmix[6] - DRAWS / 2), 160);
    ck_assert_int_eq(mixup[7], 0);
    ck_assert_int_lt(abs(cutmix[8] - DRAWS / 2), 160);
    ck_assert_int_eq(cutmix[9], 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("mix_golden");
    TCase *c = tcase_create("mix_golden");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_mixup);
    tcase_add_test(c, test_cutmix);
    tcase_add_test(c, test_boxes_of_cutmix);
    tcase_add_loop_test(c, test_lambda_is_beta_distributed, 0, 9);
    tcase_add_test(c, test_choice_probability_and_last_epoch);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
