/* Metrics: arrays from the input give counts and fractions that are in range. */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>

static bool is_fraction(double value)
{
    return value >= 0 && value <= 1;
}

static void check_labels(const float *logits, const int32_t *labels, size_t n, size_t classes,
                         size_t k)
{
    svit_error err = FUZZ_ERROR;
    uint64_t top1 = 0, top_k = 0, sum = 0, *matrix = calloc(classes * classes + 1, sizeof *matrix);
    FUZZ_CHECK(matrix);
    const bool one = fuzz_ok(svit_count_top1(logits, labels, n, classes, &top1, &err), &err);
    const bool more = fuzz_ok(svit_count_top_k(logits, labels, n, classes, k, &top_k, &err), &err);
    FUZZ_CHECK(top1 <= n && top_k <= n);
    if (one && more)
        FUZZ_CHECK(top_k >= top1);
    if (fuzz_ok(svit_confusion_matrix(logits, labels, n, classes, matrix, &err), &err)) {
        uint64_t diagonal = 0;
        for (size_t i = 0; i < classes * classes; i++)
            sum += matrix[i];
        for (size_t i = 0; i < classes; i++)
            diagonal += matrix[i * classes + i];
        FUZZ_CHECK(sum == n);
        if (one)
            FUZZ_CHECK(diagonal == top1);
    }
    free(matrix);
}

static void check_targets(const float *logits, const float *targets, size_t n, size_t classes)
{
    svit_error err = FUZZ_ERROR;
    double values[4] = {0}, *precision = malloc((classes + 1) * sizeof *precision);
    FUZZ_CHECK(precision);
    if (fuzz_ok(svit_multilabel_metrics(logits, targets, n, classes, &values[0], &values[1],
                                        &values[2], &values[3], &err),
                &err)) {
        for (int i = 0; i < 4; i++)
            FUZZ_CHECK(is_fraction(values[i]));
        FUZZ_CHECK(values[1] <= values[0]);
    }
    if (fuzz_ok(
            svit_average_precision(fuzz_context(), logits, targets, n, classes, precision, &err),
            &err))
        for (size_t i = 0; i < classes; i++)
            FUZZ_CHECK(isnan(precision[i]) || is_fraction(precision[i]));
    if (fuzz_ok(svit_regression_errors(logits, targets, n, classes, &values[0], &values[1], &err),
                &err))
        FUZZ_CHECK(!(values[0] < 0) && !(values[1] < 0));
    free(precision);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes bytes = {data, size};
    const size_t n = fuzz_range(&bytes, 0, 9), classes = fuzz_range(&bytes, 0, 9);
    const size_t k = fuzz_range(&bytes, 0, 11);
    const bool wild = fuzz_take(&bytes, 1) % 8 == 0;
    int32_t labels[9];
    for (size_t i = 0; i < n; i++)
        labels[i] = wild || classes == 0 ? (int32_t)fuzz_take(&bytes, 4)
                                         : (int32_t)fuzz_range(&bytes, 0, (uint32_t)classes - 1);
    float *logits = fuzz_floats(&bytes, n * classes), *targets = fuzz_floats(&bytes, n * classes);
    check_labels(logits, labels, n, classes, k);
    check_targets(logits, targets, n, classes);
    free(targets);
    free(logits);
    return fuzz_end();
}
