/* The last layer of a model's head, and the row of a class that is added to it. */
#ifndef SV_CLASSIFIER_H
#define SV_CLASSIFIER_H

#include "features/features.h"
#include "models/model.h"

enum { SV_CLASSIFIER_HEADS = 2 };

/* The classifier of a model: the mean over `heads` linear layers, each on its part of the features;
 * only distilled models have two. logit[k] = bias[k] + sum over i of weight[k, i] feature[i]. */
typedef struct sv_classifier {
    const svit_model *model;
    size_t heads, classes;
    size_t part; /* channels of the features that one of the heads reads */
    const sv_parameter *weights[SV_CLASSIFIER_HEADS], *biases[SV_CLASSIFIER_HEADS];
} sv_classifier;

/* Finds the classifier. SVIT_E_STATE: there is none. SVIT_E_UNSUPPORTED: it has hidden layers. */
svit_status sv_classifier_find(sv_classifier *out, const svit_model *model, svit_error *err);

/* SVIT_E_ARGUMENT unless the set is of the layer "features" and has `channels` channels. Logs a
 * warning if it is of another model. `what` names the set in messages. */
svit_status sv_features_check_model(const svit_features *features, const svit_model *model,
                                    size_t channels, const char *what, svit_error *err);

/* Fills max[count] and log_sum_exp[count], each of which may be NULL, from the logits of
 * values[count, heads * part], on the workers of `pool`. */
void sv_classifier_logits(const sv_classifier *self, sv_pool *pool, const float *values,
                          size_t count, double *max, double *log_sum_exp);

/* The mean length of the rows of the weights, one row for each class. */
double sv_classifier_mean_norm(const sv_classifier *self);

/* Makes the row of a new class, w[channels + 1] with the bias as its last element, from the samples
 * of the class alone. max[count] are their largest old logits; `recall` is that of
 * svit_class_config. */
svit_status sv_class_from_mean(double *w, const sv_classifier *self, const svit_features *features,
                               const double *max, double recall, svit_error *err);

/* Makes such a row by logistic regression. `offsets` are the log-sum-exp of the old logits, first
 * of the new samples and then of the old ones. */
svit_status sv_class_from_regression(double *w, size_t old_classes, const svit_features *features,
                                     const svit_features *old, const double *offsets,
                                     const svit_class_config *config, svit_error *err);

#endif
