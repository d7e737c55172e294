/* Divides a dataset at random into one to train, one to validate and one to test. */
#include "base/arrays.h"
#include "base/threads/fp_env.h"
#include "data/datasets/dataset_ops.h"

#include <string.h>

enum { SPLITS = 3 };

/* A draw: which split has each sample, and what each class may still give. */
typedef struct drawing {
    svit_dataset *parent;
    double fraction[SPLITS]; /* by SVIT_SPLIT_*; that of the training is not read */
    size_t count, classes;
    uint32_t *labels;     /* [count] */
    size_t *left[SPLITS]; /* [classes] samples that the split still takes; the training split's are
                             the samples of the class */
    size_t *order;        /* [count] a permutation */
    uint8_t *split;       /* [count] SVIT_SPLIT_* */
    size_t *chosen;       /* [count] the samples of one split */
    sv_arrays arrays;     /* these */
    size_t sizes[SPLITS]; /* samples of each split */
} drawing;

/* splitmix64 (Steele, Lea, Flood 2014), and not sv_random: a run that is resumed must get the split
 * it was begun with, and these are the numbers that splits have always been drawn by. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void shuffle(size_t *order, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count; i > 1; i--) {
        const size_t j = (size_t)(next_random(&seed) % i), held = order[i - 1];
        order[i - 1] = order[j];
        order[j] = held;
    }
}

static svit_status drawing_allocate(drawing *self, svit_error *err)
{
    sv_arrays *arrays = &self->arrays;
    const size_t count = self->count;
    static const char WHAT[] = "the split of a dataset";
    SVIT_TRY(sv_arrays_add(arrays, &self->labels, count, sizeof *self->labels, WHAT, err));
    SVIT_TRY(sv_arrays_add(arrays, &self->order, count, sizeof *self->order, WHAT, err));
    SVIT_TRY(sv_arrays_add(arrays, &self->split, count, sizeof *self->split, WHAT, err));
    SVIT_TRY(sv_arrays_add(arrays, &self->chosen, count, sizeof *self->chosen, WHAT, err));
    for (size_t split = 0; split < SPLITS; split++)
        SVIT_TRY(sv_arrays_add(arrays, &self->left[split], self->classes, sizeof *self->left[split],
                               WHAT, err));
    return SVIT_OK;
}

/* Sets what a class of `count` samples gives: its shares to the nearest whole number, but at least
 * one. At least one sample trains, so shares of a small class shrink, the larger one first; equal
 * ones together. */
static void set_shares_of_class(drawing *self, size_t k, size_t count)
{
    size_t shares[SPLITS] = {0};
    for (size_t split = SVIT_SPLIT_TEST; split < SPLITS; split++) {
        shares[split] = (size_t)((double)count * self->fraction[split] + 0.5);
        if (shares[split] == 0 && self->fraction[split] > 0)
            shares[split] = 1;
    }
    size_t *a = &shares[SVIT_SPLIT_TEST], *b = &shares[SVIT_SPLIT_VALIDATION];
    while (*a + *b > 0 && *a + *b >= count) {
        const size_t larger = *a > *b ? *a : *b;
        *a -= *a == larger;
        *b -= *b == larger;
    }
    self->left[SVIT_SPLIT_TEST][k] = *a;
    self->left[SVIT_SPLIT_VALIDATION][k] = *b;
}

static svit_status read_labels(drawing *self, svit_error *err)
{
    for (size_t i = 0; i < self->count; i++) {
        int32_t label = 0;
        SVIT_TRY(svit_dataset_label(self->parent, i, &label, err));
        self->labels[i] = (uint32_t)label;
        self->left[SVIT_SPLIT_TRAIN][label]++;
    }
    return SVIT_OK;
}

/* All samples are one class, which gives the fractions, rounded down. */
static void share_without_classes(drawing *self)
{
    memset(self->labels, 0, self->count * sizeof *self->labels);
    for (size_t split = SVIT_SPLIT_TEST; split < SPLITS; split++) {
        memset(self->left[split], 0, self->classes * sizeof *self->left[split]);
        self->left[split][0] = (size_t)((double)self->count * self->fraction[split]);
    }
}

/* Whether every split whose fraction is above 0 gets a sample. */
static bool all_get_some(const drawing *self)
{
    bool some = true;
    for (size_t split = SVIT_SPLIT_TEST; split < SPLITS; split++) {
        size_t sum = 0;
        for (size_t k = 0; k < self->classes; k++)
            sum += self->left[split][k];
        some = some && (sum > 0 || self->fraction[split] == 0);
    }
    return some;
}

static svit_status set_shares(drawing *self, svit_error *err)
{
    const bool by_class = !self->parent->has_targets;
    if (by_class)
        SVIT_TRY(read_labels(self, err));
    for (size_t k = 0; k < self->classes && by_class; k++)
        set_shares_of_class(self, k, self->left[SVIT_SPLIT_TRAIN][k]);
    if (!by_class || !all_get_some(self))
        share_without_classes(self);
    if (!all_get_some(self))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%zu samples are too few for validation %g and test %g; more samples, other "
                       "fractions, or 0 are accepted",
                       self->count, self->fraction[SVIT_SPLIT_VALIDATION],
                       self->fraction[SVIT_SPLIT_TEST]);
    return SVIT_OK;
}

/* Deals the samples out in a random order: to validation, then to test, then to training. */
static void deal(drawing *self, uint64_t seed)
{
    shuffle(self->order, self->count, seed);
    for (size_t i = 0; i < self->count; i++) {
        const size_t index = self->order[i], k = self->labels[index];
        size_t split = SVIT_SPLIT_VALIDATION;
        while (split > SVIT_SPLIT_TRAIN && self->left[split][k] == 0)
            split--;
        if (split > SVIT_SPLIT_TRAIN)
            self->left[split][k]--;
        self->split[index] = (uint8_t)split;
        self->sizes[split]++;
    }
}

/* Samples of shards keep their order, in which they are read best. */
static svit_status select_split(svit_dataset **out, drawing *self, size_t split, svit_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < self->count; i++) {
        const size_t index = self->parent->is_of_shards ? i : self->order[i];
        if (self->split[index] == split)
            self->chosen[count++] = index;
    }
    return svit_dataset_select(out, self->parent, self->chosen, count, err);
}

static svit_status draw(svit_dataset *made[SPLITS], drawing *self, uint64_t seed, svit_error *err)
{
    SVIT_TRY(drawing_allocate(self, err));
    SVIT_TRY(set_shares(self, err));
    deal(self, seed);
    for (size_t split = 0; split < SPLITS; split++)
        if (self->sizes[split] > 0)
            SVIT_TRY(select_split(&made[split], self, split, err));
    return SVIT_OK;
}

SVIT_API svit_status svit_dataset_split(svit_dataset **splits, svit_dataset *parent,
                                        double validation, double test, uint64_t seed,
                                        svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(splits);
    SV_REQUIRE(parent);
    if (!(validation >= 0 && test >= 0 && validation + test < 1))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s: validation is %g and test %g; 0 or more are accepted, and a sum below "
                       "1",
                       __func__, validation, test);
    drawing self = {.parent = parent,
                    .fraction = {[SVIT_SPLIT_VALIDATION] = validation, [SVIT_SPLIT_TEST] = test},
                    .arrays.allocator = &parent->context->allocator,
                    .count = parent->count,
                    .classes = parent->has_targets ? 1 : parent->classes};
    svit_dataset *made[SPLITS] = {NULL, NULL, NULL};
    const svit_status status = draw(made, &self, seed, err);
    sv_arrays_free(&self.arrays);
    for (size_t split = 0; split < SPLITS; split++)
        if (status == SVIT_OK)
            splits[split] = made[split];
        else
            svit_dataset_free(made[split]);
    return status;
}
