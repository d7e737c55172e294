/* Checks that what asks a handle answers 0 or NULL for NULL, and that what frees takes it. */
#include "fit.h"

START_TEST(test_no_handle_has_no_numbers)
{
    const uint64_t numbers[] = {
        svit_context_threads(NULL),
        svit_dataset_channels(NULL),
        svit_dataset_classes(NULL),
        svit_dataset_count(NULL),
        svit_dataset_height(NULL),
        svit_dataset_width(NULL),
        (uint64_t)svit_dataset_has_targets(NULL),
        (uint64_t)svit_dataset_is_f32(NULL),
        svit_extractor_channels(NULL),
        svit_features_channels(NULL),
        svit_features_classes(NULL),
        svit_features_count(NULL),
        (uint64_t)svit_folder_lock_has(NULL, "name"),
        svit_image_channels(NULL),
        svit_image_height(NULL),
        svit_image_width(NULL),
        svit_loader_batches(NULL),
        (uint64_t)svit_loader_has_targets(NULL),
        svit_loader_height(NULL),
        svit_loader_width(NULL),
        (uint64_t)svit_model_output(NULL),
        (uint64_t)svit_model_threshold(NULL),
        svit_model_parameter_count(NULL),
        svit_model_parameter_elements(NULL),
        svit_optimizer_steps(NULL),
        svit_predictor_channels(NULL),
        svit_predictor_classes(NULL),
        (uint64_t)svit_predictor_output(NULL),
        svit_session_counter(NULL),
        svit_session_input_size(NULL),
        svit_session_memory(NULL),
        svit_trainer_history_count(NULL),
        (uint64_t)svit_trainer_stop_value(NULL),
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        ck_assert_msg(numbers[i] == 0, "number %zu is %llu", i, (unsigned long long)numbers[i]);
}
END_TEST

START_TEST(test_no_handle_has_nothing_to_point_to)
{
    const void *const pointers[] = {
        svit_checkpoint_value(NULL, "key"), svit_context_allocate(NULL, 1),
        svit_context_retain(NULL),          svit_dataset_class_name(NULL, 0),
        svit_features_class_name(NULL, 0),  svit_features_labels(NULL),
        svit_features_layer(NULL),          svit_features_model(NULL),
        svit_features_values(NULL),         svit_image_pixels(NULL),
        svit_model_class_name(NULL, 0),     svit_model_text_class_name(NULL, 0),
        svit_model_parameter_name(NULL, 0), svit_predictor_class_name(NULL, 0),
        svit_session_layer_name(NULL, 0),   svit_trainer_optimizer(NULL),
    };
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++)
        ck_assert_msg(!pointers[i], "pointer %zu is not NULL", i);
}
END_TEST

START_TEST(test_no_handle_is_freed)
{
    svit_checkpoint_free(NULL);
    svit_context_free(NULL);
    svit_dataset_free(NULL);
    svit_extractor_free(NULL);
    svit_features_free(NULL);
    svit_folder_lock_free(NULL);
    svit_image_free(NULL);
    svit_loader_free(NULL);
    svit_model_free(NULL);
    svit_optimizer_free(NULL);
    svit_predictor_free(NULL);
    svit_session_free(NULL);
    svit_trainer_free(NULL);
    svit_context_log(NULL, SVIT_LOG_WARNING, "message");
    svit_context_release(NULL, NULL, 0);
}
END_TEST

/* Of a context's allocator a program may take memory itself. */
START_TEST(test_a_context_lends_its_allocator_and_its_log)
{
    svit_context *context = fit_context(1);
    void *memory = svit_context_allocate(context, 1000);
    ck_assert_ptr_nonnull(memory);
    ck_assert_uint_eq((uintptr_t)memory % 64, 0);
    memset(memory, 1, 1000);
    svit_context_release(context, memory, 1000);
    svit_context_log(context, SVIT_LOG_WARNING, "nobody listens");
    svit_context_log(context, SVIT_LOG_WARNING, NULL);
    svit_context_free(context);
}
END_TEST

static void count_message(void *user, int32_t level, const char *message)
{
    ck_assert_int_eq(level, SVIT_LOG_WARNING);
    ck_assert_str_eq(message, "heard");
    ++*(int *)user;
}

START_TEST(test_a_message_that_is_null_is_not_heard)
{
    int count = 0;
    const svit_context_config config = {
        .struct_size = sizeof config, .threads = 1, .log = count_message, .log_user = &count};
    svit_context *context = NULL;
    WORKS(svit_context_create(&context, &config, err));
    svit_context_log(context, SVIT_LOG_WARNING, NULL);
    ck_assert_int_eq(count, 0);
    svit_context_log(context, SVIT_LOG_WARNING, "heard");
    ck_assert_int_eq(count, 1);
    svit_context_free(context);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("null_handles");
    TCase *c = tcase_create("null_handles");
    tcase_add_test(c, test_no_handle_has_no_numbers);
    tcase_add_test(c, test_no_handle_has_nothing_to_point_to);
    tcase_add_test(c, test_no_handle_is_freed);
    tcase_add_test(c, test_a_context_lends_its_allocator_and_its_log);
    tcase_add_test(c, test_a_message_that_is_null_is_not_heard);
    suite_add_tcase(s, c);
    return s;
}

TEST_MAIN(suite)
