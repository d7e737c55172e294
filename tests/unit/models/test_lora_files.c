/* Adapters of LoRA: merged in memory and in files, and kept in checkpoints. */
#include "test_lora_support.h"

/* A model with adapters has the logits of one whose weights have the products by hand, and so has
 * the merged one and what is written to files. */
START_TEST(test_adapters_merged_by_hand_and_by_the_library_agree)
{
    svit_model *model = open_model(MODELS[_i]), *plain = open_model(MODELS[_i]), *read = NULL;
    float wanted[N * CLASSES], got[N * CLASSES], before[N * CLASSES];
    infer(model, before, N);
    WORKS(svit_model_add_lora(model, RANK, ALPHA, 11, err));
    shake(model, ".lora_", 0.2f);
    for (size_t i = 0; i < svit_model_parameter_count(model); i++)
        if (ends_with(svit_model_parameter_name(model, i), ".lora_a"))
            add_by_hand(plain, model, svit_model_parameter_name(model, i));
    infer(plain, wanted, N);
    infer(model, got, N);
    float moved = 0;
    for (size_t i = 0; i < N * CLASSES; i++)
        moved = fmaxf(moved, fabsf(wanted[i] - before[i]));
    ck_assert_float_gt(moved, 0.01f);
    check_near(got, wanted);

    const char *path = fit_path(&folder, "model.safetensors");
    WORKS(svit_model_save(model, path, err));
    WORKS(svit_model_load(&read, context, path, err));
    ck_assert_uint_eq(svit_model_parameter_count(read), svit_model_parameter_count(plain));
    infer(read, got, N);
    check_near(got, wanted);
    svit_model_free(read);
    size_t needed = 0;
    svit_model_save_memory(model, NULL, 0, &needed, NULL);
    char *bytes = malloc(needed);
    WORKS(svit_model_save_memory(model, bytes, needed, &needed, err));
    WORKS(svit_model_load_memory(&read, context, bytes, needed, err));
    infer(read, got, N);
    check_near(got, wanted);
    free(bytes);

    svit_session *session = open_session(model, SVIT_MODE_INFER, 1);
    FAILS(svit_model_merge_lora(model, err), SVIT_E_STATE, "adapters are merged");
    svit_session_free(session);
    WORKS(svit_model_merge_lora(model, err));
    ck_assert(fit_same(model, read));
    FAILS(svit_model_merge_lora(model, err), SVIT_E_STATE, "no adapters");
    infer(model, got, N);
    check_near(got, wanted);
    int32_t trainable;
    WORKS(svit_model_get_trainable(model, svit_model_parameter_name(model, 0), &trainable, err));
    ck_assert_int_eq(trainable, 0);
    svit_model_free(read);
    svit_model_free(plain);
    svit_model_free(model);
}
END_TEST

static svit_status save_timm(const svit_model *model, const char *path, svit_error *error)
{
    return svit_model_save_mapped(model, path, "timm", error);
}

static svit_status save_onnx(const svit_model *model, const char *path, svit_error *error)
{
    return svit_model_export_onnx(model, path, NULL, error);
}

/* Fails the test unless both files have the same bytes. */
static void check_same_files(const char *a, const char *b)
{
    size_t n, m;
    char *x = fit_read(a, &n), *y = fit_read(b, &m);
    ck_assert_uint_eq(n, m);
    ck_assert_mem_eq(x, y, n);
    free(x);
    free(y);
}

/* Every kind of file is that of the merged model, and the model keeps its adapters. */
START_TEST(test_files_have_the_adapters_merged)
{
    enum { FILES = 4 };
    char paths[2][FILES][160];
    svit_model *model = open_model(MODELS[1]);
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    WORKS(svit_model_add_lora(model, RANK, ALPHA, 11, err));
    WORKS(svit_model_set_classes(model, names, CLASSES, err));
    WORKS(svit_model_set_output(model, SVIT_OUTPUT_SIGMOID, err));
    shake(model, ".lora_", 0.2f);
    float *before = fit_weights(model, NULL);
    const size_t bytes = svit_model_parameter_elements(model) * sizeof *before;
    for (int merged = 0; merged < 2; merged++) {
        for (int i = 0; i < FILES; i++)
            snprintf(paths[merged][i], sizeof paths[merged][i], "%s",
                     fit_path(&folder, names[merged * FILES + i]));
        if (merged) {
            float *after = fit_weights(model, NULL);
            ck_assert_mem_eq(before, after, bytes);
            free(after);
            WORKS(svit_model_merge_lora(model, err));
        }
        WORKS(svit_model_save(model, paths[merged][0], err));
        WORKS(svit_model_save_as(model, paths[merged][1], SVIT_DTYPE_I8, err));
        WORKS(svit_model_save_mapped(model, paths[merged][2], "timm", err));
        WORKS(svit_model_export_onnx(model, paths[merged][3], NULL, err));
    }
    for (int i = 0; i < FILES; i++) {
        check_same_files(paths[0][i], paths[1][i]);
        remove(paths[0][i]);
        remove(paths[1][i]);
    }
    free(before);
    svit_model_free(model);
}
END_TEST

/* Products that overflow make weights that are not finite. Every kind of file refuses them before
 * it replaces a good one; timm's names and ONNX files got infinities. */
START_TEST(test_files_of_weights_that_are_not_finite_are_refused)
{
    static svit_status (*const writers[])(const svit_model *, const char *,
                                          svit_error *) = {svit_model_save, save_timm, save_onnx};
    static const char good[] = "a good file";
    svit_model *model = open_model(MODELS[1]);
    const char *path = fit_path(&folder, "model");
    WORKS(svit_model_add_lora(model, RANK, ALPHA, 11, err));
    shake(model, ".lora_", 1e30f);
    fit_write(path, good, sizeof good);
    FAILS(writers[_i](model, path, err), SVIT_E_NUMERIC, "an element of 'blocks.0.attn.");
    size_t bytes;
    char *after = fit_read(path, &bytes);
    ck_assert_uint_eq(bytes, sizeof good);
    ck_assert_mem_eq(after, good, sizeof good);
    free(after);
    remove(path);
    svit_model_free(model);
}
END_TEST

/* A checkpoint has the adapters, loads as a model with them, and resumes to the same bits. */
START_TEST(test_a_resumed_training_has_the_same_bits)
{
    svit_model *model = open_model(MODELS[_i]), *resumed = NULL;
    const char *path = fit_path(&folder, "checkpoint.safetensors");
    WORKS(svit_model_add_lora(model, RANK, ALPHA, 11, err));
    svit_session *session = open_session(model, SVIT_MODE_TRAIN, N);
    svit_optimizer *optimizer = open_optimizer(model);
    train(model, session, optimizer, 2);
    WORKS(svit_checkpoint_save(path, model, optimizer, session, NULL, NULL, 0, err));
    train(model, session, optimizer, 2);

    svit_checkpoint *checkpoint = NULL;
    WORKS(svit_model_load(&resumed, context, path, err));
    ck_assert_uint_eq(svit_model_parameter_count(resumed), svit_model_parameter_count(model));
    WORKS(svit_checkpoint_open(&checkpoint, context, path, err));
    WORKS(svit_checkpoint_restore(checkpoint, resumed, NULL, NULL, err));
    svit_session *late = open_session(resumed, SVIT_MODE_TRAIN, N);
    svit_optimizer *other = open_optimizer(resumed);
    WORKS(svit_checkpoint_restore(checkpoint, resumed, other, late, err));
    svit_checkpoint_free(checkpoint);
    train(resumed, late, other, 2);
    ck_assert(fit_same(model, resumed));
    svit_optimizer_free(other);
    svit_session_free(late);
    svit_model_free(resumed);
    svit_optimizer_free(optimizer);
    svit_session_free(session);
    svit_model_free(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("LoRA in files");
    TCase *c = tcase_create("LoRA in files");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_adapters_merged_by_hand_and_by_the_library_agree, 0, MODEL_COUNT);
    tcase_add_loop_test(c, test_a_resumed_training_has_the_same_bits, 0, MODEL_COUNT);
    tcase_add_test(c, test_files_have_the_adapters_merged);
    tcase_add_loop_test(c, test_files_of_weights_that_are_not_finite_are_refused, 0, 3);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
