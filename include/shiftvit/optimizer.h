/* Optimisers: parameter updates, learning-rate schedules, and moving averages of the weights. */
#ifndef SHIFTVIT_OPTIMIZER_H
#define SHIFTVIT_OPTIMIZER_H

#include <shiftvit/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An optimiser has the slots (state arrays), the step count and the schedule for one model, which
 * it keeps alive. One thread at a time may use it, together with the session and the model. */
typedef struct svit_optimizer svit_optimizer;

/* The update rule. w is a weight, g its gradient after clipping, lr the learning rate of the
 * schedule. */
enum {
    SVIT_OPTIMIZER_ADAMW = 0, /* AdamW (Loshchilov, Hutter 2019), with epsilon added outside the
                                 bias correction as in Keras. Slots m and v */
    SVIT_OPTIMIZER_SGD = 1    /* v = momentum v - lr g; w += v, or with Nesterov's momentum
                                 w += momentum v - lr g. Slot momentum */
};

/* The size of the decoupled weight decay, which is subtracted before the update. */
enum {
    SVIT_DECAY_SCALED = 0,  /* w -= lr * weight_decay * w (Keras, PyTorch) */
    SVIT_DECAY_UNSCALED = 1 /* w -= weight_decay * w (TensorFlow Addons) */
};

/* The learning rate as a function of the step; svit_learning_rate has the formula. */
enum { SVIT_SCHEDULE_CONSTANT = 0, SVIT_SCHEDULE_WARMUP_COSINE = 1 };

/* Bits of `decay_exclude`: parameters without weight decay. */
enum {
    SVIT_EXCLUDE_BIAS = 1,    /* biases, and the temperatures of attention */
    SVIT_EXCLUDE_NORM = 2,    /* scales and biases of norms */
    SVIT_EXCLUDE_POSITION = 4 /* position embeddings and class tokens */
};

/* The exponential moving average (EMA) of the weights (Polyak, Juditsky 1992):
 * average = ema_momentum * average + (1 - ema_momentum) * w after each step. */
enum {
    SVIT_EMA_NONE = 0,  /* no average */
    SVIT_EMA_PLAIN = 1, /* starts as the weights before the first step */
    SVIT_EMA_KERAS = 2  /* starts as the weights after the first step */
};

/* The configuration of an optimiser. Fields of another update rule are ignored. */
typedef struct svit_optimizer_config {
    uint32_t struct_size;   /* sizeof(svit_optimizer_config) */
    int32_t kind;           /* SVIT_OPTIMIZER_* */
    double learning_rate;   /* at least 0: the constant rate, or the maximum of the schedule */
    double beta1;           /* AdamW, [0, 1): decay rate of the first moment */
    double beta2;           /* AdamW, [0, 1): decay rate of the second moment */
    double epsilon;         /* AdamW, above 0 */
    double weight_decay;    /* at least 0 */
    double momentum;        /* SGD, [0, 1) */
    double clip_norm;       /* at least 0: gradients are scaled by
                               clip_norm / max(global norm, clip_norm); 0: never */
    double ema_momentum;    /* [0, 1) */
    double lr_start;        /* 0..learning_rate: the rate at which the warm-up starts */
    uint64_t warmup_steps;  /* at most total_steps */
    uint64_t total_steps;   /* length of SVIT_SCHEDULE_WARMUP_COSINE, at least 1 */
    int32_t schedule;       /* SVIT_SCHEDULE_* */
    int32_t decay_rule;     /* SVIT_DECAY_* */
    uint32_t decay_exclude; /* sum of SVIT_EXCLUDE_* */
    int32_t nesterov;       /* SGD: 1: Nesterov's momentum */
    int32_t ema;            /* SVIT_EMA_* */
    uint32_t reserved;      /* 0; another value is SVIT_E_VERSION */
} svit_optimizer_config;

/* Fills `config` with the defaults: AdamW, constant learning rate 1e-3, betas 0.9 and 0.999,
 * epsilon 1e-7, weight decay 1e-4 scaled by the learning rate on every parameter, no clipping, no
 * average. `size` is sizeof(svit_optimizer_config) as the caller was compiled. Any thread may call
 * it. */
SVIT_API svit_status svit_optimizer_config_init(svit_optimizer_config *config, size_t size);

/* Fills `config` from a JSON object whose keys are the names of the fields, except that `kind` is
 * "optimizer"; a missing one takes its default. Words: optimizer "adamw", "sgd"; schedule
 * "constant", "warmup-cosine"; decay_rule "scaled", "unscaled"; decay_exclude a list of "bias",
 * "norm", "position"; ema "none", "plain", "keras". A schedule without total_steps is accepted,
 * because a trainer computes them; svit_optimizer_create does not accept it.
 *
 * `config` is written only on success. SVIT_E_ARGUMENT names an unknown key or a value that is not
 * accepted; SVIT_E_FORMAT means that the text is no JSON object. Any thread may call it. */
SVIT_API svit_status svit_optimizer_config_from_json(svit_optimizer_config *config, size_t size,
                                                     const char *json, svit_error *err);

/* Writes `config` as the JSON object that svit_optimizer_config_from_json reads. `buffer`,
 * `capacity` and `needed` are as in svit_context_describe. SVIT_E_ARGUMENT names a field that is
 * out of range. Any thread may call it. */
SVIT_API svit_status svit_optimizer_config_to_json(const svit_optimizer_config *config,
                                                   char *buffer, size_t capacity, size_t *needed,
                                                   svit_error *err);

/* Creates an optimiser for `model`. `config` may be NULL for the defaults. The caller owns *out and
 * frees it with svit_optimizer_free. SVIT_E_ARGUMENT names the field that is not accepted. */
SVIT_API svit_status svit_optimizer_create(svit_optimizer **out, svit_model *model,
                                           const svit_optimizer_config *config, svit_error *err);

/* Frees an optimiser. NULL is allowed. */
SVIT_API void svit_optimizer_free(svit_optimizer *optimizer);

/* Updates the model once from the gradients of `session` and sets these to zero. The first update
 * uses step 0 of the schedule. It allocates no memory and treats the floating-point environment as
 * svit_forward does.
 *
 * SVIT_E_ARGUMENT: the session belongs to another model. SVIT_E_STATE: the session was created with
 * SVIT_MODE_INFER, or the model holds its average (svit_optimizer_swap_ema). SVIT_E_NUMERIC names a
 * parameter whose gradient is not finite; weights, slots and gradients are then unchanged. */
SVIT_API svit_status svit_step(svit_optimizer *optimizer, svit_session *session, svit_error *err);

/* Writes the learning rate of update number `step`, from 0, to *learning_rate.
 * SVIT_SCHEDULE_WARMUP_COSINE, WarmUpCosine of Keras' examples (Loshchilov, Hutter 2017), rises
 * linearly from lr_start to learning_rate over warmup_steps, falls to 0 at total_steps as half a
 * cosine, and stays 0. SVIT_E_ARGUMENT as svit_optimizer_create. Any thread may call it. */
SVIT_API svit_status svit_learning_rate(const svit_optimizer_config *config, uint64_t step,
                                        double *learning_rate, svit_error *err);

/* Returns the number of updates so far; 0 for NULL. */
SVIT_API uint64_t svit_optimizer_steps(const svit_optimizer *optimizer);

/* Changes a setting during training. `key` is "learning_rate", "weight_decay", "momentum",
 * "clip_norm" or "ema_momentum". SVIT_E_ARGUMENT names an unknown key, or a value outside
 * svit_optimizer_bounds. */
SVIT_API svit_status svit_optimizer_set_f64(svit_optimizer *optimizer, const char *key,
                                            double value, svit_error *err);

/* Writes the value of a setting of svit_optimizer_set_f64 to *value. The key "gradient_norm" is
 * accepted too: the global norm of the gradients in the last update, before clipping. */
SVIT_API svit_status svit_optimizer_get_f64(const svit_optimizer *optimizer, const char *key,
                                            double *value, svit_error *err);

/* Writes the smallest and the largest value that svit_optimizer_set_f64 accepts for `key` to *min
 * and *max. SVIT_E_ARGUMENT names an unknown key. */
SVIT_API svit_status svit_optimizer_bounds(const svit_optimizer *optimizer, const char *key,
                                           double *min, double *max, svit_error *err);

/* Exchanges the model's weights and their moving average. A first call lets the model use the
 * average, and a second one restores the weights, without which training cannot go on.
 * SVIT_E_STATE: there is no average, or no update yet. */
SVIT_API svit_status svit_optimizer_swap_ema(svit_optimizer *optimizer, svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
