/* The struct behind svit_session, which is the execution plan of a model, and the functions that
 * the session's files share. */
#ifndef SV_SESSION_H
#define SV_SESSION_H

#include "autograd/tape.h"
#include "config/config.h"
#include "models/layer_list.h"
#include "models/model.h"
#include "session/leaves.h"
#include "session/segments.h"

#include <shiftvit/session.h>

/* A packed copy of a model's weights that several sessions share (packed_weights.h). */
typedef struct sv_packed_weights sv_packed_weights;

/* Which layers of a session run, and which of them are on the tape. The indices are of the training
 * graph unless they say otherwise, and
 *     first <= frozen_end <= first_recorded <= layers.training_count.
 * A training pass runs the layers below first_recorded as in inference, since nothing of them is
 * saved: frozen_inference layers of the inference graph, which cover first..frozen_end - 1, and
 * then those up to first_recorded one by one. */
typedef struct sv_active_layers {
    size_t first;            /* the first that runs: 0, or the one behind config.input_layer */
    size_t first_named;      /* index in layers.named of the first layer that runs */
    size_t first_recorded;   /* the lowest trained one; with input_gradient `first` */
    size_t frozen_inference; /* number of layers of the inference graph */
    size_t frozen_end;
} sv_active_layers;

struct svit_session {
    svit_model *model;
    svit_context *context; /* runs the passes and owns the memory, but not that of the layers; the
                              model's, or one with the same kernels */
    svit_session_config config;
    bool trains;      /* created with SVIT_MODE_TRAIN, so there is memory for the backward */
    bool small_m;     /* infers few images at most, so matmuls of late layers have few rows */
    int32_t mode;     /* SVIT_MODE_* of the next forward */
    uint64_t counter; /* training forwards so far */
    sv_shape image;   /* pixels of an image and its channels */
    sv_shape input;   /* of the first layer that runs: the image, or the output of the layer
                           config.input_layer */
    size_t classes;
    const sv_gemm *gemm;         /* backend of the matmuls */
    const sv_gemm *small_m_gemm; /* backend of those with few rows */
    sv_layer_list layers;
    sv_active_layers active;
    uint64_t trainable_version; /* of the model, when the session was created */
    sv_segments segments;
    sv_tape tape;
    svit_error not_finite; /* with check_finite: what the last pass found first (finite_check.h) */
    bool checks_training;  /* that pass was one of a training step */
    sv_leaves *leaves; /* adds the gradients of leaves; NULL: each backward adds to the gradients */
    sv_packed_weights *shared; /* the copy of a session that only infers; NULL if it trains */

    char *memory; /* one allocation; the members below lie in it */
    size_t memory_bytes;
    sv_gradients gradients; /* of what is trained; none unless it trains */
    char **saved;           /* by layer of the training graph: its saved activations */
    real **outputs;         /* by layer of the training graph: its output if the backward reads it;
                             otherwise NULL */
    char **packed;          /* by layer number: its prepacked weights */
    real *saved_input;      /* copy of the images, if the backward reads them; otherwise NULL */
    real *buffers[2];       /* for outputs that are not kept, and for gradients of them */
    real *temporary;        /* third buffer, for recomputation alone */
    char *workspace;        /* of the layer that is running */
    char *worker_scratch;   /* [workers, worker_bytes] */
    size_t worker_bytes;    /* scratch of one worker */
    /* By mode: 1 + the version of the weights that are packed for it; 0: none are. */
    uint64_t packed_version[2];
};

/* The JSON words of `compute` in which sessions train (session_config.c adds int8), and of
 * `memory`, indexed by the values of the constants. */
#define SV_COMPUTE_WORDS [SVIT_COMPUTE_F32] = "f32", [SVIT_COMPUTE_BF16] = "bf16"
#define SV_MEMORY_WORDS                                                                            \
    [SVIT_MEMORY_STORE] = "store", [SVIT_MEMORY_RECOMPUTE_BLOCKS] = "blocks",                      \
    [SVIT_MEMORY_RECOMPUTE_STAGES] = "stages"

/* session_config.c */

extern const sv_config_type sv_session_config_type;

/* session.c */

/* The context on which sessions of the model run for a call on the context `wanted`: this one, or
 * the model's if they compute differently, with a warning in the log of `wanted`. */
svit_context *sv_session_context(const svit_model *model, svit_context *wanted);

/* active_layers.c */

/* Lets the session begin behind the layer config.input_layer, if that is not empty: sets
 * active.first and input, and cuts the inference graph. SVIT_E_ARGUMENT: there is no such layer, or
 * none behind it. */
svit_status sv_session_begin_at_input_layer(svit_session *session, svit_error *err);

/* The layer that runs and has this name; NULL if there is none. */
const sv_layer *sv_session_named_layer(const svit_session *session, const char *name);

/* Whether the layer runs in one of the session's graphs. */
bool sv_session_runs_layer(const svit_session *session, const sv_layer *layer);

/* Writes first[training_count], the groups of layers whose gradients are final together in a
 * backward, as sv_gradient_groups has them, and returns the elements of the largest. */
size_t sv_session_group_gradients(const svit_session *session, size_t *first);

/* Sets session->active, and session->gradients.subset. SVIT_E_STATE: the session trains, and has
 * nothing to train. SVIT_E_MEMORY. */
svit_status sv_session_find_active(svit_session *session, svit_error *err);

/* session_plan.c: memory planning */

/* Chooses session->segments; a session that only infers has none. The layers are known; nothing is
 * allocated yet. SVIT_E_MEMORY. */
svit_status sv_session_choose_segments(svit_session *session, svit_error *err);

/* Computes the bytes of session->memory. SVIT_E_MEMORY if they do not fit a size_t. */
svit_status sv_session_plan_memory(svit_session *session, size_t *bytes, svit_error *err);

/* Sets the members that lie in session->memory, which has the planned bytes. */
void sv_session_layout_memory(svit_session *session);

/* run.c */

/* The run of a pass over n images. */
sv_run sv_session_run(const svit_session *session, size_t n, bool training);

/* The same run for one layer: small_m and the backend depend on the layer's shape. */
sv_run sv_session_layer_run(const svit_session *session, const sv_run *run, const sv_layer *layer);

/* The run with which a layer's weights are packed. It is a training run if the session trains and
 * the layer is in the training graph, so that the weights are packed for the backward too. */
sv_run sv_session_pack_run(const svit_session *session, const sv_layer *layer);

/* passes.c: forward and backward. Arguments have been checked. */

/* Computes logits[n, classes] of input[n, height, width, channels] in the session's mode. */
void sv_session_forward(svit_session *session, const real *input, size_t n, real *logits);

/* Undoes the effects of the last forward: clears the tape and, if `training`, takes one from the
 * counter of training forwards. */
void sv_session_undo_forward(svit_session *session, bool training);

/* Computes logits in inference mode, and the attention weights [n, heads, tokens, tokens] of the
 * last attention block, which the model must have. */
void sv_session_forward_attention(svit_session *session, const real *input, size_t n, real *logits,
                                  real *attention);

/* Returns the last attention block, its heads and its tokens; NULL if the model has none. */
const sv_layer *sv_session_last_attention(const svit_session *session, size_t *heads,
                                          size_t *tokens);

/* Adds the gradients of the last forward to session->gradients. dlogits is [n, classes], with the n
 * of that forward, which was a training forward. `dinput` becomes the gradient of its input, if the
 * session has input_gradient; NULL: it is not computed. */
void sv_session_backward(svit_session *session, const real *dlogits, size_t n, real *dinput);

/* The backward of a leaf without images: begins the same buckets as that of a leaf with some. */
void sv_session_backward_nothing(svit_session *session);

/* Computes the output of the inference graph's layer that ends where layer `end` of the training
 * graph begins. */
void sv_session_forward_features(svit_session *session, const real *input, size_t n, size_t end,
                                 real *out);

/* session_calls.c */

/* Checks what svit_forward checks of its arguments. SVIT_E_NUMERIC: no activations are saved
 * afterwards. */
svit_status sv_session_check_forward(svit_session *session, const float *nhwc, size_t n,
                                     svit_error *err);

/* SVIT_E_NUMERIC, naming `what`, its element and its value, unless every value is finite. */
svit_status sv_session_check_finite(const float *values, size_t count, const char *what,
                                    svit_error *err);

/* svit_forward for images of which the first has the index `first` in the caller's array; messages
 * count from it. Pointers have been checked. */
svit_status sv_session_forward_from(svit_session *session, const float *nhwc, size_t n,
                                    size_t first, float *logits, svit_error *err);

/* session.c */

/* Before an update with the session's gradients: waits until they are the sums of all leaves, if
 * the session has leaves (sv_leaves_finish). */
svit_status sv_session_finish_gradients(svit_session *session, svit_error *err);

/* If the session has leaves (fixed parts of a batch, shiftvit/reducer.h): discards their partial
 * sums and expects the first leaf of a batch again. Called after an update, and when the gradients
 * are set to zero. */
void sv_session_restart_gradients(svit_session *session);

/* The session's gradients; NULL unless it trains. */
const sv_gradients *sv_session_gradients(const svit_session *session);

/* SVIT_E_STATE if svit_model_set_trainable was called since a session that trains was created. */
svit_status sv_session_check_trainable(const svit_session *session, svit_error *err);

svit_model *sv_session_model(const svit_session *session);
uint64_t sv_session_seed(const svit_session *session);

/* SVIT_E_UNSUPPORTED if the build does not compute in `compute`, one of SVIT_COMPUTE_*. */
svit_status sv_session_check_compute(int32_t compute, svit_error *err);

/* The backend of matmuls in `compute`, one of SVIT_COMPUTE_* that sv_session_check_compute accepts.
 * With `small_m` it is the one for few rows. */
const sv_gemm *sv_session_gemm(const svit_context *context, int32_t compute, bool small_m);

#endif
