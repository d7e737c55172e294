/* The data of a training run, for programs that read a data set and a model. */
#include "run_data.h"

#include "model_path.h"
#include "path_text.h"
#include "run_file.h"
#include "shown.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const json_t *options, const char *name)
{
    return json_string_value(json_object_get(options, name));
}

static int is_same(const char *spec, const char *stored)
{
    char *absolute = data_spec_absolute(spec);
    int same = strcmp(absolute ? absolute : spec, stored) == 0;
    free(absolute);
    return same;
}

/* Takes what says how the data is split, where the command line does not. */
static void take_draw(struct program *self, data_option *data, const json_t *options,
                      const json_t *training)
{
    const char *fraction = text_of(options, "val-fraction");
    const json_t *seed = json_object_get(training, "seed");
    if (data->val_fraction < 0 && fraction)
        data->val_fraction = strtod(fraction, NULL);
    if (!self->seed_given && json_is_integer(seed))
        self->seed = (uint64_t)json_integer_value(seed);
}

/* Takes the number of images of each split, where the command line has none. */
static void take_limits(data_option *data, const json_t *options)
{
    static const char *const names[] = {"limit-train", "limit-test",
                                        "limit-val"}; /* SVIT_SPLIT_* */
    for (size_t split = 0; split < 3; split++) {
        const char *limit = text_of(options, names[split]);
        if (limit && data->limit[split] == 0)
            data->limit[split] = strtoul(limit, NULL, 10);
    }
}

static void print_data(const struct program *self, const data_option *data, int whole,
                       const char *model)
{
    char folder[SHOWN_CAPACITY], spec[SHOWN_CAPACITY];
    fprintf(stderr, "as in the run of '%s': --data %s", shown_text(folder, model),
            shown_text(spec, data->spec));
    if (!whole && data->val_fraction >= 0)
        fprintf(stderr, " --val-fraction %g", data->val_fraction);
    if (!whole)
        fprintf(stderr, " --seed %" PRIu64, self->seed);
    fputc('\n', stderr);
}

void run_data_take(json_t **run, struct program *self, data_option *data, int whole,
                   const char *model)
{
    *run = NULL;
    if (!model_path_is_run(model) || run_file_description(run, self, model) != SVIT_OK)
        return;
    const json_t *options = json_object_get(*run, "options");
    const char *stored = text_of(options, "data"), *labels = text_of(options, "labels");
    if (!stored || (data->spec && !is_same(data->spec, stored)))
        return;
    if (!data->spec && !whole)
        take_limits(data, options);
    if (!whole)
        take_draw(self, data, options, json_object_get(*run, "training"));
    for (int32_t i = 0; labels && data_label_names[i]; i++)
        if (data->labels == SVIT_LABELS_FINE && strcmp(labels, data_label_names[i]) == 0)
            data->labels = i;
    if (!data->spec)
        data->spec = stored;
    if (!self->quiet)
        print_data(self, data, whole, model);
}
