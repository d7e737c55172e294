/* What the files of the losses share. */
#ifndef SV_LOSS_H
#define SV_LOSS_H

#include "base/status.h"

#include <shiftvit/loss.h>

#include <stdbool.h>

/* SVIT_E_ARGUMENT if there are no rows or no classes. */
svit_status sv_loss_check_sizes(size_t n, size_t classes, svit_error *err);

/* The same for a cross-entropy, which needs two classes: the softmax of one is always 1. */
svit_status sv_loss_check_softmax(size_t n, size_t classes, svit_error *err);

/* SVIT_E_ARGUMENT if one of labels[n] is not in 0..classes-1. */
svit_status sv_loss_check_labels(const int32_t *labels, size_t n, size_t classes, svit_error *err);

/* Whether an element of a row is NaN, which is neither larger nor smaller than the others. */
bool sv_row_has_nan(const float *row, size_t classes);

/* SVIT_E_NUMERIC names the first row of logits[n, classes] with a NaN. */
svit_status sv_loss_check_rows(const float *logits, size_t n, size_t classes, svit_error *err);

/* SVIT_E_ARGUMENT unless the value is in [0, 1). */
svit_status sv_loss_check_smoothing(float label_smoothing, svit_error *err);

/* Writes a mean loss to *out, which may be NULL. SVIT_E_NUMERIC, with *out unchanged, if it is not
 * a finite float. */
svit_status sv_loss_write(float *out, double mean, svit_error *err);

/* row_max = max_k z_k,  log_sum = log sum_k exp(z_k - row_max),  of one row of logits z. */
void sv_row_statistics(double *row_max, double *log_sum, const float *row, size_t classes);

/* The index of the largest element of a row, the first one if several are equal. */
size_t sv_largest_index(const float *row, size_t classes);

/* The rows of logits[n, classes] in which every label is right: a logit is above 0 where, and only
 * where, the target is above one half. */
size_t sv_count_exact(const float *logits, const float *targets, size_t n, size_t classes);

#endif
