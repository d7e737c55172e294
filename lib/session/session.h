/* The inside of svit_session. */
#ifndef SV_SESSION_H
#define SV_SESSION_H

#include "autograd/tape.h"
#include "models/layer_list.h"
#include "models/model.h"
#include "session/segments.h"

#include <shiftvit/session.h>

struct svit_session {
    svit_model *model;
    svit_session_config config;
    int trains;       /* created to train: there is memory for it */
    int32_t mode;     /* at present */
    uint64_t counter; /* of training forwards */
    sv_shape input;
    size_t classes;
    const sv_gemm *gemm;         /* of products, */
    const sv_gemm *small_m_gemm; /* and of those of few rows */
    int few;                     /* it infers a few images at the most */
    sv_layer_list layers;
    sv_segments segments;
    sv_tape tape;

    char *memory; /* everything below lies in it */
    size_t memory_bytes;
    real *gradients;
    char **saved;      /* of each layer */
    real **outputs;    /* of each layer, where its map is kept for the backward; else NULL */
    char **packed;     /* of each layer, by its number */
    real *saved_input; /* the input, where the first layer is run again; else NULL */
    real *buffers[2];  /* maps in passing */
    real *passing;     /* one more, to run layers again in the backward */
    char *shared;
    char *worker;
    size_t worker_bytes;
    uint64_t packed_version[2]; /* by mode: the model's weights version + 1; 0: never */
};

/* The words of `compute` and `memory` in JSON, by value. */
#define SV_COMPUTE_WORDS [SVIT_COMPUTE_F32] = "f32", [SVIT_COMPUTE_BF16] = "bf16"
#define SV_MEMORY_WORDS                                                                            \
    [SVIT_MEMORY_STORE] = "store", [SVIT_MEMORY_RECOMPUTE_BLOCKS] = "blocks",                      \
    [SVIT_MEMORY_RECOMPUTE_STAGES] = "stages"

/* Reads a caller's configuration, NULL for the defaults, into *out and checks it. */
svit_status sv_session_config_read(svit_session_config *out, const svit_session_config *in,
                                   svit_error *err);

/* Decides which layers keep what, before the memory is measured. */
svit_status sv_session_choose_segments(svit_session *session, svit_error *err);

/* Bytes that the session needs. */
svit_status sv_session_memory_needed(svit_session *session, size_t *bytes, svit_error *err);

/* Lays everything out in session->memory. */
void sv_session_place(svit_session *session);

/* The gradients, a flat array of the model's table; NULL in a session created to infer. */
real *sv_session_gradients(svit_session *session);
svit_model *sv_session_model(const svit_session *session);
uint64_t sv_session_seed(const svit_session *session);

/* What layers see of a pass over n images, in training or not. */
sv_run sv_session_run(const svit_session *session, size_t n, int training);

/* The same for one layer, whose products may have another backend. */
sv_run sv_session_layer_run(const svit_session *session, const sv_run *run, const sv_layer *layer);

/* As a layer's weights are packed: for the backward too where the session trains and the layer
 * does.
 */
sv_run sv_session_pack_run(const svit_session *session, const sv_layer *layer);

/* The bodies of svit_forward and svit_backward: arguments are checked, numbers are real. */
void sv_session_forward(svit_session *session, const real *input, size_t n, real *logits);

/* svit_forward over images of which the first is number `first` to the caller: messages count from
 * there. Arguments are valid but for n and the values of nhwc. */
svit_status sv_session_forward_from(svit_session *session, const float *nhwc, size_t n,
                                    size_t first, float *logits, svit_error *err);

/* Makes the session forget its last forward, as if it had not been: one of training counts down. */
void sv_session_undo_forward(svit_session *session, int training);

/* The last attention block, its heads and tokens; NULL where there is none. */
const sv_layer *sv_session_last_attention(const svit_session *session, size_t *heads,
                                          size_t *tokens);

/* As in inference, with the attention weights [n, heads, T, T] of that block. */
void sv_session_attend(svit_session *session, const real *input, size_t n, real *logits,
                       real *attention);
void sv_session_backward(svit_session *session, const real *dlogits, size_t n);

/* The backend of a session that computes in SVIT_COMPUTE_*: the context's in float32, else the
 * CPU's. `few`: it infers a few images only. */
const sv_gemm *sv_session_gemm(const svit_context *context, int32_t compute, int few);

#endif
