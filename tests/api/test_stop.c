/* Checks that every long call asks the context's stop function, on the thread that called, stops at
 * whichever question it gets another answer than 0, and gives the same result afterwards. */
#include "fit.h"

#include <pthread.h>

enum { CLASSES = 4, SIDE = 8, COUNT = 21, BATCH = 8, CHANNELS = 5, QUERIES = 600, WANTED = 7 };
enum { PIXELS = SIDE * SIDE * 3, RESULTS = 4096 };

static struct {
    unsigned questions, stop_at; /* 0: go on for ever */
    pthread_t caller;
} asked;

static int32_t answer(void *user)
{
    ck_assert_ptr_eq(user, &asked);
    ck_assert(pthread_equal(asked.caller, pthread_self()));
    return ++asked.questions == asked.stop_at ? WANTED : 0;
}

/* What a call works on, and what it has found. */
typedef struct world {
    svit_context *context;
    svit_model *model;
    svit_dataset *bytes, *floats;
    svit_features *set, *other; /* of four classes; of one more */
    float results[RESULTS];
} world;

static uint8_t pixels[COUNT * PIXELS];
static float values[COUNT * PIXELS], rows[QUERIES * CHANNELS];
static int32_t labels[QUERIES];

static void draw(void)
{
    uint32_t state = 5;
    for (size_t i = 0; i < COUNT * PIXELS; i++) {
        state = state * 1664525u + 1013904223u;
        pixels[i] = (uint8_t)(state >> 24);
        values[i] = pixels[i];
    }
    for (size_t i = 0; i < QUERIES; i++) {
        labels[i] = (int32_t)(i % CLASSES);
        for (size_t k = 0; k < CHANNELS; k++) {
            state = state * 1664525u + 1013904223u;
            rows[i * CHANNELS + k] = (float)(state >> 8) / 16777216.0f + (float)(k == i % CLASSES);
        }
    }
}

static svit_model *classifier_of_rows(svit_context *context)
{
    svit_model_config config;
    svit_model *model = NULL;
    WORKS(svit_model_config_from_json(
        &config, sizeof config,
        "{\"architecture\":\"vit\",\"input_height\":8,\"input_width\":8,\"patch_size\":4,"
        "\"num_classes\":4,\"dim\":5,\"depth\":1,\"heads\":1,\"head_dim\":4,\"mlp_dim\":8,"
        "\"head_units\":[],\"pool\":\"mean\"}",
        err));
    WORKS(svit_model_create(&model, context, &config, 3, err));
    return model;
}

static world *open_world(void)
{
    world *self = calloc(1, sizeof *self);
    svit_context_config config;
    svit_pipeline_config pipeline;
    ck_assert_ptr_nonnull(self);
    WORKS(svit_context_config_init(&config, sizeof config));
    ck_assert(config.stop == NULL);
    config.threads = 2;
    config.stop = answer;
    config.stop_user = &asked;
    asked.caller = pthread_self();
    asked.questions = asked.stop_at = 0;
    WORKS(svit_context_create(&self->context, &config, err));
    WORKS(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    pipeline.source_height = pipeline.source_width = SIDE;
    pipeline.resize_height = pipeline.resize_width = SIDE;
    pipeline.output_height = pipeline.output_width = SIDE;
    self->model = classifier_of_rows(self->context);
    WORKS(svit_model_set_pipeline(self->model, &pipeline, err));
    WORKS(svit_dataset_memory(&self->bytes, self->context, pixels, labels, COUNT, SIDE, SIDE, 3,
                              CLASSES, err));
    WORKS(svit_dataset_memory_f32(&self->floats, self->context, values, labels, NULL, COUNT, SIDE,
                                  SIDE, 3, CLASSES, err));
    WORKS(svit_features_create(&self->set, self->context, rows, labels, COUNT, CHANNELS, CLASSES,
                               NULL, err));
    WORKS(svit_features_create(&self->other, self->context, rows + 100, NULL, COUNT, CHANNELS, 0,
                               NULL, err));
    return self;
}

static void close_world(world *self)
{
    svit_features_free(self->other);
    svit_features_free(self->set);
    svit_dataset_free(self->floats);
    svit_dataset_free(self->bytes);
    svit_model_free(self->model);
    svit_context_free(self->context);
    free(self);
}

static svit_status predict(world *self, int as_floats, svit_error *error)
{
    svit_predictor *predictor = NULL;
    svit_predictor_config config;
    WORKS(svit_predictor_config_init(&config, sizeof config));
    config.max_batch = BATCH;
    WORKS(svit_predictor_create_from_model(&predictor, self->model, &config, err));
    const svit_status status =
        as_floats ? svit_predict_f32(predictor, values, COUNT, SIDE, SIDE, self->results, error)
                  : svit_predict_u8(predictor, pixels, COUNT, SIDE, SIDE, self->results, error);
    svit_predictor_free(predictor);
    return status;
}

static svit_status predict_u8(world *self, svit_error *error)
{
    return predict(self, 0, error);
}

static svit_status predict_f32(world *self, svit_error *error)
{
    return predict(self, 1, error);
}

static svit_status evaluate(world *self, svit_error *error)
{
    double loss = 0, top1 = 0;
    const svit_status status = svit_evaluate(self->context, self->model, self->bytes, NULL, BATCH,
                                             &loss, &top1, NULL, error);
    self->results[0] = (float)loss;
    self->results[1] = (float)top1;
    return status;
}

static svit_status evaluate_logits(world *self, svit_error *error)
{
    return svit_evaluate_logits(self->context, self->model, self->bytes, NULL, BATCH,
                                SVIT_COMPUTE_F32, SVIT_TTA_NONE, self->results, NULL, error);
}

/* Takes a set that a call has made; a stopped one makes none. */
static void take(world *self, svit_status status, svit_features *made)
{
    ck_assert_int_eq(status == SVIT_OK, made != NULL);
    if (made)
        memcpy(self->results, svit_features_values(made),
               svit_features_count(made) * svit_features_channels(made) * sizeof(float));
    svit_features_free(made);
}

static svit_status compute(world *self, svit_error *error)
{
    svit_features *made = NULL;
    svit_features_config config;
    WORKS(svit_features_config_init(&config, sizeof config));
    config.batch = BATCH;
    const svit_status status =
        svit_features_compute(&made, self->model, self->bytes, NULL, &config, error);
    take(self, status, made);
    return status;
}

static svit_status extract(world *self, svit_error *error)
{
    svit_extractor *extractor = NULL;
    svit_features_config config;
    WORKS(svit_features_config_init(&config, sizeof config));
    config.batch = BATCH;
    WORKS(svit_extractor_create(&extractor, self->model, NULL, &config, err));
    const svit_status status =
        svit_extract_u8(extractor, pixels, COUNT, SIDE, SIDE, self->results, error);
    svit_extractor_free(extractor);
    return status;
}

static svit_status coreset(world *self, svit_error *error)
{
    svit_features *made = NULL;
    const svit_status status = svit_features_coreset(&made, self->set, 5, error);
    take(self, status, made);
    return status;
}

static svit_status nearest(world *self, int32_t metric, svit_error *error)
{
    static size_t indices[QUERIES * 2];
    const svit_status status =
        svit_features_nearest(self->set, rows, QUERIES, 2, metric, indices, self->results, error);
    for (size_t i = 0; i < QUERIES * 2; i++)
        self->results[QUERIES * 2 + i] = (float)indices[i];
    return status;
}

static svit_status nearest_cosine(world *self, svit_error *error)
{
    return nearest(self, SVIT_METRIC_COSINE, error);
}

static svit_status nearest_euclidean(world *self, svit_error *error)
{
    return nearest(self, SVIT_METRIC_EUCLIDEAN, error);
}

static svit_status knn(world *self, svit_error *error)
{
    return svit_features_knn(self->set, rows, QUERIES, 3, 0.07, self->results, error);
}

static svit_status fit_head(world *self, svit_error *error)
{
    svit_head_config config;
    svit_model *model = classifier_of_rows(self->context);
    WORKS(svit_head_config_init(&config, sizeof config));
    config.epochs = 2;
    config.batch = BATCH;
    const svit_status status = svit_model_fit_head(model, self->set, &config, error);
    WORKS(
        svit_model_get_parameter(model, "head.fc1.weight", self->results, CLASSES * CHANNELS, err));
    svit_model_free(model);
    return status;
}

/* A stopped call leaves the model as it was. */
static svit_status fit_class(world *self, svit_error *error)
{
    svit_model *model = classifier_of_rows(self->context);
    const svit_status status =
        svit_model_fit_class(model, NULL, self->other, self->set, NULL, error);
    const size_t classes = CLASSES + (status == SVIT_OK);
    if (status != SVIT_OK) {
        svit_model *fresh = classifier_of_rows(self->context);
        ck_assert(fit_same(model, fresh));
        svit_model_free(fresh);
    }
    WORKS(
        svit_model_get_parameter(model, "head.fc1.weight", self->results, classes * CHANNELS, err));
    svit_model_free(model);
    return status;
}

/* Asks before each row of rotations. A stopped call leaves the model as it was. */
static svit_status whiten(world *self, svit_error *error)
{
    svit_model_config config;
    svit_model *model = NULL;
    WORKS(svit_model_config_from_json(&config, sizeof config,
                                      "{\"stem\":\"whitened\",\"input_height\":8,\"input_width\":8,"
                                      "\"patch_size\":2,\"dim\":12,\"blocks\":[1]}",
                                      err));
    WORKS(svit_model_create(&model, self->context, &config, 1, err));
    const svit_status status = svit_model_whiten(model, values, 4, error);
    if (status != SVIT_OK) {
        svit_model *fresh = NULL;
        WORKS(svit_model_create(&fresh, self->context, &config, 1, err));
        ck_assert(fit_same(model, fresh));
        svit_model_free(fresh);
    }
    svit_model_free(model);
    return status;
}

/* Nine times the samples of a dataset. */
static svit_dataset *repeated(svit_dataset *of)
{
    size_t many[COUNT * 9];
    svit_dataset *dataset = NULL;
    for (size_t i = 0; i < COUNT * 9; i++)
        many[i] = i % COUNT;
    WORKS(svit_dataset_select(&dataset, of, many, COUNT * 9, err));
    return dataset;
}

static svit_status verify(world *self, svit_error *error)
{
    size_t bad = 0;
    svit_dataset *dataset = repeated(self->bytes);
    const svit_status status = svit_dataset_verify(dataset, NULL, NULL, &bad, error);
    self->results[0] = (float)bad;
    svit_dataset_free(dataset);
    return status;
}

static svit_status statistics(world *self, svit_dataset *of, svit_error *error)
{
    double mean[3] = {0}, variance[3] = {0};
    svit_dataset *dataset = repeated(of);
    const svit_status status = svit_dataset_statistics(dataset, 1, mean, variance, error);
    for (size_t c = 0; c < 3; c++) {
        self->results[c] = (float)mean[c];
        self->results[3 + c] = (float)variance[c];
    }
    svit_dataset_free(dataset);
    return status;
}

static svit_status statistics_of_bytes(world *self, svit_error *error)
{
    return statistics(self, self->bytes, error);
}

static svit_status statistics_of_floats(world *self, svit_error *error)
{
    return statistics(self, self->floats, error);
}

/* The calls, and how often they ask; 0: that follows from their numbers. */
static const struct {
    svit_status (*run)(world *self, svit_error *error);
    unsigned questions;
} CALLS[] = {
    {predict_u8, 2},
    {predict_f32, 2},
    {evaluate, 3},
    {evaluate_logits, 3},
    {compute, 3},
    {extract, 2},
    {coreset, 5},
    {nearest_cosine, 3},
    {nearest_euclidean, 3},
    {knn, 3},
    {fit_head, 6},
    {fit_class, 0},
    {whiten, 0},
    {verify, 2},
    {statistics_of_bytes, 2},
    {statistics_of_floats, 6},
};
enum { CALL_COUNT = sizeof CALLS / sizeof *CALLS };

START_TEST(test_a_call_stops_at_every_question)
{
    draw();
    world *self = open_world();
    float *before = malloc(sizeof self->results);
    ck_assert_ptr_nonnull(before);
    WORKS(CALLS[_i].run(self, err));
    memcpy(before, self->results, sizeof self->results);
    const unsigned all = asked.questions;
    ck_assert_uint_ge(all, 2);
    if (CALLS[_i].questions > 0)
        ck_assert_uint_eq(all, CALLS[_i].questions);
    for (unsigned at = 1; at <= all; at++) {
        asked.questions = 0;
        asked.stop_at = at;
        FAILS(CALLS[_i].run(self, err), SVIT_E_STOPPED,
              "the stop function of the context returned 7");
        ck_assert_uint_eq(asked.questions, at);
    }
    asked.stop_at = 0;
    memset(self->results, 0, sizeof self->results);
    WORKS(CALLS[_i].run(self, err));
    ck_assert_mem_eq(before, self->results, sizeof self->results);
    free(before);
    close_world(self);
}
END_TEST

/* One batch is one pass: there is nothing between its parts to stop at. */
START_TEST(test_a_short_prediction_does_not_ask)
{
    draw();
    world *self = open_world();
    svit_predictor *predictor = NULL;
    WORKS(svit_predictor_create_from_model(&predictor, self->model, NULL, err));
    asked.stop_at = 1;
    WORKS(svit_predict_u8(predictor, pixels, COUNT, SIDE, SIDE, self->results, err));
    ck_assert_uint_eq(asked.questions, 0);
    svit_predictor_free(predictor);
    close_world(self);
}
END_TEST

static Suite *stop_suite(void)
{
    Suite *suite = suite_create("stop");
    TCase *all = tcase_create("stop");
    tcase_add_loop_test(all, test_a_call_stops_at_every_question, 0, CALL_COUNT);
    tcase_add_test(all, test_a_short_prediction_does_not_ask);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(stop_suite)
