/* Runs a model of the library on the parameters, images and logit gradients of a plain model.
 */
#ifndef LIBRARY_MODEL_H
#define LIBRARY_MODEL_H

#include "plain_model.h"

#include <stdint.h>

/* How the library computes. */
typedef struct library_options {
    const char *isa;  /* the best instruction set that may be used; NULL: the CPU's best */
    const char *gemm; /* the backend; NULL: the library chooses */
    uint32_t threads;
    uint32_t max_batch;            /* of the session; at least the images of the model */
    int32_t mode, compute, memory; /* SVIT_MODE_*, SVIT_COMPUTE_*, SVIT_MEMORY_* */
    int32_t input_gradient;        /* 1: the gradient of the images is computed too */
} library_options;

enum { LIBRARY_MAX_ISAS = 8 };

/* Lists the instruction sets of the CPU in ascending order; the best one is NULL. Returns their
 * number. */
size_t library_isas(const char *isas[LIBRARY_MAX_ISAS]);

/* Whether the library has a backend of that name for this CPU. */
int library_has_gemm(const char *gemm);

/* Whether the library accepts the configuration. */
int library_accepts(const svit_model_config *config);

/* logits[images, classes] and, in SVIT_MODE_TRAIN, the gradients of the model's tensors, one after
 * another, each as model files have it, and behind them that of the images, if it is computed.
 * Fails the test on any error, and if the model's tensors are not the library's. */
void library_run(const plain_model *model, const library_options *options, float *logits,
                 float *gradients);

#endif
