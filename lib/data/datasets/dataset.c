/* What all kinds of datasets share: reference counts, sizes, class names, reading a sample. */
#include "base/files/path.h"
#include "base/threads/fp_env.h"
#include "data/datasets/dataset_ops.h"

#include "config/json.h"
#include "data/checks.h"

#include <string.h>

svit_status sv_dataset_create(svit_dataset **out, svit_context *context, const sv_dataset_ops *ops,
                              svit_error *err)
{
    svit_dataset *dataset = sv_allocate(&context->allocator, ops->bytes);
    if (!dataset)
        return sv_fail_memory(err, ops->bytes, "a dataset");
    memset(dataset, 0, ops->bytes);
    atomic_init(&dataset->references, 1);
    dataset->context = sv_context_retain(context);
    dataset->ops = ops;
    dataset->channels = SV_RGB;
    *out = dataset;
    return SVIT_OK;
}

svit_status sv_dataset_check_form(const char *where, size_t count, size_t kept,
                                  const sv_image_shape *shape, size_t classes, svit_error *err)
{
    SVIT_TRY(sv_check_sides(where, "", shape->height, shape->width, err));
    SVIT_TRY(sv_check_range(where, "channels", shape->channels, 1, SV_CHANNEL_LIMIT, err));
    SVIT_TRY(sv_check_range(where, "classes", classes, 1, INT32_MAX, err));
    enum { COPIES = 8 }; /* of an image, that augmentation may want beside each other */
    size_t bytes = 0;
    const size_t image[] = {shape->height, shape->width, sv_image_pixel_bytes(shape), COPIES};
    if (!sv_size_product(&bytes, image, sizeof image / sizeof *image))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s: images of %zu x %zu pixels and %zu channels do not fit memory", where,
                       shape->height, shape->width, shape->channels);
    if (count < 1 || !sv_size_multiply(&bytes, kept, bytes / COPIES))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s: count is %zu; 1 or more are accepted, as far as they fit memory", where,
                       count);
    return SVIT_OK;
}

svit_status sv_dataset_create_form(svit_dataset **out, svit_context *context,
                                   const sv_dataset_ops *ops, size_t count,
                                   const sv_image_shape *shape, size_t classes, svit_error *err)
{
    svit_dataset *dataset = NULL;
    SVIT_TRY(sv_dataset_create(&dataset, context, ops, err));
    dataset->count = count;
    dataset->height = shape->height;
    dataset->width = shape->width;
    dataset->channels = shape->channels;
    dataset->is_f32 = shape->is_f32;
    dataset->classes = classes;
    *out = dataset;
    return SVIT_OK;
}

void sv_dataset_copy_form(svit_dataset *view, const svit_dataset *parent)
{
    view->count = parent->count;
    view->height = parent->height;
    view->width = parent->width;
    view->channels = parent->channels;
    view->classes = parent->classes;
    view->names = parent->names;
    view->is_f32 = parent->is_f32;
    view->has_targets = parent->has_targets;
    view->is_of_files = parent->is_of_files;
    view->is_of_shards = parent->is_of_shards;
    view->caller_thread_only = parent->caller_thread_only;
    view->varies = parent->varies;
    view->label_needs_image = parent->label_needs_image;
}

void sv_dataset_set_files(svit_dataset *dataset, const sv_source *source)
{
    dataset->height = source->height;
    dataset->width = source->width;
    dataset->channels = source->channels;
    dataset->is_of_files = true;
}

svit_dataset *sv_dataset_retain(svit_dataset *dataset)
{
    atomic_fetch_add_explicit(&dataset->references, 1, memory_order_relaxed);
    return dataset;
}

SVIT_API void svit_dataset_free(svit_dataset *dataset)
{
    if (!dataset || atomic_fetch_sub_explicit(&dataset->references, 1, memory_order_acq_rel) > 1)
        return;
    svit_context *context = dataset->context;
    if (dataset->ops->free)
        dataset->ops->free(dataset);
    sv_release_text(&context->allocator, dataset->home);
    sv_release(&context->allocator, dataset, dataset->ops->bytes);
    svit_context_free(context);
}

size_t sv_dataset_shard_end(const svit_dataset *dataset, size_t index)
{
    return dataset->ops->shard_end ? dataset->ops->shard_end(dataset, index) : dataset->count;
}

sv_image_shape sv_dataset_shape(const svit_dataset *dataset)
{
    return (sv_image_shape){dataset->height, dataset->width, dataset->channels, dataset->is_f32};
}

size_t sv_dataset_image_bytes(const svit_dataset *dataset)
{
    const sv_image_shape shape = sv_dataset_shape(dataset);
    return sv_image_bytes(&shape);
}

svit_status sv_dataset_path(const svit_dataset *dataset, size_t index, char **path, svit_error *err)
{
    *path = NULL;
    return dataset->ops->path ? dataset->ops->path(dataset, index, path, err) : SVIT_OK;
}

svit_status sv_dataset_file(const svit_dataset *dataset, size_t index, char **path, svit_error *err)
{
    const sv_allocator *allocator = &dataset->context->allocator;
    char *shown = NULL;
    SVIT_TRY(dataset->ops->path(dataset, index, &shown, err));
    const svit_status status = sv_path_from(path, allocator, dataset->home, shown, err);
    sv_release_text(allocator, shown);
    return status;
}

SVIT_API svit_status svit_dataset_path(const svit_dataset *dataset, size_t index, char *buffer,
                                       size_t capacity, size_t *needed, svit_error *err)
{
    SV_REQUIRE(dataset);
    SVIT_TRY(sv_check_range(__func__, "index", index, 0, dataset->count - 1, err));
    char *path = NULL;
    SVIT_TRY(sv_dataset_path(dataset, index, &path, err));
    svit_status status = sv_text_to_buffer(path ? path : "", buffer, capacity, needed, err);
    sv_release_text(&dataset->context->allocator, path);
    return status;
}

SVIT_API size_t svit_dataset_count(const svit_dataset *dataset)
{
    return dataset ? dataset->count : 0;
}

SVIT_API size_t svit_dataset_height(const svit_dataset *dataset)
{
    return dataset ? dataset->height : 0;
}

SVIT_API size_t svit_dataset_width(const svit_dataset *dataset)
{
    return dataset ? dataset->width : 0;
}

SVIT_API size_t svit_dataset_channels(const svit_dataset *dataset)
{
    return dataset ? dataset->channels : 0;
}

SVIT_API int32_t svit_dataset_is_f32(const svit_dataset *dataset)
{
    return dataset ? dataset->is_f32 : 0;
}

SVIT_API size_t svit_dataset_classes(const svit_dataset *dataset)
{
    return dataset ? dataset->classes : 0;
}

SVIT_API const char *svit_dataset_class_name(const svit_dataset *dataset, size_t label)
{
    if (!dataset || !dataset->names || label >= dataset->classes)
        return NULL;
    return dataset->names[label];
}

SVIT_API svit_status svit_dataset_sample(const svit_dataset *dataset, size_t index, uint8_t *pixels,
                                         int32_t *label, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(dataset);
    SV_REQUIRE(pixels);
    SV_REQUIRE(label);
    SVIT_TRY(sv_check_range(__func__, "index", index, 0, dataset->count - 1, err));
    if (dataset->is_f32)
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "%s: the images are float; svit_dataset_sample_f32 reads them", __func__);
    int32_t found;
    SVIT_TRY(dataset->ops->sample(dataset, index, NULL, pixels, &found, err));
    *label = found;
    return SVIT_OK;
}

SVIT_API svit_status svit_dataset_sample_f32(const svit_dataset *dataset, size_t index,
                                             float *image, int32_t *label, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(dataset);
    SV_REQUIRE(image);
    SV_REQUIRE(label);
    SVIT_TRY(sv_check_range(__func__, "index", index, 0, dataset->count - 1, err));
    size_t elements = dataset->height * dataset->width * dataset->channels;
    int32_t found;
    if (dataset->is_f32) {
        SVIT_TRY(dataset->ops->sample(dataset, index, NULL, image, &found, err));
        *label = found;
        return SVIT_OK;
    }
    /* Bytes are read into the end of the array, where each is still unchanged when its turn comes
     * to become a float. */
    uint8_t *bytes = (uint8_t *)(image + elements) - elements;
    SVIT_TRY(dataset->ops->sample(dataset, index, NULL, bytes, &found, err));
    *label = found;
    for (size_t i = 0; i < elements; i++) {
        uint8_t byte = bytes[i];
        image[i] = byte;
    }
    return SVIT_OK;
}

SVIT_API int32_t svit_dataset_has_targets(const svit_dataset *dataset)
{
    return dataset ? dataset->has_targets : 0;
}

/* Reads a sample for its label alone. */
static svit_status label_of_sample(const svit_dataset *dataset, size_t index, int32_t *label,
                                   svit_error *err)
{
    const sv_allocator *allocator = &dataset->context->allocator;
    void *pixels = NULL;
    SVIT_TRY(
        sv_allocate_array(allocator, &pixels, sv_dataset_image_bytes(dataset), 1, "an image", err));
    svit_status status = dataset->ops->sample(dataset, index, NULL, pixels, label, err);
    sv_release(allocator, pixels, sv_dataset_image_bytes(dataset));
    return status;
}

svit_status sv_dataset_check_labels(const svit_dataset *dataset, const char *what, svit_error *err)
{
    if (!dataset->has_targets && !dataset->label_needs_image)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_UNSUPPORTED, "%s needs the labels of all samples; %s", what,
                   dataset->has_targets
                       ? "this dataset has targets instead of labels"
                       : "the functions of this dataset do not tell them apart from its images");
}

SVIT_API svit_status svit_dataset_label(const svit_dataset *dataset, size_t index, int32_t *label,
                                        svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(dataset);
    SV_REQUIRE(label);
    SVIT_TRY(sv_check_range(__func__, "index", index, 0, dataset->count - 1, err));
    if (dataset->ops->label)
        return dataset->ops->label(dataset, index, label, err);
    return label_of_sample(dataset, index, label, err);
}

SVIT_API svit_status svit_dataset_targets(const svit_dataset *dataset, size_t index, float *targets,
                                          svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(dataset);
    SV_REQUIRE(targets);
    SVIT_TRY(sv_check_range(__func__, "index", index, 0, dataset->count - 1, err));
    if (dataset->has_targets)
        return dataset->ops->targets(dataset, index, targets, err);
    int32_t label = 0;
    SVIT_TRY(svit_dataset_label(dataset, index, &label, err));
    memset(targets, 0, dataset->classes * sizeof *targets);
    targets[label] = 1;
    return SVIT_OK;
}
