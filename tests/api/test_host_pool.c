/* Checks contexts whose tasks run on the program's own threads (svit_context_config.parallel_for):
 * the same bits as with workers of the library, no thread of the library, and no lock held while
 * the program's function runs. */
#include "fit.h"
#include "hosts.h"

#include <dirent.h>

enum { BATCH = 70, STEPS = 6, CLASSES = 10, PIXELS = 8 * 8 * 3, THREADS = 3 };

static float pixels[BATCH * PIXELS];
static int32_t labels[BATCH];

static void draw_data(void)
{
    uint32_t state = 77;
    for (size_t i = 0; i < BATCH * PIXELS; i++) {
        state = state * 1664525u + 1013904223u;
        pixels[i] = (float)(state >> 8) / 16777216.0f;
    }
    for (size_t i = 0; i < BATCH; i++)
        labels[i] = (int32_t)(i % CLASSES);
}

static svit_context *host_context(uint32_t threads, svit_parallel_for_function host, void *user)
{
    svit_context_config config;
    svit_context *context = NULL;
    WORKS(svit_context_config_init(&config, sizeof config));
    config.threads = threads;
    config.parallel_for = host;
    config.parallel_for_user = user;
    WORKS(svit_context_create(&context, &config, err));
    return context;
}

static svit_session *open_session(svit_model *model, int32_t mode)
{
    svit_session_config config;
    svit_session *session = NULL;
    WORKS(svit_session_config_init(&config, sizeof config));
    config.max_batch = BATCH;
    config.mode = mode;
    WORKS(svit_session_create(&session, model, &config, err));
    return session;
}

static void train(svit_model *model)
{
    static float logits[BATCH * CLASSES], dlogits[BATCH * CLASSES];
    svit_session *session = open_session(model, SVIT_MODE_TRAIN);
    svit_optimizer *optimizer = NULL;
    svit_optimizer_config config;
    svit_optimizer_config_init(&config, sizeof config);
    config.clip_norm = 1;
    WORKS(svit_optimizer_create(&optimizer, model, &config, err));
    for (size_t step = 0; step < STEPS; step++) {
        float loss;
        WORKS(svit_forward(session, pixels, BATCH, logits, err));
        WORKS(svit_cross_entropy(logits, labels, BATCH, CLASSES, 0, &loss, dlogits, err));
        WORKS(svit_backward(session, dlogits, BATCH, err));
        WORKS(svit_step(optimizer, session, err));
    }
    svit_optimizer_free(optimizer);
    svit_session_free(session);
}

static void predict(svit_model *model, float *logits)
{
    svit_session *session = open_session(model, SVIT_MODE_INFER);
    WORKS(svit_forward(session, pixels, BATCH, logits, err));
    svit_session_free(session);
}

START_TEST(test_every_host_gives_the_bits_of_the_library)
{
    static float expected[BATCH * CLASSES], logits[BATCH * CLASSES];
    draw_data();
    svit_context *own = fit_context(THREADS), *other = host_context(THREADS, HOSTS[_i], NULL);
    ck_assert_uint_eq(svit_context_threads(other), THREADS);
    svit_model *a = fit_model(own, CLASSES, 1), *b = fit_model(other, CLASSES, 1);
    train(a);
    unsigned before = atomic_load(&host_calls);
    train(b);
    ck_assert_uint_gt(atomic_load(&host_calls), before + STEPS);
    ck_assert(fit_same(a, b));
    predict(a, expected);
    predict(b, logits);
    ck_assert_mem_eq(logits, expected, sizeof logits);
    svit_model_free(a);
    svit_model_free(b);
    svit_context_free(own);
    svit_context_free(other);
}
END_TEST

static size_t count_threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    if (!folder)
        return 0;
    size_t count = 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

START_TEST(test_the_library_starts_no_thread)
{
    size_t before = count_threads();
    if (before == 0 || ON_WINDOWS) {
        skip_check("/proc/self/task cannot be read");
        return;
    }
    svit_context *own = fit_context(4);
    ck_assert_uint_eq(count_threads(), before + 3);
    svit_context_free(own);
    draw_data();
    svit_context *context = host_context(4, host_in_order, NULL);
    svit_model *model = fit_model(context, CLASSES, 1);
    train(model);
    ck_assert_uint_eq(count_threads(), before);
    svit_model_free(model);
    svit_context_free(context);
}
END_TEST

/* A program whose threads take other work while they wait: each call of parallel_for also predicts
 * with a session of the same model and context, once. */
typedef struct stealing {
    svit_session *other;
    int busy;
    unsigned stolen;
    float logits[BATCH * CLASSES];
} stealing;

static void host_stealing(void *user, size_t count, svit_task_function task, void *task_user)
{
    stealing *self = user;
    if (!self->busy && self->other) {
        self->busy = 1;
        WORKS(svit_forward(self->other, pixels, BATCH, self->logits, err));
        self->stolen++;
        self->busy = 0;
    }
    for (size_t i = 0; i < count; i++)
        task(task_user, i);
}

static void change_weights(svit_model *model)
{
    const char *name = svit_model_parameter_name(model, 0);
    size_t elements = fit_elements(model, name);
    float *values = malloc(elements * sizeof *values);
    WORKS(svit_model_get_parameter(model, name, values, elements, err));
    values[0] += 1;
    WORKS(svit_model_set_parameter(model, name, values, elements, err));
    free(values);
}

START_TEST(test_other_work_may_run_while_the_host_waits)
{
    static stealing self;
    static float expected[BATCH * CLASSES], logits[BATCH * CLASSES];
    self = (stealing){0};
    draw_data();
    svit_context *context = host_context(THREADS, host_stealing, &self);
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_session *first = open_session(model, SVIT_MODE_INFER);
    svit_session *second = open_session(model, SVIT_MODE_INFER);
    WORKS(svit_forward(first, pixels, BATCH, expected, err));
    /* New weights, so that the next forward packs the copy that both sessions read. */
    change_weights(model);
    svit_session *alone = open_session(model, SVIT_MODE_INFER);
    self.other = second;
    WORKS(svit_forward(first, pixels, BATCH, logits, err));
    ck_assert_uint_gt(self.stolen, 0);
    ck_assert_mem_eq(self.logits, logits, sizeof logits);
    ck_assert_mem_ne(logits, expected, sizeof logits);
    self.other = NULL;
    WORKS(svit_forward(alone, pixels, BATCH, expected, err));
    ck_assert_mem_eq(logits, expected, sizeof logits);
    svit_session_free(first);
    svit_session_free(second);
    svit_session_free(alone);
    svit_model_free(model);
    svit_context_free(context);
}
END_TEST

/* Arrays that are divided among the workers are cleared on them: weights, gradients and moments. */
START_TEST(test_large_arrays_are_cleared_on_the_host)
{
    svit_context *context = host_context(THREADS, host_in_order, NULL);
    svit_model_config config = fit_model_config(CLASSES);
    config.dim = 128;
    config.num_div = 16;
    svit_model *model = NULL;
    WORKS(svit_model_create(&model, context, &config, 1, err));
    ck_assert_uint_gt(svit_model_parameter_elements(model), 3 * 65536);
    unsigned before = atomic_load(&host_calls);
    svit_session *session = open_session(model, SVIT_MODE_TRAIN);
    ck_assert_uint_eq(atomic_load(&host_calls), before + 1);
    WORKS(svit_session_zero_gradients(session, err));
    ck_assert_uint_eq(atomic_load(&host_calls), before + 2);
    svit_optimizer_config moments;
    svit_optimizer *optimizer = NULL;
    WORKS(svit_optimizer_config_init(&moments, sizeof moments));
    WORKS(svit_optimizer_create(&optimizer, model, &moments, err));
    ck_assert_uint_eq(atomic_load(&host_calls), before + 4);
    svit_optimizer_free(optimizer);
    svit_session_free(session);
    svit_model_free(model);
    svit_context_free(context);
}
END_TEST

static Suite *host_pool_suite(void)
{
    Suite *suite = suite_create("host_pool");
    TCase *all = tcase_create("host_pool");
    tcase_add_loop_test(all, test_every_host_gives_the_bits_of_the_library, 0, HOST_COUNT);
    tcase_add_test(all, test_the_library_starts_no_thread);
    tcase_add_test(all, test_other_work_may_run_while_the_host_waits);
    tcase_add_test(all, test_large_arrays_are_cleared_on_the_host);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(host_pool_suite)
