/* The data of a training run, for programs that read a data set and a model. */
#include "training/run_data.h"

#include "data/bad_option.h"
#include "models/model_path.h"
#include "program/options.h"
#include "program/shown.h"
#include "training/run_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Stored options go through the parsers of the command line. */
static int parse_option(int key, char *text, struct option_state *state)
{
    const run_data_of *of = state->input;
    (void)text;
    if (key != OPTION_INIT)
        return OPTION_UNKNOWN;
    state->child_inputs[0] = of->data;
    state->child_inputs[1] = of->on_bad;
    return 0;
}

static const struct option_line no_options[] = {{NULL, 0, NULL, 0, NULL}};
static const struct option_child children[] = {
    {&data_table, NULL}, {&bad_table, NULL}, {NULL, NULL}};
static const struct option_table stored_table = {no_options, parse_option, NULL,
                                                 NULL,       children,     NULL};

static int is_same(const char *spec, const char *stored)
{
    char *absolute = data_spec_absolute(spec);
    int same = strcmp(absolute ? absolute : spec, stored) == 0;
    free(absolute);
    return same;
}

/* The folder of the run that `model` names, itself or by its weights; NULL: it names none. */
static const char *run_folder(char folder[PATH_CAPACITY], const char *model)
{
    const char *slash = strrchr(model, '/'), *name = slash ? slash + 1 : model;
    if (path_is_run(model))
        return model;
    snprintf(folder, PATH_CAPACITY, "%.*s", slash ? (int)(slash - model) : 1, slash ? model : ".");
    for (size_t i = 0; model_path_files[i]; i++)
        if (strcmp(name, model_path_files[i]) == 0)
            return folder;
    return NULL;
}

/* Adds the stored option `name`, if there is one that the command line lacks. */
static svit_status add_stored(run_data *out, struct program *self, const json_t *options,
                              const char *name)
{
    const json_t *value = json_object_get(options, name);
    if (!value || option_is_given(name))
        return SVIT_OK;
    TRY(run_file_argument(&out->arguments[out->count], self, name, value));
    out->count++;
    return SVIT_OK;
}

/* Adds the labels of a run whose data the command line names, unless it has the same ones. */
static svit_status add_labels(run_data *out, struct program *self, const data_option *data,
                              const json_t *options)
{
    const char *stored = json_string_value(json_object_get(options, "labels"));
    return stored && strcmp(stored, data_label_names[data->labels]) == 0
               ? SVIT_OK
               : add_stored(out, self, options, "labels");
}

/* The seed of a run. Those of version 0.1 have it among the options. */
static int seed_of(uint64_t *seed, const json_t *run)
{
    const json_t *number = json_object_get(json_object_get(run, "training"), "seed");
    const char *text = json_string_value(json_object_get(json_object_get(run, "options"), "seed"));
    if (json_is_integer(number) && json_integer_value(number) >= 0)
        *seed = (uint64_t)json_integer_value(number);
    else if (text)
        *seed = strtoull(text, NULL, 10);
    else
        return 0;
    return 1;
}

/* Parses the stored options, in whose messages the program is followed by the file's name. */
static void parse_stored(run_data *out, const run_data_of *of)
{
    const char *program = option_program_name;
    char name[128];
    snprintf(name, sizeof name, "%s: run.json", program);
    char *line[1 + RUN_DATA_MOST] = {name};
    memcpy(line + 1, out->arguments, sizeof out->arguments);
    program_parse(&stored_table, 1 + out->count, line, (void *)of);
    option_program_name = program;
}

static void print_taken(const run_data *self, const char *folder, const uint64_t *seed)
{
    char shown[SHOWN_CAPACITY];
    fprintf(stderr, "as in the run of '%s':", shown_text(shown, folder));
    for (int i = 0; i < self->count; i++)
        fprintf(stderr, " %s", shown_text(shown, self->arguments[i]));
    if (seed)
        fprintf(stderr, " --seed=%" PRIu64, *seed);
    fputc('\n', stderr);
}

/* Takes what the command line lacks from the run, whose data set is that of --data or the only
 * one. */
static svit_status take(run_data *out, struct program *self, const run_data_of *of,
                        const char *folder, const json_t *run)
{
    const json_t *options = json_object_get(run, "options");
    const int is_split = of->split != DATA_SPLIT_ALL;
    const int takes_seed = is_split && !self->seed_given && seed_of(&self->seed, run);
    if (!of->data->spec) {
        TRY(add_stored(out, self, options, "data"));
        TRY(add_stored(out, self, options, "labels"));
        of->data->on_bad_is_stored = !option_is_given("on-bad");
        TRY(add_stored(out, self, options, "on-bad"));
    } else {
        TRY(add_labels(out, self, of->data, options));
    }
    if (is_split) {
        of->data->fraction_is_stored = !option_is_given("val-fraction");
        TRY(add_stored(out, self, options, "val-fraction"));
    }
    parse_stored(out, of);
    if (!self->quiet && (out->count > 0 || takes_seed))
        print_taken(out, folder, takes_seed ? &self->seed : NULL);
    uint64_t seed;
    if (is_split && seed_of(&seed, run) && seed == self->seed) {
        snprintf(out->folder, sizeof out->folder, "%s", folder);
        run_file_drawn(&out->drawn, run);
    }
    return SVIT_OK;
}

/* Says that other data are split by another seed than the run's. */
static void note_seed(const struct program *self, const char *folder, const json_t *run)
{
    char shown[SHOWN_CAPACITY];
    uint64_t seed;
    if (!self->quiet && !self->seed_given && seed_of(&seed, run) && seed != self->seed)
        fprintf(stderr,
                "--data is another data set than that of the run of '%s', whose seed %" PRIu64
                " is not taken\n",
                shown_text(shown, folder), seed);
}

svit_status run_data_take(run_data *out, struct program *self, const run_data_of *of,
                          const char *model, const char *what)
{
    char path[PATH_CAPACITY];
    json_t *run = NULL;
    svit_status status = SVIT_OK;
    *out = (run_data){.count = 0};
    const char *folder = run_folder(path, model);
    if (folder)
        TRY(run_file_json(&run, self, folder));
    const json_t *stored = json_object_get(json_object_get(run, "options"), "data");
    const char *spec = json_string_value(stored);
    if (stored && (!of->data->spec || (spec && is_same(of->data->spec, spec))))
        status = take(out, self, of, folder, run);
    else if (stored)
        note_seed(self, folder, run);
    json_decref(run);
    if (status != SVIT_OK || of->data->spec)
        return status;
    TRY(model_path_check(self, model));
    return program_fail(self, SVIT_E_ARGUMENT,
                        "--data SPEC is needed: %s; only the model of a run of shiftvit-train, in "
                        "its folder, says what it is",
                        what);
}

svit_status run_data_check(const run_data *self, struct program *program, const data_splits *data)
{
    return data_check_drawn(
        data, program, &self->drawn, self->folder,
        data_has_own_splits(data)
            ? "other data, or --seed N for another split, are accepted"
            : "other data, --split all, or --seed N for another split are accepted");
}

void run_data_free(run_data *self)
{
    for (int i = 0; i < self->count; i++)
        free(self->arguments[i]);
    *self = (run_data){.count = 0};
}
