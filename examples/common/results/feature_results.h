/* What classifiers make of feature sets. */
#ifndef EXAMPLE_FEATURE_RESULTS_H
#define EXAMPLE_FEATURE_RESULTS_H

#include "results/evaluation.h"

/* Computes the features of one black image, which have the description of the model. */
svit_status feature_describe_model(svit_features **out, struct program *self, svit_model *model);

/* Writes the logits that the model's classifier gives to a set to *logits[count, classes]; free
 * them with free(). */
svit_status feature_logits(struct program *self, svit_model *model, const svit_features *set,
                           float **logits);

/* Replaces *set, read from `path`, by one with the classes of the model, if both have class names:
 * the classifier that the model has is trained on labels that are its own. The set may lack
 * classes. SVIT_E_FORMAT: the model lacks one. SVIT_E_ARGUMENT: the set is of another layer than
 * "features". */
svit_status feature_match_classes(struct program *self, svit_model *model, svit_features **set,
                                  const char *path);

/* Prints loss and accuracy of the model's classifier on a set that was read from `path`. Labels go
 * by class name, here and below; the set may lack classes. Features of another layer are
 * SVIT_E_ARGUMENT, here and below, and those of another model a warning. */
svit_status feature_evaluate(struct program *self, svit_model *model, const svit_features *set,
                             const char *path);

/* Prints the accuracy of k-nearest neighbours in `reference` on `queries`, read from `path`. */
svit_status feature_neighbours(struct program *self, const svit_features *reference,
                               const svit_features *queries, const char *path, size_t k,
                               double temperature);

#endif
