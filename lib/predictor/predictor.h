/* What the files of a predictor share. */
#ifndef SV_PREDICTOR_H
#define SV_PREDICTOR_H

#include "base/arrays.h"
#include "session/views.h"

#include <shiftvit/predictor.h>

struct svit_predictor {
    svit_context *context;
    svit_model *model;
    svit_session *session;
    svit_pipeline_config pipeline;
    sv_views views;
    float *inputs; /* [max_batch] preprocessed images */
    size_t max_batch;
    int32_t output; /* SVIT_OUTPUT_*, not SVIT_OUTPUT_AUTO */
    double threshold;
    float *embeddings; /* [max_batch, num_classes]: logits, if the model has a text head */
    sv_arrays arrays;
};

/* Computes probabilities[n, classes] of the first n of predictor->inputs, n at most max_batch. The
 * first of them is image `first` of the call, for messages. */
svit_status sv_predictor_forward(svit_predictor *predictor, size_t first, size_t n,
                                 float *probabilities, svit_error *err);

#endif
