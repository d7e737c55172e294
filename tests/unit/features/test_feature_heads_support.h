/* Models and synthetic features for the tests of classifiers on features. */
#ifndef TEST_FEATURE_HEADS_SUPPORT_H
#define TEST_FEATURE_HEADS_SUPPORT_H

#include "data_support.h"

#include <shiftvit/shiftvit.h>

#include <math.h>

#define SIZE "\"input_height\":24,\"input_width\":24,\"patch_size\":6,\"num_classes\":3,"
#define VIT_OF(fields)                                                                             \
    "{\"architecture\":\"vit\"," SIZE                                                              \
    "\"dim\":24,\"depth\":1,\"heads\":2,\"head_dim\":12,\"mlp_dim\":40," fields "}"

enum { C = 24, WIDE = 48, CLASSES = 3, N = 60, NEW = 20 };
enum { PLAIN, SHIFTVIT, DISTILLED, HIDDEN, MODEL_COUNT };

static const struct {
    const char *json;
    size_t channels;
} MODELS[MODEL_COUNT] = {
    [PLAIN] = {VIT_OF("\"head_units\":[],\"pool\":\"mean\",\"head_norm\":true"), C},
    [SHIFTVIT] = {"{\"input_height\":24,\"input_width\":24,\"dim\":24,\"blocks\":[1,1],"
                  "\"num_classes\":3,\"num_div\":6}",
                  WIDE},
    [DISTILLED] = {VIT_OF("\"head_units\":[],\"pool\":\"class_token\",\"distilled\":true"), WIDE},
    [HIDDEN] = {VIT_OF("\"head_units\":[16],\"pool\":\"mean\",\"head_norm\":true"), C},
};

static const char *const NAMES[CLASSES] = {"cat", "dog", "owl"};

static svit_context *context;
static svit_model *model;

static inline svit_context *context_of(uint32_t threads)
{
    svit_context_config config;
    svit_context *made = NULL;
    svit_context_config_init(&config, sizeof config);
    config.threads = threads;
    WORKS(svit_context_create(&made, &config, err));
    return made;
}

static inline void open_model(size_t index, uint32_t threads)
{
    svit_model_config config;
    context = context_of(threads);
    WORKS(svit_model_config_from_json(&config, sizeof config, MODELS[index].json, err));
    WORKS(svit_model_create(&model, context, &config, 7, err));
    WORKS(svit_model_set_classes(model, NAMES, CLASSES, err));
}

static inline void close_model(void)
{
    svit_model_free(model);
    svit_context_free(context);
}

/* A number in [-1, 1) that depends on the index alone. */
static inline float noise(size_t index)
{
    uint64_t x = (index + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return (float)((double)(x >> 11) / 4503599627370496.0 - 1);
}

/* Samples around a centre for each class; `spread` is the size of the noise. */
static inline svit_features *clusters(size_t n, size_t c, size_t first, size_t classes,
                                      float spread)
{
    float *values = malloc(n * c * sizeof *values);
    int32_t *labels = malloc(n * sizeof *labels);
    svit_features *out = NULL;
    for (size_t i = 0; i < n; i++) {
        const size_t class = first + i % classes;
        labels[i] = (int32_t)(i % classes);
        for (size_t k = 0; k < c; k++)
            values[i * c + k] =
                noise(class * 1000 + k) + spread * noise(7777 + (first + i) * 131 + k * 17);
    }
    WORKS(svit_features_create(&out, context, values, labels, n, c, classes,
                               classes == CLASSES ? NAMES : NULL, err));
    free(values);
    free(labels);
    return out;
}

/* The logits that the model gives to features: logits[n, classes]. */
static inline float *logits_of(const svit_features *set, size_t classes)
{
    svit_session_config config;
    svit_session *session = NULL;
    const size_t n = svit_features_count(set);
    float *logits = malloc(n * classes * sizeof *logits);
    svit_session_config_init(&config, sizeof config);
    config.max_batch = (uint32_t)n;
    strcpy(config.input_layer, "features");
    WORKS(svit_session_create(&session, model, &config, err));
    WORKS(svit_forward(session, svit_features_values(set), n, logits, err));
    svit_session_free(session);
    return logits;
}

static inline uint64_t right(const svit_features *set, size_t classes)
{
    uint64_t count = 0;
    float *logits = logits_of(set, classes);
    WORKS(svit_count_top1(logits, svit_features_labels(set), svit_features_count(set), classes,
                          &count, err));
    free(logits);
    return count;
}

/* All parameters, one after the other; those of the head become 0 if `below`. */
static inline float *weights_of(size_t *elements, int below)
{
    float *all = malloc(svit_model_parameter_elements(model) * sizeof *all);
    const char *name;
    *elements = 0;
    for (size_t i = 0; (name = svit_model_parameter_name(model, i)); i++) {
        int64_t shape[8];
        size_t rank, count = 1;
        WORKS(svit_model_parameter_shape(model, name, shape, &rank, err));
        for (size_t r = 0; r < rank; r++)
            count *= (size_t)shape[r];
        WORKS(svit_model_get_parameter(model, name, all + *elements, count, err));
        if (below && strncmp(name, "head", 4) == 0)
            memset(all + *elements, 0, count * sizeof *all);
        *elements += count;
    }
    return all;
}

#endif
