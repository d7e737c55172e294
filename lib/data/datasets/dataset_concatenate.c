/* Datasets of the samples of several others, one after another. */
#include "base/size.h"
#include "base/text/names.h"
#include "base/text/unique.h"
#include "data/datasets/dataset_ops.h"

#include <stdio.h>

typedef struct part {
    svit_dataset *set; /* with the labels of the chain */
    size_t end;        /* one past its last sample in the chain */
} part;

typedef struct chain {
    svit_dataset base;
    part *parts; /* [part_count] */
    size_t part_count;
    char **names; /* [classes] copies; NULL: the names are those of each part, or there are none */
} chain;

/* Finds the part that has sample *index, which becomes its index there. */
static const svit_dataset *find_part(const chain *self, size_t *index)
{
    size_t low = 0, high = self->part_count - 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (self->parts[middle].end <= *index)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0)
        *index -= self->parts[low - 1].end;
    return self->parts[low].set;
}

static svit_status chain_sample(const svit_dataset *dataset, size_t index,
                                const sv_first_crop *crop, void *pixels, int32_t *label,
                                svit_error *err)
{
    const svit_dataset *set = find_part((const chain *)dataset, &index);
    return set->ops->sample(set, index, crop, pixels, label, err);
}

static svit_status chain_label(const svit_dataset *dataset, size_t index, int32_t *label,
                               svit_error *err)
{
    const svit_dataset *set = find_part((const chain *)dataset, &index);
    return svit_dataset_label(set, index, label, err);
}

static svit_status chain_targets(const svit_dataset *dataset, size_t index, float *targets,
                                 svit_error *err)
{
    const svit_dataset *set = find_part((const chain *)dataset, &index);
    return svit_dataset_targets(set, index, targets, err);
}

static svit_status chain_path(const svit_dataset *dataset, size_t index, char **path,
                              svit_error *err)
{
    const svit_dataset *set = find_part((const chain *)dataset, &index);
    return sv_dataset_path(set, index, path, err);
}

/* Without shards in any part the chain is one. */
static size_t chain_shard_end(const svit_dataset *dataset, size_t index)
{
    size_t within = index;
    if (!dataset->is_of_shards)
        return dataset->count;
    const svit_dataset *set = find_part((const chain *)dataset, &within);
    return index - within + sv_dataset_shard_end(set, within);
}

static void chain_free(svit_dataset *dataset)
{
    chain *self = (chain *)dataset;
    const sv_allocator *allocator = &dataset->context->allocator;
    for (size_t i = 0; self->parts && i < self->part_count; i++)
        svit_dataset_free(self->parts[i].set);
    sv_release(allocator, self->parts, self->part_count * sizeof *self->parts);
    sv_names_free(allocator, self->names, dataset->classes);
}

static const sv_dataset_ops CHAIN = {.bytes = sizeof(chain),
                                     .sample = chain_sample,
                                     .label = chain_label,
                                     .targets = chain_targets,
                                     .path = chain_path,
                                     .shard_end = chain_shard_end,
                                     .free = chain_free};

/* Two sets of which both have names, or neither. */
static bool same_names(const svit_dataset *a, const svit_dataset *b)
{
    return a->classes == b->classes &&
           (!a->names || sv_names_common(a->names, a->classes, b->names, b->classes) == a->classes);
}

/* What a parent has: a number of `what`, or, by its value, one of two words. */
typedef struct form {
    const char *what;
    const char *words[2]; /* NULL: it is a number */
    size_t first, other;
} form;

static const char *form_text(char text[48], const form *of, size_t value)
{
    if (of->words[value > 0])
        return of->words[value > 0];
    snprintf(text, 48, "%s %zu", of->what, value);
    return text;
}

/* SVIT_E_ARGUMENT unless parents[i] goes with the first one. */
static svit_status check_part(svit_dataset *const *parents, size_t i, svit_error *err)
{
    const svit_dataset *first = parents[0], *other = parents[i];
    const form forms[] = {
        {"height", {NULL, NULL}, first->height, other->height},
        {"width", {NULL, NULL}, first->width, other->width},
        {"channels", {NULL, NULL}, first->channels, other->channels},
        {NULL, {"images of bytes", "images of floats"}, first->is_f32, other->is_f32},
        {NULL, {"labels", "targets"}, first->has_targets, other->has_targets},
        {NULL, {"no class names", "class names"}, first->names != NULL, other->names != NULL}};
    char texts[2][48];
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
        if (forms[k].other != forms[k].first)
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "parents[%zu] has %s and parents[0] %s; all have the same", i,
                           form_text(texts[0], &forms[k], forms[k].other),
                           form_text(texts[1], &forms[k], forms[k].first));
    if (other->has_targets && !same_names(other, first))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "parents[%zu] and parents[0] have other targets; all have the same names in "
                       "the same order",
                       i);
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

/* Adds a part's samples and flags to those of the chain, and its classes to *classes. */
static svit_status add_form(chain *self, part *added, size_t *classes, svit_error *err)
{
    svit_dataset *base = &self->base;
    const svit_dataset *set = added->set;
    if (!sv_size_add(&base->count, base->count, set->count) ||
        !sv_size_add(classes, *classes, set->classes))
        return sv_fail(err, SVIT_E_MEMORY, "what the parents have together does not fit memory");
    added->end = base->count;
    base->classes = sv_size_max(base->classes, set->classes);
    base->is_of_files &= set->is_of_files;
    base->is_of_shards |= set->is_of_shards;
    base->caller_thread_only |= set->caller_thread_only;
    base->varies |= set->varies;
    base->label_needs_image |= set->label_needs_image;
    return SVIT_OK;
}

/* Copies the names of all parts, each once, in the order in which they come. `texts` and `places`
 * have room for all. */
static svit_status unite(chain *self, const char **texts, size_t *places, svit_error *err)
{
    const sv_allocator *allocator = &self->base.context->allocator;
    size_t count = 0;
    for (size_t i = 0; i < self->part_count; i++) {
        const svit_dataset *set = self->parts[i].set;
        SVIT_TRY(sv_texts_append(texts, &count, places, set->names, set->classes, allocator, err));
    }
    SVIT_TRY(sv_names_copy(&self->names, allocator, texts, count, "names", err));
    self->base.classes = count;
    self->base.names = (const char *const *)self->names;
    return SVIT_OK;
}

/* Puts a view with the names of the chain in the place of each part. */
static svit_status match_parts(chain *self, svit_error *err)
{
    for (size_t i = 0; i < self->part_count; i++) {
        svit_dataset *view = NULL, **set = &self->parts[i].set;
        SVIT_TRY(
            svit_dataset_match_classes(&view, *set, self->base.names, self->base.classes, err));
        svit_dataset_free(*set);
        *set = view;
    }
    return SVIT_OK;
}

/* Labels cannot go by two equal names of one part. */
static svit_status check_distinct(const chain *self, svit_error *err)
{
    for (size_t i = 0; i < self->part_count; i++) {
        char of[32];
        const svit_dataset *set = self->parts[i].set;
        snprintf(of, sizeof of, "parents[%zu]", i);
        SVIT_TRY(sv_names_check_distinct(set->names, set->classes, of,
                                         &self->base.context->allocator, err));
    }
    return SVIT_OK;
}

/* `classes` are those of all parts, of which some may be equal. */
static svit_status unite_classes(chain *self, size_t classes, svit_error *err)
{
    const sv_allocator *allocator = &self->base.context->allocator;
    size_t *places = NULL;
    const char **texts = NULL;
    SVIT_TRY(check_distinct(self, err));
    svit_status status =
        sv_allocate_array(allocator, (void **)&texts, classes, sizeof *texts, "class names", err);
    if (status == SVIT_OK)
        status = sv_allocate_array(allocator, (void **)&places, classes, sizeof *places,
                                   "class names", err);
    if (status == SVIT_OK)
        status = unite(self, texts, places, err);
    sv_release(allocator, places, classes * sizeof *places);
    sv_release(allocator, texts, classes * sizeof *texts);
    return status == SVIT_OK ? match_parts(self, err) : status;
}

static bool have_same_names(const chain *self)
{
    size_t i = 1;
    while (i < self->part_count && same_names(self->parts[i].set, self->parts[0].set))
        i++;
    return i == self->part_count;
}

static svit_status fill(chain *self, svit_dataset *const *parents, size_t count, svit_error *err)
{
    const sv_allocator *allocator = &self->base.context->allocator;
    size_t classes = 0;
    self->part_count = count;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&self->parts, count, sizeof *self->parts,
                               "the parts of a dataset", err));
    self->base.count = 0;
    for (size_t i = 0; i < count; i++)
        self->parts[i].set = sv_dataset_retain(parents[i]);
    for (size_t i = 0; i < count; i++)
        SVIT_TRY(add_form(self, &self->parts[i], &classes, err));
    if (!self->base.names || have_same_names(self))
        return SVIT_OK;
    return unite_classes(self, classes, err);
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
