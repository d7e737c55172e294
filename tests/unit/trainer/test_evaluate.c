/* Checks that evaluation refuses a dataset whose class names differ from those of the model. */
#include "fit.h"

static svit_context *context;
static svit_model *model;
static svit_dataset *synthetic; /* a dataset of 10 classes with names */
static svit_pipeline_config pipeline;

static void setup(void)
{
    context = fit_context(2);
    model = fit_model(context, 10, 1);
    WORKS(svit_dataset_synthetic(&synthetic, context, 1, SVIT_SPLIT_TEST, 20, err));
    WORKS(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    pipeline.resize_height = pipeline.resize_width = 8;
    pipeline.output_height = pipeline.output_width = 8;
}

static void teardown(void)
{
    svit_dataset_free(synthetic);
    svit_model_free(model);
    svit_context_free(context);
}

static const char **names_of_data(void)
{
    static const char *names[10];
    for (size_t i = 0; i < 10; i++)
        names[i] = svit_dataset_class_name(synthetic, i);
    return names;
}

#define EVALUATE(m, d) svit_evaluate(context, m, d, &pipeline, 8, &loss, NULL, NULL, err)

START_TEST(test_names_that_are_the_same_or_missing_are_evaluated)
{
    double loss;
    WORKS(EVALUATE(model, synthetic));
    WORKS(svit_model_set_classes(model, names_of_data(), 10, err));
    WORKS(EVALUATE(model, synthetic));
    static uint8_t rgb[2 * 32 * 32 * 3];
    static const int32_t labels[2] = {0, 1};
    svit_dataset *nameless = NULL;
    WORKS(svit_dataset_memory(&nameless, context, rgb, labels, 2, 32, 32, 3, 5, err));
    WORKS(EVALUATE(model, nameless));
    svit_dataset_free(nameless);
}
END_TEST

START_TEST(test_the_first_name_that_differs_is_shown)
{
    double loss = 7;
    const char **names = names_of_data();
    char wanted[160];
    snprintf(wanted, sizeof wanted, "class 3 of the model is 'zebra', of the dataset '%s';",
             names[3]);
    names[3] = "zebra";
    names[5] = "horse";
    WORKS(svit_model_set_classes(model, names, 10, err));
    FAILS(EVALUATE(model, synthetic), SVIT_E_ARGUMENT, wanted);
    FAILS(svit_evaluate_with_compute(context, model, synthetic, &pipeline, 8, SVIT_COMPUTE_BF16,
                                     &loss, NULL, NULL, err),
          SVIT_E_ARGUMENT, "zebra");
    static char name[81];
    names[0] = memset(name, 'a', 80);
    WORKS(svit_model_set_classes(model, names, 10, err));
    snprintf(wanted, sizeof wanted, "class 0 of the model is '%.60s', of the dataset '", name);
    FAILS(EVALUATE(model, synthetic), SVIT_E_ARGUMENT, wanted);
    FAILS(EVALUATE(model, synthetic), SVIT_E_ARGUMENT, "must be the same");
    ck_assert_double_eq(loss, 7);
}
END_TEST

/* A dataset of fewer classes has those that are first in the model. */
START_TEST(test_the_first_classes_of_a_model_are_evaluated)
{
    double loss;
    const char *names[12];
    memcpy(names, names_of_data(), 10 * sizeof *names);
    names[10] = "one more";
    names[11] = "the last";
    svit_model *larger = fit_model(context, 12, 1);
    WORKS(svit_model_set_classes(larger, names, 12, err));
    WORKS(EVALUATE(larger, synthetic));
    names[9] = "the ninth";
    WORKS(svit_model_set_classes(larger, names, 12, err));
    FAILS(EVALUATE(larger, synthetic), SVIT_E_ARGUMENT, "class 9 of the model is 'the ninth'");
    svit_model_free(larger);
}
END_TEST

#define LOGITS(m, d, labels)                                                                       \
    svit_evaluate_logits(context, m, d, &pipeline, 8, SVIT_COMPUTE_F32, SVIT_TTA_NONE, logits,     \
                         labels, err)

/* Labels that are not read may mean anything; targets are as many as outputs. */
START_TEST(test_logits_alone_need_no_classes)
{
    float logits[20 * 10], wanted[20 * 10];
    int32_t labels[20];
    const char **names = names_of_data();
    WORKS(LOGITS(model, synthetic, labels));
    memcpy(wanted, logits, sizeof wanted);
    names[3] = "zebra";
    WORKS(svit_model_set_classes(model, names, 10, err));
    FAILS(LOGITS(model, synthetic, labels), SVIT_E_ARGUMENT, "svit_dataset_match_classes");
    memset(logits, 0, sizeof logits);
    WORKS(LOGITS(model, synthetic, NULL));
    ck_assert_mem_eq(logits, wanted, sizeof wanted);

    svit_model *smaller = fit_model(context, 5, 1);
    FAILS(LOGITS(smaller, synthetic, labels), SVIT_E_ARGUMENT,
          "dataset has 10 classes; the model has 5");
    WORKS(LOGITS(smaller, synthetic, NULL));
    svit_model_free(smaller);

    static uint8_t rgb[2 * 32 * 32 * 3];
    static const float targets[2 * 12];
    svit_dataset *numbers = NULL;
    WORKS(svit_dataset_memory_targets(&numbers, context, rgb, targets, 2, 32, 32, 3, 12, err));
    FAILS(LOGITS(model, numbers, NULL), SVIT_E_ARGUMENT, "12");
    svit_dataset_free(numbers);
}
END_TEST

enum { N = 20, CLASSES = 10, SIDE = 8, PIXELS = SIDE * SIDE };
enum { MANY = 6 };
static const size_t CHANNELS[] = {3, 1, 4, 2, MANY};

/* Sets random weights; with the initial ones all logits are almost equal. */
static void draw_weights(void)
{
    uint32_t random = 1;
    const char *name;
    for (size_t i = 0; (name = svit_model_parameter_name(model, i)) != NULL; i++) {
        size_t elements = fit_elements(model, name);
        float *values = malloc(elements * sizeof *values);
        for (size_t e = 0; e < elements; e++) {
            random = random * 1664525u + 1013904223u;
            values[e] = (float)(random >> 8) / (1 << 24) - 0.5f;
        }
        WORKS(svit_model_set_parameter(model, name, values, elements, err));
        free(values);
    }
}

/* Replaces model, data and pipeline by others with that many channels. Half of the channels of the
 * model do not shift, so the logits of a last feature map of 1x1 depend on the image. */
static void use_channels(size_t channels)
{
    static uint8_t pixels[N * 32 * 32 * MANY];
    static int32_t labels[N];
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * i % 251);
    for (size_t i = 0; i < N; i++)
        labels[i] = (int32_t)(i * 7 % CLASSES);
    svit_model_config config = fit_model_config(CLASSES);
    config.num_div = 8;
    config.in_channels = (uint32_t)channels;
    pipeline.channels = (uint32_t)channels;
    svit_model_free(model);
    svit_dataset_free(synthetic);
    WORKS(svit_model_create(&model, context, &config, 1, err));
    draw_weights();
    WORKS(svit_dataset_memory(&synthetic, context, pixels, labels, N, 32, 32, channels, CLASSES,
                              err));
}

/* Computes the logits with the session itself, and compares. With a flip they are the mean over the
 * image and its mirror; with flips and shifts the sum of six parts. */
START_TEST(test_logits_of_a_dataset)
{
    const size_t channels = CHANNELS[_i / 3];
    const int32_t tta = _i % 3;
    use_channels(channels);
    enum { IMAGE = PIXELS * MANY };
    static float images[N * IMAGE], other[N * IMAGE], wanted[N * CLASSES], part[N * CLASSES],
        got[N * CLASSES];
    int32_t labels[N], got_labels[N];
    size_t n = 0;
    svit_loader *loader = NULL;
    svit_session *session = NULL;
    svit_loader_config loader_config;
    svit_session_config session_config;
    memset(wanted, 0, sizeof wanted); /* without fork it has the sums of the case before */
    svit_loader_config_init(&loader_config, sizeof loader_config);
    loader_config.batch = N;
    WORKS(svit_loader_create(&loader, synthetic, &pipeline, &loader_config, err));
    WORKS(svit_loader_next(loader, images, labels, &n, err));
    ck_assert_uint_eq(n, N);
    svit_loader_free(loader);
    svit_session_config_init(&session_config, sizeof session_config);
    session_config.max_batch = N;
    session_config.mode = SVIT_MODE_INFER;
    WORKS(svit_session_create(&session, model, &session_config, err));
    for (int by = -1; by <= 1; by++)
        for (int mirrored = 0; mirrored < 2; mirrored++) {
            int is_used = tta == SVIT_TTA_FLIP_SHIFT || (by == 0 && mirrored <= (tta > 0));
            double factor = tta == SVIT_TTA_NONE   ? 1
                            : tta == SVIT_TTA_FLIP ? 0.5
                            : by                   ? 0.125
                                                   : 0.25;
            if (!is_used)
                continue;
            for (int i = 0; i < N * PIXELS; i++) {
                int y = i % PIXELS / SIDE - by, x = i % SIDE;
                x = (mirrored ? SIDE - 1 - x : x) - by;
                y = y < 0 ? 1 : y == SIDE ? SIDE - 2 : y;
                x = x < 0 ? 1 : x == SIDE ? SIDE - 2 : x;
                int from = i / PIXELS * PIXELS + y * SIDE + x;
                memcpy(other + channels * (size_t)i, images + channels * (size_t)from,
                       channels * sizeof *other);
            }
            WORKS(svit_forward(session, other, N, part, err));
            for (int i = 0; i < N * CLASSES; i++)
                wanted[i] += (float)factor * part[i];
        }
    WORKS(svit_evaluate_logits(context, model, synthetic, &pipeline, 7, SVIT_COMPUTE_F32, tta, got,
                               got_labels, err));
    ck_assert_mem_eq(labels, got_labels, sizeof labels);
    for (int i = 0; i < N * CLASSES; i++)
        ck_assert_float_eq_tol(got[i], wanted[i], 1e-6f);
    FAILS(svit_evaluate_logits(context, model, synthetic, &pipeline, 7, SVIT_COMPUTE_F32, 3, got,
                               NULL, err),
          SVIT_E_ARGUMENT, "tta is 3; it is 0..2");
    svit_session_free(session);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("evaluate");
    TCase *c = tcase_create("names");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_logits_of_a_dataset, 0, 15);
    tcase_add_test(c, test_names_that_are_the_same_or_missing_are_evaluated);
    tcase_add_test(c, test_the_first_name_that_differs_is_shown);
    tcase_add_test(c, test_logits_alone_need_no_classes);
    tcase_add_test(c, test_the_first_classes_of_a_model_are_evaluated);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
