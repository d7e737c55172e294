/* Every loss at the limits of float32: a call succeeds with a finite loss and a finite gradient, or
 * fails and leaves both as they were. */
#include "fit.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { N = 2, CLASSES = 2, ELEMENTS = N * CLASSES };

/* Of logits and predictions, and of targets and weights. */
static const float LOGITS[] = {0,        -1.5f, 1e19f,    -1e30f,   FLT_MAX,
                               -FLT_MAX, NAN,   INFINITY, -INFINITY};
static const float TARGETS[] = {0, 1, 0.25f, 1e-38f, 1e20f, FLT_MAX};
enum {
    LOGIT_COUNT = sizeof LOGITS / sizeof *LOGITS,
    TARGET_COUNT = sizeof TARGETS / sizeof *TARGETS,
    LOGIT_CASES = LOGIT_COUNT * LOGIT_COUNT * LOGIT_COUNT * LOGIT_COUNT,
    TARGET_CASES = TARGET_COUNT * TARGET_COUNT
};

typedef struct loss_case {
    float logits[ELEMENTS], targets[ELEMENTS], weights[CLASSES];
    float smoothing;
} loss_case;

typedef svit_status (*loss_function)(const loss_case *of, float *loss, float *gradient,
                                     svit_error *err);

static const int32_t LABELS[N] = {1, 0};

static svit_status hard(const loss_case *of, float *loss, float *gradient, svit_error *err)
{
    return svit_cross_entropy(of->logits, LABELS, N, CLASSES, of->smoothing, loss, gradient, err);
}

static svit_status soft(const loss_case *of, float *loss, float *gradient, svit_error *err)
{
    return svit_cross_entropy_soft(of->logits, of->targets, N, CLASSES, loss, gradient, err);
}

static svit_status weighted(const loss_case *of, float *loss, float *gradient, svit_error *err)
{
    return svit_cross_entropy_weighted(of->logits, LABELS, of->weights, N, CLASSES, of->smoothing,
                                       loss, gradient, err);
}

static svit_status binary(const loss_case *of, float *loss, float *gradient, svit_error *err)
{
    return svit_binary_cross_entropy(of->logits, of->targets, of->weights, N, CLASSES,
                                     of->smoothing, loss, gradient, err);
}

static svit_status squared(const loss_case *of, float *loss, float *gradient, svit_error *err)
{
    return svit_mean_squared_error(of->logits, of->targets, N, CLASSES, loss, gradient, err);
}

static const loss_function LOSSES[] = {hard, soft, weighted, binary, squared};
enum { LOSS_COUNT = sizeof LOSSES / sizeof *LOSSES };

static bool is_tame(const loss_case *of)
{
    for (size_t i = 0; i < ELEMENTS; i++)
        if (!(fabsf(of->logits[i]) <= 2) || of->targets[i] > 1)
            return false;
    return of->weights[0] <= 1 && of->weights[1] <= 1 && of->weights[0] + of->weights[1] >= 1;
}

/* What a call did. */
typedef struct outcome {
    svit_status status;
    float loss, gradient[ELEMENTS];
} outcome;

enum { UNTOUCHED = 77 };

static bool is_right(const outcome *got, const loss_case *of)
{
    bool finite = isfinite(got->loss), untouched = got->loss == UNTOUCHED;
    for (size_t i = 0; i < ELEMENTS; i++) {
        finite = finite && isfinite(got->gradient[i]);
        untouched = untouched && got->gradient[i] == UNTOUCHED;
    }
    if (got->status == SVIT_OK)
        return finite && !untouched;
    return untouched && !is_tame(of) &&
           (got->status == SVIT_E_NUMERIC || got->status == SVIT_E_ARGUMENT);
}

/* One assertion for a case, since there are millions. */
static void check_case(loss_function function, const loss_case *of)
{
    outcome got = {SVIT_OK, UNTOUCHED, {UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED}};
    svit_error error = {.struct_size = sizeof error};
    got.status = function(of, &got.loss, got.gradient, &error);
    if (is_right(&got, of))
        return;
    ck_abort_msg("logits %g %g %g %g, targets %g %g, weights %g %g: status %d, loss %g, gradient "
                 "%g %g %g %g",
                 (double)of->logits[0], (double)of->logits[1], (double)of->logits[2],
                 (double)of->logits[3], (double)of->targets[0], (double)of->targets[1],
                 (double)of->weights[0], (double)of->weights[1], (int)got.status, (double)got.loss,
                 (double)got.gradient[0], (double)got.gradient[1], (double)got.gradient[2],
                 (double)got.gradient[3]);
}

/* All logits with all pairs of targets. The targets of the second row repeat the first ones in the
 * other order, and so do the weights. */
START_TEST(test_a_loss_is_finite_or_refused)
{
    for (size_t l = 0; l < LOGIT_CASES; l++)
        for (size_t t = 0; t < TARGET_CASES; t++) {
            const float a = TARGETS[t % TARGET_COUNT], b = TARGETS[t / TARGET_COUNT];
            loss_case of = {.targets = {a, b, b, a}, .weights = {b, a}};
            for (size_t i = 0, rest = l; i < ELEMENTS; i++, rest /= LOGIT_COUNT)
                of.logits[i] = LOGITS[rest % LOGIT_COUNT];
            check_case(LOSSES[_i], &of);
            of.smoothing = 0.1f;
            check_case(LOSSES[_i], &of);
        }
}
END_TEST

/* The two that were reported as a success. */
START_TEST(test_a_loss_that_fits_a_double_alone_is_refused)
{
    const float logits[2] = {-FLT_MAX, FLT_MAX}, unknown[2] = {NAN, 0}, none[2] = {0, 0};
    const int32_t label = 0;
    float loss = 1, gradient[2] = {1, 1};
    FAILS(svit_cross_entropy(logits, &label, 1, 2, 0, &loss, gradient, err), SVIT_E_NUMERIC,
          "the loss is 6.80565e+38");
    FAILS(svit_cross_entropy_soft(unknown, none, 1, 2, &loss, gradient, err), SVIT_E_NUMERIC,
          "the loss is nan");
    ck_assert_float_eq(loss, 1);
    ck_assert_float_eq(gradient[0], 1);
}
END_TEST

/* The bound of the gradient counts, even where the loss is small. */
START_TEST(test_weights_that_give_too_large_gradients_are_refused)
{
    const float logits[2] = {-300, 300}, weights[2] = {1e-30f, 3e38f}, targets[2] = {0, 3e38f};
    const int32_t label = 0;
    float loss = 1, gradient[2] = {1, 1};
    FAILS(svit_cross_entropy_weighted(logits, &label, weights, 1, 2, 0.5f, &loss, gradient, err),
          SVIT_E_NUMERIC, "the targets of row 0 give gradients up to 7.5e+67");
    WORKS(svit_cross_entropy_soft(logits, targets, 1, 2, &loss, gradient, err));
    ck_assert_float_eq(loss, 0);
    ck_assert_float_eq(gradient[1], 0);
}
END_TEST

/* A NaN is neither larger nor smaller than the logit of the label, so a row with one would count as
 * right; an infinite logit has its place in the order. */
START_TEST(test_metrics_refuse_nan_and_order_infinite_logits)
{
    float logits[ELEMENTS] = {-INFINITY, 1, 0, NAN};
    static const float targets[ELEMENTS] = {0, 1, 1, 0};
    uint64_t count = 7, matrix[CLASSES * CLASSES] = {0};
    double exact = 7;
    for (size_t k = 0; k < CLASSES; k++) {
        logits[2 + k] = NAN;
        logits[3 - k] = 0;
        FAILS(svit_count_top1(logits, LABELS, N, CLASSES, &count, err), SVIT_E_NUMERIC, "row 1");
        FAILS(svit_count_top_k(logits, LABELS, N, CLASSES, 1, &count, err), SVIT_E_NUMERIC,
              "row 1");
        FAILS(svit_confusion_matrix(logits, LABELS, N, CLASSES, matrix, err), SVIT_E_NUMERIC,
              "row 1");
        FAILS(svit_multilabel_metrics(logits, targets, N, CLASSES, NULL, &exact, NULL, NULL, err),
              SVIT_E_NUMERIC, "row 1");
    }
    ck_assert_uint_eq(count, 7);
    ck_assert_double_eq(exact, 7);
    for (size_t k = 0; k < CLASSES * CLASSES; k++)
        ck_assert_uint_eq(matrix[k], 0);
    logits[2] = INFINITY;
    logits[3] = -1;
    WORKS(svit_count_top1(logits, LABELS, N, CLASSES, &count, err));
    ck_assert_uint_eq(count, 2);
    WORKS(svit_count_top_k(logits, LABELS, N, CLASSES, 1, &count, err));
    ck_assert_uint_eq(count, 2);
    WORKS(svit_confusion_matrix(logits, LABELS, N, CLASSES, matrix, err));
    ck_assert_uint_eq(matrix[0], 1);
    ck_assert_uint_eq(matrix[3], 1);
    WORKS(svit_multilabel_metrics(logits, targets, N, CLASSES, NULL, &exact, NULL, NULL, err));
    ck_assert_double_eq(exact, 1);
}
END_TEST

static Suite *loss_extremes_suite(void)
{
    Suite *suite = suite_create("loss extremes");
    TCase *all = tcase_create("loss extremes");
    tcase_add_loop_test(all, test_a_loss_is_finite_or_refused, 0, LOSS_COUNT);
    tcase_add_test(all, test_weights_that_give_too_large_gradients_are_refused);
    tcase_add_test(all, test_a_loss_that_fits_a_double_alone_is_refused);
    tcase_add_test(all, test_metrics_refuse_nan_and_order_infinite_logits);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(loss_extremes_suite)
