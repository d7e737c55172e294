/* Checks activation checkpointing: with every memory option, logits and gradients have the same
 * bits, in less memory. */
#include "fit.h"

#include <shiftvit/shiftvit.h>

static const char *const SUBJECTS[] = {
    /* Stages of one, two and five blocks, so that segments are split and joined. */
    "{\"input_height\":24,\"input_width\":20,\"dim\":24,\"blocks\":[2,5,1],\"num_div\":6,"
    "\"dropout\":0.2,\"drop_path\":0.3,\"patch_norm\":true,\"final_norm\":true}",
    "{\"input_height\":21,\"input_width\":20,\"dim\":24,\"blocks\":[3,2],\"num_div\":6,"
    "\"norm\":\"group\",\"patch_padding\":\"valid\",\"merge_padding\":\"valid\",\"dropout\":0.1,"
    "\"drop_path\":0.2}",
    "{\"architecture\":\"vit\",\"input_height\":20,\"input_width\":20,\"patch_size\":4,\"dim\":24,"
    "\"depth\":5,\"heads\":2,\"head_dim\":24,\"mlp_dim\":48,\"head_units\":[32,16],"
    "\"num_classes\":10,\"dropout\":0.1,\"attention_dropout\":0.1,\"head_dropout\":0.5,"
    "\"drop_path\":0.2}",
    "{\"architecture\":\"vit\",\"input_height\":20,\"input_width\":20,\"patch_size\":4,\"dim\":24,"
    "\"depth\":4,\"heads\":2,\"head_dim\":12,\"mlp_dim\":48,\"head_units\":[],\"num_classes\":10,"
    "\"tokenizer\":\"spt\",\"attention\":\"lsa\",\"pool\":\"class_token\",\"dropout\":0.1,"
    "\"attention_dropout\":0.1,\"head_dropout\":0.1,\"drop_path\":0.2}",
    "{\"architecture\":\"vit\",\"input_height\":20,\"input_width\":20,\"patch_size\":4,\"dim\":24,"
    "\"depth\":3,\"heads\":2,\"head_dim\":12,\"mlp_dim\":48,\"head_units\":[],\"num_classes\":10,"
    "\"dropout\":0.1,\"drop_path\":0.2,\"pool\":\"attention\",\"pool_heads\":3,\"pool_mlp_dim\":40,"
    "\"mlp_norm\":true,\"mlp_last_gelu\":false}",
    "{\"architecture\":\"mixer\",\"input_height\":20,\"input_width\":20,\"patch_size\":4,"
    "\"dim\":24,\"depth\":5,\"token_mlp_dim\":20,\"mlp_dim\":48,\"num_classes\":10,"
    "\"dropout\":0.1,\"drop_path\":0.2}",
    "{\"architecture\":\"vit\",\"input_height\":20,\"input_width\":20,\"patch_size\":4,\"dim\":24,"
    "\"depth\":4,\"heads\":2,\"head_dim\":12,\"mlp_dim\":48,\"head_units\":[],\"num_classes\":10,"
    "\"dropout\":0.1,\"attention_dropout\":0.1,\"drop_path\":0.2,\"pool\":\"mean\","
    "\"attention\":\"differential\",\"block\":\"parallel-fused\",\"rms_norm\":true}",
    /* a model with few saved activations */
    "{\"input_height\":8,\"input_width\":8,\"dim\":12,\"blocks\":[1,1],\"drop_path\":0.2}",
};
static const uint32_t THREADS[] = {1, 3};

enum {
    SUBJECT_COUNT = sizeof SUBJECTS / sizeof *SUBJECTS,
    DEEP = 5, /* models deep enough that checkpointing saves memory */
    MEMORIES = 3,
    BATCH = 40,
    CLASSES = 10,
    STEPS = 3,
    PIXELS = BATCH * 24 * 20 * 3
};

static float pixels[PIXELS], disturbed[PIXELS];
static int32_t labels[BATCH];

static void setup(void)
{
    uint32_t state = 12345;
    for (size_t i = 0; i < PIXELS; i++) {
        state = state * 1664525u + 1013904223u;
        pixels[i] = (float)(state >> 8) / 16777216.0f;
    }
    for (size_t i = 0; i < BATCH; i++)
        labels[i] = (int32_t)(i % CLASSES);
}

/* Allocates memory full of NaN and counts the requests. */
static void *take_dirty(void *user, size_t bytes, size_t alignment)
{
    ++*(size_t *)user;
    void *memory = NULL;
    return posix_memalign(&memory, alignment, bytes) ? NULL : memset(memory, 0xFF, bytes);
}

static void release(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(memory);
}

typedef struct fixture {
    svit_context *context;
    svit_model *model;
    svit_session *session;
    size_t requests;
} fixture;

static svit_session_config session_config(int32_t memory)
{
    svit_session_config config;
    WORKS(svit_session_config_init(&config, sizeof config));
    config.max_batch = BATCH;
    config.mode = SVIT_MODE_TRAIN;
    config.seed = 9;
    config.memory = memory;
    return config;
}

static void fixture_open(fixture *self, const char *json, int32_t memory, uint32_t threads)
{
    svit_context_config context;
    svit_model_config model;
    svit_session_config session = session_config(memory);
    WORKS(svit_context_config_init(&context, sizeof context));
    context.threads = threads;
    context.allocate = take_dirty;
    context.release = release;
    context.allocator_user = &self->requests;
    WORKS(svit_context_create(&self->context, &context, err));
    WORKS(svit_model_config_from_json(&model, sizeof model, json, err));
    WORKS(svit_model_create(&self->model, self->context, &model, 4, err));
    WORKS(svit_session_create(&self->session, self->model, &session, err));
}

static void fixture_close(fixture *self)
{
    svit_session_free(self->session);
    svit_model_free(self->model);
    svit_context_free(self->context);
}

/* Runs one forward and backward over n images. In between it does all that a caller may do: it
 * overwrites the images and sets another dropout counter. Writes the logits and the gradients to
 * `to` and returns where they end. */
static float *pass(fixture *self, size_t n, float *to)
{
    float dlogits[BATCH * CLASSES], loss;
    uint64_t counter = svit_session_counter(self->session);
    size_t requests = self->requests;
    memcpy(disturbed, pixels, sizeof pixels);
    WORKS(svit_forward(self->session, disturbed, n, to, err));
    WORKS(svit_cross_entropy(to, labels, n, CLASSES, 0.1f, &loss, dlogits, err));
    memset(disturbed, 0xFF, sizeof disturbed);
    WORKS(svit_session_set_counter(self->session, 77, err));
    WORKS(svit_backward(self->session, dlogits, n, err));
    WORKS(svit_session_set_counter(self->session, counter + 1, err));
    ck_assert_uint_eq(self->requests, requests);
    return fit_copy_gradients(self->model, self->session, to + n * CLASSES);
}

static size_t numbers(const fixture *self)
{
    return STEPS * (BATCH * CLASSES + svit_model_parameter_elements(self->model));
}

/* Returns the logits and gradients of consecutive steps, the second one on fewer images; each step
 * changes the weights. The caller frees the array. */
static float *run(const char *json, int32_t memory, uint32_t threads, size_t *count)
{
    fixture b = {0};
    fixture_open(&b, json, memory, threads);
    svit_optimizer *optimizer = NULL;
    WORKS(svit_optimizer_create(&optimizer, b.model, NULL, err));
    float *all = calloc(numbers(&b), sizeof *all), *to = all;
    for (size_t step = 0; step < STEPS; step++) {
        to = pass(&b, step == 1 ? 17 : BATCH, to);
        WORKS(svit_step(optimizer, b.session, err));
    }
    *count = (size_t)(to - all);
    svit_optimizer_free(optimizer);
    fixture_close(&b);
    return all;
}

START_TEST(test_all_options_give_the_same_bits_on_any_number_of_threads)
{
    size_t count, other;
    float *stored = run(SUBJECTS[_i], SVIT_MEMORY_STORE, 1, &count);
    for (size_t i = 0; i < count; i++)
        if (stored[i] - stored[i] != 0)
            ck_abort_msg("value %zu is not finite", i);
    for (int32_t memory = 0; memory < MEMORIES; memory++)
        for (size_t i = 0; i < sizeof THREADS / sizeof *THREADS; i++) {
            float *again = run(SUBJECTS[_i], memory, THREADS[i], &other);
            ck_assert_uint_eq(count, other);
            for (size_t k = 0; k < count; k++)
                if (memcmp(&stored[k], &again[k], sizeof *again) != 0)
                    ck_abort_msg("memory %d, %u threads: value %zu is %.9g, not %.9g", memory,
                                 THREADS[i], k, again[k], stored[k]);
            free(again);
        }
    free(stored);
}
END_TEST

START_TEST(test_each_option_takes_less_memory_than_the_one_before)
{
    uint64_t before = UINT64_MAX;
    for (int32_t memory = 0; memory < MEMORIES; memory++) {
        fixture b = {0};
        uint64_t planned = 0;
        svit_session_config config = session_config(memory);
        fixture_open(&b, SUBJECTS[_i], memory, 1);
        WORKS(svit_session_memory_needed(&planned, b.model, &config, err));
        ck_assert_uint_eq(planned, svit_session_memory(b.session));
        ck_assert_uint_le(planned, before);
        if (_i < DEEP)
            ck_assert_uint_lt(planned, before);
        before = planned;
        config.mode = SVIT_MODE_INFER;
        WORKS(svit_session_memory_needed(&planned, b.model, &config, err));
        config.memory = SVIT_MEMORY_STORE;
        uint64_t stored = 0;
        WORKS(svit_session_memory_needed(&stored, b.model, &config, err));
        ck_assert_uint_eq(planned, stored);
        fixture_close(&b);
    }
}
END_TEST

/* Of a session of a preset, at the batch that it trains with, saved activations are the largest
 * part. */
START_TEST(test_presets_save_a_large_part_of_their_sessions)
{
    static const struct {
        const char *name;
        double blocks, stages; /* at most this part of the memory that SVIT_MEMORY_STORE needs */
    } rows[] = {{"shiftvit-cifar10", 0.75, 0.6},
                {"vit-cifar100", 0.75, 0.6},
                {"slvit-cifar100", 0.75, 0.6}};
    svit_context *context = fit_context(1);
    svit_model_config model;
    svit_model *made = NULL;
    WORKS(svit_model_config_preset(&model, sizeof model, rows[_i].name, err));
    WORKS(svit_model_create(&made, context, &model, 1, err));
    double bytes[MEMORIES];
    for (int32_t memory = 0; memory < MEMORIES; memory++) {
        svit_session_config config = session_config(memory);
        uint64_t planned = 0;
        config.max_batch = 256;
        WORKS(svit_session_memory_needed(&planned, made, &config, err));
        bytes[memory] = (double)planned;
    }
    ck_assert_double_le(bytes[1], rows[_i].blocks * bytes[0]);
    ck_assert_double_le(bytes[2], rows[_i].stages * bytes[0]);
    svit_model_free(made);
    svit_context_free(context);
}
END_TEST

/* Inference between the training steps of a session does not change the training. */
START_TEST(test_inference_between_the_steps_changes_nothing)
{
    for (int32_t memory = 0; memory < MEMORIES; memory++) {
        fixture plain = {0}, mixed = {0};
        fixture_open(&plain, SUBJECTS[_i], memory, 1);
        fixture_open(&mixed, SUBJECTS[_i], memory, 1);
        float *a = calloc(numbers(&plain), sizeof *a), *b = calloc(numbers(&plain), sizeof *b);
        float logits[BATCH * CLASSES], other[BATCH * CLASSES];
        float *end = pass(&plain, BATCH, pass(&plain, BATCH, a));
        float *to = pass(&mixed, BATCH, b);
        svit_session_config config = session_config(SVIT_MEMORY_STORE);
        svit_session *infers = NULL;
        config.mode = SVIT_MODE_INFER;
        WORKS(svit_session_create(&infers, mixed.model, &config, err));
        WORKS(svit_forward(infers, pixels, BATCH, other, err));
        WORKS(svit_forward(mixed.session, pixels, BATCH, logits, err));
        WORKS(svit_session_set_counter(mixed.session, 1, err));
        WORKS(svit_session_set_mode(mixed.session, SVIT_MODE_INFER, err));
        WORKS(svit_forward(mixed.session, pixels, BATCH, logits, err));
        ck_assert_mem_eq(logits, other, sizeof logits);
        FAILS(svit_backward(mixed.session, logits, BATCH, err), SVIT_E_STATE, "without a forward");
        WORKS(svit_session_set_mode(mixed.session, SVIT_MODE_TRAIN, err));
        pass(&mixed, BATCH, to);
        ck_assert_mem_eq(a, b, (size_t)(end - a) * sizeof *a);
        svit_session_free(infers);
        free(a);
        free(b);
        fixture_close(&plain);
        fixture_close(&mixed);
    }
}
END_TEST

START_TEST(test_other_values_are_refused)
{
    static const int32_t values[] = {-1, 3, INT32_MAX};
    fixture b = {0};
    fixture_open(&b, SUBJECTS[0], SVIT_MEMORY_STORE, 1);
    for (size_t i = 0; i < 3; i++) {
        svit_session_config config = session_config(values[i]);
        svit_session *out = NULL;
        uint64_t bytes = 5;
        FAILS(svit_session_create(&out, b.model, &config, err), SVIT_E_ARGUMENT,
              "it is 0..2: 'store' or 'blocks' or 'stages'");
        FAILS(svit_session_memory_needed(&bytes, b.model, &config, err), SVIT_E_ARGUMENT,
              "memory is ");
        ck_assert_ptr_null(out);
        ck_assert_uint_eq(bytes, 5);
    }
    fixture_close(&b);
}
END_TEST

static Suite *memory_suite(void)
{
    Suite *suite = suite_create("memory");
    TCase *all = tcase_create("options");
    tcase_add_checked_fixture(all, setup, NULL);
    add_cases(all, test_all_options_give_the_same_bits_on_any_number_of_threads, SUBJECT_COUNT);
    tcase_add_loop_test(all, test_each_option_takes_less_memory_than_the_one_before, 0,
                        SUBJECT_COUNT);
    tcase_add_loop_test(all, test_presets_save_a_large_part_of_their_sessions, 0, 3);
    tcase_add_loop_test(all, test_inference_between_the_steps_changes_nothing, 0, SUBJECT_COUNT);
    tcase_add_test(all, test_other_values_are_refused);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(memory_suite)
