/* Checks that the matmuls that shiftvit-bench measures add up to the work that it counts. */
#include "suite.h"

#include "../../../examples/bench/matmul_list.h"
#include "../../../examples/bench/work_count.h"

#include <math.h>
#include <string.h>

static matmul_list list;

static double list_work(void)
{
    double work = 0;
    for (size_t i = 0; i < list.count; i++) {
        const svit_matmul *matmul = &list.matmuls[i].matmul;
        work += 2.0 * matmul->m * matmul->n * matmul->k * (double)list.matmuls[i].count;
    }
    return work;
}

/* Returns the work that folded weights save in a step: if heads of 64 attend over tokens of 64
 * channels, two of four matmuls with weights [64, 256]. */
static double spared_work(const svit_model_config *config)
{
    if (config->architecture != SVIT_ARCHITECTURE_VIT || config->head_dim != config->dim)
        return 0;
    ck_assert_uint_eq(config->dim, 64);
    return 3 * 2.0 * config->depth * 144 * 2 * 64 * 256;
}

START_TEST(test_matmuls_of_every_preset_are_the_work_of_a_step)
{
    static const size_t batches[] = {1, 7, 256};
    for (size_t i = 0; svit_model_preset_name(i); i++) {
        svit_model_config config;
        const char *name = svit_model_preset_name(i);
        ck_assert_int_eq(svit_model_config_preset(&config, sizeof config, name, NULL), SVIT_OK);
        if (config.mask_ratio > 0) {
            matmul_list_build(&list, &config, 1);
            ck_assert_uint_eq(list.count, 0);
            continue;
        }
        for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
            matmul_list_build(&list, &config, batches[b]);
            double wanted =
                (work_count_training(&config) - spared_work(&config)) * (double)batches[b];
            ck_assert_msg(fabs(list_work() - wanted) < 1e-9 * wanted,
                          "%s, batch %zu: matmuls of %.0f, work of %.0f", name, batches[b],
                          list_work(), wanted);
        }
    }
}
END_TEST

START_TEST(test_matmuls_of_convolutions_are_the_work_of_a_step)
{
    static const char *const texts[] = {
        "{\"stem\":\"conv\",\"input_height\":45,\"input_width\":38}",
        "{\"stem\":\"conv\",\"patch_size\":2}",
        "{\"architecture\":\"vit\",\"tokenizer\":\"conv\",\"patch_size\":4,\"head_dim\":16}",
        ("{\"architecture\":\"vit\",\"tokenizer\":\"conv\",\"patch_size\":2,\"head_dim\":16,"
         "\"input_height\":8,\"input_width\":10}")};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        svit_model_config config;
        ck_assert_int_eq(svit_model_config_from_json(&config, sizeof config, texts[i], NULL),
                         SVIT_OK);
        matmul_list_build(&list, &config, 7);
        const double wanted = work_count_training(&config) * 7;
        ck_assert_msg(fabs(list_work() - wanted) < 1e-9 * wanted, "%s: %.0f, work of %.0f",
                      texts[i], list_work(), wanted);
    }
}
END_TEST

START_TEST(test_shapes_of_the_default_shiftvit)
{
    static const struct {
        const char *name;
        uint32_t m, n, k;
        uint64_t count;
    } wanted[] = {{"patch embedding, weight gradient", 96, 48, 36864, 1},
                  {"stage 1 up, forward", 36864, 192, 96, 2},
                  {"stage 3 up, weight gradient", 768, 384, 2304, 8},
                  {"merge 1, input gradient", 9216, 384, 192, 1}};
    svit_model_config config;
    ck_assert_int_eq(svit_model_config_init(&config, sizeof config), SVIT_OK);
    matmul_list_build(&list, &config, 256);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        size_t at = 0;
        while (at < list.count && strcmp(list.matmuls[at].name, wanted[i].name) != 0)
            at++;
        ck_assert_msg(at < list.count, "%s is missing", wanted[i].name);
        ck_assert_uint_eq(list.matmuls[at].matmul.m, wanted[i].m);
        ck_assert_uint_eq(list.matmuls[at].matmul.n, wanted[i].n);
        ck_assert_uint_eq(list.matmuls[at].matmul.k, wanted[i].k);
        ck_assert_uint_eq(list.matmuls[at].count, wanted[i].count);
    }
}
END_TEST

/* A wrong count would be worse than none. */
START_TEST(test_an_unknown_architecture_has_no_count)
{
    svit_model_config config;
    ck_assert_int_eq(svit_model_config_init(&config, sizeof config), SVIT_OK);
    config.architecture = 99;
    matmul_list_build(&list, &config, 256);
    ck_assert_uint_eq(list.count, 0);
    ck_assert_double_eq(work_count_forward(&config), 0);
    ck_assert_double_eq(work_count_training(&config), 0);
}
END_TEST

static Suite *list_suite(void)
{
    Suite *suite = suite_create("matmul list");
    TCase *all = tcase_create("counts");
    tcase_add_test(all, test_matmuls_of_every_preset_are_the_work_of_a_step);
    tcase_add_test(all, test_matmuls_of_convolutions_are_the_work_of_a_step);
    tcase_add_test(all, test_shapes_of_the_default_shiftvit);
    tcase_add_test(all, test_an_unknown_architecture_has_no_count);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(list_suite)
