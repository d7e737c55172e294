/* Makes each argument wrong in turn and checks that the call returns the right status, that its
 * message names the argument, and that the handle still works. */
#include "build.h"
#include "suite.h"

#include <shiftvit/shiftvit.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char SMALL[] = "{\"input_height\":8,\"input_width\":8,\"dim\":12,\"blocks\":[1,1]}";

enum { PIXELS = 8 * 8 * 3, CLASSES = 10, BATCH = 4 };

static svit_context *context;
static svit_model *model;
static svit_session *session, *infers;
static svit_error err = {.struct_size = sizeof err};
static float images[BATCH * PIXELS], logits[BATCH * CLASSES], dlogits[BATCH * CLASSES];

#define OK(call) ck_assert_msg((call) == SVIT_OK, "%s", err.message)

/* Requires that the call fails with `wanted` and that its message contains `part`. */
#define FAILS(status, text, call)                                                                  \
    do {                                                                                           \
        memset(err.message, 0, sizeof err.message);                                                \
        err.code = 0;                                                                              \
        ck_assert_int_eq(call, status);                                                            \
        ck_assert_int_eq(err.code, status);                                                        \
        ck_assert_msg(strstr(err.message, text) != NULL, "'%s' is not in '%s'", text,              \
                      err.message);                                                                \
    } while (0)

static svit_session *open_session(int32_t mode)
{
    svit_session_config config;
    svit_session *made = NULL;
    OK(svit_session_config_init(&config, sizeof config));
    config.max_batch = BATCH;
    config.mode = mode;
    OK(svit_session_create(&made, model, &config, &err));
    return made;
}

static void setup(void)
{
    svit_context_config config;
    svit_model_config small;
    OK(svit_context_config_init(&config, sizeof config));
    config.threads = 1;
    OK(svit_context_create(&context, &config, &err));
    OK(svit_model_config_from_json(&small, sizeof small, SMALL, &err));
    OK(svit_model_create(&model, context, &small, 1, &err));
    session = open_session(SVIT_MODE_TRAIN);
    infers = open_session(SVIT_MODE_INFER);
    for (size_t i = 0; i < BATCH * PIXELS; i++)
        images[i] = (float)(i % 17) / 17;
}

static void teardown(void)
{
    svit_session_free(session);
    svit_session_free(infers);
    svit_model_free(model);
    svit_context_free(context);
}

/* The handles still work. */
static void still_works(void)
{
    OK(svit_forward(session, images, BATCH, logits, &err));
    OK(svit_backward(session, logits, BATCH, &err));
    OK(svit_forward(infers, images, 1, logits, &err));
}

START_TEST(test_wrong_arguments_of_forward_are_named)
{
    float before[BATCH * CLASSES];
    memcpy(before, logits, sizeof before);
    FAILS(SVIT_E_ARGUMENT, "session", svit_forward(NULL, images, 1, logits, &err));
    FAILS(SVIT_E_ARGUMENT, "nhwc", svit_forward(session, NULL, 1, logits, &err));
    FAILS(SVIT_E_ARGUMENT, "logits", svit_forward(session, images, 1, NULL, &err));
    FAILS(SVIT_E_ARGUMENT, "n is 0; 1 to 4", svit_forward(session, images, 0, logits, &err));
    FAILS(SVIT_E_ARGUMENT, "n is 5; 1 to 4", svit_forward(session, images, 5, logits, &err));
    images[PIXELS + 3] = NAN;
    FAILS(SVIT_E_NUMERIC, "nhwc[195] is nan", svit_forward(session, images, 2, logits, &err));
    images[PIXELS + 3] = INFINITY;
    FAILS(SVIT_E_NUMERIC, "nhwc[195] is inf", svit_forward(session, images, 2, logits, &err));
    ck_assert_mem_eq(before, logits, sizeof before);
    OK(svit_forward(session, images, 1, logits, &err));
    images[PIXELS + 3] = 0;
    ck_assert_int_eq(svit_forward(NULL, NULL, 0, NULL, NULL), SVIT_E_ARGUMENT);
    still_works();
}
END_TEST

START_TEST(test_wrong_arguments_of_backward_are_named)
{
    FAILS(SVIT_E_ARGUMENT, "session", svit_backward(NULL, dlogits, 1, &err));
    FAILS(SVIT_E_STATE, "without a forward", svit_backward(session, dlogits, 1, &err));
    OK(svit_forward(session, images, 2, logits, &err));
    FAILS(SVIT_E_ARGUMENT, "dlogits", svit_backward(session, NULL, 2, &err));
    FAILS(SVIT_E_ARGUMENT, "n is 1; the last forward had 2",
          svit_backward(session, dlogits, 1, &err));
    dlogits[4] = NAN;
    FAILS(SVIT_E_NUMERIC, "dlogits[4]", svit_backward(session, dlogits, 2, &err));
    dlogits[4] = 0;
    OK(svit_backward(session, dlogits, 2, &err));
    FAILS(SVIT_E_STATE, "without a forward", svit_backward(session, dlogits, 2, &err));
    OK(svit_forward(infers, images, 1, logits, &err));
    FAILS(SVIT_E_STATE, "created to infer", svit_backward(infers, dlogits, 1, &err));
    OK(svit_forward(session, images, 2, logits, &err));
    OK(svit_session_set_mode(session, SVIT_MODE_INFER, &err));
    FAILS(SVIT_E_STATE, "without a forward", svit_backward(session, dlogits, 2, &err));
    OK(svit_session_set_mode(session, SVIT_MODE_TRAIN, &err));
    still_works();
}
END_TEST

START_TEST(test_wrong_session_configurations_are_named)
{
    svit_session *out = session;
    svit_session_config config;
    OK(svit_session_config_init(&config, sizeof config));
    FAILS(SVIT_E_ARGUMENT, "out", svit_session_create(NULL, model, &config, &err));
    FAILS(SVIT_E_ARGUMENT, "model", svit_session_create(&out, NULL, &config, &err));
    config.max_batch = 0;
    FAILS(SVIT_E_ARGUMENT, "max_batch is 0", svit_session_create(&out, model, &config, &err));
    config.max_batch = 65537;
    FAILS(SVIT_E_ARGUMENT, "max_batch is 65537", svit_session_create(&out, model, &config, &err));
    config.max_batch = 1;
    config.mode = 2;
    FAILS(SVIT_E_ARGUMENT, "mode is 2", svit_session_create(&out, model, &config, &err));
    config.mode = SVIT_MODE_INFER;
    config.compute = SVIT_COMPUTE_INT8;
    config.mode = SVIT_MODE_TRAIN;
    FAILS(SVIT_E_ARGUMENT, "only infers", svit_session_create(&out, model, &config, &err));
    config.mode = SVIT_MODE_INFER;
    config.compute = -1;
    FAILS(SVIT_E_ARGUMENT, "compute is -1", svit_session_create(&out, model, &config, &err));
    config.compute = SVIT_COMPUTE_F32;
    config.input_height = 9000;
    FAILS(SVIT_E_ARGUMENT, "9000", svit_session_create(&out, model, &config, &err));
    config.input_height = 0;
    config.struct_size = 3;
    FAILS(SVIT_E_ARGUMENT, "struct_size", svit_session_create(&out, model, &config, &err));
    ck_assert_ptr_eq(out, session);
    still_works();
}
END_TEST

START_TEST(test_a_longer_struct_is_accepted_if_its_tail_is_zero)
{
    struct {
        svit_session_config config;
        uint64_t tail;
    } newer;
    svit_session *out = NULL;
    OK(svit_session_config_init(&newer.config, sizeof newer));
    ck_assert_uint_eq(newer.config.struct_size, sizeof newer);
    ck_assert_uint_eq(newer.tail, 0);
    newer.config.max_batch = 1;
    OK(svit_session_create(&out, model, &newer.config, &err));
    svit_session_free(out);
    newer.tail = 1;
    FAILS(SVIT_E_VERSION, "does not know", svit_session_create(&out, model, &newer.config, &err));
    ck_assert_int_eq(svit_session_config_init(NULL, sizeof newer), SVIT_E_ARGUMENT);
    ck_assert_int_eq(svit_session_config_init(&newer.config, 3), SVIT_E_ARGUMENT);
}
END_TEST

/* A later version may use the place of `reserved` for a new field, so a value other than 0 is an
 * error. */
START_TEST(test_a_reserved_field_that_is_set_is_refused)
{
    svit_session_config session_config;
    svit_optimizer_config optimizer_config;
    svit_session *no_session = NULL;
    svit_optimizer *no_optimizer = NULL;
    double rate = 7;
    OK(svit_session_config_init(&session_config, sizeof session_config));
    OK(svit_optimizer_config_init(&optimizer_config, sizeof optimizer_config));
    ck_assert_uint_eq(optimizer_config.reserved, 0);
    session_config.features = 2;
    optimizer_config.reserved = 2;
    FAILS(SVIT_E_ARGUMENT, "features is 2",
          svit_session_create(&no_session, model, &session_config, &err));
    FAILS(SVIT_E_VERSION, "reserved of svit_optimizer_config is 2",
          svit_optimizer_create(&no_optimizer, model, &optimizer_config, &err));
    FAILS(SVIT_E_VERSION, "reserved of svit_optimizer_config is 2",
          svit_learning_rate(&optimizer_config, 0, &rate, &err));
    svit_model_config model_config;
    svit_model *no_model = NULL;
    OK(svit_model_get_config(model, &model_config, sizeof model_config, &err));
    model_config.reserved = 4;
    FAILS(SVIT_E_VERSION, "reserved of svit_model_config is 4",
          svit_model_create(&no_model, context, &model_config, 1, &err));
    ck_assert_ptr_null(no_model);
    ck_assert_ptr_null(no_session);
    ck_assert_ptr_null(no_optimizer);
    ck_assert_double_eq(rate, 7);
}
END_TEST

START_TEST(test_wrong_arguments_of_gradients_are_named)
{
    float gradient[12 * 24 * 4];
    FAILS(SVIT_E_ARGUMENT, "session",
          svit_session_get_gradient(NULL, "head.bias", gradient, 10, &err));
    FAILS(SVIT_E_ARGUMENT, "name", svit_session_get_gradient(session, NULL, gradient, 10, &err));
    FAILS(SVIT_E_ARGUMENT, "out", svit_session_get_gradient(session, "head.bias", NULL, 10, &err));
    FAILS(SVIT_E_ARGUMENT, "'nose'",
          svit_session_get_gradient(session, "nose", gradient, 10, &err));
    FAILS(SVIT_E_ARGUMENT, "elements is 9; head.bias has 10",
          svit_session_get_gradient(session, "head.bias", gradient, 9, &err));
    FAILS(SVIT_E_STATE, "infer",
          svit_session_get_gradient(infers, "head.bias", gradient, 10, &err));
    FAILS(SVIT_E_ARGUMENT, "elements is 11",
          svit_session_set_gradient(session, "head.bias", gradient, 11, &err));
    FAILS(SVIT_E_STATE, "infer", svit_session_zero_gradients(infers, &err));
    FAILS(SVIT_E_ARGUMENT, "session", svit_session_zero_gradients(NULL, &err));
    for (size_t i = 0; i < 10; i++)
        gradient[i] = (float)i;
    OK(svit_session_set_gradient(session, "head.bias", gradient, 10, &err));
    gradient[3] = 0;
    OK(svit_session_get_gradient(session, "head.bias", gradient, 10, &err));
    ck_assert_float_eq(gradient[3], 3);
    still_works();
}
END_TEST

START_TEST(test_wrong_arguments_of_step_are_named)
{
    svit_optimizer *optimizer = NULL;
    OK(svit_optimizer_create(&optimizer, model, NULL, &err));
    FAILS(SVIT_E_ARGUMENT, "optimizer", svit_step(NULL, session, &err));
    FAILS(SVIT_E_ARGUMENT, "session", svit_step(optimizer, NULL, &err));
    FAILS(SVIT_E_STATE, "SVIT_MODE_INFER", svit_step(optimizer, infers, &err));
    float before[10], after[10], gradient[10] = {0};
    gradient[7] = INFINITY;
    OK(svit_model_get_parameter(model, "head.bias", before, 10, &err));
    OK(svit_session_set_gradient(session, "head.bias", gradient, 10, &err));
    FAILS(SVIT_E_NUMERIC, "head.bias", svit_step(optimizer, session, &err));
    OK(svit_model_get_parameter(model, "head.bias", after, 10, &err));
    ck_assert_mem_eq(before, after, sizeof before);
    ck_assert_uint_eq(svit_optimizer_steps(optimizer), 0);
    OK(svit_session_zero_gradients(session, &err));
    still_works();
    OK(svit_step(optimizer, session, &err));
    ck_assert_uint_eq(svit_optimizer_steps(optimizer), 1);
    svit_model_config small;
    svit_model *other = NULL;
    OK(svit_model_get_config(model, &small, sizeof small, &err));
    OK(svit_model_create(&other, context, &small, 1, &err));
    svit_optimizer *foreign = NULL;
    OK(svit_optimizer_create(&foreign, other, NULL, &err));
    FAILS(SVIT_E_ARGUMENT, "model", svit_step(foreign, session, &err));
    svit_optimizer_free(foreign);
    svit_model_free(other);
    svit_optimizer_free(optimizer);
    still_works();
}
END_TEST

static void *refuse(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    (void)bytes;
    (void)alignment;
    return NULL;
}

static void run_in_order(void *user, size_t count, svit_task_function task, void *task_user)
{
    (void)user;
    for (size_t i = 0; i < count; i++)
        task(task_user, i);
}

START_TEST(test_wrong_context_configurations_are_named)
{
    svit_context *out = context;
    svit_context_config config;
    OK(svit_context_config_init(&config, sizeof config));
    FAILS(SVIT_E_ARGUMENT, "out", svit_context_create(NULL, &config, &err));
    config.threads = 1025;
    FAILS(SVIT_E_ARGUMENT, "threads is 1025; 0 (each CPU that affinity and quota leave) to 1024",
          svit_context_create(&out, &config, &err));
    config.threads = 1;
    config.gemm = "abacus";
    FAILS(SVIT_E_ARGUMENT,
          "gemm is 'abacus'; 'tile', 'cblas' and 'amx' are accepted, or none for the",
          svit_context_create(&out, &config, &err));
#ifndef SV_HAVE_AMX
    config.gemm = "amx";
    FAILS(SVIT_E_UNSUPPORTED, "gemm is 'amx'; this build has no AMX",
          svit_context_create(&out, &config, &err));
#endif
    config.gemm = NULL;
    config.pin = 2;
    FAILS(SVIT_E_ARGUMENT, "pin is 2; 0 and 1", svit_context_create(&out, &config, &err));
    config.pin = -1;
    FAILS(SVIT_E_ARGUMENT, "pin is -1", svit_context_create(&out, &config, &err));
    config.pin = 1;
    config.parallel_for = run_in_order;
    FAILS(SVIT_E_ARGUMENT, "parallel_for", svit_context_create(&out, &config, &err));
    config.pin = 0;
    config.parallel_for = NULL;
    config.max_image_pixels = 64000001;
    FAILS(SVIT_E_ARGUMENT, "max_image_pixels is 64000001; 0 (64000000) to 64000000",
          svit_context_create(&out, &config, &err));
    config.max_image_pixels = 0;
    config.allocate = refuse;
    FAILS(SVIT_E_ARGUMENT, "release", svit_context_create(&out, &config, &err));
    ck_assert_ptr_eq(out, context);
    char text[1024], one[1];
    size_t needed;
    OK(svit_context_describe(context, NULL, 0, &needed, &err));
    ck_assert_uint_lt(needed, sizeof text);
    OK(svit_context_describe(context, text, sizeof text, &needed, &err));
    ck_assert_uint_eq(strlen(text) + 1, needed);
    ck_assert_ptr_nonnull(
        strstr(text, HAS_CBLAS ? "\"gemms\":[\"tile\",\"cblas\"" : "\"gemms\":[\"tile\""));
    ck_assert_int_eq(strstr(text, "\"png\"") != NULL, HAS_PNG);
    ck_assert_ptr_nonnull(strstr(text, "\"gemm_bf16\":\""));
    ck_assert_ptr_nonnull(strstr(text, "\"gemm_int8\":\""));
    FAILS(SVIT_E_ARGUMENT, "capacity is 1", svit_context_describe(context, one, 1, NULL, &err));
    still_works();
}
END_TEST

START_TEST(test_every_status_has_a_name_and_a_constant)
{
    int64_t value = 99;
    ck_assert_str_eq(svit_status_name(SVIT_E_NUMERIC), "SVIT_E_NUMERIC");
    ck_assert_str_eq(svit_status_name(INT32_MIN), "SVIT_E_?");
    OK(svit_constant("SVIT_E_IO", &value, &err));
    ck_assert_int_eq(value, SVIT_E_IO);
    FAILS(SVIT_E_ARGUMENT, "SVIT_NOTHING", svit_constant("SVIT_NOTHING", &value, &err));
    ck_assert_str_eq(svit_constant_name(0), "SVIT_OK");
    ck_assert_ptr_null(svit_constant_name(SIZE_MAX));
    ck_assert_uint_eq(svit_version_number(), SVIT_VERSION_NUMBER);
    svit_error uninitialised = {.struct_size = 0};
    ck_assert_int_eq(svit_error_set(&uninitialised, SVIT_E_IO, "text"), SVIT_E_IO);
    ck_assert_str_eq(uninitialised.message, "text");
    ck_assert_int_eq(svit_error_set(NULL, SVIT_E_IO, NULL), SVIT_E_IO);
}
END_TEST

START_TEST(test_null_handles_are_freed_and_counted_as_nothing)
{
    svit_context_free(NULL);
    svit_model_free(NULL);
    svit_session_free(NULL);
    svit_optimizer_free(NULL);
    svit_dataset_free(NULL);
    svit_loader_free(NULL);
    svit_predictor_free(NULL);
    svit_trainer_free(NULL);
    svit_checkpoint_free(NULL);
    svit_image_free(NULL);
    ck_assert_uint_eq(svit_context_threads(NULL), 0);
    ck_assert_uint_eq(svit_session_memory(NULL), 0);
    ck_assert_uint_eq(svit_model_parameter_elements(NULL), 0);
    ck_assert_uint_eq(svit_dataset_count(NULL), 0);
}
END_TEST

static Suite *misuse_suite(void)
{
    Suite *suite = suite_create("misuse");
    TCase *all = tcase_create("arguments");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, test_wrong_arguments_of_forward_are_named);
    tcase_add_test(all, test_wrong_arguments_of_backward_are_named);
    tcase_add_test(all, test_wrong_session_configurations_are_named);
    tcase_add_test(all, test_a_longer_struct_is_accepted_if_its_tail_is_zero);
    tcase_add_test(all, test_a_reserved_field_that_is_set_is_refused);
    tcase_add_test(all, test_wrong_arguments_of_gradients_are_named);
    tcase_add_test(all, test_wrong_arguments_of_step_are_named);
    tcase_add_test(all, test_wrong_context_configurations_are_named);
    tcase_add_test(all, test_every_status_has_a_name_and_a_constant);
    tcase_add_test(all, test_null_handles_are_freed_and_counted_as_nothing);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(misuse_suite)
