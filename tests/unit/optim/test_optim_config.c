/* Checks the groups and the points of an optimiser's configuration, and schedules that lack what
 * they need. */
#include "fit.h"

static const struct {
    const char *json, *part; /* NULL: it is accepted */
} CASES[] = {
    {"{\"groups\":[{\"pattern\":\"*.bias\",\"lr_scale\":2}]}", NULL},
    {"{\"groups\":[{\"pattern\":\"*\"},{\"pattern\":\"head.*\",\"trainable\":false}]}", NULL},
    {"{\"groups\":[1]}", "groups[0]: it is no object with a \"pattern\""},
    {"{\"groups\":[{\"pattern\":\"a\"},[]]}", "groups[1]: it is no object"},
    {"{\"groups\":[{}]}", "groups[0]: pattern is empty"},
    {"{\"groups\":[{\"pattern\":\"a\",\"lr_scale\":-1}]}", "groups[0]: lr_scale is -1"},
    {"{\"groups\":[{\"pattern\":\"a\",\"rule\":\"row\"}]}", "groups[0]: rule is 'row'"},
    {"{\"groups\":{}}", "groups is not an array of at most 16 parameter groups"},
    {"{\"points\":[[0,1],[1,0.5]]}", NULL},
    {"{\"points\":[1]}", "points[0]: it is no pair [fraction, factor] of numbers"},
    {"{\"points\":[[0,1],[1]]}", "points[1]: it is no pair"},
    {"{\"points\":[[0,1,2]]}", "points[0]: it is no pair"},
    {"{\"points\":[[\"a\",1]]}", "points[0]: it is no pair"},
    {"{\"points\":[[0,true]]}", "points[0]: it is no pair"},
    {"{\"points\":[[-0.5,1]]}", "points[0]: the fraction is -0.5; it is in [0, 1]"},
    {"{\"points\":[[1.5,1]]}", "points[0]: the fraction is 1.5"},
    {"{\"points\":[[0.5,-1]]}", "points[0]: the factor is -1; it is in [0, 1e30]"},
    {"{\"points\":[[0.5,1e31]]}", "points[0]: the factor is 1e+31"},
    /* the ends of what is accepted, and the next numbers beyond them */
    {"{\"points\":[[0,0],[1,1e30]]}", NULL},
    {"{\"points\":[[0,1e30],[1,0]]}", NULL},
    {"{\"points\":[[-5e-324,1]]}", "points[0]: the fraction is -4.94066e-324"},
    {"{\"points\":[[1.0000000000000003,1]]}", "points[0]: the fraction is 1; it is in [0, 1]"},
    {"{\"points\":[[0.5,-5e-324]]}", "points[0]: the factor is -4.94066e-324"},
    {"{\"points\":[[0.5,1.0000000000000002e30]]}", "points[0]: the factor is 1e+30; it is in"},
    {"{\"points\":[0,1]", "is not JSON"},
    {"[]", "not a JSON object"},
};

START_TEST(test_groups_and_points_of_json)
{
    svit_optimizer_config config;
    char text[8192];
    if (CASES[_i].part) {
        const svit_status status =
            CASES[_i].json[strlen(CASES[_i].json) - 1] == ']' ? SVIT_E_FORMAT : SVIT_E_ARGUMENT;
        FAILS(svit_optimizer_config_from_json(&config, sizeof config, CASES[_i].json, err), status,
              CASES[_i].part);
        return;
    }
    WORKS(svit_optimizer_config_from_json(&config, sizeof config, CASES[_i].json, err));
    WORKS(svit_optimizer_config_to_json(&config, text, sizeof text, NULL, err));
    svit_optimizer_config again;
    WORKS(svit_optimizer_config_from_json(&again, sizeof again, text, err));
    ck_assert_mem_eq(again.groups, config.groups, sizeof again.groups);
    ck_assert_mem_eq(again.points, config.points, sizeof again.points);
}
END_TEST

START_TEST(test_schedules_that_lack_something_are_named)
{
    static const struct {
        int32_t schedule;
        uint64_t total, warmup;
        uint32_t points;
        double second; /* the fraction of the second point */
        const char *part;
    } cases[] = {
        {SVIT_SCHEDULE_LINEAR, 0, 0, 0, 1, "total_steps is 0"},
        {SVIT_SCHEDULE_WARMUP_COSINE, 3, 4, 0, 1, "warmup_steps"},
        {SVIT_SCHEDULE_PIECEWISE, 3, 0, 1, 1, "points has 1 elements; a piecewise schedule"},
        {SVIT_SCHEDULE_PIECEWISE, 3, 0, 2, 0.25,
         "points[1] has fraction 0.25; it is above that of the point before, 0.25"},
        {SVIT_SCHEDULE_STEP, 0, 0, 0, 1, "step_size"},
        {SVIT_SCHEDULE_COSINE_RESTARTS, 0, 0, 0, 1, "restart_steps"},
        {SVIT_SCHEDULE_PIECEWISE + 1, 3, 0, 0, 1, "schedule"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        svit_optimizer_config config;
        double rate = 7;
        WORKS(svit_optimizer_config_init(&config, sizeof config));
        config.schedule = cases[i].schedule;
        config.total_steps = cases[i].total;
        config.warmup_steps = cases[i].warmup;
        config.point_count = cases[i].points;
        config.points[0] = (svit_schedule_point){0.25, 1};
        config.points[1] = (svit_schedule_point){cases[i].second, 0};
        FAILS(svit_learning_rate(&config, 0, &rate, err), SVIT_E_ARGUMENT, cases[i].part);
        ck_assert_double_eq(rate, 7);
    }
}
END_TEST

START_TEST(test_a_length_that_the_average_needs_is_named)
{
    svit_optimizer_config config;
    double rate = 7;
    WORKS(svit_optimizer_config_init(&config, sizeof config));
    config.ema = SVIT_EMA_SWA;
    FAILS(svit_learning_rate(&config, 0, &rate, err), SVIT_E_ARGUMENT,
          "total_steps is 0; training with ema 'swa' has at least 1 step");
    config.total_steps = 2;
    WORKS(svit_learning_rate(&config, 0, &rate, err));
    ck_assert_double_eq(rate, config.learning_rate);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("optim_config");
    TCase *c = tcase_create("optim_config");
    tcase_add_loop_test(c, test_groups_and_points_of_json, 0, sizeof CASES / sizeof *CASES);
    tcase_add_test(c, test_schedules_that_lack_something_are_named);
    tcase_add_test(c, test_a_length_that_the_average_needs_is_named);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
