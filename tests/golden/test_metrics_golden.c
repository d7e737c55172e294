/* Compares the metrics with values of NumPy. */
#include "fit.h"
#include "golden.h"

#include <math.h>

static sv_safetensors *file;

static void setup(void)
{
    file = golden_open("losses");
}

static void teardown(void)
{
    sv_safetensors_close(file);
}

static double number(const char *name)
{
    float *value = golden_floats(file, name, NULL);
    double out = value[0];
    golden_free(value);
    return out;
}

static void near_golden(double value, const char *name)
{
    ck_assert_msg(fabs(value - number(name)) <= 1e-6, "%s is %.9g, not %.9g", name, value,
                  number(name));
}

START_TEST(test_confusion_matrix)
{
    float *logits = golden_floats(file, "metric.logits", NULL);
    int32_t *labels = golden_labels(file, "metric.labels", NULL);
    int32_t *wanted = golden_labels(file, "metric.confusion", NULL);
    uint64_t matrix[64] = {0};
    /* Two parts add up. */
    WORKS(svit_confusion_matrix(logits, labels, 25, 8, matrix, err));
    WORKS(svit_confusion_matrix(logits + 25 * 8, labels + 25, 35, 8, matrix, err));
    uint64_t right = 0;
    for (size_t i = 0; i < 64; i++) {
        ck_assert_uint_eq(matrix[i], (uint64_t)wanted[i]);
        right += i % 9 == 0 ? matrix[i] : 0;
    }
    near_golden((double)right / 60, "metric.top1");
    labels[3] = 8;
    FAILS(svit_confusion_matrix(logits, labels, 60, 8, matrix, err), SVIT_E_ARGUMENT,
          "labels[3] is 8; 0 to 7 are accepted");
    golden_free(wanted);
    golden_free(labels);
    golden_free(logits);
}
END_TEST

START_TEST(test_multilabel)
{
    float *logits = golden_floats(file, "multilabel.logits", NULL);
    float *targets = golden_floats(file, "multilabel.targets", NULL);
    double elements, exact, micro, macro;
    WORKS(svit_multilabel_metrics(logits, targets, 40, 5, &elements, &exact, &micro, &macro, err));
    near_golden(elements, "multilabel.element_accuracy");
    near_golden(exact, "multilabel.exact_match");
    near_golden(micro, "multilabel.micro_f1");
    near_golden(macro, "multilabel.macro_f1");
    WORKS(svit_multilabel_metrics(logits, targets, 40, 5, NULL, NULL, NULL, NULL, err));
    golden_free(targets);
    golden_free(logits);
}
END_TEST

START_TEST(test_average_precision)
{
    float *logits = golden_floats(file, "multilabel.logits", NULL);
    float *targets = golden_floats(file, "multilabel.targets", NULL);
    float *wanted = golden_floats(file, "multilabel.average_precision", NULL);
    svit_context *context = fit_context(1);
    double precision[5];
    WORKS(svit_average_precision(context, logits, targets, 40, 5, precision, err));
    for (size_t i = 0; i < 5; i++)
        ck_assert_double_eq_tol(precision[i], wanted[i], 1e-6);
    /* By hand: ranks 1, 2-3 (equal logits) and 4; present are the rows of rank 1 and one of 2-3. */
    const float few[] = {2, 1, 1, 0}, present[] = {1, 0, 1, 0}, absent[] = {0, 0, 0, 0};
    WORKS(svit_average_precision(context, few, present, 4, 1, precision, err));
    ck_assert_double_eq_tol(precision[0], (1 + 2.0 / 3) / 2, 1e-12);
    const float one[] = {0, 1, 0, 0};
    WORKS(svit_average_precision(context, few, one, 4, 1, precision, err));
    ck_assert_double_eq_tol(precision[0], 1.0 / 3, 1e-12);
    WORKS(svit_average_precision(context, few, absent, 4, 1, precision, err));
    ck_assert(isnan(precision[0]));
    logits[7] = NAN;
    FAILS(svit_average_precision(context, logits, targets, 40, 5, precision, err), SVIT_E_NUMERIC,
          "logits[7] is nan");
    targets[6] = NAN;
    FAILS(svit_average_precision(context, logits, targets, 40, 5, precision, err), SVIT_E_ARGUMENT,
          "targets[6] is nan");
    FAILS(svit_multilabel_metrics(logits, targets, 40, 5, precision, NULL, NULL, NULL, err),
          SVIT_E_ARGUMENT, "targets[6] is nan");
    svit_context_free(context);
    golden_free(wanted);
    golden_free(targets);
    golden_free(logits);
}
END_TEST

START_TEST(test_regression)
{
    float *predictions = golden_floats(file, "mse.predictions", NULL);
    float *targets = golden_floats(file, "mse.targets", NULL);
    double absolute, squares;
    WORKS(svit_regression_errors(predictions, targets, 6, 3, &absolute, &squares, err));
    near_golden(absolute, "regression.mae");
    near_golden(squares, "regression.rmse");
    targets[4] = INFINITY;
    FAILS(svit_regression_errors(predictions, targets, 6, 3, &absolute, &squares, err),
          SVIT_E_ARGUMENT, "targets[4] is inf");
    golden_free(targets);
    golden_free(predictions);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("metrics_golden");
    TCase *c = tcase_create("metrics_golden");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_confusion_matrix);
    tcase_add_test(c, test_multilabel);
    tcase_add_test(c, test_average_precision);
    tcase_add_test(c, test_regression);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
