/* Loss and metrics on plain arrays. Every function here may be called from any thread. */
#ifndef SHIFTVIT_LOSS_H
#define SHIFTVIT_LOSS_H

#include <shiftvit/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Mean cross-entropy of logits[n, classes] against labels[n] in 0..classes-1, by log-sum-exp with
 * the maximum taken out. Targets are 1 - label_smoothing on the label plus label_smoothing /
 * classes on every class; label_smoothing in [0, 1). `mean_loss` and `dlogits`, which receives the
 * gradient of the mean, may each be NULL. SVIT_E_ARGUMENT names a label out of range;
 * SVIT_E_NUMERIC a loss that is not finite, asked for or not: outputs are then unchanged. */
SVIT_API svit_status svit_cross_entropy(const float *logits, const int32_t *labels, size_t n,
                                        size_t classes, float label_smoothing, float *mean_loss,
                                        float *dlogits, svit_error *err);

/* probabilities[n, classes] = softmax of each row of logits[n, classes]; the two may be the same
 * array. */
SVIT_API svit_status svit_softmax(const float *logits, size_t n, size_t classes,
                                  float *probabilities, svit_error *err);

/* How many of n rows have their label as the largest logit, the first of equal ones: Keras'
 * SparseCategoricalAccuracy. */
SVIT_API svit_status svit_count_top1(const float *logits, const int32_t *labels, size_t n,
                                     size_t classes, uint64_t *correct, svit_error *err);

/* How many of n rows have fewer than k logits strictly greater than their label's: Keras'
 * SparseTopKCategoricalAccuracy. k is at least 1. */
SVIT_API svit_status svit_count_top_k(const float *logits, const int32_t *labels, size_t n,
                                      size_t classes, size_t k, uint64_t *correct, svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
