/* Classes of a model that are embeddings of texts. */
#ifndef EXAMPLE_TEXT_CLASSES_H
#define EXAMPLE_TEXT_CLASSES_H

#include "program/program.h"

/* The options --texts, --logit-scale and --logit-bias. */
typedef struct text_classes {
    const char
        *path; /* a file of features: an embedding with its label for each class; NULL: none */
    double scale, bias;
} text_classes;

/* Gives the model the classes of the file (svit_model_set_text_head). SVIT_E_ARGUMENT: an embedding
 * has no class with a name, or that of another one. */
svit_status text_classes_set(struct program *self, svit_model *model, const text_classes *classes);

#endif
