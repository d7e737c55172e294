/* Classes that are embeddings of texts: what predictors make of them, and files that keep them. */
#include "build.h"
#include "fit.h"
#include "ledger.h"

#include "models/model.h"
#include "models/parts/text_head.h"

#include <math.h>

enum { CHANNELS = 5, CLASSES = 3, SIDE = 8, COUNT = 3 };

static svit_context *context;
static fit_folder folder;
static svit_model *model;
static uint8_t images[COUNT * SIDE * SIDE * 3];
static float embeddings[COUNT * CHANNELS];
static const char *const NAMES[CLASSES] = {"a fox", "\xc3\xa4 \"dog\"", ""};
static const float TEXTS[CLASSES * CHANNELS] = {
    3, -4, 0, 0, 0, 1e-3f, 1e-3f, -2e-3f, 0, 5e-4f, 1e18f, 2e18f, -1e18f, 0, 7e17f};

static svit_predictor *predictor_make(svit_model *of, int32_t output)
{
    svit_predictor_config config;
    svit_predictor *predictor = NULL;
    WORKS(svit_predictor_config_init(&config, sizeof config));
    config.output = output;
    config.max_batch = 2;
    WORKS(svit_predictor_create_from_model(&predictor, of, &config, err));
    return predictor;
}

static void predict(float *out, svit_model *of, int32_t output)
{
    svit_predictor *predictor = predictor_make(of, output);
    WORKS(svit_predict_u8(predictor, images, COUNT, SIDE, SIDE, out, err));
    svit_predictor_free(predictor);
}

static void setup(void)
{
    svit_pipeline_config pipeline;
    context = fit_context(2);
    folder = fit_folder_make();
    model = fit_model(context, CHANNELS, 1);
    for (size_t i = 0; i < sizeof images; i++)
        images[i] = (uint8_t)(i * i % 251);
    WORKS(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    pipeline.source_height = pipeline.source_width = SIDE;
    pipeline.resize_height = pipeline.resize_width = SIDE;
    pipeline.output_height = pipeline.output_width = SIDE;
    WORKS(svit_model_set_pipeline(model, &pipeline, err));
    predict(embeddings, model, SVIT_OUTPUT_LOGITS);
    WORKS(svit_model_set_text_head(model, TEXTS, NAMES, CLASSES, CHANNELS, 50, -3, err));
}

static void teardown(void)
{
    svit_model_free(model);
    svit_context_free(context);
    fit_folder_remove(&folder);
}

static double cosine(const float *a, const float *b)
{
    double dot = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < CHANNELS; i++) {
        dot += (double)a[i] * b[i];
        aa += (double)a[i] * a[i];
        bb += (double)b[i] * b[i];
    }
    return dot / sqrt(aa * bb);
}

static void check_logits(svit_model *of)
{
    float logits[COUNT * CLASSES], probabilities[COUNT * CLASSES], wanted[COUNT * CLASSES];
    predict(logits, of, SVIT_OUTPUT_LOGITS);
    for (size_t i = 0; i < COUNT * CLASSES; i++) {
        const double one =
            cosine(embeddings + i / CLASSES * CHANNELS, TEXTS + i % CLASSES * CHANNELS);
        ck_assert_double_le(fabs(logits[i] - (50 * one - 3)), 1e-4);
    }
    predict(probabilities, of, SVIT_OUTPUT_SOFTMAX);
    WORKS(svit_softmax(logits, COUNT, CLASSES, wanted, err));
    ck_assert_mem_eq(probabilities, wanted, sizeof wanted);
    predict(probabilities, of, SVIT_OUTPUT_SIGMOID);
    WORKS(svit_sigmoid(logits, COUNT, CLASSES, wanted, err));
    ck_assert_mem_eq(probabilities, wanted, sizeof wanted);
    svit_predictor *predictor = predictor_make(of, 0);
    ck_assert_uint_eq(svit_predictor_classes(predictor), CLASSES);
    for (size_t k = 0; k < CLASSES; k++)
        ck_assert_str_eq(svit_predictor_class_name(predictor, k), NAMES[k]);
    ck_assert_ptr_null(svit_predictor_class_name(predictor, CLASSES));
    for (size_t k = 0; k < CLASSES; k++)
        ck_assert_str_eq(svit_model_text_class_name(of, k), NAMES[k]);
    ck_assert_ptr_null(svit_model_text_class_name(of, CLASSES));
    svit_predictor_free(predictor);
}

START_TEST(test_logits_are_scaled_cosine_similarities)
{
    check_logits(model);
    WORKS(svit_model_set_text_head(model, NULL, NULL, 0, 0, 0, 0, err));
    float now[COUNT * CHANNELS];
    ck_assert_ptr_null(svit_model_text_class_name(model, 0));
    predict(now, model, SVIT_OUTPUT_LOGITS);
    ck_assert_mem_eq(now, embeddings, sizeof now);
}
END_TEST

/* The threshold belongs to the classes: another head of texts, and none, have none. */
START_TEST(test_another_head_has_no_threshold)
{
    WORKS(svit_model_set_threshold(model, 0.75, err));
    WORKS(svit_model_set_text_head(model, TEXTS, NAMES, CLASSES, CHANNELS, 1, 0, err));
    ck_assert_double_eq(svit_model_threshold(model), 0);
    WORKS(svit_model_set_threshold(model, 0.75, err));
    WORKS(svit_model_set_text_head(model, NULL, NULL, 0, 0, 0, 0, err));
    ck_assert_double_eq(svit_model_threshold(model), 0);
}
END_TEST

/* With versions of each image the embeddings are averaged, not what follows from them. */
START_TEST(test_embeddings_of_versions_are_averaged)
{
    static const int32_t labels[COUNT];
    svit_pipeline_config pipeline;
    svit_predictor_config config;
    svit_predictor *predictor = NULL;
    svit_dataset *data = NULL;
    float logits[COUNT * CLASSES];
    WORKS(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, err));
    WORKS(svit_dataset_memory(&data, context, images, labels, COUNT, SIDE, SIDE, 3, 1, err));
    WORKS(svit_evaluate_logits(context, model, data, &pipeline, COUNT, SVIT_COMPUTE_F32,
                               SVIT_TTA_FLIP_SHIFT, embeddings, NULL, err));
    WORKS(svit_predictor_config_init(&config, sizeof config));
    config.output = SVIT_OUTPUT_LOGITS;
    config.tta = SVIT_TTA_FLIP_SHIFT;
    config.max_batch = 2;
    WORKS(svit_predictor_create_from_model(&predictor, model, &config, err));
    WORKS(svit_predict_u8(predictor, images, COUNT, SIDE, SIDE, logits, err));
    for (size_t i = 0; i < COUNT * CLASSES; i++)
        ck_assert_double_le(fabs(logits[i] - (50 * cosine(embeddings + i / CLASSES * CHANNELS,
                                                          TEXTS + i % CLASSES * CHANNELS) -
                                              3)),
                            1e-4);
    svit_predictor_free(predictor);
    svit_dataset_free(data);
}
END_TEST

/* Every way through a file keeps it; the tensor of the head stays float32. */
START_TEST(test_files_keep_the_classes)
{
    const char *path = fit_path(&folder, "model.safetensors");
    static const int32_t types[] = {SVIT_DTYPE_F32, SVIT_DTYPE_F16, SVIT_DTYPE_BF16, SVIT_DTYPE_I8};
    svit_model *back = NULL;
    size_t bytes, needed;
    WORKS(svit_model_save(model, path, err));
    WORKS(svit_model_load(&back, context, path, err));
    check_logits(back);
    svit_model_free(back);
    WORKS(svit_model_map(&back, context, path, err));
    check_logits(back);
    svit_model_free(back);
    char *file = fit_read(path, &bytes);
    WORKS(svit_model_save_memory(model, NULL, 0, &needed, err));
    ck_assert_uint_eq(needed, bytes);
    WORKS(svit_model_load_memory(&back, context, file, bytes, err));
    check_logits(back);
    svit_model_free(back);
    free(file);
    for (size_t i = 0; i < 4; i++) {
        svit_predictor *predictor = NULL;
        float logits[COUNT * CLASSES];
        WORKS(svit_model_save_as(model, path, types[i], err));
        WORKS(svit_predictor_create(&predictor, context, path, NULL, err));
        ck_assert_uint_eq(svit_predictor_classes(predictor), CLASSES);
        WORKS(svit_predict_u8(predictor, images, COUNT, SIDE, SIDE, logits, err));
        svit_predictor_free(predictor);
    }
    WORKS(svit_model_add_classes(model, 1, 0, err));
    svit_predictor *predictor = predictor_make(model, 0);
    ck_assert_uint_eq(svit_predictor_classes(predictor), CHANNELS + 1);
    svit_predictor_free(predictor);
}
END_TEST

/* An embedding without a direction is like no text. */
START_TEST(test_an_embedding_of_zeros_has_the_bias)
{
    static const float nothing[2 * CHANNELS] = {0, 0, 0, 0, 0, 3, -4, 0, 0, 0};
    float logits[2 * CLASSES];
    sv_text_head_apply(model->text_head, logits, nothing, 2);
    for (size_t k = 0; k < CLASSES; k++)
        ck_assert_float_eq(logits[k], -3);
    ck_assert_double_eq_tol(logits[CLASSES], 50 - 3, 1e-4);
}
END_TEST

/* Adapters are merged into the file's model, which keeps the classes. */
START_TEST(test_files_of_adapted_models_keep_the_classes)
{
    static const char CONFIG[] =
        "{\"architecture\":\"vit\",\"input_height\":8,\"input_width\":8,\"patch_size\":4,\"dim\":8,"
        "\"depth\":1,\"heads\":2,\"head_dim\":4,\"mlp_dim\":8,\"head_units\":[],\"num_classes\":5}";
    const char *path = fit_path(&folder, "model.safetensors");
    svit_model *adapted = NULL, *back = NULL;
    svit_model_config config;
    svit_pipeline_config pipeline;
    float wanted[COUNT * CLASSES], found[COUNT * CLASSES];
    WORKS(svit_model_config_from_json(&config, sizeof config, CONFIG, err));
    WORKS(svit_model_create(&adapted, context, &config, 1, err));
    WORKS(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, err));
    WORKS(svit_model_set_pipeline(adapted, &pipeline, err));
    WORKS(svit_model_set_text_head(adapted, TEXTS, NAMES, CLASSES, CHANNELS, 50, -3, err));
    WORKS(svit_model_add_lora(adapted, 2, 2, 1, err));
    predict(wanted, adapted, SVIT_OUTPUT_LOGITS);
    WORKS(svit_model_save(adapted, path, err));
    WORKS(svit_model_load(&back, context, path, err));
    predict(found, back, SVIT_OUTPUT_LOGITS);
    for (size_t i = 0; i < COUNT * CLASSES; i++)
        ck_assert_double_eq_tol(found[i], wanted[i], 1e-4);
    svit_model_free(back);
    svit_model_free(adapted);
}
END_TEST

/* Each text takes the place of another of the same length in the file. */
static const struct {
    const char *old, *new, *part;
} DAMAGE[] = {
    {"\\\"logit_scale\\\":50", "\\\"logit_scale\\\":-5", "text_head is not"},
    {"\\\"logit_scale\\\":50", "\\\"logit_skale\\\":50", "text_head is not"},
    {"\\\"logit_bias\\\":-3", "\\\"logit_bias\\\":[]", "entry 'text_head' is not JSON"},
    {"\\\"logit_bias\\\":-3", "\\\"logit_bigs\\\":-3", "text_head is not"},
    {"\\\"logit_scale\\\":50", "\\\"logit_scale\\\":{}", "entry 'text_head' is not JSON"},
    {"\\\"classes\\\":[", "\\\"klasses\\\":[", "text_head is not"},
    {"\\\"a fox\\\"", "12345678 ", "text_head"},
    {"\\\"a fox\\\",", "          ", "text_head.weight' is [3, 5]; the model has [2, 5]"},
    {"\"text_head\"", "\"text_haed\"", "'text_head.weight' is none of the model's"},
    {"\"text_head.weight\"", "\"text_head.wieght\"", "'text_head.wieght' is none of the model's"},
};

START_TEST(test_damaged_files_are_refused)
{
    const char *path = fit_path(&folder, "model.safetensors");
    svit_model *back = NULL;
    size_t bytes;
    WORKS(svit_model_save(model, path, err));
    char *file = fit_read(path, &bytes), *at = strstr(file + 8, DAMAGE[_i].old);
    ck_assert_ptr_nonnull(at);
    ck_assert_uint_eq(strlen(DAMAGE[_i].old), strlen(DAMAGE[_i].new));
    memcpy(at, DAMAGE[_i].new, strlen(DAMAGE[_i].new));
    fit_write(path, file, bytes);
    FAILS(svit_model_load(&back, context, path, err), SVIT_E_FORMAT, DAMAGE[_i].part);
    free(file);
}
END_TEST

/* A small file can describe any number of classes: memory is taken once their tensor is found. */
START_TEST(test_texts_without_their_tensor_take_no_memory)
{
    enum { MANY = 1024, WIDE = 512 };
    static const char *names[MANY];
    static float texts[MANY * WIDE];
    ledger book = {0};
    svit_context_config with;
    svit_context *counted = NULL;
    svit_model *wide = fit_model(context, WIDE, 1), *back = NULL;
    size_t bytes;
    for (size_t i = 0; i < MANY * WIDE; i++)
        texts[i] = 1;
    for (size_t i = 0; i < MANY; i++)
        names[i] = "";
    WORKS(svit_model_set_text_head(wide, texts, names, MANY, WIDE, 1, 0, err));
    WORKS(svit_model_save_memory(wide, NULL, 0, &bytes, err));
    char *file = malloc(bytes);
    WORKS(svit_model_save_memory(wide, file, bytes, &bytes, err));
    svit_model_free(wide);
    char *at = strstr(file + 8, "[1024,512]");
    ck_assert_ptr_nonnull(at);
    memcpy(at, "[512,1024]", 10);
    svit_context_config_init(&with, sizeof with);
    with.allocate = ledger_allocate;
    with.release = ledger_release;
    with.allocator_user = &book;
    WORKS(svit_context_create(&counted, &with, err));
    FAILS(svit_model_load_memory(&back, counted, file, bytes, err), SVIT_E_FORMAT,
          "'text_head.weight' is [512, 1024]; the model has [1024, 512]");
    ck_assert_uint_lt(book.peak_bytes, sizeof texts / 2);
    memcpy(at, "[1024,512]", 10);
    WORKS(svit_model_load_memory(&back, counted, file, bytes, err));
    ck_assert_uint_ge(book.peak_bytes, sizeof texts);
    svit_model_free(back);
    svit_context_free(counted);
    free(file);
}
END_TEST

START_TEST(test_what_is_not_accepted_is_named)
{
    static const char *const null[] = {"a", NULL};
    static const float zero[2 * CHANNELS] = {1}, wide[2 * CHANNELS] = {1, 0, 0, 0, 0, NAN};
    static const double bad[] = {0, -1, NAN, INFINITY, 1.1e30};
    svit_predictor *predictor = predictor_make(model, 0);
    FAILS(svit_model_set_text_head(model, NULL, NULL, 0, 0, 0, 0, err), SVIT_E_STATE, "text head");
    svit_predictor_free(predictor);
    FAILS(svit_model_set_text_head(model, TEXTS, NAMES, 3, 4, 1, 0, err), SVIT_E_ARGUMENT,
          "channels is 4; the model's logits are embeddings of 5");
    FAILS(svit_model_set_text_head(model, TEXTS, null, 2, CHANNELS, 1, 0, err), SVIT_E_ARGUMENT,
          "names[1] is NULL");
    FAILS(svit_model_set_text_head(model, zero, NAMES, 2, CHANNELS, 1, 0, err), SVIT_E_ARGUMENT,
          "class 1 has the length 0");
    FAILS(svit_model_set_text_head(model, wide, NAMES, 2, CHANNELS, 1, 0, err), SVIT_E_ARGUMENT,
          "class 1 has the length");
    FAILS(svit_model_set_text_head(model, TEXTS, NAMES, (size_t)1 << 30, CHANNELS, 1, 0, err),
          SVIT_E_ARGUMENT, "classes is");
    for (size_t i = 0; i < 5; i++)
        FAILS(svit_model_set_text_head(model, TEXTS, NAMES, 3, CHANNELS, bad[i], 0, err),
              SVIT_E_ARGUMENT, "logit_scale and logit_bias");
    for (size_t i = 2; i < 5; i++)
        FAILS(svit_model_set_text_head(model, TEXTS, NAMES, 3, CHANNELS, 1, -bad[i], err),
              SVIT_E_ARGUMENT, "logit_scale and logit_bias");
    check_logits(model); /* none of these has changed the model */
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("text_head");
    TCase *c = tcase_create("core");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_another_head_has_no_threshold);
    tcase_add_test(c, test_logits_are_scaled_cosine_similarities);
    tcase_add_test(c, test_embeddings_of_versions_are_averaged);
    tcase_add_test(c, test_files_keep_the_classes);
    tcase_add_test(c, test_an_embedding_of_zeros_has_the_bias);
    tcase_add_test(c, test_files_of_adapted_models_keep_the_classes);
    tcase_add_test(c, test_texts_without_their_tensor_take_no_memory);
    tcase_add_loop_test(c, test_damaged_files_are_refused, 0, sizeof DAMAGE / sizeof *DAMAGE);
    tcase_add_test(c, test_what_is_not_accepted_is_named);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
