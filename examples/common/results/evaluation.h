/* What a model computes for a data set: its logits beside what they should be. */
#ifndef EXAMPLE_EVALUATION_H
#define EXAMPLE_EVALUATION_H

#include "program/program.h"

/* How a model is evaluated. */
typedef struct evaluation_how {
    size_t batch;
    int32_t compute;       /* SVIT_COMPUTE_* */
    int32_t tta;           /* SVIT_TTA_* */
    int32_t loss;          /* SVIT_LOSS_* */
    svit_predictor *texts; /* evaluation_texts; NULL: the model's logits are measured */
} evaluation_how;

/* The names of SVIT_LOSS_*, NULL at the end. */
extern const char *const evaluation_loss_names[];

typedef struct evaluation {
    int32_t loss_kind; /* SVIT_LOSS_* */
    size_t n, classes;
    float *logits;   /* [n, classes] */
    int32_t *labels; /* [n]; -1 if the data has targets */
    float *targets;  /* [n, classes] if the data has targets or the loss needs them; else NULL */
    float loss;      /* mean over the data */
} evaluation;

/* Creates the predictor of a model whose classes are texts, which makes their logits of the model's
 * embeddings; *out stays NULL for any other model. Free it with svit_predictor_free. */
svit_status evaluation_texts(svit_predictor **out, struct program *self, svit_model *model,
                             const evaluation_how *how);

/* Evaluates `model` on `data` with the model's pipeline. Free *out with evaluation_free, also after
 * a failure. */
svit_status evaluation_run(evaluation *out, struct program *self, svit_model *model,
                           svit_dataset *data, const evaluation_how *how);

void evaluation_free(evaluation *self);

/* Returns the class with the largest logit of a sample. */
size_t evaluation_predicted(const evaluation *self, size_t sample);

#endif
