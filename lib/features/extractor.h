/* The struct behind svit_extractor, with which the features of datasets are computed too. */
#ifndef SV_EXTRACTOR_H
#define SV_EXTRACTOR_H

#include "base/arrays.h"
#include "config/config.h"
#include "models/model.h"
#include "tensor/shape.h"

#include <shiftvit/features.h>
#include <shiftvit/session.h>

struct svit_extractor {
    svit_context *context;
    svit_model *model;
    svit_features_config config;
    svit_pipeline_config pipeline;
    svit_session *session;
    char *layer;
    size_t height, width;            /* of the inputs */
    size_t tokens, channels, prefix; /* of the layer; tokens before the patches */
    sv_shape grid;                   /* the samples of one image, and their channels */
    float *inputs;                   /* [batch, height, width, in_channels] */
    float *outputs;                  /* [batch, tokens, channels] of a layer with several tokens */
    sv_arrays arrays;
};

extern const sv_config_type sv_features_config_type;

/* What a sample is: SVIT_TOKENS_*. */
static inline int32_t sv_extractor_tokens(const svit_extractor *self)
{
    return self->tokens > 1 ? self->config.tokens : SVIT_TOKENS_MEAN;
}

/* Computes rows[n, samples of an image, channels] of the first n of self->inputs, n at most the
 * batch. */
svit_status sv_extractor_forward(svit_extractor *self, size_t n, float *rows, svit_error *err);

#endif
