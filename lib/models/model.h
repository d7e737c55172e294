/* The struct behind svit_model, and the life of models within the library. */
#ifndef SV_MODEL_H
#define SV_MODEL_H

#include "autograd/parameter.h"
#include "base/files/mapping.h"
#include "base/threads/thread.h"

#include <shiftvit/model.h>

/* The grid of patches that a file's position embedding has; 0: not stated. */
typedef struct sv_stored_grid {
    size_t height, width;
} sv_stored_grid;

/* The version of weights that have not changed since the model was created or loaded. */
enum { SV_FIRST_VERSION = 1 };

struct svit_model {
    atomic_uint references;
    svit_context *context;
    svit_model_config config;
    sv_parameter_table parameters;
    real *weights;         /* [parameters.elements]: allocated, or within `mapping` */
    sv_mapping mapping;    /* the file of a mapped model; zero: none */
    atomic_ullong version; /* counts changes of the weights; sessions pack them again after one */
    uint64_t trainable_version; /* counts calls of svit_model_set_trainable */
    bool packed_once;      /* one session alone uses the model and packs the weights only once, so
                              that the originals may be discarded after packing */
    sv_mutex *packed_lock; /* guards packed_weights and what it lists */
    struct sv_packed_weights *packed_weights; /* copies that sessions share, a list:
                                                 session/packed_weights.h */
    char **classes;                           /* config.num_classes names; NULL: none */
    sv_stored_grid stored_grid; /* the configuration's position_height and position_width, which
                                   say how files are read; `config` has 0 there */
    svit_pipeline_config pipeline;
    int32_t has_pipeline;
    int32_t has_colours; /* without a pipeline: scale, mean and variance of `pipeline` are those of
                            the pretraining. Files do not keep them */
    int32_t output;      /* SVIT_OUTPUT_*; SVIT_OUTPUT_AUTO: not stated */
    struct sv_text_head *text_head; /* NULL: none; models/parts/text_head.h */
    _Atomic double threshold;       /* below which a largest probability is none of the classes; 0:
                                 none. A step may remove it while others read it */
};

/* Creates a model of a checked configuration. Its `weights` are NULL. SVIT_E_MEMORY. */
svit_status sv_model_open(svit_model **out, svit_context *context, const svit_model_config *config,
                          svit_error *err);

/* Counts as svit_model_multiply_adds does, for one image of height x width pixels. SVIT_E_ARGUMENT:
 * the model does not accept that size. */
svit_status sv_model_multiply_adds(const svit_model *model, size_t height, size_t width,
                                   uint64_t *forward, uint64_t *training, svit_error *err);

/* Allocates the weights of a model that sv_model_open created, all zero. SVIT_E_MEMORY. */
svit_status sv_model_allocate_weights(svit_model *model, svit_error *err);

/* Creates a model of a checked configuration. Its weights are allocated and zero. SVIT_E_MEMORY. */
svit_status sv_model_open_zero(svit_model **out, svit_context *context,
                               const svit_model_config *config, svit_error *err);

/* SVIT_E_ARGUMENT unless `output` is one of SVIT_OUTPUT_*. */
svit_status sv_model_check_output(int32_t output, svit_error *err);

/* Exchanges configuration, parameters and weights of two models of one context. `model` has neither
 * sessions nor optimisers (sv_model_check_alone); if it maps a file, the mapping is released and
 * `with` gets no weights. The caller frees `with`. Class names, pipeline and output stay. */
void sv_model_exchange(svit_model *model, svit_model *with);

/* Copies the parameters that both models have, and whether each is frozen. Of a parameter with a
 * row for each class it copies the rows that both have if `classes`, otherwise none. */
void sv_model_copy_parameters(svit_model *to, const svit_model *from, bool classes);

/* Turns `model` into `with`, which is freed: what both have of parameters is copied before, as by
 * sv_model_copy_parameters, and they are exchanged as by sv_model_exchange. Class names, text head,
 * threshold and output are dropped, the threshold with a warning that says `why`. */
void sv_model_become(svit_model *model, svit_model *with, bool classes, const char *why);

/* Replaces the model's class names by those of sv_names_copy; NULL: it has none. */
void sv_model_take_names(svit_model *model, char **names);

/* SVIT_E_STATE unless the caller alone uses the model; `change` tells in the message before what
 * the others must be freed: "its head changes". */
svit_status sv_model_check_alone(const svit_model *model, const char *change, svit_error *err);

/* Adds a reference to the model, which svit_model_free releases, and returns the model. Any
 * thread. */
svit_model *sv_model_retain(svit_model *model);

/* Removes the threshold, which was chosen for other probabilities, and logs why: "the model is
 * trained". */
void sv_model_drop_threshold(svit_model *model, const char *why);

/* Records a change of the weights, so that sessions pack them again. */
void sv_model_touch(svit_model *model);

#endif
