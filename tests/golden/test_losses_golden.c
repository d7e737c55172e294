/* Compares the losses with class weights, soft targets, several labels and numbers with PyTorch. */
#include "fit.h"
#include "golden.h"

#include <math.h>

enum { MAX = 64 };

static sv_safetensors *file;

static void setup(void)
{
    file = golden_open("losses");
}

static void teardown(void)
{
    sv_safetensors_close(file);
}

static float *tensor(const char *name)
{
    return golden_floats(file, name, NULL);
}

/* The loss and its gradient, relative to the largest element. */
static void check(const char *name, float loss, const float *gradient)
{
    char text[64];
    size_t elements;
    snprintf(text, sizeof text, "%s.value", name);
    float *value = tensor(text);
    snprintf(text, sizeof text, "%s.dlogits", name);
    float *wanted = golden_floats(file, text, &elements);
    ck_assert_msg(fabs((double)loss - value[0]) <= 2e-6 * fabs((double)value[0]),
                  "%s is %.9g, not %.9g", name, (double)loss, (double)value[0]);
    double off = golden_difference(gradient, wanted, elements);
    ck_assert_msg(off <= 2e-6 * golden_largest(wanted, elements), "%s: the gradient differs by %g",
                  name, off);
    golden_free(wanted);
    golden_free(value);
}

START_TEST(test_cross_entropy_of_soft_targets)
{
    float *logits = tensor("ce.logits"), *targets = tensor("ce.soft_targets");
    float loss, gradient[MAX];
    WORKS(svit_cross_entropy_soft(logits, targets, 6, 10, &loss, gradient, err));
    check("soft_ce", loss, gradient);
    WORKS(svit_cross_entropy_soft(logits, targets, 6, 10, NULL, NULL, err));
    targets[13] = -1;
    FAILS(svit_cross_entropy_soft(logits, targets, 6, 10, &loss, gradient, err), SVIT_E_ARGUMENT,
          "targets[13] is -1; a finite value from 0 is accepted");
    targets[13] = 1;
    logits[11] = NAN;
    FAILS(svit_cross_entropy_soft(logits, targets, 6, 10, &loss, gradient, err), SVIT_E_NUMERIC,
          "the loss is nan");
    golden_free(targets);
    golden_free(logits);
}
END_TEST

START_TEST(test_cross_entropy_with_class_weights)
{
    float *logits = tensor("ce.logits"), *weights = tensor("ce.class_weights");
    int32_t *labels = golden_labels(file, "ce.labels", NULL);
    float loss, gradient[MAX], plain, plain_gradient[MAX];
    WORKS(svit_cross_entropy_weighted(logits, labels, weights, 6, 10, 0, &loss, gradient, err));
    check("weighted_ce", loss, gradient);
    WORKS(svit_cross_entropy_weighted(logits, labels, weights, 6, 10, 0.1f, &loss, gradient, err));
    check("weighted_ce_smooth0.1", loss, gradient);
    WORKS(svit_cross_entropy_weighted(logits, labels, NULL, 6, 10, 0.1f, &loss, gradient, err));
    WORKS(svit_cross_entropy(logits, labels, 6, 10, 0.1f, &plain, plain_gradient, err));
    ck_assert_float_eq_tol(loss, plain, 1e-6f * plain);
    ck_assert_double_le(golden_difference(gradient, plain_gradient, 60), 1e-7);
    weights[3] = INFINITY;
    FAILS(svit_cross_entropy_weighted(logits, labels, weights, 6, 10, 0, &loss, gradient, err),
          SVIT_E_ARGUMENT, "class_weights[3] is inf");
    for (size_t i = 0; i < 10; i++)
        weights[i] = 0;
    FAILS(svit_cross_entropy_weighted(logits, labels, weights, 6, 10, 0, &loss, gradient, err),
          SVIT_E_ARGUMENT, "class_weights is 0 for the labels of all rows");
    labels[2] = 10;
    FAILS(svit_cross_entropy_weighted(logits, labels, NULL, 6, 10, 0, &loss, gradient, err),
          SVIT_E_ARGUMENT, "labels[2] is 10");
    golden_free(labels);
    golden_free(weights);
    golden_free(logits);
}
END_TEST

START_TEST(test_binary_cross_entropy)
{
    float *logits = tensor("bce.logits"), *targets = tensor("bce.targets");
    float *weight = tensor("bce.pos_weight"), loss, gradient[MAX];
    WORKS(svit_binary_cross_entropy(logits, targets, NULL, 6, 7, 0, &loss, gradient, err));
    check("bce", loss, gradient);
    WORKS(svit_binary_cross_entropy(logits, targets, NULL, 6, 7, 0.1f, &loss, gradient, err));
    check("bce_smooth0.1", loss, gradient);
    WORKS(svit_binary_cross_entropy(logits, targets, weight, 6, 7, 0, &loss, gradient, err));
    check("bce_pos_weight", loss, gradient);
    targets[5] = 1.5f;
    FAILS(svit_binary_cross_entropy(logits, targets, NULL, 6, 7, 0, &loss, gradient, err),
          SVIT_E_ARGUMENT, "targets[5] is 1.5; [0, 1] is accepted");
    FAILS(svit_binary_cross_entropy(logits, targets, NULL, 6, 7, 1, &loss, gradient, err),
          SVIT_E_ARGUMENT, "label_smoothing is 1");
    golden_free(weight);
    golden_free(targets);
    golden_free(logits);
}
END_TEST

START_TEST(test_mean_squared_error)
{
    float *predictions = tensor("mse.predictions"), *targets = tensor("mse.targets");
    float loss, gradient[MAX];
    WORKS(svit_mean_squared_error(predictions, targets, 6, 3, &loss, gradient, err));
    check("mse", loss, gradient);
    FAILS(svit_mean_squared_error(predictions, targets, 0, 3, &loss, gradient, err),
          SVIT_E_ARGUMENT, "n is 0");
    golden_free(targets);
    golden_free(predictions);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("losses_golden");
    TCase *c = tcase_create("losses_golden");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_cross_entropy_of_soft_targets);
    tcase_add_test(c, test_cross_entropy_with_class_weights);
    tcase_add_test(c, test_binary_cross_entropy);
    tcase_add_test(c, test_mean_squared_error);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
