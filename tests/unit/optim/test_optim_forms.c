/* Compares each form of SGD, with decay, and Muon's momentum with their formulas in double
 * precision, step by step, and AdamW with small betas with PyTorch. */
#include "fit.h"

#include "io/safetensors.h"
#include "optim/update.h"

#include <math.h>

enum { CLASSES = 7, STEPS = 4 };
#define NAME "head.bias"

static svit_context *context;
static svit_model *model;
static svit_session *session;

static void setup(void)
{
    svit_session_config config;
    context = fit_context(1);
    model = fit_model(context, CLASSES, 1);
    WORKS(svit_session_config_init(&config, sizeof config));
    config.mode = SVIT_MODE_TRAIN;
    config.max_batch = 1;
    WORKS(svit_session_create(&session, model, &config, err));
}

static void teardown(void)
{
    svit_session_free(session);
    svit_model_free(model);
    svit_context_free(context);
}

static const struct {
    int32_t form, nesterov, decay_rule;
    double momentum, weight_decay;
} FORMS[] = {
    {SVIT_SGD_KERAS, 0, SVIT_DECAY_SCALED, 0, 0},
    {SVIT_SGD_KERAS, 0, SVIT_DECAY_SCALED, 0.9, 0.5},
    {SVIT_SGD_KERAS, 1, SVIT_DECAY_SCALED, 0.9, 0.5},
    {SVIT_SGD_KERAS, 0, SVIT_DECAY_UNSCALED, 0.9, 0.05},
    {SVIT_SGD_KERAS, 1, SVIT_DECAY_UNSCALED, 0.9, 0.05},
    {SVIT_SGD_TORCH, 0, SVIT_DECAY_SCALED, 0.9, 0.5},
    {SVIT_SGD_TORCH, 1, SVIT_DECAY_SCALED, 0.9, 0.5},
};

/* One step of an element by the formulas of optimizer.h. */
static void step(size_t form, double *w, double *v, double g)
{
    const double m = FORMS[form].momentum, wd = FORMS[form].weight_decay, lr = 0.1;
    if (FORMS[form].form == SVIT_SGD_TORCH) {
        const double d = g + wd * *w;
        *v = m * *v + d;
        *w -= lr * (FORMS[form].nesterov ? d + m * *v : *v);
        return;
    }
    const double decay = FORMS[form].decay_rule == SVIT_DECAY_SCALED ? lr * wd : wd;
    *v = m * *v - lr * g;
    *w = *w - decay * *w + (FORMS[form].nesterov ? m * *v - lr * g : *v);
}

START_TEST(test_sgd_follows_its_formula)
{
    svit_optimizer_config config;
    svit_optimizer *optimizer = NULL;
    double w[CLASSES], v[CLASSES] = {0};
    float weights[CLASSES], gradient[CLASSES];
    WORKS(svit_optimizer_config_init(&config, sizeof config));
    config.kind = SVIT_OPTIMIZER_SGD;
    config.learning_rate = 0.1;
    config.sgd_form = FORMS[_i].form;
    config.nesterov = FORMS[_i].nesterov;
    config.decay_rule = FORMS[_i].decay_rule;
    config.momentum = FORMS[_i].momentum;
    config.weight_decay = FORMS[_i].weight_decay;
    for (size_t i = 0; i < CLASSES; i++)
        w[i] = weights[i] = (float)i / 2 - 1.25f;
    WORKS(svit_model_set_parameter(model, NAME, weights, CLASSES, err));
    WORKS(svit_optimizer_create(&optimizer, model, &config, err));
    for (size_t s = 0; s < STEPS; s++) {
        for (size_t i = 0; i < CLASSES; i++) {
            gradient[i] = (float)((s + 2) * (i + 1) % 5) - 1.5f;
            step((size_t)_i, &w[i], &v[i], gradient[i]);
        }
        WORKS(svit_session_set_gradient(session, NAME, gradient, CLASSES, err));
        WORKS(svit_step(optimizer, session, err));
        WORKS(svit_model_get_parameter(model, NAME, weights, CLASSES, err));
        for (size_t i = 0; i < CLASSES; i++)
            ck_assert_double_eq_tol(weights[i], w[i], 2e-6 * (1 + fabs(w[i])));
    }
    svit_optimizer_free(optimizer);
}
END_TEST

/* Weights of torch.optim.AdamW in float64 after the 4 steps below, with lr 0.01, eps 1e-8,
 * weight_decay 0.5. With beta2 0, v became 0 where a small gradient followed a large one. */
static const struct {
    double betas[2], weights[CLASSES];
} SMALL_BETAS[] = {
    {{0.9, 0},
     {-345.979184, 344.169725, -344.697798, -335.06021, 285.159375, -343.787501, 1.71526163}},
    {{0.9, 0.1},
     {-1.35256855, -0.607730434, -0.372419026, 0.117656582, 0.862486992, 1.09780517, 1.71526163}},
    {{0.9, 0.45},
     {-1.26126482, -0.699034182, -0.281115318, 0.208959461, 0.771189845, 1.18910893, 1.71526163}},
    {{0, 0.999},
     {-1.23509924, -0.725199759, -0.254949741, 0.235125012, 0.745024467, 1.21527451, 1.71526163}},
    {{0.3, 0.95},
     {-1.2398984, -0.720400597, -0.259748903, 0.230325852, 0.74982361, 1.21047535, 1.71526163}},
    {{0, 0},
     {-1.26487691, -0.695416611, -0.284716467, 0.20569135, 0.772573304, 1.18548744, 1.71526163}},
    {{0.2, 0.3},
     {-1.24037528, -0.719923722, -0.260225779, 0.22984898, 0.750300463, 1.20999847, 1.71526163}},
};
enum { SMALL_BETA_CASES = sizeof SMALL_BETAS / sizeof *SMALL_BETAS };

/* The second half of the cases is Muon's AdamW. */
START_TEST(test_adamw_with_small_betas)
{
    static const float FACTORS[STEPS] = {1, 1e-4f, 1e-5f, 3e-3f};
    static const float GRADIENT[CLASSES] = {1, -2, 0.5f, 0.03f, -0.004f, 7, 0};
    const size_t row = (size_t)_i % SMALL_BETA_CASES;
    svit_optimizer_config config;
    svit_optimizer *optimizer = NULL;
    float weights[CLASSES], gradient[CLASSES];
    WORKS(svit_optimizer_config_init(&config, sizeof config));
    config.kind = _i < SMALL_BETA_CASES ? SVIT_OPTIMIZER_ADAMW : SVIT_OPTIMIZER_MUON;
    config.learning_rate = config.adamw_learning_rate = 0.01;
    config.epsilon_form = SVIT_EPSILON_TORCH;
    config.epsilon = 1e-8;
    config.weight_decay = 0.5;
    config.decay_exclude = 0;
    config.beta1 = SMALL_BETAS[row].betas[0];
    config.beta2 = SMALL_BETAS[row].betas[1];
    for (size_t i = 0; i < CLASSES; i++)
        weights[i] = (float)i / 2 - 1.25f;
    WORKS(svit_model_set_parameter(model, NAME, weights, CLASSES, err));
    WORKS(svit_optimizer_create(&optimizer, model, &config, err));
    for (size_t s = 0; s < STEPS; s++) {
        for (size_t i = 0; i < CLASSES; i++)
            gradient[i] = FACTORS[s] * GRADIENT[i];
        WORKS(svit_session_set_gradient(session, NAME, gradient, CLASSES, err));
        WORKS(svit_step(optimizer, session, err));
    }
    WORKS(svit_model_get_parameter(model, NAME, weights, CLASSES, err));
    for (size_t i = 0; i < CLASSES; i++) {
        const double wanted = SMALL_BETAS[row].weights[i];
        ck_assert_double_eq_tol(weights[i], wanted, 1e-6 * (1 + fabs(wanted)));
    }
    svit_optimizer_free(optimizer);
}
END_TEST

/* m = momentum m + (1 - momentum) g, as a checkpoint holds it. The update itself does not depend on
 * its scale. */
START_TEST(test_muon_keeps_the_mean_of_the_gradients)
{
    enum { ELEMENTS = CLASSES * 16 };
    static const double MOMENTUM = 0.75;
    const fit_folder folder = fit_folder_make();
    const sv_allocator allocator = sv_allocator_default();
    svit_optimizer_config config;
    svit_optimizer *optimizer = NULL;
    float gradient[ELEMENTS], found[ELEMENTS];
    double m[ELEMENTS] = {0};
    sv_safetensors *file = NULL;
    const char *path = fit_path(&folder, "checkpoint.safetensors");
    WORKS(svit_optimizer_config_init(&config, sizeof config));
    config.kind = SVIT_OPTIMIZER_MUON;
    config.momentum = MOMENTUM;
    config.group_count = 1; /* else a head takes AdamW */
    config.groups[0] = (svit_parameter_group){"head.weight", 1, -1, 1, SVIT_RULE_MATRIX};
    ck_assert_uint_eq(fit_elements(model, "head.weight"), ELEMENTS);
    WORKS(svit_optimizer_create(&optimizer, model, &config, err));
    for (size_t s = 0; s < STEPS; s++) {
        for (size_t i = 0; i < ELEMENTS; i++) {
            gradient[i] = (float)((s + 3) * (i + 1) % 11) - 5;
            m[i] = MOMENTUM * m[i] + (1 - MOMENTUM) * gradient[i];
        }
        WORKS(svit_session_set_gradient(session, "head.weight", gradient, ELEMENTS, err));
        WORKS(svit_step(optimizer, session, err));
    }
    WORKS(svit_checkpoint_save(path, model, optimizer, session, NULL, NULL, 0, err));
    WORKS(sv_safetensors_open(&file, &allocator, path, err));
    const sv_safetensors_entry *entry = NULL;
    for (size_t i = 0; i < sv_safetensors_count(file); i++) {
        const sv_safetensors_entry *one = sv_safetensors_at(file, i);
        const char *end = strstr(one->name, "head.weight");
        if (end && end > one->name && strstr(one->name, "m."))
            entry = one;
    }
    ck_assert_msg(entry != NULL, "no slot in the checkpoint");
    WORKS(sv_safetensors_read_f32(file, entry, found, err));
    for (size_t i = 0; i < ELEMENTS; i++)
        ck_assert_double_eq_tol(found[i], m[i], 1e-5);
    sv_safetensors_close(file);
    svit_optimizer_free(optimizer);
    fit_folder_remove(&folder);
}
END_TEST

/* The smallest epsilon, which the first bias correction makes a subnormal number: elements without
 * gradients stay. */
START_TEST(test_the_smallest_epsilon_divides)
{
    svit_optimizer_config config;
    svit_optimizer *optimizer = NULL;
    size_t elements;
    WORKS(svit_optimizer_config_init(&config, sizeof config));
    config.epsilon_form = _i ? SVIT_EPSILON_TORCH : SVIT_EPSILON_KERAS;
    config.epsilon = 1.2e-38;
    config.weight_decay = 0;
    WORKS(svit_optimizer_create(&optimizer, model, &config, err));
    float *before = fit_weights(model, &elements);
    WORKS(svit_session_zero_gradients(session, err));
    WORKS(svit_step(optimizer, session, err));
    float *after = fit_weights(model, &elements);
    ck_assert_mem_eq(before, after, elements * sizeof *after);
    free(before);
    free(after);
    svit_optimizer_free(optimizer);
}
END_TEST

/* A first step is at most the rate, however small epsilon and gradients are: the square of a small
 * one is flushed to 0, and m stays. */
START_TEST(test_a_step_is_at_most_the_rate)
{
    for (double epsilon = 1e-7; epsilon > 1e-38; epsilon *= 1e-2)
        for (double size = 1e-6; size > 1e-37; size *= 1e-1) {
            svit_optimizer_config config;
            svit_optimizer *optimizer = NULL;
            float weights[CLASSES] = {0}, gradient[CLASSES];
            WORKS(svit_optimizer_config_init(&config, sizeof config));
            config.epsilon_form = _i ? SVIT_EPSILON_TORCH : SVIT_EPSILON_KERAS;
            config.epsilon = epsilon;
            config.weight_decay = 0;
            config.learning_rate = 0.01;
            for (size_t i = 0; i < CLASSES; i++)
                gradient[i] = (float)(size * (double)(i + 1));
            WORKS(svit_model_set_parameter(model, NAME, weights, CLASSES, err));
            WORKS(svit_optimizer_create(&optimizer, model, &config, err));
            WORKS(svit_session_set_gradient(session, NAME, gradient, CLASSES, err));
            WORKS(svit_step(optimizer, session, err));
            WORKS(svit_model_get_parameter(model, NAME, weights, CLASSES, err));
            for (size_t i = 0; i < CLASSES; i++)
                ck_assert_msg(weights[i] <= 0 && weights[i] >= -0.010001f,
                              "epsilon %g, gradient %g: the step is %g", epsilon,
                              (double)gradient[i], (double)weights[i]);
            svit_optimizer_free(optimizer);
        }
}
END_TEST

/* The steps of a matrix do not depend on the size of its gradients, up to the largest floats. */
START_TEST(test_muon_takes_gradients_of_any_size)
{
    enum { ELEMENTS = CLASSES * 16 };
    static const float SIZES[] = {1, 1e20f, 1e30f, 2e35f, 2e36f, 2e37f, 3e38f};
    float first[ELEMENTS], weights[ELEMENTS], gradient[ELEMENTS];
    for (size_t k = 0; k < sizeof SIZES / sizeof *SIZES; k++) {
        svit_optimizer_config config;
        svit_optimizer *optimizer = NULL;
        WORKS(svit_optimizer_config_init(&config, sizeof config));
        config.kind = SVIT_OPTIMIZER_MUON;
        config.momentum = config.weight_decay = 0;
        config.group_count = 1; /* else a head takes AdamW */
        config.groups[0] = (svit_parameter_group){"head.weight", 1, -1, 1, SVIT_RULE_MATRIX};
        memset(weights, 0, sizeof weights);
        for (size_t i = 0; i < ELEMENTS; i++)
            gradient[i] = SIZES[k] * (((float)(i * 7 % 11) - 5) / 5);
        WORKS(svit_model_set_parameter(model, "head.weight", weights, ELEMENTS, err));
        WORKS(svit_optimizer_create(&optimizer, model, &config, err));
        WORKS(svit_session_set_gradient(session, "head.weight", gradient, ELEMENTS, err));
        WORKS(svit_step(optimizer, session, err));
        WORKS(svit_model_get_parameter(model, "head.weight", weights, ELEMENTS, err));
        for (size_t i = 0; i < ELEMENTS; i++)
            if (k == 0)
                first[i] = weights[i];
            else
                ck_assert_float_eq_tol(weights[i], first[i], 1e-7f);
        ck_assert_float_gt(fabsf(first[1]), 1e-6f);
        svit_optimizer_free(optimizer);
    }
}
END_TEST

/* Where a fraction of the schedule is a whole number of steps, the mean begins with the step after
 * them, also where the product of the two doubles is a little less: swa_start 0.7 of 90 steps. */
START_TEST(test_means_begin_behind_the_fraction_of_the_schedule)
{
    size_t below = 0;
    svit_optimizer_config config;
    WORKS(svit_optimizer_config_init(&config, sizeof config));
    config.ema = SVIT_EMA_SWA;
    config.swa_every = 1;
    for (uint64_t total = 100; total <= 20000; total += 100)
        for (uint64_t percent = 0; percent <= 100; percent++) {
            const uint64_t start = total / 100 * percent;
            config.swa_start = (double)percent / 100;
            config.total_steps = total;
            below += (uint64_t)(config.swa_start * (double)total) < start;
            ck_assert_uint_eq(sv_optim_due_snapshots(&config, start), 0);
            ck_assert_uint_eq(sv_optim_due_snapshots(&config, start + 1), 1);
            ck_assert_uint_eq(sv_optim_due_snapshots(&config, start + 5), 5);
        }
    ck_assert_uint_gt(below, 100);
    config.swa_start = 0.505; /* of 100 steps: 50.5 */
    config.total_steps = 100;
    ck_assert_uint_eq(sv_optim_due_snapshots(&config, 50), 0);
    ck_assert_uint_eq(sv_optim_due_snapshots(&config, 51), 1);
}
END_TEST

/* The average of weights that do not change is those weights, for any momentum. */
START_TEST(test_averages_of_constant_weights_are_constant)
{
    static const double MOMENTA[] = {0.3, 0.9, 0.99, 0.999, 0.9999, 0.99996, 0.999999, 0.9999999};
    svit_optimizer_config config;
    svit_optimizer *optimizer = NULL;
    size_t elements;
    WORKS(svit_optimizer_config_init(&config, sizeof config));
    config.learning_rate = 0;
    config.weight_decay = 0;
    config.ema = SVIT_EMA_PLAIN;
    config.ema_momentum = MOMENTA[_i];
    WORKS(svit_optimizer_create(&optimizer, model, &config, err));
    float *before = fit_weights(model, &elements);
    for (size_t s = 0; s < 1000; s++) {
        WORKS(svit_session_zero_gradients(session, err));
        WORKS(svit_step(optimizer, session, err));
    }
    WORKS(svit_optimizer_swap_ema(optimizer, err));
    float *after = fit_weights(model, &elements);
    ck_assert_mem_eq(before, after, elements * sizeof *after);
    free(before);
    free(after);
    svit_optimizer_free(optimizer);
}
END_TEST

/* With momentum 0 the average is the last weights, however far they were before. */
START_TEST(test_an_average_of_no_momentum_is_the_weights)
{
    float average[] = {1e8f, -3e38f, 0}, weights[] = {2.25f, 3e38f, 1e-30f};
    sv_average_update(average, weights, 3, 1);
    ck_assert_mem_eq(average, weights, sizeof weights);
}
END_TEST

/* Steps whose factors are no floats. */
static const struct {
    const char *json, *message;
    size_t good; /* steps before it */
} BEYOND[] = {
    {"{\"clip_norm\":1e-4}", "the gradients' norm, 1.73205e+35, is too far above clip_norm, 0.0001",
     0},
    {"{\"schedule\":\"step\",\"step_size\":1,\"step_factor\":1e30,\"weight_decay\":0}",
     "a learning rate of step 2 is 1e+57, which no float holds", 2},
    {"{\"optimizer\":\"sgd\",\"schedule\":\"step\",\"step_size\":1,\"step_factor\":1e20,"
     "\"weight_decay\":0,\"groups\":[{\"pattern\":\"head.*\",\"lr_scale\":1e30}]}",
     "a learning rate of step 1 is 1e+47, which no float holds", 1},
    {"{\"optimizer\":\"muon\",\"learning_rate\":1e-20,\"adamw_learning_rate\":1,\"weight_decay\":0,"
     "\"schedule\":\"step\",\"step_size\":1,\"step_factor\":1e20}",
     "a learning rate of step 2 is 1e+40, which no float holds", 2},
    {"{\"schedule\":\"step\",\"step_size\":1,\"step_factor\":1e20,\"learning_rate\":1,\"weight_"
     "decay\":0,"
     "\"groups\":[{\"pattern\":\"*\",\"lr_scale\":1e-10}]}",
     "a learning rate of step 2 is 1e+40, which no float holds", 2},
    {"{\"optimizer\":\"sgd\",\"schedule\":\"step\",\"step_size\":1,\"step_factor\":1e20,"
     "\"learning_rate\":1,\"weight_decay\":0,\"groups\":[{\"pattern\":\"*\",\"lr_scale\":0}]}",
     "a learning rate of step 2 is 1e+40, which no float holds", 2},
};

/* They fail, and leave weights and gradients as they are. */
START_TEST(test_factors_beyond_floats_are_refused)
{
    svit_optimizer_config config;
    svit_optimizer *optimizer = NULL;
    size_t elements;
    const float huge[CLASSES] = {1e35f, -1e35f, 0, 1e35f, 0, 0, 0};
    float found[CLASSES];
    WORKS(svit_optimizer_config_from_json(&config, sizeof config, BEYOND[_i].json, err));
    WORKS(svit_optimizer_create(&optimizer, model, &config, err));
    for (size_t s = 0; s < BEYOND[_i].good; s++) {
        WORKS(svit_session_zero_gradients(session, err));
        WORKS(svit_step(optimizer, session, err));
    }
    float *before = fit_weights(model, &elements);
    WORKS(svit_session_set_gradient(session, NAME, huge, CLASSES, err));
    FAILS(svit_step(optimizer, session, err), SVIT_E_NUMERIC, BEYOND[_i].message);
    float *after = fit_weights(model, &elements);
    ck_assert_mem_eq(before, after, elements * sizeof *after);
    WORKS(svit_session_get_gradient(session, NAME, found, CLASSES, err));
    ck_assert_mem_eq(found, huge, sizeof huge);
    free(before);
    free(after);
    svit_optimizer_free(optimizer);
}
END_TEST

/* A rate of 0 stays 0 where its factor overflows. */
START_TEST(test_a_rate_of_zero_stays_zero)
{
    svit_optimizer_config config;
    double rate = 1;
    WORKS(svit_optimizer_config_from_json(&config, sizeof config,
                                          "{\"learning_rate\":0,\"schedule\":\"step\","
                                          "\"step_size\":1,\"step_factor\":1e38}",
                                          err));
    WORKS(svit_learning_rate(&config, 9, &rate, err));
    ck_assert(rate == 0);
}
END_TEST

/* Averages that begin at the end of the longest schedule: until then they are the weights. */
START_TEST(test_an_average_at_the_end_of_the_longest_schedule)
{
    static const uint64_t TOTALS[] = {1000, UINT64_MAX - 1024, UINT64_MAX};
    svit_optimizer_config config;
    svit_optimizer *optimizer = NULL;
    size_t elements;
    float gradient[CLASSES];
    WORKS(svit_optimizer_config_init(&config, sizeof config));
    config.ema = SVIT_EMA_SWA;
    config.swa_start = 1;
    config.total_steps = TOTALS[_i];
    WORKS(svit_optimizer_create(&optimizer, model, &config, err));
    for (size_t s = 0; s < STEPS; s++) {
        for (size_t i = 0; i < CLASSES; i++)
            gradient[i] = (float)(s + i) - 2;
        WORKS(svit_session_set_gradient(session, NAME, gradient, CLASSES, err));
        WORKS(svit_step(optimizer, session, err));
    }
    float *weights = fit_weights(model, &elements);
    WORKS(svit_optimizer_swap_ema(optimizer, err));
    float *average = fit_weights(model, &elements);
    ck_assert_mem_eq(weights, average, elements * sizeof *average);
    free(weights);
    free(average);
    svit_optimizer_free(optimizer);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("optim_forms");
    TCase *c = tcase_create("optim_forms");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_sgd_follows_its_formula, 0, sizeof FORMS / sizeof *FORMS);
    tcase_add_loop_test(c, test_adamw_with_small_betas, 0, 2 * SMALL_BETA_CASES);
    tcase_add_loop_test(c, test_the_smallest_epsilon_divides, 0, 2);
    tcase_add_loop_test(c, test_a_step_is_at_most_the_rate, 0, 2);
    tcase_add_test(c, test_muon_takes_gradients_of_any_size);
    tcase_add_loop_test(c, test_an_average_at_the_end_of_the_longest_schedule, 0, 3);
    tcase_add_test(c, test_means_begin_behind_the_fraction_of_the_schedule);
    tcase_add_loop_test(c, test_averages_of_constant_weights_are_constant, 0, 8);
    tcase_add_loop_test(c, test_factors_beyond_floats_are_refused, 0,
                        sizeof BEYOND / sizeof *BEYOND);
    tcase_add_test(c, test_a_rate_of_zero_stays_zero);
    tcase_add_test(c, test_an_average_of_no_momentum_is_the_weights);
    tcase_add_test(c, test_muon_keeps_the_mean_of_the_gradients);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
