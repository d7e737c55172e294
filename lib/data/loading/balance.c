/* Balanced sampling. */
#include "data/loading/balance.h"

#include "base/numbers/random.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Allocates [count] numbers at *out. */
static svit_status allocate(sv_arrays *arrays, uint32_t **out, size_t count, svit_error *err)
{
    return sv_arrays_add(arrays, out, count, sizeof **out, "the samples by class", err);
}

static int compare_labels(const void *a, const void *b)
{
    const uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    return (first > second) - (first < second);
}

/* Asks for each label once: a function of the caller may answer the next time what is none of the
 * labels of the first. */
static svit_status read_labels(const sv_balance *self, const svit_dataset *dataset,
                               uint32_t *labels, svit_error *err)
{
    for (uint32_t i = 0; i < self->count; i++) {
        int32_t label;
        SVIT_TRY(svit_dataset_label(dataset, i, &label, err));
        labels[i] = (uint32_t)label;
    }
    return SVIT_OK;
}

/* Lists those of labels[count] that occur, in their order, in present[classes]. A dataset may state
 * far more classes than it has samples. */
static void list_present(sv_balance *self, uint32_t *present, const uint32_t *labels)
{
    memcpy(present, labels, self->count * sizeof *present);
    qsort(present, self->count, sizeof *present, compare_labels);
    for (uint32_t i = 0; i < self->count; i++)
        if (i == 0 || present[i] != present[self->classes - 1])
            present[self->classes++] = present[i];
}

/* Groups the samples by class, in their order: counts the classes, then places each sample. The
 * class of a sample is the place of its label in present[classes], which takes the label's place in
 * classes[count]. */
static void group_samples(sv_balance *self, uint32_t *classes, const uint32_t *present)
{
    for (uint32_t i = 0; i < self->count; i++) {
        const uint32_t *found =
            bsearch(&classes[i], present, self->classes, sizeof *present, compare_labels);
        classes[i] = (uint32_t)(found - present);
        self->first[classes[i] + 1]++;
    }
    for (uint32_t k = 0; k < self->classes; k++)
        self->first[k + 1] += self->first[k];
    for (uint32_t i = 0; i < self->count; i++)
        self->samples[self->first[classes[i]] + self->used[classes[i]]++] = i;
}

static svit_status fill(sv_balance *self, const svit_dataset *dataset, uint32_t *present,
                        svit_error *err)
{
    SVIT_TRY(allocate(&self->arrays, &self->samples, self->count, err));
    SVIT_TRY(allocate(&self->arrays, &self->shuffled, self->count, err));
    uint32_t *labels = self->shuffled; /* until sv_balance_fill overwrites them */
    SVIT_TRY(read_labels(self, dataset, labels, err));
    list_present(self, present, labels);
    SVIT_TRY(allocate(&self->arrays, &self->first, (size_t)self->classes + 1, err));
    SVIT_TRY(allocate(&self->arrays, &self->used, self->classes, err));
    SVIT_TRY(allocate(&self->arrays, &self->round, self->classes, err));
    SVIT_TRY(allocate(&self->arrays, &self->readings, self->count, err));
    group_samples(self, labels, present);
    return SVIT_OK;
}

svit_status sv_balance_create(sv_balance **out, const svit_dataset *dataset, svit_error *err)
{
    SVIT_TRY(sv_dataset_check_labels(dataset, "balanced sampling", err));
    const sv_allocator *allocator = &dataset->context->allocator;
    sv_balance *self = sv_allocate(allocator, sizeof *self);
    if (!self)
        return sv_fail_memory(err, sizeof *self, "the samples by class");
    *self = (sv_balance){.count = (uint32_t)dataset->count, .arrays.allocator = allocator};
    sv_arrays scratch = {.allocator = allocator};
    uint32_t *present;
    svit_status status = allocate(&scratch, &present, self->count, err);
    if (status == SVIT_OK)
        status = fill(self, dataset, present, err);
    sv_arrays_free(&scratch);
    if (status != SVIT_OK) {
        sv_balance_free(self);
        return status;
    }
    *out = self;
    return SVIT_OK;
}

void sv_balance_free(sv_balance *self)
{
    if (!self)
        return;
    sv_arrays_free(&self->arrays);
    sv_release(self->arrays.allocator, self, sizeof *self);
}

/* The next sample of a class, and how often it was read before. */
static uint32_t next_of(sv_balance *self, uint32_t class, uint32_t *reading, sv_random *random)
{
    uint32_t *samples = self->shuffled + self->first[class];
    uint32_t count = self->first[class + 1] - self->first[class];
    const uint32_t used = self->used[class]++, at = used % count;
    *reading = used / count;
    if (at == 0)
        sv_random_shuffle(random, samples, count);
    return samples[at];
}

void sv_balance_fill(sv_balance *self, uint32_t *order, uint64_t seed, uint64_t epoch)
{
    sv_random random;
    assert(self->classes > 0);
    sv_random_start(&random, seed, SV_STREAM_ORDER, epoch, 1); /* 0 is that of sv_order_fill */
    memcpy(self->shuffled, self->samples, self->count * sizeof *self->samples);
    for (uint32_t k = 0; k < self->classes; k++) {
        self->used[k] = 0;
        self->round[k] = k;
    }
    for (uint32_t i = 0; i < self->count; i++) {
        if (i % self->classes == 0)
            sv_random_shuffle(&random, self->round, self->classes);
        order[i] = next_of(self, self->round[i % self->classes], &self->readings[i], &random);
    }
}
