/* Datasets of the samples of several others, one after another. */
#include "base/size.h"
#include "base/text/names.h"
#include "base/text/unique.h"
#include "data/datasets/dataset_ops.h"

#include <string.h>

typedef struct chain {
    svit_dataset base;
    svit_dataset **parts; /* [part_count], with the labels of the chain */
    size_t *ends;         /* [part_count] one past the last sample of each part */
    size_t part_count;
    char **names; /* [classes] copies; NULL: the names are those of each part, or there are none */
} chain;

/* Finds the part that has sample *index, which becomes its index there. */
static const svit_dataset *find_part(const chain *self, size_t *index)
{
    size_t low = 0, high = self->part_count - 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (self->ends[middle] <= *index)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0)
        *index -= self->ends[low - 1];
    return self->parts[low];
}

static svit_status chain_sample(const svit_dataset *dataset, size_t index,
                                const sv_first_crop *crop, void *pixels, int32_t *label,
                                svit_error *err)
{
    const svit_dataset *part = find_part((const chain *)dataset, &index);
    return part->ops->sample(part, index, crop, pixels, label, err);
}

static svit_status chain_label(const svit_dataset *dataset, size_t index, int32_t *label,
                               svit_error *err)
{
    const svit_dataset *part = find_part((const chain *)dataset, &index);
    return svit_dataset_label(part, index, label, err);
}

static svit_status chain_targets(const svit_dataset *dataset, size_t index, float *targets,
                                 svit_error *err)
{
    const svit_dataset *part = find_part((const chain *)dataset, &index);
    return svit_dataset_targets(part, index, targets, err);
}

static svit_status chain_path(const svit_dataset *dataset, size_t index, char **path,
                              svit_error *err)
{
    const svit_dataset *part = find_part((const chain *)dataset, &index);
    return sv_dataset_path(part, index, path, err);
}

static size_t chain_shard_end(const svit_dataset *dataset, size_t index)
{
    size_t within = index;
    const svit_dataset *part = find_part((const chain *)dataset, &within);
    return index - within + sv_dataset_shard_end(part, within);
}

static void chain_free(svit_dataset *dataset)
{
    chain *self = (chain *)dataset;
    const sv_allocator *allocator = &dataset->context->allocator;
    for (size_t i = 0; self->parts && i < self->part_count; i++)
        svit_dataset_free(self->parts[i]);
    sv_release(allocator, self->parts, self->part_count * sizeof *self->parts);
    sv_release(allocator, self->ends, self->part_count * sizeof *self->ends);
    sv_names_free(allocator, self->names, dataset->classes);
}

static const sv_dataset_ops CHAIN = {.bytes = sizeof(chain),
                                     .sample = chain_sample,
                                     .label = chain_label,
                                     .targets = chain_targets,
                                     .path = chain_path,
                                     .shard_end = chain_shard_end,
                                     .free = chain_free};

static bool same_names(const svit_dataset *a, const svit_dataset *b)
{
    if (a->classes != b->classes || !a->names || !b->names)
        return a->classes == b->classes && !a->names && !b->names;
    for (size_t k = 0; k < a->classes; k++)
        if (strcmp(a->names[k], b->names[k]) != 0)
            return false;
    return true;
}

/* SVIT_E_ARGUMENT unless parents[i] goes with the first one. */
static svit_status check_part(svit_dataset *const *parents, size_t i, svit_error *err)
{
    const svit_dataset *first = parents[0], *part = parents[i];
    if (part->height != first->height || part->width != first->width ||
        part->channels != first->channels || part->is_f32 != first->is_f32)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "parents[%zu] has images of %zu x %zu pixels, %zu channels and %s, "
                       "parents[0] of %zu x %zu, %zu and %s; all have the same",
                       i, part->height, part->width, part->channels,
                       part->is_f32 ? "floats" : "bytes", first->height, first->width,
                       first->channels, first->is_f32 ? "floats" : "bytes");
    if (part->has_targets != first->has_targets)
        return sv_fail(
            err, SVIT_E_ARGUMENT, "parents[%zu] has %s, parents[0] has %s; all have the same", i,
            part->has_targets ? "targets" : "labels", first->has_targets ? "targets" : "labels");
    if (!part->names != !first->names)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "parents[%zu] has %s class names, parents[0] has %s; all have them, or none",
                       i, part->names ? "its" : "no", first->names ? "its" : "none");
    if (part->has_targets && !same_names(part, first))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "the targets of parents[%zu] and of parents[0] differ: they have %zu and "
                       "%zu, which need the same names in the same order",
                       i, part->classes, first->classes);
    return SVIT_OK;
}

static svit_status check_parts(svit_dataset *const *parents, size_t count, svit_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!parents[i])
            return sv_fail(err, SVIT_E_ARGUMENT, "parents[%zu] is NULL; a dataset is needed", i);
        SVIT_TRY(check_part(parents, i, err));
    }
    return SVIT_OK;
}

/* Adds a part's samples, classes and flags to those of the chain. */
static svit_status add_form(chain *self, size_t i, svit_error *err)
{
    svit_dataset *base = &self->base;
    const svit_dataset *part = self->parts[i];
    if (!sv_size_add(&base->count, base->count, part->count))
        return sv_fail(err, SVIT_E_MEMORY, "the samples of all parents do not fit memory");
    self->ends[i] = base->count;
    base->classes = sv_size_max(base->classes, part->classes);
    base->is_of_files = base->is_of_files && part->is_of_files;
    base->caller_thread_only = base->caller_thread_only || part->caller_thread_only;
    base->varies = base->varies || part->varies;
    base->label_needs_image = base->label_needs_image || part->label_needs_image;
    return SVIT_OK;
}

/* Copies the names of all parts, each once, in the order in which they come. `texts` has room for
 * all, `places` for the largest number of classes. */
static svit_status unite(chain *self, const char **texts, size_t *places, svit_error *err)
{
    const sv_allocator *allocator = &self->base.context->allocator;
    size_t count = 0;
    for (size_t i = 0; i < self->part_count; i++)
        SVIT_TRY(sv_texts_append(texts, &count, places, self->parts[i]->names,
                                 self->parts[i]->classes, allocator, err));
    SVIT_TRY(sv_names_copy(&self->names, allocator, texts, count, "names", err));
    self->base.classes = count;
    self->base.names = (const char *const *)self->names;
    return SVIT_OK;
}

/* Puts a view with the names of the chain in the place of each part. */
static svit_status match_parts(chain *self, svit_error *err)
{
    for (size_t i = 0; i < self->part_count; i++) {
        svit_dataset *view = NULL;
        SVIT_TRY(svit_dataset_match_classes(&view, self->parts[i], self->base.names,
                                            self->base.classes, err));
        svit_dataset_free(self->parts[i]);
        self->parts[i] = view;
    }
    return SVIT_OK;
}

static svit_status unite_classes(chain *self, svit_error *err)
{
    const sv_allocator *allocator = &self->base.context->allocator;
    const size_t most = self->base.classes;
    size_t all = 0, *places = NULL;
    const char **texts = NULL;
    for (size_t i = 0; i < self->part_count; i++)
        if (!sv_size_add(&all, all, self->parts[i]->classes))
            return sv_fail(err, SVIT_E_MEMORY, "the classes of all parents do not fit memory");
    svit_status status =
        sv_allocate_array(allocator, (void **)&texts, all, sizeof *texts, "class names", err);
    if (status == SVIT_OK)
        status = sv_allocate_array(allocator, (void **)&places, most, sizeof *places,
                                   "the places of class names", err);
    if (status == SVIT_OK)
        status = unite(self, texts, places, err);
    sv_release(allocator, places, most * sizeof *places);
    sv_release(allocator, texts, all * sizeof *texts);
    return status == SVIT_OK ? match_parts(self, err) : status;
}

static bool have_same_names(const chain *self)
{
    size_t i = 1;
    while (i < self->part_count && same_names(self->parts[i], self->parts[0]))
        i++;
    return i == self->part_count;
}

static svit_status fill(chain *self, svit_dataset *const *parents, size_t count, svit_error *err)
{
    const sv_allocator *allocator = &self->base.context->allocator;
    self->part_count = count;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&self->parts, count, sizeof *self->parts,
                               "the parts of a dataset", err));
    SVIT_TRY(sv_allocate_array(allocator, (void **)&self->ends, count, sizeof *self->ends,
                               "the parts of a dataset", err));
    for (size_t i = 0; i < count; i++)
        self->parts[i] = sv_dataset_retain(parents[i]);
    self->base.count = 0;
    for (size_t i = 0; i < count; i++)
        SVIT_TRY(add_form(self, i, err));
    if (!self->base.names || have_same_names(self))
        return SVIT_OK;
    return unite_classes(self, err);
}

SVIT_API svit_status svit_dataset_concatenate(svit_dataset **out, svit_dataset *const *parents,
                                              size_t count, svit_error *err)
{
    SV_REQUIRE(out);
    SV_REQUIRE(parents);
    if (count == 0)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s: count is 0; 1 or more datasets are accepted",
                       __func__);
    SVIT_TRY(check_parts(parents, count, err));
    svit_dataset *dataset = NULL;
    SVIT_TRY(sv_dataset_create(&dataset, parents[0]->context, &CHAIN, err));
    sv_dataset_copy_form(dataset, parents[0]);
    const svit_status status = fill((chain *)dataset, parents, count, err);
    if (status == SVIT_OK)
        *out = dataset;
    else
        svit_dataset_free(dataset);
    return status;
}
