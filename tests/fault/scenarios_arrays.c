/* Scenarios of calls on plain arrays: losses, metrics and images. */
#include "scenario.h"

enum { N = COUNT, LOGITS = COUNT * CLASSES };

SCENARIO(svit_cross_entropy, NEEDS_NOTHING, PURE)
{
    return svit_cross_entropy(world_logits, world_labels, N, CLASSES, 0.1f, OUT(float, 1),
                              OUT(float, LOGITS), err);
}

SCENARIO(svit_cross_entropy_soft, NEEDS_NOTHING, PURE)
{
    return svit_cross_entropy_soft(world_logits, world_targets, N, CLASSES, OUT(float, 1),
                                   OUT(float, LOGITS), err);
}

SCENARIO(svit_cross_entropy_weighted, NEEDS_NOTHING, PURE)
{
    static const float weights[CLASSES] = {1, 2, 3};
    return svit_cross_entropy_weighted(world_logits, world_labels, weights, N, CLASSES, 0.1f,
                                       OUT(float, 1), OUT(float, LOGITS), err);
}

SCENARIO(svit_binary_cross_entropy, NEEDS_NOTHING, PURE)
{
    return svit_binary_cross_entropy(world_logits, world_targets, NULL, N, CLASSES, 0.1f,
                                     OUT(float, 1), OUT(float, LOGITS), err);
}

SCENARIO(svit_mean_squared_error, NEEDS_NOTHING, PURE)
{
    return svit_mean_squared_error(world_logits, world_targets, N, CLASSES, OUT(float, 1),
                                   OUT(float, LOGITS), err);
}

SCENARIO(svit_softmax, NEEDS_NOTHING, PURE)
{
    return svit_softmax(world_logits, N, CLASSES, OUT(float, LOGITS), err);
}

SCENARIO(svit_sigmoid, NEEDS_NOTHING, PURE)
{
    return svit_sigmoid(world_logits, N, CLASSES, OUT(float, LOGITS), err);
}

SCENARIO(svit_count_top1, NEEDS_NOTHING, PURE)
{
    return svit_count_top1(world_logits, world_labels, N, CLASSES, OUT(uint64_t, 1), err);
}

SCENARIO(svit_count_top_k, NEEDS_NOTHING, PURE)
{
    return svit_count_top_k(world_logits, world_labels, N, CLASSES, 2, OUT(uint64_t, 1), err);
}

SCENARIO(svit_confusion_matrix, NEEDS_NOTHING, PURE)
{
    return svit_confusion_matrix(world_logits, world_labels, N, CLASSES,
                                 OUT(uint64_t, CLASSES * CLASSES), err);
}

SCENARIO(svit_multilabel_metrics, NEEDS_NOTHING, PURE)
{
    return svit_multilabel_metrics(world_logits, world_targets, N, CLASSES, OUT(double, 1),
                                   OUT(double, 1), OUT(double, 1), OUT(double, 1), err);
}

SCENARIO(svit_choose_threshold, NEEDS_CONTEXT, 0)
{
    return svit_choose_threshold(w->has.context, world_logits, N, CLASSES, 0.9, OUT(double, 1),
                                 err);
}

SCENARIO(svit_average_precision, NEEDS_CONTEXT, 0)
{
    return svit_average_precision(w->has.context, world_logits, world_targets, N, CLASSES,
                                  OUT(double, CLASSES), err);
}

SCENARIO(svit_regression_errors, NEEDS_NOTHING, PURE)
{
    return svit_regression_errors(world_logits, world_targets, N, CLASSES, OUT(double, 1),
                                  OUT(double, 1), err);
}

SCENARIO(svit_resize_nearest_u8, NEEDS_NOTHING, PURE)
{
    return svit_resize_nearest_u8(world_bytes, SIDE, SIDE, OUT(uint8_t, 5 * 6 * 3), 5, 6, err);
}

SCENARIO(svit_resize_antialias_u8, NEEDS_CONTEXT, 0)
{
    return svit_resize_antialias_u8(w->has.context, world_bytes, SIDE, SIDE,
                                    OUT(uint8_t, 5 * 6 * 3), 5, 6, err);
}

SCENARIO(svit_resize_bilinear_f32, NEEDS_NOTHING, PURE)
{
    return svit_resize_bilinear_f32(world_images, SIDE, SIDE, 3, OUT(float, 5 * 6 * 3), 5, 6, err);
}

SCENARIO(svit_pixels_convert, NEEDS_NOTHING, PURE)
{
    static const uint8_t frame[2 * 9] = {0};
    return svit_pixels_convert(frame, SVIT_PIXELS_BGR, 2, 2, 9, OUT(uint8_t, 8), 4, err);
}

SCENARIO(svit_flip_horizontal_f32, NEEDS_NOTHING, PURE)
{
    return svit_flip_horizontal_f32(world_images, SIDE, SIDE, 3, OUT(float, PIXELS), err);
}

SCENARIO(svit_affine_f32, NEEDS_NOTHING, PURE)
{
    static const double transform[6] = {1, 0.5, 0, 0, 1, 0.25};
    return svit_affine_f32(world_images, SIDE, SIDE, 3, transform, OUT(float, PIXELS), err);
}

SCENARIO(svit_affine_rotation, NEEDS_NOTHING, PURE)
{
    return svit_affine_rotation(0.1, SIDE, SIDE, OUT(double, 6), err);
}

SCENARIO(svit_affine_zoom, NEEDS_NOTHING, PURE)
{
    return svit_affine_zoom(1.1, 0.9, SIDE, SIDE, OUT(double, 6), err);
}

SCENARIO(svit_patches_f32, NEEDS_NOTHING, PURE)
{
    return svit_patches_f32(world_images, SIDE, SIDE, 3, 4, 1, SVIT_SPT_KERAS,
                            OUT(float, 5 * PIXELS), err);
}

SCENARIO(svit_pipeline_apply_source, NEEDS_CONTEXT, 0)
{
    svit_pipeline_config config = world_pipeline();
    config.source_height = config.source_width = 6;
    config.source_filter = SVIT_SOURCE_BICUBIC;
    return svit_pipeline_apply_source(w->has.context, &config, world_bytes, SIDE, SIDE,
                                      OUT(uint8_t, 6 * 6 * 3), err);
}

SCENARIO(svit_pipeline_apply_evaluation, NEEDS_CONTEXT, 0)
{
    const svit_pipeline_config config = world_pipeline();
    return svit_pipeline_apply_evaluation(w->has.context, &config, world_bytes, 2, SIDE, SIDE,
                                          OUT(float, 2 * PIXELS), err);
}

SCENARIO(svit_pipeline_apply_evaluation_f32, NEEDS_CONTEXT, 0)
{
    const svit_pipeline_config config = world_pipeline();
    return svit_pipeline_apply_evaluation_f32(w->has.context, &config, world_images, 2, SIDE, SIDE,
                                              OUT(float, 2 * PIXELS), err);
}

SCENARIO(svit_image_read, NEEDS_CONTEXT, HAS_IMAGES)
{
    return svit_image_read(&w->made.image, w->has.context, world_asset("image.png"), 3, err);
}

SCENARIO(svit_image_decode, NEEDS_CONTEXT, HAS_IMAGES)
{
    return svit_image_decode(&w->made.image, w->has.context, world_png.data, world_png.bytes,
                             "a.png", 3, err);
}

VARIANT(svit_image_decode, jpeg, NEEDS_CONTEXT, HAS_IMAGES, NULL)
{
    return svit_image_decode(&w->made.image, w->has.context, world_jpeg.data, world_jpeg.bytes,
                             "a.jpg", 3, err);
}

SCENARIO(svit_image_write_png, NEEDS_CONTEXT | NEEDS_OLD_FILE, HAS_IMAGES | WRITES)
{
    return svit_image_write_png(w->has.context, TARGET, world_bytes, SIDE, SIDE, err);
}

GETTER(svit_image_endings, NEEDS_NOTHING, ())
GETTER(svit_image_free, NEEDS_NOTHING, (NULL))
GETTER(svit_image_height, NEEDS_NOTHING, (NULL))
GETTER(svit_image_width, NEEDS_NOTHING, (NULL))
GETTER(svit_image_channels, NEEDS_NOTHING, (NULL))
GETTER(svit_image_pixels, NEEDS_NOTHING, (NULL))
