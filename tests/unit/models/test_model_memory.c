/* Checks models in memory: their bytes are those of files, and every damage is answered as in a
 * file. */
#include "test_parameters_support.h"

#include "models/model.h"

#include <limits.h>
#include <math.h>

/* A model with all that a file can have, saved at `path`. */
static svit_model *saved_model(void)
{
    svit_model *model = fit_model(context, 3, 9);
    const char *names[] = {"cat", "d\xc3\xb6g", "\"quoted\""};
    svit_pipeline_config pipeline;
    WORKS(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    pipeline.source_height = pipeline.source_width = 8;
    pipeline.resize_height = pipeline.resize_width = 8;
    pipeline.output_height = pipeline.output_width = 8;
    WORKS(svit_model_set_classes(model, names, 3, err));
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    WORKS(svit_model_save(model, path, err));
    return model;
}

START_TEST(test_a_model_in_memory_has_the_bytes_of_its_file_and_loads)
{
    svit_model *model = saved_model(), *back = NULL;
    size_t bytes, needed = 0;
    char *file = fit_read(path, &bytes), *memory = malloc(bytes);
    WORKS(svit_model_save_memory(model, NULL, 0, &needed, err));
    ck_assert_uint_eq(needed, bytes);
    memset(memory, 7, bytes);
    needed = 0;
    FAILS(svit_model_save_memory(model, memory, bytes - 1, &needed, err), SVIT_E_ARGUMENT,
          "the model in memory needs ");
    ck_assert_uint_eq(needed, bytes);
    for (size_t i = 0; i < bytes; i++)
        ck_assert_int_eq(memory[i], 7);
    WORKS(svit_model_save_memory(model, memory, bytes, NULL, err));
    ck_assert_mem_eq(memory, file, bytes);
    WORKS(svit_model_load_memory(&back, context, memory, bytes, err));
    memset(memory, 0, bytes);
    free(memory);
    ck_assert(fit_same(model, back));
    ck_assert_str_eq(svit_model_class_name(back, 1), "d\xc3\xb6g");
    memory = malloc(bytes);
    WORKS(svit_model_save_memory(back, memory, bytes, &needed, err));
    ck_assert_mem_eq(memory, file, bytes);
    free(memory);
    free(file);
    svit_model_free(model);
    svit_model_free(back);
}
END_TEST

/* Loads the same bytes from a file and from memory. Status and message are the same but for the
 * name, and a model that loads has the same weights. Returns whether it loads. */
static int check_alike(const char *bytes, size_t count)
{
    svit_model *of_file = NULL, *of_memory = NULL;
    svit_error file_error = {.struct_size = sizeof file_error}, memory_error = file_error;
    char wanted[sizeof file_error.message], *copy = malloc(count ? count : 1);
    fit_write(path, bytes, count);
    memcpy(copy, bytes, count);
    svit_status status = svit_model_load(&of_file, context, path, &file_error);
    ck_assert_int_eq(svit_model_load_memory(&of_memory, context, copy, count, &memory_error),
                     status);
    free(copy);
    if (status == SVIT_OK) {
        ck_assert(fit_same(of_file, of_memory));
    } else if (strncmp(file_error.message, path, strlen(path)) == 0 &&
               strlen(file_error.message) + 1 < sizeof wanted) {
        snprintf(wanted, sizeof wanted, "the model in memory%s", file_error.message + strlen(path));
        ck_assert_str_eq(memory_error.message, wanted);
    }
    svit_model_free(of_file);
    svit_model_free(of_memory);
    return status == SVIT_OK;
}

/* The length of the header in the first bytes of a file. */
static size_t header_bytes(const char *file)
{
    size_t length = 0;
    for (int i = 7; i >= 0; i--)
        length = length << CHAR_BIT | (unsigned char)file[i];
    return 8 + length;
}

START_TEST(test_cuts_are_refused_in_memory_too)
{
    size_t bytes;
    svit_model_free(saved_model());
    char *file = fit_read(path, &bytes);
    size_t header = header_bytes(file);
    for (size_t cut = 0; cut < bytes; cut += cut < header ? 11 : 509)
        ck_assert_msg(!check_alike(file, cut), "%zu of %zu bytes load", cut, bytes);
    ck_assert(!check_alike(file, bytes - 1));
    ck_assert(check_alike(file, bytes));
    free(file);
}
END_TEST

/* Bytes of the header become others, one at a time. */
START_TEST(test_a_changed_byte_of_a_header_is_answered_as_in_a_file)
{
    static const char others[] = {'\0', '9', '"', '{', (char)0xff};
    size_t bytes, loaded = 0;
    svit_model_free(saved_model());
    char *file = fit_read(path, &bytes);
    size_t header = header_bytes(file);
    for (size_t at = 0; at < header; at += 7) {
        char before = file[at];
        file[at] = others[at % sizeof others];
        loaded += (size_t)check_alike(file, bytes);
        file[at] = before;
    }
    ck_assert_uint_lt(loaded, header / 28);
    free(file);
}
END_TEST

START_TEST(test_a_weight_that_is_not_finite_is_named_without_a_path)
{
    static const unsigned char nan_bytes[4] = {0, 0, 0xc0, 0x7f};
    size_t bytes;
    svit_model *back = NULL;
    svit_model_free(saved_model());
    char *file = fit_read(path, &bytes);
    memcpy(file + bytes - 4, nan_bytes, sizeof nan_bytes);
    FAILS(svit_model_load_memory(&back, context, file, bytes, err), SVIT_E_FORMAT,
          "the model in memory: element ");
    ck_assert_ptr_null(back);
    free(file);
}
END_TEST

START_TEST(test_a_predictor_from_memory_predicts_as_one_from_the_file)
{
    uint8_t image[8 * 8 * 3];
    float wanted[3], got[3];
    size_t bytes;
    svit_predictor *predictor = NULL;
    svit_model *model = saved_model(), *bare = fit_model(context, 3, 1);
    char *file = fit_read(path, &bytes);
    for (size_t i = 0; i < sizeof image; i++)
        image[i] = (uint8_t)(i * i % 251);
    WORKS(svit_predictor_create(&predictor, context, path, NULL, err));
    WORKS(svit_predict_u8(predictor, image, 1, 8, 8, wanted, err));
    svit_predictor_free(predictor);
    WORKS(svit_predictor_create_from_memory(&predictor, context, file, bytes, NULL, err));
    memset(file, 0, bytes);
    free(file);
    WORKS(svit_predict_u8(predictor, image, 1, 8, 8, got, err));
    ck_assert_mem_eq(got, wanted, sizeof got);
    ck_assert_str_eq(svit_predictor_class_name(predictor, 0), "cat");
    svit_predictor_free(predictor);

    predictor = NULL;
    WORKS(svit_model_save(bare, path, err));
    file = fit_read(path, &bytes);
    FAILS(svit_predictor_create_from_memory(&predictor, context, file, bytes, NULL, err),
          SVIT_E_ARGUMENT, "the model in memory has no preprocessing");
    FAILS(svit_predictor_create_from_memory(&predictor, context, file, bytes - 1, NULL, err),
          SVIT_E_FORMAT, "the model in memory: ");
    FAILS(svit_predictor_create_from_memory(&predictor, context, NULL, bytes, NULL, err),
          SVIT_E_ARGUMENT, "data is NULL");
    FAILS(svit_model_load_memory(&bare, context, file, 0, err), SVIT_E_FORMAT,
          "the model in memory: 0 bytes are no safetensors file");
    FAILS(svit_model_load_memory(&bare, context, NULL, 0, err), SVIT_E_ARGUMENT, "data is NULL");
    FAILS(svit_model_save_memory(bare, NULL, 8, NULL, err), SVIT_E_ARGUMENT, "buffer is NULL");
    ck_assert_ptr_null(predictor);
    free(file);
    svit_model_free(bare);
    svit_model_free(model);
}
END_TEST

/* A regression: asking for the number of bytes checked and converted all weights, which took nearly
 * as long as the file itself. */
START_TEST(test_the_number_of_bytes_does_not_depend_on_the_values)
{
    svit_model *model = saved_model();
    size_t bytes, needed = 0;
    free(fit_read(path, &bytes));
    model->weights[0] = NAN;
    char *memory = malloc(bytes);
    WORKS(svit_model_save_memory(model, NULL, 0, &needed, err));
    ck_assert_uint_eq(needed, bytes);
    FAILS(svit_model_save_memory(model, memory, bytes, NULL, err), SVIT_E_NUMERIC,
          "files hold finite numbers");
    free(memory);
    svit_model_free(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("model_memory");
    TCase *c = tcase_create("model_memory");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_a_model_in_memory_has_the_bytes_of_its_file_and_loads);
    tcase_add_test(c, test_cuts_are_refused_in_memory_too);
    tcase_add_test(c, test_a_changed_byte_of_a_header_is_answered_as_in_a_file);
    tcase_add_test(c, test_a_weight_that_is_not_finite_is_named_without_a_path);
    tcase_add_test(c, test_the_number_of_bytes_does_not_depend_on_the_values);
    tcase_add_test(c, test_a_predictor_from_memory_predicts_as_one_from_the_file);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
