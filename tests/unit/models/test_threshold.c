/* None of these: the threshold of a model, how it is chosen and kept, and the labels of a
 * predictor. */
#include "build.h"
#include "fit.h"

#include <math.h>

enum { CLASSES = 4, ROWS = 200 };

static svit_context *context;
static fit_folder folder;
static svit_model *model;
static float logits[ROWS * CLASSES], probabilities[ROWS * CLASSES];

static void setup(void)
{
    svit_pipeline_config pipeline;
    context = fit_context(1);
    folder = fit_folder_make();
    model = fit_model(context, CLASSES, 1);
    WORKS(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    pipeline.source_height = pipeline.source_width = 8;
    pipeline.resize_height = pipeline.resize_width = 8;
    pipeline.output_height = pipeline.output_width = 8;
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    for (size_t i = 0; i < ROWS * CLASSES; i++)
        logits[i] = (float)(4 * sin((double)i * (double)i * 0.731));
    for (size_t i = CLASSES; i < 4 * CLASSES; i++)
        logits[i] = logits[i - CLASSES]; /* equal rows */
    WORKS(svit_softmax(logits, ROWS, CLASSES, probabilities, err));
}

static void teardown(void)
{
    svit_model_free(model);
    svit_context_free(context);
    fit_folder_remove(&folder);
}

static float largest(size_t row)
{
    float most = 0;
    for (size_t k = 0; k < CLASSES; k++)
        most = fmaxf(most, probabilities[row * CLASSES + k]);
    return most;
}

static size_t reaching(double threshold)
{
    size_t count = 0;
    for (size_t i = 0; i < ROWS; i++)
        count += largest(i) >= threshold;
    return count;
}

/* So many rows reach it, no larger probability that occurs does as well, and none is so near that
 * rounding would decide. */
START_TEST(test_the_threshold_is_the_largest_that_enough_rows_reach)
{
    static const double accepted[] = {1e-9, 0.005, 0.5, 0.95, 0.951, 0.99, 1};
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        double threshold = -1;
        WORKS(svit_choose_threshold(context, logits, ROWS, CLASSES, accepted[i], &threshold, err));
        ck_assert(reaching(threshold) >= accepted[i] * ROWS);
        for (size_t row = 0; row < ROWS; row++)
            if (largest(row) > threshold * (1 + 2e-5))
                ck_assert(reaching(largest(row)) < accepted[i] * ROWS);
        for (size_t row = 0; row < ROWS; row++)
            ck_assert(fabs(largest(row) / threshold - 1) > 2e-7);
    }
}
END_TEST

/* 0.07 * 100 and 0.56 * 100 are a little more than 7 and 56 in floating point. */
START_TEST(test_rounding_takes_no_further_row)
{
    enum { MANY = 100 };
    float rows[MANY * 2];
    for (size_t i = 0; i < MANY; i++) {
        rows[2 * i] = (float)i / 10;
        rows[2 * i + 1] = 0;
    }
    for (size_t wanted = 1; wanted <= MANY; wanted++) {
        double threshold;
        size_t count = 0;
        WORKS(
            svit_choose_threshold(context, rows, MANY, 2, (double)wanted / MANY, &threshold, err));
        for (size_t i = 0; i < MANY; i++)
            count += (float)(1 / (1 + exp(-(double)rows[2 * i]))) >= threshold - 1e-7;
        ck_assert_uint_eq(count, wanted);
    }
}
END_TEST

START_TEST(test_labels_are_none_below_the_threshold)
{
    const double thresholds[] = {0, 0.5, 0.8, 1, (double)largest(5)};
    for (size_t i = 0; i < sizeof thresholds / sizeof *thresholds; i++) {
        svit_predictor *predictor = NULL;
        int32_t labels[ROWS];
        size_t none = 0;
        WORKS(svit_model_set_threshold(model, thresholds[i], err));
        WORKS(svit_predictor_create_from_model(&predictor, model, NULL, err));
        WORKS(svit_model_set_threshold(model, 0, err)); /* the predictor has read it */
        WORKS(svit_predictor_labels(predictor, probabilities, ROWS, labels, err));
        for (size_t row = 0; row < ROWS; row++) {
            none += labels[row] == -1;
            if (labels[row] >= 0)
                ck_assert_float_eq(probabilities[row * CLASSES + (size_t)labels[row]],
                                   largest(row));
            ck_assert((labels[row] == -1) == (largest(row) < thresholds[i]));
        }
        ck_assert_uint_eq(none, ROWS - reaching(thresholds[i]));
        svit_predictor_free(predictor);
    }
}
END_TEST

/* NaN is below no threshold, and is the largest of no row. */
START_TEST(test_a_row_with_a_nan_has_no_label)
{
    static const float rows[4 * CLASSES] = {NAN, 0.5f, 0.25f, 0.25f, 0.75f, NAN, 0.25f, 0,
                                            0,   0,    1,     NAN,   0,     0,   1,     0};
    static const int32_t expected[4] = {-1, -1, -1, 2};
    svit_predictor *predictor = NULL;
    int32_t labels[4];
    WORKS(svit_predictor_create_from_model(&predictor, model, NULL, err));
    WORKS(svit_predictor_labels(predictor, rows, 4, labels, err));
    ck_assert_mem_eq(labels, expected, sizeof labels);
    svit_predictor_free(predictor);
}
END_TEST

/* The model whose threshold is to be removed, what the warning says, and how often it came. */
typedef struct removal {
    svit_model *model;
    const char *why;
    int count;
} removal;

/* Whoever hears of it sees the model as it was. */
static void hear(void *user, int32_t level, const char *message)
{
    removal *self = user;
    ck_assert_int_eq(level, SVIT_LOG_WARNING);
    ck_assert_msg(strstr(message, self->why) != NULL, "%s", message);
    ck_assert_uint_eq(svit_model_parameter_elements(self->model),
                      svit_model_parameter_elements(model));
    self->count++;
}

static svit_status other_head(svit_model *of, svit_error *err)
{
    return svit_model_replace_head(of, CLASSES + 2, 1, err);
}

static svit_status more_classes(svit_model *of, svit_error *err)
{
    return svit_model_add_classes(of, 1, 1, err);
}

static svit_status end_early(svit_model *of, svit_error *err)
{
    return svit_model_truncate(of, "layers.0.blocks.0", err);
}

static svit_status take_texts(svit_model *of, svit_error *err)
{
    static const char *const names[] = {"a", "b"};
    float embeddings[2 * CLASSES] = {1};
    embeddings[CLASSES + 1] = 1;
    return svit_model_set_text_head(of, embeddings, names, 2, CLASSES, 1, 0, err);
}

/* What removes a threshold says so once, before it changes anything; without one nothing is
 * said. */
START_TEST(test_what_removes_a_threshold_says_so)
{
    static const struct {
        svit_status (*change)(svit_model *of, svit_error *err);
        const char *why;
    } CHANGES[] = {{other_head, "is left out: the model gets another head"},
                   {more_classes, "is left out: the model gets another head"},
                   {end_early, "is left out: the model loses its head"},
                   {take_texts, "is left out: its classes become other texts"}};
    removal heard = {.why = CHANGES[_i].why};
    svit_context_config config;
    svit_context *hearing = NULL;
    svit_model_config fields;
    WORKS(svit_context_config_init(&config, sizeof config));
    config.threads = 1;
    config.log = hear;
    config.log_user = &heard;
    WORKS(svit_context_create(&hearing, &config, err));
    WORKS(svit_model_get_config(model, &fields, sizeof fields, err));
    for (int with = 0; with < 2; with++) {
        WORKS(svit_model_create(&heard.model, hearing, &fields, 1, err));
        WORKS(svit_model_set_threshold(heard.model, with * 0.5, err));
        WORKS(CHANGES[_i].change(heard.model, err));
        ck_assert_double_eq(svit_model_threshold(heard.model), 0);
        ck_assert_int_eq(heard.count, with);
        svit_model_free(heard.model);
    }
    svit_context_free(hearing);
}
END_TEST

/* By every way through a file, and along with adapters. A new head has none. */
START_TEST(test_the_threshold_is_kept_with_the_model)
{
    if (!replaces_mapped_files())
        return;
    const char *path = fit_path(&folder, "model.safetensors");
    svit_model *back = NULL, *mapped = NULL, *small = NULL;
    const double threshold = 0.1 + 0.2; /* needs 17 digits */
    ck_assert_double_eq(svit_model_threshold(model), 0);
    WORKS(svit_model_set_threshold(model, threshold, err));
    WORKS(svit_model_save(model, path, err));
    WORKS(svit_model_load(&back, context, path, err));
    WORKS(svit_model_map(&mapped, context, path, err));
    WORKS(svit_model_save_as(model, path, SVIT_DTYPE_I8, err));
    WORKS(svit_model_load(&small, context, path, err));
    ck_assert(svit_model_threshold(back) == threshold);
    ck_assert(svit_model_threshold(mapped) == threshold);
    ck_assert(svit_model_threshold(small) == threshold);
    WORKS(svit_model_add_classes(small, 1, 0, err));
    ck_assert_double_eq(svit_model_threshold(small), 0);
    WORKS(svit_model_set_threshold(back, 0, err));
    WORKS(svit_model_save(back, path, err));
    size_t bytes;
    char *file = fit_read(path, &bytes);
    ck_assert_ptr_null(strstr(file + 8, "known_threshold"));
    free(file);
    svit_model_free(back);
    svit_model_free(mapped);
    svit_model_free(small);
}
END_TEST

/* What makes other probabilities of the model removes it; what does not leaves it. */
START_TEST(test_training_and_other_outputs_remove_it)
{
    enum { N = 2, ELEMENTS = 8 * 8 * 3 };
    static const float images[N * ELEMENTS];
    const float dlogits[N * CLASSES] = {1, -1};
    svit_session_config training = {.struct_size = sizeof training};
    svit_session *session = NULL;
    svit_optimizer *optimizer = NULL;
    float out[N * CLASSES];
    WORKS(svit_session_config_init(&training, sizeof training));
    training.max_batch = N;
    training.mode = SVIT_MODE_TRAIN;
    WORKS(svit_session_create(&session, model, &training, err));
    WORKS(svit_optimizer_create(&optimizer, model, NULL, err));
    WORKS(svit_model_set_threshold(model, 0.75, err));
    WORKS(svit_forward(session, images, N, out, err));
    WORKS(svit_backward(session, dlogits, N, err));
    WORKS(svit_model_set_output(model, SVIT_OUTPUT_SOFTMAX, err));
    ck_assert_double_eq(svit_model_threshold(model), 0.75);
    WORKS(svit_step(optimizer, session, err));
    ck_assert_double_eq(svit_model_threshold(model), 0);
    for (int32_t output = SVIT_OUTPUT_AUTO; output <= SVIT_OUTPUT_LOGITS; output++) {
        WORKS(svit_model_set_output(model, SVIT_OUTPUT_SOFTMAX, err));
        WORKS(svit_model_set_threshold(model, 0.5, err));
        WORKS(svit_model_set_output(model, output, err));
        ck_assert_double_eq(svit_model_threshold(model),
                            svit_model_output(model) == SVIT_OUTPUT_SOFTMAX ? 0.5 : 0);
    }
    svit_optimizer_free(optimizer);
    svit_session_free(session);
}
END_TEST

/* The files of models whose metadata have been edited: the text takes the place of 0.125. */
START_TEST(test_thresholds_of_files_are_checked)
{
    static const char *const bad[] = {"1.125", "-1.25", "null ", "0.1.5", "[0.1]", "     "};
    const char *path = fit_path(&folder, "model.safetensors");
    WORKS(svit_model_set_threshold(model, 0.125, err));
    WORKS(svit_model_save(model, path, err));
    size_t bytes;
    char *file = fit_read(path, &bytes), *at = strstr(file + 8, "\"known_threshold\":\"0.125\"");
    ck_assert_ptr_nonnull(at);
    at += strlen("\"known_threshold\":\"");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        svit_model *back = NULL;
        memcpy(at, bad[i], 5);
        fit_write(path, file, bytes);
        FAILS(svit_model_load(&back, context, path, err), SVIT_E_FORMAT, "known_threshold");
    }
    free(file);
}
END_TEST

START_TEST(test_what_is_not_accepted_is_named)
{
    static const double bad[] = {-0.1, 1.1, NAN, INFINITY};
    svit_predictor_config config;
    svit_predictor *predictor = NULL;
    int32_t label;
    double threshold = 0;
    for (size_t i = 0; i < 4; i++)
        FAILS(svit_model_set_threshold(model, bad[i], err), SVIT_E_ARGUMENT, "threshold is ");
    for (size_t i = 0; i < 4; i++)
        FAILS(svit_choose_threshold(context, logits, ROWS, CLASSES, bad[i], &threshold, err),
              SVIT_E_ARGUMENT, "accepted is ");
    FAILS(svit_choose_threshold(context, logits, ROWS, CLASSES, 0, &threshold, err),
          SVIT_E_ARGUMENT, "accepted is 0");
    FAILS(svit_choose_threshold(context, logits, 0, CLASSES, 1, &threshold, err), SVIT_E_ARGUMENT,
          "n is 0");
    logits[7] = INFINITY;
    FAILS(svit_choose_threshold(context, logits, ROWS, CLASSES, 1, &threshold, err), SVIT_E_NUMERIC,
          "logits[7]");
    WORKS(svit_predictor_config_init(&config, sizeof config));
    config.output = SVIT_OUTPUT_LOGITS;
    WORKS(svit_predictor_create_from_model(&predictor, model, &config, err));
    FAILS(svit_predictor_labels(predictor, probabilities, 1, &label, err), SVIT_E_STATE,
          "SVIT_OUTPUT_SOFTMAX");
    ck_assert_double_eq(svit_model_threshold(NULL), 0);
    svit_predictor_free(predictor);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("threshold");
    TCase *c = tcase_create("core");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_rounding_takes_no_further_row);
    tcase_add_test(c, test_the_threshold_is_the_largest_that_enough_rows_reach);
    tcase_add_test(c, test_labels_are_none_below_the_threshold);
    tcase_add_test(c, test_a_row_with_a_nan_has_no_label);
    tcase_add_loop_test(c, test_what_removes_a_threshold_says_so, 0, 4);
    tcase_add_test(c, test_the_threshold_is_kept_with_the_model);
    tcase_add_test(c, test_training_and_other_outputs_remove_it);
    tcase_add_test(c, test_thresholds_of_files_are_checked);
    tcase_add_test(c, test_what_is_not_accepted_is_named);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
