/* Checks that losses and metrics read and write within their arrays, which lie beside pages that
 * must not be touched, and that what they compute there is the same at both places. */
#include "fit.h"
#include "guard.h"

enum { N = 5, CLASSES = 3, ELEMENTS = N * CLASSES };

static const float LOGITS[ELEMENTS] = {1, -2, 3, 0.5f, 0.25f, -1, 2, 2, 2, -3, 4, 1, 0, 0, 1},
                   TARGETS[ELEMENTS] = {1, 0, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 1},
                   WEIGHTS[CLASSES] = {1, 2, 0.5f};
static const int32_t LABELS[N] = {2, 0, 1, 1, 2};

static svit_context *context;

/* The arrays of a call, and room for what it writes. */
typedef struct arrays {
    const float *logits, *targets, *weights;
    const int32_t *labels;
    void *out; /* as many bytes as the call writes */
    size_t n, classes;
} arrays;

typedef svit_status call(const arrays *a, double *number, svit_error *err);

static svit_status cross_entropy(const arrays *a, double *number, svit_error *err)
{
    float loss = 0;
    const svit_status status =
        svit_cross_entropy(a->logits, a->labels, a->n, a->classes, 0.1f, &loss, a->out, err);
    *number = loss;
    return status;
}

static svit_status cross_entropy_soft(const arrays *a, double *number, svit_error *err)
{
    float loss = 0;
    const svit_status status =
        svit_cross_entropy_soft(a->logits, a->targets, a->n, a->classes, &loss, a->out, err);
    *number = loss;
    return status;
}

static svit_status cross_entropy_weighted(const arrays *a, double *number, svit_error *err)
{
    float loss = 0;
    const svit_status status = svit_cross_entropy_weighted(a->logits, a->labels, a->weights, a->n,
                                                           a->classes, 0.1f, &loss, a->out, err);
    *number = loss;
    return status;
}

static svit_status binary_cross_entropy(const arrays *a, double *number, svit_error *err)
{
    float loss = 0;
    const svit_status status = svit_binary_cross_entropy(a->logits, a->targets, a->weights, a->n,
                                                         a->classes, 0.1f, &loss, a->out, err);
    *number = loss;
    return status;
}

static svit_status mean_squared_error(const arrays *a, double *number, svit_error *err)
{
    float loss = 0;
    const svit_status status =
        svit_mean_squared_error(a->logits, a->targets, a->n, a->classes, &loss, a->out, err);
    *number = loss;
    return status;
}

static svit_status softmax(const arrays *a, double *number, svit_error *err)
{
    *number = 0;
    return svit_softmax(a->logits, a->n, a->classes, a->out, err);
}

static svit_status sigmoid(const arrays *a, double *number, svit_error *err)
{
    *number = 0;
    return svit_sigmoid(a->logits, a->n, a->classes, a->out, err);
}

static svit_status count_top1(const arrays *a, double *number, svit_error *err)
{
    *number = 0;
    return svit_count_top1(a->logits, a->labels, a->n, a->classes, a->out, err);
}

static svit_status count_top_2(const arrays *a, double *number, svit_error *err)
{
    *number = 0;
    return svit_count_top_k(a->logits, a->labels, a->n, a->classes, 2, a->out, err);
}

static svit_status confusion_matrix(const arrays *a, double *number, svit_error *err)
{
    *number = 0;
    return svit_confusion_matrix(a->logits, a->labels, a->n, a->classes, a->out, err);
}

static svit_status average_precision(const arrays *a, double *number, svit_error *err)
{
    *number = 0;
    return svit_average_precision(context, a->logits, a->targets, a->n, a->classes, a->out, err);
}

static svit_status multilabel_metrics(const arrays *a, double *number, svit_error *err)
{
    double *four = a->out;
    *number = 0;
    return svit_multilabel_metrics(a->logits, a->targets, a->n, a->classes, four, four + 1,
                                   four + 2, four + 3, err);
}

static svit_status regression_errors(const arrays *a, double *number, svit_error *err)
{
    double *two = a->out;
    *number = 0;
    return svit_regression_errors(a->logits, a->targets, a->n, a->classes, two, two + 1, err);
}

static const struct {
    call *call;
    size_t bytes; /* that it writes to `out` */
} CALLS[] = {
    {cross_entropy, ELEMENTS * sizeof(float)},
    {cross_entropy_soft, ELEMENTS * sizeof(float)},
    {cross_entropy_weighted, ELEMENTS * sizeof(float)},
    {binary_cross_entropy, ELEMENTS * sizeof(float)},
    {mean_squared_error, ELEMENTS * sizeof(float)},
    {softmax, ELEMENTS * sizeof(float)},
    {sigmoid, ELEMENTS * sizeof(float)},
    {count_top1, sizeof(uint64_t)},
    {count_top_2, sizeof(uint64_t)},
    {confusion_matrix, CLASSES *CLASSES * sizeof(uint64_t)},
    {average_precision, CLASSES * sizeof(double)},
    {multilabel_metrics, 4 * sizeof(double)},
    {regression_errors, 2 * sizeof(double)},
};

START_TEST(test_losses_and_metrics_stay_within_their_arrays)
{
    double numbers[2];
    /* The confusion matrix is added to. */
    static const uint64_t zeros[CLASSES * CLASSES];
    void *outs[2];
    context = fit_context(1);
    for (int at_start = 0; at_start < 2; at_start++) {
        const arrays a = {guard_copy(LOGITS, sizeof LOGITS, at_start),
                          guard_copy(TARGETS, sizeof TARGETS, at_start),
                          guard_copy(WEIGHTS, sizeof WEIGHTS, at_start),
                          guard_copy(LABELS, sizeof LABELS, at_start),
                          outs[at_start] =
                              guard_copy(CALLS[_i].call == confusion_matrix ? zeros : NULL,
                                         CALLS[_i].bytes, at_start),
                          N,
                          CLASSES};
        WORKS(CALLS[_i].call(&a, &numbers[at_start], err));
    }
    ck_assert_double_eq(numbers[0], numbers[1]);
    ck_assert_mem_eq(outs[0], outs[1], CALLS[_i].bytes);
    for (size_t i = 0; i < CALLS[_i].bytes; i += 4) /* each is written */
        ck_assert_mem_ne((char *)outs[0] + i, "\xff\xff\xff\xff", 4);
    svit_context_free(context);
}
END_TEST

/* Each output may be left out; the others are then the same. */
START_TEST(test_outputs_may_be_left_out)
{
    double absolute = 0, square = 0, one = 0, four[4], alone;
    float loss = 0, again = 0;
    WORKS(svit_regression_errors(LOGITS, TARGETS, N, CLASSES, &absolute, &square, err));
    WORKS(svit_regression_errors(LOGITS, TARGETS, N, CLASSES, &one, NULL, err));
    ck_assert_double_eq(one, absolute);
    WORKS(svit_regression_errors(LOGITS, TARGETS, N, CLASSES, NULL, &one, err));
    ck_assert_double_eq(one, square);
    WORKS(svit_multilabel_metrics(LOGITS, TARGETS, N, CLASSES, four, four + 1, four + 2, four + 3,
                                  err));
    for (int k = 0; k < 4; k++) {
        alone = -1;
        WORKS(svit_multilabel_metrics(LOGITS, TARGETS, N, CLASSES, k == 0 ? &alone : NULL,
                                      k == 1 ? &alone : NULL, k == 2 ? &alone : NULL,
                                      k == 3 ? &alone : NULL, err));
        ck_assert_double_eq(alone, four[k]);
    }
    WORKS(svit_cross_entropy_weighted(LOGITS, LABELS, WEIGHTS, N, CLASSES, 0.1f, &loss, NULL, err));
    WORKS(svit_cross_entropy_weighted(LOGITS, LABELS, NULL, N, CLASSES, 0.1f, &again, NULL, err));
    ck_assert_float_ne(loss, again);
    WORKS(svit_cross_entropy(LOGITS, LABELS, N, CLASSES, 0.1f, &loss, NULL, err));
    ck_assert_float_eq_tol(loss, again, 1e-6f);
}
END_TEST

/* Without rows or classes there is nothing to compute, and the message says which are missing. */
START_TEST(test_sizes_of_0_are_named)
{
    char out[ELEMENTS * sizeof(double)];
    double number;
    context = fit_context(1);
    arrays a = {LOGITS, TARGETS, WEIGHTS, LABELS, out, 0, CLASSES};
    FAILS(CALLS[_i].call(&a, &number, err), SVIT_E_ARGUMENT, "n is 0; at least one row is needed");
    a.n = N, a.classes = 0;
    FAILS(CALLS[_i].call(&a, &number, err), SVIT_E_ARGUMENT,
          "classes is 0; at least one is needed");
    svit_context_free(context);
}
END_TEST

/* Sizes whose product wraps, as a signed size of another language becomes one. */
START_TEST(test_sizes_of_no_array_are_named)
{
    static const size_t sizes[][2] = {{SIZE_MAX, CLASSES},
                                      {N, SIZE_MAX},
                                      {SIZE_MAX / 4 + 1, 1},
                                      {SIZE_MAX / 2 + 1, 2},
                                      {SIZE_MAX / 4 + 1, 4}};
    float out[ELEMENTS] = {0};
    double number;
    context = fit_context(1);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const arrays a = {.logits = LOGITS,
                          .targets = TARGETS,
                          .weights = WEIGHTS,
                          .labels = LABELS,
                          .out = out,
                          .n = sizes[i][0],
                          .classes = sizes[i][1]};
        FAILS(CALLS[_i].call(&a, &number, err), SVIT_E_ARGUMENT, "which no array has");
    }
    svit_context_free(context);
}
END_TEST

/* Rows before the one that has no softmax keep their logits, also where both arrays are the
 * same. */
START_TEST(test_a_softmax_that_fails_changes_nothing)
{
    static const float BAD[] = {NAN, INFINITY, -INFINITY};
    context = fit_context(1);
    for (size_t i = 0; i < 3; i++) {
        float rows[ELEMENTS], before[ELEMENTS];
        memcpy(rows, LOGITS, sizeof rows);
        for (size_t k = 0; k < CLASSES; k++)
            rows[3 * CLASSES + k] = i < 2 && k > 0 ? 1 : BAD[i];
        memcpy(before, rows, sizeof rows);
        FAILS(svit_softmax(rows, N, CLASSES, rows, err), SVIT_E_NUMERIC, "row 3 has no");
        ck_assert_mem_eq(rows, before, sizeof rows);
    }
    svit_context_free(context);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("loss_bounds");
    TCase *c = tcase_create("loss_bounds");
    tcase_add_loop_test(c, test_losses_and_metrics_stay_within_their_arrays, 0,
                        sizeof CALLS / sizeof *CALLS);
    tcase_add_loop_test(c, test_sizes_of_0_are_named, 0, sizeof CALLS / sizeof *CALLS);
    tcase_add_loop_test(c, test_sizes_of_no_array_are_named, 0, sizeof CALLS / sizeof *CALLS);
    tcase_add_test(c, test_outputs_may_be_left_out);
    tcase_add_test(c, test_a_softmax_that_fails_changes_nothing);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
