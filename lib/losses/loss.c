/* Loss and metrics on plain arrays. All sums are in double. */
#include "losses/loss.h"

#include "base/threads/fp_env.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

svit_status sv_loss_check_sizes(size_t n, size_t classes, svit_error *err)
{
    if (n < 1)
        return sv_fail(err, SVIT_E_ARGUMENT, "n is 0; at least one row is needed");
    if (classes < 1)
        return sv_fail(err, SVIT_E_ARGUMENT, "classes is 0; at least one is needed");
    if (n > SIZE_MAX / sizeof(float) / classes)
        return sv_fail(err, SVIT_E_ARGUMENT, "n is %zu and classes %zu, which no array has", n,
                       classes);
    return SVIT_OK;
}

svit_status sv_loss_check_softmax(size_t n, size_t classes, svit_error *err)
{
    SVIT_TRY(sv_loss_check_sizes(n, classes, err));
    if (classes == 1)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "classes is 1, whose cross-entropy is always 0; 2 or more are accepted, and "
                       "svit_binary_cross_entropy and svit_mean_squared_error take one output");
    return SVIT_OK;
}

svit_status sv_loss_check_labels(const int32_t *labels, size_t n, size_t classes, svit_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (labels[i] < 0 || (size_t)labels[i] >= classes)
            return sv_fail(err, SVIT_E_ARGUMENT, "labels[%zu] is %d; 0 to %zu are accepted", i,
                           (int)labels[i], classes - 1);
    return SVIT_OK;
}

bool sv_row_has_nan(const float *row, size_t classes)
{
    for (size_t k = 0; k < classes; k++)
        if (isnan(row[k]))
            return true;
    return false;
}

svit_status sv_loss_check_rows(const float *logits, size_t n, size_t classes, svit_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (sv_row_has_nan(logits + i * classes, classes))
            return sv_fail(err, SVIT_E_NUMERIC, "row %zu has a logit that is not a number", i);
    return SVIT_OK;
}

svit_status sv_loss_check_smoothing(float label_smoothing, svit_error *err)
{
    if (label_smoothing >= 0 && label_smoothing < 1)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT, "label_smoothing is %g; [0, 1) is accepted",
                   (double)label_smoothing);
}

svit_status sv_loss_write(float *out, double mean, svit_error *err)
{
    if (!(fabs(mean) <= FLT_MAX))
        return sv_fail(err, SVIT_E_NUMERIC,
                       "the loss is %g; logits and targets must be finite, and so small that the "
                       "loss fits a float",
                       mean);
    if (out)
        *out = (float)mean;
    return SVIT_OK;
}

void sv_row_statistics(double *row_max, double *log_sum, const float *row, size_t classes)
{
    double largest = row[0], sum = 0;
    for (size_t k = 1; k < classes; k++)
        if (row[k] > largest)
            largest = row[k];
    for (size_t k = 0; k < classes; k++)
        sum += exp(row[k] - largest);
    *row_max = largest;
    *log_sum = log(sum);
}

/* -sum_k t_k log p_k,  t = (1 - s) onehot + s / classes,  log p_k = z_k - row_max - log_sum. */
static double row_loss(const float *row, int32_t label, size_t classes, double smoothing)
{
    double row_max, log_sum, total = 0;
    sv_row_statistics(&row_max, &log_sum, row, classes);
    double loss = -(row[label] - row_max - log_sum);
    if (smoothing == 0)
        return loss;
    for (size_t k = 0; k < classes; k++)
        total -= row[k] - row_max - log_sum;
    return (1 - smoothing) * loss + smoothing / (double)classes * total;
}

/* dz_k = (p_k - t_k) / n,  for the mean of row_loss over n rows. */
static void row_gradient(float *dlogits, const float *row, int32_t label, size_t classes,
                         double smoothing, double n)
{
    double row_max, log_sum;
    sv_row_statistics(&row_max, &log_sum, row, classes);
    for (size_t k = 0; k < classes; k++) {
        double target = smoothing / (double)classes + (k == (size_t)label ? 1 - smoothing : 0);
        dlogits[k] = (float)((exp(row[k] - row_max - log_sum) - target) / n);
    }
}

SVIT_API svit_status svit_cross_entropy(const float *logits, const int32_t *labels, size_t n,
                                        size_t classes, float label_smoothing, float *mean_loss,
                                        float *dlogits, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(logits);
    SV_REQUIRE(labels);
    SVIT_TRY(sv_loss_check_softmax(n, classes, err));
    SVIT_TRY(sv_loss_check_smoothing(label_smoothing, err));
    SVIT_TRY(sv_loss_check_labels(labels, n, classes, err));
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        double loss = row_loss(logits + i * classes, labels[i], classes, label_smoothing);
        if (!isfinite(loss))
            return sv_fail(err, SVIT_E_NUMERIC, "the loss of row %zu is %g; logits must be finite",
                           i, loss);
        total += loss;
    }
    SVIT_TRY(sv_loss_write(mean_loss, total / (double)n, err));
    for (size_t i = 0; dlogits && i < n; i++)
        row_gradient(dlogits + i * classes, logits + i * classes, labels[i], classes,
                     label_smoothing, (double)n);
    return SVIT_OK;
}

/* Whether the softmax of a row is finite: no element is NaN, and the largest is finite. */
static bool has_softmax(const float *row, size_t classes)
{
    float largest = -INFINITY;
    for (size_t k = 0; k < classes; k++)
        largest = row[k] > largest ? row[k] : largest;
    return isfinite(largest) && !sv_row_has_nan(row, classes);
}

SVIT_API svit_status svit_softmax(const float *logits, size_t n, size_t classes,
                                  float *probabilities, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(logits);
    SV_REQUIRE(probabilities);
    SVIT_TRY(sv_loss_check_sizes(n, classes, err));
    for (size_t i = 0; i < n; i++)
        if (!has_softmax(logits + i * classes, classes))
            return sv_fail(err, SVIT_E_NUMERIC, "row %zu has no finite softmax", i);
    for (size_t i = 0; i < n; i++) {
        double row_max, log_sum;
        sv_row_statistics(&row_max, &log_sum, logits + i * classes, classes);
        for (size_t k = 0; k < classes; k++)
            probabilities[i * classes + k] =
                (float)exp(logits[i * classes + k] - row_max - log_sum);
    }
    return SVIT_OK;
}

size_t sv_largest_index(const float *row, size_t classes)
{
    size_t best = 0;
    for (size_t k = 1; k < classes; k++)
        if (row[k] > row[best])
            best = k;
    return best;
}

SVIT_API svit_status svit_count_top1(const float *logits, const int32_t *labels, size_t n,
                                     size_t classes, uint64_t *correct, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(logits);
    SV_REQUIRE(labels);
    SV_REQUIRE(correct);
    SVIT_TRY(sv_loss_check_sizes(n, classes, err));
    SVIT_TRY(sv_loss_check_labels(labels, n, classes, err));
    SVIT_TRY(sv_loss_check_rows(logits, n, classes, err));
    uint64_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += (size_t)labels[i] == sv_largest_index(logits + i * classes, classes);
    *correct = count;
    return SVIT_OK;
}

SVIT_API svit_status svit_count_top_k(const float *logits, const int32_t *labels, size_t n,
                                      size_t classes, size_t k, uint64_t *correct, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(logits);
    SV_REQUIRE(labels);
    SV_REQUIRE(correct);
    SVIT_TRY(sv_loss_check_sizes(n, classes, err));
    SVIT_TRY(sv_loss_check_labels(labels, n, classes, err));
    if (k < 1)
        return sv_fail(err, SVIT_E_ARGUMENT, "k is 0; at least 1 is accepted");
    SVIT_TRY(sv_loss_check_rows(logits, n, classes, err));
    uint64_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const float *row = logits + i * classes;
        size_t greater = 0;
        for (size_t j = 0; j < classes; j++)
            greater += row[j] > row[labels[i]];
        count += greater < k;
    }
    *correct = count;
    return SVIT_OK;
}
