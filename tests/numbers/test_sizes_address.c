/* Plans beyond what a machine can address: small models and configurations whose arrays have 2^31
 * elements and more. A session says how many bytes it needs, at least those of its largest array,
 * or, on a machine whose sizes have 32 bits, that they do not fit memory. */
#include "fit.h"

#include <stdbool.h>

static svit_context *context;

static void setup(void)
{
    context = fit_context(1);
}

static void teardown(void)
{
    svit_context_free(context);
}

static const struct {
    const char *model;
    uint32_t max_batch;
    int32_t mode;
    double least; /* bytes of the largest array */
} PLANS[] = {
    /* The classifier and fc2 as one weight [classes, 4 * 1024]. */
    {"{\"architecture\":\"shiftvit\",\"input_height\":8,\"input_width\":8,\"dim\":4,\"num_div\":4,"
     "\"blocks\":[1],\"mlp_ratio\":1024,\"num_classes\":1048576,\"final_norm\":false}",
     1, SVIT_MODE_INFER, 1048576. * 4100 * 4},
    /* Queries and keys as one weight [65536, 65536] would be larger than both, and are not. */
    {"{\"architecture\":\"vit\",\"input_height\":8,\"input_width\":8,\"patch_size\":8,\"dim\":"
     "65536,"
     "\"depth\":1,\"heads\":1,\"head_dim\":1,\"mlp_dim\":1,\"head_units\":[],\"pool\":\"mean\","
     "\"num_classes\":2}",
     1, SVIT_MODE_INFER, 0},
    {"{\"architecture\":\"vit\",\"input_height\":8,\"input_width\":8,\"patch_size\":8,\"dim\":"
     "65536,"
     "\"depth\":1,\"heads\":1,\"head_dim\":1,\"mlp_dim\":1,\"head_units\":[],\"pool\":\"mean\","
     "\"num_classes\":2}",
     1, SVIT_MODE_TRAIN, 0},
    /* Statistics of the softmax [images, heads, tokens]. */
    {"{\"architecture\":\"vit\",\"input_height\":8,\"input_width\":8,\"patch_size\":8,\"dim\":1,"
     "\"depth\":1,\"heads\":65536,\"head_dim\":1,\"mlp_dim\":1,\"head_units\":[],\"pool\":\"mean\","
     "\"num_classes\":2}",
     65536, SVIT_MODE_TRAIN, 65536. * 65536 * 4},
    /* The caller's images. */
    {"{\"architecture\":\"vit\",\"input_height\":8192,\"input_width\":8192,\"patch_size\":8,"
     "\"in_channels\":65,\"dim\":1,\"depth\":1,\"heads\":1,\"head_dim\":1,\"mlp_dim\":1,"
     "\"head_units\":[],\"pool\":\"mean\",\"num_classes\":2}",
     1, SVIT_MODE_INFER, 0},
};

START_TEST(test_a_plan_has_its_arrays_or_is_refused)
{
    svit_model_config config;
    svit_session_config plan;
    svit_model *model = NULL;
    uint64_t bytes = 0;
    const bool is_wide = sizeof(size_t) > 4;
    WORKS(svit_model_config_from_json(&config, sizeof config, PLANS[_i].model, err));
    WORKS(svit_model_create(&model, context, &config, 1, err));
    WORKS(svit_session_config_init(&plan, sizeof plan));
    plan.max_batch = PLANS[_i].max_batch;
    plan.mode = PLANS[_i].mode;
    svit_error error = {.struct_size = sizeof error};
    const svit_status status = svit_session_memory_needed(&bytes, model, &plan, &error);
    const double image = 4. * config.input_height * config.input_width * config.in_channels;
    if (is_wide || (PLANS[_i].least < UINT32_MAX && image < UINT32_MAX)) {
        ck_assert_msg(status == SVIT_OK, "%s", error.message);
        ck_assert_msg((double)bytes >= PLANS[_i].least, "%.0f bytes", (double)bytes);
    } else {
        ck_assert_int_eq(status, SVIT_E_MEMORY);
    }
    svit_model_free(model);
}
END_TEST

/* A BLAS counts in int. */
START_TEST(test_a_blas_refuses_what_it_cannot_count)
{
    svit_context_config with = {.struct_size = sizeof with, .threads = 1, .gemm = "cblas"};
    svit_context *blas = NULL;
    svit_model_config config;
    svit_session_config plan;
    svit_model *model = NULL;
    uint64_t bytes = 0;
    if (sizeof(size_t) == 4 || svit_context_create(&blas, &with, NULL) != SVIT_OK) {
        skip_check("needs 64 bits and a BLAS");
        return;
    }
    WORKS(svit_model_config_from_json(
        &config, sizeof config,
        "{\"architecture\":\"vit\",\"input_height\":8192,\"input_width\":8192,\"patch_size\":32,"
        "\"dim\":4,\"depth\":1,\"heads\":1,\"head_dim\":4,\"mlp_dim\":4,\"head_units\":[],"
        "\"pool\":\"mean\",\"num_classes\":2}",
        err));
    WORKS(svit_model_create(&model, blas, &config, 1, err));
    WORKS(svit_session_config_init(&plan, sizeof plan));
    plan.max_batch = 32767; /* 65536 rows of an image */
    WORKS(svit_session_memory_needed(&bytes, model, &plan, err));
    plan.max_batch = 32768;
    FAILS(svit_session_memory_needed(&bytes, model, &plan, err), SVIT_E_UNSUPPORTED,
          "a matmul has 2147483648 rows or columns; the backend 'cblas' has up to 2147483647");
    svit_model_free(model);
    svit_context_free(blas);
}
END_TEST

/* More multiply-adds than 64 bits count are as many as they count. */
START_TEST(test_multiply_adds_saturate)
{
    svit_model_config config;
    uint64_t forward = 0, training = 0;
    WORKS(svit_model_config_from_json(
        &config, sizeof config,
        "{\"architecture\":\"vit\",\"input_height\":8192,\"input_width\":8192,\"patch_size\":1,"
        "\"dim\":1,\"depth\":1,\"heads\":65536,\"head_dim\":1,\"mlp_dim\":1,\"head_units\":[],"
        "\"pool\":\"mean\",\"num_classes\":2}",
        err));
    WORKS(svit_model_multiply_adds(&config, &forward, &training, err));
    ck_assert_uint_eq(forward, UINT64_MAX);
    ck_assert_uint_eq(training, UINT64_MAX);
}
END_TEST

static int32_t give_black(size_t index, uint8_t *pixels, int32_t *label, void *user)
{
    (void)index, (void)user;
    memset(pixels, 0, 224 * 224 * 3);
    *label = 1;
    return 0;
}

/* Images that no memory holds may be read one by one. */
START_TEST(test_a_callback_has_any_number_of_images)
{
    svit_dataset *dataset = NULL, *last = NULL;
    size_t bad = 1;
    WORKS(
        svit_dataset_callback(&dataset, context, give_black, SIZE_MAX, 224, 224, 3, 10, NULL, err));
    ck_assert_uint_eq(svit_dataset_count(dataset), SIZE_MAX);
    WORKS(svit_dataset_slice(&last, dataset, SIZE_MAX - 200, 200, err));
    WORKS(svit_dataset_verify(last, NULL, NULL, &bad, err));
    ck_assert_uint_eq(bad, 0);
    svit_dataset_free(last);
    svit_dataset_free(dataset);
    FAILS(svit_dataset_callback(&dataset, context, give_black, 0, 224, 224, 3, 10, NULL, err),
          SVIT_E_ARGUMENT, "count is 0");
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("sizes_address");
    TCase *c = tcase_create("sizes_address");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_a_plan_has_its_arrays_or_is_refused, 0,
                        sizeof PLANS / sizeof *PLANS);
    tcase_add_test(c, test_a_blas_refuses_what_it_cannot_count);
    tcase_add_test(c, test_multiply_adds_saturate);
    tcase_add_test(c, test_a_callback_has_any_number_of_images);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
