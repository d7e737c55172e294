/* Predictors: one model file, images in, class probabilities out. */
#ifndef SHIFTVIT_PREDICTOR_H
#define SHIFTVIT_PREDICTOR_H

#include <shiftvit/image.h>
#include <shiftvit/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Model, preprocessing and class names from one file. One thread at a time. */
typedef struct svit_predictor svit_predictor;

typedef struct svit_predictor_config {
    uint32_t struct_size; /* sizeof(svit_predictor_config) */
    uint32_t max_batch;   /* images computed at once, 1..65536; more are taken in turns */
    int32_t compute;      /* SVIT_COMPUTE_* */
} svit_predictor_config;

/* Fills `config`: max_batch 32, float32. */
SVIT_API svit_status svit_predictor_config_init(svit_predictor_config *config, size_t size);

/* Creates a predictor from a model file, which it maps (svit_model_map says what must not be done
 * to the file then); `*out` is owned by the caller, free with svit_predictor_free. `config` may be
 * NULL for the defaults. SVIT_E_ARGUMENT: the file carries no preprocessing. Else as
 * svit_model_load. */
SVIT_API svit_status svit_predictor_create(svit_predictor **out, svit_context *context,
                                           const char *path, const svit_predictor_config *config,
                                           svit_error *err);

/* As svit_predictor_create, over a model in memory, which it keeps alive; svit_model_set_pipeline
 * must have been called on it. */
SVIT_API svit_status svit_predictor_create_from_model(svit_predictor **out, svit_model *model,
                                                      const svit_predictor_config *config,
                                                      svit_error *err);

/* NULL allowed. */
SVIT_API void svit_predictor_free(svit_predictor *predictor);

/* The number of classes; 0 for NULL. */
SVIT_API size_t svit_predictor_classes(const svit_predictor *predictor);

/* The name of a class; NULL where the file has none or past the end. Borrowed until
 * svit_predictor_free. */
SVIT_API const char *svit_predictor_class_name(const svit_predictor *predictor, size_t label);

/* probabilities[n, classes] of n images rgb[n, height, width, 3] of any one size: the evaluation
 * pipeline, which begins with its source step (pipeline.h), the model, softmax. n at least 1.
 * SVIT_E_NUMERIC names the first image, from 0, and logit that is not finite. */
SVIT_API svit_status svit_predict_u8(svit_predictor *predictor, const uint8_t *rgb, size_t n,
                                     size_t height, size_t width, float *probabilities,
                                     svit_error *err);

/* probabilities[classes] of one JPEG or PNG file, read as by svit_image_read. */
SVIT_API svit_status svit_predict_file(svit_predictor *predictor, const char *path,
                                       float *probabilities, svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
