/* Makes the n-th allocation fail, for every n, in the calls of feature sets. Each time the call
 * returns a status, leaks nothing, and a class that is not added leaves the model as it was. */
#include "ledger.h"
#include "suite.h"

#include <shiftvit/shiftvit.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CLASSES = 3, COUNT = 12, SIDE = 12 };

static const char MODEL[] =
    "{\"input_height\":12,\"input_width\":12,\"dim\":12,\"blocks\":[1,1],\"num_classes\":3}";
static const char *const NAMES[CLASSES] = {"a", "b", "c"};

static char path[64];
static uint8_t rgb[COUNT * SIDE * SIDE * 3];
static int32_t labels[COUNT];

typedef struct scene {
    svit_context *context;
    svit_model *model;
    svit_dataset *dataset;
    svit_features *features, *stored, *copied;
} scene;

static svit_status make_model(scene *s, const svit_context_config *config)
{
    svit_model_config small;
    svit_status status = svit_model_config_from_json(&small, sizeof small, MODEL, NULL);
    if (status == SVIT_OK)
        status = svit_context_create(&s->context, config, NULL);
    if (status == SVIT_OK)
        status = svit_model_create(&s->model, s->context, &small, 1, NULL);
    if (status == SVIT_OK)
        status = svit_model_set_classes(s->model, NAMES, CLASSES, NULL);
    return status == SVIT_OK ? svit_dataset_memory(&s->dataset, s->context, rgb, labels, COUNT,
                                                   SIDE, SIDE, 3, CLASSES, NULL)
                             : status;
}

static svit_status make_sets(scene *s)
{
    float probabilities[COUNT * CLASSES];
    svit_pipeline_config pipeline;
    svit_pipeline_config_init(&pipeline, sizeof pipeline);
    pipeline.source_height = pipeline.source_width = SIDE;
    pipeline.resize_height = pipeline.resize_width = SIDE;
    pipeline.output_height = pipeline.output_width = SIDE;
    svit_status status =
        svit_features_compute(&s->features, s->model, s->dataset, &pipeline, NULL, NULL);
    if (status == SVIT_OK)
        status =
            svit_features_create(&s->copied, s->context, svit_features_values(s->features), labels,
                                 COUNT, svit_features_channels(s->features), CLASSES, NAMES, NULL);
    if (status == SVIT_OK)
        status = svit_features_save(s->copied, path, NULL);
    if (status == SVIT_OK)
        status = svit_features_load(&s->stored, s->context, path, NULL);
    if (status == SVIT_OK)
        status = svit_features_append(s->copied, s->stored, NULL);
    return status == SVIT_OK ? svit_features_knn(s->stored, svit_features_values(s->features),
                                                 COUNT, 3, 0.1, probabilities, NULL)
                             : status;
}

/* A failed call leaves the classes as they were. */
static svit_status add_class(scene *s, const char *name, const svit_features *old)
{
    svit_model_config before, after;
    svit_model_get_config(s->model, &before, sizeof before, NULL);
    svit_status status = svit_model_fit_class(s->model, name, s->features, old, NULL, NULL);
    svit_model_get_config(s->model, &after, sizeof after, NULL);
    ck_assert_uint_eq(after.num_classes, before.num_classes + (status == SVIT_OK));
    ck_assert_str_eq(svit_model_class_name(s->model, 2), "c");
    return status;
}

static svit_status make_heads(scene *s)
{
    svit_head_config config;
    svit_head_config_init(&config, sizeof config);
    config.epochs = config.balanced = 1;
    svit_status status = svit_model_fit_head(s->model, s->stored, &config, NULL);
    if (status == SVIT_OK)
        status = add_class(s, "d", s->stored);
    return status == SVIT_OK ? add_class(s, "e", NULL) : status;
}

static svit_status make_all(scene *s, const svit_context_config *config)
{
    svit_status status = make_model(s, config);
    if (status == SVIT_OK)
        status = make_sets(s);
    return status == SVIT_OK ? make_heads(s) : status;
}

static void free_all(scene *s)
{
    svit_features_free(s->copied);
    svit_features_free(s->stored);
    svit_features_free(s->features);
    svit_dataset_free(s->dataset);
    svit_model_free(s->model);
    svit_context_free(s->context);
}

START_TEST(test_any_allocation_may_fail)
{
    size_t failures = 0;
    snprintf(path, sizeof path, "/tmp/fault-features-%d.safetensors", (int)getpid());
    for (size_t i = 0; i < COUNT; i++)
        labels[i] = (int32_t)(i % CLASSES);
    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (uint8_t)(i * 37);
    for (size_t n = 1;; n++) {
        ledger book = {.fail_at = n, .for_ever = _i};
        scene s = {0};
        svit_context_config config;
        svit_context_config_init(&config, sizeof config);
        config.threads = 1;
        config.allocate = ledger_allocate;
        config.release = ledger_release;
        config.allocator_user = &book;
        svit_status status = make_all(&s, &config);
        free_all(&s);
        ck_assert_msg(book.live_blocks == 0 && book.live_bytes == 0,
                      "allocation %zu failed: %zu blocks of %zu bytes are left", n,
                      book.live_blocks, book.live_bytes);
        if (status == SVIT_OK && book.calls < n)
            break;
        ck_assert_msg(status == SVIT_E_MEMORY, "allocation %zu failed: status %s", n,
                      svit_status_name(status));
        failures++;
    }
    ck_assert_uint_ge(failures, 100);
    unlink(path);
}
END_TEST

static Suite *feature_allocations_suite(void)
{
    Suite *suite = suite_create("failing allocations of features");
    TCase *tests = tcase_create("allocator");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, test_any_allocation_may_fail, 0, 2);
    suite_add_tcase(suite, tests);
    return suite;
}

TEST_MAIN(feature_allocations_suite)
