/* Sessions: the forward and backward passes of a model, on memory that is allocated in advance. */
#ifndef SHIFTVIT_SESSION_H
#define SHIFTVIT_SESSION_H

#include <shiftvit/model.h>
#include <shiftvit/reducer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A session is the execution plan of one model: activations, gradients, packed weights and
 * workspaces, all allocated at its creation. It keeps the model alive. One thread at a time may use
 * a session; many sessions may share a model, and those created with SVIT_MODE_INFER share one
 * packed copy of its weights for each compute type. */
typedef struct svit_session svit_session;

/* What a session does. */
enum {
    SVIT_MODE_INFER = 0, /* inference */
    SVIT_MODE_TRAIN = 1  /* training, with dropout and a backward pass */
};

/* The precision of matrix products. Weights, gradients, optimiser slots, sums, norms, GELU and
 * softmax are float32 in all three. Results differ between CPUs by the rounding described here. */
enum {
    SVIT_COMPUTE_F32 = 0,  /* float32 */
    SVIT_COMPUTE_BF16 = 1, /* rounds A and B to bfloat16 where the bfloat16 arithmetic of the CPU
                              is used: AMX, AVX-512 BF16 of AMD, BFMMLA of 64-bit Arm. Elsewhere it
                              rounds only the weights, in the forward pass and in the gradients of
                              activations, which saves memory but no time */
    SVIT_COMPUTE_INT8 = 2  /* for inference only: rounds the weights to 8 bits with a scale for each
                              output channel, and the activations with a scale for each row */
};

/* Activation checkpointing (Chen et al. 2016): which activations a training forward saves. The
 * others are recomputed in the backward pass with the same dropout masks. Logits and gradients are
 * the same bits with all three. */
enum {
    SVIT_MEMORY_STORE = 0,            /* all that the backward pass reads */
    SVIT_MEMORY_RECOMPUTE_BLOCKS = 1, /* of each transformer or shift block, its input */
    SVIT_MEMORY_RECOMPUTE_STAGES = 2  /* of each segment of consecutive layers, the input of the
                                         first; segments are chosen for the smallest session */
};

/* Test-time augmentation: the logits of an image are the mean over several versions of it. With a
 * text head the embeddings are averaged, and a predictor computes the similarities from their mean.
 * The logits of a masked autoencoder are the pixels of patches, so that it takes SVIT_TTA_NONE
 * alone. */
enum {
    SVIT_TTA_NONE = 0,      /* the image alone */
    SVIT_TTA_FLIP = 1,      /* the image and its left-right mirror */
    SVIT_TTA_FLIP_SHIFT = 2 /* these two, and the two of the image moved by one pixel up and left
                               and of the image moved by one pixel down and right, where the first
                               two count twice as much as the other four (Jordan 2024) */
};

/* The configuration of a session. */
typedef struct svit_session_config {
    uint32_t struct_size;   /* sizeof(svit_session_config) */
    uint32_t max_batch;     /* largest number of images in one forward pass, 1..65536. Sessions
                               with at most 8 may differ by rounding from larger ones and from
                               each other */
    int32_t mode;           /* SVIT_MODE_*; a session created with SVIT_MODE_INFER has no memory for
                               training and cannot switch to it */
    int32_t compute;        /* SVIT_COMPUTE_* */
    uint64_t seed;          /* of the dropout masks */
    uint32_t input_height;  /* pixels; 0: as in the model. A model without position embeddings
                               accepts every size that leaves its feature maps at least 1 x 1; a
                               ViT without them whole patches, unless its pool is
                               SVIT_POOL_FLATTEN */
    uint32_t input_width;   /* pixels; 0: as in the model */
    int32_t memory;         /* SVIT_MEMORY_*; no effect in a session created with SVIT_MODE_INFER */
    int32_t features;       /* 1: inference fuses no layers, so that svit_forward_features reaches
                               the output of every one */
    svit_context *context;  /* whose workers run the passes and whose allocator the session uses;
                               NULL: the model's. It has the same instruction set and GEMM backend
                               as the model's context. No field of the JSON object */
    char input_layer[32];   /* "": the session takes images. Otherwise the name of a layer
                               (svit_session_layer_name): the session takes its output, as
                               svit_forward_features computes it, in place of images. The layers up
                               to this one never run, and their parameters have no gradient.
                               input_height and input_width are those of the images from which the
                               features came. Where inference fuses the layer with a later one, the
                               session fuses no layers */
    int32_t input_gradient; /* 1: svit_backward_input computes the gradient of the input. The
                               session needs SVIT_MODE_TRAIN, and all parameters may be frozen. A
                               training forward runs frozen layers as it runs all others, with
                               dropout, and saves their activations */
    int32_t check_finite;   /* 1: a pass looks at the output of every layer, and a backward at the
                               gradients of outputs and parameters; SVIT_E_NUMERIC names the first
                               tensor that is not finite, and the training forward. Passes run layer
                               by layer then. The same bits, and some percent slower */
} svit_session_config;

/* Fills `config` with the defaults: max_batch 256, SVIT_MODE_INFER, SVIT_COMPUTE_F32, seed 0, the
 * model's input size, SVIT_MEMORY_STORE, the model's context, no gradient of the input, no look for
 * what is not finite. `size` is sizeof(svit_session_config) as the caller was compiled. Any thread
 * may call it. */
SVIT_API svit_status svit_session_config_init(svit_session_config *config, size_t size);

/* Fills `config` from a JSON object whose keys are the names of the fields; a missing one takes its
 * default. Words: mode "infer", "train"; compute "f32", "bf16", "int8"; memory "store", "blocks",
 * "stages". `config` is written only on success. SVIT_E_ARGUMENT names an unknown key or a value
 * that is not accepted; SVIT_E_FORMAT means that the text is no JSON object. SVIT_E_VERSION: a
 * struct of this `size` lacks a field that is not at its default. Any thread may call it. */
SVIT_API svit_status svit_session_config_from_json(svit_session_config *config, size_t size,
                                                   const char *json, svit_error *err);

/* Writes `config` as the JSON object that svit_session_config_from_json reads. `buffer`, `capacity`
 * and `needed` are as in svit_context_describe. SVIT_E_ARGUMENT names a field that is out of range.
 * Any thread may call it. */
SVIT_API svit_status svit_session_config_to_json(const svit_session_config *config, char *buffer,
                                                 size_t capacity, size_t *needed, svit_error *err);

/* Creates a session for `model`, whose weights the first forward packs. `config` may be NULL for
 * the defaults. The session keeps config->context alive. The caller owns *out and frees it with
 * svit_session_free. SVIT_E_ARGUMENT names the field that is not accepted; SVIT_E_STATE: the
 * session is to train, and every parameter that it reaches is frozen, without input_gradient;
 * SVIT_E_UNSUPPORTED: the build computes in SVIT_COMPUTE_F32 alone, or a matmul has more rows or
 * columns than the backend "cblas" takes; SVIT_E_MEMORY says how many bytes the plan needs. Any
 * thread may call it. */
SVIT_API svit_status svit_session_create(svit_session **out, svit_model *model,
                                         const svit_session_config *config, svit_error *err);

/* Writes to *bytes the memory that a session would allocate, without creating it: the value of
 * svit_session_memory for the same arguments, shared weights included. The descriptions of the
 * layers come on top: less than 16 KiB and 4 KiB for each block. Errors are those of
 * svit_session_create; *bytes is written only on success. Any thread may call it. */
SVIT_API svit_status svit_session_memory_needed(uint64_t *bytes, svit_model *model,
                                                const svit_session_config *config, svit_error *err);

/* Frees a session. NULL is allowed. */
SVIT_API void svit_session_free(svit_session *session);

/* Returns the bytes that the session holds for activations, gradients, packed weights and
 * workspaces. Each session that shares packed weights with others counts them in full, as if it
 * were alone. 0 for NULL. */
SVIT_API uint64_t svit_session_memory(const svit_session *session);

/* Sets the mode to SVIT_MODE_INFER or SVIT_MODE_TRAIN and discards the saved activations, so that
 * svit_backward needs a new forward pass. SVIT_E_STATE: the session was created with
 * SVIT_MODE_INFER and cannot train. */
SVIT_API svit_status svit_session_set_mode(svit_session *session, int32_t mode, svit_error *err);

/* Returns the number of training forwards so far. Together with the seed it selects the dropout
 * masks of the next one. */
SVIT_API uint64_t svit_session_counter(const svit_session *session);

/* Sets the number of training forwards, so that a resumed run draws the same dropout masks as one
 * that was never interrupted. */
SVIT_API svit_status svit_session_set_counter(svit_session *session, uint64_t counter,
                                              svit_error *err);

/* Returns the elements of one row of the input of svit_forward: height * width * channels of an
 * image, or tokens * channels of the output of input_layer. 0 for NULL. */
SVIT_API size_t svit_session_input_size(const svit_session *session);

/* Computes logits[n, classes] of n images nhwc[n, height, width, channels], row-major; n is
 * 1..max_batch. A session with an input_layer takes its output, nhwc[n, tokens, channels], here and
 * in every other call that takes images. In training mode each call draws new dropout masks and
 * saves the activations for svit_backward. It allocates no memory. The floating-point environment
 * of the calling thread (rounding mode, denormals) is neither used nor changed (docs/numerics.md).
 *
 * SVIT_E_NUMERIC names the first input that is not finite, or the image and the class of the first
 * logit that is not, or with check_finite the first output of a layer. `logits` is then undefined,
 * there are no saved activations, and the counter is unchanged. */
SVIT_API svit_status svit_forward(svit_session *session, const float *nhwc, size_t n, float *logits,
                                  svit_error *err);

/* Writes the number of attention heads and the number of tokens, class token included, to *heads
 * and *tokens. SVIT_E_UNSUPPORTED: the model has no attention. */
SVIT_API svit_status svit_session_attention_size(const svit_session *session, size_t *heads,
                                                 size_t *tokens, svit_error *err);

/* Computes the logits as svit_forward does in inference, whatever the mode is, and the attention
 * weights of the last layer, attention[n, heads, tokens, tokens], after the softmax: the last axis
 * is the token that is attended to, and each row sums to 1; with SVIT_ATTENTION_DIFFERENTIAL they
 * are the difference of a head's two maps, whose rows sum to 1 - lambda and may have elements below
 * 0. `elements` is the exact size of `attention`. The saved activations are discarded. After
 * SVIT_E_NUMERIC for a logit, both outputs are undefined. */
SVIT_API svit_status svit_forward_attention(svit_session *session, const float *nhwc, size_t n,
                                            float *logits, float *attention, size_t elements,
                                            svit_error *err);

/* Adds the gradients of the parameters to those of the session, given the gradient of the loss with
 * respect to the logits, dlogits[n, classes], for the n images of the last training forward. The
 * parameters must not have changed since then. It allocates no memory and treats the floating-point
 * environment as svit_forward does. SVIT_E_STATE: there was no training forward since the last
 * backward. SVIT_E_NUMERIC names the first element of dlogits that is not finite, or with
 * check_finite the first gradient; the gradients then hold what the pass has added. */
SVIT_API svit_status svit_backward(svit_session *session, const float *dlogits, size_t n,
                                   svit_error *err);

/* Does what svit_backward does, and writes the gradient of the loss with respect to the input of
 * the last training forward to dnhwc[n, height, width, channels], or with an input_layer to
 * dnhwc[n, tokens, channels]. The gradients of the parameters have the same bits as those of
 * svit_backward. Errors are those of svit_backward, and SVIT_E_STATE if the session was created
 * without input_gradient. */
SVIT_API svit_status svit_backward_input(svit_session *session, const float *dlogits, size_t n,
                                         float *dnhwc, svit_error *err);

/* Copies the gradient of a parameter to out[elements], in the layout of svit_model_get_parameter.
 * SVIT_E_ARGUMENT: there is no parameter of this name, or `elements` is not exactly its size.
 * SVIT_E_STATE: the session was created with SVIT_MODE_INFER, or the parameter has no gradient: it
 * is frozen, or of a layer up to input_layer. */
SVIT_API svit_status svit_session_get_gradient(const svit_session *session, const char *name,
                                               float *out, size_t elements, svit_error *err);

/* Sets the gradient of a parameter from in[elements], for gradients that were reduced over several
 * machines or computed elsewhere. Errors are those of svit_session_get_gradient. SVIT_E_ARGUMENT,
 * too: with no_key_bias, an element of the keys' biases is not 0. */
SVIT_API svit_status svit_session_set_gradient(svit_session *session, const char *name,
                                               const float *in, size_t elements, svit_error *err);

/* Sets all gradients to zero. SVIT_E_STATE: the session was created with SVIT_MODE_INFER. */
SVIT_API svit_status svit_session_zero_gradients(svit_session *session, svit_error *err);

/* Cuts the batch of an optimiser step into reducer->leaves leaves, of which the session computes
 * those of its rank: a svit_backward for each, in ascending order, and then svit_step. The
 * gradients of a leaf are those of dlogits, which the caller divides by the size of the whole
 * batch. A leaf without images takes a svit_backward of n = 0 without a svit_forward before. The
 * reducer is copied; with one rank its functions may be NULL. The session holds at most 2
 * log2(leaves) + 1 more arrays of gradients. Gradients that it has are dropped. Dropout is drawn by
 * svit_session_set_counter, which a caller sets for each leaf to a number that does not depend on
 * the ranks. `reducer` NULL: each svit_backward adds to the gradients again. SVIT_E_STATE: the
 * session was created to infer. SVIT_E_ARGUMENT: a field of the reducer is out of its range. */
SVIT_API svit_status svit_session_set_reducer(svit_session *session, const svit_reducer *reducer,
                                              svit_error *err);

/* Returns the name of a layer whose output svit_forward_features computes, by its index in the
 * order of the model, from the first layer behind input_layer on, or NULL past the end:
 * "patch_embed"; in a ViT "tokens", the tokens with their positions; "blocks.0" and so on, in a
 * ShiftViT "layers.0.blocks.0" and so on; "features", the pooled input of the classifier. Of these,
 * a session without `features` refuses those that inference fuses with others. The text is borrowed
 * until svit_session_free. */
SVIT_API const char *svit_session_layer_name(const svit_session *session, size_t index);

/* Writes the tokens and the channels of a layer's output for one image; pooled features are one
 * token. SVIT_E_ARGUMENT: the session runs no layer of this name. */
SVIT_API svit_status svit_session_layer_shape(const svit_session *session, const char *layer,
                                              size_t *tokens, size_t *channels, svit_error *err);

/* Computes the output of the layer `layer`, out[n, tokens, channels], of n images as svit_forward
 * takes them, in inference whatever the session's mode. The tokens of a ViT begin with class,
 * distillation and register tokens. `elements` is exactly that size. A backward needs a new forward
 * afterwards. SVIT_E_ARGUMENT: there is no such layer, or an argument is not accepted.
 * SVIT_E_STATE: inference fuses the layer with others; a session with features 1 does not.
 * SVIT_E_NUMERIC as svit_forward. */
SVIT_API svit_status svit_forward_features(svit_session *session, const float *nhwc, size_t n,
                                           const char *layer, float *out, size_t elements,
                                           svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
