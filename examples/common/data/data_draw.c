/* Draws the splits of a data set that has none. */
#include "data/data_draw.h"

#include "program/path_text.h"
#include "program/shown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Adds the images of each class to counts[classes]. */
static svit_status count_classes(size_t *counts, struct program *self, const svit_dataset *images)
{
    for (size_t i = 0; i < svit_dataset_count(images); i++) {
        int32_t label;
        TRY(svit_dataset_label(images, i, &label, &self->err));
        counts[label]++;
    }
    return SVIT_OK;
}

/* How many classes with images do not train, and the first of them. */
static size_t count_untrained(const size_t *all, const size_t *train, size_t classes, size_t *first)
{
    size_t count = 0;
    for (size_t class = classes; class -- > 0;)
        if (all[class] > 0 && train[class] == 0) {
            *first = class;
            count++;
        }
    return count;
}

/* Says which classes do not train where images were drawn without regard to them. */
static void note_untrained(struct program *self, const data_draw *how, const size_t *all,
                           const size_t *train)
{
    size_t first = 0;
    char shown[SHOWN_CAPACITY];
    const size_t classes = svit_dataset_classes(how->whole);
    const size_t count = count_untrained(all, train, classes, &first);
    const char *name = svit_dataset_class_name(how->whole, first);
    if (count > 0 && !self->quiet)
        fprintf(stderr,
                "%s: warning: no image of %zu of the %zu classes trains, such as '%s': each is too "
                "small to split; --val-fraction 0 trains on all images\n",
                option_program_name, count, classes, name ? shown_text(shown, name) : "");
}

/* Whether the classes give their shares: one of them has an image for each of `parts`, besides one
 * that trains. */
static int can_split_by_class(const size_t *all, size_t classes, size_t parts)
{
    size_t class = 0;
    while (class < classes && all[class] <= parts)
        class ++;
    return class < classes;
}

/* Sets *by_class, and says what does not train. */
static svit_status look_at_classes(int *by_class, struct program *self, const data_draw *how,
                                   const svit_dataset *train, size_t parts)
{
    const size_t classes = svit_dataset_classes(how->whole);
    size_t *all = calloc(classes, sizeof *all), *trained = calloc(classes, sizeof *trained);
    svit_status status =
        all && trained ? SVIT_OK
                       : program_fail(self, SVIT_E_MEMORY, "no memory for %zu classes", classes);
    if (status == SVIT_OK)
        status = count_classes(all, self, how->whole);
    if (status == SVIT_OK)
        status = count_classes(trained, self, train);
    if (status == SVIT_OK) {
        *by_class = can_split_by_class(all, classes, parts);
        if (!*by_class && (how->wanted & WANT_TRAIN))
            note_untrained(self, how, all, trained);
    }
    free(all);
    free(trained);
    return status;
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
 * renamed, which changes what is drawn. The labels count if they are drawn by class. */
static svit_status hash_images(uint64_t *out, struct program *program, const svit_dataset *whole,
                               int by_class)
{
    char first[PATH_CAPACITY], path[PATH_CAPACITY];
    const size_t count = svit_dataset_count(whole);
    uint64_t hash = 0xCBF29CE484222325u;
    TRY(svit_dataset_path(whole, 0, first, sizeof first, NULL, &program->err));
    size_t folder = strlen(first);
    for (size_t i = 0; i < count && folder > 0; i++) {
        TRY(svit_dataset_path(whole, i, path, sizeof path, NULL, &program->err));
        folder = common_folder(first, path, folder);
    }
    for (size_t i = 0; i < count; i++) {
        int32_t label = 0;
        TRY(svit_dataset_path(whole, i, path, sizeof path, NULL, &program->err));
        hash = mix(hash, path + folder, strlen(path + folder) + 1);
        if (by_class)
            TRY(svit_dataset_label(whole, i, &label, &program->err));
        for (unsigned shift = 0; shift < 32; shift += 8)
            hash = mix(hash, &(unsigned char){(uint32_t)label >> shift & 255}, 1);
    }
    *out = hash;
    return SVIT_OK;
}

/* Describes the draw, of which `train` is the part that trains. */
static svit_status describe_draw(data_splits *out, struct program *self, const data_draw *how,
                                 const svit_dataset *train, size_t parts)
{
    int by_class = 0;
    if (!svit_dataset_has_targets(how->whole))
        TRY(look_at_classes(&by_class, self, how, train, parts));
    if (parts == 0 || how->fraction == 0)
        return SVIT_OK;
    out->drawn = by_class ? "drawn at random by class" : "drawn at random";
    out->drawn_of = svit_dataset_count(how->whole);
    out->drawn_parts = how->drawn;
    return hash_images(&out->drawn_from, self, how->whole, by_class);
}

svit_status data_draw_splits(data_splits *out, struct program *self, const data_draw *how)
{
    svit_dataset *splits[3] = {NULL, NULL, NULL};
    const int validates = (how->drawn & WANT_VALIDATION) != 0,
              tests = (how->drawn & WANT_TEST) != 0;
    svit_status status = svit_dataset_split(splits, how->whole, validates * how->fraction,
                                            tests * how->fraction, self->seed, &self->err);
    /* The fractions are in range, so there are too few images. */
    if (status == SVIT_E_ARGUMENT)
        return fail_few(self, svit_dataset_count(how->whole));
    if (status == SVIT_OK)
        status = describe_draw(out, self, how, splits[SVIT_SPLIT_TRAIN],
                               (size_t)validates + (size_t)tests);
    for (size_t split = 0; split < 3; split++)
        if (status == SVIT_OK && (how->wanted & (1u << split)))
            out->split[split] = splits[split];
        else
            svit_dataset_free(splits[split]);
    return status;
}
