/* Classes that are added to a classifier. */
#include "test_feature_heads_support.h"

/* Logits of the old classes have the same bits as before, and the names are those and the new one.
 */
static void check_old_classes(const float *before, const svit_features *set)
{
    float *after = logits_of(set, CLASSES + 1);
    for (size_t i = 0; i < svit_features_count(set); i++)
        ck_assert_mem_eq(before + i * CLASSES, after + i * (CLASSES + 1), CLASSES * sizeof *before);
    for (size_t k = 0; k < CLASSES; k++)
        ck_assert_str_eq(svit_model_class_name(model, k), NAMES[k]);
    ck_assert_str_eq(svit_model_class_name(model, CLASSES), "fox");
    free(after);
}

static float *new_logits(const svit_features *set)
{
    const size_t n = svit_features_count(set);
    float *all = logits_of(set, CLASSES + 1);
    for (size_t i = 0; i < n; i++)
        all[i] = all[i * (CLASSES + 1) + CLASSES];
    return all;
}

/* A model whose classifier tells the three clusters apart. */
static svit_features *open_fitted(size_t index, uint32_t threads)
{
    open_model(index, threads);
    svit_features *old = clusters(N, MODELS[index].channels, 0, CLASSES, 1.5f);
    svit_head_config config;
    svit_head_config_init(&config, sizeof config);
    config.epochs = 300;
    config.learning_rate = 0.02;
    WORKS(svit_model_fit_head(model, old, &config, err));
    return old;
}

/* The new class is found, and the old ones are not lost, with their features and without. */
START_TEST(test_class_is_added)
{
    const size_t index = (size_t)_i % HIDDEN;
    const int with_old = _i >= HIDDEN;
    svit_features *old = open_fitted(index, 2);
    svit_features *new = clusters(NEW, MODELS[index].channels, 3, 1, 1.5f);
    float *before = logits_of(old, CLASSES);
    WORKS(svit_model_fit_class(model, "fox", new, with_old ? old : NULL, NULL, err));
    check_old_classes(before, old);
    ck_assert_uint_ge(right(old, CLASSES + 1), N * 9 / 10);
    float *logits = logits_of(new, CLASSES + 1);
    size_t found = 0;
    for (size_t i = 0; i < NEW; i++)
        found +=
            logits[i * 4 + 3] > fmaxf(fmaxf(logits[i * 4], logits[i * 4 + 1]), logits[i * 4 + 2]);
    ck_assert_uint_ge(found, with_old ? NEW * 3 / 4 : NEW / 2);
    free(logits);
    free(before);
    svit_features_free(new);
    svit_features_free(old);
    close_model();
}
END_TEST

/* Each of several labels has a probability of its own: the new one is found above 1/2, and not on
 * the old samples, though labels of these have large logits. */
START_TEST(test_label_of_several_is_added)
{
    svit_features *old = open_fitted(PLAIN, 2), *new = clusters(NEW, C, 3, 1, 1.5f);
    WORKS(svit_model_set_output(model, SVIT_OUTPUT_SIGMOID, err));
    float bias[CLASSES];
    WORKS(svit_model_get_parameter(model, "head.fc1.bias", bias, CLASSES, err));
    for (size_t k = 0; k < CLASSES; k++)
        bias[k] += 20;
    WORKS(svit_model_set_parameter(model, "head.fc1.bias", bias, CLASSES, err));
    WORKS(svit_model_fit_class(model, "fox", new, _i ? old : NULL, NULL, err));
    float *of_new = new_logits(new), *of_old = new_logits(old);
    size_t found = 0, wrong = 0;
    for (size_t i = 0; i < NEW; i++)
        found += of_new[i] > 0;
    for (size_t i = 0; i < svit_features_count(old); i++)
        wrong += of_old[i] > 0;
    ck_assert_uint_ge(found, _i ? NEW * 3 / 4 : NEW / 2);
    ck_assert_uint_le(wrong, svit_features_count(old) / 10);
    free(of_old);
    free(of_new);
    svit_features_free(new);
    svit_features_free(old);
    close_model();
}
END_TEST

/* The row is s mu / |mu|, computed here from the parameters; with the bias, exactly the wanted
 * fraction of the samples wins by the rows from the others. */
START_TEST(test_row_without_old_features)
{
    static const double RECALL[] = {0.75, 0.5, 1};
    static const size_t WINS[] = {15, 10, 20};
    float weight[4 * C], bias[4];
    double mu[C] = {0}, s = 0, length = 0;
    svit_class_config config;
    svit_features *old = open_fitted(PLAIN, 1), *new = clusters(NEW, C, 3, 1, 1.5f);
    float *z = logits_of(new, CLASSES);
    svit_class_config_init(&config, sizeof config);
    config.recall = RECALL[_i];
    WORKS(svit_model_fit_class(model, "fox", new, NULL, &config, err));
    WORKS(svit_model_get_parameter(model, "head.fc1.weight", weight, 4 * C, err));
    WORKS(svit_model_get_parameter(model, "head.fc1.bias", bias, 4, err));
    const float *x = svit_features_values(new);
    for (size_t k = 0; k < CLASSES; k++) {
        double square = 0;
        for (size_t j = 0; j < C; j++)
            square += (double)weight[k * C + j] * weight[k * C + j];
        s += sqrt(square) / CLASSES;
    }
    for (size_t i = 0; i < NEW * C; i++)
        mu[i % C] += (double)x[i] / NEW;
    for (size_t j = 0; j < C; j++)
        length += mu[j] * mu[j];
    for (size_t j = 0; j < C; j++)
        ck_assert_double_le(fabs(weight[CLASSES * C + j] - s * mu[j] / sqrt(length)), 1e-6);
    size_t wins = 0;
    double last = -INFINITY; /* the bias with which the last of all samples wins just not yet */
    for (size_t i = 0; i < NEW; i++, x += C) {
        double dot = 0, square = 0;
        for (size_t j = 0; j < C; j++) {
            const double other = mu[j] - (double)x[j] / NEW;
            dot += other * x[j];
            square += other * other;
        }
        const float *old_z = z + i * CLASSES;
        const double most = fmaxf(fmaxf(old_z[0], old_z[1]), old_z[2]);
        wins += s * dot / sqrt(square) + bias[CLASSES] > most;
        last = fmax(last, most - s * dot / sqrt(square));
    }
    ck_assert_uint_eq(wins, WINS[_i]);
    if (config.recall == 1) /* by a margin that float32 keeps, whatever the size of the logits */
        ck_assert_double_eq_tol((bias[CLASSES] - last) / (1e-3 * (1 + fabs(last))), 1, 0.01);
    free(z);
    svit_features_free(new);
    svit_features_free(old);
    close_model();
}
END_TEST

/* The same set with every value larger by `shift`. */
static svit_features *shifted(svit_features *set, float shift)
{
    const size_t n = svit_features_count(set), classes = svit_features_classes(set);
    float *values = malloc(n * C * sizeof *values);
    svit_features *out = NULL;
    for (size_t i = 0; i < n * C; i++)
        values[i] = svit_features_values(set)[i] + shift;
    WORKS(svit_features_create(&out, context, values, svit_features_labels(set), n, C, classes,
                               classes == CLASSES ? NAMES : NULL, err));
    free(values);
    svit_features_free(set);
    return out;
}

/* At the minimum the gradient of the objective that the header states vanishes, also where a mean
 * that all features share is far above what tells them apart. */
START_TEST(test_row_with_old_features_is_the_minimum)
{
    enum { OLD = 1200 };
    svit_class_config config;
    float weight[4 * C], bias[4];
    double gradient[C + 1] = {0}, sum = 0, square = 0;
    const float shift = (float[]){0, 1000}[_i];
    svit_features *few = open_fitted(PLAIN, 2),
                  *old = shifted(clusters(OLD, C, 0, CLASSES, 1.5f), shift),
                  *new = shifted(clusters(NEW, C, 3, 1, 1.5f), shift);
    svit_class_config_init(&config, sizeof config);
    config.weight_decay = 0.02;
    config.new_weight = 3;
    WORKS(svit_model_fit_class(model, "fox", new, old, &config, err));
    WORKS(svit_model_get_parameter(model, "head.fc1.weight", weight, 4 * C, err));
    WORKS(svit_model_get_parameter(model, "head.fc1.bias", bias, 4, err));
    const double each = 3.0 * OLD / CLASSES / NEW, total = each * NEW + OLD;
    for (size_t i = 0; i < NEW + OLD; i++)
        for (size_t j = 0; j < C; j++) {
            const double v = i < NEW ? svit_features_values(new)[i * C + j]
                                     : svit_features_values(old)[(i - NEW) * C + j];
            sum += (v - shift) / ((NEW + OLD) * C);
            square += (v - shift) * (v - shift) / ((NEW + OLD) * C);
        }
    const double deviation = sqrt(square - sum * sum);
    for (size_t i = 0; i < NEW + OLD; i++) {
        const float *x =
            i < NEW ? svit_features_values(new) + i * C : svit_features_values(old) + (i - NEW) * C;
        double z[4], all = 0, largest = -INFINITY;
        for (size_t k = 0; k < 4; k++) {
            z[k] = bias[k];
            for (size_t j = 0; j < C; j++)
                z[k] += (double)weight[k * C + j] * x[j];
            largest = fmax(largest, z[k]);
        }
        for (size_t k = 0; k < 4; k++)
            all += exp(z[k] - largest);
        const double dz = (i < NEW ? each : 1) / total * (exp(z[3] - largest) / all - (i < NEW));
        for (size_t j = 0; j < C; j++)
            gradient[j] += dz * (x[j] - shift) / deviation;
        gradient[C] += dz;
    }
    for (size_t j = 0; j < C; j++)
        gradient[j] += 0.02 * weight[CLASSES * C + j] * deviation;
    for (size_t j = 0; j <= C; j++)
        /* The row is rounded to float: a logit by as much as its terms, which grow by the shift. */
        ck_assert_double_le(fabs(gradient[j]), shift > 0 ? 1e-5 : 1e-6);
    svit_features_free(few);
    svit_features_free(new);
    svit_features_free(old);
    close_model();
}
END_TEST

static void row_of(float *row, uint32_t threads)
{
    svit_features *old = open_fitted(PLAIN, threads), *new = clusters(NEW, C, 3, 1, 1.5f),
                  *many = clusters(1500, C, 0, CLASSES, 1.5f);
    float weight[4 * C];
    WORKS(svit_model_fit_class(model, NULL, new, many, NULL, err));
    WORKS(svit_model_get_parameter(model, "head.fc1.weight", weight, 4 * C, err));
    ck_assert_ptr_null(svit_model_class_name(model, 0));
    memcpy(row, weight + CLASSES * C, C * sizeof *row);
    svit_features_free(many);
    svit_features_free(new);
    svit_features_free(old);
    close_model();
}

START_TEST(test_class_does_not_depend_on_threads)
{
    float one[C], three[C];
    row_of(one, 1);
    row_of(three, 3);
    ck_assert_mem_eq(one, three, sizeof one);
}
END_TEST

/* The two heads of a distilled model together are the row: the logit of each sample is f w + b,
 * with w along the mean. */
START_TEST(test_heads_of_a_distilled_model_share_the_row)
{
    double mu[WIDE] = {0}, length = 0, s = 0;
    float w0[CLASSES * C], w1[CLASSES * C], bias[4];
    svit_features *old = open_fitted(DISTILLED, 1), *new = clusters(NEW, WIDE, 3, 1, 1.5f);
    WORKS(svit_model_get_parameter(model, "head.fc1.weight", w0, CLASSES * C, err));
    WORKS(svit_model_get_parameter(model, "head_dist.weight", w1, CLASSES * C, err));
    WORKS(svit_model_fit_class(model, "fox", new, NULL, NULL, err));
    WORKS(svit_model_get_parameter(model, "head.fc1.bias", bias, 4, err));
    for (size_t k = 0; k < CLASSES; k++) {
        double square = 0;
        for (size_t j = 0; j < C; j++)
            square += (double)w0[k * C + j] * w0[k * C + j] + (double)w1[k * C + j] * w1[k * C + j];
        s += sqrt(square) / 2 / CLASSES;
    }
    const float *x = svit_features_values(new);
    for (size_t i = 0; i < NEW * WIDE; i++)
        mu[i % WIDE] += x[i];
    for (size_t j = 0; j < WIDE; j++)
        length += mu[j] * mu[j];
    float *z = new_logits(new);
    for (size_t i = 0; i < NEW; i++) {
        double expected = bias[CLASSES];
        for (size_t j = 0; j < WIDE; j++)
            expected += s * mu[j] / sqrt(length) * x[i * WIDE + j];
        ck_assert_double_le(fabs(z[i] - expected), 1e-4);
    }
    free(z);
    svit_features_free(new);
    svit_features_free(old);
    close_model();
}
END_TEST

/* Samples that are equal win together, and as many as are wanted do. */
START_TEST(test_equal_samples_win_together)
{
    static const double recalls[] = {0.2, 0.5, 0.6, 0.9, 1};
    enum { EQUAL = 5 };
    for (size_t at = 0; at < sizeof recalls / sizeof *recalls; at++) {
        float values[EQUAL * C];
        svit_class_config config;
        svit_features *old = open_fitted(PLAIN, 1), *one = clusters(1, C, 3, 1, 1), *new = NULL;
        for (size_t i = 0; i < EQUAL; i++)
            memcpy(values + i * C, svit_features_values(one), C * sizeof(float));
        WORKS(svit_features_create(&new, context, values, NULL, EQUAL, C, 0, NULL, err));
        svit_class_config_init(&config, sizeof config);
        config.recall = recalls[at];
        WORKS(svit_model_fit_class(model, "fox", new, NULL, &config, err));
        float *logits = logits_of(new, CLASSES + 1);
        for (size_t i = 0; i < EQUAL; i++)
            for (size_t k = 0; k < CLASSES; k++)
                ck_assert_float_gt(logits[i * (CLASSES + 1) + CLASSES],
                                   logits[i * (CLASSES + 1) + k]);
        free(logits);
        svit_features_free(new);
        svit_features_free(one);
        svit_features_free(old);
        close_model();
    }
}
END_TEST

/* A call that fails changes neither the number of classes nor a weight nor a name. */
START_TEST(test_class_that_cannot_be_added_is_named)
{
    size_t n;
    svit_class_config config;
    svit_session *session = NULL;
    svit_features *old = open_fitted(PLAIN, 1), *new = clusters(NEW, C, 3, 1, 1),
                  *wide = clusters(NEW, WIDE, 3, 1, 1), *zero = NULL, *tiny[2] = {NULL, NULL};
    const float zeros[C] = {0}, least[2 * C] = {[1] = 2e-38f, [C] = 2e-38f};
    WORKS(svit_features_create(&zero, context, zeros, NULL, 1, C, 0, NULL, err));
    for (size_t i = 0; i < 2; i++)
        WORKS(svit_features_create(&tiny[i], context, least + i * C, NULL, 1, C, 0, NULL, err));
    float *before = weights_of(&n, 0);
    for (size_t k = 0; k < CLASSES; k++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "the model has a class '%s' already", NAMES[k]);
        FAILS(svit_model_fit_class(model, NAMES[k], new, NULL, NULL, err), SVIT_E_ARGUMENT, wanted);
    }
    WORKS(svit_model_set_output(model, SVIT_OUTPUT_LOGITS, err));
    FAILS(svit_model_fit_class(model, "fox", new, NULL, NULL, err), SVIT_E_STATE,
          "the model predicts numbers");
    WORKS(svit_model_set_output(model, SVIT_OUTPUT_AUTO, err));
    FAILS(svit_model_fit_class(model, "\xff", new, NULL, NULL, err), SVIT_E_ARGUMENT, "not UTF-8");
    FAILS(svit_model_fit_class(model, "fox", wide, NULL, NULL, err), SVIT_E_ARGUMENT,
          "the new class has 48 channels");
    FAILS(svit_model_fit_class(model, "fox", new, wide, NULL, err), SVIT_E_ARGUMENT,
          "the old classes has 48 channels");
    FAILS(svit_model_fit_class(model, "fox", zero, NULL, NULL, err), SVIT_E_ARGUMENT,
          "the mean of the new features is 0");
    svit_class_config_init(&config, sizeof config);
    config.recall = 0;
    FAILS(svit_model_fit_class(model, "fox", new, NULL, &config, err), SVIT_E_ARGUMENT,
          "recall is 0");
    config.recall = 0.5;
    config.weight_decay = 1e-9;
    FAILS(svit_model_fit_class(model, "fox", tiny[0], tiny[1], &config, err), SVIT_E_NUMERIC,
          "the row of the new class is not finite");
    WORKS(svit_session_create(&session, model, NULL, err));
    FAILS(svit_model_fit_class(model, "fox", new, NULL, NULL, err), SVIT_E_STATE, "sessions");
    svit_session_free(session);
    size_t same;
    float *after = weights_of(&same, 0);
    ck_assert_uint_eq(n, same);
    ck_assert_mem_eq(before, after, n * sizeof *before);
    ck_assert_str_eq(svit_model_class_name(model, 2), "owl");
    WORKS(svit_model_fit_class(model, "fox", new, NULL, NULL, err));
    free(before);
    free(after);
    svit_features_free(tiny[0]);
    svit_features_free(tiny[1]);
    svit_features_free(zero);
    svit_features_free(wide);
    svit_features_free(new);
    svit_features_free(old);
    close_model();
}
END_TEST

START_TEST(test_heads_with_hidden_layers_take_no_class)
{
    open_model(HIDDEN, 1);
    svit_features *new = clusters(NEW, C, 3, 1, 1);
    FAILS(svit_model_fit_class(model, "fox", new, NULL, NULL, err), SVIT_E_UNSUPPORTED,
          "1 hidden layers");
    svit_features_free(new);
    close_model();
}
END_TEST

static Suite *feature_classes_suite(void)
{
    Suite *suite = suite_create("feature classes");
    TCase *tests = tcase_create("core");
    tcase_add_loop_test(tests, test_class_is_added, 0, 2 * HIDDEN);
    tcase_add_loop_test(tests, test_label_of_several_is_added, 0, 2);
    tcase_add_loop_test(tests, test_row_without_old_features, 0, 3);
    tcase_add_loop_test(tests, test_row_with_old_features_is_the_minimum, 0, 2);
    tcase_add_test(tests, test_class_does_not_depend_on_threads);
    tcase_add_test(tests, test_heads_of_a_distilled_model_share_the_row);
    tcase_add_test(tests, test_equal_samples_win_together);
    tcase_add_test(tests, test_class_that_cannot_be_added_is_named);
    tcase_add_test(tests, test_heads_with_hidden_layers_take_no_class);
    suite_add_tcase(suite, tests);
    return suite;
}

TEST_MAIN(feature_classes_suite)
