/* Checks what predictors make of logits: softmax, sigmoid or the logits, by their configuration or
 * by the model's file; and images that come as the bytes of a file. */
#include "build.h"
#include "fit.h"

#include <float.h>
#include <math.h>

enum { CLASSES = 4, SIDE = 8, COUNT = 3 };

static svit_context *context;
static fit_folder folder;
static svit_model *model;
static uint8_t images[COUNT * SIDE * SIDE * 3];
static float logits[COUNT * CLASSES];

/* All predictors have one largest batch: matmuls of few rows may round otherwise. */
static svit_predictor_config predictor_config(int32_t output)
{
    svit_predictor_config config;
    WORKS(svit_predictor_config_init(&config, sizeof config));
    ck_assert_int_eq(config.output, SVIT_OUTPUT_AUTO);
    config.output = output;
    config.max_batch = 2;
    return config;
}

static svit_predictor *predictor_make(int32_t output)
{
    const svit_predictor_config config = predictor_config(output);
    svit_predictor *predictor = NULL;
    WORKS(svit_predictor_create_from_model(&predictor, model, &config, err));
    return predictor;
}

static void predict(float out[COUNT * CLASSES], int32_t output)
{
    svit_predictor *predictor = predictor_make(output);
    WORKS(svit_predict_u8(predictor, images, COUNT, SIDE, SIDE, out, err));
    svit_predictor_free(predictor);
}

static void setup(void)
{
    static const float bias[CLASSES] = {-3, 0.5f, 200, -200};
    svit_pipeline_config pipeline;
    context = fit_context(2);
    folder = fit_folder_make();
    model = fit_model(context, CLASSES, 1);
    for (size_t i = 0; i < sizeof images; i++)
        images[i] = (uint8_t)(i * i % 251);
    WORKS(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    pipeline.source_height = pipeline.source_width = SIDE;
    pipeline.resize_height = pipeline.resize_width = SIDE;
    pipeline.output_height = pipeline.output_width = SIDE;
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    WORKS(svit_model_set_parameter(model, "head.bias", bias, CLASSES, err));
    predict(logits, SVIT_OUTPUT_LOGITS);
}

static void teardown(void)
{
    svit_model_free(model);
    svit_context_free(context);
    fit_folder_remove(&folder);
}

/* The output that `kind` makes of the logits, computed in double precision. */
static void expect(float wanted[COUNT * CLASSES], int32_t kind)
{
    for (size_t i = 0; i < COUNT * CLASSES; i++) {
        const float *row = logits + i / CLASSES * CLASSES;
        double sum = 0, z = logits[i];
        for (size_t k = 0; k < CLASSES; k++)
            sum += exp((double)row[k] - z);
        wanted[i] = kind == SVIT_OUTPUT_SOFTMAX   ? (float)(1 / sum)
                    : kind == SVIT_OUTPUT_SIGMOID ? (float)(1 / (1 + exp(-z)))
                                                  : logits[i];
    }
}

START_TEST(test_each_output_is_made_by_configuration_and_by_the_models_file)
{
    float wanted[COUNT * CLASSES], got[COUNT * CLASSES];
    const char *path = fit_path(&folder, "model.safetensors");
    const svit_predictor_config automatic = predictor_config(SVIT_OUTPUT_AUTO);
    ck_assert_float_gt(logits[2], 150);
    ck_assert_float_lt(logits[3], -150);
    for (int32_t kind = SVIT_OUTPUT_SOFTMAX; kind <= SVIT_OUTPUT_LOGITS; kind++) {
        svit_predictor *predictor = NULL;
        expect(wanted, kind);
        WORKS(svit_model_set_output(model, SVIT_OUTPUT_AUTO, err));
        predict(got, kind);
        for (size_t i = 0; i < COUNT * CLASSES; i++)
            ck_assert_float_le(fabsf(got[i] - wanted[i]), 2e-7f * fabsf(wanted[i]));
        WORKS(svit_model_set_output(model, kind, err));
        WORKS(svit_model_save(model, path, err));
        WORKS(svit_predictor_create(&predictor, context, path, &automatic, err));
        ck_assert_int_eq(svit_predictor_output(predictor), kind);
        WORKS(svit_predict_u8(predictor, images, COUNT, SIDE, SIDE, wanted, err));
        ck_assert_mem_eq(got, wanted, sizeof got);
        svit_predictor_free(predictor);
    }
    /* The configuration is stronger than the model, which says logits now. */
    predict(got, SVIT_OUTPUT_SOFTMAX);
    expect(wanted, SVIT_OUTPUT_SOFTMAX);
    ck_assert_float_eq_tol(got[2], wanted[2], 1e-7f);
}
END_TEST

/* Whether the file has this text in its first kilobytes. */
static int file_has(const char *path, const char *text)
{
    size_t bytes;
    char *file = fit_read(path, &bytes);
    int found = 0;
    for (size_t i = 0; !found && i + strlen(text) <= bytes; i++)
        found = memcmp(file + i, text, strlen(text)) == 0;
    free(file);
    return found;
}

START_TEST(test_the_models_output_is_kept_by_files_and_checkpoints)
{
    const char *path = fit_path(&folder, "model.safetensors"),
               *checkpoint = fit_path(&folder, "checkpoint.safetensors");
    ck_assert_int_eq(svit_model_output(model), SVIT_OUTPUT_SOFTMAX);
    WORKS(svit_model_save(model, path, err));
    ck_assert(!file_has(path, "\"output\""));
    for (int32_t kind = SVIT_OUTPUT_SOFTMAX; kind <= SVIT_OUTPUT_LOGITS; kind++) {
        svit_model *back = NULL, *mapped = NULL, *small = NULL;
        WORKS(svit_model_set_output(model, kind, err));
        WORKS(svit_checkpoint_save(checkpoint, model, NULL, NULL, NULL, NULL, 0, err));
        WORKS(svit_model_load(&back, context, checkpoint, err));
        ck_assert_int_eq(svit_model_output(back), kind);
        WORKS(svit_model_save_as(back, path, SVIT_DTYPE_I8, err));
        ck_assert(file_has(path, "\"output\""));
        WORKS(svit_model_load(&small, context, path, err));
        ck_assert_int_eq(svit_model_output(small), kind);
        WORKS(svit_model_map(&mapped, context, checkpoint, err));
        ck_assert_int_eq(svit_model_output(mapped), kind);
        svit_model_free(back);
        svit_model_free(mapped);
        svit_model_free(small);
    }
}
END_TEST

START_TEST(test_an_unknown_output_is_refused)
{
    const char *path = fit_path(&folder, "model.safetensors");
    size_t bytes;
    svit_model *back = NULL;
    svit_predictor *predictor = NULL;
    svit_predictor_config config;
    WORKS(svit_model_set_output(model, SVIT_OUTPUT_SIGMOID, err));
    WORKS(svit_model_save(model, path, err));
    char *file = fit_read(path, &bytes), *at = file + 8;
    while (strncmp(at, "\"sigmoid\"", 9) != 0)
        at++;
    memcpy(at, "\"Sigmoid\"", 9);
    FAILS(svit_model_load_memory(&back, context, file, bytes, err), SVIT_E_FORMAT,
          "the model in memory: output is 'Sigmoid'; 'softmax', 'sigmoid' and 'logits' are known");
    free(file);
    FAILS(svit_model_set_output(model, 4, err), SVIT_E_ARGUMENT, "output is 4");
    FAILS(svit_model_set_output(model, -1, err), SVIT_E_ARGUMENT, "output is -1");
    FAILS(svit_model_set_output(NULL, 1, err), SVIT_E_ARGUMENT, "model is NULL");
    ck_assert_int_eq(svit_model_output(model), SVIT_OUTPUT_SIGMOID);
    ck_assert_int_eq(svit_model_output(NULL), 0);
    ck_assert_int_eq(svit_predictor_output(NULL), 0);
    WORKS(svit_predictor_config_init(&config, sizeof config));
    config.output = 4;
    FAILS(svit_predictor_create_from_model(&predictor, model, &config, err), SVIT_E_ARGUMENT,
          "output is 4; SVIT_OUTPUT_AUTO (0) to SVIT_OUTPUT_LOGITS (3) are accepted");
    ck_assert_ptr_null(predictor);
}
END_TEST

/* Of every logit the sigmoid is finite; the naive forms overflow at one of the two ends, and
 * 1 - 1 / (1 + exp(z)) loses all digits of small values. */
START_TEST(test_the_sigmoid_is_exact_for_logits_of_any_size)
{
    static const struct {
        float z;
        double s;
    } cases[] = {{0, 0.5},
                 {1, 0.7310585786300049},
                 {-1, 0.2689414213699951},
                 {20, 0.9999999979388463},
                 {-20, 2.0611536181902037e-09},
                 {-80, 1.8048513878454153e-35},
                 {1000, 1},
                 {-1000, 0},
                 {FLT_MAX, 1},
                 {-FLT_MAX, 0},
                 {INFINITY, 1},
                 {-INFINITY, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float value = cases[i].z;
        WORKS(svit_sigmoid(&value, 1, 1, &value, err));
        ck_assert_msg(fabs((double)value - cases[i].s) <= 6e-8 * cases[i].s,
                      "sigmoid(%g) is %.9g, not %.9g", (double)cases[i].z, (double)value,
                      cases[i].s);
    }
    float pair[2] = {3, NAN};
    FAILS(svit_sigmoid(pair, 1, 2, pair, err), SVIT_E_NUMERIC, "logits[1] is not a number");
    ck_assert_float_eq(pair[0], 3);
    FAILS(svit_sigmoid(NULL, 1, 2, pair, err), SVIT_E_ARGUMENT, "logits is NULL");
    FAILS(svit_sigmoid(pair, 1, 2, NULL, err), SVIT_E_ARGUMENT, "probabilities is NULL");
    FAILS(svit_sigmoid(pair, 0, 2, pair, err), SVIT_E_ARGUMENT, "");
}
END_TEST

START_TEST(test_encoded_images_are_predicted_as_their_files)
{
    NEEDS(HAS_PNG, "PNG");
    float wanted[CLASSES], got[CLASSES];
    const char *path = fit_path(&folder, "image.png");
    size_t bytes;
    svit_predictor *predictor = predictor_make(SVIT_OUTPUT_LOGITS);
    WORKS(svit_image_write_png(context, path, images, SIDE, SIDE, err));
    WORKS(svit_predict_file(predictor, path, wanted, err));
    ck_assert_mem_eq(wanted, logits, sizeof wanted);
    char *file = fit_read(path, &bytes), *copy = malloc(bytes);
    memcpy(copy, file, bytes);
    WORKS(svit_predict_encoded(predictor, copy, bytes, got, err));
    ck_assert_mem_eq(got, wanted, sizeof got);
    free(copy);
    for (size_t cut = 0; cut < bytes; cut++) {
        copy = malloc(cut ? cut : 1);
        memcpy(copy, file, cut);
        svit_error error = {.struct_size = sizeof error};
        if (svit_predict_encoded(predictor, copy, cut, got, &error) != SVIT_OK) {
            ck_assert_int_eq(error.code, SVIT_E_FORMAT);
            ck_assert_ptr_nonnull(strstr(error.message, "the encoded image"));
        } else {
            ck_assert_uint_ge(cut, bytes - 16); /* only the end mark is missing */
        }
        free(copy);
    }
    FAILS(svit_predict_encoded(predictor, "GIF89a", 6, got, err), SVIT_E_FORMAT,
          "the encoded image");
    FAILS(svit_predict_encoded(predictor, NULL, 0, got, err), SVIT_E_FORMAT, "0 bytes");
    FAILS(svit_predict_encoded(predictor, NULL, 6, got, err), SVIT_E_ARGUMENT, "data is NULL");
    FAILS(svit_predict_encoded(NULL, file, bytes, got, err), SVIT_E_ARGUMENT, "predictor is NULL");
    free(file);
    svit_predictor_free(predictor);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("outputs");
    TCase *c = tcase_create("outputs");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_each_output_is_made_by_configuration_and_by_the_models_file);
    tcase_add_test(c, test_the_models_output_is_kept_by_files_and_checkpoints);
    tcase_add_test(c, test_an_unknown_output_is_refused);
    tcase_add_test(c, test_the_sigmoid_is_exact_for_logits_of_any_size);
    tcase_add_test(c, test_encoded_images_are_predicted_as_their_files);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
