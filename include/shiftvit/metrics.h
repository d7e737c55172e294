/* Metrics on plain arrays: what a model gets right and wrong, by class, by label and by number. */
#ifndef SHIFTVIT_METRICS_H
#define SHIFTVIT_METRICS_H

#include <shiftvit/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Adds n rows of logits[n, classes] with labels[n] to matrix[classes, classes], which the caller
 * sets to zero first: element (i, j) counts rows of label i whose largest logit is that of class j.
 * Among equal logits the first counts. SVIT_E_ARGUMENT names a label that is out of range, or says
 * that n is 0. SVIT_E_NUMERIC names a row with a NaN; the matrix is then unchanged. Any thread may
 * call it. */
SVIT_API svit_status svit_confusion_matrix(const float *logits, const int32_t *labels, size_t n,
                                           size_t classes, uint64_t *matrix, svit_error *err);

/* Measures multi-label predictions logits[n, classes]: a label is predicted if its logit is above
 * 0, and it is present if its element of targets[n, classes] is above 0.5. Writes fractions in
 * 0..1, of which each may be NULL: *element_accuracy of all elements, *exact_match of rows in which
 * all elements are right, *micro_f1 2 TP / (2 TP + FP + FN) over all elements, and *macro_f1 the
 * mean over classes of this value in each class; it is 0 for a class that is neither present nor
 * predicted. SVIT_E_ARGUMENT: n or classes is 0, or a target is not finite. SVIT_E_NUMERIC names a
 * row whose logits have a NaN. Any thread may call it. */
SVIT_API svit_status svit_multilabel_metrics(const float *logits, const float *targets, size_t n,
                                             size_t classes, double *element_accuracy,
                                             double *exact_match, double *micro_f1,
                                             double *macro_f1, svit_error *err);

/* Writes the average precision of each class to average_precision[classes]: the mean over the rows
 * in which the label is present (targets[n, classes] above 0.5) of the precision among the rows
 * whose logit is at least as large. It is NaN for a class that is never present. SVIT_E_ARGUMENT: n
 * or classes is 0, or a target is not finite. SVIT_E_NUMERIC names a logit that is not finite. Any
 * thread may call it. */
SVIT_API svit_status svit_average_precision(svit_context *context, const float *logits,
                                            const float *targets, size_t n, size_t classes,
                                            double *average_precision, svit_error *err);

/* Finds the threshold for svit_model_set_threshold: just below the largest probability that at
 * least the fraction `accepted`, in (0, 1], of n rows of logits[n, classes] reach with their
 * largest softmax probability. It lies between that and the next smaller one, relatively at most
 * 1e-5 below, so that the rounding of that row alone does not decide. The rows are those of images
 * of known classes that were not trained on, as svit_evaluate_logits computes them.
 * SVIT_E_ARGUMENT: n or classes is 0, or `accepted` is out of range. SVIT_E_NUMERIC names a logit
 * that is not finite. Any thread may call it. */
SVIT_API svit_status svit_choose_threshold(svit_context *context, const float *logits, size_t n,
                                           size_t classes, double accepted, double *threshold,
                                           svit_error *err);

/* Writes the mean of |prediction - target| over all elements of predictions[n, outputs] and
 * targets[n, outputs] to *mean_absolute, and the root of the mean of (prediction - target)^2 to
 * *root_mean_square; either may be NULL. SVIT_E_ARGUMENT: n or outputs is 0, or a target is not
 * finite. Any thread may call it. */
SVIT_API svit_status svit_regression_errors(const float *predictions, const float *targets,
                                            size_t n, size_t outputs, double *mean_absolute,
                                            double *root_mean_square, svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
