/* Feature sets: creation, release and access to their fields. */
#include "features/features.h"

#include "base/numbers/finite.h"
#include "base/size.h"
#include "base/text/names.h"
#include "base/threads/fp_env.h"

#include <string.h>

svit_status sv_features_set_names(svit_features *features, const char *const *names,
                                  svit_error *err)
{
    return sv_names_copy(&features->names, &features->context->allocator, names, features->classes,
                         "class_names", err);
}

svit_status sv_features_set_text(svit_features *features, char **text, const char *value,
                                 svit_error *err)
{
    const sv_allocator *allocator = &features->context->allocator;
    char *copy = sv_copy_text(allocator, value);
    if (!copy)
        return sv_fail_memory(err, strlen(value) + 1, "a text of a feature set");
    sv_release_text(allocator, *text);
    *text = copy;
    return SVIT_OK;
}

static svit_status allocate(svit_features *features, svit_error *err)
{
    const sv_allocator *allocator = &features->context->allocator;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&features->values,
                               features->count * features->channels, sizeof *features->values,
                               "features", err));
    SVIT_TRY(sv_allocate_array(allocator, (void **)&features->labels, features->count,
                               sizeof *features->labels, "the labels of features", err));
    for (size_t i = 0; i < features->count; i++)
        features->labels[i] = -1;
    SVIT_TRY(sv_features_set_text(features, &features->layer, "", err));
    return sv_features_set_text(features, &features->model, "", err);
}

const char *const sv_tokens_words[] = {SV_TOKENS_WORDS};

svit_status sv_features_open(svit_features **out, svit_context *context, size_t count,
                             size_t channels, size_t classes, svit_error *err)
{
    size_t bytes;
    if (!sv_size_multiply(&bytes, count, channels) ||
        !sv_size_multiply(&bytes, bytes, sizeof(float)))
        return sv_fail(err, SVIT_E_MEMORY, "%zu x %zu features do not fit memory", count, channels);
    svit_features *features;
    SVIT_TRY(sv_allocate_array(&context->allocator, (void **)&features, 1, sizeof *features,
                               "a feature set", err));
    features->context = sv_context_retain(context);
    features->count = features->capacity = count;
    features->channels = channels;
    features->classes = classes;
    features->grid_height = features->grid_width = 1;
    svit_status status = allocate(features, err);
    if (status == SVIT_OK)
        *out = features;
    else
        svit_features_free(features);
    return status;
}

/* Returns the index of the first label outside of -1..classes - 1; count if there is none. */
static size_t bad_label(const int32_t *labels, size_t count, size_t classes)
{
    size_t i = 0;
    while (i < count && labels[i] >= -1 && labels[i] < (int64_t)classes)
        i++;
    return i;
}

static svit_status check_sizes(size_t count, size_t channels, size_t classes, svit_error *err)
{
    if (count < 1 || channels < 1 || channels > SV_FEATURES_CHANNELS)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "count and channels are %zu and %zu; count is at least 1, channels is 1..%d",
                       count, channels, SV_FEATURES_CHANNELS);
    if (classes > SV_FEATURES_CLASSES)
        return sv_fail(err, SVIT_E_ARGUMENT, "classes is %zu; it is 0..%d", classes,
                       SV_FEATURES_CLASSES);
    return SVIT_OK;
}

/* Copies the caller's arrays, in which the set's sizes fit, and checks the copies. */
static svit_status fill(svit_features *self, const float *values, const int32_t *labels,
                        const char *const *names, svit_error *err)
{
    const size_t elements = self->count * self->channels;
    memcpy(self->values, values, elements * sizeof *values);
    size_t bad = sv_first_not_finite(self->values, elements);
    if (bad < elements)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "features[%zu, %zu] is %g; all features must be finite",
                       bad / self->channels, bad % self->channels, (double)self->values[bad]);
    if (labels)
        memcpy(self->labels, labels, self->count * sizeof *labels);
    bad = bad_label(self->labels, self->count, self->classes);
    if (bad < self->count)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "labels[%zu] is %d; with %zu classes labels are -1 to %lld", bad,
                       (int)self->labels[bad], self->classes, (long long)self->classes - 1);
    return sv_features_set_names(self, names, err);
}

SVIT_API svit_status svit_features_create(svit_features **out, svit_context *context,
                                          const float *features, const int32_t *labels,
                                          size_t count, size_t channels, size_t classes,
                                          const char *const *class_names, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(features);
    SVIT_TRY(check_sizes(count, channels, classes, err));
    svit_features *made;
    SVIT_TRY(sv_features_open(&made, context, count, channels, classes, err));
    svit_status status = fill(made, features, labels, class_names, err);
    if (status == SVIT_OK)
        *out = made;
    else
        svit_features_free(made);
    return status;
}

SVIT_API void svit_features_free(svit_features *features)
{
    if (!features)
        return;
    svit_context *context = features->context;
    const sv_allocator *allocator = &context->allocator;
    sv_release_text(allocator, features->model);
    sv_release_text(allocator, features->layer);
    sv_names_free(allocator, features->names, features->classes);
    sv_release(allocator, features->labels, features->capacity * sizeof *features->labels);
    sv_release(allocator, features->values,
               features->capacity * features->channels * sizeof *features->values);
    sv_release(allocator, features, sizeof *features);
    svit_context_free(context);
}

SVIT_API size_t svit_features_count(const svit_features *features)
{
    return features ? features->count : 0;
}

SVIT_API size_t svit_features_channels(const svit_features *features)
{
    return features ? features->channels : 0;
}

SVIT_API size_t svit_features_classes(const svit_features *features)
{
    return features ? features->classes : 0;
}

SVIT_API const float *svit_features_values(const svit_features *features)
{
    return features ? features->values : NULL;
}

SVIT_API const int32_t *svit_features_labels(const svit_features *features)
{
    return features ? features->labels : NULL;
}

SVIT_API const char *svit_features_class_name(const svit_features *features, size_t label)
{
    return features && features->names && label < features->classes ? features->names[label] : NULL;
}

SVIT_API const char *svit_features_layer(const svit_features *features)
{
    return features ? features->layer : NULL;
}

SVIT_API const char *svit_features_model(const svit_features *features)
{
    return features ? features->model : NULL;
}

SVIT_API svit_status svit_features_grid(const svit_features *features, int32_t *tokens,
                                        size_t *height, size_t *width, svit_error *err)
{
    SV_REQUIRE(features);
    SV_REQUIRE(tokens);
    SV_REQUIRE(height);
    SV_REQUIRE(width);
    *tokens = features->tokens;
    *height = features->grid_height;
    *width = features->grid_width;
    return SVIT_OK;
}
