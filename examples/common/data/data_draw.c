/* Draws the splits of a data set that has none. */
#include "data/data_draw.h"

#include "program/path_text.h"
#include "program/shown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* splitmix64 (Steele, Lea, Flood 2014): good enough for a shuffle, and the same on every
 * machine. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void shuffle(size_t *indices, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        indices[i] = i;
    for (size_t i = count; i > 1; i--) {
        size_t j = next_random(&seed) % i;
        size_t held = indices[i - 1];
        indices[i - 1] = indices[j];
        indices[j] = held;
    }
}

/* Fails because no part gets an image. The least fraction that gives one to each is 1 / count. */
static svit_status fail_few(struct program *self, size_t count)
{
    const int hundredths = count ? (int)((99 + count) / count) : 100;
    if (hundredths > (int)(100 * DATA_MOST_FRACTION))
        return program_fail(self, SVIT_E_FORMAT,
                            "%zu images are too few to split; more images, or --val-fraction 0 to "
                            "train on all of them, are accepted",
                            count);
    return program_fail(self, SVIT_E_FORMAT,
                        "%zu images are too few to split; --val-fraction %.2f, or --val-fraction 0 "
                        "to train on all of them, is accepted",
                        count, hundredths / 100.0);
}

/* A draw: what each class may still give to each split, and what the splits have. */
typedef struct drawing {
    const data_draw *how;
    size_t parts; /* splits besides the training one that are drawn: 0 to 2 */
    size_t count; /* images of the whole */
    int by_class; /* 0: all images are one class */
    size_t classes;
    int32_t *labels;   /* [count] all 0 if the images have no labels */
    size_t *left[3];   /* [classes] by SVIT_SPLIT_*: images that the split still takes */
    size_t *shuffled;  /* [count] */
    size_t *chosen[3]; /* [count] by SVIT_SPLIT_*, in the order of `shuffled` */
    size_t chosen_count[3];
} drawing;

static svit_status drawing_allocate(drawing *self, struct program *program)
{
    int failed = 0;
    failed |= !(self->labels = calloc(self->count, sizeof *self->labels));
    failed |= !(self->shuffled = calloc(self->count, sizeof *self->shuffled));
    for (size_t split = 0; split < 3; split++) {
        failed |= !(self->left[split] = calloc(self->classes, sizeof **self->left));
        failed |= !(self->chosen[split] = calloc(self->count, sizeof **self->chosen));
    }
    return failed ? program_fail(program, SVIT_E_MEMORY, "no memory for %zu indices", self->count)
                  : SVIT_OK;
}

static void drawing_free(drawing *self)
{
    free(self->labels);
    free(self->shuffled);
    for (size_t split = 0; split < 3; split++) {
        free(self->left[split]);
        free(self->chosen[split]);
    }
}

/* The images that a class of `count` gives to each part: its share to the nearest whole number, but
 * at least one, and at least one image that trains. A class too small for that only trains. */
static size_t share_of_class(const drawing *self, size_t count)
{
    const size_t most = self->parts ? (count - (count > 0)) / self->parts : 0;
    size_t share = (size_t)((double)count * self->how->fraction + 0.5);
    if (share == 0 && self->how->fraction > 0)
        share = 1;
    return share < most ? share : most;
}

/* Sets what each split takes of a class; returns the sum. */
static size_t set_share(drawing *self, size_t class, size_t share)
{
    for (size_t split = SVIT_SPLIT_TEST; split <= SVIT_SPLIT_VALIDATION; split++)
        if (self->how->drawn & (1u << split))
            self->left[split][class] = share;
    return share * self->parts;
}

/* Reads the labels and sets the share of each class; *drawn is the sum. */
static svit_status share_by_class(drawing *self, struct program *program, size_t *drawn)
{
    size_t *images = self->left[SVIT_SPLIT_TRAIN]; /* counted here; never limits the training */
    for (size_t i = 0; i < self->count; i++) {
        TRY(svit_dataset_label(self->how->whole, i, &self->labels[i], &program->err));
        images[self->labels[i]]++;
    }
    for (size_t class = 0; class < self->classes; class ++)
        *drawn += set_share(self, class, share_of_class(self, images[class]));
    return SVIT_OK;
}

/* Sets what each split takes. Images without labels, or whose classes are all too small to give
 * any, are one class of exactly the fraction. */
static svit_status set_shares(drawing *self, struct program *program)
{
    size_t drawn = 0;
    if (self->by_class)
        TRY(share_by_class(self, program, &drawn));
    if (drawn == 0) {
        self->by_class = 0;
        memset(self->labels, 0, self->count * sizeof *self->labels);
        drawn = set_share(self, 0, (size_t)((double)self->count * self->how->fraction));
    }
    const int none = drawn == 0 && self->how->fraction > 0 && self->parts > 0;
    return none || drawn >= self->count ? fail_few(program, self->count) : SVIT_OK;
}

/* Deals the images out in a random order: to validation, then to test, then to training. */
static void deal(drawing *self, uint64_t seed)
{
    shuffle(self->shuffled, self->count, seed);
    for (size_t i = 0; i < self->count; i++) {
        const size_t index = self->shuffled[i];
        const int32_t class = self->labels[index];
        int32_t split = SVIT_SPLIT_VALIDATION;
        while (split > SVIT_SPLIT_TRAIN && self->left[split][class] == 0)
            split--;
        if (split > SVIT_SPLIT_TRAIN)
            self->left[split][class]--;
        self->chosen[split][self->chosen_count[split]++] = index;
    }
}

/* Counts the images of each class that train, and those that do not, in arrays that the deal has
 * used up. */
static svit_status count_trained(drawing *self, struct program *program)
{
    for (size_t split = 0; split < 3; split++)
        memset(self->left[split], 0, self->classes * sizeof **self->left);
    for (size_t split = 0; split < 3; split++)
        for (size_t i = 0; i < self->chosen_count[split]; i++) {
            int32_t label;
            TRY(svit_dataset_label(self->how->whole, self->chosen[split][i], &label,
                                   &program->err));
            self->left[split == SVIT_SPLIT_TRAIN ? SVIT_SPLIT_TRAIN : SVIT_SPLIT_TEST][label]++;
        }
    return SVIT_OK;
}

/* Says which classes do not train where images were drawn without regard to them. */
static svit_status note_untrained(drawing *self, struct program *program)
{
    size_t count = 0, first = 0;
    char shown[SHOWN_CAPACITY];
    if (self->by_class || svit_dataset_has_targets(self->how->whole) || program->quiet)
        return SVIT_OK;
    TRY(count_trained(self, program));
    for (size_t class = self->classes; class -- > 0;)
        if (self->left[SVIT_SPLIT_TEST][class] > 0 && self->left[SVIT_SPLIT_TRAIN][class] == 0) {
            first = class;
            count++;
        }
    const char *name = svit_dataset_class_name(self->how->whole, first);
    if (count > 0)
        fprintf(stderr,
                "%s: warning: no image of %zu of the %zu classes trains, such as '%s': each is too "
                "small to split; --val-fraction 0 trains on all images\n",
                option_program_name, count, self->classes, name ? shown_text(shown, name) : "");
    return SVIT_OK;
}

static int compare_indices(const void *a, const void *b)
{
    const size_t first = *(const size_t *)a, second = *(const size_t *)b;
    return (first > second) - (first < second);
}

/* FNV-1a of 64 bits (Fowler, Noll, Vo 1991). */
static uint64_t mix(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *from = bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ from[i]) * 0x100000001B3u;
    return hash;
}

/* The length of what two paths have in common, up to the last slash, of at most `most`
 * characters. */
static size_t common_folder(const char *a, const char *b, size_t most)
{
    size_t length = 0;
    for (size_t i = 0; i < most && a[i] == b[i] && a[i]; i++)
        if (a[i] == '/')
            length = i + 1;
    return length;
}

/* Writes what the images are called, and in which order, as one number. It is the same for a folder
 * that was moved or is named otherwise, and another one after an image was added, removed or
 * renamed, which changes what is drawn. */
static svit_status hash_images(uint64_t *out, struct program *program, const drawing *self)
{
    char first[PATH_CAPACITY], path[PATH_CAPACITY];
    const svit_dataset *whole = self->how->whole;
    uint64_t hash = 0xCBF29CE484222325u;
    TRY(svit_dataset_path(whole, 0, first, sizeof first, NULL, &program->err));
    size_t folder = strlen(first);
    for (size_t i = 0; i < self->count && folder > 0; i++) {
        TRY(svit_dataset_path(whole, i, path, sizeof path, NULL, &program->err));
        folder = common_folder(first, path, folder);
    }
    for (size_t i = 0; i < self->count; i++) {
        TRY(svit_dataset_path(whole, i, path, sizeof path, NULL, &program->err));
        hash = mix(hash, path + folder, strlen(path + folder) + 1);
        for (unsigned shift = 0; shift < 32; shift += 8)
            hash = mix(hash, &(unsigned char){(uint32_t)self->labels[i] >> shift & 255}, 1);
    }
    *out = hash;
    return SVIT_OK;
}

static svit_status draw(data_splits *out, drawing *self, struct program *program)
{
    TRY(drawing_allocate(self, program));
    TRY(set_shares(self, program));
    deal(self, program->seed);
    if (self->how->wanted & WANT_TRAIN)
        TRY(note_untrained(self, program));
    for (size_t split = 0; split < 3 && self->how->in_order; split++)
        qsort(self->chosen[split], self->chosen_count[split], sizeof **self->chosen,
              compare_indices);
    for (size_t split = 0; split < 3; split++)
        if ((self->how->wanted & (1u << split)) && self->chosen_count[split] > 0)
            TRY(svit_dataset_select(&out->split[split], self->how->whole, self->chosen[split],
                                    self->chosen_count[split], &program->err));
    if (self->parts > 0 && self->how->fraction > 0) {
        out->drawn = self->by_class ? "drawn at random by class" : "drawn at random";
        out->drawn_of = self->count;
        TRY(hash_images(&out->drawn_from, program, self));
    }
    return SVIT_OK;
}

svit_status data_draw_splits(data_splits *out, struct program *self, const data_draw *how)
{
    drawing all = {.how = how,
                   .parts = ((how->drawn & WANT_TEST) != 0) + ((how->drawn & WANT_VALIDATION) != 0),
                   .count = svit_dataset_count(how->whole),
                   .by_class = !svit_dataset_has_targets(how->whole)};
    all.classes = all.by_class ? svit_dataset_classes(how->whole) : 1;
    svit_status status = draw(out, &all, self);
    drawing_free(&all);
    return status;
}
