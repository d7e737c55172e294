/* Classifiers of 1 to 10,000 classes: predictors, nearest neighbours and heads that are fitted on
 * features. */
#include "sizes.h"

#include <math.h>

/* A predictor gives the softmax of its model's logits. */
START_TEST(test_a_predictor_of_any_number_of_classes_gives_the_softmax)
{
    static const uint32_t classes[] = {1, 2, 9999, 10000};
    const uint32_t c = classes[_i];
    svit_model *model = fit_model(context, c, 4);
    svit_predictor *predictor = NULL;
    svit_session *session = NULL;
    svit_session_config config;
    svit_pipeline_config pipeline;
    float *images = draw(2 * 8 * 8 * 3, 5);
    float *logits = malloc(2 * c * sizeof *logits), *p = malloc(2 * c * sizeof *p);
    for (size_t i = 0; i < 2 * 8 * 8 * 3; i++)
        images[i] = fabsf(images[i]);
    WORKS(svit_session_config_init(&config, sizeof config));
    config.max_batch = 2;
    WORKS(svit_session_create(&session, model, &config, err));
    WORKS(svit_forward(session, images, 2, logits, err));
    WORKS(svit_softmax(logits, 2, c, logits, err));
    WORKS(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    pipeline.source_height = pipeline.source_width = 8;
    pipeline.output_height = pipeline.output_width = 8;
    pipeline.resize_height = pipeline.resize_width = 8;
    pipeline.scale = 1;
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    WORKS(svit_predictor_create_from_model(&predictor, model, NULL, err));
    ck_assert_uint_eq(svit_predictor_classes(predictor), c);
    WORKS(svit_predict_f32(predictor, images, 2, 8, 8, p, err));
    for (size_t i = 0; i < 2 * c; i++)
        ck_assert_msg(fabsf(p[i] - logits[i]) <= 1e-5f * logits[i] + 1e-9f, "%zu: %g, not %g", i,
                      (double)p[i], (double)logits[i]);
    svit_predictor_free(predictor);
    svit_session_free(session);
    svit_model_free(model);
    free(images);
    free(logits);
    free(p);
}
END_TEST

/* Each class has one feature vector, of which it is the nearest. */
START_TEST(test_nearest_neighbours_of_any_number_of_classes_find_themselves)
{
    static const size_t classes[] = {1, 2, 1000, 10000};
    enum { CHANNELS = 8, QUERIES = 5 };
    const size_t c = classes[_i];
    svit_features *features = NULL;
    float *values = draw(c * CHANNELS, 6), *p = malloc(QUERIES * c * sizeof *p);
    float queries[QUERIES * CHANNELS];
    int32_t *labels = malloc(c * sizeof *labels);
    for (size_t i = 0; i < c; i++)
        labels[i] = (int32_t)i;
    for (size_t q = 0; q < QUERIES; q++)
        memcpy(queries + q * CHANNELS, values + q * (c - 1) / (QUERIES - 1) * CHANNELS,
               CHANNELS * sizeof *values);
    WORKS(svit_features_create(&features, context, values, labels, c, CHANNELS, c, NULL, err));
    WORKS(svit_features_knn(features, queries, QUERIES, 1, 0.07, p, err));
    for (size_t q = 0; q < QUERIES; q++)
        ck_assert_float_eq_tol(p[q * c + q * (c - 1) / (QUERIES - 1)], 1, 1e-6f);
    FAILS(svit_features_knn(features, queries, QUERIES, 0, 0.07, p, err), SVIT_E_ARGUMENT, "k is");
    svit_features_free(features);
    free(values);
    free(p);
    free(labels);
}
END_TEST

/* Each class has one feature vector, and the head tells most of a hundred apart. */
START_TEST(test_a_head_of_any_number_of_classes_is_fitted)
{
    static const uint32_t classes[] = {1, 2, 100, 10000};
    enum { CHANNELS = 16 };
    const uint32_t c = classes[_i];
    svit_model *model = fit_model(context, c, 4);
    svit_features *features = NULL;
    svit_head_config config;
    float *values = draw((size_t)c * CHANNELS, 6);
    int32_t *labels = malloc(c * sizeof *labels);
    for (uint32_t i = 0; i < c; i++)
        labels[i] = (int32_t)i;
    WORKS(svit_features_create(&features, context, values, labels, c, CHANNELS, c, NULL, err));
    WORKS(svit_head_config_init(&config, sizeof config));
    config.epochs = c < 1000 ? 200 : 1;
    config.batch = 1024;
    config.weight_decay = 0;
    if (c == 1)
        FAILS(svit_model_fit_head(model, features, &config, err), SVIT_E_ARGUMENT,
              "2 or more are accepted");
    else
        WORKS(svit_model_fit_head(model, features, &config, err));
    float *weight = malloc((size_t)c * CHANNELS * sizeof *weight);
    WORKS(svit_model_get_parameter(model, "head.weight", weight, (size_t)c * CHANNELS, err));
    size_t right = 0;
    for (uint32_t i = 0; i < c && c < 1000; i++) {
        double best = -INFINITY, own = 0;
        for (uint32_t k = 0; k < c; k++) {
            double sum = 0;
            for (size_t j = 0; j < CHANNELS; j++)
                sum += (double)weight[k * CHANNELS + j] * values[i * CHANNELS + j];
            best = fmax(best, sum);
            own = k == i ? sum : own;
        }
        right += own == best;
    }
    ck_assert(c >= 1000 || right * 10 > c * 8);
    for (size_t i = 0; i < (size_t)c * CHANNELS; i++)
        if (!isfinite(weight[i]))
            ck_abort_msg("weight %zu is not finite", i);
    svit_features_free(features);
    svit_model_free(model);
    free(weight);
    free(values);
    free(labels);
}
END_TEST

static Suite *sizes_suite(void)
{
    Suite *suite = suite_create("sizes_classes");
    TCase *all = tcase_create("classifiers");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_loop_test(all, test_a_predictor_of_any_number_of_classes_gives_the_softmax, 0, 4);
    tcase_add_loop_test(all, test_nearest_neighbours_of_any_number_of_classes_find_themselves, 0,
                        4);
    tcase_add_loop_test(all, test_a_head_of_any_number_of_classes_is_fitted, 0, 4);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(sizes_suite)
