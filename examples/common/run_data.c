/* The data of a training run, for programs that read a data set and a model. */
#include "run_data.h"

#include "model_path.h"
#include "options.h"
#include "path_text.h"
#include "run_file.h"
#include "shown.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_same(const char *spec, const char *stored)
{
    char *absolute = data_spec_absolute(spec);
    int same = strcmp(absolute ? absolute : spec, stored) == 0;
    free(absolute);
    return same;
}

/* Adds the stored options of these names (NULL at the end) that are there. */
static svit_status add_stored(run_data *out, struct program *self, const json_t *options,
                              const char *const *names)
{
    for (; *names; names++) {
        const char *value = json_string_value(json_object_get(options, *names));
        char *argument = NULL;
        if (value && asprintf(&argument, "--%s=%s", *names, value) < 0)
            return program_fail(self, SVIT_E_MEMORY, "no memory for the options of a run");
        if (value)
            out->arguments[out->count++] = argument;
    }
    return SVIT_OK;
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

/* Sets what the command line has not. */
static void fill(data_option *data, const data_option *stored)
{
    if (!data->spec)
        data->spec = stored->spec;
    if (data->val_fraction < 0)
        data->val_fraction = stored->val_fraction;
    if (data->labels == SVIT_LABELS_FINE)
        data->labels = stored->labels;
    for (size_t split = 0; split < 3; split++)
        if (data->limit[split] == 0)
            data->limit[split] = stored->limit[split];
}

static svit_status take(run_data *out, struct program *self, data_option *data, int whole,
                        const json_t *run)
{
    static const char *const same[] = {"data", "labels", NULL};
    static const char *const draw[] = {"val-fraction", NULL};
    static const char *const limits[] = {"limit-train", "limit-val", "limit-test", NULL};
    const json_t *options = json_object_get(run, "options");
    const json_t *seed = json_object_get(json_object_get(run, "training"), "seed");
    data_option stored = DATA_OPTION_INIT;
    char *line[1 + RUN_DATA_MOST] = {(char *)option_program_name};
    TRY(add_stored(out, self, options, same));
    if (!whole)
        TRY(add_stored(out, self, options, draw));
    if (!whole && !data->spec)
        TRY(add_stored(out, self, options, limits));
    memcpy(line + 1, out->arguments, sizeof out->arguments);
    program_parse(&data_table, 1 + out->count, line, &stored);
    fill(data, &stored);
    if (!whole && !self->seed_given && json_integer_value(seed) >= 0)
        self->seed = (uint64_t)json_integer_value(seed);
    return SVIT_OK;
}

svit_status run_data_take(run_data *out, struct program *self, data_option *data, int whole,
                          const char *model)
{
    json_t *run = NULL;
    svit_status status = SVIT_OK;
    *out = (run_data){.count = 0};
    if (!model_path_is_run(model) || run_file_description(&run, self, model) != SVIT_OK)
        return SVIT_OK;
    const char *spec = json_string_value(json_object_get(json_object_get(run, "options"), "data"));
    if (spec && (!data->spec || is_same(data->spec, spec))) {
        status = take(out, self, data, whole, run);
        if (status == SVIT_OK && !self->quiet)
            print_data(self, data, whole, model);
    }
    json_decref(run);
    return status;
}

void run_data_free(run_data *self)
{
    for (int i = 0; i < self->count; i++)
        free(self->arguments[i]);
    *self = (run_data){.count = 0};
}
