/* Compares loss, softmax and metrics with Keras through the public API, and checks the errors for
 * wrong arguments. */
#include "golden.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 5, CLASSES = 10, TOP_ROWS = 8 };

static void check_relative(const float *got, const float *wanted, size_t count, double tolerance)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(fabs((double)got[i] - wanted[i]) <= tolerance * fmax(fabs(wanted[i]), 1),
                      "[%zu]: %.9g, wanted %.9g", i, (double)got[i], (double)wanted[i]);
}

static const struct {
    const char *prefix;
    float smoothing;
} LOSSES[] = {{"ce", 0}, {"ce_smooth0.1", 0.1f}};

START_TEST(test_cross_entropy_equals_keras)
{
    sv_safetensors *file = golden_open("ops");
    char name[64];
    float *logits = golden_floats(file, "ce.logits", NULL), loss, dlogits[ROWS * CLASSES];
    int32_t *labels = golden_labels(file, "ce.labels", NULL);
    snprintf(name, sizeof name, "%s.mean", LOSSES[_i].prefix);
    float *mean = golden_floats(file, name, NULL);
    snprintf(name, sizeof name, "%s.dlogits", LOSSES[_i].prefix);
    float *wanted = golden_floats(file, name, NULL);
    snprintf(name, sizeof name, "%s.each", LOSSES[_i].prefix);
    float *each = golden_floats(file, name, NULL);
    ck_assert_int_eq(svit_cross_entropy(logits, labels, ROWS, CLASSES, LOSSES[_i].smoothing, &loss,
                                        dlogits, NULL),
                     SVIT_OK);
    check_relative(&loss, mean, 1, 1e-6);
    check_relative(dlogits, wanted, ROWS * CLASSES, 1e-6);
    for (size_t i = 0; i < ROWS; i++) {
        ck_assert_int_eq(svit_cross_entropy(logits + i * CLASSES, labels + i, 1, CLASSES,
                                            LOSSES[_i].smoothing, &loss, NULL, NULL),
                         SVIT_OK);
        check_relative(&loss, each + i, 1, 1e-6);
    }
    golden_free(logits);
    golden_free(labels);
    golden_free(mean);
    golden_free(wanted);
    golden_free(each);
    sv_safetensors_close(file);
}
END_TEST

START_TEST(test_softmax_equals_keras_and_sums_to_one)
{
    sv_safetensors *file = golden_open("ops");
    float *logits = golden_floats(file, "ce.logits", NULL);
    float *wanted = golden_floats(file, "softmax", NULL);
    ck_assert_int_eq(svit_softmax(logits, ROWS, CLASSES, logits, NULL), SVIT_OK);
    check_relative(logits, wanted, ROWS * CLASSES, 1e-6);
    for (size_t i = 0; i < ROWS; i++) {
        double sum = 0;
        for (size_t k = 0; k < CLASSES; k++)
            sum += logits[i * CLASSES + k];
        ck_assert_double_le(fabs(sum - 1), 1e-6);
    }
    golden_free(logits);
    golden_free(wanted);
    sv_safetensors_close(file);
}
END_TEST

START_TEST(test_top_k_equals_keras_ties_included)
{
    sv_safetensors *file = golden_open("ops");
    float *logits = golden_floats(file, "topk.logits", NULL);
    int32_t *labels = golden_labels(file, "topk.labels", NULL);
    float *top5 = golden_floats(file, "topk.top5", NULL);
    float *top1 = golden_floats(file, "topk.top1_k", NULL);
    float *argmax = golden_floats(file, "topk.top1_argmax", NULL);
    for (size_t i = 0; i < TOP_ROWS; i++) {
        const float *row = logits + i * CLASSES;
        uint64_t correct;
        svit_count_top_k(row, labels + i, 1, CLASSES, 5, &correct, NULL);
        ck_assert_uint_eq(correct, (uint64_t)top5[i]);
        svit_count_top_k(row, labels + i, 1, CLASSES, 1, &correct, NULL);
        ck_assert_uint_eq(correct, (uint64_t)top1[i]);
        svit_count_top1(row, labels + i, 1, CLASSES, &correct, NULL);
        ck_assert_uint_eq(correct, (uint64_t)argmax[i]);
    }
    golden_free(logits);
    golden_free(labels);
    golden_free(top5);
    golden_free(top1);
    golden_free(argmax);
    sv_safetensors_close(file);
}
END_TEST

/* mean_loss may be NULL: a trainer that logs nothing needs only the gradient. */
START_TEST(test_either_output_of_cross_entropy_may_be_left_out)
{
    const float logits[4] = {0, 1, 2, 4};
    const int32_t labels[2] = {0, 1};
    float loss = 7, alone = 8, dlogits[4] = {9, 9, 9, 9}, gradient[4] = {9, 9, 9, 9};
    svit_error err = {.struct_size = sizeof err};
    ck_assert_int_eq(svit_cross_entropy(logits, labels, 2, 2, 0.1f, &loss, dlogits, &err), SVIT_OK);
    ck_assert_int_eq(svit_cross_entropy(logits, labels, 2, 2, 0.1f, &alone, NULL, &err), SVIT_OK);
    ck_assert_int_eq(svit_cross_entropy(logits, labels, 2, 2, 0.1f, NULL, gradient, &err), SVIT_OK);
    ck_assert_int_eq(svit_cross_entropy(logits, labels, 2, 2, 0.1f, NULL, NULL, &err), SVIT_OK);
    ck_assert_float_eq(alone, loss);
    ck_assert_mem_eq(gradient, dlogits, sizeof gradient);
    const float bad[4] = {0, 1, 2, NAN};
    ck_assert_int_eq(svit_cross_entropy(bad, labels, 2, 2, 0, NULL, gradient, &err),
                     SVIT_E_NUMERIC);
    ck_assert_mem_eq(gradient, dlogits, sizeof gradient);
}
END_TEST

START_TEST(test_wrong_arguments_are_named_and_change_nothing)
{
    float logits[4] = {0, 1, 2, 3}, loss = 7, dlogits[4] = {9, 9, 9, 9};
    int32_t labels[2] = {0, 2};
    uint64_t correct = 5;
    svit_error err = {.struct_size = sizeof err};
    ck_assert_int_eq(svit_cross_entropy(logits, labels, 2, 2, 0, &loss, dlogits, &err),
                     SVIT_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(err.message, "labels[1] is 2; 0 to 1"));
    labels[1] = -1;
    ck_assert_int_eq(svit_count_top1(logits, labels, 2, 2, &correct, &err), SVIT_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(err.message, "labels[1] is -1"));
    labels[1] = 1;
    ck_assert_int_eq(svit_cross_entropy(NULL, labels, 2, 2, 0, &loss, dlogits, &err),
                     SVIT_E_ARGUMENT);
    ck_assert_int_eq(svit_cross_entropy(logits, NULL, 2, 2, 0, &loss, dlogits, &err),
                     SVIT_E_ARGUMENT);
    ck_assert_int_eq(svit_cross_entropy(logits, labels, 0, 2, 0, &loss, dlogits, &err),
                     SVIT_E_ARGUMENT);
    ck_assert_int_eq(svit_cross_entropy(logits, labels, 2, 0, 0, &loss, dlogits, &err),
                     SVIT_E_ARGUMENT);
    ck_assert_int_eq(svit_cross_entropy(logits, labels, 2, 2, 1, &loss, dlogits, &err),
                     SVIT_E_ARGUMENT);
    ck_assert_int_eq(svit_cross_entropy(logits, labels, 2, 2, NAN, &loss, dlogits, &err),
                     SVIT_E_ARGUMENT);
    ck_assert_int_eq(svit_count_top_k(logits, labels, 2, 2, 0, &correct, &err), SVIT_E_ARGUMENT);
    logits[3] = NAN;
    ck_assert_int_eq(svit_cross_entropy(logits, labels, 2, 2, 0, &loss, dlogits, &err),
                     SVIT_E_NUMERIC);
    ck_assert_int_eq(svit_softmax(logits, 2, 2, logits, &err), SVIT_E_NUMERIC);
    ck_assert_float_eq(loss, 7);
    ck_assert_float_eq(dlogits[0], 9);
    ck_assert_uint_eq(correct, 5);
}
END_TEST

static Suite *loss_golden_suite(void)
{
    Suite *suite = suite_create("loss goldens");
    TCase *all = tcase_create("loss");
    tcase_add_loop_test(all, test_cross_entropy_equals_keras, 0, 2);
    tcase_add_test(all, test_softmax_equals_keras_and_sums_to_one);
    tcase_add_test(all, test_top_k_equals_keras_ties_included);
    tcase_add_test(all, test_either_output_of_cross_entropy_may_be_left_out);
    tcase_add_test(all, test_wrong_arguments_are_named_and_change_nothing);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(loss_golden_suite)
