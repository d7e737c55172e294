/* Computes the loss that a run minimises, and its metrics. */
#include "losses/objective.h"

#include "losses/loss.h"

#include <shiftvit/metrics.h>

#include <math.h>

sv_batch sv_batch_part(const sv_batch *batch, const sv_objective *objective, size_t image_floats,
                       size_t first, size_t n)
{
    return (sv_batch){.images = batch->images + first * image_floats,
                      .labels = batch->labels + first,
                      .targets =
                          batch->targets ? batch->targets + first * objective->classes : NULL,
                      .n = n};
}

/* target = weight_k ((1 - s) target + s / classes), which is linear, so that the order of mixing
 * and smoothing does not matter. */
static void smooth_and_weight(const sv_objective *objective, float *targets, size_t n)
{
    const size_t classes = objective->classes;
    const float s = objective->label_smoothing, *weights = objective->class_weights;
    if (s == 0 && !weights)
        return;
    for (size_t i = 0; i < n * classes; i++)
        targets[i] =
            (weights ? weights[i % classes] : 1) * ((1 - s) * targets[i] + s / (float)classes);
}

/* Calls the objective's function. Loss and gradient are NaN before, so that what it does not write
 * is an error: here, or in svit_backward. */
static svit_status call_function(const sv_objective *objective, const sv_batch *batch,
                                 const float *logits, float *loss, float *dlogits, svit_error *err)
{
    svit_error local = {.struct_size = sizeof local};
    svit_loss_call call = {.struct_size = sizeof call,
                           .loss = NAN,
                           .n = batch->n,
                           .classes = objective->classes,
                           .logits = logits,
                           .labels = batch->targets ? NULL : batch->labels,
                           .targets = batch->targets,
                           .dlogits = dlogits};
    for (size_t i = 0; i < batch->n * objective->classes; i++)
        dlogits[i] = NAN;
    const svit_status status = objective->function(&call, objective->user, &local);
    if (status != SVIT_OK)
        return sv_fail_function(err, status, "the loss function", local.message);
    if (!isfinite(call.loss))
        return sv_fail(err, SVIT_E_NUMERIC, "the loss function gave the loss %g; it must be finite",
                       (double)call.loss);
    *loss = call.loss;
    return SVIT_OK;
}

svit_status sv_objective_loss(const sv_objective *objective, const sv_batch *batch,
                              const float *logits, float *loss, float *dlogits, svit_error *err)
{
    const size_t n = batch->n, classes = objective->classes;
    const float smoothing = objective->label_smoothing;
    if (objective->function)
        return call_function(objective, batch, logits, loss, dlogits, err);
    if (objective->loss == SVIT_LOSS_BINARY)
        return svit_binary_cross_entropy(logits, batch->targets, objective->class_weights, n,
                                         classes, smoothing, loss, dlogits, err);
    if (objective->loss == SVIT_LOSS_MSE)
        return svit_mean_squared_error(logits, batch->targets, n, classes, loss, dlogits, err);
    if (batch->targets) {
        smooth_and_weight(objective, batch->targets, n);
        return svit_cross_entropy_soft(logits, batch->targets, n, classes, loss, dlogits, err);
    }
    if (objective->class_weights)
        return svit_cross_entropy_weighted(logits, batch->labels, objective->class_weights, n,
                                           classes, smoothing, loss, dlogits, err);
    return svit_cross_entropy(logits, batch->labels, n, classes, smoothing, loss, dlogits, err);
}

bool sv_objective_weighs_labels(const sv_objective *objective, const sv_batch *batch)
{
    return objective->class_weights && !batch->targets && !objective->function;
}

double sv_objective_divisor(const sv_objective *objective, const sv_batch *batch)
{
    if (!sv_objective_weighs_labels(objective, batch))
        return (double)batch->n;
    double sum = 0;
    for (size_t i = 0; i < batch->n; i++)
        sum += objective->class_weights[batch->labels[i]];
    return sum;
}

svit_status sv_metrics_add(sv_metrics *metrics, const sv_objective *objective,
                           const sv_batch *batch, const float *logits, double loss, svit_error *err)
{
    const size_t n = batch->n, classes = objective->classes;
    uint64_t top1 = 0, top5 = 0;
    if (objective->loss == SVIT_LOSS_CROSS_ENTROPY) {
        SVIT_TRY(svit_count_top1(logits, batch->labels, n, classes, &top1, err));
        SVIT_TRY(svit_count_top_k(logits, batch->labels, n, classes, 5, &top5, err));
    } else if (objective->loss == SVIT_LOSS_BINARY) {
        SVIT_TRY(sv_loss_check_rows(logits, n, classes, err));
        top1 = top5 = sv_count_exact(logits, batch->targets, n, classes);
    }
    metrics->loss += loss * (double)n;
    metrics->top1 += top1;
    metrics->top5 += top5;
    metrics->samples += n;
    return SVIT_OK;
}

void sv_metrics_join(sv_metrics *metrics, const sv_metrics *more)
{
    metrics->loss += more->loss;
    metrics->top1 += more->top1;
    metrics->top5 += more->top5;
    metrics->samples += more->samples;
}

/* Means before the first sample are 0. */
static double fraction(uint64_t count, const sv_metrics *metrics)
{
    return metrics->samples ? (double)count / (double)metrics->samples : 0;
}

double sv_objective_top1(const sv_objective *objective, const sv_metrics *metrics)
{
    return objective->loss == SVIT_LOSS_MSE ? NAN : fraction(metrics->top1, metrics);
}

double sv_objective_top5(const sv_objective *objective, const sv_metrics *metrics)
{
    return objective->loss == SVIT_LOSS_CROSS_ENTROPY ? fraction(metrics->top5, metrics) : NAN;
}

double sv_objective_score(const sv_objective *objective, double loss, double top1)
{
    return objective->loss == SVIT_LOSS_CROSS_ENTROPY ? top1 : -loss;
}
