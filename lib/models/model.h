/* The inside of svit_model. */
#ifndef SV_MODEL_H
#define SV_MODEL_H

#include "autograd/parameter.h"
#include "base/mapping.h"

#include <shiftvit/model.h>

enum { SV_FIRST_VERSION = 1 };

struct svit_model {
    atomic_uint references;
    svit_context *context;
    svit_model_config config;
    sv_parameter_table parameters;
    real *weights;         /* [parameters.elements]: its own memory, or in `pages` */
    sv_mapping pages;      /* the file of a mapped model */
    atomic_ullong version; /* from SV_FIRST_VERSION, counts changes of the weights, so that
                              sessions pack them anew */
    bool packed_once;      /* one session packs the weights, once, and they are not wanted again:
                              what it has packed may be lost */
    char **classes;        /* config.num_classes names, or NULL */
    svit_pipeline_config pipeline;
    int32_t has_pipeline;
};

/* Creates a model of a legal configuration whose `weights` are NULL. */
svit_status sv_model_open(svit_model **out, svit_context *context, const svit_model_config *config,
                          svit_error *err);

/* Gives such a model memory for its weights, all zero. */
svit_status sv_model_take_weights(svit_model *model, svit_error *err);

/* Counts one more handle that needs the model; returns it. svit_model_free counts down. */
svit_model *sv_model_retain(svit_model *model);

/* Says that the weights have changed. */
void sv_model_touch(svit_model *model);

#endif
