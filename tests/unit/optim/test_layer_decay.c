/* Layer-wise decay of the learning rate: the depth of every parameter, and updates by hand. */
#include "suite.h"

#include <shiftvit/shiftvit.h>

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static svit_error err;

#define OK(call) ck_assert_msg((call) == SVIT_OK, "%s", err.message)

enum { N = 2, CLASSES = 5, PIXELS = 16 * 16 * 3, DEPTH_ROWS = 9 };

/* A model, its blocks, and the depth of the parameters whose names match; the last row that matches
 * counts. */
static const struct {
    const char *json;
    int blocks;
    struct {
        const char *pattern;
        int depth;
    } rows[DEPTH_ROWS];
} MODELS[] = {
    {"{\"architecture\":\"vit\",\"input_height\":16,\"input_width\":16,\"patch_size\":8,\"dim\":12,"
     "\"depth\":3,\"heads\":2,\"head_dim\":6,\"mlp_dim\":20,\"num_classes\":5,\"head_units\":[7],"
     "\"pool\":\"class_token\",\"register_tokens\":2,\"pre_norm\":true,\"layer_scale\":true,"
     "\"mlp_last_gelu\":false,\"dropout\":0,\"attention_dropout\":0,\"head_dropout\":0}",
     3,
     {{"*", 0},
      {"blocks.0.*", 1},
      {"blocks.1.*", 2},
      {"blocks.2.*", 3},
      {"norm.*", 4},
      {"head*", 4}}},
    {"{\"architecture\":\"shiftvit\",\"input_height\":16,\"input_width\":16,\"patch_size\":2,"
     "\"dim\":12,\"blocks\":[1,2,1],\"num_classes\":5,\"num_div\":6,\"dropout\":0,\"drop_path\":0,"
     "\"final_norm\":true}",
     4,
     {{"*", 0},
      {"layers.0.blocks.0.*", 1},
      {"layers.0.downsample.*", 2},
      {"layers.1.blocks.0.*", 2},
      {"layers.1.blocks.1.*", 3},
      {"layers.1.downsample.*", 4},
      {"layers.2.blocks.0.*", 4},
      {"norm.*", 5},
      {"head*", 5}}},
    {"{\"architecture\":\"mixer\",\"input_height\":16,\"input_width\":16,\"patch_size\":8,"
     "\"dim\":12,\"depth\":2,\"token_mlp_dim\":10,\"mlp_dim\":30,\"num_classes\":5,\"dropout\":0,"
     "\"drop_path\":0}",
     2,
     {{"*", 0}, {"blocks.0.*", 1}, {"blocks.1.*", 2}, {"norm.*", 3}, {"head*", 3}}}};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS };

static int depth_of(int model, const char *name)
{
    int depth = -1;
    for (int i = 0; i < DEPTH_ROWS && MODELS[model].rows[i].pattern; i++)
        if (fnmatch(MODELS[model].rows[i].pattern, name, 0) == 0)
            depth = MODELS[model].rows[i].depth;
    ck_assert_int_ge(depth, 0);
    return depth;
}

static size_t elements_of(const svit_model *model, const char *name)
{
    int64_t shape[8];
    size_t rank, elements = 1;
    OK(svit_model_parameter_shape(model, name, shape, &rank, &err));
    for (size_t r = 0; r < rank; r++)
        elements *= (size_t)shape[r];
    return elements;
}

typedef struct run {
    svit_context *context;
    svit_model *model;
    svit_session *session;
    svit_optimizer *optimizer;
} run;

static run run_open(const char *json, const svit_optimizer_config *config)
{
    run r;
    svit_model_config model;
    svit_session_config session;
    err.struct_size = sizeof err;
    OK(svit_context_create(&r.context, NULL, &err));
    OK(svit_model_config_from_json(&model, sizeof model, json, &err));
    OK(svit_model_create(&r.model, r.context, &model, 7, &err));
    OK(svit_session_config_init(&session, sizeof session));
    session.mode = SVIT_MODE_TRAIN;
    session.max_batch = N;
    OK(svit_session_create(&r.session, r.model, &session, &err));
    OK(svit_optimizer_create(&r.optimizer, r.model, config, &err));
    return r;
}

static void run_close(run *r)
{
    svit_optimizer_free(r->optimizer);
    svit_session_free(r->session);
    svit_model_free(r->model);
    svit_context_free(r->context);
}

static void run_backward(run *r)
{
    float images[N * PIXELS], dlogits[N * CLASSES], logits[N * CLASSES];
    for (size_t i = 0; i < N * PIXELS; i++)
        images[i] = (float)(i * 7 % 31) / 31 - 0.5f;
    for (size_t i = 0; i < N * CLASSES; i++)
        dlogits[i] = (float)(i * 3 % 5) - 2;
    OK(svit_forward(r->session, images, N, logits, &err));
    OK(svit_backward(r->session, dlogits, N, &err));
}

static svit_optimizer_config sgd(double layer_decay)
{
    svit_optimizer_config config;
    OK(svit_optimizer_config_init(&config, sizeof config));
    config.kind = SVIT_OPTIMIZER_SGD;
    config.sgd_form = SVIT_SGD_TORCH;
    config.learning_rate = 0.25;
    config.weight_decay = 0;
    config.layer_decay = layer_decay;
    return config;
}

/* Checks that one step subtracts scale * 0.25 * 0.5^(blocks + 1 - depth) * g from every weight. The
 * factors are powers of 2, so there is one rounding, that of the difference. Weights of a name that
 * matches `pattern` have the factor `scale` as well. Returns the parameters that changed. */
static size_t check_step(run *r, int model, const char *pattern, float scale)
{
    size_t changed = 0, count = svit_model_parameter_count(r->model);
    float **before = calloc(count, sizeof *before), **gradient = calloc(count, sizeof *gradient);
    run_backward(r);
    for (size_t i = 0; i < count; i++) {
        const char *name = svit_model_parameter_name(r->model, i);
        size_t elements = elements_of(r->model, name);
        before[i] = malloc(elements * sizeof(float));
        gradient[i] = malloc(elements * sizeof(float));
        OK(svit_model_get_parameter(r->model, name, before[i], elements, &err));
        OK(svit_session_get_gradient(r->session, name, gradient[i], elements, &err));
    }
    OK(svit_step(r->optimizer, r->session, &err));
    for (size_t i = 0; i < count; i++) {
        const char *name = svit_model_parameter_name(r->model, i);
        size_t elements = elements_of(r->model, name);
        float *after = malloc(elements * sizeof(float));
        float rate = ldexpf(0.25f, depth_of(model, name) - MODELS[model].blocks - 1);
        rate *= fnmatch(pattern, name, 0) == 0 ? scale : 1;
        OK(svit_model_get_parameter(r->model, name, after, elements, &err));
        for (size_t k = 0; k < elements; k++)
            ck_assert_msg(after[k] == before[i][k] - rate * gradient[i][k], "%s [%zu]", name, k);
        changed += memcmp(after, before[i], elements * sizeof(float)) != 0;
        free(after);
        free(before[i]);
        free(gradient[i]);
    }
    free(before);
    free(gradient);
    return changed;
}

START_TEST(test_a_step_of_sgd_is_the_rate_of_its_depth_times_the_gradient)
{
    svit_optimizer_config config = sgd(0.5);
    run r = run_open(MODELS[_i].json, &config);
    ck_assert_uint_ge(check_step(&r, _i, "", 1), svit_model_parameter_count(r.model) * 3 / 4);
    run_close(&r);
}
END_TEST

START_TEST(test_the_decay_multiplies_with_the_scale_of_a_group)
{
    svit_optimizer_config config = sgd(0.5);
    config.group_count = 1;
    config.groups[0] = (svit_parameter_group){"*.bias", 4, -1, 1, SVIT_RULE_AUTO};
    run r = run_open(MODELS[_i].json, &config);
    check_step(&r, _i, "*.bias", 4);
    OK(svit_optimizer_set_parameter_f64(r.optimizer, "*.bias", "lr_scale", 2, &err));
    check_step(&r, _i, "*.bias", 2);
    run_close(&r);
}
END_TEST

START_TEST(test_values_outside_of_the_range_are_refused)
{
    static const double WRONG[] = {0, -0.5, 1.0000001, NAN};
    svit_optimizer_config config = sgd(WRONG[_i]), read;
    char text[64], json[8192];
    err.struct_size = sizeof err;
    ck_assert_int_eq(svit_optimizer_config_to_json(&config, json, sizeof json, NULL, &err),
                     SVIT_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(err.message, "layer_decay"));
    OK(svit_optimizer_config_from_json(&read, sizeof read, "{}", &err));
    ck_assert_double_eq(read.layer_decay, 1);
    OK(svit_optimizer_config_from_json(&read, sizeof read, "{\"layer_decay\":0.75}", &err));
    ck_assert_double_eq(read.layer_decay, 0.75);
    snprintf(text, sizeof text, "{\"layer_decay\":%g}",
             isnan(WRONG[_i]) ? 2 : WRONG[_i] + (_i == 2));
    ck_assert_int_eq(svit_optimizer_config_from_json(&read, sizeof read, text, &err),
                     SVIT_E_ARGUMENT);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("layer decay");
    TCase *c = tcase_create("layer decay");
    tcase_add_loop_test(c, test_a_step_of_sgd_is_the_rate_of_its_depth_times_the_gradient, 0,
                        MODEL_COUNT);
    tcase_add_loop_test(c, test_the_decay_multiplies_with_the_scale_of_a_group, 0, MODEL_COUNT);
    tcase_add_loop_test(c, test_values_outside_of_the_range_are_refused, 0, 4);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
