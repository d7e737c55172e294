/* Datasets that the caller provides: arrays in memory, or a callback. */
#include "base/size.h"
#include "base/threads/fp_env.h"
#include "data/checks.h"
#include "data/datasets/dataset_ops.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct arrays {
    svit_dataset base;
    const char *pixels;    /* [count] images, of bytes or of floats */
    const int32_t *labels; /* NULL with targets */
    const float *targets;  /* NULL with labels */
} arrays;

typedef struct callback {
    svit_dataset base;
    svit_sample_callback sample;
    void *user;
} callback;

static svit_status arrays_label(const svit_dataset *dataset, size_t index, int32_t *label,
                                svit_error *err)
{
    (void)err;
    const arrays *self = (const arrays *)dataset;
    *label = self->labels ? self->labels[index] : -1;
    return SVIT_OK;
}

static svit_status arrays_sample(const svit_dataset *dataset, size_t index,
                                 const sv_first_crop *crop, void *pixels, int32_t *label,
                                 svit_error *err)
{
    (void)crop;
    const arrays *self = (const arrays *)dataset;
    size_t bytes = sv_dataset_image_bytes(dataset);
    memcpy(pixels, self->pixels + index * bytes, bytes);
    return arrays_label(dataset, index, label, err);
}

static svit_status arrays_targets(const svit_dataset *dataset, size_t index, float *targets,
                                  svit_error *err)
{
    (void)err;
    const arrays *self = (const arrays *)dataset;
    memcpy(targets, self->targets + index * dataset->classes, dataset->classes * sizeof *targets);
    return SVIT_OK;
}

static svit_status callback_sample(const svit_dataset *dataset, size_t index,
                                   const sv_first_crop *crop, void *pixels, int32_t *label,
                                   svit_error *err)
{
    (void)crop;
    const callback *self = (const callback *)dataset;
    int32_t given = -1;
    int32_t stop = self->sample(index, pixels, &given, self->user);
    if (stop != 0)
        return sv_fail(err, SVIT_E_STOPPED, "the sample callback returned %d at sample %zu",
                       (int)stop, index);
    if (given < 0 || (size_t)given >= dataset->classes)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "the sample callback gave sample %zu the label %d; 0..%zu are accepted",
                       index, (int)given, dataset->classes - 1);
    *label = given;
    return SVIT_OK;
}

static const sv_dataset_ops ARRAYS = {.bytes = sizeof(arrays),
                                      .sample = arrays_sample,
                                      .label = arrays_label,
                                      .targets = arrays_targets};
static const sv_dataset_ops CALLBACK = {.bytes = sizeof(callback), .sample = callback_sample};

static svit_status check_labels(const char *where, const int32_t *labels, size_t count,
                                size_t classes, svit_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (labels[i] < 0 || (size_t)labels[i] >= classes)
            return sv_fail(err, SVIT_E_ARGUMENT, "%s: labels[%zu] is %d; 0..%zu are accepted",
                           where, i, (int)labels[i], classes - 1);
    return SVIT_OK;
}

static svit_status check_targets(const char *where, const float *targets, size_t count,
                                 size_t columns, svit_error *err)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < columns; k++)
            if (!isfinite(targets[i * columns + k]))
                return sv_fail(err, SVIT_E_ARGUMENT,
                               "%s: target %zu of sample %zu is %g; it must be finite", where, k, i,
                               (double)targets[i * columns + k]);
    return SVIT_OK;
}

/* Wraps checked arrays, of which `labels` or `targets` is NULL. */
static svit_status arrays_create(svit_dataset **out, svit_context *context, const void *pixels,
                                 const int32_t *labels, const float *targets, size_t count,
                                 const sv_image_shape *shape, size_t classes, svit_error *err)
{
    svit_dataset *dataset = NULL;
    SVIT_TRY(sv_dataset_create_form(&dataset, context, &ARRAYS, count, shape, classes, err));
    dataset->has_targets = targets != NULL;
    arrays *self = (arrays *)dataset;
    self->pixels = pixels;
    self->labels = labels;
    self->targets = targets;
    *out = dataset;
    return SVIT_OK;
}

SVIT_API svit_status svit_dataset_memory(svit_dataset **out, svit_context *context,
                                         const uint8_t *pixels, const int32_t *labels, size_t count,
                                         size_t height, size_t width, size_t channels,
                                         size_t classes, svit_error *err)
{
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(pixels);
    SV_REQUIRE(labels);
    const sv_image_shape shape = {height, width, channels, false};
    SVIT_TRY(sv_dataset_check_form(__func__, count, count, &shape, classes, err));
    SVIT_TRY(check_labels(__func__, labels, count, classes, err));
    return arrays_create(out, context, pixels, labels, NULL, count, &shape, classes, err);
}

SVIT_API svit_status svit_dataset_memory_targets(svit_dataset **out, svit_context *context,
                                                 const uint8_t *pixels, const float *targets,
                                                 size_t count, size_t height, size_t width,
                                                 size_t channels, size_t columns, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(pixels);
    SV_REQUIRE(targets);
    const sv_image_shape shape = {height, width, channels, false};
    SVIT_TRY(sv_dataset_check_form(__func__, count, count, &shape, columns, err));
    SVIT_TRY(check_targets(__func__, targets, count, columns, err));
    return arrays_create(out, context, pixels, NULL, targets, count, &shape, columns, err);
}

SVIT_API svit_status svit_dataset_memory_f32(svit_dataset **out, svit_context *context,
                                             const float *images, const int32_t *labels,
                                             const float *targets, size_t count, size_t height,
                                             size_t width, size_t channels, size_t classes,
                                             svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(images);
    if (!labels == !targets)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s: labels and targets are %s; one of them is needed",
                       __func__, labels ? "both given" : "both NULL");
    const sv_image_shape shape = {height, width, channels, true};
    SVIT_TRY(sv_dataset_check_form(__func__, count, count, &shape, classes, err));
    if (labels)
        SVIT_TRY(check_labels(__func__, labels, count, classes, err));
    else
        SVIT_TRY(check_targets(__func__, targets, count, classes, err));
    SVIT_TRY(sv_check_values(__func__, images, count, height * width * channels, FLT_MAX, err));
    return arrays_create(out, context, images, labels, targets, count, &shape, classes, err);
}

SVIT_API svit_status svit_dataset_callback(svit_dataset **out, svit_context *context,
                                           svit_sample_callback sample, size_t count, size_t height,
                                           size_t width, size_t channels, size_t classes,
                                           void *user, svit_error *err)
{
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(sample);
    const sv_image_shape shape = {height, width, channels, false};
    SVIT_TRY(sv_dataset_check_form(__func__, count, 1, &shape, classes, err));
    svit_dataset *dataset = NULL;
    SVIT_TRY(sv_dataset_create_form(&dataset, context, &CALLBACK, count, &shape, classes, err));
    dataset->caller_thread_only = dataset->varies = true;
    dataset->label_needs_image = true;
    callback *self = (callback *)dataset;
    self->sample = sample;
    self->user = user;
    *out = dataset;
    return SVIT_OK;
}
