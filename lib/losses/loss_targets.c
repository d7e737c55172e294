/* Losses with targets other than one label for each row: class weights, probabilities, several
 * labels and numbers. All sums are in double. */
#include "base/threads/fp_env.h"
#include "losses/loss.h"

#include <float.h>
#include <math.h>

/* Checks values[n, columns], each in 0..max. */
static svit_status check_values(const char *name, const float *values, size_t n, size_t columns,
                                double max, svit_error *err)
{
    for (size_t i = 0; i < n * columns; i++)
        if (!(values[i] >= 0 && values[i] <= max && isfinite(values[i])))
            return sv_fail(err, SVIT_E_ARGUMENT, "%s[%zu] is %g; %s is accepted", name, i,
                           (double)values[i], max < INFINITY ? "[0, 1]" : "a finite value from 0");
    return SVIT_OK;
}

/* The targets t_k >= 0 of a row: probabilities, or a label. */
typedef struct row_targets {
    const float *values;  /* [classes]: t_k itself; NULL: a label */
    const float *weights; /* [classes] of a label's t_k; NULL: 1 */
    int32_t label;
    double smoothing;
    size_t classes;
} row_targets;

/* With a label t_k = w_k ((1 - s) [k = label] + s / classes), as in PyTorch: class weights multiply
 * also what smoothing spreads over the classes. */
static double target_of(const row_targets *targets, size_t k)
{
    if (targets->values)
        return targets->values[k];
    double own = targets->weights ? targets->weights[k] : 1, s = targets->smoothing;
    return own * (s / (double)targets->classes + (k == (size_t)targets->label ? 1 - s : 0));
}

static double target_sum(const row_targets *targets)
{
    double sum = 0;
    for (size_t k = 0; k < targets->classes; k++)
        sum += target_of(targets, k);
    return sum;
}

/* -sum_k t_k log p_k,  log p_k = z_k - row_max - log_sum. NaN if a logit is, even where all targets
 * are 0. */
static double row_loss(const float *row, const row_targets *targets)
{
    double row_max, log_sum, total = 0;
    sv_row_statistics(&row_max, &log_sum, row, targets->classes);
    if (!isfinite(row_max + log_sum))
        return NAN;
    for (size_t k = 0; k < targets->classes; k++) {
        double target = target_of(targets, k);
        if (target > 0)
            total -= target * (row[k] - row_max - log_sum);
    }
    return total;
}

/* dz_k = (p_k sum_j t_j - t_k) / divisor */
static void row_gradient(float *gradient, const float *row, const row_targets *targets,
                         double divisor)
{
    double row_max, log_sum, sum = target_sum(targets);
    sv_row_statistics(&row_max, &log_sum, row, targets->classes);
    for (size_t k = 0; k < targets->classes; k++)
        gradient[k] =
            (float)((exp(row[k] - row_max - log_sum) * sum - target_of(targets, k)) / divisor);
}

/* An element of the gradient is at most sum_j t_j / divisor. */
static svit_status check_gradient(const row_targets *targets, size_t i, double divisor,
                                  svit_error *err)
{
    double bound = target_sum(targets) / divisor;
    if (bound <= FLT_MAX)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_NUMERIC,
                   "the targets of row %zu give gradients up to %g; smaller ones, which fit a "
                   "float, are accepted",
                   i, bound);
}

SVIT_API svit_status svit_cross_entropy_soft(const float *logits, const float *targets, size_t n,
                                             size_t classes, float *mean_loss, float *dlogits,
                                             svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(logits);
    SV_REQUIRE(targets);
    SVIT_TRY(sv_loss_check_softmax(n, classes, err));
    SVIT_TRY(check_values("targets", targets, n, classes, INFINITY, err));
    row_targets row = {.values = targets, .classes = classes};
    double total = 0;
    for (size_t i = 0; i < n; i++, row.values += classes) {
        total += row_loss(logits + i * classes, &row);
        SVIT_TRY(check_gradient(&row, i, (double)n, err));
    }
    SVIT_TRY(sv_loss_write(mean_loss, total / (double)n, err));
    row.values = targets;
    for (size_t i = 0; dlogits && i < n; i++, row.values += classes)
        row_gradient(dlogits + i * classes, logits + i * classes, &row, (double)n);
    return SVIT_OK;
}

SVIT_API svit_status svit_cross_entropy_weighted(const float *logits, const int32_t *labels,
                                                 const float *class_weights, size_t n,
                                                 size_t classes, float label_smoothing,
                                                 float *mean_loss, float *dlogits, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(logits);
    SV_REQUIRE(labels);
    SVIT_TRY(sv_loss_check_softmax(n, classes, err));
    SVIT_TRY(sv_loss_check_smoothing(label_smoothing, err));
    SVIT_TRY(sv_loss_check_labels(labels, n, classes, err));
    if (class_weights)
        SVIT_TRY(check_values("class_weights", class_weights, 1, classes, INFINITY, err));
    row_targets row = {.weights = class_weights, .smoothing = label_smoothing, .classes = classes};
    double total = 0, divisor = 0;
    for (size_t i = 0; i < n; i++)
        divisor += class_weights ? class_weights[labels[i]] : 1;
    if (divisor == 0)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "class_weights is 0 for the labels of all rows; one is above 0");
    for (size_t i = 0; i < n; i++) {
        row.label = labels[i];
        total += row_loss(logits + i * classes, &row);
        SVIT_TRY(check_gradient(&row, i, divisor, err));
    }
    SVIT_TRY(sv_loss_write(mean_loss, total / divisor, err));
    for (size_t i = 0; dlogits && i < n; i++) {
        row.label = labels[i];
        row_gradient(dlogits + i * classes, logits + i * classes, &row, divisor);
    }
    return SVIT_OK;
}

/* log sigmoid(z), also where exp(-z) overflows. */
static double log_sigmoid(double z)
{
    return (z < 0 ? z : 0) - log1p(exp(-fabs(z)));
}

static double sigmoid(double z)
{
    return z < 0 ? exp(z) / (1 + exp(z)) : 1 / (1 + exp(-z));
}

SVIT_API svit_status svit_sigmoid(const float *logits, size_t n, size_t classes,
                                  float *probabilities, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(logits);
    SV_REQUIRE(probabilities);
    SVIT_TRY(sv_loss_check_sizes(n, classes, err));
    for (size_t i = 0; i < n * classes; i++)
        if (isnan(logits[i]))
            return sv_fail(err, SVIT_E_NUMERIC, "logits[%zu] is not a number", i);
    for (size_t i = 0; i < n * classes; i++)
        probabilities[i] = (float)sigmoid(logits[i]);
    return SVIT_OK;
}

SVIT_API svit_status svit_binary_cross_entropy(const float *logits, const float *targets,
                                               const float *pos_weight, size_t n, size_t classes,
                                               float label_smoothing, float *mean_loss,
                                               float *dlogits, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(logits);
    SV_REQUIRE(targets);
    SVIT_TRY(sv_loss_check_sizes(n, classes, err));
    SVIT_TRY(sv_loss_check_smoothing(label_smoothing, err));
    SVIT_TRY(check_values("targets", targets, n, classes, 1, err));
    if (pos_weight)
        SVIT_TRY(check_values("pos_weight", pos_weight, 1, classes, INFINITY, err));
    const double s = label_smoothing, count = (double)n * (double)classes;
    double total = 0;
    for (size_t i = 0; i < n * classes; i++) {
        double t = (1 - s) * targets[i] + s / 2, w = pos_weight ? pos_weight[i % classes] : 1;
        total -= w * t * log_sigmoid(logits[i]) + (1 - t) * log_sigmoid(-(double)logits[i]);
    }
    SVIT_TRY(sv_loss_write(mean_loss, total / count, err));
    for (size_t i = 0; dlogits && i < n * classes; i++) {
        double t = (1 - s) * targets[i] + s / 2, w = pos_weight ? pos_weight[i % classes] : 1;
        double p = sigmoid(logits[i]);
        dlogits[i] = (float)((w * t * (p - 1) + (1 - t) * p) / count);
    }
    return SVIT_OK;
}

SVIT_API svit_status svit_mean_squared_error(const float *predictions, const float *targets,
                                             size_t n, size_t outputs, float *mean_loss,
                                             float *dpredictions, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(predictions);
    SV_REQUIRE(targets);
    SVIT_TRY(sv_loss_check_sizes(n, outputs, err));
    const double count = (double)n * (double)outputs;
    double total = 0;
    for (size_t i = 0; i < n * outputs; i++) {
        double difference = (double)predictions[i] - targets[i];
        total += difference * difference;
    }
    SVIT_TRY(sv_loss_write(mean_loss, total / count, err));
    for (size_t i = 0; dpredictions && i < n * outputs; i++)
        dpredictions[i] = (float)(2 * ((double)predictions[i] - targets[i]) / count);
    return SVIT_OK;
}
