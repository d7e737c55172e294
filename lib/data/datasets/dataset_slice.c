/* Datasets that are views of another one: a slice of consecutive samples, or a selection by
 * indices. */
#include "base/size.h"
#include "data/checks.h"
#include "data/datasets/dataset_ops.h"

#include <string.h>

typedef struct view {
    svit_dataset base;
    svit_dataset *parent;
    size_t first;    /* slice: the index of its first sample in the parent */
    size_t *indices; /* selection: [base.count] indices in the parent; slice: NULL */
    size_t *ends; /* selection: [base.count] the end of the shard of each sample; NULL: the parent
                        is one shard, so this is one too */
} view;

/* The index of a sample in the parent. */
static size_t parent_index(const view *self, size_t index)
{
    return self->indices ? self->indices[index] : self->first + index;
}

static svit_status view_sample(const svit_dataset *dataset, size_t index, const sv_first_crop *crop,
                               void *pixels, int32_t *label, svit_error *err)
{
    const view *self = (const view *)dataset;
    const svit_dataset *parent = self->parent;
    return parent->ops->sample(parent, parent_index(self, index), crop, pixels, label, err);
}

static svit_status view_label(const svit_dataset *dataset, size_t index, int32_t *label,
                              svit_error *err)
{
    const view *self = (const view *)dataset;
    return svit_dataset_label(self->parent, parent_index(self, index), label, err);
}

static svit_status view_targets(const svit_dataset *dataset, size_t index, float *targets,
                                svit_error *err)
{
    const view *self = (const view *)dataset;
    return svit_dataset_targets(self->parent, parent_index(self, index), targets, err);
}

static svit_status view_path(const svit_dataset *dataset, size_t index, char **path,
                             svit_error *err)
{
    const view *self = (const view *)dataset;
    return sv_dataset_path(self->parent, parent_index(self, index), path, err);
}

static size_t view_shard_end(const svit_dataset *dataset, size_t index)
{
    const view *self = (const view *)dataset;
    if (self->indices)
        return self->ends ? self->ends[index] : dataset->count;
    const size_t end = sv_dataset_shard_end(self->parent, self->first + index);
    return sv_size_min(end - self->first, dataset->count);
}

/* Samples of a selection are one shard as long as their indices in the parent ascend within one of
 * the parent's shards. */
static void find_ends(view *self)
{
    const size_t *indices = self->indices;
    for (size_t i = self->base.count, next = i; i-- > 0; next = i) {
        const bool goes_on = next < self->base.count && indices[next] > indices[i] &&
                             indices[next] < sv_dataset_shard_end(self->parent, indices[i]);
        self->ends[i] = goes_on ? self->ends[next] : next;
    }
}

static void view_free(svit_dataset *dataset)
{
    view *self = (view *)dataset;
    sv_release(&dataset->context->allocator, self->ends, dataset->count * sizeof *self->ends);
    sv_release(&dataset->context->allocator, self->indices, dataset->count * sizeof *self->indices);
    svit_dataset_free(self->parent);
}

static const sv_dataset_ops VIEW = {.bytes = sizeof(view),
                                    .sample = view_sample,
                                    .label = view_label,
                                    .targets = view_targets,
                                    .path = view_path,
                                    .shard_end = view_shard_end,
                                    .free = view_free};

static svit_status view_create(view **out, svit_dataset *parent, size_t count, svit_error *err)
{
    svit_dataset *dataset = NULL;
    SVIT_TRY(sv_dataset_create(&dataset, parent->context, &VIEW, err));
    sv_dataset_copy_form(dataset, parent);
    dataset->count = count;
    view *self = (view *)dataset;
    self->parent = sv_dataset_retain(parent);
    *out = self;
    return SVIT_OK;
}

SVIT_API svit_status svit_dataset_slice(svit_dataset **out, svit_dataset *parent, size_t first,
                                        size_t count, svit_error *err)
{
    SV_REQUIRE(out);
    SV_REQUIRE(parent);
    SVIT_TRY(sv_check_range(__func__, "first", first, 0, parent->count - 1, err));
    SVIT_TRY(sv_check_range(__func__, "count", count, 1, parent->count - first, err));
    view *slice = NULL;
    SVIT_TRY(view_create(&slice, parent, count, err));
    slice->first = first;
    *out = &slice->base;
    return SVIT_OK;
}

static svit_status take_indices(view *self, const size_t *indices, size_t bytes, svit_error *err)
{
    const sv_allocator *allocator = &self->base.context->allocator;
    self->indices = sv_allocate(allocator, bytes);
    if (!self->indices)
        return sv_fail_memory(err, bytes, "the indices of a dataset");
    memcpy(self->indices, indices, bytes);
    if (sv_dataset_shard_end(self->parent, 0) == self->parent->count)
        return SVIT_OK;
    self->ends = sv_allocate(allocator, bytes);
    if (!self->ends)
        return sv_fail_memory(err, bytes, "the shards of a dataset");
    find_ends(self);
    return SVIT_OK;
}

SVIT_API svit_status svit_dataset_select(svit_dataset **out, svit_dataset *parent,
                                         const size_t *indices, size_t count, svit_error *err)
{
    SV_REQUIRE(out);
    SV_REQUIRE(parent);
    SV_REQUIRE(indices);
    size_t bytes = 0;
    if (count < 1 || !sv_size_multiply(&bytes, count, sizeof *indices))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s: count is %zu; 1 or more are accepted, as far as they fit memory",
                       __func__, count);
    for (size_t i = 0; i < count; i++)
        if (indices[i] >= parent->count)
            return sv_fail(err, SVIT_E_ARGUMENT, "%s: indices[%zu] is %zu; 0..%zu are accepted",
                           __func__, i, indices[i], parent->count - 1);
    view *selection = NULL;
    SVIT_TRY(view_create(&selection, parent, count, err));
    const svit_status status = take_indices(selection, indices, bytes, err);
    if (status == SVIT_OK)
        *out = &selection->base;
    else
        svit_dataset_free(&selection->base);
    return status;
}
