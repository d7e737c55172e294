/* Checks mapped models: they equal loaded ones in every use, and their file does not change. */
#include "build.h"
#include "test_model_map_support.h"

#include <pthread.h>

static const char *const backends[] = {"tile", "cblas"};

START_TEST(test_a_mapped_model_is_the_loaded_one_to_the_bit)
{
    NEEDS(HAS_CBLAS || _i == 0, "CBLAS");
    svit_context_config config;
    svit_context_config_init(&config, sizeof config);
    config.gemm = backends[_i];
    svit_context *local_context = NULL;
    WORKS(svit_context_create(&local_context, &config, err));
    svit_model *mapped = NULL, *loaded = NULL;
    WORKS(svit_model_map(&mapped, local_context, path, err));
    WORKS(svit_model_load(&loaded, local_context, path, err));
    ck_assert(is_mapped_here(mapped) && !is_mapped(loaded));
    ck_assert(fit_same(mapped, loaded) && fit_same(mapped, origin));
    for (int twice = 0; twice < 2; twice++)
        assert_equal(ask_model(mapped), ask_model(loaded));
    ck_assert(fit_same(mapped, loaded));
    svit_model_free(mapped);
    svit_model_free(loaded);
    svit_context_free(local_context);
}
END_TEST

/* The file continues after the last parameter. */
START_TEST(test_a_checkpoint_is_mapped)
{
    svit_optimizer *optimizer = NULL;
    svit_session *session = session_of(origin, SVIT_MODE_TRAIN);
    WORKS(svit_optimizer_create(&optimizer, origin, NULL, err));
    ask(session); /* the checkpoint has a counter of dropout masks, which mapping ignores */
    WORKS(svit_checkpoint_save(path, origin, optimizer, session, NULL, NULL, 0, err));
    svit_model *mapped = load(1);
    ck_assert(is_mapped_here(mapped) && fit_same(mapped, origin));
    assert_equal(ask_model(mapped), ask_model(origin));
    svit_model_free(mapped);
    svit_optimizer_free(optimizer);
    svit_session_free(session);
}
END_TEST

#define LARGE "layers.1.blocks.0.mlp.fc1.weight" /* a parameter with whole pages of its own */
#define TURNED "layers.0.downsample.reduction.weight"

static void change(svit_model *model, const char *name, float by)
{
    size_t elements = fit_elements(model, name);
    float *values = malloc(elements * sizeof *values);
    WORKS(svit_model_get_parameter(model, name, values, elements, err));
    for (size_t i = 0; i < elements; i++)
        values[i] += by * (float)(i % 7);
    WORKS(svit_model_set_parameter(model, name, values, elements, err));
    free(values);
}

/* The file is replaced before or after the weights are first packed. */
START_TEST(test_what_is_written_stays_and_the_file_does_too)
{
    static const char *const names[] = {LARGE, TURNED, "head.bias", "patch_embed.proj.weight"};
    size_t bytes, bytes_after;
    char *before = fit_read(path, &bytes);
    svit_model *mapped = load(1), *loaded = load(0);
    svit_session *session = session_of(mapped, SVIT_MODE_INFER);
    if (_i)
        assert_equal(ask(session), ask_model(loaded));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        change(mapped, names[i], 0.25f);
        change(loaded, names[i], 0.25f);
        for (int twice = 0; twice < 2; twice++)
            assert_equal(ask_model(mapped), ask_model(loaded));
        assert_equal(ask(session), ask_model(loaded));
        ck_assert(fit_same(mapped, loaded));
    }
    char *after = fit_read(path, &bytes_after);
    ck_assert(bytes == bytes_after && memcmp(before, after, bytes) == 0);
    free(before);
    free(after);
    svit_session_free(session);
    svit_model_free(mapped);
    svit_model_free(loaded);
}
END_TEST

static void train(svit_model *model)
{
    svit_session *session = session_of(model, SVIT_MODE_TRAIN);
    svit_optimizer_config config;
    svit_optimizer_config_init(&config, sizeof config);
    config.clip_norm = 0.01;
    svit_optimizer *optimizer = NULL;
    WORKS(svit_optimizer_create(&optimizer, model, &config, err));
    for (int step = 0; step < 4; step++) {
        answer found = ask(session);
        WORKS(svit_backward(session, found.logits, BATCH, err));
        WORKS(svit_step(optimizer, session, err));
        WORKS(svit_session_zero_gradients(session, err));
    }
    svit_optimizer_free(optimizer);
    svit_session_free(session);
}

START_TEST(test_training_goes_as_on_a_loaded_model)
{
    svit_model *mapped = load(1), *loaded = load(0);
    train(mapped);
    train(loaded);
    ck_assert(is_mapped_here(mapped) && fit_same(mapped, loaded) && !fit_same(mapped, origin));
    assert_equal(ask_model(mapped), ask_model(loaded));
    svit_model_free(mapped);
    svit_model_free(loaded);
}
END_TEST

START_TEST(test_the_file_may_be_replaced_or_removed)
{
    if (_i < 2 && !replaces_mapped_files())
        return;
    svit_model *mapped = load(1), *other = create(16, 2);
    if (_i == 0)
        WORKS(svit_model_save(mapped, path, err));
    else if (_i == 1)
        WORKS(svit_model_save(other, path, err));
    else
        ck_assert_int_eq(unlink(path), 0);
    assert_equal(ask_model(mapped), ask_model(origin));
    ck_assert(fit_same(mapped, origin));
    svit_model_free(mapped);
    svit_model_free(other);
}
END_TEST

/* Returns the kilobytes of mapped files in memory; 0 if the system does not tell. */
static long file_kilobytes(void)
{
    char line[256];
    long found = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        sscanf(line, "RssFile: %ld", &found);
    if (status)
        fclose(status);
    return found;
}

START_TEST(test_packed_weights_leave_memory)
{
    svit_model *large = create(512, 1);
    WORKS(svit_model_save(large, path, err));
    ck_assert_uint_gt(svit_model_parameter_elements(large), 4000000);
    long before = file_kilobytes();
    svit_model *mapped = load(1);
    ck_assert(is_mapped_here(mapped));
    ck_assert_int_lt(file_kilobytes() - before, 2048);
    svit_session *session = session_of(mapped, SVIT_MODE_INFER),
                 *sharing = session_of(mapped, SVIT_MODE_INFER);
    assert_equal(ask(session), ask_model(large));
    ck_assert_int_lt(file_kilobytes() - before, 2048);
    svit_session_free(session);
    assert_equal(ask(sharing), ask_model(large));
    ck_assert_int_lt(file_kilobytes() - before, 2048);
    svit_session_free(sharing);
    svit_model_free(mapped);
    svit_model_free(large);
}
END_TEST

/* Returns the kilobytes of a mapped file's pages that this process has copied; -1 if the system
 * does not tell. */
static long copied_kilobytes(void)
{
    char line[1024];
    long found = -1, here;
    bool inside = false;
    FILE *maps = fopen("/proc/self/smaps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        if (strstr(line, "-p ") || strstr(line, "-s "))
            inside = strstr(line, path) != NULL;
        if (inside && sscanf(line, "Anonymous: %ld", &here) == 1)
            found = (found < 0 ? 0 : found) + here;
    }
    if (maps)
        fclose(maps);
    return found;
}

static svit_predictor *predictor_of(svit_context *of, svit_model *model)
{
    svit_predictor *predictor = NULL;
    svit_predictor_config config;
    svit_predictor_config_init(&config, sizeof config);
    config.max_batch = 1;
    if (model)
        WORKS(svit_predictor_create_from_model(&predictor, model, &config, err));
    else
        WORKS(svit_predictor_create(&predictor, of, path, &config, err));
    return predictor;
}

/* A weight that the file stores in another layout is copied until it is packed. A predictor that
 * has its model to itself then frees the copy, unless a backend reads the weight in place. */
START_TEST(test_a_predictor_keeps_packed_weights_alone)
{
    NEEDS(HAS_CBLAS || _i == 0, "CBLAS");
    uint8_t image[8 * 8 * 3];
    float wanted[CLASSES], got[CLASSES];
    svit_context_config config;
    svit_context *local_context = NULL;
    svit_pipeline_config pipeline;
    svit_context_config_init(&config, sizeof config);
    config.gemm = backends[_i];
    WORKS(svit_context_create(&local_context, &config, err));
    WORKS(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    pipeline.source_height = pipeline.source_width = 8;
    pipeline.resize_height = pipeline.resize_width = 8;
    pipeline.output_height = pipeline.output_width = 8;
    svit_model *large = create(256, 1), *loaded = NULL;
    WORKS(svit_model_set_pipeline(large, &pipeline, err));
    WORKS(svit_model_save(large, path, err));
    WORKS(svit_model_load(&loaded, local_context, path, err));
    long turned = (long)(fit_elements(loaded, TURNED) * sizeof(float) / 1024);
    svit_predictor *mapped = predictor_of(local_context, NULL),
                   *other = predictor_of(local_context, loaded);
    long before = copied_kilobytes();
    for (size_t i = 0; i < sizeof image; i++)
        image[i] = (uint8_t)(i * i % 251);
    for (int twice = 0; twice < 2; twice++) {
        WORKS(svit_predict_u8(mapped, image, 1, 8, 8, got, err));
        WORKS(svit_predict_u8(other, image, 1, 8, 8, wanted, err));
        ck_assert_mem_eq(got, wanted, sizeof got);
    }
    long given_back = before - copied_kilobytes();
    if (before < 0)
        skip_check("this system does not tell which pages are copies");
    else
        ck_assert_msg(strcmp(backends[_i], "tile") == 0 ? given_back > turned - 16
                                                        : given_back == 0,
                      "%s: %ld KiB of %ld were given back", backends[_i], given_back, turned);
    svit_predictor_free(mapped);
    svit_predictor_free(other);
    svit_model_free(loaded);
    svit_model_free(large);
    svit_context_free(local_context);
}
END_TEST

typedef struct reader {
    pthread_t thread;
    svit_model *model;
    answer wanted;
    int wrong; /* answers */
} reader;

static void *read_often(void *argument)
{
    reader *self = argument;
    for (int round = 0; round < 20; round++) {
        answer found = ask_model(self->model);
        self->wrong += memcmp(&found, &self->wanted, sizeof found) != 0;
    }
    return NULL;
}

/* One thread packs the weights while another has just released the pages. */
START_TEST(test_sessions_of_several_threads_share_a_mapped_model)
{
    svit_model *large = create(64, 1);
    WORKS(svit_model_save(large, path, err));
    svit_model *mapped = load(1);
    ck_assert(is_mapped_here(mapped));
    reader readers[2];
    for (int i = 0; i < 2; i++) {
        readers[i] = (reader){.model = mapped, .wanted = ask_model(large)};
        ck_assert_int_eq(pthread_create(&readers[i].thread, NULL, read_often, &readers[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(readers[i].thread, NULL);
        ck_assert_int_eq(readers[i].wrong, 0);
    }
    svit_model_free(mapped);
    svit_model_free(large);
}
END_TEST

START_TEST(test_wrong_calls_are_refused)
{
    svit_model *model = NULL;
    FAILS(svit_model_map(NULL, context, path, err), SVIT_E_ARGUMENT, "out is NULL");
    FAILS(svit_model_map(&model, NULL, path, err), SVIT_E_ARGUMENT, "context is NULL");
    FAILS(svit_model_map(&model, context, NULL, err), SVIT_E_ARGUMENT, "path is NULL");
    FAILS(svit_model_map(&model, context, "/nowhere/at/all", err), SVIT_E_IO, "/nowhere/at/all");
    FAILS(svit_model_map(&model, context, folder.path, err), SVIT_E_IO, "regular");
    ck_assert_ptr_null(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("mapped models");
    TCase *cases = tcase_create("mapped models");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_loop_test(cases, test_a_mapped_model_is_the_loaded_one_to_the_bit, 0,
                        sizeof backends / sizeof *backends);
    tcase_add_test(cases, test_a_checkpoint_is_mapped);
    tcase_add_loop_test(cases, test_what_is_written_stays_and_the_file_does_too, 0, 2);
    tcase_add_test(cases, test_training_goes_as_on_a_loaded_model);
    tcase_add_loop_test(cases, test_the_file_may_be_replaced_or_removed, 0, 3);
    tcase_add_test(cases, test_packed_weights_leave_memory);
    tcase_add_loop_test(cases, test_a_predictor_keeps_packed_weights_alone, 0,
                        sizeof backends / sizeof *backends);
    tcase_add_test(cases, test_sessions_of_several_threads_share_a_mapped_model);
    tcase_add_test(cases, test_wrong_calls_are_refused);
    suite_add_tcase(all, cases);
    return all;
}

TEST_MAIN(suite)
