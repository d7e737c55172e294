/* Sessions: forward, backward, gradients. */
#ifndef SHIFTVIT_SESSION_H
#define SHIFTVIT_SESSION_H

#include <shiftvit/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A plan of work for one model: activations, tape and gradients, all allocated at creation. One
 * thread at a time; many sessions may share a model. */
typedef struct svit_session svit_session;

enum { SVIT_MODE_INFER = 0, SVIT_MODE_TRAIN = 1 };

/* What matrix products compute in. Weights, gradients, optimiser slots, sums, norms, GELU and
 * softmax are float32 whatever it is. SVIT_COMPUTE_BF16: both sides of every product rounded to
 * bfloat16 where the CPU multiplies such numbers (AMX, AVX-512 BF16); elsewhere the weights of
 * forwards and of activations' gradients only, which spares memory, not arithmetic.
 * SVIT_COMPUTE_INT8: to infer only; weights in 8 bits with a factor for each output, and, where the
 * CPU has dot products of bytes (AMX, AVX-512 VNNI), what they are multiplied with too, with a
 * factor for each row. Results differ between CPUs by these roundings. */
enum { SVIT_COMPUTE_F32 = 0, SVIT_COMPUTE_BF16 = 1, SVIT_COMPUTE_INT8 = 2 };

/* What a forward in training keeps for its backward. Less memory costs time: what is not kept is
 * computed once more in the backward, from the same random numbers. Logits and gradients are the
 * same bits with all three. */
enum {
    SVIT_MEMORY_STORE = 0,            /* all that the backward needs */
    SVIT_MEMORY_RECOMPUTE_BLOCKS = 1, /* of a layer that saves much only its input */
    SVIT_MEMORY_RECOMPUTE_STAGES = 2  /* of several consecutive layers only the input of the first,
                                        cut where the session becomes smallest: the least memory */
};

typedef struct svit_session_config {
    uint32_t struct_size;  /* sizeof(svit_session_config) */
    uint32_t max_batch;    /* the most images of one forward, 1..65536 */
    int32_t mode;          /* SVIT_MODE_*: a session created to infer has no memory for training
                              and stays so */
    int32_t compute;       /* SVIT_COMPUTE_* */
    uint64_t seed;         /* of the dropout masks */
    uint32_t input_height; /* pixels; 0 = the model's. Models without position embedding take any
                              size whose maps stay at least 1x1 */
    uint32_t input_width;  /* likewise */
    int32_t memory;        /* SVIT_MEMORY_*; in a session created to infer it changes nothing */
    uint32_t reserved;     /* 0; another value is SVIT_E_VERSION */
} svit_session_config;

/* Fills `config`: max_batch 256, SVIT_MODE_INFER, float32, seed 0, the model's input size,
 * SVIT_MEMORY_STORE. */
SVIT_API svit_status svit_session_config_init(svit_session_config *config, size_t size);

/* Fills `config` from a JSON object, and back. A field left out takes its default; one that is
 * unknown, of the wrong kind or out of range is SVIT_E_ARGUMENT and named, text that is no JSON
 * object is SVIT_E_FORMAT. `config` is written only on success. Names are those of the fields;
 * words: mode "infer", "train"; compute "f32", "bf16", "int8"; memory "store", "blocks", "stages".
 * Buffer rules as svit_context_describe. Any thread. */
SVIT_API svit_status svit_session_config_from_json(svit_session_config *config, size_t size,
                                                   const char *json, svit_error *err);
SVIT_API svit_status svit_session_config_to_json(const svit_session_config *config, char *buffer,
                                                 size_t capacity, size_t *needed, svit_error *err);

/* Creates a session; `*out` is owned by the caller, free with svit_session_free. `config` may be
 * NULL for the defaults. SVIT_E_ARGUMENT names the field; SVIT_E_MEMORY says how many bytes the
 * plan needs. */
SVIT_API svit_status svit_session_create(svit_session **out, svit_model *model,
                                         const svit_session_config *config, svit_error *err);

/* Bytes that a session would hold, and makes none: what svit_session_memory says of one that is
 * made with the same arguments. Statuses and messages as in svit_session_create; *bytes is written
 * only on success. Any thread. */
SVIT_API svit_status svit_session_memory_needed(uint64_t *bytes, svit_model *model,
                                                const svit_session_config *config, svit_error *err);

/* NULL allowed. */
SVIT_API void svit_session_free(svit_session *session);

/* Bytes that the session holds: activations, tape, gradients, packed weights. 0 for NULL. */
SVIT_API uint64_t svit_session_memory(const svit_session *session);

/* Switches between SVIT_MODE_INFER and SVIT_MODE_TRAIN. SVIT_E_STATE: to train, in a session
 * created to infer. Forgets the last forward. */
SVIT_API svit_status svit_session_set_mode(svit_session *session, int32_t mode, svit_error *err);

/* The number of training forwards so far: it chooses the dropout masks of the next one. */
SVIT_API uint64_t svit_session_counter(const svit_session *session);

/* Sets that number, so that a resumed run draws the masks that an unbroken one would have. */
SVIT_API svit_status svit_session_set_counter(svit_session *session, uint64_t counter,
                                              svit_error *err);

/* logits[n, classes] of images nhwc[n, height, width, channels], row-major. In training mode the
 * dropout masks are new at each call and what backward needs is kept. n is 1..max_batch. The
 * calling thread's rounding mode is neither used nor changed; see docs/numerics.md. SVIT_E_NUMERIC
 * names the first input that is not finite, or the first image and logit that are not: `logits` is
 * then undefined, the session has no last forward, and its counter is as before. */
SVIT_API svit_status svit_forward(svit_session *session, const float *nhwc, size_t n, float *logits,
                                  svit_error *err);

/* Heads and tokens (the class token included) of the model's attention; SVIT_E_UNSUPPORTED for a
 * model that has none. */
SVIT_API svit_status svit_session_attention_size(const svit_session *session, size_t *heads,
                                                 size_t *tokens, svit_error *err);

/* As svit_forward in inference, whatever the mode, and attention[n, heads, tokens, tokens]: how
 * much of each token (last axis) each token takes in the last layer, after the softmax. `elements`
 * is exactly that size. Forgets the last forward. After SVIT_E_NUMERIC of a logit both outputs are
 * undefined. */
SVIT_API svit_status svit_forward_attention(svit_session *session, const float *nhwc, size_t n,
                                            float *logits, float *attention, size_t elements,
                                            svit_error *err);

/* Adds the gradients of sum(dlogits * logits) of the last training forward to the session's;
 * dlogits[n, classes], the n of that forward. The weights are those of that forward: change none in
 * between. The rounding mode is as in svit_forward. SVIT_E_STATE: no training forward since the
 * last backward. */
SVIT_API svit_status svit_backward(svit_session *session, const float *dlogits, size_t n,
                                   svit_error *err);

/* Copies the gradient of a parameter out, in that parameter's shape. */
SVIT_API svit_status svit_session_get_gradient(const svit_session *session, const char *name,
                                               float *out, size_t elements, svit_error *err);

/* Copies a gradient in: for gradients that were summed over machines, or come from elsewhere. */
SVIT_API svit_status svit_session_set_gradient(svit_session *session, const char *name,
                                               const float *in, size_t elements, svit_error *err);

/* Sets all gradients to zero. SVIT_E_STATE in a session created to infer. */
SVIT_API svit_status svit_session_zero_gradients(svit_session *session, svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
