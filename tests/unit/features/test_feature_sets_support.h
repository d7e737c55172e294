/* A model and a data set for the tests of feature sets. */
#ifndef TEST_FEATURE_SETS_SUPPORT_H
#define TEST_FEATURE_SETS_SUPPORT_H

#include "data_support.h"

#include <shiftvit/shiftvit.h>

#include <math.h>

#define OK WORKS

#define SIZE "\"input_height\":24,\"input_width\":24,\"patch_size\":6,\"num_classes\":10,"
__attribute__((unused)) static const char VIT[] =
    "{\"architecture\":\"vit\"," SIZE "\"dim\":24,\"depth\":2,\"heads\":2,\"head_dim\":12,"
    "\"mlp_dim\":40,\"head_units\":[],\"pool\":\"class-mean\",\"register_tokens\":2}";
__attribute__((unused)) static const char DISTILLED[] =
    "{\"architecture\":\"vit\"," SIZE "\"dim\":24,\"depth\":1,\"heads\":2,\"head_dim\":12,"
    "\"mlp_dim\":40,\"head_units\":[],\"pool\":\"class_token\",\"distilled\":true}";
__attribute__((unused)) static const char SHIFTVIT[] =
    "{\"input_height\":24,\"input_width\":24,\"dim\":24,"
    "\"blocks\":[1,1],\"num_classes\":10,\"num_div\":6}";

enum { COUNT = 21, SIDE = 32, PIXELS = 24 * 24 * 3, TOKENS = 19, DIM = 24 };

static inline svit_context *context_of(uint32_t threads)
{
    svit_context_config config;
    svit_context *context = NULL;
    svit_context_config_init(&config, sizeof config);
    config.threads = threads;
    OK(svit_context_create(&context, &config, err));
    return context;
}

typedef struct fixture {
    svit_context *context;
    svit_model *model;
    svit_dataset *data;
} fixture;

static inline svit_pipeline_config pipeline_of(uint32_t side)
{
    svit_pipeline_config config;
    svit_pipeline_config_init(&config, sizeof config);
    config.source_height = config.source_width = SIDE;
    config.resize_height = config.resize_width = side + 2;
    config.output_height = config.output_width = side;
    return config;
}

static inline void open_fixture(fixture *f, const char *json, uint32_t threads)
{
    svit_model_config config;
    const svit_pipeline_config pipeline = pipeline_of(24);
    f->context = context_of(threads);
    OK(svit_model_config_from_json(&config, sizeof config, json, err));
    OK(svit_model_create(&f->model, f->context, &config, 7, err));
    OK(svit_model_set_pipeline(f->model, &pipeline, err));
    OK(svit_dataset_synthetic(&f->data, f->context, 3, SVIT_SPLIT_TRAIN, COUNT, err));
}

static inline void close_fixture(fixture *f)
{
    svit_dataset_free(f->data);
    svit_model_free(f->model);
    svit_context_free(f->context);
}

static inline svit_features *compute(const fixture *f, const char *layer, int32_t tokens,
                                     uint32_t batch)
{
    svit_features_config config;
    svit_features *out = NULL;
    svit_features_config_init(&config, sizeof config);
    config.layer = layer;
    config.tokens = tokens;
    config.batch = batch;
    OK(svit_features_compute(&out, f->model, f->data, NULL, &config, err));
    return out;
}

/* The whole output of a layer for one image of the dataset, by the session's own call. */
static inline void layer_of(const fixture *f, const char *layer, size_t index, float *out,
                            size_t elements)
{
    svit_session_config config;
    svit_session *session = NULL;
    uint8_t rgb[SIDE * SIDE * 3];
    float input[PIXELS];
    int32_t label;
    const svit_pipeline_config pipeline = pipeline_of(24);
    svit_session_config_init(&config, sizeof config);
    config.max_batch = 1;
    config.features = 1;
    OK(svit_session_create(&session, f->model, &config, err));
    OK(svit_dataset_sample(f->data, index, rgb, &label, err));
    OK(svit_pipeline_apply_evaluation(f->context, &pipeline, rgb, 1, SIDE, SIDE, input, err));
    OK(svit_forward_features(session, input, 1, layer, out, elements, err));
    svit_session_free(session);
}

#endif
