/* Helpers for tests of LoRA: small ViTs with random parameters, and their training. */
/* Adapters of LoRA: what they change and what not, against plain loops, in files and in training.
 */
#ifndef TEST_LORA_SUPPORT_H
#define TEST_LORA_SUPPORT_H

#include "fit.h"

#include <math.h>
#include <stdbool.h>

enum { N = 5, CLASSES = 5, SIDE = 24, PIXELS = SIDE * SIDE * 3, RANK = 3 };
#define ALPHA 6.0

#define VIT                                                                                        \
    "{\"architecture\":\"vit\",\"input_height\":24,\"input_width\":24,\"patch_size\":6,"           \
    "\"depth\":2,\"num_classes\":5,\"mlp_last_gelu\":false,\"attention_dropout\":0,"               \
    "\"dropout\":0.1,\"head_dropout\":0,\"pool\":\"class_token\""

/* Plain; with LayerScale; heads so wide that they are folded without adapters; the paper's names
 * without biases. */
static const char *const MODELS[] = {
    VIT ",\"dim\":24,\"heads\":2,\"head_dim\":12,\"mlp_dim\":40,\"head_units\":[7]}",
    VIT ",\"dim\":24,\"heads\":2,\"head_dim\":12,\"mlp_dim\":40,\"head_units\":[],"
        "\"layer_scale\":true}",
    VIT ",\"dim\":12,\"heads\":2,\"head_dim\":40,\"mlp_dim\":20,\"head_units\":[]}",
    VIT ",\"dim\":24,\"heads\":2,\"head_dim\":12,\"mlp_dim\":40,\"head_units\":[],"
        "\"names\":\"paper\",\"qkv_bias\":false}"};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS, FOLDED = 2 };

static svit_context *context;
static fit_folder folder;
static float images[N * PIXELS];

static inline void setup(void)
{
    context = fit_context(2);
    folder = fit_folder_make();
    for (size_t i = 0; i < N * PIXELS; i++)
        images[i] = (float)(i * 7 % 31) / 31 - 0.5f;
}

static inline void teardown(void)
{
    svit_context_free(context);
    fit_folder_remove(&folder);
}

/* Gives the parameters whose names contain `part` random values, since zeros hide errors. */
static inline void shake(svit_model *model, const char *part, float size)
{
    uint32_t seed = 3;
    for (size_t i = 0; i < svit_model_parameter_count(model); i++) {
        const char *name = svit_model_parameter_name(model, i);
        if (!strstr(name, part))
            continue;
        size_t elements = fit_elements(model, name);
        float *values = malloc(elements * sizeof *values);
        for (size_t k = 0; k < elements; k++) {
            seed = seed * 1664525 + 1013904223;
            values[k] = size * ((float)(seed >> 8) / (1 << 23) - 1);
        }
        WORKS(svit_model_set_parameter(model, name, values, elements, err));
        free(values);
    }
}

static inline svit_model *open_model(const char *json)
{
    svit_model_config config;
    svit_model *model = NULL;
    WORKS(svit_model_config_from_json(&config, sizeof config, json, err));
    WORKS(svit_model_create(&model, context, &config, 7, err));
    shake(model, "bias", 0.5f);
    shake(model, "gamma", 1);
    return model;
}

static inline svit_session *open_session(svit_model *model, int32_t mode, uint32_t batch)
{
    svit_session_config config;
    svit_session *session = NULL;
    WORKS(svit_session_config_init(&config, sizeof config));
    config.mode = mode;
    config.max_batch = batch;
    config.seed = 5;
    WORKS(svit_session_create(&session, model, &config, err));
    return session;
}

static inline void infer(svit_model *model, float *logits, size_t n)
{
    svit_session *session = open_session(model, SVIT_MODE_INFER, (uint32_t)n);
    WORKS(svit_forward(session, images, n, logits, err));
    svit_session_free(session);
}

/* The logits of two forms of one model: sums of some tens of products of order 1 in another order,
 * over two blocks, so a few hundred roundings of 6e-8. */
static inline void check_near(const float *a, const float *b)
{
    for (size_t i = 0; i < N * CLASSES; i++)
        ck_assert_float_eq_tol(a[i], b[i], 2e-5f * fmaxf(1, fabsf(b[i])));
}

static inline void train(svit_model *model, svit_session *session, svit_optimizer *optimizer,
                         int steps)
{
    static const int32_t labels[N] = {0, 1, 2, 3, 4};
    float logits[N * CLASSES], dlogits[N * CLASSES], loss;
    (void)model;
    for (int step = 0; step < steps; step++) {
        WORKS(svit_forward(session, images, N, logits, err));
        WORKS(svit_cross_entropy(logits, labels, N, CLASSES, 0, &loss, dlogits, err));
        WORKS(svit_backward(session, dlogits, N, err));
        WORKS(svit_step(optimizer, session, err));
    }
}

static inline svit_optimizer *open_optimizer(svit_model *model)
{
    svit_optimizer_config config;
    svit_optimizer *optimizer = NULL;
    WORKS(svit_optimizer_config_init(&config, sizeof config));
    config.learning_rate = 0.01;
    WORKS(svit_optimizer_create(&optimizer, model, &config, err));
    return optimizer;
}

static inline bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), of = strlen(end);
    return length >= of && strcmp(name + length - of, end) == 0;
}

/* w += alpha / rank * b a, in plain loops. */
static inline void add_by_hand(svit_model *to, const svit_model *from, const char *adapter)
{
    char b_name[128], w_name[128];
    const int length = (int)strlen(adapter) - 7;
    snprintf(b_name, sizeof b_name, "%.*s.lora_b", length, adapter);
    snprintf(w_name, sizeof w_name, "%.*s.weight", length, adapter);
    const size_t an = fit_elements(from, adapter), bn = fit_elements(from, b_name);
    const size_t in = an / RANK, out = bn / RANK;
    float *a = malloc(an * sizeof *a), *b = malloc(bn * sizeof *b),
          *w = malloc(out * in * sizeof *w);
    WORKS(svit_model_get_parameter(from, adapter, a, an, err));
    WORKS(svit_model_get_parameter(from, b_name, b, bn, err));
    WORKS(svit_model_get_parameter(from, w_name, w, out * in, err));
    for (size_t o = 0; o < out; o++)
        for (size_t i = 0; i < in; i++) {
            double sum = 0;
            for (size_t k = 0; k < RANK; k++)
                sum += (double)b[o * RANK + k] * a[k * in + i];
            w[o * in + i] = (float)(w[o * in + i] + ALPHA / RANK * sum);
        }
    WORKS(svit_model_set_parameter(to, w_name, w, out * in, err));
    free(a);
    free(b);
    free(w);
}

#endif
