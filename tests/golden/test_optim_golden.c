/* Compares optimisers with the golden updates through the public API. The 7 weights of the golden
 * files are the 7 biases of a model's head. */
#include "fit.h"
#include "golden.h"

#include <math.h>

enum { WEIGHTS = 7, STEPS = 5 };
#define NAME "head.bias"

static sv_safetensors *file;
static svit_context *context;
static svit_model *model;
static svit_session *session;

static void setup(void)
{
    file = golden_open("ops");
    context = fit_context(2);
    model = fit_model(context, WEIGHTS, 1);
    svit_session_config config;
    svit_session_config_init(&config, sizeof config);
    config.mode = SVIT_MODE_TRAIN;
    config.max_batch = 1;
    WORKS(svit_session_create(&session, model, &config, err));
    float *w0 = golden_floats(file, "opt.w0", NULL);
    WORKS(svit_model_set_parameter(model, NAME, w0, WEIGHTS, err));
    golden_free(w0);
}

static void teardown(void)
{
    svit_session_free(session);
    svit_model_free(model);
    svit_context_free(context);
    sv_safetensors_close(file);
}

static svit_optimizer_config base_config(void)
{
    svit_optimizer_config config;
    WORKS(svit_optimizer_config_init(&config, sizeof config));
    config.schedule = SVIT_SCHEDULE_WARMUP_COSINE;
    config.lr_start = 1e-3;
    config.learning_rate = 1e-2;
    config.warmup_steps = 2;
    config.total_steps = 6;
    config.weight_decay = 0.05;
    return config;
}

static void run(const svit_optimizer_config *config, const char *expected, const char *average)
{
    float *grads = golden_floats(file, "opt.grads", NULL);
    float *lr = golden_floats(file, "opt.lr", NULL);
    float *rows = golden_floats(file, expected, NULL);
    float *averages = average ? golden_floats(file, average, NULL) : NULL;
    svit_optimizer *optimizer = NULL;
    WORKS(svit_optimizer_create(&optimizer, model, config, err));
    for (size_t step = 0; step < STEPS; step++) {
        double rate;
        WORKS(svit_learning_rate(config, svit_optimizer_steps(optimizer), &rate, err));
        ck_assert_double_eq_tol(rate, lr[step], 1e-9);
        WORKS(svit_session_set_gradient(session, NAME, grads + step * WEIGHTS, WEIGHTS, err));
        WORKS(svit_step(optimizer, session, err));
        float w[WEIGHTS], left[WEIGHTS];
        WORKS(svit_model_get_parameter(model, NAME, w, WEIGHTS, err));
        ck_assert_double_le(golden_difference(w, rows + step * WEIGHTS, WEIGHTS), 1e-6);
        WORKS(svit_session_get_gradient(session, NAME, left, WEIGHTS, err));
        ck_assert_double_eq(golden_largest(left, WEIGHTS), 0);
        if (averages) {
            WORKS(svit_optimizer_swap_ema(optimizer, err));
            WORKS(svit_model_get_parameter(model, NAME, w, WEIGHTS, err));
            ck_assert_double_le(golden_difference(w, averages + step * WEIGHTS, WEIGHTS), 1e-6);
            FAILS(svit_step(optimizer, session, err), SVIT_E_STATE, "svit_optimizer_swap_ema");
            WORKS(svit_optimizer_swap_ema(optimizer, err));
        }
    }
    svit_optimizer_free(optimizer);
    golden_free(averages);
    golden_free(rows);
    golden_free(lr);
    golden_free(grads);
}

START_TEST(test_adamw_with_scaled_decay_is_keras)
{
    svit_optimizer_config config = base_config();
    run(&config, "adamw_keras.w", NULL);
}
END_TEST

START_TEST(test_adamw_with_unscaled_decay_is_tensorflow_addons)
{
    svit_optimizer_config config = base_config();
    config.decay_rule = SVIT_DECAY_UNSCALED;
    run(&config, "adamw_tfa.w", NULL);
}
END_TEST

START_TEST(test_sgd_momentum_and_its_averages)
{
    static const struct {
        int32_t nesterov, ema;
        const char *weights, *average;
    } cases[] = {
        {0, SVIT_EMA_NONE, "sgd_momentum0.9.w", NULL},
        {1, SVIT_EMA_NONE, "sgd_nesterov0.9.w", NULL},
        {0, SVIT_EMA_PLAIN, "sgd_momentum0.9.w", "ema0.9_plain"},
        {0, SVIT_EMA_KERAS, "sgd_momentum0.9.w", "ema0.9_keras"},
    };
    svit_optimizer_config config = base_config();
    config.kind = SVIT_OPTIMIZER_SGD;
    config.weight_decay = 0;
    config.momentum = 0.9;
    config.ema_momentum = 0.9;
    config.nesterov = cases[_i].nesterov;
    config.ema = cases[_i].ema;
    run(&config, cases[_i].weights, cases[_i].average);
}
END_TEST

/* With learning rate 1 and no momentum the update is the clipped gradient itself. clip.b has 5 of
 * the 7 elements of the head's bias, clip.a 12 elements of a weight. */
static void clip_case(double limit, const char *a_name, const char *b_name)
{
    static const char weight[] = "layers.1.blocks.0.mlp.fc1.bias"; /* 32 */
    float *a = golden_floats(file, "clip.a", NULL), *b = golden_floats(file, "clip.b", NULL);
    float *want_a = golden_floats(file, a_name, NULL), *want_b = golden_floats(file, b_name, NULL);
    float grad_a[32] = {0}, grad_b[WEIGHTS] = {0}, zero[32] = {0}, w[32];
    memcpy(grad_a, a, 12 * sizeof *a);
    memcpy(grad_b, b, 5 * sizeof *b);
    WORKS(svit_model_set_parameter(model, weight, zero, 32, err));
    WORKS(svit_model_set_parameter(model, NAME, zero, WEIGHTS, err));
    WORKS(svit_session_set_gradient(session, weight, grad_a, 32, err));
    WORKS(svit_session_set_gradient(session, NAME, grad_b, WEIGHTS, err));

    svit_optimizer_config config;
    svit_optimizer_config_init(&config, sizeof config);
    config.kind = SVIT_OPTIMIZER_SGD;
    config.learning_rate = 1;
    config.weight_decay = 0;
    config.clip_norm = limit;
    svit_optimizer *optimizer = NULL;
    WORKS(svit_optimizer_create(&optimizer, model, &config, err));
    WORKS(svit_step(optimizer, session, err));
    WORKS(svit_model_get_parameter(model, weight, w, 32, err));
    for (int i = 0; i < 12; i++)
        ck_assert_double_eq_tol(-w[i], want_a[i], 1e-6);
    WORKS(svit_model_get_parameter(model, NAME, w, WEIGHTS, err));
    for (int i = 0; i < 5; i++)
        ck_assert_double_eq_tol(-w[i], want_b[i], 1e-6);
    double norm, squares = 0;
    for (int i = 0; i < 12; i++)
        squares += (double)a[i] * a[i];
    for (int i = 0; i < 5; i++)
        squares += (double)b[i] * b[i];
    WORKS(svit_optimizer_get_f64(optimizer, "gradient_norm", &norm, err));
    ck_assert_double_eq_tol(norm, sqrt(squares), 1e-9);
    svit_optimizer_free(optimizer);
    golden_free(a);
    golden_free(b);
    golden_free(want_a);
    golden_free(want_b);
}

START_TEST(test_clipping_scales_by_the_global_norm)
{
    clip_case(1, "clip1.a", "clip1.b");
    clip_case(100, "clip100.a", "clip100.b");
}
END_TEST

START_TEST(test_decay_excludes_the_kinds_that_it_is_told)
{
    svit_optimizer_config config;
    svit_optimizer_config_init(&config, sizeof config);
    config.weight_decay = 0.5;
    config.decay_rule = SVIT_DECAY_UNSCALED;
    config.decay_exclude = _i ? SVIT_EXCLUDE_NORM : SVIT_EXCLUDE_BIAS;
    float *before = fit_weights(model, NULL);
    svit_optimizer *optimizer = NULL;
    WORKS(svit_optimizer_create(&optimizer, model, &config, err));
    WORKS(svit_step(optimizer, session, err));
    float *after = fit_weights(model, NULL);
    size_t at = 0;
    const char *name;
    for (size_t i = 0; (name = svit_model_parameter_name(model, i)) != NULL; i++) {
        int norm = strstr(name, "norm") != NULL;
        int bias = strstr(name, ".bias") != NULL && !norm;
        int stays = _i ? norm : bias;
        for (size_t end = at + fit_elements(model, name); at < end; at++)
            ck_assert_float_eq(after[at], stays ? before[at] : 0.5f * before[at]);
    }
    free(before);
    free(after);
    svit_optimizer_free(optimizer);
}
END_TEST

/* Whether a parameter of a ViT is of a kind that `exclude` names. */
static int is_excluded(const char *name, uint32_t exclude)
{
    int norm = strstr(name, "norm") != NULL;
    int position = strcmp(name, "pos_embed") == 0 || strcmp(name, "cls_token") == 0;
    int temperature = strstr(name, ".tau") != NULL;
    int bias = strstr(name, ".bias") != NULL && !norm;
    return (norm && exclude & SVIT_EXCLUDE_NORM) || (position && exclude & SVIT_EXCLUDE_POSITION) ||
           ((bias || temperature) && exclude & SVIT_EXCLUDE_BIAS);
}

/* Tries every sum of SVIT_EXCLUDE_* constants; temperatures count as biases. */
START_TEST(test_decay_knows_the_kinds_of_a_vits_parameters)
{
    svit_model_config model_config;
    WORKS(svit_model_config_from_json(
        &model_config, sizeof model_config,
        "{\"architecture\":\"vit\",\"input_height\":8,\"input_width\":8,\"patch_size\":4,\"dim\":8,"
        "\"depth\":1,\"heads\":2,\"head_dim\":4,\"mlp_dim\":8,\"head_units\":[],\"tokenizer\":"
        "\"spt\","
        "\"attention\":\"lsa\",\"pool\":\"class_token\"}",
        err));
    svit_model *vit = NULL;
    WORKS(svit_model_create(&vit, context, &model_config, 1, err));
    svit_session_config session_config;
    WORKS(svit_session_config_init(&session_config, sizeof session_config));
    session_config.mode = SVIT_MODE_TRAIN;
    session_config.max_batch = 1;
    svit_session *other_session = NULL;
    WORKS(svit_session_create(&other_session, vit, &session_config, err));
    svit_optimizer_config config;
    WORKS(svit_optimizer_config_init(&config, sizeof config));
    config.weight_decay = 0.5;
    config.decay_rule = SVIT_DECAY_UNSCALED;
    config.decay_exclude = (uint32_t)_i;
    svit_optimizer *optimizer = NULL;
    WORKS(svit_optimizer_create(&optimizer, vit, &config, err));
    float *before = fit_weights(vit, NULL);
    WORKS(svit_step(optimizer, other_session, err));
    float *after = fit_weights(vit, NULL);
    size_t at = 0;
    const char *name;
    for (size_t i = 0; (name = svit_model_parameter_name(vit, i)) != NULL; i++)
        for (size_t end = at + fit_elements(vit, name); at < end; at++)
            ck_assert_float_eq(after[at], is_excluded(name, config.decay_exclude)
                                              ? before[at]
                                              : 0.5f * before[at]);
    free(before);
    free(after);
    svit_optimizer_free(optimizer);
    svit_session_free(other_session);
    svit_model_free(vit);
}
END_TEST

START_TEST(test_a_gradient_that_is_not_finite_changes_nothing)
{
    float *before = fit_weights(model, NULL);
    float grads[WEIGHTS] = {1, 2, NAN, 4, 5, 6, 7}, left[WEIGHTS];
    svit_optimizer *optimizer = NULL;
    WORKS(svit_optimizer_create(&optimizer, model, NULL, err));
    WORKS(svit_session_set_gradient(session, NAME, grads, WEIGHTS, err));
    FAILS(svit_step(optimizer, session, err), SVIT_E_NUMERIC, NAME);
    float *after = fit_weights(model, NULL);
    ck_assert_mem_eq(before, after, svit_model_parameter_elements(model) * sizeof *after);
    WORKS(svit_session_get_gradient(session, NAME, left, WEIGHTS, err));
    ck_assert_float_eq(left[1], 2);
    ck_assert_uint_eq(svit_optimizer_steps(optimizer), 0);
    free(after);
    free(before);
    svit_optimizer_free(optimizer);
}
END_TEST

/* Runs three clipped steps on `threads` workers, of a model with parameters so large that several
 * tasks update them. */
static float *stepped_weights(uint32_t threads, size_t *elements)
{
    svit_context *workers = fit_context(threads);
    svit_model_config config = fit_model_config(WEIGHTS);
    config.dim = 128;
    svit_model *large = NULL;
    WORKS(svit_model_create(&large, workers, &config, 1, err));
    svit_session_config session_config;
    WORKS(svit_session_config_init(&session_config, sizeof session_config));
    session_config.mode = SVIT_MODE_TRAIN;
    session_config.max_batch = 1;
    svit_session *other_session = NULL;
    WORKS(svit_session_create(&other_session, large, &session_config, err));
    svit_optimizer_config optimizer_config;
    WORKS(svit_optimizer_config_init(&optimizer_config, sizeof optimizer_config));
    optimizer_config.clip_norm = 0.1;
    optimizer_config.decay_exclude = SVIT_EXCLUDE_NORM;
    svit_optimizer *optimizer = NULL;
    WORKS(svit_optimizer_create(&optimizer, large, &optimizer_config, err));
    for (int step = 0; step < 3; step++) {
        const char *name;
        for (size_t i = 0; (name = svit_model_parameter_name(large, i)) != NULL; i++) {
            size_t count = fit_elements(large, name);
            float *gradient = malloc(count * sizeof *gradient);
            for (size_t k = 0; k < count; k++)
                gradient[k] = (float)((k * 2654435761u + i) % 1000) / 1000 - 0.5f;
            WORKS(svit_session_set_gradient(other_session, name, gradient, count, err));
            free(gradient);
        }
        WORKS(svit_step(optimizer, other_session, err));
    }
    float *weights = fit_weights(large, elements);
    svit_optimizer_free(optimizer);
    svit_session_free(other_session);
    svit_model_free(large);
    svit_context_free(workers);
    return weights;
}

START_TEST(test_the_number_of_workers_does_not_change_a_bit)
{
    size_t elements;
    float *one = stepped_weights(1, &elements), *four = stepped_weights(4, NULL);
    ck_assert_uint_gt(elements, 3 * 65536);
    ck_assert_mem_eq(one, four, elements * sizeof *one);
    free(one);
    free(four);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("optim_golden");
    TCase *c = tcase_create("optim_golden");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_adamw_with_scaled_decay_is_keras);
    tcase_add_test(c, test_adamw_with_unscaled_decay_is_tensorflow_addons);
    tcase_add_loop_test(c, test_sgd_momentum_and_its_averages, 0, 4);
    tcase_add_test(c, test_clipping_scales_by_the_global_norm);
    tcase_add_loop_test(c, test_decay_excludes_the_kinds_that_it_is_told, 0, 2);
    tcase_add_loop_test(c, test_decay_knows_the_kinds_of_a_vits_parameters, 0, 8);
    tcase_add_test(c, test_a_gradient_that_is_not_finite_changes_nothing);
    tcase_add_test(c, test_the_number_of_workers_does_not_change_a_bit);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
