/* Models and sessions at the extremes of sizes: batches of 1 to 65,536 images, images of 1 x 1 to
 * 1,024 x 1,024 pixels, 1 to 10,000 classes. A forward, a backward and a step work and give the
 * results of the plain models, or of the same images one by one, and the memory that a session
 * takes is what svit_session_memory_needed says; or the size is refused by a message that says what
 * is accepted. */
#include "fit.h"
#include "library_model.h"
#include "plain_model.h"

#include <math.h>

static svit_context *context;

static void setup(void)
{
    context = fit_context(2);
}

static void teardown(void)
{
    svit_context_free(context);
}

static const char *const ARCHITECTURES[] = {
    "\"architecture\":\"shiftvit\",\"dim\":8,\"num_div\":4,\"blocks\":[1],\"dropout\":0,"
    "\"drop_path\":0",
    "\"architecture\":\"vit\",\"dim\":8,\"depth\":1,\"heads\":2,\"head_dim\":4,\"mlp_dim\":8,"
    "\"head_units\":[8],\"attention\":\"lsa\",\"dropout\":0,\"attention_dropout\":0,"
    "\"head_dropout\":0,\"drop_path\":0",
    "\"architecture\":\"vit\",\"dim\":8,\"depth\":1,\"heads\":2,\"head_dim\":8,\"mlp_dim\":8,"
    "\"head_units\":[],\"tokenizer\":\"spt\",\"pool\":\"mean\",\"dropout\":0,"
    "\"attention_dropout\":0,\"head_dropout\":0,\"drop_path\":0",
    "\"architecture\":\"mixer\",\"dim\":8,\"depth\":1,\"token_mlp_dim\":3,\"mlp_dim\":8,"
    "\"dropout\":0,\"drop_path\":0",
};
enum { ARCHITECTURE_COUNT = sizeof ARCHITECTURES / sizeof *ARCHITECTURES };

static svit_status read_config(svit_model_config *config, int architecture, size_t height,
                               size_t width, size_t patch, size_t classes, svit_error *error)
{
    char json[1024];
    snprintf(json, sizeof json,
             "{%s,\"input_height\":%zu,\"input_width\":%zu,\"patch_size\":%zu,\"num_classes\":%zu}",
             ARCHITECTURES[architecture], height, width, patch, classes);
    return svit_model_config_from_json(config, sizeof *config, json, error);
}

static float *draw(size_t count, uint32_t seed)
{
    float *values = malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 8) / (1 << 24) - 0.5f;
    }
    return values;
}

static double norm_of(const float *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)values[i] * values[i];
    return sqrt(sum);
}

/* |a - b| / |b| */
static double distance(const float *a, const float *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
    return sqrt(sum) / (norm_of(b, count) + 1e-30);
}

static svit_session *open_session(svit_model *model, size_t max_batch, int32_t mode)
{
    svit_session *session = NULL;
    svit_session_config config;
    uint64_t needed = 0;
    WORKS(svit_session_config_init(&config, sizeof config));
    config.max_batch = (uint32_t)max_batch;
    config.mode = mode;
    WORKS(svit_session_memory_needed(&needed, model, &config, err));
    WORKS(svit_session_create(&session, model, &config, err));
    ck_assert_uint_eq(svit_session_memory(session), needed);
    return session;
}

enum { SIDE = 4, PIXELS = SIDE * SIDE * 3, CLASSES = 3, MOST = 65536 };
static const size_t BATCHES[] = {1, 2, 8, 9, 1000, MOST};
enum { BATCH_COUNT = sizeof BATCHES / sizeof *BATCHES };

static svit_model *open_model(int architecture)
{
    svit_model *model = NULL;
    svit_model_config config;
    WORKS(read_config(&config, architecture, SIDE, SIDE, 2, CLASSES, err));
    WORKS(svit_model_create(&model, context, &config, 3, err));
    return model;
}

/* The logits of an image have the same bits alone and in the largest batch of a session, and but
 * for rounding those of a session for one image. */
START_TEST(test_an_image_has_the_same_logits_in_a_batch_of_any_size)
{
    svit_model *model = open_model(_i);
    float *images = draw((size_t)MOST * PIXELS, 1);
    float *logits = malloc((size_t)MOST * CLASSES * sizeof *logits);
    svit_session *single = open_session(model, 1, SVIT_MODE_INFER);
    for (size_t b = 0; b < BATCH_COUNT; b++) {
        const size_t n = BATCHES[b];
        svit_session *session = open_session(model, n, SVIT_MODE_INFER);
        WORKS(svit_forward(session, images, n, logits, err));
        for (size_t i = 0; i < n; i = i < 20 || i + 20 > n ? i + 1 : i + n / 50) {
            float alone[CLASSES], other[CLASSES];
            WORKS(svit_forward(session, images + i * PIXELS, 1, alone, err));
            WORKS(svit_forward(single, images + i * PIXELS, 1, other, err));
            ck_assert_msg(memcmp(alone, logits + i * CLASSES, sizeof alone) == 0,
                          "image %zu of %zu has other bits alone", i, n);
            ck_assert_double_lt(distance(other, alone, CLASSES), 1e-5);
        }
        FAILS(svit_forward(session, images, n + 1, logits, err), SVIT_E_ARGUMENT, "max_batch");
        FAILS(svit_forward(session, images, 0, logits, err), SVIT_E_ARGUMENT, "1 to");
        svit_session_free(session);
    }
    svit_session_free(single);
    svit_model_free(model);
    free(images);
    free(logits);
}
END_TEST

/* The gradients of all parameters, of `n` images in batches of at most max_batch. */
static float *gradients_of(svit_model *model, size_t max_batch, const float *images,
                           const float *dlogits, size_t n)
{
    const size_t count = (size_t)svit_model_parameter_elements(model);
    float *logits = malloc(max_batch * CLASSES * sizeof *logits);
    float *gradients = malloc(count * sizeof *gradients);
    double *sum = calloc(count, sizeof *sum);
    svit_session *session = open_session(model, max_batch, SVIT_MODE_TRAIN);
    for (size_t i = 0; i < n; i += max_batch) {
        const size_t some = n - i < max_batch ? n - i : max_batch;
        WORKS(svit_session_zero_gradients(session, err));
        WORKS(svit_forward(session, images + i * PIXELS, some, logits, err));
        WORKS(svit_backward(session, dlogits + i * CLASSES, some, err));
        fit_copy_gradients(model, session, gradients);
        for (size_t k = 0; k < count; k++)
            sum[k] += gradients[k];
    }
    for (size_t k = 0; k < count; k++)
        gradients[k] = (float)sum[k];
    svit_session_free(session);
    free(logits);
    free(sum);
    return gradients;
}

START_TEST(test_a_batch_of_any_size_has_the_gradients_of_smaller_ones)
{
    svit_model *model = open_model(_i);
    const size_t count = (size_t)svit_model_parameter_elements(model);
    float *images = draw((size_t)MOST * PIXELS, 1), *dlogits = draw((size_t)MOST * CLASSES, 2);
    for (size_t b = 0; b < BATCH_COUNT; b++) {
        const size_t n = BATCHES[b];
        float *whole = gradients_of(model, n, images, dlogits, n);
        float *parts = gradients_of(model, n > 700 ? 700 : n / 2 + 1, images, dlogits, n);
        ck_assert_double_lt(distance(whole, parts, count), 2e-5);
        free(whole);
        free(parts);
    }
    svit_model_free(model);
    free(images);
    free(dlogits);
}
END_TEST

START_TEST(test_a_batch_beyond_the_limits_is_refused)
{
    static const uint32_t beyond[] = {0, MOST + 1, UINT32_MAX};
    svit_model *model = open_model(0);
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        svit_session *session = NULL;
        svit_session_config config;
        uint64_t needed = 0;
        WORKS(svit_session_config_init(&config, sizeof config));
        config.max_batch = beyond[i];
        FAILS(svit_session_create(&session, model, &config, err), SVIT_E_ARGUMENT, "[1, 65536]");
        FAILS(svit_session_memory_needed(&needed, model, &config, err), SVIT_E_ARGUMENT,
              "[1, 65536]");
    }
    svit_model_free(model);
}
END_TEST

/* The values of a plain model: weights of matmuls preserve magnitudes. */
static void draw_plain(plain_model *model)
{
    const svit_model_config *config = &model->config;
    for (size_t i = 0; i < model->tensor_count; i++) {
        const plain_tensor *tensor = &model->tensors[i];
        const size_t in = tensor->out ? tensor->elements / tensor->out : 0;
        float *values = draw(tensor->elements, (uint32_t)i);
        const int is_scale = strstr(tensor->name, "tau") != NULL;
        for (size_t k = 0; k < tensor->elements; k++)
            tensor->value[k] = (float)(in ? values[k] * sqrt(12.0 / (double)in)
                                          : 0.2 * values[k] + (is_scale ? 2 : 1));
        free(values);
    }
    const size_t pixels = (size_t)config->input_height * config->input_width * config->in_channels;
    float *x = draw(model->images * pixels, 5), *d = draw(model->images * model->classes, 6);
    for (size_t i = 0; i < model->images * pixels; i++)
        model->x[i] = x[i];
    for (size_t i = 0; i < model->images * model->classes; i++)
        model->dlogits[i] = d[i];
    free(x);
    free(d);
}

static double distance_to(const float *got, const double *wanted, size_t count)
{
    double sum = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (got[i] - wanted[i]) * (got[i] - wanted[i]);
        size += wanted[i] * wanted[i];
    }
    return sqrt(sum) / (sqrt(size) + 1e-30);
}

/* Compares a forward and a backward of two images, or of a large one, with the plain model.
 * Gradients are compared all together, since some, such as those of the keys' biases, are 0 but for
 * rounding. */
static void compare_with_plain(const svit_model_config *config, const char *name)
{
    const size_t images = config->input_height * config->input_width > 1000000 ? 1 : 2;
    plain_model *model = plain_model_create(config, images);
    size_t count = 0;
    draw_plain(model);
    plain_model_forward(model);
    plain_model_backward(model);
    for (size_t i = 0; i < model->tensor_count; i++)
        count += model->tensors[i].elements;
    float *logits = malloc(images * model->classes * sizeof *logits);
    float *gradients = malloc(count * sizeof *gradients);
    double *wanted = malloc(count * sizeof *wanted);
    const library_options options = {.threads = 2, .max_batch = 2, .mode = SVIT_MODE_TRAIN};
    library_run(model, &options, logits, gradients);
    for (size_t i = 0, at = 0; i < model->tensor_count; at += model->tensors[i++].elements)
        memcpy(wanted + at, model->tensors[i].gradient,
               model->tensors[i].elements * sizeof *wanted);
    const double of_logits = distance_to(logits, model->logits, images * model->classes);
    const double of_gradients = distance_to(gradients, wanted, count);
    ck_assert_msg(of_logits < 2e-5, "%s: logits differ by %g", name, of_logits);
    ck_assert_msg(of_gradients < 1e-4, "%s: gradients differ by %g", name, of_gradients);
    free(logits);
    free(gradients);
    free(wanted);
    plain_model_free(model);
}

/* Trains one step, and infers. */
static void take_step(const svit_model_config *config)
{
    svit_model *model = NULL;
    svit_optimizer *optimizer = NULL;
    const size_t classes = config->num_classes;
    const size_t pixels = (size_t)config->input_height * config->input_width * config->in_channels;
    float *images = draw(2 * pixels, 7), *logits = malloc(2 * classes * sizeof *logits);
    float *dlogits = draw(2 * classes, 8);
    WORKS(svit_model_create(&model, context, config, 1, err));
    svit_session *session = open_session(model, 2, SVIT_MODE_TRAIN);
    svit_session *inference = open_session(model, 2, SVIT_MODE_INFER);
    WORKS(svit_optimizer_create(&optimizer, model, NULL, err));
    WORKS(svit_forward(session, images, 2, logits, err));
    WORKS(svit_backward(session, dlogits, 2, err));
    WORKS(svit_step(optimizer, session, err));
    WORKS(svit_forward(inference, images, 2, logits, err));
    svit_optimizer_free(optimizer);
    svit_session_free(inference);
    svit_session_free(session);
    svit_model_free(model);
    free(images);
    free(logits);
    free(dlogits);
}

typedef struct size_case {
    size_t height, width, patch, classes;
    const char *refused[ARCHITECTURE_COUNT]; /* words of the message; NULL: accepted */
} size_case;

#define FOR_ALL(text)                                                                              \
    {                                                                                              \
        text, text, text, text                                                                     \
    }
#define ACCEPTED FOR_ALL(NULL)

/* A ViT and a mixer take whole patches alone; a ShiftViT pads or crops. */
static const size_case SIZES[] = {
    {1, 1, 1, 3, ACCEPTED},
    {1, 2, 1, 3, ACCEPTED},
    {2, 1, 1, 3, ACCEPTED},
    {3, 7, 1, 3, ACCEPTED},
    {1, 1024, 1, 3, ACCEPTED},
    {1024, 1, 1, 3, ACCEPTED},
    {4, 1024, 4, 3, ACCEPTED},
    {64, 64, 64, 3, ACCEPTED},
    {1024, 1024, 64, 3, ACCEPTED},
    {8192, 32, 32, 3, ACCEPTED},
    {8193, 1, 1, 3, FOR_ALL("8192")},
    {1, 8193, 1, 3, FOR_ALL("8192")},
    {0, 1, 1, 3, FOR_ALL("8192")},
    {1, 0, 1, 3, FOR_ALL("8192")},
    {8, 8, 257, 3, FOR_ALL("256")},
    {8, 8, 0, 3, FOR_ALL("256")},
    {5, 8, 4, 3, {NULL, "patch_size", "patch_size", "patch_size"}},
    {4, 4, 2, 1, ACCEPTED},
    {4, 4, 2, 2, ACCEPTED},
    {4, 4, 2, 10000, ACCEPTED},
    {4, 4, 2, 1048576, ACCEPTED},
    {4, 4, 2, 1048577, FOR_ALL("1048576")},
    {4, 4, 2, 0, FOR_ALL("1048576")},
};
enum { SIZE_COUNT = sizeof SIZES / sizeof *SIZES };

START_TEST(test_a_size_works_like_the_plain_model_or_is_refused)
{
    const size_case *of = &SIZES[_i / ARCHITECTURE_COUNT];
    const int architecture = _i % ARCHITECTURE_COUNT;
    const char *refused = of->refused[architecture];
    char name[96];
    svit_error error = {.struct_size = sizeof error};
    svit_model_config config;
    svit_model *model = NULL;
    snprintf(name, sizeof name, "architecture %d, %zu x %zu, patches of %zu, %zu classes",
             architecture, of->height, of->width, of->patch, of->classes);
    svit_status status =
        read_config(&config, architecture, of->height, of->width, of->patch, of->classes, &error);
    if (status == SVIT_OK)
        status = svit_model_create(&model, context, &config, 1, &error);
    svit_model_free(model);
    if (refused) {
        ck_assert_msg(status == SVIT_E_ARGUMENT && strstr(error.message, refused),
                      "%s: status %d, '%s', which does not say '%s'", name, status, error.message,
                      refused);
        return;
    }
    ck_assert_msg(status == SVIT_OK, "%s: %s", name, error.message);
    if (of->classes > 10000) /* the limit is accepted; training it takes long */
        return;
    take_step(&config);
    compare_with_plain(&config, name);
}
END_TEST

static Suite *sizes_suite(void)
{
    Suite *suite = suite_create("sizes");
    TCase *all = tcase_create("models");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, test_a_batch_beyond_the_limits_is_refused);
    tcase_add_loop_test(all, test_an_image_has_the_same_logits_in_a_batch_of_any_size, 0,
                        ARCHITECTURE_COUNT);
    tcase_add_loop_test(all, test_a_batch_of_any_size_has_the_gradients_of_smaller_ones, 0,
                        ARCHITECTURE_COUNT);
    tcase_add_loop_test(all, test_a_size_works_like_the_plain_model_or_is_refused, 0,
                        SIZE_COUNT * ARCHITECTURE_COUNT);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(sizes_suite)
