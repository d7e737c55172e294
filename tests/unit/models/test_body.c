/* Models without a classifier: their output is the features from which a model with one computes
 * its logits. And the models that take images of one size alone. */
#include "calls.h"

#include <shiftvit/shiftvit.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 2, SIDE = 24, DIM = 20, CLASSES = 3, PIXELS = SIDE * SIDE * 3 };

#define SIZE "\"input_height\":24,\"input_width\":24,\"patch_size\":6,\"dim\":20,"

/* Each model has one linear layer behind its features, whose weight has this name. `refuses`: what
 * it says about images of another size; NULL: it takes them. */
static const struct {
    const char *json, *head, *refuses;
} MODELS[] = {
    {"{\"architecture\":\"mixer\"," SIZE "\"depth\":2,\"token_mlp_dim\":10,\"mlp_dim\":30", "head",
     "input is 30 x 24; this model's token MLPs are for 24 x 24 only"},
    {"{\"architecture\":\"vit\"," SIZE "\"depth\":1,\"heads\":2,\"head_dim\":10,\"mlp_dim\":16,"
     "\"head_units\":[],\"pool\":\"mean\",\"head_norm\":true",
     "head.fc1", "this model's position embedding is for 24 x 24 only"},
    {"{\"architecture\":\"shiftvit\",\"input_height\":24,\"input_width\":24,\"dim\":20,"
     "\"blocks\":[1],\"num_div\":4",
     "head", NULL},
};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS };

static svit_context *context;

static void setup(void)
{
    err.struct_size = sizeof err;
    OK(svit_context_create(&context, NULL, &err));
}

static void teardown(void)
{
    svit_context_free(context);
}

static svit_model *make(int index, const char *rest)
{
    char json[512];
    svit_model_config config;
    svit_model *model = NULL;
    snprintf(json, sizeof json, "%s,%s}", MODELS[index].json, rest);
    OK(svit_model_config_from_json(&config, sizeof config, json, &err));
    OK(svit_model_create(&model, context, &config, 7, &err));
    return model;
}

static void infer(svit_model *model, const float *images, float *out)
{
    svit_session_config config;
    svit_session *session = NULL;
    OK(svit_session_config_init(&config, sizeof config));
    config.max_batch = N;
    config.mode = SVIT_MODE_INFER;
    OK(svit_session_create(&session, model, &config, &err));
    OK(svit_forward(session, images, N, out, &err));
    svit_session_free(session);
}

/* Gives `body` the parameters of `whole`. */
static void copy_parameters(svit_model *body, svit_model *whole)
{
    for (size_t i = 0; i < svit_model_parameter_count(body); i++) {
        static float values[1 << 14];
        const char *name = svit_model_parameter_name(body, i);
        size_t rank;
        int64_t shape[8];
        size_t elements = 1;
        OK(svit_model_parameter_shape(body, name, shape, &rank, &err));
        for (size_t axis = 0; axis < rank; axis++)
            elements *= (size_t)shape[axis];
        ck_assert_uint_le(elements, sizeof values / sizeof *values);
        OK(svit_model_get_parameter(whole, name, values, elements, &err));
        OK(svit_model_set_parameter(body, name, values, elements, &err));
    }
}

START_TEST(test_the_output_of_a_body_is_what_the_classifier_takes)
{
    static float images[N * PIXELS];
    float features[N * DIM], logits[N * CLASSES], weight[CLASSES * DIM], bias[CLASSES];
    char name[64];
    for (size_t i = 0; i < N * PIXELS; i++)
        images[i] = (float)sin((double)i * 0.37) + (float)(i / PIXELS);
    svit_model *whole = make(_i, "\"num_classes\":3");
    svit_model *body = make(_i, "\"classifier\":false,\"num_classes\":20");
    ck_assert_uint_eq(svit_model_parameter_count(body) + 2, svit_model_parameter_count(whole));
    copy_parameters(body, whole);
    infer(whole, images, logits);
    infer(body, images, features);
    snprintf(name, sizeof name, "%s.weight", MODELS[_i].head);
    OK(svit_model_get_parameter(whole, name, weight, CLASSES * DIM, &err));
    snprintf(name, sizeof name, "%s.bias", MODELS[_i].head);
    OK(svit_model_get_parameter(whole, name, bias, CLASSES, &err));
    for (size_t n = 0; n < N; n++)
        for (size_t k = 0; k < CLASSES; k++) {
            double sum = bias[k];
            for (size_t i = 0; i < DIM; i++)
                sum += (double)features[n * DIM + i] * weight[k * DIM + i];
            ck_assert_double_le(fabs(sum - logits[n * CLASSES + k]), 1e-5);
        }
    svit_model_free(whole);
    svit_model_free(body);
}
END_TEST

START_TEST(test_images_of_another_size_are_refused_by_name)
{
    svit_session_config config;
    svit_session *session = NULL;
    svit_model *model = make(_i, "\"num_classes\":3");
    OK(svit_session_config_init(&config, sizeof config));
    config.max_batch = N;
    config.mode = SVIT_MODE_INFER;
    config.input_height = SIDE + 6;
    config.input_width = SIDE;
    if (MODELS[_i].refuses)
        FAILS(SVIT_E_ARGUMENT, MODELS[_i].refuses,
              svit_session_create(&session, model, &config, &err));
    else
        OK(svit_session_create(&session, model, &config, &err));
    ck_assert_int_eq(session != NULL, MODELS[_i].refuses == NULL);
    svit_session_free(session);
    svit_model_free(model);
}
END_TEST

static Suite *body_suite(void)
{
    Suite *suite = suite_create("body");
    TCase *all = tcase_create("body");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_loop_test(all, test_the_output_of_a_body_is_what_the_classifier_takes, 0,
                        MODEL_COUNT);
    tcase_add_loop_test(all, test_images_of_another_size_are_refused_by_name, 0, MODEL_COUNT);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(body_suite)
