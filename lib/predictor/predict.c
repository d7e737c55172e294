/* Predictions of arrays of images: preprocessing, model, and what is made of the logits. */
#include "predictor/predictor.h"

#include "base/threads/fp_env.h"
#include "context/context.h"
#include "data/augmentation/pipeline.h"
#include "data/decoding/image_shape.h"
#include "losses/loss.h"
#include "models/parts/text_head.h"

#include <shiftvit/loss.h>

SVIT_API svit_status svit_predictor_labels(const svit_predictor *predictor,
                                           const float *probabilities, size_t n, int32_t *labels,
                                           svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(predictor);
    SV_REQUIRE(probabilities);
    SV_REQUIRE(labels);
    if (predictor->output != SVIT_OUTPUT_SOFTMAX)
        return sv_fail(err, SVIT_E_STATE,
                       "the predictor makes no probabilities of classes; one with "
                       "SVIT_OUTPUT_SOFTMAX does");
    const size_t classes = svit_predictor_classes(predictor);
    for (size_t i = 0; i < n; i++, probabilities += classes) {
        const size_t best = sv_largest_index(probabilities, classes);
        const bool none = sv_row_has_nan(probabilities, classes) ||
                          (double)probabilities[best] < predictor->threshold;
        labels[i] = none ? -1 : (int32_t)best;
    }
    return SVIT_OK;
}

/* Turns the logits of n images into the outputs, in place. */
static svit_status apply_output(const svit_predictor *predictor, float *logits, size_t n,
                                svit_error *err)
{
    size_t classes = svit_predictor_classes(predictor);
    switch (predictor->output) {
    case SVIT_OUTPUT_SIGMOID:
        return svit_sigmoid(logits, n, classes, logits, err);
    case SVIT_OUTPUT_LOGITS:
        return SVIT_OK;
    default:
        return svit_softmax(logits, n, classes, logits, err);
    }
}

svit_status sv_predictor_forward(svit_predictor *predictor, size_t first, size_t n,
                                 float *probabilities, svit_error *err)
{
    float *logits = predictor->embeddings ? predictor->embeddings : probabilities;
    SVIT_TRY(sv_views_forward(&predictor->views, predictor->session, predictor->inputs, n, first,
                              logits, err));
    if (predictor->embeddings)
        sv_text_head_apply(predictor->model->text_head, probabilities, logits, n);
    return apply_output(predictor, probabilities, n, err);
}

/* A call, and where its probabilities go. */
typedef struct prediction {
    svit_predictor *predictor;
    float *probabilities;
} prediction;

static svit_status take_batch(void *user, size_t first, size_t n, svit_error *err)
{
    const prediction *self = user;
    const size_t classes = svit_predictor_classes(self->predictor);
    return sv_predictor_forward(self->predictor, first, n, self->probabilities + first * classes,
                                err);
}

/* Predicts n images, bytes or floats. */
static svit_status predict(const char *where, svit_predictor *predictor, const void *images,
                           size_t n, const sv_image_shape *shape, float *probabilities,
                           svit_error *err)
{
    const sv_pipeline_taker taker = {.config = &predictor->pipeline,
                                     .context = predictor->context,
                                     .batch = predictor->max_batch,
                                     .inputs = predictor->inputs,
                                     .take = take_batch,
                                     .user = &(prediction){predictor, probabilities}};
    return sv_pipeline_evaluate_for(&taker, where, images, n, shape, err);
}

SVIT_API svit_status svit_predict_u8(svit_predictor *predictor, const uint8_t *pixels, size_t n,
                                     size_t height, size_t width, float *probabilities,
                                     svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(predictor);
    SV_REQUIRE(pixels);
    SV_REQUIRE(probabilities);
    const sv_image_shape shape = {height, width, predictor->pipeline.channels, false};
    return predict(__func__, predictor, pixels, n, &shape, probabilities, err);
}

SVIT_API svit_status svit_predict_f32(svit_predictor *predictor, const float *images, size_t n,
                                      size_t height, size_t width, float *probabilities,
                                      svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(predictor);
    SV_REQUIRE(images);
    SV_REQUIRE(probabilities);
    const sv_image_shape shape = {height, width, predictor->pipeline.channels, true};
    return predict(__func__, predictor, images, n, &shape, probabilities, err);
}
