/* What shiftvit-head says of a class that it adds. */
#ifndef EXAMPLES_ADDED_CLASS_H
#define EXAMPLES_ADDED_CLASS_H

#include "program/program.h"

/* Says on stderr what the model lacks with another class: names, and the classes of texts that it
 * had. */
void added_class_note(const svit_model *model, int had_texts);

/* Counts the samples whose largest logit is that of the last class, or among several labels those
 * whose logit of it is above 0. */
svit_status added_class_found(struct program *program, svit_model *model,
                              const svit_features *features, size_t *found);

#endif
