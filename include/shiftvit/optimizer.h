/* Optimisers and learning-rate schedules. */
#ifndef SHIFTVIT_OPTIMIZER_H
#define SHIFTVIT_OPTIMIZER_H

#include <shiftvit/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The slots, step count and schedule of one model. One thread at a time, with its session. */
typedef struct svit_optimizer svit_optimizer;

enum { SVIT_OPTIMIZER_ADAMW = 0, SVIT_OPTIMIZER_SGD = 1 };
enum {
    SVIT_DECAY_SCALED = 0,  /* w -= lr * decay * w (Keras, PyTorch) */
    SVIT_DECAY_UNSCALED = 1 /* w -= decay * w (TensorFlow Addons) */
};
enum { SVIT_SCHEDULE_CONSTANT = 0, SVIT_SCHEDULE_WARMUP_COSINE = 1 };
enum {
    SVIT_EXCLUDE_BIAS = 1,    /* bits of decay_exclude: parameters that do not decay; biases, and
                                 temperatures of attention */
    SVIT_EXCLUDE_NORM = 2,    /* scales and offsets of norms */
    SVIT_EXCLUDE_POSITION = 4 /* position embeddings and class tokens */
};
enum {
    SVIT_EMA_NONE = 0,
    SVIT_EMA_PLAIN = 1, /* starts at the weights before the first step */
    SVIT_EMA_KERAS = 2  /* starts at the weights after the first step */
};

typedef struct svit_optimizer_config {
    uint32_t struct_size;   /* sizeof(svit_optimizer_config) */
    int32_t kind;           /* SVIT_OPTIMIZER_* */
    double learning_rate;   /* at least 0; the schedule's maximum */
    double beta1;           /* [0, 1) */
    double beta2;           /* [0, 1) */
    double epsilon;         /* above 0; added outside the bias correction, as Keras does */
    double weight_decay;    /* at least 0 */
    double momentum;        /* SGD: [0, 1) */
    double clip_norm;       /* gradients scale by clip_norm / max(global norm, clip_norm);
                               0 = never */
    double ema_momentum;    /* [0, 1) */
    double lr_start;        /* warm-up starts here; at least 0, at most learning_rate */
    uint64_t warmup_steps;  /* at most total_steps */
    uint64_t total_steps;   /* of SVIT_SCHEDULE_WARMUP_COSINE */
    int32_t schedule;       /* SVIT_SCHEDULE_* */
    int32_t decay_rule;     /* SVIT_DECAY_* */
    uint32_t decay_exclude; /* sum of SVIT_EXCLUDE_* */
    int32_t nesterov;       /* SGD: 1 = Nesterov's form */
    int32_t ema;            /* SVIT_EMA_* */
    uint32_t reserved;      /* 0; another value is SVIT_E_VERSION */
} svit_optimizer_config;

/* Fills `config`: AdamW in Keras' form, learning rate 1e-3 constant, betas 0.9 and 0.999, epsilon
 * 1e-7, decay 1e-4 scaled by the learning rate on every parameter, no clipping, no average. */
SVIT_API svit_status svit_optimizer_config_init(svit_optimizer_config *config, size_t size);

/* Fills `config` from a JSON object, and back. A field left out takes its default; one that is
 * unknown, of the wrong kind or out of range is SVIT_E_ARGUMENT and named, text that is no JSON
 * object is SVIT_E_FORMAT. `config` is written only on success. Names are those of the fields, but
 * `kind` is "optimizer": "adamw", "sgd"; schedule "constant", "warmup-cosine"; decay_rule "scaled",
 * "unscaled"; decay_exclude a list of "bias", "norm", "position"; ema "none", "plain", "keras". A
 * schedule without total_steps is accepted: the trainer counts them, svit_optimizer_create does
 * not. Buffer rules as svit_context_describe. Any thread. */
SVIT_API svit_status svit_optimizer_config_from_json(svit_optimizer_config *config, size_t size,
                                                     const char *json, svit_error *err);
SVIT_API svit_status svit_optimizer_config_to_json(const svit_optimizer_config *config,
                                                   char *buffer, size_t capacity, size_t *needed,
                                                   svit_error *err);

/* Creates an optimiser for `model`; `*out` is owned by the caller, free with svit_optimizer_free.
 * `config` may be NULL for the defaults. SVIT_E_ARGUMENT names the field. */
SVIT_API svit_status svit_optimizer_create(svit_optimizer **out, svit_model *model,
                                           const svit_optimizer_config *config, svit_error *err);

/* NULL allowed. */
SVIT_API void svit_optimizer_free(svit_optimizer *optimizer);

/* One update of the model from the session's gradients, which are zero afterwards. The first
 * update uses step 0 of the schedule. The rounding mode is as in svit_forward. SVIT_E_ARGUMENT: the
 * session is of another model; SVIT_E_STATE: it was created to infer; SVIT_E_NUMERIC: a gradient is
 * not finite (the message names the parameter), weights, slots and gradients are then unchanged. */
SVIT_API svit_status svit_step(svit_optimizer *optimizer, svit_session *session, svit_error *err);

/* The learning rate of the update number `step`, from 0. WarmUpCosine of the Keras examples: linear
 * from lr_start to learning_rate over warmup_steps, then half a cosine down to 0 at total_steps, 0
 * beyond. SVIT_E_ARGUMENT as svit_optimizer_create. Any thread. */
SVIT_API svit_status svit_learning_rate(const svit_optimizer_config *config, uint64_t step,
                                        double *learning_rate, svit_error *err);

/* The number of updates so far. */
SVIT_API uint64_t svit_optimizer_steps(const svit_optimizer *optimizer);

/* What may change while training, by name: "learning_rate", "weight_decay", "momentum",
 * "clip_norm", "ema_momentum". SVIT_E_ARGUMENT names the key and lists the known, or names the
 * value and its bounds. */
SVIT_API svit_status svit_optimizer_set_f64(svit_optimizer *optimizer, const char *key,
                                            double value, svit_error *err);

/* The present value of such a key, and "gradient_norm": the global norm seen by the last step. */
SVIT_API svit_status svit_optimizer_get_f64(const svit_optimizer *optimizer, const char *key,
                                            double *value, svit_error *err);

/* The least and the greatest value that svit_optimizer_set_f64 takes for `key`, both legal. */
SVIT_API svit_status svit_optimizer_bounds(const svit_optimizer *optimizer, const char *key,
                                           double *least, double *greatest, svit_error *err);

/* Exchanges the model's weights with their moving average: once to use the average, once more to
 * go on training. SVIT_E_STATE: no average, or no step yet. */
SVIT_API svit_status svit_optimizer_swap_ema(svit_optimizer *optimizer, svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
