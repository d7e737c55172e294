/* Metrics on plain arrays. All sums are in double. */
#include <shiftvit/metrics.h>

#include "base/numbers/finite.h"
#include "base/threads/fp_env.h"
#include "context/context.h"
#include "losses/loss.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* True and false positives, and false negatives. */
typedef struct counts {
    double tp, fp, fn;
} counts;

SVIT_API svit_status svit_confusion_matrix(const float *logits, const int32_t *labels, size_t n,
                                           size_t classes, uint64_t *matrix, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(logits);
    SV_REQUIRE(labels);
    SV_REQUIRE(matrix);
    SVIT_TRY(sv_loss_check_sizes(n, classes, err));
    SVIT_TRY(sv_loss_check_labels(labels, n, classes, err));
    SVIT_TRY(sv_loss_check_rows(logits, n, classes, err));
    for (size_t i = 0; i < n; i++)
        matrix[(size_t)labels[i] * classes + sv_largest_index(logits + i * classes, classes)]++;
    return SVIT_OK;
}

/* `status` names the first value that is not finite. */
static svit_status check_finite(svit_status status, const char *name, const float *values,
                                size_t elements, svit_error *err)
{
    const size_t bad = sv_first_not_finite(values, elements);
    if (bad == elements)
        return SVIT_OK;
    return sv_fail(err, status, "%s[%zu] is %g; it must be finite", name, bad, (double)values[bad]);
}

static svit_status check_logits(const float *logits, size_t elements, svit_error *err)
{
    return check_finite(SVIT_E_NUMERIC, "logits", logits, elements, err);
}

static svit_status check_targets(const float *targets, size_t elements, svit_error *err)
{
    return check_finite(SVIT_E_ARGUMENT, "targets", targets, elements, err);
}

static bool is_present(float target)
{
    return target > 0.5f;
}

static bool is_predicted(float logit)
{
    return logit > 0;
}

/* The counts of one class. */
static counts count_class(const float *logits, const float *targets, size_t n, size_t classes,
                          size_t class)
{
    counts out = {0};
    for (size_t i = 0; i < n; i++) {
        bool predicted = is_predicted(logits[i * classes + class]);
        bool present = is_present(targets[i * classes + class]);
        out.tp += predicted && present;
        out.fp += predicted && !present;
        out.fn += !predicted && present;
    }
    return out;
}

static double f1(counts of)
{
    double divisor = 2 * of.tp + of.fp + of.fn;
    return divisor > 0 ? 2 * of.tp / divisor : 0;
}

size_t sv_count_exact(const float *logits, const float *targets, size_t n, size_t classes)
{
    size_t exact = 0;
    for (size_t i = 0; i < n; i++) {
        size_t right = 0;
        for (size_t k = i * classes; k < (i + 1) * classes; k++)
            right += is_predicted(logits[k]) == is_present(targets[k]);
        exact += right == classes;
    }
    return exact;
}

SVIT_API svit_status svit_multilabel_metrics(const float *logits, const float *targets, size_t n,
                                             size_t classes, double *element_accuracy,
                                             double *exact_match, double *micro_f1,
                                             double *macro_f1, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(logits);
    SV_REQUIRE(targets);
    SVIT_TRY(sv_loss_check_sizes(n, classes, err));
    SVIT_TRY(check_targets(targets, n * classes, err));
    SVIT_TRY(sv_loss_check_rows(logits, n, classes, err));
    counts all = {0};
    double f1_sum = 0;
    for (size_t k = 0; k < classes; k++) {
        counts one = count_class(logits, targets, n, classes, k);
        all.tp += one.tp;
        all.fp += one.fp;
        all.fn += one.fn;
        f1_sum += f1(one);
    }
    /* The counts are exact, so that one division rounds, as it does for exact_match. */
    const double elements = (double)n * (double)classes;
    if (element_accuracy)
        *element_accuracy = (elements - (all.fp + all.fn)) / elements;
    if (exact_match)
        *exact_match = (double)sv_count_exact(logits, targets, n, classes) / (double)n;
    if (micro_f1)
        *micro_f1 = f1(all);
    if (macro_f1)
        *macro_f1 = f1_sum / (double)classes;
    return SVIT_OK;
}

/* One row of one class. */
typedef struct ranked {
    float logit;
    int32_t present;
} ranked;

/* Orders by falling logit. */
static int compare_ranked(const void *left, const void *right)
{
    float a = ((const ranked *)left)->logit, b = ((const ranked *)right)->logit;
    return (a < b) - (a > b);
}

/* The average precision of sorted rows. Rows with equal logits count at once. */
static double precision_of_sorted(const ranked *rows, size_t n)
{
    double sum = 0, positives = 0;
    for (size_t i = 0, next; i < n; i = next) {
        double of_group = 0;
        for (next = i; next < n && rows[next].logit == rows[i].logit; next++)
            of_group += rows[next].present;
        positives += of_group;
        sum += of_group * positives / (double)next;
    }
    return positives > 0 ? sum / positives : NAN;
}

SVIT_API svit_status svit_average_precision(svit_context *context, const float *logits,
                                            const float *targets, size_t n, size_t classes,
                                            double *average_precision, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(context);
    SV_REQUIRE(logits);
    SV_REQUIRE(targets);
    SV_REQUIRE(average_precision);
    SVIT_TRY(sv_loss_check_sizes(n, classes, err));
    SVIT_TRY(check_targets(targets, n * classes, err));
    SVIT_TRY(check_logits(logits, n * classes, err));
    void *memory = NULL;
    SVIT_TRY(sv_allocate_array(&context->allocator, &memory, n, sizeof(ranked),
                               "the order of a class", err));
    ranked *rows = memory;
    for (size_t k = 0; k < classes; k++) {
        for (size_t i = 0; i < n; i++)
            rows[i] = (ranked){logits[i * classes + k], is_present(targets[i * classes + k])};
        qsort(rows, n, sizeof *rows, compare_ranked);
        average_precision[k] = precision_of_sorted(rows, n);
    }
    sv_release(&context->allocator, memory, n * sizeof(ranked));
    return SVIT_OK;
}

static int falling(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* largest[n] = the largest probability of each row. `row` has room for one. */
static svit_status largest_probabilities(float *largest, float *row, const float *logits, size_t n,
                                         size_t classes, svit_error *err)
{
    for (size_t i = 0; i < n; i++) {
        SVIT_TRY(svit_softmax(logits + i * classes, 1, classes, row, err));
        largest[i] = row[0];
        for (size_t k = 1; k < classes; k++)
            largest[i] = row[k] > largest[i] ? row[k] : largest[i];
    }
    return SVIT_OK;
}

/* Between falling[last] and the next smaller of falling[n], so that it does not hang on the
 * rounding of the former, which a batch of another size changes: at most 1e-5 below it. */
static double threshold_below(const float *falling, size_t n, size_t last)
{
    const double lowest = (double)falling[last], most = 1e-5 * lowest;
    size_t next = last;
    while (next < n && falling[next] == falling[last])
        next++;
    const double half = next < n ? (lowest - (double)falling[next]) / 2 : most;
    return lowest - (half < most ? half : most);
}

SVIT_API svit_status svit_choose_threshold(svit_context *context, const float *logits, size_t n,
                                           size_t classes, double accepted, double *threshold,
                                           svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    float *largest, *row = NULL;
    SV_REQUIRE(context);
    SV_REQUIRE(logits);
    SV_REQUIRE(threshold);
    SVIT_TRY(sv_loss_check_sizes(n, classes, err));
    if (!(accepted > 0 && accepted <= 1))
        return sv_fail(err, SVIT_E_ARGUMENT, "accepted is %g; it is above 0 and at most 1",
                       accepted);
    SVIT_TRY(check_logits(logits, n * classes, err));
    SVIT_TRY(sv_allocate_array(&context->allocator, (void **)&largest, n, sizeof *largest,
                               "the largest probabilities", err));
    svit_status status = sv_allocate_array(&context->allocator, (void **)&row, classes, sizeof *row,
                                           "the probabilities of an image", err);
    if (status == SVIT_OK)
        status = largest_probabilities(largest, row, logits, n, classes, err);
    if (status == SVIT_OK) {
        qsort(largest, n, sizeof *largest, falling);
        /* 0.07 * 100 is a little more than 7. */
        const size_t reach = (size_t)ceil(accepted * (double)n * (1 - 1e-12));
        *threshold = threshold_below(largest, n, reach < 1 ? 0 : reach > n ? n - 1 : reach - 1);
    }
    sv_release(&context->allocator, row, classes * sizeof *row);
    sv_release(&context->allocator, largest, n * sizeof *largest);
    return status;
}

SVIT_API svit_status svit_regression_errors(const float *predictions, const float *targets,
                                            size_t n, size_t outputs, double *mean_absolute,
                                            double *root_mean_square, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(predictions);
    SV_REQUIRE(targets);
    SVIT_TRY(sv_loss_check_sizes(n, outputs, err));
    SVIT_TRY(check_targets(targets, n * outputs, err));
    double absolute = 0, squares = 0, count = (double)n * (double)outputs;
    for (size_t i = 0; i < n * outputs; i++) {
        double difference = (double)predictions[i] - targets[i];
        absolute += fabs(difference);
        squares += difference * difference;
    }
    if (mean_absolute)
        *mean_absolute = absolute / count;
    if (root_mean_square)
        *root_mean_square = sqrt(squares / count);
    return SVIT_OK;
}
