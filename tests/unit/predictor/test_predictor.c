/* Checks that predictors give the probabilities of pipeline, forward and softmax called one by one.
 */
#include "build.h"
#include "fit.h"
#include "ledger.h"
#include "worst.h"

enum { CLASSES = 4, SIDE = 11, COUNT = 5 };

static svit_context *context;
static fit_folder folder;
static svit_model *model;
static uint8_t images[COUNT * SIDE * SIDE * 6];

static void setup(void)
{
    context = fit_context(2);
    folder = fit_folder_make();
    model = fit_model(context, CLASSES, 1);
    for (size_t i = 0; i < sizeof images; i++)
        images[i] = (uint8_t)(i * i % 251);
}

static void teardown(void)
{
    svit_model_free(model);
    svit_context_free(context);
    fit_folder_remove(&folder);
}

static svit_pipeline_config pipeline_make(void)
{
    svit_pipeline_config pipeline;
    WORKS(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    pipeline.source_height = pipeline.source_width = 8;
    pipeline.resize_height = pipeline.resize_width = 10;
    pipeline.output_height = pipeline.output_width = 8;
    return pipeline;
}

static void expect(float out[COUNT * CLASSES], const svit_pipeline_config *pipeline,
                   int32_t compute)
{
    float inputs[COUNT * 10 * 10 * 4];
    size_t height, width;
    WORKS(svit_pipeline_evaluation_size(pipeline, &height, &width, err));
    WORKS(
        svit_pipeline_apply_evaluation(context, pipeline, images, COUNT, SIDE, SIDE, inputs, err));
    svit_session_config config;
    WORKS(svit_session_config_init(&config, sizeof config));
    config.max_batch = COUNT;
    config.compute = compute;
    config.input_height = (uint32_t)height;
    config.input_width = (uint32_t)width;
    svit_session *session = NULL;
    WORKS(svit_session_create(&session, model, &config, err));
    WORKS(svit_forward(session, inputs, COUNT, out, err));
    WORKS(svit_softmax(out, COUNT, CLASSES, out, err));
    svit_session_free(session);
}

START_TEST(test_predictions_equal_pipeline_forward_and_softmax)
{
    NEEDS(HAS_PNG, "PNG");
    svit_pipeline_config pipeline = pipeline_make();
    pipeline.evaluation = _i ? SVIT_EVALUATE_KEEP : SVIT_EVALUATE_RESIZE;
    const char *names[CLASSES] = {"a", "b", "c", "d"},
               *path = fit_path(&folder, "model.safetensors");
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    WORKS(svit_model_set_classes(model, names, CLASSES, err));
    WORKS(svit_model_save(model, path, err));
    svit_predictor_config config;
    WORKS(svit_predictor_config_init(&config, sizeof config));
    config.max_batch = 2;
    svit_predictor *predictor = NULL;
    WORKS(svit_predictor_create(&predictor, context, path, &config, err));
    float wanted[COUNT * CLASSES], got[COUNT * CLASSES];
    expect(wanted, &pipeline, SVIT_COMPUTE_F32);
    WORKS(svit_predict_u8(predictor, images, COUNT, SIDE, SIDE, got, err));
    for (size_t i = 0; i < COUNT * CLASSES; i++)
        ck_assert_float_eq_tol(got[i], wanted[i], 1e-6f);
    ck_assert_uint_eq(svit_predictor_classes(predictor), CLASSES);
    ck_assert_uint_eq(svit_predictor_channels(predictor), 3);
    ck_assert_str_eq(svit_predictor_class_name(predictor, 3), "d");
    ck_assert_ptr_null(svit_predictor_class_name(predictor, 4));

    const char *image = fit_path(&folder, "image.png");
    WORKS(svit_image_write_png(context, image, images, SIDE, SIDE, err));
    WORKS(svit_predict_file(predictor, image, got, err));
    for (size_t i = 0; i < CLASSES; i++)
        ck_assert_float_eq_tol(got[i], wanted[i], 1e-6f);
    svit_predictor_free(predictor);
}
END_TEST

/* Sets random weights; with the initial ones all classes are almost equal. */
static void draw_weights(void)
{
    uint32_t random = 1;
    const char *name;
    for (size_t i = 0; (name = svit_model_parameter_name(model, i)) != NULL; i++) {
        size_t elements = fit_elements(model, name);
        float *values = malloc(elements * sizeof *values);
        for (size_t e = 0; e < elements; e++) {
            random = random * 1664525u + 1013904223u;
            values[e] = (float)(random >> 8) / (1 << 24) - 0.5f;
        }
        WORKS(svit_model_set_parameter(model, name, values, elements, err));
        free(values);
    }
}

/* int8 changes a probability by a few thousandths, but it does change it. */
START_TEST(test_narrow_types_are_near_float32)
{
    svit_pipeline_config pipeline = pipeline_make();
    svit_predictor_config config;
    svit_predictor *predictor = NULL;
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    WORKS(svit_predictor_config_init(&config, sizeof config));
    ck_assert_int_eq(config.compute, SVIT_COMPUTE_F32);
    config.compute = _i;
    WORKS(svit_predictor_create_from_model(&predictor, model, &config, err));
    draw_weights();
    float exact[COUNT * CLASSES], wanted[COUNT * CLASSES], got[COUNT * CLASSES];
    double most = 0;
    expect(exact, &pipeline, SVIT_COMPUTE_F32);
    expect(wanted, &pipeline, _i);
    WORKS(svit_predict_u8(predictor, images, COUNT, SIDE, SIDE, got, err));
    for (size_t i = 0; i < COUNT * CLASSES; i++) {
        ck_assert_float_eq_tol(got[i], wanted[i], 1e-6f);
        most = worst_of(most, fabs((double)got[i] - exact[i]));
    }
    ck_assert_double_gt(most, 0);
    ck_assert_double_lt(most, 0.01);
    svit_predictor_free(predictor);
}
END_TEST

/* With such a scale black stays 0 and everything else overflows in the network. Half of the
 * channels do not shift, so the logits of a last feature map of 1x1 depend on the image. */
START_TEST(test_an_image_that_overflows_is_named_whatever_its_turn)
{
    svit_model_config shape = fit_model_config(CLASSES);
    shape.num_div = 8;
    svit_model_free(model);
    WORKS(svit_model_create(&model, context, &shape, 1, err));
    draw_weights();
    svit_pipeline_config pipeline = pipeline_make();
    pipeline.scale = 6e35;
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    svit_predictor_config config;
    WORKS(svit_predictor_config_init(&config, sizeof config));
    config.max_batch = 2;
    svit_predictor *predictor = NULL;
    WORKS(svit_predictor_create_from_model(&predictor, model, &config, err));
    float out[COUNT * CLASSES];
    memset(images, 0, sizeof images);
    WORKS(svit_predict_u8(predictor, images, COUNT, SIDE, SIDE, out, err));
    memset(images + 3 * SIDE * SIDE * 3, 255, SIDE * SIDE * 3);
    FAILS(svit_predict_u8(predictor, images, COUNT, SIDE, SIDE, out, err), SVIT_E_NUMERIC,
          "image 3 has the logit ");
    memset(images, 0, sizeof images);
    WORKS(svit_predict_u8(predictor, images, COUNT, SIDE, SIDE, out, err));
    svit_predictor_free(predictor);
}
END_TEST

/* Replaces the model by one of images of that many channels. */
static void use_channels(uint32_t channels)
{
    svit_model_config config = fit_model_config(CLASSES);
    config.in_channels = channels;
    svit_model_free(model);
    WORKS(svit_model_create(&model, context, &config, 1, err));
    draw_weights();
}

START_TEST(test_predictors_of_any_channels_from_bytes_floats_and_files)
{
    NEEDS(HAS_PNG, "PNG");
    static const uint32_t CHANNELS[] = {1, 3, 4, 2, 6};
    const uint32_t channels = CHANNELS[_i];
    const int is_of_files = _i < 3;
    static float floats[sizeof images];
    float wanted[COUNT * CLASSES], got[COUNT * CLASSES];
    svit_pipeline_config pipeline = pipeline_make();
    svit_predictor_config config;
    svit_predictor *predictor = NULL;
    svit_image *image = NULL;
    const char *path = fit_path(&folder, "image.png");
    use_channels(channels);
    pipeline.channels = channels;
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    WORKS(svit_predictor_config_init(&config, sizeof config));
    config.max_batch = 2;
    WORKS(svit_predictor_create_from_model(&predictor, model, &config, err));
    expect(wanted, &pipeline, SVIT_COMPUTE_F32);
    WORKS(svit_predict_u8(predictor, images, COUNT, SIDE, SIDE, got, err));
    for (size_t i = 0; i < COUNT * CLASSES; i++)
        ck_assert_float_eq_tol(got[i], wanted[i], 1e-6f);
    for (size_t i = 0; i < sizeof images; i++)
        floats[i] = images[i];
    WORKS(svit_predict_f32(predictor, floats, COUNT, SIDE, SIDE, wanted, err));
    ck_assert_mem_eq(got, wanted, sizeof got);
    floats[3 * SIDE * SIDE * channels + 5] = NAN;
    FAILS(svit_predict_f32(predictor, floats, COUNT, SIDE, SIDE, got, err), SVIT_E_ARGUMENT,
          "svit_predict_f32: image 3 has the value nan");
    WORKS(svit_predict_f32(predictor, floats, 3, SIDE, SIDE, got, err));

    WORKS(svit_image_write_png(context, path, images, SIDE, SIDE, err));
    if (!is_of_files) {
        FAILS(svit_predict_file(predictor, path, got, err), SVIT_E_ARGUMENT,
              "; files give images of 1 (grey), 3 (RGB) and 4 (RGBA)");
        FAILS(svit_predict_files(predictor, &path, 1, got, NULL, err), SVIT_E_ARGUMENT,
              "the predictor: channels is ");
        svit_predictor_free(predictor);
        return;
    }
    WORKS(svit_image_read(&image, context, path, channels, err));
    WORKS(svit_predict_u8(predictor, svit_image_pixels(image), 1, SIDE, SIDE, wanted, err));
    WORKS(svit_predict_file(predictor, path, got, err));
    ck_assert_mem_eq(got, wanted, CLASSES * sizeof *got);
    svit_image_free(image);
    svit_predictor_free(predictor);
}
END_TEST

/* Half of the channels of this model do not shift, so the logits of its last feature map of 1 x 1
 * depend on the version of the image. */
static void use_model_of_versions(svit_pipeline_config *pipeline)
{
    svit_model_config config = fit_model_config(CLASSES);
    config.num_div = 8;
    svit_model_free(model);
    WORKS(svit_model_create(&model, context, &config, 1, err));
    for (size_t i = 0; i < svit_model_parameter_count(model); i++) {
        const char *name = svit_model_parameter_name(model, i);
        const size_t elements = fit_elements(model, name);
        float *values = malloc(elements * sizeof *values);
        for (size_t e = 0; e < elements; e++)
            values[e] = (float)((e * 37 + i * 11) % 101) / 101 - 0.5f;
        WORKS(svit_model_set_parameter(model, name, values, elements, err));
        free(values);
    }
    *pipeline = pipeline_make();
    pipeline->source_height = pipeline->source_width = SIDE;
    WORKS(svit_model_set_pipeline(model, pipeline, err));
}

/* The logits are those of an evaluation with the same versions of each image. */
START_TEST(test_versions_of_an_image_are_averaged)
{
    static const int32_t labels[COUNT];
    svit_pipeline_config pipeline;
    svit_predictor_config config;
    svit_predictor *predictor = NULL;
    svit_dataset *data = NULL;
    float got[3][COUNT * CLASSES], wanted[COUNT * CLASSES];
    use_model_of_versions(&pipeline);
    WORKS(svit_dataset_memory(&data, context, images, labels, COUNT, SIDE, SIDE, 3, CLASSES, err));
    WORKS(svit_predictor_config_init(&config, sizeof config));
    ck_assert_int_eq(config.tta, SVIT_TTA_NONE);
    config.output = SVIT_OUTPUT_LOGITS;
    config.max_batch = 2;
    for (config.tta = SVIT_TTA_NONE; config.tta <= SVIT_TTA_FLIP_SHIFT; config.tta++) {
        float *logits = got[config.tta];
        WORKS(svit_predictor_create_from_model(&predictor, model, &config, err));
        WORKS(svit_predict_u8(predictor, images, COUNT, SIDE, SIDE, logits, err));
        svit_predictor_free(predictor);
        WORKS(svit_evaluate_logits(context, model, data, &pipeline, 2, SVIT_COMPUTE_F32, config.tta,
                                   wanted, NULL, err));
        ck_assert_mem_eq(logits, wanted, sizeof wanted);
    }
    ck_assert_mem_ne(got[0], got[1], sizeof wanted);
    ck_assert_mem_ne(got[1], got[2], sizeof wanted);
    predictor = NULL;
    FAILS(svit_predictor_create_from_model(&predictor, model, &config, err), SVIT_E_ARGUMENT,
          "tta is 3; it is 0..2");
    config.tta = -1;
    FAILS(svit_predictor_create_from_model(&predictor, model, &config, err), SVIT_E_ARGUMENT,
          "tta is -1");
    config.tta = 0;
    config.reserved = 1;
    FAILS(svit_predictor_create_from_model(&predictor, model, &config, err), SVIT_E_VERSION,
          "reserved of svit_predictor_config is 1");
    ck_assert_ptr_null(predictor);
    svit_dataset_free(data);
}
END_TEST

START_TEST(test_wrong_calls_on_channels_and_floats_are_refused)
{
    static const float floats[SIDE * SIDE * 3];
    float out[CLASSES];
    svit_predictor *predictor = NULL;
    svit_pipeline_config pipeline = pipeline_make();
    pipeline.channels = 1;
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    FAILS(svit_predictor_create_from_model(&predictor, model, NULL, err), SVIT_E_ARGUMENT,
          "the model has in_channels 3; channels of its pipeline is 1");
    pipeline.channels = 3;
    pipeline.source_filter = SVIT_SOURCE_SHORTER_SIDE;
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    WORKS(svit_predictor_create_from_model(&predictor, model, NULL, err));
    FAILS(svit_predict_f32(predictor, floats, 1, SIDE, SIDE, out, err), SVIT_E_UNSUPPORTED,
          "source_filter is antialiased");
    WORKS(svit_predict_f32(predictor, floats, 1, 8, 8, out, err));
    FAILS(svit_predict_f32(predictor, floats, 0, 8, 8, out, err), SVIT_E_ARGUMENT,
          "svit_predict_f32: n is 0");
    FAILS(svit_predict_f32(predictor, floats, 1, 8, 0, out, err), SVIT_E_ARGUMENT,
          "svit_predict_f32: width is 0; 1..16384");
    FAILS(svit_predict_f32(predictor, floats, SIZE_MAX / 2, 8, 8, out, err), SVIT_E_ARGUMENT,
          "fit memory");
    FAILS(svit_predict_f32(predictor, NULL, 1, 8, 8, out, err), SVIT_E_ARGUMENT, "images is NULL");
    svit_predictor_free(predictor);
}
END_TEST

START_TEST(test_wrong_calls_are_refused)
{
    svit_predictor *predictor = NULL;
    const char *path = fit_path(&folder, "model.safetensors");
    WORKS(svit_model_save(model, path, err));
    FAILS(svit_predictor_create(&predictor, context, path, NULL, err), SVIT_E_ARGUMENT,
          "preprocessing");
    FAILS(svit_predictor_create_from_model(&predictor, model, NULL, err), SVIT_E_STATE, "pipeline");
    FAILS(svit_predictor_create(&predictor, context, "/nowhere/at/all", NULL, err), SVIT_E_IO,
          "/nowhere/at/all");
    svit_pipeline_config pipeline = pipeline_make();
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    svit_predictor_config config;
    WORKS(svit_predictor_config_init(&config, sizeof config));
    config.max_batch = 0;
    FAILS(svit_predictor_create_from_model(&predictor, model, &config, err), SVIT_E_ARGUMENT,
          "max_batch is 0; it is in [1, 65536]");
    WORKS(svit_predictor_config_init(&config, sizeof config));
    config.compute = 3;
    FAILS(svit_predictor_create_from_model(&predictor, model, &config, err), SVIT_E_ARGUMENT,
          "compute is 3");
    ck_assert_ptr_null(predictor);
    WORKS(svit_predictor_create_from_model(&predictor, model, NULL, err));
    float out[CLASSES];
    FAILS(svit_predict_u8(predictor, images, 0, SIDE, SIDE, out, err), SVIT_E_ARGUMENT,
          "svit_predict_u8: n is 0");
    FAILS(svit_predict_u8(predictor, images, 1, 16385, SIDE, out, err), SVIT_E_ARGUMENT,
          "svit_predict_u8: height is 16385; 1..16384");
    FAILS(svit_predict_u8(predictor, NULL, 1, SIDE, SIDE, out, err), SVIT_E_ARGUMENT,
          "pixels is NULL");
    FAILS(svit_predict_u8(predictor, images, SIZE_MAX, SIDE, SIDE, out, err), SVIT_E_ARGUMENT,
          "fit memory");
    FAILS(svit_predict_file(predictor, "/nowhere/at/all", out, err), SVIT_E_IO, "/nowhere/at/all");
    svit_predictor_free(predictor);
    ck_assert_uint_eq(svit_predictor_classes(NULL), 0);
}
END_TEST

/* A regression: each batch made the tables of the preprocessing anew. What is left is the scratch
 * of the workers. */
START_TEST(test_all_batches_of_a_call_share_the_tables)
{
    ledger book = {0};
    svit_context *counted = NULL;
    svit_model *own;
    svit_context_config with;
    svit_predictor_config config;
    svit_predictor *predictor = NULL;
    const svit_pipeline_config pipeline = pipeline_make();
    float out[COUNT * CLASSES];
    WORKS(svit_context_config_init(&with, sizeof with));
    with.threads = 1;
    with.allocate = ledger_allocate;
    with.release = ledger_release;
    with.allocator_user = &book;
    WORKS(svit_context_create(&counted, &with, err));
    own = fit_model(counted, CLASSES, 1);
    WORKS(svit_model_set_pipeline(own, &pipeline, err));
    WORKS(svit_predictor_config_init(&config, sizeof config));
    config.max_batch = 1;
    WORKS(svit_predictor_create_from_model(&predictor, own, &config, err));
    const size_t before = book.calls;
    WORKS(svit_predict_u8(predictor, images, 1, SIDE, SIDE, out, err));
    const size_t of_one = book.calls - before;
    WORKS(svit_predict_u8(predictor, images, COUNT, SIDE, SIDE, out, err));
    ck_assert_uint_eq(book.calls - before - of_one, of_one + COUNT - 1);
    svit_predictor_free(predictor);
    svit_model_free(own);
    svit_context_free(counted);
    ck_assert_uint_eq(book.live_blocks, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("predictor");
    TCase *c = tcase_create("predictor");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_predictions_equal_pipeline_forward_and_softmax, 0, 2);
    tcase_add_loop_test(c, test_narrow_types_are_near_float32, SVIT_COMPUTE_BF16,
                        SVIT_COMPUTE_INT8 + 1);
    tcase_add_test(c, test_an_image_that_overflows_is_named_whatever_its_turn);
    tcase_add_loop_test(c, test_predictors_of_any_channels_from_bytes_floats_and_files, 0, 5);
    tcase_add_test(c, test_versions_of_an_image_are_averaged);
    tcase_add_test(c, test_wrong_calls_on_channels_and_floats_are_refused);
    tcase_add_test(c, test_all_batches_of_a_call_share_the_tables);
    tcase_add_test(c, test_wrong_calls_are_refused);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
