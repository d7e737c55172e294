/* Checks the factors of the classes that follow from the training set. */
#include "trainer_support.h"

#include "trainer/trainer.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST = 300, ROWS = 64 };

static float wanted[MOST], targets[ROWS * MOST];
static int32_t given[ROWS];
static uint8_t pixels[ROWS * SIDE * SIDE * 3];

/* A trainer whose training set has labels or targets for `classes`. */
static svit_trainer *weigh(bool has_targets, size_t count, size_t classes, int32_t loss)
{
    plan p = plan_make(1);
    svit_trainer *trainer = NULL;
    svit_model *model = fit_model(context, classes, 1);
    p.trainer.folder = NULL;
    p.trainer.loss = loss;
    p.trainer.class_weighting = SVIT_CLASS_WEIGHTING_BALANCED;
    svit_dataset_free(training);
    training = NULL;
    if (has_targets)
        WORKS(svit_dataset_memory_targets(&training, context, pixels, targets, count, SIDE, SIDE, 3,
                                          classes, err));
    else
        WORKS(svit_dataset_memory(&training, context, pixels, given, count, SIDE, SIDE, 3, classes,
                                  err));
    trainer = open_trainer(model, &p, NULL);
    svit_model_free(model);
    return trainer;
}

static void weights_are(svit_trainer *trainer, size_t classes)
{
    const float *weights = trainer->objective.class_weights;
    ck_assert_ptr_nonnull(weights);
    for (size_t k = 0; k < classes; k++)
        ck_assert_msg(fabsf(weights[k] - wanted[k]) <= FLT_EPSILON * wanted[k],
                      "class %zu has %.9g; %.9g is wanted", k, (double)weights[k],
                      (double)wanted[k]);
    svit_trainer_free(trainer);
}

/* Class k has k + 1 samples, and one class none: 10 samples of 5 classes, of which 4 have some. */
START_TEST(test_classes_of_labels_count_alike)
{
    static const int32_t LABELS[] = {0, 1, 1, 3, 3, 3, 4, 4, 4, 4};
    static const float WANTED[] = {10.0f / 4, 10.0f / 8, 1, 10.0f / 12, 10.0f / 16};
    memcpy(given, LABELS, sizeof LABELS);
    memcpy(wanted, WANTED, sizeof WANTED);
    weights_are(weigh(false, 10, 5, SVIT_LOSS_CROSS_ENTROPY), 5);
}
END_TEST

/* More classes than class_weights holds: the first has half of the samples. */
START_TEST(test_any_number_of_classes_is_weighed)
{
    for (size_t i = 0; i < ROWS; i++)
        given[i] = i < ROWS / 2 ? 0 : (int32_t)(MOST - i);
    for (size_t k = 0; k < MOST; k++)
        wanted[k] = k > MOST - ROWS && k <= MOST - ROWS / 2 ? (float)ROWS / 33 : 1;
    wanted[0] = 2.0f / 33;
    weights_are(weigh(false, ROWS, MOST, SVIT_LOSS_CROSS_ENTROPY), MOST);
}
END_TEST

/* Probabilities: the classes have 2.5, 1 and 0.5 of four samples. */
START_TEST(test_targets_count_as_parts)
{
    static const float TARGETS[] = {1, 0, 0, 1, 0, 0, 0.5f, 0, 0.5f, 0, 1, 0};
    static const float WANTED[] = {4 / 7.5f, 4 / 3.0f, 4 / 1.5f};
    memcpy(targets, TARGETS, sizeof TARGETS);
    memcpy(wanted, WANTED, sizeof WANTED);
    weights_are(weigh(true, 4, 3, SVIT_LOSS_CROSS_ENTROPY), 3);
}
END_TEST

/* No float holds the factor of a class that has 1e-40 of a sample: it is that of a class without
 * any. The others have 1 and 2 of the three samples, a third of which is 1. */
START_TEST(test_next_to_nothing_is_nothing)
{
    static const float TARGETS[] = {1, 0, 0, 0, 1, 0, 0, 1, 1e-40f};
    static const float WANTED[] = {1, 0.5f, 1};
    memcpy(targets, TARGETS, sizeof TARGETS);
    memcpy(wanted, WANTED, sizeof WANTED);
    weights_are(weigh(true, 3, 3, SVIT_LOSS_CROSS_ENTROPY), 3);
}
END_TEST

/* One class with one positive of four samples, one with three, one with none and one with all. */
START_TEST(test_binary_targets_weigh_negatives_by_positives)
{
    static const float TARGETS[] = {1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1};
    static const float WANTED[] = {3, 1.0f / 3, 1, 1};
    memcpy(targets, TARGETS, sizeof TARGETS);
    memcpy(wanted, WANTED, sizeof WANTED);
    weights_are(weigh(true, 4, 4, SVIT_LOSS_BINARY), 4);
}
END_TEST

START_TEST(test_labels_are_binary_targets_of_their_class)
{
    static const int32_t LABELS[] = {0, 1, 1, 1};
    static const float WANTED[] = {3, 1.0f / 3, 1};
    memcpy(given, LABELS, sizeof LABELS);
    memcpy(wanted, WANTED, sizeof WANTED);
    weights_are(weigh(false, 4, 3, SVIT_LOSS_BINARY), 3);
}
END_TEST

/* The 22 samples have 8, 7 and 7 of the three classes; plain, in parts, in leaves and mixed. */
START_TEST(test_a_run_is_that_of_the_same_weights_given)
{
    plan p = plan_make(2);
    size_t elements;
    p.trainer.accumulate = _i == 1 ? 3 : 1;
    p.trainer.leaves = _i == 2 ? 4 : 0;
    WORKS(svit_training_from_json(&p.trainer, &p.optimizer, &p.pipeline,
                                  _i == 3 ? "{\"class_weighting\":\"balanced\",\"augment\":"
                                            "[{\"name\":\"mixup\"}]}"
                                          : "{\"class_weighting\":\"balanced\"}",
                                  err));
    ck_assert_int_eq(p.trainer.class_weighting, SVIT_CLASS_WEIGHTING_BALANCED);
    svit_model *balanced = train_whole(p, NULL);
    p.trainer.class_weighting = SVIT_CLASS_WEIGHTING_GIVEN;
    svit_model *plain = train_whole(p, NULL);
    p.trainer.class_weight_count = CLASSES;
    for (int k = 0; k < CLASSES; k++)
        p.trainer.class_weights[k] = SAMPLES / (3.0 * (k == 0 ? 8 : 7));
    svit_model *same = train_whole(p, NULL);
    float *a = fit_weights(balanced, &elements), *b = fit_weights(same, NULL),
          *c = fit_weights(plain, NULL);
    ck_assert_mem_eq(a, b, elements * sizeof(float));
    ck_assert_mem_ne(a, c, elements * sizeof(float));
    free(c);
    free(b);
    free(a);
    svit_model_free(same);
    svit_model_free(plain);
    svit_model_free(balanced);
}
END_TEST

START_TEST(test_a_run_goes_on_with_the_same_weighting_only)
{
    plan p = plan_make(2);
    p.trainer.class_weighting = SVIT_CLASS_WEIGHTING_BALANCED;
    leave_checkpoint(p, NULL, 1);
    p.trainer.existing = SVIT_EXISTING_RESUME;
    for (int other = 1; other >= 0; other--) {
        svit_model *model = fit_model(context, CLASSES, 2);
        p.trainer.class_weighting =
            other ? SVIT_CLASS_WEIGHTING_GIVEN : SVIT_CLASS_WEIGHTING_BALANCED;
        svit_trainer *trainer = open_trainer(model, &p, NULL);
        if (other)
            FAILS(svit_trainer_resume(trainer, err), SVIT_E_ARGUMENT, "class weights balanced'");
        else
            WORKS(svit_trainer_resume(trainer, err));
        svit_trainer_free(trainer);
        svit_model_free(model);
    }
}
END_TEST

static svit_status give_sample(void *user, size_t index, void *image, int32_t *label,
                               svit_error *err)
{
    (void)user;
    (void)err;
    memset(image, (int)index, SIDE * SIDE * 3);
    *label = 0;
    return SVIT_OK;
}

START_TEST(test_what_is_refused)
{
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = NULL;
    svit_dataset *unread = NULL;
    plan p = plan_make(1);
    p.trainer.class_weighting = 2;
#define REFUSED(set, status, part)                                                                 \
    FAILS(svit_trainer_create(&trainer, context, model, set, NULL, &p.trainer, &p.optimizer,       \
                              &p.pipeline, err),                                                   \
          status, part)
    REFUSED(training, SVIT_E_ARGUMENT, "class_weighting is 2");
    p.trainer.class_weighting = SVIT_CLASS_WEIGHTING_BALANCED;
    p.trainer.class_weight_count = 3;
    for (int k = 0; k < 3; k++)
        p.trainer.class_weights[k] = 1;
    REFUSED(training, SVIT_E_ARGUMENT, "there are 3 class_weights; one of the two");
    p.trainer.class_weight_count = 0;
    p.trainer.sampling = SVIT_SAMPLING_BALANCED;
    REFUSED(training, SVIT_E_ARGUMENT, "class_weighting and sampling are 'balanced'");
    p.trainer.sampling = SVIT_SAMPLING_SHUFFLE;
    p.trainer.loss = SVIT_LOSS_MSE;
    REFUSED(training, SVIT_E_ARGUMENT, "loss is 'mse'");
    p.trainer.loss = SVIT_LOSS_CROSS_ENTROPY;
    const svit_custom_dataset custom = {.struct_size = sizeof custom,
                                        .count = 9,
                                        .height = SIDE,
                                        .width = SIDE,
                                        .channels = 3,
                                        .classes = CLASSES,
                                        .sample = give_sample};
    WORKS(svit_dataset_custom(&unread, context, &custom, err));
    REFUSED(unread, SVIT_E_UNSUPPORTED,
            "class_weighting 'balanced' needs the labels of all samples; the functions of this "
            "dataset do not tell them apart from its images");
    svit_dataset_free(unread);
    svit_model_free(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("class_weighting");
    TCase *c = tcase_create("class_weighting");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_classes_of_labels_count_alike);
    tcase_add_test(c, test_any_number_of_classes_is_weighed);
    tcase_add_test(c, test_targets_count_as_parts);
    tcase_add_test(c, test_next_to_nothing_is_nothing);
    tcase_add_test(c, test_binary_targets_weigh_negatives_by_positives);
    tcase_add_test(c, test_labels_are_binary_targets_of_their_class);
    tcase_add_loop_test(c, test_a_run_is_that_of_the_same_weights_given, 0, 4);
    tcase_add_test(c, test_a_run_goes_on_with_the_same_weighting_only);
    tcase_add_test(c, test_what_is_refused);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
