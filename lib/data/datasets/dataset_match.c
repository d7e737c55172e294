/* Views of datasets whose labels are those of another list of class names. */
#include "base/text/names.h"
#include "base/text/unique.h"
#include "data/checks.h"
#include "data/datasets/dataset_ops.h"

typedef struct matched {
    svit_dataset base;
    svit_dataset *parent;
    char **names; /* [classes] copies */
    int32_t
        *labels; /* [label_count] the label of each class of the parent; NULL if it has targets */
    size_t label_count;
} matched;

static int32_t label_of(const matched *self, int32_t label)
{
    return self->labels ? self->labels[label] : label;
}

static svit_status matched_sample(const svit_dataset *dataset, size_t index,
                                  const sv_first_crop *crop, void *pixels, int32_t *label,
                                  svit_error *err)
{
    const matched *self = (const matched *)dataset;
    SVIT_TRY(self->parent->ops->sample(self->parent, index, crop, pixels, label, err));
    *label = label_of(self, *label);
    return SVIT_OK;
}

static svit_status matched_label(const svit_dataset *dataset, size_t index, int32_t *label,
                                 svit_error *err)
{
    const matched *self = (const matched *)dataset;
    SVIT_TRY(svit_dataset_label(self->parent, index, label, err));
    *label = label_of(self, *label);
    return SVIT_OK;
}

/* Called only for targets, which stay as they are. */
static svit_status matched_targets(const svit_dataset *dataset, size_t index, float *targets,
                                   svit_error *err)
{
    return svit_dataset_targets(((const matched *)dataset)->parent, index, targets, err);
}

static svit_status matched_path(const svit_dataset *dataset, size_t index, char **path,
                                svit_error *err)
{
    return sv_dataset_path(((const matched *)dataset)->parent, index, path, err);
}

static size_t matched_shard_end(const svit_dataset *dataset, size_t index)
{
    return sv_dataset_shard_end(((const matched *)dataset)->parent, index);
}

static void matched_free(svit_dataset *dataset)
{
    matched *self = (matched *)dataset;
    const sv_allocator *allocator = &dataset->context->allocator;
    sv_names_free(allocator, self->names, dataset->classes);
    sv_release(allocator, self->labels, self->label_count * sizeof *self->labels);
    svit_dataset_free(self->parent);
}

static const sv_dataset_ops MATCHED = {.bytes = sizeof(matched),
                                       .sample = matched_sample,
                                       .label = matched_label,
                                       .targets = matched_targets,
                                       .path = matched_path,
                                       .shard_end = matched_shard_end,
                                       .free = matched_free};

static svit_status fail_unknown(const matched *self, size_t class, svit_error *err)
{
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "class %zu, '%.60s', is none of the %zu names; the first is '%.60s'", class,
                   self->parent->names[class], self->base.classes, self->names[0]);
}

/* Takes the places of the names among the classes of the parent, parent->classes for those that are
 * none of them. A class that two names have would have two labels. */
static svit_status take_labels(matched *self, const size_t *places, svit_error *err)
{
    int32_t *labels = self->labels;
    for (size_t k = 0; k < self->label_count; k++)
        labels[k] = -1;
    for (size_t k = 0; k < self->base.classes; k++) {
        if (places[k] == self->label_count)
            continue;
        if (labels[places[k]] >= 0)
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "classes %d and %zu of the names are '%.60s', a class of the dataset; "
                           "different names are needed",
                           (int)labels[places[k]], k, self->names[k]);
        labels[places[k]] = (int32_t)k;
    }
    for (size_t k = 0; k < self->label_count; k++)
        if (labels[k] < 0)
            return fail_unknown(self, k, err);
    return SVIT_OK;
}

/* Finds the label of each class of the parent. */
static svit_status match_labels(matched *self, svit_error *err)
{
    void *memory = NULL;
    const svit_dataset *parent = self->parent;
    const sv_allocator *allocator = &parent->context->allocator;
    const size_t count = self->base.classes;
    SVIT_TRY(sv_allocate_array(allocator, &memory, parent->classes, sizeof *self->labels,
                               "the labels of a dataset", err));
    self->labels = memory;
    self->label_count = parent->classes;
    SVIT_TRY(
        sv_allocate_array(allocator, &memory, count, sizeof(size_t), "the places of names", err));
    size_t *places = memory;
    svit_status status = sv_texts_match(places, self->base.names, count, parent->names,
                                        parent->classes, allocator, err);
    if (status == SVIT_OK)
        status = take_labels(self, places, err);
    sv_release(allocator, places, count * sizeof *places);
    return status;
}

/* Fails unless the names are those of the parent in the same order: targets have no labels that
 * could be matched. */
static svit_status compare_names(const matched *self, svit_error *err)
{
    const svit_dataset *parent = self->parent, *base = &self->base;
    const bool as_many = parent->classes == base->classes;
    const size_t k =
        as_many ? sv_names_common(parent->names, base->classes, base->names, base->classes) : 0;
    if (k == base->classes)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "the dataset has %zu targets, from '%.60s' on; the %zu names, from '%.60s' on, "
                   "must be the same in the same order",
                   parent->classes, parent->names[k], base->classes, base->names[k]);
}

static svit_status fill(matched *self, const char *const *names, svit_error *err)
{
    SVIT_TRY(sv_names_copy(&self->names, &self->base.context->allocator, names, self->base.classes,
                           "names", err));
    self->base.names = (const char *const *)self->names;
    if (self->base.has_targets)
        return compare_names(self, err);
    SVIT_TRY(sv_names_check_distinct(self->parent->names, self->parent->classes, "the dataset",
                                     &self->parent->context->allocator, err));
    return match_labels(self, err);
}

SVIT_API svit_status svit_dataset_match_classes(svit_dataset **out, svit_dataset *parent,
                                                const char *const *names, size_t count,
                                                svit_error *err)
{
    SV_REQUIRE(out);
    SV_REQUIRE(parent);
    SV_REQUIRE(names);
    SVIT_TRY(sv_check_range(__func__, "count", count, 1, INT32_MAX, err));
    if (!parent->names)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s: parent has no class names; a dataset with names is needed", __func__);
    svit_dataset *dataset = NULL;
    SVIT_TRY(sv_dataset_create(&dataset, parent->context, &MATCHED, err));
    sv_dataset_copy_form(dataset, parent);
    matched *self = (matched *)dataset;
    self->parent = sv_dataset_retain(parent);
    dataset->classes = count;
    dataset->names = NULL;
    svit_status status = fill(self, names, err);
    if (status != SVIT_OK) {
        svit_dataset_free(dataset);
        return status;
    }
    *out = dataset;
    return SVIT_OK;
}
