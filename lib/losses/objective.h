/* What a run minimises and measures: the loss, on labels or on rows of targets. */
#ifndef SV_OBJECTIVE_H
#define SV_OBJECTIVE_H

#include <shiftvit/loss.h>

#include <stdbool.h>

/* Sums over samples; means are these divided by `samples`. */
typedef struct sv_metrics {
    double loss; /* sum of the samples' losses */
    uint64_t top1, top5, samples;
} sv_metrics;

typedef struct sv_objective {
    int32_t loss; /* SVIT_LOSS_* */
    float label_smoothing;
    float *class_weights; /* [classes] or NULL for 1 each */
    size_t classes;
    svit_loss_function function; /* computes the loss instead; NULL: `loss` says which it is */
    void *user;
    const struct svit_model_config *masked; /* of a model that reconstructs images; NULL: none */
} sv_objective;

/* The samples of a batch: images, and labels[n] or targets[n, classes]. */
typedef struct sv_batch {
    float *images;
    int32_t *labels; /* with targets: the class of the largest one */
    float *targets;  /* NULL: the labels count */
    size_t n;
} sv_batch;

/* Samples first..first+n-1 of a batch whose images have `image_floats` elements. */
sv_batch sv_batch_part(const sv_batch *batch, const sv_objective *objective, size_t image_floats,
                       size_t first, size_t n);

/* Computes the mean loss of the batch's logits[n, classes], and its gradient if dlogits is not
 * NULL. It may smooth and weight the targets in place, so it is called only once for the targets of
 * a batch. */
svit_status sv_objective_loss(const sv_objective *objective, const sv_batch *batch,
                              const float *logits, float *loss, float *dlogits, svit_error *err);

/* Whether the divisor of a batch's mean loss depends on its labels. */
bool sv_objective_weighs_labels(const sv_objective *objective, const sv_batch *batch);

/* The divisor of the mean loss: the number of samples, or the sum of their labels' weights. The
 * mean loss of a batch is that of its parts, weighted by their divisors. */
double sv_objective_divisor(const sv_objective *objective, const sv_batch *batch);

/* Adds a batch with the mean loss `loss` to *metrics. top1 counts the rows whose largest logit is
 * that of the label; with SVIT_LOSS_BINARY the rows in which every label is right. */
svit_status sv_metrics_add(sv_metrics *metrics, const sv_objective *objective,
                           const sv_batch *batch, const float *logits, double loss,
                           svit_error *err);

/* *metrics += *more. */
void sv_metrics_join(sv_metrics *metrics, const sv_metrics *more);

/* The fractions top1 and top5 of a history row; NaN where the loss has no such measure. */
double sv_objective_top1(const sv_objective *objective, const sv_metrics *metrics);
double sv_objective_top5(const sv_objective *objective, const sv_metrics *metrics);

/* The score by which the best epoch is chosen: top-1 with SVIT_LOSS_CROSS_ENTROPY, else -loss. */
double sv_objective_score(const sv_objective *objective, double loss, double top1);

#endif
