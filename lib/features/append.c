/* Appends one feature set to another. */
#include "base/size.h"
#include "base/text/names.h"
#include "base/text/unique.h"
#include "base/threads/fp_env.h"
#include "features/features.h"

#include <assert.h>
#include <string.h>

/* What the set becomes. All of it is allocated before the set changes. */
typedef struct joined {
    size_t count, classes;
    size_t capacity; /* samples in the two arrays */
    float *values;   /* NULL: the set's own arrays have room for all samples */
    int32_t *labels;
    char **names;       /* [classes] copies; NULL: none */
    size_t *map;        /* [other->classes]: the class in the joined set */
    const char **texts; /* [features->classes + other->classes] borrowed names */
} joined;

static svit_status check(const svit_features *features, const svit_features *other, svit_error *err)
{
    if (features == other)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "features and other are the same set; two sets are needed");
    if (features->channels != other->channels)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "the sets have %zu and %zu channels; both have the same number",
                       features->channels, other->channels);
    if (features->layer[0] && other->layer[0] && strcmp(features->layer, other->layer) != 0)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "the sets are of the layers '%.40s' and '%.40s'; both are of the same one",
                       features->layer, other->layer);
    if (features->tokens != other->tokens || features->grid_height != other->grid_height ||
        features->grid_width != other->grid_width)
        return sv_fail(
            err, SVIT_E_ARGUMENT,
            "the sets have %s of %zu x %zu and %s of %zu x %zu tokens; both have the same",
            sv_tokens_words[features->tokens], features->grid_height, features->grid_width,
            sv_tokens_words[other->tokens], other->grid_height, other->grid_width);
    if (features->classes > 0 && other->classes > 0 && !features->names != !other->names)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "only one of the sets has class names; both have them, or neither");
    return SVIT_OK;
}

/* Arrays for `count` samples, larger by half than those of the set, so that one that grows and
 * grows is copied a few times only. */
static svit_status allocate_samples(joined *to, const svit_features *features, size_t count,
                                    svit_error *err)
{
    const sv_allocator *allocator = &features->context->allocator;
    size_t elements;
    to->capacity = sv_size_max(count, features->capacity + features->capacity / 2);
    if (!sv_size_multiply(&elements, to->capacity, features->channels))
        return sv_fail(err, SVIT_E_MEMORY, "the features of both sets do not fit memory");
    SVIT_TRY(sv_allocate_uncleared(allocator, (void **)&to->values, elements, sizeof *to->values,
                                   "features", err));
    return sv_allocate_uncleared(allocator, (void **)&to->labels, to->capacity, sizeof *to->labels,
                                 "the labels of features", err);
}

static svit_status allocate(joined *to, const svit_features *features, const svit_features *other,
                            svit_error *err)
{
    const sv_allocator *allocator = &features->context->allocator;
    if (!sv_size_add(&to->count, features->count, other->count))
        return sv_fail(err, SVIT_E_MEMORY, "the features of both sets do not fit memory");
    if (to->count > features->capacity)
        SVIT_TRY(allocate_samples(to, features, to->count, err));
    SVIT_TRY(sv_allocate_array(allocator, (void **)&to->map, other->classes + 1, sizeof *to->map,
                               "classes", err));
    return sv_allocate_array(allocator, (void **)&to->texts, features->classes + other->classes + 1,
                             sizeof *to->texts, "classes", err);
}

static void release(joined *to, const svit_features *features, const svit_features *other)
{
    const sv_allocator *allocator = &features->context->allocator;
    sv_release(allocator, to->texts, (features->classes + other->classes + 1) * sizeof *to->texts);
    sv_release(allocator, to->map, (other->classes + 1) * sizeof *to->map);
    sv_names_free(allocator, to->names, to->classes);
    sv_release(allocator, to->labels, to->capacity * sizeof *to->labels);
    sv_release(allocator, to->values, to->capacity * features->channels * sizeof *to->values);
}

/* Finds the classes of `other` by name among those of `features`; new ones follow. */
static svit_status match_names(joined *to, const svit_features *features,
                               const svit_features *other, svit_error *err)
{
    const sv_allocator *allocator = &features->context->allocator;
    const char *const *names = (const char *const *)features->names;
    const char *const *others = (const char *const *)other->names;
    assert(names || features->classes == 0);
    assert(others || other->classes == 0);
    to->classes = features->classes;
    for (size_t k = 0; k < features->classes; k++)
        to->texts[k] = features->names[k];
    /* Parts of one set have the same labels, also where two classes have one name. */
    const size_t common = sv_names_common(names, features->classes, others, other->classes);
    if (common == features->classes && common == other->classes) {
        for (size_t k = 0; k < other->classes; k++)
            to->map[k] = k;
        return SVIT_OK;
    }
    SVIT_TRY(sv_names_check_distinct(names, features->classes, "features", allocator, err));
    SVIT_TRY(sv_names_check_distinct(others, other->classes, "other", allocator, err));
    return sv_texts_append(to->texts, &to->classes, to->map, others, other->classes, allocator,
                           err);
}

static svit_status match(joined *to, const svit_features *features, const svit_features *other,
                         svit_error *err)
{
    if (features->names || other->names) {
        SVIT_TRY(match_names(to, features, other, err));
    } else {
        to->classes = sv_size_max(features->classes, other->classes);
        for (size_t k = 0; k < other->classes; k++)
            to->map[k] = k;
    }
    if (to->classes > SV_FEATURES_CLASSES)
        return sv_fail(err, SVIT_E_ARGUMENT, "the sets have %zu classes together; %d is the most",
                       to->classes, SV_FEATURES_CLASSES);
    if (!features->names && !other->names)
        return SVIT_OK;
    return sv_names_copy(&to->names, &features->context->allocator, to->texts, to->classes,
                         "class_names", err);
}

/* Rows behind those of the set are none of its samples before the exchange. */
static void copy(const joined *to, const svit_features *features, const svit_features *other)
{
    const size_t c = features->channels, n = features->count;
    float *values = to->values ? to->values : features->values;
    int32_t *labels = to->labels ? to->labels : features->labels;
    if (to->values) {
        memcpy(values, features->values, n * c * sizeof *values);
        memcpy(labels, features->labels, n * sizeof *labels);
    }
    memcpy(values + n * c, other->values, other->count * c * sizeof *values);
    for (size_t i = 0; i < other->count; i++)
        labels[n + i] = other->labels[i] < 0 ? -1 : (int32_t)to->map[other->labels[i]];
}

/* Puts the joined arrays into the set, and the set's into *to. */
static void exchange(svit_features *features, joined *to)
{
    joined old = *to;
    if (to->values) {
        old.capacity = features->capacity;
        old.values = features->values;
        old.labels = features->labels;
        features->capacity = to->capacity;
        features->values = to->values;
        features->labels = to->labels;
    }
    old.classes = features->classes;
    old.names = features->names;
    features->count = to->count;
    features->classes = to->classes;
    features->names = to->names;
    *to = old;
}

static svit_status join(joined *to, svit_features *features, const svit_features *other,
                        svit_error *err)
{
    SVIT_TRY(allocate(to, features, other, err));
    SVIT_TRY(match(to, features, other, err));
    copy(to, features, other);
    return SVIT_OK;
}

SVIT_API svit_status svit_features_append(svit_features *features, const svit_features *other,
                                          svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(features);
    SV_REQUIRE(other);
    SVIT_TRY(check(features, other, err));
    joined to = {0};
    const svit_features sizes = *features; /* as `to` was allocated for; the exchange changes those
                                              of the set */
    svit_status status = join(&to, features, other, err);
    if (status == SVIT_OK) {
        if (features->model[0] && other->model[0] && strcmp(features->model, other->model) != 0)
            sv_context_warn(features->context,
                            "the features that are appended are those of another model");
        exchange(features, &to);
    }
    release(&to, &sizes, other);
    return status;
}
