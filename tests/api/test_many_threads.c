/* Checks that training and inference have the same bits on many more threads than there are cores,
 * images or token blocks, for a small model of every architecture. Memory comes filled with NaN, so
 * that nobody reads what it has not written. (The scratch of 256 workers takes too long to
 * fill.) */
#include "fit.h"

#include <shiftvit/shiftvit.h>

enum { BATCH = 41, STEPS = 2, CLASSES = 10, SIDE = 12, PIXELS = SIDE * SIDE * 3 };

static const uint32_t THREADS[] = {1, 2, 3, 64, 65, 127, 128, 200, 256};
enum { THREAD_COUNTS = sizeof THREADS / sizeof *THREADS };

#define IMAGES "\"input_height\":12,\"input_width\":12,\"num_classes\":10,"

/* Every architecture has a row, which the last test checks. Wide layers are split otherwise than
 * narrow ones. */
static const struct {
    const char *architecture;
    const char *json; /* without the architecture and its braces */
    int32_t optimizer;
} SUBJECTS[] = {
    {"shiftvit", "\"patch_size\":2,\"dim\":12,\"blocks\":[1,1],\"num_div\":6",
     SVIT_OPTIMIZER_ADAMW},
    {"shiftvit", "\"patch_size\":2,\"dim\":12,\"blocks\":[1],\"mixer\":\"depthwise\"",
     SVIT_OPTIMIZER_LION},
    {"shiftvit", "\"patch_size\":4,\"dim\":176,\"blocks\":[1],\"num_div\":16", SVIT_OPTIMIZER_SGD},
    {"vit",
     "\"patch_size\":3,\"dim\":12,\"depth\":2,\"heads\":3,\"head_dim\":4,\"mlp_dim\":24,"
     "\"head_units\":[24],\"tokenizer\":\"spt\",\"attention\":\"lsa\",\"dropout\":0.1,"
     "\"attention_dropout\":0.1,\"drop_path\":0.1",
     SVIT_OPTIMIZER_MUON},
    {"vit",
     "\"patch_size\":3,\"dim\":160,\"depth\":1,\"heads\":5,\"head_dim\":32,\"mlp_dim\":640,"
     "\"head_units\":[]",
     SVIT_OPTIMIZER_ADAMW},
    {"mixer",
     "\"patch_size\":3,\"dim\":24,\"depth\":2,\"token_mlp_dim\":12,\"mlp_dim\":40,\"dropout\":0.1,"
     "\"drop_path\":0.1",
     SVIT_OPTIMIZER_ADAMW},
};
enum { SUBJECT_COUNT = sizeof SUBJECTS / sizeof *SUBJECTS };

static float pixels[BATCH * PIXELS];
static int32_t labels[BATCH];

static void draw_data(void)
{
    uint32_t state = 4711;
    for (size_t i = 0; i < BATCH * PIXELS; i++) {
        state = state * 1664525u + 1013904223u;
        pixels[i] = (float)(state >> 8) / 16777216.0f;
    }
    for (size_t i = 0; i < BATCH; i++)
        labels[i] = (int32_t)(i % CLASSES);
}

static void *allocate_nan(void *user, size_t bytes, size_t alignment)
{
    enum { FILLED = 16 << 20 };
    void *memory = NULL;
    (void)user;
    if (posix_memalign(&memory, alignment, bytes) != 0)
        return NULL;
    return memset(memory, 0xFF, bytes < FILLED ? bytes : FILLED);
}

static void release(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(memory);
}

static svit_context *open_context(uint32_t threads)
{
    svit_context *context = NULL;
    svit_context_config config;
    WORKS(svit_context_config_init(&config, sizeof config));
    config.threads = threads;
    config.allocate = allocate_nan;
    config.release = release;
    WORKS(svit_context_create(&context, &config, err));
    return context;
}

static svit_model *open_model(svit_context *context, size_t subject)
{
    char json[640];
    svit_model *model = NULL;
    svit_model_config config;
    snprintf(json, sizeof json, "{\"architecture\":\"%s\"," IMAGES "%s}",
             SUBJECTS[subject].architecture, SUBJECTS[subject].json);
    WORKS(svit_model_config_from_json(&config, sizeof config, json, err));
    WORKS(svit_model_create(&model, context, &config, 5, err));
    return model;
}

static svit_session *open_session(svit_model *model, int32_t mode, uint32_t max_batch)
{
    svit_session *session = NULL;
    svit_session_config config;
    WORKS(svit_session_config_init(&config, sizeof config));
    config.max_batch = max_batch;
    config.mode = mode;
    config.seed = 11;
    WORKS(svit_session_create(&session, model, &config, err));
    return session;
}

static svit_optimizer *open_optimizer(svit_model *model, int32_t kind)
{
    svit_optimizer *optimizer = NULL;
    svit_optimizer_config config;
    WORKS(svit_optimizer_config_init(&config, sizeof config));
    config.kind = kind;
    config.clip_norm = 1;
    config.ema = SVIT_EMA_PLAIN;
    WORKS(svit_optimizer_create(&optimizer, model, &config, err));
    return optimizer;
}

/* What must not depend on the number of threads. */
typedef struct results {
    float *weights; /* after training */
    size_t count;
    float logits[STEPS + 2][BATCH * CLASSES]; /* of each step, of the batch and of one image */
} results;

static void train(results *out, svit_model *model, int32_t kind)
{
    static float dlogits[BATCH * CLASSES];
    svit_session *session = open_session(model, SVIT_MODE_TRAIN, BATCH);
    svit_optimizer *optimizer = open_optimizer(model, kind);
    for (size_t step = 0; step < STEPS; step++) {
        const size_t n = step % 2 ? BATCH / 2 : BATCH;
        float loss;
        WORKS(svit_forward(session, pixels, n, out->logits[step], err));
        WORKS(svit_cross_entropy(out->logits[step], labels, n, CLASSES, 0.1f, &loss, dlogits, err));
        WORKS(svit_backward(session, dlogits, n, err));
        WORKS(svit_step(optimizer, session, err));
    }
    out->count = (size_t)svit_model_parameter_elements(model);
    out->weights = malloc(out->count * sizeof *out->weights);
    ck_assert_ptr_nonnull(out->weights);
    fit_copy_weights(model, out->weights);
    svit_optimizer_free(optimizer);
    svit_session_free(session);
}

static void infer(float *logits, svit_model *model, uint32_t n)
{
    svit_session *session = open_session(model, SVIT_MODE_INFER, n);
    WORKS(svit_forward(session, pixels, n, logits, err));
    svit_session_free(session);
}

static void compute(results *out, size_t subject, uint32_t threads)
{
    memset(out, 0, sizeof *out);
    svit_context *context = open_context(threads);
    svit_model *model = open_model(context, subject);
    ck_assert_uint_eq(svit_context_threads(context), threads);
    train(out, model, SUBJECTS[subject].optimizer);
    infer(out->logits[STEPS], model, BATCH);
    infer(out->logits[STEPS + 1], model, 1);
    svit_model_free(model);
    svit_context_free(context);
}

START_TEST(test_many_threads_give_the_bits_of_one)
{
    static results one, many;
    const size_t subject = (size_t)_i;
    draw_data();
    compute(&one, subject, THREADS[0]);
    for (size_t i = 1; i < THREAD_COUNTS; i++) {
        compute(&many, subject, THREADS[i]);
        ck_assert_uint_eq(one.count, many.count);
        ck_assert_msg(memcmp(one.logits, many.logits, sizeof one.logits) == 0 &&
                          memcmp(one.weights, many.weights, one.count * sizeof(float)) == 0,
                      "%s (%zu): %u threads differ from 1", SUBJECTS[subject].architecture, subject,
                      THREADS[i]);
        free(many.weights);
    }
    free(one.weights);
}
END_TEST

START_TEST(test_every_architecture_has_a_subject)
{
    static const char PREFIX[] = "SVIT_ARCHITECTURE_";
    size_t found = 0;
    const char *name;
    for (size_t i = 0; (name = svit_constant_name(i)) != NULL; i++) {
        if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0)
            continue;
        int64_t value;
        int has_subject = 0;
        WORKS(svit_constant(name, &value, err));
        for (size_t k = 0; k < SUBJECT_COUNT; k++) {
            svit_context *context = open_context(1);
            svit_model *model = open_model(context, k);
            svit_model_config config;
            WORKS(svit_model_get_config(model, &config, sizeof config, err));
            has_subject |= config.architecture == value;
            svit_model_free(model);
            svit_context_free(context);
        }
        ck_assert_msg(has_subject, "%s has no subject", name);
        found++;
    }
    ck_assert_uint_gt(found, 0);
}
END_TEST

static Suite *many_threads_suite(void)
{
    Suite *suite = suite_create("many_threads");
    TCase *all = tcase_create("threads");
    tcase_add_loop_test(all, test_many_threads_give_the_bits_of_one, 0, SUBJECT_COUNT);
    tcase_add_test(all, test_every_architecture_has_a_subject);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(many_threads_suite)
