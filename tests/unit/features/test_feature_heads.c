/* Classifiers that are trained on features. */
#include "test_feature_heads_support.h"

#include "ledger.h"

/* Heads of all forms learn, and nothing below them moves, weight decay included. */
START_TEST(test_head_learns_and_all_below_it_stays)
{
    size_t elements;
    svit_head_config config;
    open_model((size_t)_i, 2);
    svit_features *set = clusters(N, MODELS[_i].channels, 0, CLASSES, 0.5f);
    svit_head_config_init(&config, sizeof config);
    config.batch = 16;
    config.learning_rate = 0.01;
    config.weight_decay = 0.1;
    float *before = weights_of(&elements, 1);
    WORKS(svit_model_set_output(model, SVIT_OUTPUT_LOGITS, err));
    WORKS(svit_model_fit_head(model, set, &config, err));
    ck_assert_int_eq(svit_model_output(model), SVIT_OUTPUT_SOFTMAX);
    float *after = weights_of(&elements, 1);
    ck_assert_mem_eq(before, after, elements * sizeof *before);
    ck_assert_uint_eq(right(set, CLASSES), N);
    ck_assert_str_eq(svit_model_class_name(model, 2), "owl");
    free(before);
    free(after);
    svit_features_free(set);
    close_model();
}
END_TEST

/* Without weight decay the gradient of the mean cross-entropy vanishes, which is computed here in
 * double from the model's weight and bias. */
START_TEST(test_head_is_the_logistic_regression)
{
    svit_head_config config;
    float weight[CLASSES * C], bias[CLASSES];
    double gradient[CLASSES][C + 1] = {0};
    open_model(PLAIN, 2);
    svit_features *set = clusters(N * 10, C, 0, CLASSES, 6);
    svit_head_config_init(&config, sizeof config);
    config.epochs = 600;
    config.batch = N * 10;
    config.learning_rate = 0.02;
    config.weight_decay = 0;
    WORKS(svit_model_fit_head(model, set, &config, err));
    WORKS(svit_model_get_parameter(model, "head.fc1.weight", weight, CLASSES * C, err));
    WORKS(svit_model_get_parameter(model, "head.fc1.bias", bias, CLASSES, err));
    for (size_t i = 0; i < N * 10; i++) {
        const float *x = svit_features_values(set) + i * C;
        double z[CLASSES], sum = 0;
        for (size_t k = 0; k < CLASSES; k++) {
            z[k] = bias[k];
            for (size_t j = 0; j < C; j++)
                z[k] += (double)weight[k * C + j] * x[j];
            sum += exp(z[k]);
        }
        for (size_t k = 0; k < CLASSES; k++) {
            const double dz = exp(z[k]) / sum - (svit_features_labels(set)[i] == (int32_t)k);
            for (size_t j = 0; j < C; j++)
                gradient[k][j] += dz * x[j] / (N * 10);
            gradient[k][C] += dz / (N * 10);
        }
    }
    for (size_t k = 0; k < CLASSES; k++)
        for (size_t j = 0; j <= C; j++)
            ck_assert_double_le(fabs(gradient[k][j]), 1e-4);
    svit_features_free(set);
    close_model();
}
END_TEST

/* Sample i has one channel alone, i, so the weights of a channel move only with their sample. */
START_TEST(test_an_epoch_has_every_sample)
{
    svit_head_config config;
    float values[C * C] = {0}, before[CLASSES * C], after[CLASSES * C];
    int32_t labels[C];
    svit_features *set = NULL;
    open_model(PLAIN, 1);
    for (size_t i = 0; i < C; i++) {
        values[i * C + i] = 1;
        labels[i] = (int32_t)(i % CLASSES);
    }
    WORKS(svit_features_create(&set, context, values, labels, C, C, CLASSES, NULL, err));
    svit_head_config_init(&config, sizeof config);
    config.epochs = 1;
    config.batch = 5;
    config.weight_decay = 0;
    WORKS(svit_model_get_parameter(model, "head.fc1.weight", before, CLASSES * C, err));
    WORKS(svit_model_fit_head(model, set, &config, err));
    WORKS(svit_model_get_parameter(model, "head.fc1.weight", after, CLASSES * C, err));
    for (size_t i = 0; i < C; i++)
        ck_assert_float_ne(before[i], after[i]);
    svit_features_free(set);
    close_model();
}
END_TEST

static float *fitted(uint32_t threads, uint64_t seed, size_t *elements)
{
    svit_head_config config;
    open_model(SHIFTVIT, threads);
    svit_features *set = clusters(N, WIDE, 0, CLASSES, 2);
    svit_head_config_init(&config, sizeof config);
    config.batch = 16;
    config.epochs = 5;
    config.seed = seed;
    WORKS(svit_model_fit_head(model, set, &config, err));
    svit_features_free(set);
    float *weights = weights_of(elements, 0);
    close_model();
    return weights;
}

START_TEST(test_head_depends_on_the_seed_and_not_on_threads)
{
    size_t n;
    float *a = fitted(1, 5, &n), *b = fitted(3, 5, &n), *c = fitted(1, 6, &n);
    ck_assert_mem_eq(a, b, n * sizeof *a);
    ck_assert(memcmp(a, c, n * sizeof *a) != 0);
    free(a);
    free(b);
    free(c);
}
END_TEST

/* All samples are equal, so the probabilities are the classes' part of the loss: 3/4, 1/4 and 0, or
 * with balance 1/2, 1/2 and 0. */
START_TEST(test_balanced_classes_count_alike)
{
    svit_head_config config;
    float values[40 * C];
    int32_t labels[40];
    svit_features *set = NULL;
    open_model(PLAIN, 1);
    for (size_t i = 0; i < 40; i++) {
        labels[i] = i < 30 ? 0 : 1;
        for (size_t k = 0; k < C; k++)
            values[i * C + k] = 0.25f;
    }
    WORKS(svit_features_create(&set, context, values, labels, 40, C, CLASSES, NULL, err));
    svit_head_config_init(&config, sizeof config);
    config.epochs = 400;
    config.weight_decay = 0;
    config.learning_rate = 0.02;
    config.balanced = _i;
    WORKS(svit_model_fit_head(model, set, &config, err));
    float *p = logits_of(set, CLASSES);
    WORKS(svit_softmax(p, 1, CLASSES, p, err));
    ck_assert_float_eq_tol(p[0], _i ? 0.5f : 0.75f, 5e-3f);
    ck_assert_float_eq_tol(p[1], _i ? 0.5f : 0.25f, 5e-3f);
    free(p);
    svit_features_free(set);
    close_model();
}
END_TEST

/* A computed set of a layer that is not the classifier's input. */
static svit_features *of_block(void)
{
    svit_features_config config;
    svit_dataset *data = NULL;
    svit_features *out = NULL;
    svit_pipeline_config pipeline;
    svit_pipeline_config_init(&pipeline, sizeof pipeline);
    pipeline.source_height = pipeline.source_width = 32;
    pipeline.resize_height = pipeline.resize_width = 26;
    pipeline.output_height = pipeline.output_width = 24;
    WORKS(svit_dataset_synthetic(&data, context, 1, 0, 3, err));
    svit_features_config_init(&config, sizeof config);
    config.layer = "blocks.0";
    WORKS(svit_features_compute(&out, model, data, &pipeline, &config, err));
    svit_dataset_free(data);
    return out;
}

START_TEST(test_sets_that_do_not_fit_the_head_are_named)
{
    svit_head_config config;
    float zeros[2 * C] = {0};
    open_model(PLAIN, 1);
    svit_features *good = clusters(N, C, 0, CLASSES, 1), *two = clusters(N, C, 0, 2, 1),
                  *wide = clusters(N, WIDE, 0, CLASSES, 1), *none = NULL, *block = of_block();
    WORKS(svit_features_create(&none, context, zeros, NULL, 2, C, CLASSES, NULL, err));
    FAILS(svit_model_fit_head(model, two, NULL, err), SVIT_E_ARGUMENT,
          "the set has 2 classes, the model 3");
    FAILS(svit_model_fit_head(model, wide, NULL, err), SVIT_E_ARGUMENT,
          "the set has 48 channels; the classifier of the model reads 24");
    FAILS(svit_model_fit_head(model, none, NULL, err), SVIT_E_ARGUMENT, "labels[0] of the set");
    FAILS(svit_model_fit_class(model, "fox", block, NULL, NULL, err), SVIT_E_ARGUMENT,
          "is of the layer 'blocks.0'");
    svit_head_config_init(&config, sizeof config);
    config.label_smoothing = 1;
    FAILS(svit_model_fit_head(model, good, &config, err), SVIT_E_ARGUMENT,
          "label_smoothing is 1; it is in [0, 1)");
    FAILS(svit_model_fit_head(NULL, good, NULL, err), SVIT_E_ARGUMENT, "model is NULL");
    /* Classes that the model has under other labels; a new classifier has none. */
    const char *moved[CLASSES];
    for (size_t k = 0; k < CLASSES; k++)
        moved[k] = svit_features_class_name(good, (k + 1) % CLASSES);
    WORKS(svit_model_set_classes(model, moved, CLASSES, err));
    FAILS(svit_model_fit_head(model, good, NULL, err), SVIT_E_ARGUMENT,
          "class 0 of the set is 'cat', which is class 2 of the model");
    WORKS(svit_model_replace_head(model, CLASSES, 1, err));
    WORKS(svit_model_fit_head(model, good, NULL, err));
    WORKS(svit_model_set_trainable(model, "head*", 0, err));
    FAILS(svit_model_fit_head(model, good, NULL, err), SVIT_E_STATE,
          "every parameter of the layers behind input_layer is frozen");
    svit_features_free(block);
    svit_features_free(none);
    svit_features_free(wide);
    svit_features_free(two);
    svit_features_free(good);
    close_model();
}
END_TEST

START_TEST(test_configurations_are_read_and_written)
{
    char text[512];
    svit_head_config head;
    svit_class_config class;
    WORKS(svit_head_config_from_json(&head, sizeof head, "{\"epochs\":7,\"balanced\":true}", err));
    ck_assert_uint_eq(head.epochs, 7);
    ck_assert_uint_eq(head.batch, 256);
    WORKS(svit_head_config_to_json(&head, text, sizeof text, NULL, err));
    ck_assert_str_eq(text, "{\"epochs\":7,\"batch\":256,\"balanced\":true,\"learning_rate\":0.003,"
                           "\"weight_decay\":-1.0,\"label_smoothing\":0.0,\"seed\":0}");
    WORKS(svit_class_config_from_json(&class, sizeof class, "{\"recall\":0.5}", err));
    WORKS(svit_class_config_to_json(&class, text, sizeof text, NULL, err));
    ck_assert_str_eq(text, "{\"weight_decay\":0.1,"
                           "\"new_weight\":2.0,\"recall\":0.5}");
    FAILS(svit_head_config_from_json(&head, sizeof head, "{\"epoch\":7}", err), SVIT_E_ARGUMENT,
          "epochs");
    FAILS(svit_head_config_from_json(&head, sizeof head, "{\"learning_rate\":1e39}", err),
          SVIT_E_ARGUMENT, "learning_rate is 1e39; it is in (0, 3.4");
    FAILS(svit_head_config_from_json(&head, sizeof head, "{\"weight_decay\":1e39}", err),
          SVIT_E_ARGUMENT, "weight_decay is 1e39; it is in [-3.4");
    FAILS(svit_class_config_from_json(&class, sizeof class, "{\"recall\":2}", err), SVIT_E_ARGUMENT,
          "recall is 2");
    FAILS(svit_class_config_from_json(&class, sizeof class, "[", err), SVIT_E_FORMAT, "");
}
END_TEST

/* A regression: the optimiser had slots of every trainable parameter, twice the bytes of the model,
 * and only those of the classifier were ever read. */
START_TEST(test_a_head_takes_no_memory_for_what_lies_below_it)
{
    ledger book = {0};
    svit_context_config with;
    svit_head_config config;
    svit_model_config big;
    svit_context_config_init(&with, sizeof with);
    with.threads = 1;
    with.allocate = ledger_allocate;
    with.release = ledger_release;
    with.allocator_user = &book;
    WORKS(svit_context_create(&context, &with, err));
    WORKS(svit_model_config_from_json(&big, sizeof big,
                                      VIT_OF("\"head_units\":[],\"pool\":\"mean\""), err));
    big.depth = 12;
    big.mlp_dim = 512;
    WORKS(svit_model_create(&model, context, &big, 7, err));
    const size_t bytes = svit_model_parameter_elements(model) * sizeof(float);
    svit_features *set = clusters(N, C, 0, CLASSES, 1);
    svit_head_config_init(&config, sizeof config);
    config.epochs = 1;
    config.batch = 8;
    book.peak_bytes = book.live_bytes;
    const size_t before = book.live_bytes;
    WORKS(svit_model_fit_head(model, set, &config, err));
    ck_assert_uint_lt(book.peak_bytes - before, bytes / 2);
    svit_features_free(set);
    close_model();
}
END_TEST

/* Counts the warnings about the scale of features. */
static void count_scales(void *user, int32_t level, const char *message)
{
    (void)level;
    *(int *)user += strstr(message, "standard deviation of the features") != NULL;
}

START_TEST(test_features_of_an_unusual_scale_are_noted)
{
    static const struct {
        float scale;
        int noted;
    } cases[] = {{1e-3F, 1}, {1, 0}, {100, 1}};
    int noted = 0;
    svit_context_config with;
    svit_model_config small;
    svit_head_config config;
    svit_context_config_init(&with, sizeof with);
    with.threads = 1;
    with.log = count_scales;
    with.log_user = &noted;
    WORKS(svit_context_create(&context, &with, err));
    WORKS(svit_model_config_from_json(&small, sizeof small, MODELS[PLAIN].json, err));
    WORKS(svit_model_create(&model, context, &small, 7, err));
    svit_head_config_init(&config, sizeof config);
    config.epochs = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float values[N * C];
        int32_t labels[N];
        svit_features *set = NULL;
        for (size_t k = 0; k < sizeof values / sizeof *values; k++)
            values[k] = cases[i].scale * (5 + noise(k)); /* about a mean that is no deviation */
        for (size_t k = 0; k < N; k++)
            labels[k] = (int32_t)(k % CLASSES);
        WORKS(svit_features_create(&set, context, values, labels, N, C, CLASSES, NULL, err));
        noted = 0;
        WORKS(svit_model_fit_head(model, set, &config, err));
        ck_assert_int_eq(noted, cases[i].noted);
        svit_features_free(set);
    }
    close_model();
}
END_TEST

static Suite *feature_heads_suite(void)
{
    Suite *suite = suite_create("feature heads");
    TCase *tests = tcase_create("core");
    tcase_add_loop_test(tests, test_head_learns_and_all_below_it_stays, 0, MODEL_COUNT);
    tcase_add_test(tests, test_head_is_the_logistic_regression);
    tcase_add_test(tests, test_an_epoch_has_every_sample);
    tcase_add_test(tests, test_head_depends_on_the_seed_and_not_on_threads);
    tcase_add_loop_test(tests, test_balanced_classes_count_alike, 0, 2);
    tcase_add_test(tests, test_sets_that_do_not_fit_the_head_are_named);
    tcase_add_test(tests, test_a_head_takes_no_memory_for_what_lies_below_it);
    tcase_add_test(tests, test_features_of_an_unusual_scale_are_noted);
    tcase_add_test(tests, test_configurations_are_read_and_written);
    suite_add_tcase(suite, tests);
    return suite;
}

TEST_MAIN(feature_heads_suite)
