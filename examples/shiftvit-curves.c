/* Draws the learning curves of several trainings together. */
#include "outputs/output_check.h"
#include "pictures/plot.h"
#include "program/json_line.h"
#include "program/path_text.h"
#include "program/shown.h"
#include "training/history_file.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

enum { MAX_RUNS = 8, NAME_CAPACITY = SHOWN_CAPACITY + 16 };

typedef struct curves_options {
    struct program program;
    const char *runs[MAX_RUNS], *labels[MAX_RUNS], *out;
    size_t run_count, label_count;
} curves_options;

enum { KEY_OUT = 'o', KEY_LABEL = 'l' };

static const struct option_line option_list[] = {
    {"label", KEY_LABEL, "TEXT", 0,
     "What the legend calls a run; once for each RUN, in their order (default: RUN)"},
    {"out", KEY_OUT, "FILE.png", 0, "Draw to this file (needed)"},
    {NULL, 0, NULL, 0, NULL},
};

static void check_options(const curves_options *self, const struct option_state *state)
{
    if (self->run_count == 0)
        option_error(state, "a RUN is needed: the folder of a training, or its history.csv");
    if (!self->out)
        option_error(state, "--out FILE.png is needed");
    if (self->label_count != 0 && self->label_count != self->run_count)
        option_error(state, "--label: %zu for %zu runs; give one for each, or none",
                     self->label_count, self->run_count);
}

static int parse_option(int key, char *text, struct option_state *state)
{
    curves_options *self = state->input;
    switch (key) {
    case OPTION_INIT:
        state->child_inputs[0] = &self->program;
        return 0;
    case KEY_LABEL:
        if (self->label_count == MAX_RUNS)
            option_error(state, "--label: at most %d runs are drawn", MAX_RUNS);
        self->labels[self->label_count++] = text;
        return 0;
    case KEY_OUT:
        self->out = option_png(state, "--out", text);
        return 0;
    case OPTION_ARGUMENT:
        if (self->run_count == MAX_RUNS)
            option_error(state, "RUN: at most %d are drawn", MAX_RUNS);
        self->runs[self->run_count++] = text;
        return 0;
    case OPTION_END:
        check_options(self, state);
        return 0;
    default:
        return OPTION_UNKNOWN;
    }
}

static const struct option_child children[] = {{&program_table, "Common options:"}, {NULL, NULL}};
static const struct option_table parser = {
    option_list,
    parse_option,
    "RUN...",
    "Draws the learning curves of trainings together."
    "\vRUN is the folder of a training, or its history.csv. Each run has a colour; its validation "
    "is a solid line and its training a dashed one. Loss is on the left, top-1 accuracy on the "
    "right.",
    children,
    NULL};

/* Colours that differ in lightness too. */
static const double colours[MAX_RUNS][3] = {
    {0.12, 0.40, 0.70}, {0.85, 0.37, 0.05}, {0.13, 0.55, 0.13}, {0.60, 0.20, 0.55},
    {0.45, 0.30, 0.20}, {0.90, 0.65, 0.10}, {0.10, 0.65, 0.70}, {0.45, 0.45, 0.45}};

static svit_status read_run(curves_options *self, size_t run, history_file *history)
{
    char path[PATH_CAPACITY];
    const char *from = self->runs[run];
    if (path_is_folder(from)) {
        TRY(path_join(&self->program, path, from, "history.csv"));
        from = path;
    }
    return history_read(history, &self->program, from);
}

/* The lines of all runs in a panel, the validation of each and then its training. */
typedef struct panel_lines {
    plot_line lines[2 * MAX_RUNS];
    char names[2 * MAX_RUNS][NAME_CAPACITY];
} panel_lines;

static void name_line(const curves_options *self, size_t run, const char *part, char *name)
{
    char shown[SHOWN_CAPACITY];
    shown_text(shown, self->label_count ? self->labels[run] : self->runs[run]);
    /* The legend cuts long names at their end. */
    snprintf(name, NAME_CAPACITY, "%s, %s", part, shown);
}

static void add_line(const curves_options *self, panel_lines *out, const history_file *histories,
                     size_t run, int column, int is_training, double factor)
{
    size_t at = 2 * run + (size_t)is_training;
    const double *colour = colours[run];
    name_line(self, run, is_training ? "training" : "validation", out->names[at]);
    out->lines[at] = (plot_line){.name = out->names[at],
                                 .red = colour[0],
                                 .green = colour[1],
                                 .blue = colour[2],
                                 .dashed = is_training,
                                 .values = history_column(&histories[run], column),
                                 .count = histories[run].epochs,
                                 .factor = factor};
}

static svit_status draw(curves_options *self, const history_file *histories)
{
    panel_lines loss, accuracy;
    for (size_t run = 0; run < self->run_count; run++) {
        add_line(self, &loss, histories, run, HISTORY_VAL_LOSS, 0, 1);
        add_line(self, &loss, histories, run, HISTORY_TRAIN_LOSS, 1, 1);
        add_line(self, &accuracy, histories, run, HISTORY_VAL_TOP1, 0, 100);
        add_line(self, &accuracy, histories, run, HISTORY_TRAIN_TOP1, 1, 100);
    }
    const plot_panel panels[] = {
        {"Loss", loss.lines, 2 * self->run_count, NAN, NAN},
        {"Top-1 accuracy, %", accuracy.lines, 2 * self->run_count, NAN, NAN},
    };
    return plot_draw(&self->program, panels, 2, self->out);
}

static void report(const curves_options *self)
{
    char shown[SHOWN_CAPACITY];
    if (self->program.json)
        json_line_print(json_pack("{s:o, s:I}", "out", json_line_text(self->out), "runs",
                                  (json_int_t)self->run_count),
                        JSON_LINE_DIGITS);
    else
        printf("%zu runs: %s\n", self->run_count, shown_text(shown, self->out));
}

static svit_status run(curves_options *self, history_file *histories)
{
    TRY(output_check_picture(&self->program, "--out", self->out));
    TRY(program_open(&self->program)); /* checks the common options */
    for (size_t i = 0; i < self->run_count; i++)
        TRY(read_run(self, i, &histories[i]));
    TRY(draw(self, histories));
    report(self);
    return SVIT_OK;
}

int main(int argc, char **argv)
{
    curves_options options = {.program = PROGRAM_INIT};
    history_file histories[MAX_RUNS] = {{0}};
    program_parse(&parser, argc, argv, &options);
    svit_status status = run(&options, histories);
    for (size_t i = 0; i < MAX_RUNS; i++)
        history_free(&histories[i]);
    return program_exit(&options.program, status);
}
