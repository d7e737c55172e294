/* Parts of datasets: a range of samples, and a choice of samples. */
#include "base/size.h"
#include "data/checks.h"
#include "data/dataset_ops.h"

#include <string.h>

typedef struct part {
    svit_dataset base;
    svit_dataset *parent;
    size_t first;    /* of a slice */
    size_t *indices; /* of a selection, base.count of them */
} part;

static svit_status slice_sample(const svit_dataset *dataset, size_t index, uint8_t *rgb,
                                int32_t *label, svit_error *err)
{
    const part *slice = (const part *)dataset;
    return svit_dataset_sample(slice->parent, slice->first + index, rgb, label, err);
}

static svit_status selection_sample(const svit_dataset *dataset, size_t index, uint8_t *rgb,
                                    int32_t *label, svit_error *err)
{
    const part *selection = (const part *)dataset;
    return svit_dataset_sample(selection->parent, selection->indices[index], rgb, label, err);
}

static void part_end(svit_dataset *dataset)
{
    part *own = (part *)dataset;
    sv_release(&dataset->context->allocator, own->indices, dataset->count * sizeof *own->indices);
    svit_dataset_free(own->parent);
}

static const sv_dataset_ops SLICE = {sizeof(part), slice_sample, part_end};
static const sv_dataset_ops SELECTION = {sizeof(part), selection_sample, part_end};

static svit_status part_create(part **out, const sv_dataset_ops *table, svit_dataset *parent,
                               size_t count, svit_error *err)
{
    svit_dataset *dataset = NULL;
    SVIT_TRY(sv_dataset_create(&dataset, parent->context, table, err));
    dataset->count = count;
    dataset->height = parent->height;
    dataset->width = parent->width;
    dataset->classes = parent->classes;
    dataset->names = parent->names;
    dataset->caller_thread_only = parent->caller_thread_only;
    part *own = (part *)dataset;
    own->parent = sv_dataset_retain(parent);
    *out = own;
    return SVIT_OK;
}

SVIT_API svit_status svit_dataset_slice(svit_dataset **out, svit_dataset *parent, size_t first,
                                        size_t count, svit_error *err)
{
    SV_REQUIRE(out);
    SV_REQUIRE(parent);
    SVIT_TRY(sv_check_range(__func__, "first", first, 0, parent->count - 1, err));
    SVIT_TRY(sv_check_range(__func__, "count", count, 1, parent->count - first, err));
    part *slice = NULL;
    SVIT_TRY(part_create(&slice, &SLICE, parent, count, err));
    slice->first = first;
    *out = &slice->base;
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
                       "%s: count is %zu; at least 1, and what fits the memory, is accepted",
                       __func__, count);
    for (size_t i = 0; i < count; i++)
        if (indices[i] >= parent->count)
            return sv_fail(err, SVIT_E_ARGUMENT, "%s: indices[%zu] is %zu; 0..%zu are accepted",
                           __func__, i, indices[i], parent->count - 1);
    part *selection = NULL;
    SVIT_TRY(part_create(&selection, &SELECTION, parent, count, err));
    selection->indices = sv_allocate(&parent->context->allocator, bytes);
    if (!selection->indices) {
        svit_dataset_free(&selection->base);
        return sv_fail_memory(err, bytes, "the indices of a dataset");
    }
    memcpy(selection->indices, indices, bytes);
    *out = &selection->base;
    return SVIT_OK;
}
