/* Checks that sessions which infer share packed weights: in the bits that a session alone would
 * have, in the memory of one copy, after every change of the model, from many threads at once, and
 * on contexts of their own. */
#include "build.h"
#include "fit.h"

#include <pthread.h>
#include <stdatomic.h>

/* Between them the models have every kind of derived weight: the fused head of a ShiftViT, folded
 * attention, LayerScale, two heads, the folded query of attention pooling. */
static const char *const SUBJECTS[] = {
    "{\"input_height\":16,\"input_width\":16,\"dim\":24,\"blocks\":[1,1],\"num_div\":6}",
    "{\"architecture\":\"vit\",\"input_height\":16,\"input_width\":16,\"patch_size\":4,\"dim\":16,"
    "\"depth\":2,\"heads\":2,\"head_dim\":16,\"mlp_dim\":32,\"head_units\":[32],"
    "\"num_classes\":10,\"attention\":\"lsa\"}",
    "{\"architecture\":\"vit\",\"input_height\":16,\"input_width\":16,\"patch_size\":4,\"dim\":24,"
    "\"depth\":2,\"heads\":2,\"head_dim\":12,\"mlp_dim\":32,\"head_units\":[],"
    "\"num_classes\":10,\"pool\":\"class_token\",\"distilled\":true,\"layer_scale\":true,"
    "\"mlp_last_gelu\":false}",
    ("{\"architecture\":\"vit\",\"input_height\":16,\"input_width\":16,\"patch_size\":4,\"dim\":24,"
     "\"depth\":1,\"heads\":2,\"head_dim\":12,\"mlp_dim\":32,\"head_units\":[],\"num_classes\":10,"
     "\"pool\":\"attention\",\"pool_heads\":3,\"pool_mlp_dim\":40,\"mlp_norm\":true,\"mlp_last_"
     "gelu\":false}"),
    ("{\"architecture\":\"mixer\",\"input_height\":16,\"input_width\":16,\"patch_size\":4,"
     "\"dim\":24,\"depth\":2,\"token_mlp_dim\":20,\"mlp_dim\":48,\"num_classes\":10}"),
};
static const uint32_t BATCHES[] = {1, 5, 20};

enum {
    SUBJECT_COUNT = sizeof SUBJECTS / sizeof *SUBJECTS,
    SIDE = 16,
    CLASSES = 10,
    LARGEST = 20,
    COMPUTES = 3,
    OF_EACH = 2,
    SESSIONS = COMPUTES * 3 * OF_EACH,
    THREADS = 6
};

static float images[LARGEST * SIDE * SIDE * 3];
static svit_context *context;

static void setup(void)
{
    uint32_t state = 12345;
    context = fit_context(2);
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        state = state * 1664525u + 1013904223u;
        images[i] = (float)(state >> 8) / 16777216.0f;
    }
}

static void teardown(void)
{
    svit_context_free(context);
}

/* Counts bytes and overwrites what is released. */
typedef struct ledger {
    atomic_size_t bytes;
} ledger;

static void *ledger_allocate(void *user, size_t bytes, size_t alignment)
{
    void *memory = NULL;
    if (posix_memalign(&memory, alignment, bytes) == 0)
        atomic_fetch_add(&((ledger *)user)->bytes, bytes);
    return memory;
}

static void ledger_release(void *user, void *memory, size_t bytes)
{
    memset(memory, 0xA5, bytes);
    free(memory);
    atomic_fetch_sub(&((ledger *)user)->bytes, bytes);
}

static svit_context *context_make(ledger *book, uint32_t threads, const char *gemm)
{
    svit_context_config config;
    svit_context *made = NULL;
    WORKS(svit_context_config_init(&config, sizeof config));
    config.threads = threads;
    config.gemm = gemm;
    if (book) {
        config.allocate = ledger_allocate;
        config.release = ledger_release;
        config.allocator_user = book;
    }
    WORKS(svit_context_create(&made, &config, err));
    return made;
}

static svit_model *model_make(svit_context *of, const char *json)
{
    svit_model_config config;
    svit_model *model = NULL;
    WORKS(svit_model_config_from_json(&config, sizeof config, json, err));
    WORKS(svit_model_create(&model, of, &config, 4, err));
    return model;
}

static svit_session_config config_make(uint32_t max_batch, int32_t compute)
{
    svit_session_config config;
    WORKS(svit_session_config_init(&config, sizeof config));
    config.max_batch = max_batch;
    config.compute = compute;
    return config;
}

static svit_session *session_make(svit_model *model, const svit_session_config *config)
{
    svit_session *session = NULL;
    WORKS(svit_session_create(&session, model, config, err));
    return session;
}

/* The logits of a session of a copy of the model, which shares nothing. */
static void alone(float *logits, const svit_model *model, svit_session_config config)
{
    size_t bytes = 0;
    svit_model *copy = NULL;
    svit_model_save_memory(model, NULL, 0, &bytes, NULL);
    char *file = malloc(bytes);
    config.context = NULL;
    WORKS(svit_model_save_memory(model, file, bytes, NULL, err));
    WORKS(svit_model_load_memory(&copy, context, file, bytes, err));
    free(file);
    svit_session *session = session_make(copy, &config);
    WORKS(svit_forward(session, images, config.max_batch, logits, err));
    svit_session_free(session);
    svit_model_free(copy);
}

static void check_alone(svit_session *session, const svit_model *model,
                        const svit_session_config *config, const char *when)
{
    float wanted[LARGEST * CLASSES], got[LARGEST * CLASSES];
    alone(wanted, model, *config);
    WORKS(svit_forward(session, images, config->max_batch, got, err));
    ck_assert_msg(memcmp(got, wanted, config->max_batch * CLASSES * sizeof *got) == 0,
                  "%s, compute %d, max_batch %u: the logits are not those of a session alone", when,
                  (int)config->compute, config->max_batch);
}

/* Adds to every weight, so that each is another one. */
static void change(svit_model *model, float by)
{
    const char *name;
    for (size_t i = 0; (name = svit_model_parameter_name(model, i)) != NULL; i++) {
        size_t elements = fit_elements(model, name);
        float *values = malloc(elements * sizeof *values);
        WORKS(svit_model_get_parameter(model, name, values, elements, err));
        for (size_t k = 0; k < elements; k++)
            values[k] += by * (float)(k % 7 + 1);
        WORKS(svit_model_set_parameter(model, name, values, elements, err));
        free(values);
    }
}

static void step(svit_model *model, svit_session *training)
{
    float logits[5 * CLASSES], dlogits[5 * CLASSES];
    const int32_t labels[5] = {3, 1, 4, 1, 5};
    svit_optimizer *optimizer = NULL;
    WORKS(svit_optimizer_create(&optimizer, model, NULL, err));
    WORKS(svit_forward(training, images, 5, logits, err));
    WORKS(svit_cross_entropy(logits, labels, 5, CLASSES, 0, NULL, dlogits, err));
    WORKS(svit_backward(training, dlogits, 5, err));
    WORKS(svit_step(optimizer, training, err));
    svit_optimizer_free(optimizer);
}

START_TEST(test_sessions_of_all_kinds_answer_as_alone_after_every_change)
{
    svit_model *model = model_make(context, SUBJECTS[_i]);
    svit_session *sessions[SESSIONS], *training;
    svit_session_config configs[SESSIONS], train = config_make(5, SVIT_COMPUTE_F32);
    static const char *const WHEN[] = {"at first", "after set_parameter", "after a step",
                                       "after another step"};
    train.mode = SVIT_MODE_TRAIN;
    training = session_make(model, &train);
    for (size_t i = 0; i < SESSIONS; i++) {
        configs[i] = config_make(BATCHES[i / OF_EACH % 3], (int32_t)(i / OF_EACH / 3));
        sessions[i] = session_make(model, &configs[i]);
    }
    for (size_t round = 0; round < 4; round++) {
        if (round == 1)
            change(model, 0.01f);
        if (round > 1)
            step(model, training);
        /* Another session is the first that finds the model changed. */
        for (size_t i = 0; i < SESSIONS; i++) {
            size_t at = round % 2 ? SESSIONS - 1 - i : i;
            check_alone(sessions[at], model, &configs[at], WHEN[round]);
        }
    }
    for (size_t i = 0; i < SESSIONS; i++) {
        check_alone(sessions[i], model, &configs[i], "after others were freed");
        svit_session_free(sessions[i]);
    }
    svit_session_free(training);
    svit_model_free(model);
}
END_TEST

/* A model of whose sessions the weights are most. */
static const char LARGE[] = "{\"input_height\":8,\"input_width\":8,\"dim\":96,\"blocks\":[2,2,2]}";

START_TEST(test_further_sessions_need_no_memory_for_weights)
{
    ledger book = {0};
    svit_context *counted = context_make(&book, 1, NULL);
    svit_model *model = model_make(counted, LARGE);
    /* Norms and biases are not packed, and the fused head packs fewer elements than it replaces. */
    const size_t packed = (size_t)svit_model_parameter_elements(model) * 4 * 8 / 10;
    const svit_session_config one = config_make(1, SVIT_COMPUTE_F32);
    uint64_t needed = 0;
    size_t before = atomic_load(&book.bytes), taken[3];
    svit_session *sessions[3];
    WORKS(svit_session_memory_needed(&needed, model, &one, err));
    ck_assert_uint_eq(atomic_load(&book.bytes), before);
    for (size_t i = 0; i < 3; i++) {
        size_t start = atomic_load(&book.bytes);
        sessions[i] = session_make(model, &one);
        taken[i] = atomic_load(&book.bytes) - start;
        ck_assert_uint_eq(svit_session_memory(sessions[i]), needed);
    }
    ck_assert_uint_gt(taken[0], needed);
    ck_assert_uint_gt(taken[0], packed);
    ck_assert_uint_lt(taken[1], taken[0] - packed);
    ck_assert_uint_eq(taken[1], taken[2]);

    /* The copy stays until the last session that shares it is freed. */
    svit_session_free(sessions[0]);
    svit_session_free(sessions[2]);
    ck_assert_uint_gt(atomic_load(&book.bytes) - before, packed);
    check_alone(sessions[1], model, &one, "the last session");

    /* Another compute type and another input size have copies of their own. */
    svit_session_config other = config_make(1, SVIT_COMPUTE_BF16), wider = one;
    wider.input_width = 12;
    size_t start = atomic_load(&book.bytes);
    sessions[0] = session_make(model, &other);
    ck_assert_uint_gt(atomic_load(&book.bytes) - start, packed / 3);
    start = atomic_load(&book.bytes);
    sessions[2] = session_make(model, &wider);
    ck_assert_uint_gt(atomic_load(&book.bytes) - start, packed);
    for (size_t i = 0; i < 3; i++)
        svit_session_free(sessions[i]);
    ck_assert_uint_eq(atomic_load(&book.bytes), before);
    svit_model_free(model);
    svit_context_free(counted);
    ck_assert_uint_eq(atomic_load(&book.bytes), 0);
}
END_TEST

/* A server thread: creates its session, and then answers in each round. */
typedef struct server {
    svit_model *model;
    svit_session_config config;
    svit_session *session;
    pthread_barrier_t *start;
    float logits[LARGEST * CLASSES];
} server;

static void *serve(void *argument)
{
    server *self = argument;
    pthread_barrier_wait(self->start);
    svit_error error = {.struct_size = sizeof error};
    if ((!self->session &&
         svit_session_create(&self->session, self->model, &self->config, &error) != SVIT_OK) ||
        svit_forward(self->session, images, self->config.max_batch, self->logits, &error))
        return argument;
    return NULL;
}

/* Every second thread has a context of its own. In each round the threads start at once and find a
 * model that has changed; in every third they create their sessions anew. */
START_TEST(test_threads_that_start_at_once_share_one_copy)
{
    svit_model *model = model_make(context, SUBJECTS[_i]);
    pthread_barrier_t start;
    svit_context *own[THREADS] = {NULL};
    server servers[THREADS];
    pthread_t threads[THREADS];
    pthread_barrier_init(&start, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++) {
        if (i % 2)
            own[i] = context_make(NULL, 1, NULL);
        servers[i] = (server){.model = model, .start = &start};
        servers[i].config = config_make(BATCHES[i / 2], SVIT_COMPUTE_F32);
        servers[i].config.context = own[i];
    }
    for (int round = 0; round < 9; round++) {
        for (size_t i = 0; i < THREADS && round % 3 == 0; i++) {
            svit_session_free(servers[i].session);
            servers[i].session = NULL;
        }
        for (size_t i = 0; i < THREADS; i++)
            ck_assert_int_eq(pthread_create(&threads[i], NULL, serve, &servers[i]), 0);
        for (size_t i = 0; i < THREADS; i++) {
            void *failed;
            pthread_join(threads[i], &failed);
            ck_assert_ptr_null(failed);
        }
        for (size_t i = 0; i < THREADS; i++) {
            float wanted[LARGEST * CLASSES];
            alone(wanted, model, servers[i].config);
            ck_assert_msg(memcmp(servers[i].logits, wanted,
                                 servers[i].config.max_batch * CLASSES * sizeof *wanted) == 0,
                          "round %d: thread %zu has other logits", round, i);
        }
        change(model, 0.003f);
    }
    for (size_t i = 0; i < THREADS; i++) {
        svit_session_free(servers[i].session);
        svit_context_free(own[i]);
    }
    pthread_barrier_destroy(&start);
    svit_model_free(model);
}
END_TEST

/* Model, contexts and sessions are freed in an order that each _i gives: one bit for each says
 * whether it goes before the forward. */
START_TEST(test_a_session_outlives_its_model_and_both_contexts)
{
    ledger of_model = {0}, of_session = {0};
    float wanted[LARGEST * CLASSES], got[LARGEST * CLASSES];
    svit_context *first = context_make(&of_model, 2, NULL),
                 *second = context_make(&of_session, 1, NULL);
    svit_model *model = model_make(first, SUBJECTS[_i % SUBJECT_COUNT]);
    svit_session_config config = config_make(5, SVIT_COMPUTE_F32);
    alone(wanted, model, config);
    svit_session *other = session_make(model, &config);
    config.context = second;
    size_t before = atomic_load(&of_model.bytes);
    svit_session *session = session_make(model, &config);
    /* Only the layers are the model's. */
    ck_assert_uint_lt(atomic_load(&of_model.bytes) - before, atomic_load(&of_session.bytes) / 2);
    WORKS(svit_forward(other, images, 5, got, err));
    ck_assert_mem_eq(got, wanted, 5 * CLASSES * sizeof *got);
    if (_i & 1)
        svit_context_free(second);
    if (_i & 2)
        svit_session_free(other);
    if (_i & 4)
        svit_model_free(model);
    if (_i & 8)
        svit_context_free(first);
    WORKS(svit_forward(session, images, 5, got, err));
    ck_assert_mem_eq(got, wanted, 5 * CLASSES * sizeof *got);
    if (!(_i & 8))
        svit_context_free(first);
    if (!(_i & 4))
        svit_model_free(model);
    svit_session_free(session);
    if (!(_i & 2)) {
        WORKS(svit_forward(other, images, 5, got, err));
        ck_assert_mem_eq(got, wanted, 5 * CLASSES * sizeof *got);
        svit_session_free(other);
    }
    if (!(_i & 1))
        svit_context_free(second);
    ck_assert_uint_eq(atomic_load(&of_model.bytes), 0);
    ck_assert_uint_eq(atomic_load(&of_session.bytes), 0);
}
END_TEST

/* A session that trains on another context has the gradients of one on the model's. */
START_TEST(test_training_on_another_context_has_the_same_bits)
{
    svit_model *model = model_make(context, SUBJECTS[_i]);
    svit_context *second = context_make(NULL, 3, NULL);
    float *gradients[2];
    for (int i = 0; i < 2; i++) {
        svit_session_config config = config_make(5, SVIT_COMPUTE_F32);
        float logits[5 * CLASSES];
        config.mode = SVIT_MODE_TRAIN;
        config.context = i ? second : NULL;
        svit_session *session = session_make(model, &config);
        gradients[i] = calloc((size_t)svit_model_parameter_elements(model), sizeof(float));
        WORKS(svit_forward(session, images, 5, logits, err));
        WORKS(svit_backward(session, logits, 5, err));
        fit_copy_gradients(model, session, gradients[i]);
        svit_session_free(session);
    }
    ck_assert_mem_eq(gradients[0], gradients[1],
                     (size_t)svit_model_parameter_elements(model) * sizeof(float));
    free(gradients[0]);
    free(gradients[1]);
    svit_context_free(second);
    svit_model_free(model);
}
END_TEST

START_TEST(test_a_context_that_computes_otherwise_is_refused)
{
    NEEDS(HAS_CBLAS, "CBLAS");
    svit_context *tile = context_make(NULL, 1, "tile"), *cblas = context_make(NULL, 1, "cblas");
    svit_model *model = model_make(tile, SUBJECTS[0]);
    svit_session_config config = config_make(1, SVIT_COMPUTE_F32);
    svit_session *session = NULL;
    svit_predictor *predictor = NULL;
    svit_predictor_config predict;
    svit_pipeline_config pipeline;
    uint64_t bytes = 0;
    config.context = cblas;
    FAILS(svit_session_create(&session, model, &config, err), SVIT_E_ARGUMENT,
          "context has the GEMM backend 'cblas'");
    FAILS(svit_session_memory_needed(&bytes, model, &config, err), SVIT_E_ARGUMENT,
          "the context of the model has 'tile'");
    WORKS(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    pipeline.output_height = pipeline.output_width = SIDE;
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    WORKS(svit_predictor_config_init(&predict, sizeof predict));
    predict.context = cblas;
    FAILS(svit_predictor_create_from_model(&predictor, model, &predict, err), SVIT_E_ARGUMENT,
          "context has the GEMM backend 'cblas'");
    ck_assert_ptr_null(session);
    ck_assert_ptr_null(predictor);
    svit_model_free(model);
    svit_context_free(tile);
    svit_context_free(cblas);
}
END_TEST

/* A predictor on a context of its own answers as one on the model's, and outlives all else. */
START_TEST(test_predictors_run_on_contexts_of_their_own)
{
    ledger book = {0};
    uint8_t image[SIDE * SIDE * 3];
    float wanted[CLASSES], got[CLASSES];
    svit_context *first = context_make(&book, 2, NULL), *second = context_make(&book, 1, NULL);
    svit_model *model = model_make(first, SUBJECTS[0]);
    svit_predictor *on_model = NULL, *own = NULL;
    svit_predictor_config config;
    svit_pipeline_config pipeline;
    for (size_t i = 0; i < sizeof image; i++)
        image[i] = (uint8_t)(i * i % 251);
    WORKS(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    pipeline.source_height = pipeline.source_width = SIDE;
    pipeline.resize_height = pipeline.resize_width = SIDE;
    pipeline.output_height = pipeline.output_width = SIDE;
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    WORKS(svit_predictor_config_init(&config, sizeof config));
    WORKS(svit_predictor_create_from_model(&on_model, model, &config, err));
    config.context = second;
    WORKS(svit_predictor_create_from_model(&own, model, &config, err));
    WORKS(svit_predict_u8(on_model, image, 1, SIDE, SIDE, wanted, err));
    svit_predictor_free(on_model);
    svit_context_free(second);
    svit_context_free(first);
    svit_model_free(model);
    WORKS(svit_predict_u8(own, image, 1, SIDE, SIDE, got, err));
    ck_assert_mem_eq(got, wanted, sizeof got);
    svit_predictor_free(own);
    ck_assert_uint_eq(atomic_load(&book.bytes), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("shared_weights");
    TCase *c = tcase_create("shared_weights");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_sessions_of_all_kinds_answer_as_alone_after_every_change, 0,
                        SUBJECT_COUNT);
    tcase_add_test(c, test_further_sessions_need_no_memory_for_weights);
    tcase_add_loop_test(c, test_threads_that_start_at_once_share_one_copy, 0, SUBJECT_COUNT);
    tcase_add_loop_test(c, test_a_session_outlives_its_model_and_both_contexts, 0, 16);
    tcase_add_loop_test(c, test_training_on_another_context_has_the_same_bits, 0, SUBJECT_COUNT);
    tcase_add_test(c, test_a_context_that_computes_otherwise_is_refused);
    tcase_add_test(c, test_predictors_run_on_contexts_of_their_own);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
