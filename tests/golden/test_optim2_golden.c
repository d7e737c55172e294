/* Compares optimisers, parameter groups and averages with the golden updates of the real packages
 * (torch, timm, lion-pytorch, the authors' Muon), on a parameter table of their own: matrices a
 * [6, 8] and b [16, 4], a bias c [5], a convolution d [24, 3, 2, 2]. */
#include "base/text/pattern.h"
#include "golden.h"
#include "optim/optimizer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fit.h"
#include "worst.h"

enum { STEPS = 5, PARAMETERS = 4 };

static const struct {
    const char *name;
    int64_t shape[4];
    size_t rank;
    sv_parameter_role role;
} PARTS[PARAMETERS] = {{"a", {6, 8}, 2, SV_ROLE_WEIGHT},
                       {"b", {16, 4}, 2, SV_ROLE_WEIGHT},
                       {"c", {5}, 1, SV_ROLE_BIAS},
                       {"d", {24, 3, 2, 2}, 4, SV_ROLE_WEIGHT}};

static sv_safetensors *file;
static svit_context *context;
static sv_parameter_table table;
static float weights[2048], gradients[2048];

static void import(const char *prefix, float *flat, size_t step)
{
    for (size_t i = 0; i < PARAMETERS; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.%s", prefix, PARTS[i].name);
        float *values = golden_floats(file, name, NULL);
        const sv_parameter *parameter = &table.list[i];
        sv_parameter_import(parameter, flat, values + step * parameter->desc.elements);
        golden_free(values);
    }
}

static void setup(void)
{
    file = golden_open("optim2");
    context = fit_context(2);
    sv_parameter_table_init(&table, &context->allocator);
    for (size_t i = 0; i < PARAMETERS; i++) {
        size_t index;
        WORKS(sv_parameter_add(&table, &index, PARTS[i].name, PARTS[i].role, PARTS[i].shape,
                               PARTS[i].rank, err));
    }
    ck_assert_uint_le(table.elements, sizeof weights / sizeof *weights);
    import("w0", weights, 0);
}

static void teardown(void)
{
    sv_parameter_table_free(&table);
    svit_context_free(context);
    sv_safetensors_close(file);
}

/* The largest difference of `flat` from row `step` of the case's tensors. Tensors that the file
 * does not have are not compared; at least one is there. */
static double difference(const float *flat, const char *prefix, size_t step)
{
    double largest = 0;
    size_t compared = 0;
    for (size_t i = 0; i < PARAMETERS; i++) {
        char name[64];
        float values[512];
        const sv_parameter *parameter = &table.list[i];
        snprintf(name, sizeof name, "%s.%s", prefix, PARTS[i].name);
        if (!sv_safetensors_find(file, name))
            continue;
        float *rows = golden_floats(file, name, NULL);
        sv_parameter_export(parameter, values, flat);
        largest =
            worst_of(largest, golden_difference(values, rows + step * parameter->desc.elements,
                                                parameter->desc.elements));
        golden_free(rows);
        compared++;
    }
    ck_assert_uint_gt(compared, 0);
    return largest;
}

static svit_optimizer_config plain(int32_t kind, double rate)
{
    svit_optimizer_config config;
    WORKS(svit_optimizer_config_init(&config, sizeof config));
    config.kind = kind;
    config.learning_rate = rate;
    config.weight_decay = 0;
    return config;
}

static sv_optim *create(const svit_optimizer_config *config)
{
    sv_optim *optim = NULL;
    svit_optimizer_config local;
    WORKS(sv_optim_config_import(&local, config, err));
    WORKS(sv_optim_create(&optim, context, &table, NULL, weights, &local, err));
    return optim;
}

/* Does update number `step` with the golden gradients at the golden learning rate. */
static void update(sv_optim *optim, const svit_optimizer_config *config, size_t step)
{
    float *factor = golden_floats(file, "lr_factor", NULL);
    optim->config.learning_rate = config->learning_rate * factor[step];
    optim->config.adamw_learning_rate = config->adamw_learning_rate * factor[step];
    golden_free(factor);
    import("grads", gradients, step);
    const sv_gradients all = {.values = gradients, .subset = optim->subset};
    WORKS(sv_optim_update(optim, weights, &all, err));
    ck_assert_double_eq(golden_largest(gradients, table.elements), 0);
}

static void run(const svit_optimizer_config *config, const char *expected, double tolerance)
{
    sv_optim *optim = create(config);
    for (size_t step = 0; step < STEPS; step++) {
        update(optim, config, step);
        double off = difference(weights, expected, step);
        ck_assert_msg(off <= tolerance, "%s: step %zu differs by %g", expected, step, off);
    }
    sv_optim_free(optim);
}

START_TEST(test_lion)
{
    svit_optimizer_config config = plain(SVIT_OPTIMIZER_LION, 1e-3);
    config.beta2 = 0.99;
    config.weight_decay = 0.1;
    run(&config, "lion", 2e-6);
}
END_TEST

static svit_optimizer_config torch_sgd(double rate, double momentum, double decay)
{
    svit_optimizer_config config = plain(SVIT_OPTIMIZER_SGD, rate);
    config.sgd_form = SVIT_SGD_TORCH;
    config.momentum = momentum;
    config.weight_decay = decay;
    return config;
}

START_TEST(test_sgd_of_torch)
{
    svit_optimizer_config config = torch_sgd(0.05, 0.9, 5e-4);
    config.nesterov = _i;
    run(&config, _i ? "sgd_nesterov" : "sgd_momentum", 2e-6);
}
END_TEST

static void add_group(svit_optimizer_config *config, const char *pattern, double scale,
                      double decay, int32_t trainable)
{
    svit_parameter_group *group = &config->groups[config->group_count++];
    *group =
        (svit_parameter_group){.lr_scale = scale, .weight_decay = decay, .trainable = trainable};
    snprintf(group->pattern, sizeof group->pattern, "%s", pattern);
}

START_TEST(test_sgd_of_airbench_with_a_larger_rate_for_biases)
{
    svit_optimizer_config config = torch_sgd(0.02, 0.85, 2e-3 / 0.02);
    config.nesterov = 1;
    add_group(&config, "c", 64, 2e-3 / (64 * 0.02), 1);
    run(&config, "sgd_airbench", 2e-6);
}
END_TEST

START_TEST(test_lookahead)
{
    svit_optimizer_config config;
    if (_i == 0) {
        config = torch_sgd(0.05, 0.9, 0);
    } else {
        config = plain(SVIT_OPTIMIZER_ADAMW, 2e-3);
        config.epsilon_form = SVIT_EPSILON_TORCH;
        config.epsilon = 1e-8;
        config.weight_decay = 0.05;
    }
    config.lookahead = 2;
    run(&config, _i ? "lookahead_adamw" : "lookahead_sgd", 2e-6);
}
END_TEST

/* The second parameter is frozen: its bits stay, and it has no part in the gradient's norm. */
START_TEST(test_groups)
{
    svit_optimizer_config config = plain(SVIT_OPTIMIZER_ADAMW, 3e-3);
    if (_i == 0) {
        config.epsilon_form = SVIT_EPSILON_TORCH;
        config.epsilon = 1e-8;
    }
    config.ema = SVIT_EMA_PLAIN;
    config.ema_momentum = 0.9;
    add_group(&config, "*", 1, 0, 1);
    add_group(&config, "[", 1, 0, 1);
    config.group_count--;
    add_group(&config, "a", 0.1, 0.05, 1);
    add_group(&config, "b", 1, -1, 0);
    float before[64];
    const float *b = weights + table.list[1].offset;
    memcpy(before, b, sizeof before);
    run(&config, _i ? "adamw_groups_keras" : "adamw_groups", 2e-6);
    ck_assert_mem_eq(before, b, sizeof before);
}
END_TEST

START_TEST(test_a_frozen_parameter_has_no_average_of_its_own_and_no_norm)
{
    svit_optimizer_config config = plain(SVIT_OPTIMIZER_ADAMW, 3e-3);
    config.ema = SVIT_EMA_KERAS;
    config.ema_momentum = 0.9;
    config.lookahead = 2;
    config.weight_decay = 0.1;
    add_group(&config, "?", 1, -1, 0);
    add_group(&config, "c", 1, -1, 1);
    sv_optim *optim = create(&config);
    float before[2048];
    memcpy(before, weights, sizeof before);
    double squares = 0;
    for (size_t step = 0; step < STEPS; step++) {
        update(optim, &config, step);
        import("grads", gradients, step);
        squares = 0;
        for (size_t i = 0; i < 5; i++)
            squares += pow(gradients[table.list[2].offset + i], 2);
        ck_assert_double_eq_tol(optim->gradient_norm, sqrt(squares), 1e-12);
    }
    size_t c = table.list[2].offset;
    const float *average = sv_optim_average(optim);
    for (size_t i = 0; i < table.elements; i++) {
        if (i >= c && i < c + 5)
            continue;
        ck_assert(memcmp(&before[i], &weights[i], sizeof *before) == 0);
        ck_assert(memcmp(&before[i], &average[i], sizeof *before) == 0);
        ck_assert_double_eq(optim->slots[0].values[i], 0);
    }
    ck_assert(memcmp(before + c, weights + c, 5 * sizeof *before) != 0);
    sv_optim_free(optim);
}
END_TEST

static svit_optimizer_config muon(void)
{
    svit_optimizer_config config = plain(SVIT_OPTIMIZER_MUON, 0.02);
    config.adamw_learning_rate = 3e-4;
    config.momentum = 0.95;
    config.nesterov = 1;
    config.beta1 = 0.9;
    config.beta2 = 0.95;
    config.epsilon = 1e-10;
    config.epsilon_form = SVIT_EPSILON_TORCH;
    config.weight_decay = 0.01;
    /* Without this group the first and the last weight would take AdamW. */
    add_group(&config, "*", 1, -1, 1);
    config.groups[0].rule = SVIT_RULE_MATRIX;
    return config;
}

/* The golden "muon.d" takes its factor from the kernel's sides; ours is that of the flattened
 * matrix, "muon_rows_cols.d". A group's scale multiplies the rates, here those of a quarter. */
START_TEST(test_muon)
{
    svit_optimizer_config config = muon();
    if (_i == 1) {
        config.learning_rate /= 4;
        config.adamw_learning_rate /= 4;
        config.groups[0].lr_scale = 4;
    }
    sv_optim *optim = create(&config);
    for (size_t step = 0; step < STEPS; step++) {
        update(optim, &config, step);
        size_t elements = table.list[3].desc.elements;
        float values[512];
        float *rows = golden_floats(file, "muon_rows_cols.d", NULL);
        sv_parameter_export(&table.list[3], values, weights);
        ck_assert_double_le(golden_difference(values, rows + step * elements, elements), 5e-6);
        for (size_t i = 0; i < 3; i++) {
            char name[16];
            snprintf(name, sizeof name, "muon.%s", PARTS[i].name);
            float *other = golden_floats(file, name, NULL);
            size_t count = table.list[i].desc.elements;
            ck_assert_double_le(
                golden_difference(weights + table.list[i].offset, other + step * count, count),
                5e-6);
            golden_free(other);
        }
        golden_free(rows);
    }
    sv_optim_free(optim);
}
END_TEST

/* Without a group, the first and the last weight take AdamW: a and d do, b does not. */
START_TEST(test_muon_leaves_the_first_and_the_last_weight_to_adamw)
{
    svit_optimizer_config config = muon();
    config.group_count = 0;
    sv_optim *optim = create(&config);
    ck_assert_uint_eq(optim->matrix_count, 1);
    ck_assert_uint_eq(optim->matrices[0], 1);
    sv_optim_free(optim);
}
END_TEST

/* Averages over rows 3, 4, 5 of sgd_nesterov. */
START_TEST(test_stochastic_weight_averaging)
{
    svit_optimizer_config config = torch_sgd(0.05, 0.9, 5e-4);
    config.nesterov = 1;
    config.ema = SVIT_EMA_SWA;
    config.total_steps = STEPS;
    config.swa_start = 0.4;
    sv_optim *optim = create(&config);
    for (size_t step = 0; step < STEPS; step++) {
        update(optim, &config, step);
        if (step < 2)
            ck_assert_mem_eq(sv_optim_average(optim), weights, table.elements * sizeof *weights);
        else
            ck_assert_double_le(difference(sv_optim_average(optim), "swa", step - 2), 2e-6);
    }
    sv_optim_free(optim);
}
END_TEST

START_TEST(test_bits_do_not_depend_on_the_thread_count)
{
    float first[2048], start[2048];
    memcpy(start, weights, sizeof start);
    for (uint32_t threads = 1; threads <= 3; threads++) {
        svit_context *other = fit_context(threads);
        svit_optimizer_config config = muon();
        sv_optim *optim = NULL;
        memcpy(weights, start, sizeof start);
        WORKS(sv_optim_create(&optim, other, &table, NULL, weights, &config, err));
        for (size_t step = 0; step < STEPS; step++)
            update(optim, &config, step);
        sv_optim_free(optim);
        svit_context_free(other);
        if (threads == 1)
            memcpy(first, weights, sizeof first);
        ck_assert_mem_eq(first, weights, table.elements * sizeof *weights);
    }
}
END_TEST

START_TEST(test_settings_of_parameters_change_between_updates)
{
    svit_optimizer_config config = muon();
    sv_optim *optim = create(&config);
    float before[2048];
    ck_assert_uint_eq(optim->matrix_count, 3);
    WORKS(sv_optim_set_parameter(optim, "[ab]", "trainable", 0, err) == SVIT_OK ? SVIT_E_STATE
                                                                                : SVIT_OK);
    WORKS(sv_optim_set_parameter(optim, "a", "trainable", 0, err));
    ck_assert_uint_eq(optim->matrix_count, 2);
    memcpy(before, weights, sizeof before);
    update(optim, &config, 0);
    ck_assert_mem_eq(before, weights, 48 * sizeof *before);
    WORKS(sv_optim_set_parameter(optim, "a", "trainable", 1, err));
    update(optim, &config, 1);
    ck_assert(memcmp(before, weights, 48 * sizeof *before) != 0);
    FAILS(sv_optim_set_parameter(optim, "x*", "lr_scale", 1, err), SVIT_E_ARGUMENT, "'x*'");
    FAILS(sv_optim_set_parameter(optim, "a", "rate", 1, err), SVIT_E_ARGUMENT, "'rate'");
    FAILS(sv_optim_set_parameter(optim, "a", "trainable", 2, err), SVIT_E_ARGUMENT, "0 or 1");
    sv_optim_free(optim);
}
END_TEST

START_TEST(test_patterns)
{
    static const struct {
        const char *pattern, *name;
        bool matches;
    } cases[] = {
        {"*", "", true},        {"a*c", "abbc", true},
        {"a*c", "abcb", false}, {"*bias", "x.bias", true},
        {"??", "ab", true},     {"??", "abc", false},
        {"a**b", "ab", true},   {"*a*a", "aa", true},
        {"*a*a", "a", false},   {"", "", true},
        {"", "a", false},       {"layers.*.norm?.*", "layers.0.norm2.weight", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_int_eq(sv_pattern_matches(cases[i].pattern, cases[i].name), cases[i].matches);
}
END_TEST

static const struct {
    const char *name;
    int32_t schedule;
    double lr_start;
    uint64_t warmup, period;
    uint32_t factor;
    size_t steps;
} CURVES[] = {
    {"linear", SVIT_SCHEDULE_LINEAR, 0, 0, 1, 1, 40},
    {"linear_warmup", SVIT_SCHEDULE_LINEAR, 0.01, 8, 1, 1, 40},
    {"one_cycle_cos", SVIT_SCHEDULE_ONE_CYCLE, 0, 12, 1, 1, 40},
    {"step", SVIT_SCHEDULE_STEP, 0, 0, 10, 1, 40},
    {"cosine_restarts_mult1", SVIT_SCHEDULE_COSINE_RESTARTS, 1e-4, 0, 10, 1, 40},
    {"cosine_restarts_mult2", SVIT_SCHEDULE_COSINE_RESTARTS, 1e-4, 0, 6, 2, 40},
    {"piecewise", SVIT_SCHEDULE_PIECEWISE, 0, 0, 1, 1, 41},
};

START_TEST(test_schedules)
{
    svit_optimizer_config config = plain(SVIT_OPTIMIZER_SGD, 0.1);
    char name[64];
    config.schedule = CURVES[_i].schedule;
    config.lr_start = CURVES[_i].lr_start;
    config.warmup_steps = CURVES[_i].warmup;
    config.total_steps = 40;
    config.step_size = config.restart_steps = CURVES[_i].period;
    config.restart_factor = CURVES[_i].factor;
    float *points = golden_floats(file, "schedule.piecewise.points", NULL);
    /* The points are decimals such as 0.4, which the file rounds to float32. */
    for (uint32_t i = 0; i < 4; i++)
        config.points[i] = (svit_schedule_point){round(1e6 * (double)points[2 * i]) / 1e6,
                                                 round(1e6 * (double)points[2 * i + 1]) / 1e6};
    config.point_count = 4;
    snprintf(name, sizeof name, "schedule.%s", CURVES[_i].name);
    float *curve = golden_floats(file, name, NULL);
    for (size_t step = 0; step < CURVES[_i].steps; step++) {
        double rate;
        WORKS(svit_learning_rate(&config, step, &rate, err));
        ck_assert_msg(fabs(rate - curve[step]) <= 1e-7 * fabs(curve[step]) + 1e-9,
                      "%s: step %zu is %.9g, not %.9g", name, step, rate, (double)curve[step]);
    }
    golden_free(curve);
    golden_free(points);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("optim2_golden");
    TCase *c = tcase_create("optim2_golden");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_lion);
    tcase_add_loop_test(c, test_sgd_of_torch, 0, 2);
    tcase_add_test(c, test_sgd_of_airbench_with_a_larger_rate_for_biases);
    tcase_add_loop_test(c, test_lookahead, 0, 2);
    tcase_add_loop_test(c, test_groups, 0, 2);
    tcase_add_test(c, test_a_frozen_parameter_has_no_average_of_its_own_and_no_norm);
    tcase_add_loop_test(c, test_muon, 0, 2);
    tcase_add_test(c, test_muon_leaves_the_first_and_the_last_weight_to_adamw);
    tcase_add_test(c, test_stochastic_weight_averaging);
    tcase_add_test(c, test_bits_do_not_depend_on_the_thread_count);
    tcase_add_test(c, test_settings_of_parameters_change_between_updates);
    tcase_add_test(c, test_patterns);
    tcase_add_loop_test(c, test_schedules, 0, sizeof CURVES / sizeof *CURVES);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
