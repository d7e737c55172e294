/* Operations of predictors, and evaluation. */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>

static svit_predictor_config random_config(void)
{
    svit_predictor_config config;
    svit_predictor_config_init(&config, sizeof config);
    config.max_batch = calls_choose(4);
    config.compute = calls_choose(2) ? 0 : (int32_t)calls_choose(4);
    config.output = (int32_t)calls_choose(5);
    config.tta = (int32_t)calls_choose(4);
    return config;
}

static void create(void)
{
    const svit_predictor_config config = random_config();
    CREATE(
        predictors, svit_predictor_free,
        svit_predictor_create(OUT(predictors), fuzz_context(), calls_file("model"), &config, ERR));
}

static void create_from_model(void)
{
    const svit_predictor_config config = random_config();
    CREATE(predictors, svit_predictor_free,
           svit_predictor_create_from_model(OUT(predictors), ANY(models), &config, ERR));
}

/* The bytes of a file, at most `capacity`. */
static size_t read_file(const char *path, uint8_t *data, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    const size_t bytes = file ? fread(data, 1, capacity, file) : 0;
    if (file)
        fclose(file);
    return bytes;
}

static void create_from_memory(void)
{
    const svit_predictor_config config = random_config();
    uint8_t *data = malloc(NUMBERS);
    FUZZ_CHECK(data);
    const size_t bytes = read_file(calls_file("model"), data, NUMBERS);
    CREATE(predictors, svit_predictor_free,
           svit_predictor_create_from_memory(OUT(predictors), fuzz_context(), data, bytes, &config,
                                             ERR));
    free(data);
}

static void predict_u8(void)
{
    static const uint8_t pixels[4 * 8 * 8 * 4];
    const size_t n = calls_choose(4), height = calls_choose(9), width = calls_choose(9);
    TRY(svit_predict_u8(ANY(predictors), pixels, n, height, width, calls_results, ERR));
}

static void predict_f32(void)
{
    const size_t n = calls_choose(4), height = calls_choose(9), width = calls_choose(9);
    TRY(svit_predict_f32(ANY(predictors), calls_numbers, n, height, width, calls_results, ERR));
}

static void predict_file(void)
{
    TRY(svit_predict_file(ANY(predictors), calls_file("a.png"), calls_results, ERR));
}

static void predict_encoded(void)
{
    uint8_t data[2048];
    const size_t bytes = read_file(calls_file("a.png"), data, sizeof data);
    TRY(svit_predict_encoded(ANY(predictors), data, bytes, calls_results, ERR));
}

/* The records of the images, or NULL; some have a size that is refused. */
static svit_error *random_errors(svit_error errors[4])
{
    for (size_t i = 0; i < 4; i++)
        errors[i] = (svit_error){.struct_size = calls_choose(40) ? sizeof errors[i] : 7};
    return calls_choose(2) ? errors : NULL;
}

static void predict_files(void)
{
    svit_error errors[4];
    const char *paths[4];
    for (size_t i = 0; i < 4; i++)
        paths[i] = calls_file(calls_choose(3) ? "a.png" : "model");
    TRY(svit_predict_files(ANY(predictors), paths, calls_choose(5), calls_results,
                           random_errors(errors), ERR));
}

static void predict_encoded_images(void)
{
    svit_error errors[4];
    uint8_t file[2048];
    const void *data[4];
    size_t bytes[4];
    const size_t whole = read_file(calls_file("a.png"), file, sizeof file);
    for (size_t i = 0; i < 4; i++) {
        data[i] = file;
        bytes[i] = calls_choose(3) ? whole : calls_choose((uint32_t)whole + 1);
    }
    TRY(svit_predict_encoded_images(ANY(predictors), data, bytes, calls_choose(5), calls_results,
                                    random_errors(errors), ERR));
}

static void labels(void)
{
    const svit_predictor *predictor = ANY(predictors);
    int32_t found[4] = {0};
    const size_t classes = svit_predictor_classes(predictor);
    if (classes > 0 && classes <= NUMBERS / 4 &&
        TRY(svit_predictor_labels(predictor, calls_numbers, calls_choose(5), found, ERR)))
        for (size_t i = 0; i < 4; i++)
            FUZZ_CHECK(found[i] >= -1 && found[i] < (int32_t)classes);
}

static void read_names(void)
{
    const svit_predictor *predictor = ANY(predictors);
    for (size_t i = 0; i < svit_predictor_classes(predictor); i++)
        fuzz_check_text(svit_predictor_class_name(predictor, i));
}

static void evaluate(void)
{
    double loss, top1, top5;
    const svit_pipeline_config pipeline = small_pipeline();
    TRY(svit_evaluate_with_compute(fuzz_context(), ANY(models), ANY(datasets),
                                   calls_choose(2) ? &pipeline : NULL, calls_choose(4),
                                   (int32_t)calls_choose(4), &loss, &top1, &top5, ERR));
}

static void evaluate_logits(void)
{
    enum { LABELS = NUMBERS / 2 };
    const svit_pipeline_config pipeline = small_pipeline();
    TRY(svit_evaluate_logits(fuzz_context(), ANY(models), ANY(datasets), &pipeline, calls_choose(4),
                             0, (int32_t)calls_choose(4), calls_results, calls_labels + LABELS,
                             ERR));
}

static const calls_operation operations[] = {create,
                                             create_from_model,
                                             create_from_memory,
                                             predict_u8,
                                             predict_f32,
                                             predict_file,
                                             predict_encoded,
                                             read_names,
                                             evaluate,
                                             evaluate_logits,
                                             labels,
                                             predict_files,
                                             predict_encoded_images};
const calls_table calls_of_predictors = CALLS_TABLE(operations);
