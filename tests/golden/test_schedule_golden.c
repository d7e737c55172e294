/* Compares WarmUpCosine with the golden curves, and checks the values of an optimiser that can be
 * set. */
#include "fit.h"
#include "golden.h"

#include "optim/schedule.h"

static const struct {
    const char *name;
    double start, most;
    uint64_t warmup, total;
} curves[] = {{"shiftvit", 1e-5, 1e-3, 2343, 15625}, {"vit", 0, 1e-3, 976, 9765}};

static svit_optimizer_config config_of(size_t curve)
{
    svit_optimizer_config config;
    WORKS(svit_optimizer_config_init(&config, sizeof config));
    config.schedule = SVIT_SCHEDULE_WARMUP_COSINE;
    config.lr_start = curves[curve].start;
    config.learning_rate = curves[curve].most;
    config.warmup_steps = curves[curve].warmup;
    config.total_steps = curves[curve].total;
    return config;
}

START_TEST(test_the_curve_is_the_golden_one)
{
    svit_optimizer_config config = config_of((size_t)_i);
    sv_safetensors *file = golden_open("warmup_cosine");
    char name[64];
    size_t count;
    snprintf(name, sizeof name, "%s.steps", curves[_i].name);
    int32_t *steps = golden_labels(file, name, &count);
    snprintf(name, sizeof name, "%s.lr", curves[_i].name);
    float *lr = golden_floats(file, name, NULL);
    for (size_t i = 0; i < count; i++) {
        double rate;
        WORKS(svit_learning_rate(&config, (uint64_t)steps[i], &rate, err));
        ck_assert_double_eq_tol(rate, lr[i], 1e-9);
    }
    golden_free(steps);
    golden_free(lr);
    sv_safetensors_close(file);
}
END_TEST

START_TEST(test_a_curve_that_is_all_warm_up_ends_at_zero)
{
    svit_optimizer_config config = config_of(0);
    config.warmup_steps = config.total_steps = 10;
    double rate;
    WORKS(svit_learning_rate(&config, 9, &rate, err));
    ck_assert_double_gt(rate, 0);
    WORKS(svit_learning_rate(&config, 10, &rate, err));
    ck_assert_double_eq(rate, 0);
    WORKS(svit_learning_rate(&config, UINT64_MAX, &rate, err));
    ck_assert_double_eq(rate, 0);
}
END_TEST

/* Every schedule at every step of a short run, warm-up of any length: the rate stays between 0 and
 * the highest one, and the cycle ends at its end. */
START_TEST(test_short_runs_have_finite_rates)
{
    enum { MOST = 4 };
    for (uint64_t total = 1; total <= MOST; total++)
        for (uint64_t warmup = 0; warmup <= total; warmup++) {
            svit_optimizer_config config;
            WORKS(svit_optimizer_config_init(&config, sizeof config));
            config.schedule = _i;
            config.learning_rate = 0.1;
            config.warmup_steps = sv_schedule_uses(_i, SV_SCHEDULE_WARMUP) ? warmup : 0;
            config.total_steps = sv_schedule_uses(_i, SV_SCHEDULE_LENGTH) ? total : 0;
            config.step_size = total;
            config.restart_steps = total + 1;
            config.step_factor = 0.5;
            config.restart_factor = (uint32_t)warmup + 1;
            config.point_count = 2;
            config.points[0] = (svit_schedule_point){0, 1};
            config.points[1] = (svit_schedule_point){1, 0.5};
            for (uint64_t step = 0; step <= 2 * total + 1; step++) {
                const uint64_t at = step > 2 * total ? UINT64_MAX : step;
                double rate = -1;
                WORKS(svit_learning_rate(&config, at, &rate, err));
                ck_assert_msg(rate >= 0 && rate <= 0.1 * (1 + 1e-15),
                              "step %llu of %llu, %llu up: %g", (unsigned long long)at,
                              (unsigned long long)total, (unsigned long long)warmup, rate);
                if (_i == SVIT_SCHEDULE_ONE_CYCLE && at + 1 >= total && at + 1 > warmup)
                    ck_assert_double_eq_tol(rate, 0.1 / 25 * 1e-4, 1e-12);
                if (_i == SVIT_SCHEDULE_PIECEWISE && at >= total)
                    ck_assert_double_eq(rate, 0.05);
            }
        }
}
END_TEST

START_TEST(test_wrong_optimisers_are_refused_by_field)
{
    static const struct {
        const char *field;
        size_t offset;
        double value;
    } reals[] = {
#define REAL(field, value) {#field, offsetof(svit_optimizer_config, field), value}
        REAL(learning_rate, -1), REAL(beta1, 1),         REAL(beta2, -0.1),   REAL(epsilon, 0),
        REAL(weight_decay, -1),  REAL(momentum, 1),      REAL(clip_norm, -1), REAL(ema_momentum, 1),
        REAL(lr_start, 1),       REAL(beta1, 0.0 / 0.0),
    };
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        svit_optimizer_config config = config_of(0);
        memcpy((char *)&config + reals[i].offset, &reals[i].value, sizeof(double));
        double rate = 5;
        FAILS(svit_learning_rate(&config, 0, &rate, err), SVIT_E_ARGUMENT, reals[i].field);
        ck_assert_double_eq(rate, 5);
    }
    static const struct {
        const char *field;
        size_t offset;
        int32_t value;
    } words[] = {
#define WORD(field, value) {#field, offsetof(svit_optimizer_config, field), value}
        WORD(kind, 4), WORD(kind, -1),    WORD(schedule, 7),      WORD(decay_rule, 2),
        WORD(ema, 4),  WORD(nesterov, 2), WORD(decay_exclude, 8),
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        svit_optimizer_config config = config_of(0);
        memcpy((char *)&config + words[i].offset, &words[i].value, sizeof(int32_t));
        double rate;
        FAILS(svit_learning_rate(&config, 0, &rate, err), SVIT_E_ARGUMENT, words[i].field);
    }
    svit_optimizer_config config = config_of(0);
    config.total_steps = 2342;
    double rate;
    FAILS(svit_learning_rate(&config, 0, &rate, err), SVIT_E_ARGUMENT, "warmup_steps is 2343");
    config.total_steps = 0;
    FAILS(svit_learning_rate(&config, 0, &rate, err), SVIT_E_ARGUMENT, "total_steps is 0");
}
END_TEST

START_TEST(test_settable_numbers_keep_their_bounds)
{
    svit_context *context = fit_context(1);
    svit_model *model = fit_model(context, 3, 1);
    svit_optimizer_config config = config_of(0);
    svit_optimizer *optimizer = NULL;
    WORKS(svit_optimizer_create(&optimizer, model, &config, err));
    static const char *const keys[] = {"learning_rate", "weight_decay", "momentum", "clip_norm",
                                       "ema_momentum"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        double min, max, value;
        WORKS(svit_optimizer_bounds(optimizer, keys[i], &min, &max, err));
        WORKS(svit_optimizer_set_f64(optimizer, keys[i], max, err));
        WORKS(svit_optimizer_set_f64(optimizer, keys[i], min, err));
        WORKS(svit_optimizer_get_f64(optimizer, keys[i], &value, err));
        ck_assert_double_eq(value, min);
        FAILS(svit_optimizer_set_f64(optimizer, keys[i], -1, err), SVIT_E_ARGUMENT, keys[i]);
        FAILS(svit_optimizer_set_f64(optimizer, keys[i], 0.0 / 0.0, err), SVIT_E_ARGUMENT, keys[i]);
    }
    double min, max;
    WORKS(svit_optimizer_bounds(optimizer, "learning_rate", &min, &max, err));
    ck_assert_double_eq(min, config.lr_start);
    FAILS(svit_optimizer_set_f64(optimizer, "beta1", 0.5, err), SVIT_E_ARGUMENT, "clip_norm");
    FAILS(svit_optimizer_set_f64(optimizer, "gradient_norm", 1, err), SVIT_E_ARGUMENT, "known");
    FAILS(svit_optimizer_swap_ema(optimizer, err), SVIT_E_STATE, "no average");
    svit_optimizer_free(optimizer);
    svit_model_free(model);
    svit_context_free(context);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("schedule_golden");
    TCase *c = tcase_create("schedule_golden");
    tcase_add_loop_test(c, test_the_curve_is_the_golden_one, 0, 2);
    tcase_add_test(c, test_a_curve_that_is_all_warm_up_ends_at_zero);
    tcase_add_loop_test(c, test_short_runs_have_finite_rates, SVIT_SCHEDULE_CONSTANT,
                        SVIT_SCHEDULE_PIECEWISE + 1);
    tcase_add_test(c, test_wrong_optimisers_are_refused_by_field);
    tcase_add_test(c, test_settable_numbers_keep_their_bounds);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
