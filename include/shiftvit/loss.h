/* Loss and accuracy on plain arrays. The functions have no state, so any thread may call them. */
#ifndef SHIFTVIT_LOSS_H
#define SHIFTVIT_LOSS_H

#include <shiftvit/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Computes the mean cross-entropy of logits[n, classes] with labels[n] in 0..classes-1, with a
 * numerically stable log-sum-exp. With label smoothing (Szegedy et al. 2016) in [0, 1), the target
 * is label_smoothing / classes for every class plus 1 - label_smoothing for the label.
 *
 * Writes the loss to *mean_loss and its gradient to dlogits[n, classes]; either may be NULL.
 * SVIT_E_ARGUMENT names a label that is out of range. SVIT_E_NUMERIC means that the loss is not
 * finite; the outputs are then unchanged. */
SVIT_API svit_status svit_cross_entropy(const float *logits, const int32_t *labels, size_t n,
                                        size_t classes, float label_smoothing, float *mean_loss,
                                        float *dlogits, svit_error *err);

/* Writes the softmax of each row of logits[n, classes] to probabilities[n, classes]. Both may be
 * the same array. */
SVIT_API svit_status svit_softmax(const float *logits, size_t n, size_t classes,
                                  float *probabilities, svit_error *err);

/* Counts the rows of logits[n, classes] whose largest logit is that of the label. Among equal
 * logits the first counts, as in Keras' SparseCategoricalAccuracy. labels[n] are in 0..classes-1.
 * Writes the number, 0..n, to *correct. */
SVIT_API svit_status svit_count_top1(const float *logits, const int32_t *labels, size_t n,
                                     size_t classes, uint64_t *correct, svit_error *err);

/* Counts the rows of logits[n, classes] in which fewer than k logits are greater than the label's,
 * as in Keras' SparseTopKCategoricalAccuracy. k is at least 1. Writes the number, 0..n, to
 * *correct. */
SVIT_API svit_status svit_count_top_k(const float *logits, const int32_t *labels, size_t n,
                                      size_t classes, size_t k, uint64_t *correct, svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
