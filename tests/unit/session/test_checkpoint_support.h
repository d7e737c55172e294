/* Runs that are written to checkpoints and go on from them. */
#ifndef TEST_CHECKPOINT_SUPPORT_H
#define TEST_CHECKPOINT_SUPPORT_H

#include "checkpoint_edit.h"

static svit_context *context;
static fit_folder folder;
static char path[128];

static inline void setup(void)
{
    context = fit_context(2);
    folder = fit_folder_make();
    snprintf(path, sizeof path, "%s", fit_path(&folder, "checkpoint.safetensors"));
}

static inline void teardown(void)
{
    svit_context_free(context);
    fit_folder_remove(&folder);
}

typedef struct run {
    svit_model *model;
    svit_session *session;
    svit_optimizer *optimizer;
} run;

static inline svit_optimizer_config optimizer_config(int32_t kind, int32_t ema)
{
    svit_optimizer_config config;
    WORKS(svit_optimizer_config_init(&config, sizeof config));
    config.kind = kind;
    config.momentum = 0.9;
    config.ema = ema;
    config.ema_momentum = 0.9;
    config.learning_rate = 0.01;
    return config;
}

/* Creates the session and the optimiser of the run's model. `masks` is the seed of dropout. */
static inline void run_open_handles(run *r, uint64_t masks, const svit_optimizer_config *config)
{
    svit_session_config session;
    WORKS(svit_session_config_init(&session, sizeof session));
    session.mode = SVIT_MODE_TRAIN;
    session.max_batch = 2;
    session.seed = masks;
    WORKS(svit_session_create(&r->session, r->model, &session, err));
    WORKS(svit_optimizer_create(&r->optimizer, r->model, config, err));
}

static inline run run_open(uint64_t seed, uint64_t masks, const svit_optimizer_config *config)
{
    run r = {.model = fit_model(context, 4, seed)};
    run_open_handles(&r, masks, config);
    return r;
}

static inline void run_close(run *r)
{
    svit_optimizer_free(r->optimizer);
    svit_session_free(r->session);
    svit_model_free(r->model);
}

static inline void run_steps(run *r, int steps)
{
    float images[2 * 8 * 8 * 3], logits[8], dlogits[8], loss;
    static const int32_t labels[] = {1, 3};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++)
        images[i] = (float)(i % 7) / 7;
    for (int step = 0; step < steps; step++) {
        WORKS(svit_forward(r->session, images, 2, logits, err));
        WORKS(svit_cross_entropy(logits, labels, 2, 4, 0, &loss, dlogits, err));
        WORKS(svit_backward(r->session, dlogits, 2, err));
        WORKS(svit_step(r->optimizer, r->session, err));
    }
}

static const struct {
    int32_t kind, ema;
} kinds[] = {
    {SVIT_OPTIMIZER_ADAMW, SVIT_EMA_NONE},
    {SVIT_OPTIMIZER_ADAMW, SVIT_EMA_KERAS},
    {SVIT_OPTIMIZER_SGD, SVIT_EMA_PLAIN},
};

#endif
