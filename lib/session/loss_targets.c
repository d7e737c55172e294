/* Losses with targets other than one label for each row: class weights, probabilities, several
 * labels and numbers. All sums are in double. */
#include "session/loss.h"

#include <math.h>

/* Where a loss and its gradient are written. */
typedef struct loss_output {
    float *mean_loss, *gradient; /* either may be NULL */
} loss_output;

/* Writes the mean if it is finite. The gradient is written only after that. */
static svit_status finish(const loss_output *out, double mean, svit_error *err)
{
    if (!isfinite(mean))
        return sv_fail(err, SVIT_E_NUMERIC, "the loss is %g; logits must be finite", mean);
    if (out->mean_loss)
        *out->mean_loss = (float)mean;
    return SVIT_OK;
}

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

/* -sum_k t_k log p_k,  log p_k = z_k - row_max - log_sum, where the row's targets are `targets`. */
static double soft_row_loss(const float *row, const float *targets, size_t classes)
{
    double row_max, log_sum, total = 0;
    sv_row_statistics(&row_max, &log_sum, row, classes);
    for (size_t k = 0; k < classes; k++)
        if (targets[k] > 0)
            total -= (double)targets[k] * (row[k] - row_max - log_sum);
    return total;
}

/* dz_k = (p_k sum_j t_j - t_k) / n */
static void soft_row_gradient(float *gradient, const float *row, const float *targets,
                              size_t classes, double n)
{
    double row_max, log_sum, sum = 0;
    sv_row_statistics(&row_max, &log_sum, row, classes);
    for (size_t k = 0; k < classes; k++)
        sum += targets[k];
    for (size_t k = 0; k < classes; k++)
        gradient[k] = (float)((exp(row[k] - row_max - log_sum) * sum - targets[k]) / n);
}

SVIT_API svit_status svit_cross_entropy_soft(const float *logits, const float *targets, size_t n,
                                             size_t classes, float *mean_loss, float *dlogits,
                                             svit_error *err)
{
    SV_REQUIRE(logits);
    SV_REQUIRE(targets);
    SVIT_TRY(sv_loss_check_sizes(n, classes, err));
    SVIT_TRY(check_values("targets", targets, n, classes, INFINITY, err));
    loss_output out = {mean_loss, dlogits};
    double total = 0;
    for (size_t i = 0; i < n; i++)
        total += soft_row_loss(logits + i * classes, targets + i * classes, classes);
    SVIT_TRY(finish(&out, total / (double)n, err));
    for (size_t i = 0; dlogits && i < n; i++)
        soft_row_gradient(dlogits + i * classes, logits + i * classes, targets + i * classes,
                          classes, (double)n);
    return SVIT_OK;
}

/* The target of class k in a row with that label, times the weight that PyTorch gives it: the
 * weight of the label for the label, that of k for the part that smoothing spreads. */
static double weighted_target(const float *weights, int32_t label, size_t k, size_t classes,
                              double smoothing)
{
    double own = weights ? weights[k] : 1;
    return own * (smoothing / (double)classes + ((int32_t)k == label ? 1 - smoothing : 0));
}

static double weighted_row_loss(const float *row, const float *weights, int32_t label,
                                size_t classes, double smoothing)
{
    double row_max, log_sum, total = 0;
    sv_row_statistics(&row_max, &log_sum, row, classes);
    for (size_t k = 0; k < classes; k++) {
        double target = weighted_target(weights, label, k, classes, smoothing);
        if (target > 0)
            total -= target * (row[k] - row_max - log_sum);
    }
    return total;
}

/* dz_k = (p_k sum_j t_j - t_k) / sum of the rows' weights */
static void weighted_row_gradient(float *gradient, const float *row, const float *weights,
                                  int32_t label, size_t classes, double smoothing, double divisor)
{
    double row_max, log_sum, sum = 0;
    sv_row_statistics(&row_max, &log_sum, row, classes);
    for (size_t k = 0; k < classes; k++)
        sum += weighted_target(weights, label, k, classes, smoothing);
    for (size_t k = 0; k < classes; k++) {
        double target = weighted_target(weights, label, k, classes, smoothing);
        gradient[k] = (float)((exp(row[k] - row_max - log_sum) * sum - target) / divisor);
    }
}

SVIT_API svit_status svit_cross_entropy_weighted(const float *logits, const int32_t *labels,
                                                 const float *class_weights, size_t n,
                                                 size_t classes, float label_smoothing,
                                                 float *mean_loss, float *dlogits, svit_error *err)
{
    SV_REQUIRE(logits);
    SV_REQUIRE(labels);
    SVIT_TRY(sv_loss_check_sizes(n, classes, err));
    SVIT_TRY(sv_loss_check_smoothing(label_smoothing, err));
    SVIT_TRY(sv_loss_check_labels(labels, n, classes, err));
    if (class_weights)
        SVIT_TRY(check_values("class_weights", class_weights, 1, classes, INFINITY, err));
    loss_output out = {mean_loss, dlogits};
    double total = 0, divisor = 0;
    for (size_t i = 0; i < n; i++) {
        total += weighted_row_loss(logits + i * classes, class_weights, labels[i], classes,
                                   label_smoothing);
        divisor += class_weights ? class_weights[labels[i]] : 1;
    }
    if (divisor == 0)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "class_weights is 0 for the labels of all rows; one is above 0");
    SVIT_TRY(finish(&out, total / divisor, err));
    for (size_t i = 0; dlogits && i < n; i++)
        weighted_row_gradient(dlogits + i * classes, logits + i * classes, class_weights, labels[i],
                              classes, label_smoothing, divisor);
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
    SV_REQUIRE(logits);
    SV_REQUIRE(targets);
    SVIT_TRY(sv_loss_check_sizes(n, classes, err));
    SVIT_TRY(sv_loss_check_smoothing(label_smoothing, err));
    SVIT_TRY(check_values("targets", targets, n, classes, 1, err));
    if (pos_weight)
        SVIT_TRY(check_values("pos_weight", pos_weight, 1, classes, INFINITY, err));
    loss_output out = {mean_loss, dlogits};
    const double s = label_smoothing, count = (double)n * (double)classes;
    double total = 0;
    for (size_t i = 0; i < n * classes; i++) {
        double t = (1 - s) * targets[i] + s / 2, w = pos_weight ? pos_weight[i % classes] : 1;
        total -= w * t * log_sigmoid(logits[i]) + (1 - t) * log_sigmoid(-(double)logits[i]);
    }
    SVIT_TRY(finish(&out, total / count, err));
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
    SV_REQUIRE(predictions);
    SV_REQUIRE(targets);
    SVIT_TRY(sv_loss_check_sizes(n, outputs, err));
    loss_output out = {mean_loss, dpredictions};
    const double count = (double)n * (double)outputs;
    double total = 0;
    for (size_t i = 0; i < n * outputs; i++) {
        double difference = (double)predictions[i] - targets[i];
        total += difference * difference;
    }
    SVIT_TRY(finish(&out, total / count, err));
    for (size_t i = 0; dpredictions && i < n * outputs; i++)
        dpredictions[i] = (float)(2 * ((double)predictions[i] - targets[i]) / count);
    return SVIT_OK;
}
