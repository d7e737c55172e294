/* The option --on-bad: checks all images before they are needed. */
#include "data/bad_option.h"

#include "program/shown.h"

#include <stdio.h>
#include <stdlib.h>

enum { KEY_ON_BAD = 0x400 };

const char *const on_bad_names[] = {"fail", "skip", NULL};

static const struct option_line options[] = {
    {"on-bad", KEY_ON_BAD, "WHAT", 0,
     "Read the images of a folder, list or shards that are used before anything else, and print "
     "those that cannot be read; then fail (default), or skip them"},
    {NULL, 0, NULL, 0, NULL},
};

static int parse_option(int key, char *text, struct option_state *state)
{
    if (key != KEY_ON_BAD)
        return OPTION_UNKNOWN;
    *(int32_t *)state->input = option_choice(state, "--on-bad", text, on_bad_names);
    return 0;
}

const struct option_table bad_table = {options, parse_option, NULL, NULL, NULL, NULL};

/* The samples that cannot be read. */
typedef struct bad_images {
    size_t count;
    char first[sizeof((svit_error *)NULL)->message]; /* the message of the first one, if this
                                                        process prints none */
} bad_images;

/* Collects the indices of the readable samples of one split; bad ones are reported in order. */
typedef struct good_list {
    const struct program *program;
    size_t *indices;
    size_t count;
    size_t next; /* index after the last bad sample */
    bad_images *bad;
} good_list;

/* Adds the indices up to `end`, which are all readable. */
static void good_until(good_list *self, size_t end)
{
    while (self->next < end)
        self->indices[self->count++] = self->next++;
}

/* Prints a bad sample, unless another process of the job does; an svit_bad_sample_callback. */
static int32_t report_bad(size_t index, svit_status status, const char *message, void *user)
{
    (void)status;
    good_list *self = user;
    good_until(self, index);
    self->next = index + 1;
    if (!self->program->is_mute)
        fprintf(stderr, "%s: bad image: %s\n", option_program_name, message);
    else if (!self->bad->first[0])
        snprintf(self->bad->first, sizeof self->bad->first, "%s", message);
    return 0;
}

/* Counts the samples of each class in counts[classes]. */
static svit_status count_classes(size_t *counts, struct program *self, const svit_dataset *data)
{
    for (size_t i = 0; i < svit_dataset_count(data); i++) {
        int32_t label;
        TRY(svit_dataset_label(data, i, &label, &self->err));
        counts[label]++;
    }
    return SVIT_OK;
}

/* Says which classes have lost all their samples. */
static svit_status note_lost(struct program *self, const svit_dataset *before,
                             const svit_dataset *after, const char *name)
{
    const size_t classes = svit_dataset_classes(before);
    size_t *had = calloc(2 * classes, sizeof *had), *has = had + classes, lost = 0, first = 0;
    char shown[SHOWN_CAPACITY];
    if (!had)
        return program_fail(self, SVIT_E_MEMORY, "no memory for %zu classes", classes);
    svit_status status = count_classes(had, self, before);
    if (status == SVIT_OK)
        status = count_classes(has, self, after);
    for (size_t k = classes; k-- > 0;)
        if (had[k] > 0 && has[k] == 0) {
            lost++;
            first = k;
        }
    const char *class_name = svit_dataset_class_name(before, first);
    if (status == SVIT_OK && lost > 0)
        fprintf(stderr,
                "%s: warning: no image of %zu of the %zu classes of %s can be read, such as '%s'\n",
                option_program_name, lost, classes, name,
                class_name ? shown_text(shown, class_name) : "");
    free(had);
    return status;
}

/* Replaces the split, or with `name` NULL the folder, by its readable samples. */
static svit_status remove_bad(svit_dataset **part, struct program *self, const good_list *good,
                              const char *name)
{
    svit_dataset *chosen = NULL;
    if (good->count == 0)
        return name
                   ? program_fail(self, SVIT_E_FORMAT, "no image of the %s split can be read", name)
                   : program_fail(self, SVIT_E_FORMAT, "no image of the folder can be read");
    TRY(svit_dataset_select(&chosen, *part, good->indices, good->count, &self->err));
    const int has_classes = name && !svit_dataset_has_targets(chosen);
    svit_status status =
        has_classes && !self->quiet ? note_lost(self, *part, chosen, name) : SVIT_OK;
    svit_dataset_free(*part);
    *part = chosen;
    return status;
}

static svit_status check_part(svit_dataset **part, struct program *self, int32_t on_bad,
                              const char *name, bad_images *all_bad)
{
    size_t bad = 0;
    size_t count = svit_dataset_count(*part);
    good_list good = {self, calloc(count, sizeof *good.indices), 0, 0, all_bad};
    if (!good.indices)
        return program_fail(self, SVIT_E_MEMORY, "no memory for %zu indices", count);
    svit_status status = svit_dataset_verify(*part, report_bad, &good, &bad, &self->err);
    good_until(&good, count);
    if (status == SVIT_OK && bad > 0 && on_bad == ON_BAD_SKIP)
        status = remove_bad(part, self, &good, name);
    free(good.indices);
    all_bad->count += bad;
    return status;
}

/* Says how many images are bad, as `on_bad` has it. */
static svit_status conclude(struct program *self, const bad_images *bad, size_t all, int32_t on_bad)
{
    if (bad->count > 0 && on_bad == ON_BAD_FAIL)
        return program_fail(self, SVIT_E_FORMAT,
                            "%zu of %zu images cannot be read%s%s; --on-bad skip goes on without "
                            "them",
                            bad->count, all, bad->first[0] ? ", the first: " : "", bad->first);
    if (bad->count > 0 && !self->quiet)
        fprintf(stderr, "%s: %zu of %zu images cannot be read and are left out\n",
                option_program_name, bad->count, all);
    return SVIT_OK;
}

svit_status bad_check(data_splits *data, struct program *self, const data_option *option,
                      int32_t on_bad)
{
    bad_images bad = {.count = 0};
    size_t all = 0;
    if (data_has_own_size(option)) {
        if (on_bad == ON_BAD_SKIP && !option->on_bad_is_stored)
            program_note_unused(self, "--on-bad",
                                "it is for the files of folder:, list: and shards:");
        return SVIT_OK;
    }
    for (size_t split = 0; split < DATA_SPLITS; split++) {
        if (!data->split[split])
            continue;
        all += svit_dataset_count(data->split[split]);
        TRY(check_part(&data->split[split], self, on_bad, data_split_names[split], &bad));
    }
    return conclude(self, &bad, all, on_bad);
}

svit_status bad_check_folder(svit_dataset **images, struct program *self, int32_t on_bad)
{
    const size_t all = svit_dataset_count(*images);
    bad_images bad = {.count = 0};
    TRY(check_part(images, self, on_bad, NULL, &bad));
    return conclude(self, &bad, all, on_bad);
}
