/* Checks masked autoencoders: their masks, what they are trained for, that a run does not depend on
 * threads and stops, and how they become classifiers. */
#include "trainer_support.h"

#include <math.h>
#include <stdbool.h>

/* 16 patches of 2 x 2 pixels, of which 4 are visible. */
enum { PATCHES = 16, VISIBLE = 4, ELEMENTS = 12, PIXELS = PATCHES * ELEMENTS };
#define MASKED                                                                                     \
    "{\"architecture\":\"vit\",\"input_height\":8,\"input_width\":8,\"patch_size\":2,\"dim\":12,"  \
    "\"depth\":2,"                                                                                 \
    "\"heads\":3,\"head_dim\":4,\"mlp_dim\":16,\"head_units\":[],\"pool\":\"class_token\",\"mlp_"  \
    "last_gelu\":false,"                                                                           \
    "\"dropout\":0,\"attention_dropout\":0,\"head_dropout\":0,\"classifier\":false,\"mask_"        \
    "ratio\":0.75"

static svit_model *open_model(svit_context *in, const char *further)
{
    svit_model_config config;
    svit_model *model = NULL;
    char json[2048];
    snprintf(json, sizeof json, MASKED "%s}", further);
    WORKS(svit_model_config_from_json(&config, sizeof config, json, err));
    ck_assert_uint_eq(config.num_classes, PIXELS);
    WORKS(svit_model_create(&model, in, &config, 5, err));
    return model;
}

static svit_session *open_session(svit_model *model, int32_t mode, uint64_t seed)
{
    svit_session_config config;
    svit_session *session = NULL;
    WORKS(svit_session_config_init(&config, sizeof config));
    config.max_batch = SAMPLES;
    config.mode = mode;
    config.seed = seed;
    WORKS(svit_session_create(&session, model, &config, err));
    return session;
}

/* Reconstructs n equal images and writes whether each patch is visible, so that its logits are
 * 0. */
static void find_visible(bool *visible, svit_session *session, size_t n)
{
    static float pixels[SAMPLES * PIXELS], logits[SAMPLES * PIXELS];
    for (size_t i = 0; i < n * PIXELS; i++)
        pixels[i] = (float)(i % PIXELS * 37 % 101) / 101;
    WORKS(svit_forward(session, pixels, n, logits, err));
    for (size_t image = 0; image < n; image++) {
        size_t count = 0;
        for (size_t p = 0; p < PATCHES; p++) {
            size_t zeros = 0;
            for (size_t i = 0; i < ELEMENTS; i++)
                zeros += logits[(image * PATCHES + p) * ELEMENTS + i] == 0;
            ck_assert(zeros == 0 || zeros == ELEMENTS);
            count += visible[image * PATCHES + p] = zeros > 0;
        }
        ck_assert_uint_eq(count, VISIBLE);
    }
}

START_TEST(test_masks_are_drawn_anew_for_each_image_of_each_forward)
{
    enum { ROUNDS = 200 };
    svit_model *model = open_model(context, "");
    svit_session *session = open_session(model, SVIT_MODE_TRAIN, 9),
                 *other = open_session(model, SVIT_MODE_TRAIN, 8);
    bool first[SAMPLES * PATCHES], visible[SAMPLES * PATCHES];
    find_visible(first, other, SAMPLES);
    size_t often[PATCHES] = {0}, equal = 0;
    for (size_t round = 0; round < ROUNDS; round++) {
        find_visible(visible, session, SAMPLES);
        equal += memcmp(visible, first, PATCHES) == 0;
        equal += memcmp(visible, visible + PATCHES, PATCHES) == 0;
        if (round == 0)
            memcpy(first, visible, sizeof first);
        for (size_t i = 0; i < SAMPLES * PATCHES; i++)
            often[i % PATCHES] += visible[i];
    }
    /* Of 1,820 masks two are equal in 400 comparisons 0.2 times, and a patch is visible 1,100 +- 29
     * times. */
    ck_assert_uint_le(equal, 1 + 3);
    for (size_t p = 0; p < PATCHES; p++)
        ck_assert_double_le(fabs((double)often[p] - ROUNDS * SAMPLES / 4.0), 5 * 29);
    /* The counter of the session gives the same masks again. */
    WORKS(svit_session_set_counter(session, 0, err));
    find_visible(visible, session, SAMPLES);
    ck_assert_mem_eq(visible, first, sizeof first);
    svit_session_free(other);
    svit_session_free(session);
    svit_model_free(model);
}
END_TEST

START_TEST(test_inference_has_one_mask)
{
    svit_model *model = open_model(context, "");
    svit_session *session = open_session(model, SVIT_MODE_INFER, 9);
    bool visible[SAMPLES * PATCHES], again[SAMPLES * PATCHES];
    find_visible(visible, session, SAMPLES);
    find_visible(again, session, 3);
    for (size_t i = 0; i < SAMPLES; i++)
        ck_assert_mem_eq(visible + i * PATCHES, again, PATCHES * sizeof *again);
    svit_session_free(session);
    svit_model_free(model);
}
END_TEST

/* So many images are taken through chains of layers, some at a time by each worker. */
START_TEST(test_a_batch_is_its_images_one_by_one)
{
    enum { MANY = 320 };
    static float pixels[MANY * PIXELS], logits[MANY * PIXELS], one[PIXELS];
    for (size_t i = 0; i < MANY * PIXELS; i++)
        pixels[i] = (float)(i * 37 % 1009) / 1009;
    svit_context *own = fit_context(3);
    svit_model *model = open_model(own, "");
    svit_session_config config;
    svit_session *session = NULL;
    WORKS(svit_session_config_init(&config, sizeof config));
    config.max_batch = MANY;
    WORKS(svit_session_create(&session, model, &config, err));
    WORKS(svit_forward(session, pixels, MANY, logits, err));
    for (size_t i = 0; i < MANY; i++) {
        WORKS(svit_forward(session, pixels + i * PIXELS, 1, one, err));
        ck_assert_mem_eq(logits + i * PIXELS, one, sizeof one);
    }
    svit_session_free(session);
    svit_model_free(model);
    svit_context_free(own);
}
END_TEST

/* Freezing changes what has a gradient, not what a training forward computes. */
START_TEST(test_frozen_layers_have_the_same_masks)
{
    static float pixels[4 * PIXELS], logits[2][4 * PIXELS];
    for (size_t i = 0; i < 4 * PIXELS; i++)
        pixels[i] = (float)(i * 37 % 101) / 101;
    for (size_t frozen = 0; frozen < 2; frozen++) {
        svit_model *model = open_model(context, "");
        if (frozen)
            WORKS(svit_model_set_trainable(model, "decoder_*", 0, err));
        for (size_t i = 0; frozen && i < 3; i++)
            WORKS(svit_model_set_trainable(
                model, ((const char *[]){"*", "decoder_pred*", "decoder_norm*"})[i], i > 0, err));
        svit_session *session = open_session(model, SVIT_MODE_TRAIN, 9);
        WORKS(svit_forward(session, pixels, 4, logits[frozen], err));
        WORKS(svit_backward(session, logits[frozen], 4, err));
        svit_session_free(session);
        svit_model_free(model);
    }
    for (size_t i = 0; i < 4 * PIXELS; i++)
        ck_assert_float_eq_tol(logits[0][i], logits[1][i], 1e-5f);
}
END_TEST

static plan masked_plan(uint32_t epochs)
{
    plan p = plan_make(epochs);
    p.trainer.loss = SVIT_LOSS_MSE;
    p.pipeline.resize_height = p.pipeline.resize_width = SIDE;
    return p;
}

/* The mean squared error of the masked patches' normalised pixels, with what the visible ones add:
 * their logits are 0. */
START_TEST(test_the_targets_are_normalised_pixels)
{
    plan p = masked_plan(1);
    svit_model *model = open_model(context, "");
    svit_session *session = open_session(model, SVIT_MODE_INFER, 0);
    static float pixels[VALIDATION * PIXELS], logits[VALIDATION * PIXELS];
    for (size_t i = 0; i < VALIDATION * PIXELS; i++)
        pixels[i] = (float)(((double)images[i] * p.pipeline.scale - p.pipeline.mean[i % 3]) /
                            sqrt(p.pipeline.variance[i % 3]));
    WORKS(svit_forward(session, pixels, VALIDATION, logits, err));
    double total = 0, loss;
    for (size_t n = 0; n < VALIDATION; n++)
        for (size_t patch = 0; patch < PATCHES; patch++) {
            double x[ELEMENTS], mean = 0, variance = 0;
            for (size_t i = 0; i < ELEMENTS; i++) {
                const size_t row = patch / 4 * 2 + i / 6, column = patch % 4 * 2 + i / 3 % 2;
                x[i] = pixels[((n * SIDE + row) * SIDE + column) * 3 + i % 3];
                mean += x[i] / ELEMENTS;
            }
            for (size_t i = 0; i < ELEMENTS; i++)
                variance += (x[i] - mean) * (x[i] - mean) / (ELEMENTS - 1);
            for (size_t i = 0; i < ELEMENTS; i++)
                total += pow(logits[(n * PATCHES + patch) * ELEMENTS + i] -
                                 (x[i] - mean) / sqrt(variance + 1e-6),
                             2);
        }
    WORKS(svit_evaluate(context, model, validation, &p.pipeline, 4, &loss, NULL, NULL, err));
    ck_assert_double_eq_tol(loss, total / (VALIDATION * PIXELS), 1e-6 * loss);
    svit_session_free(session);
    svit_model_free(model);
}
END_TEST

/* Nothing reads the labels, so those of training and validation may mean other classes. */
START_TEST(test_names_of_classes_do_not_count)
{
    plan p = masked_plan(1);
    const char *names[10];
    svit_dataset *data = NULL, *other = NULL;
    svit_trainer *trainer = NULL;
    svit_model *model = open_model(context, "");
    WORKS(svit_dataset_synthetic(&data, context, 1, SVIT_SPLIT_TRAIN, 20, err));
    for (size_t k = 0; k < 10; k++)
        names[k] = svit_dataset_class_name(data, 9 - k);
    WORKS(svit_dataset_match_classes(&other, data, names, 10, err));
    WORKS(svit_trainer_create(&trainer, context, model, data, other, &p.trainer, &p.optimizer,
                              &p.pipeline, err));
    svit_trainer_free(trainer);
    svit_dataset_free(other);
    svit_dataset_free(data);
    svit_model_free(model);
}
END_TEST

START_TEST(test_an_evaluation_says_that_it_has_no_classes)
{
    svit_dataset *data = NULL;
    double loss = 0, top1 = 0, top5 = 0;
    int32_t known[20] = {0};
    svit_model *model = open_model(context, "");
    plan p = masked_plan(1);
    WORKS(svit_dataset_synthetic(&data, context, 1, SVIT_SPLIT_TRAIN, 20, err));
    WORKS(svit_evaluate(context, model, data, &p.pipeline, 8, &loss, &top1, &top5, err));
    ck_assert(loss > 0 && isnan(top1) && isnan(top5));
    static float logits[20 * PIXELS];
    WORKS(svit_evaluate_logits(context, model, data, &p.pipeline, 8, SVIT_COMPUTE_F32,
                               SVIT_TTA_NONE, logits, known, err));
    for (size_t i = 0; i < 20; i++)
        ck_assert_int_eq(known[i], -1);
    svit_dataset_free(data);
    svit_model_free(model);
}
END_TEST

/* Trains in a context of its own, with these threads, and returns the weights. */
static float *train_with(uint32_t threads, plan p, size_t *bytes)
{
    svit_context *own = fit_context(threads);
    svit_model *model = open_model(own, "");
    svit_trainer *trainer = NULL;
    svit_trainer_event event;
    p.trainer.folder = NULL;
    WORKS(svit_trainer_create(&trainer, own, model, training, NULL, &p.trainer, &p.optimizer,
                              &p.pipeline, err));
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    WORKS(svit_trainer_history(trainer, 0, &event, sizeof event, err));
    ck_assert(isnan(event.train_top1) && isnan(event.train_top5));
    const double first = event.train_loss;
    WORKS(svit_trainer_history(trainer, p.trainer.epochs - 1, &event, sizeof event, err));
    ck_assert_double_lt(event.train_loss, first);
    float *weights = fit_weights(model, NULL);
    *bytes = svit_model_parameter_elements(model) * sizeof *weights;
    svit_trainer_free(trainer);
    svit_model_free(model);
    svit_context_free(own);
    return weights;
}

START_TEST(test_the_bits_do_not_depend_on_threads_and_memory_and_the_loss_falls)
{
    for (uint32_t leaves = 0; leaves <= 3; leaves += 3) {
        plan p = masked_plan(4);
        size_t bytes;
        p.trainer.leaves = leaves;
        float *one = train_with(1, p, &bytes);
        for (uint32_t threads = 2; threads <= 3; threads++) {
            p.trainer.memory = threads == 2 ? SVIT_MEMORY_RECOMPUTE_BLOCKS : SVIT_MEMORY_STORE;
            float *more = train_with(threads, p, &bytes);
            ck_assert_mem_eq(one, more, bytes);
            free(more);
        }
        free(one);
    }
}
END_TEST

/* Regression: images with numbers, which nothing reads, were refused. */
START_TEST(test_targets_are_not_read)
{
    static const float numbers[SAMPLES * 2] = {3, -1, 7};
    svit_dataset *labelled = training;
    svit_trainer *trainer = NULL;
    svit_model *model = open_model(context, "");
    plan p = masked_plan(2);
    size_t bytes;
    double loss[2];
    float *wanted = train_with(2, p, &bytes);
    WORKS(svit_evaluate(context, model, training, &p.pipeline, 8, &loss[0], NULL, NULL, err));
    WORKS(svit_dataset_memory_targets(&training, context, images, numbers, SAMPLES, SIDE, SIDE, 3,
                                      2, err));
    float *got = train_with(2, p, &bytes);
    ck_assert_mem_eq(got, wanted, bytes);
    free(got);
    WORKS(svit_evaluate(context, model, training, &p.pipeline, 8, &loss[1], NULL, NULL, err));
    ck_assert_double_eq(loss[0], loss[1]);
    p.trainer.folder = NULL;
    WORKS(svit_trainer_create(&trainer, context, model, labelled, training, &p.trainer,
                              &p.optimizer, &p.pipeline, err));
    svit_trainer_free(trainer);
    p.trainer.sampling = SVIT_SAMPLING_BALANCED;
    FAILS(svit_trainer_create(&trainer, context, model, training, NULL, &p.trainer, &p.optimizer,
                              &p.pipeline, err),
          SVIT_E_UNSUPPORTED, "this dataset has targets instead of labels");
    svit_dataset_free(training);
    training = labelled;
    free(wanted);
    svit_model_free(model);
}
END_TEST

START_TEST(test_a_resumed_run_is_the_whole_run)
{
    plan p = masked_plan(2);
    size_t bytes;
    float *whole = train_with(1, p, &bytes);
    svit_model *model = open_model(context, "");
    svit_trainer *trainer = open_trainer(model, &p, NULL);
    svit_trainer_event event;
    for (size_t i = 0; i < STEPS + 2; i++)
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    WORKS(svit_trainer_checkpoint(trainer, err));
    svit_trainer_free(trainer);
    svit_model_free(model);
    p.trainer.existing = SVIT_EXISTING_RESUME;
    model = open_model(context, "");
    trainer = open_trainer(model, &p, NULL);
    WORKS(svit_trainer_resume(trainer, err));
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    float *resumed = fit_weights(model, NULL);
    ck_assert_mem_eq(whole, resumed, bytes);
    free(resumed);
    free(whole);
    svit_trainer_free(trainer);
    svit_model_free(model);
}
END_TEST

START_TEST(test_what_does_not_reconstruct_is_refused)
{
    plan p = masked_plan(1);
    svit_model *model = open_model(context, "");
    svit_trainer *trainer = NULL;
    p.trainer.loss = SVIT_LOSS_CROSS_ENTROPY;
    FAILS(svit_trainer_create(&trainer, context, model, training, NULL, &p.trainer, &p.optimizer,
                              &p.pipeline, err),
          SVIT_E_ARGUMENT, "loss 'mse' is accepted");
    p = masked_plan(1);
    p.pipeline.augment[p.pipeline.augment_count++] =
        (svit_augment_step){.kind = SVIT_AUGMENT_MIXUP, .alpha = 1, .probability = 1};
    FAILS(svit_trainer_create(&trainer, context, model, training, NULL, &p.trainer, &p.optimizer,
                              &p.pipeline, err),
          SVIT_E_ARGUMENT, "the pipeline mixes images, and the model reconstructs them");
    FAILS(svit_model_export_onnx(model, fit_path(&folder, "none.onnx"), NULL, err),
          SVIT_E_UNSUPPORTED, "");
    svit_model_free(model);
}
END_TEST

/* Regression: evaluations and predictors averaged the logits of an image and of its mirror, which
 * are the pixels of patches at other places. */
START_TEST(test_versions_of_images_are_refused)
{
    static const char message[] = "it is 0, 'none', for a model with mask_ratio above 0";
    svit_model *model = open_model(context, "");
    svit_trainer *trainer = NULL;
    svit_predictor *predictor = NULL;
    svit_predictor_config config;
    static float logits[VALIDATION * PIXELS];
    plan p = masked_plan(1);
    WORKS(svit_predictor_config_init(&config, sizeof config));
    WORKS(svit_model_set_pipeline(model, &p.pipeline, err));
    for (int32_t tta = SVIT_TTA_FLIP; tta <= SVIT_TTA_FLIP_SHIFT; tta++) {
        p.trainer.tta = config.tta = tta;
        FAILS(svit_trainer_create(&trainer, context, model, training, validation, &p.trainer,
                                  &p.optimizer, &p.pipeline, err),
              SVIT_E_ARGUMENT, message);
        FAILS(svit_evaluate_logits(context, model, validation, &p.pipeline, 4, SVIT_COMPUTE_F32,
                                   tta, logits, NULL, err),
              SVIT_E_ARGUMENT, message);
        FAILS(svit_predictor_create_from_model(&predictor, model, &config, err), SVIT_E_ARGUMENT,
              message);
    }
    svit_model_free(model);
}
END_TEST

/* The classifier has the weights of the encoder, and none of the decoder. */
START_TEST(test_a_head_takes_the_place_of_the_decoder)
{
    svit_model *model = open_model(context, "");
    svit_model_config config;
    float before[12 * 36], after[12 * 36], logits[CLASSES];
    static float image[PIXELS];
    WORKS(svit_model_get_parameter(model, "blocks.1.attn.qkv.weight", before, 12 * 36, err));
    WORKS(svit_model_replace_head(model, CLASSES, 1, err));
    WORKS(svit_model_get_parameter(model, "blocks.1.attn.qkv.weight", after, 12 * 36, err));
    ck_assert_mem_eq(before, after, sizeof before);
    WORKS(svit_model_get_config(model, &config, sizeof config, err));
    ck_assert_double_eq(config.mask_ratio, 0);
    ck_assert_uint_eq(config.num_classes, CLASSES);
    for (size_t i = 0; i < svit_model_parameter_count(model); i++) {
        const char *name = svit_model_parameter_name(model, i);
        ck_assert(strncmp(name, "decoder_", 8) != 0 && strcmp(name, "mask_token") != 0);
    }
    svit_session *session = open_session(model, SVIT_MODE_INFER, 0);
    WORKS(svit_forward(session, image, 1, logits, err));
    svit_session_free(session);
    svit_model_free(model);
}
END_TEST

static const struct {
    const char *further, *message;
} wrong[] = {
    {",\"tokenizer\":\"spt\"", "this 'tokenizer'"},
    {",\"position_tokens\":\"none\"", "this 'position_tokens'"},
    {",\"rope\":\"axial\",\"rope_theta\":100", "this 'rope'"},
    {",\"lora_rank\":2,\"lora_alpha\":1", "this 'lora_rank'"},
    {",\"patch_padding\":\"valid\"", "this 'mask_ratio'"},
};

START_TEST(test_what_does_not_go_with_masks_is_named)
{
    svit_model_config config;
    char json[2048];
    snprintf(json, sizeof json, MASKED "%s}", wrong[_i].further);
    FAILS(svit_model_config_from_json(&config, sizeof config, json, err), SVIT_E_ARGUMENT,
          wrong[_i].message);
}
END_TEST

START_TEST(test_hostile_ratios_are_refused)
{
    static const struct {
        double ratio;
        const char *message;
    } cases[] = {{-0.1, "mask_ratio"},     {1, "mask_ratio"},  {NAN, "mask_ratio"},
                 {INFINITY, "mask_ratio"}, {0.05, "16 of 16"}, {1e-300, "16"},
                 {0.9999, "1 of 16|ok"}};
    svit_model_config config, vit;
    svit_model *model = NULL;
    WORKS(svit_model_config_from_json(&vit, sizeof vit, MASKED "}", err));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        config = vit;
        config.mask_ratio = cases[i].ratio;
        if (strstr(cases[i].message, "|ok")) {
            WORKS(svit_model_create(&model, context, &config, 0, err));
            svit_model_free(model);
        } else {
            FAILS(svit_model_create(&model, context, &config, 0, err), SVIT_E_ARGUMENT,
                  cases[i].message);
        }
    }
    config = vit;
    config.classifier = 1;
    FAILS(svit_model_create(&model, context, &config, 0, err), SVIT_E_ARGUMENT,
          "this 'classifier'");
    config = vit;
    config.num_classes = 7;
    FAILS(svit_model_create(&model, context, &config, 0, err), SVIT_E_ARGUMENT, "num_classes is 7");
    config = fit_model_config(CLASSES);
    config.mask_ratio = 0.5;
    FAILS(svit_model_create(&model, context, &config, 0, err), SVIT_E_ARGUMENT,
          "in architecture 'shiftvit' it is 0");
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("masked");
    TCase *c = tcase_create("masked");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_masks_are_drawn_anew_for_each_image_of_each_forward);
    tcase_add_test(c, test_inference_has_one_mask);
    tcase_add_test(c, test_a_batch_is_its_images_one_by_one);
    tcase_add_test(c, test_frozen_layers_have_the_same_masks);
    tcase_add_test(c, test_the_targets_are_normalised_pixels);
    tcase_add_test(c, test_the_bits_do_not_depend_on_threads_and_memory_and_the_loss_falls);
    tcase_add_test(c, test_a_resumed_run_is_the_whole_run);
    tcase_add_test(c, test_names_of_classes_do_not_count);
    tcase_add_test(c, test_an_evaluation_says_that_it_has_no_classes);
    tcase_add_test(c, test_what_does_not_reconstruct_is_refused);
    tcase_add_test(c, test_versions_of_images_are_refused);
    tcase_add_test(c, test_targets_are_not_read);
    tcase_add_test(c, test_a_head_takes_the_place_of_the_decoder);
    tcase_add_loop_test(c, test_what_does_not_go_with_masks_is_named, 0,
                        sizeof wrong / sizeof *wrong);
    tcase_add_test(c, test_hostile_ratios_are_refused);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
