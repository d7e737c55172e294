/* Draws learning curves as a picture. */
#include "curves.h"

#include "canvas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 1120, HEIGHT = 500, PANEL_TOP = 56, PANEL_HEIGHT = 330, PANEL_WIDTH = 450 };

/* One line of a panel: one value for each epoch. */
typedef struct series {
    const char *name;
    double red, green, blue;
    int dashed;
    size_t offset; /* of the value in svit_trainer_event */
    double factor;
} series;

/* A panel of the picture: its position, its lines and the range of its value axis. */
typedef struct panel {
    const char *title;
    const series *lines;
    size_t count;
    double left;
    double min, max, step;
    int decimals;
} panel;

#define VALUE(field) offsetof(svit_trainer_event, field)

static const series loss_lines[] = {
    {"training", 0.12, 0.40, 0.70, 0, VALUE(train_loss), 1},
    {"validation", 0.85, 0.37, 0.05, 0, VALUE(val_loss), 1},
};
static const series accuracy_lines[] = {
    {"training, top-1", 0.12, 0.40, 0.70, 0, VALUE(train_top1), 100},
    {"validation, top-1", 0.85, 0.37, 0.05, 0, VALUE(val_top1), 100},
    {"training, top-5", 0.12, 0.40, 0.70, 1, VALUE(train_top5), 100},
    {"validation, top-5", 0.85, 0.37, 0.05, 1, VALUE(val_top5), 100},
};

static double series_value(const series *line, const svit_trainer_event *event)
{
    return *(const double *)(const void *)((const char *)event + line->offset) * line->factor;
}

/* Returns 1, 2 or 5 times a power of ten, so that about `wanted` steps cover `range`. */
static double round_step(double range, double wanted)
{
    double raw = range / wanted;
    double power = pow(10, floor(log10(raw)));
    double mantissa = raw / power;
    return power * (mantissa <= 1 ? 1 : mantissa <= 2 ? 2 : mantissa <= 5 ? 5 : 10);
}

/* Sets the range of the value axis to cover all lines, and min..max at least. */
static void panel_range(panel *self, const svit_trainer_event *epochs, size_t count, double min,
                        double max)
{
    for (size_t line = 0; line < self->count; line++)
        for (size_t i = 0; i < count; i++) {
            double value = series_value(&self->lines[line], &epochs[i]);
            min = fmin(min, isfinite(value) ? value : min);
            max = fmax(max, isfinite(value) ? value : max);
        }
    double range = max > min ? max - min : 1;
    self->step = round_step(range, 6);
    self->min = floor(min / self->step) * self->step;
    self->max = ceil((min + range) / self->step) * self->step;
    self->decimals = self->step >= 1 ? 0 : (int)ceil(-log10(self->step) - 1e-9);
}

static double panel_y(const panel *self, double value)
{
    double part = (value - self->min) / (self->max - self->min);
    return PANEL_TOP + PANEL_HEIGHT * (1 - part);
}

/* Returns the x of epoch number `index`, from 0. A single epoch is in the middle. */
static double panel_x(const panel *self, size_t index, size_t count)
{
    return self->left + PANEL_WIDTH * (count > 1 ? (double)index / (double)(count - 1) : 0.5);
}

static void draw_values_axis(cairo_t *canvas, const panel *self)
{
    char text[32];
    size_t steps = (size_t)lround((self->max - self->min) / self->step);
    for (size_t i = 0; i <= steps; i++) {
        double value = self->min + (double)i * self->step;
        double y = round(panel_y(self, value)) + 0.5;
        canvas_line(canvas, self->left, y, self->left + PANEL_WIDTH, y, 0.88);
        snprintf(text, sizeof text, "%.*f", self->decimals, value);
        canvas_text(canvas, text, self->left - 8, y + 4, 12, CANVAS_RIGHT);
    }
}

static void draw_epochs_axis(cairo_t *canvas, const panel *self, size_t count)
{
    char text[32];
    double bottom = PANEL_TOP + PANEL_HEIGHT;
    size_t step = (size_t)fmax(1, round_step((double)count, 8));
    for (size_t epoch = count > step ? step : 1; epoch <= count; epoch += step) {
        double x = round(panel_x(self, epoch - 1, count)) + 0.5;
        canvas_line(canvas, x, bottom, x, bottom + 5, 0.4);
        snprintf(text, sizeof text, "%zu", epoch);
        canvas_text(canvas, text, x, bottom + 20, 12, CANVAS_CENTRE);
    }
    canvas_line(canvas, self->left, bottom + 0.5, self->left + PANEL_WIDTH, bottom + 0.5, 0.4);
    canvas_text(canvas, "epoch", self->left + PANEL_WIDTH / 2.0, bottom + 44, 13, CANVAS_CENTRE);
}

static void set_pen(cairo_t *canvas, const series *line)
{
    const double dashes[] = {6, 4};
    cairo_set_source_rgb(canvas, line->red, line->green, line->blue);
    cairo_set_line_width(canvas, line->dashed ? 1.5 : 2);
    cairo_set_dash(canvas, dashes, line->dashed ? 2 : 0, 0);
}

static void draw_series(cairo_t *canvas, const panel *self, const series *line,
                        const svit_trainer_event *epochs, size_t count)
{
    set_pen(canvas, line);
    cairo_new_path(canvas);
    for (size_t i = 0; i < count; i++) {
        double value = series_value(line, &epochs[i]);
        if (isfinite(value))
            cairo_line_to(canvas, panel_x(self, i, count), panel_y(self, value));
    }
    cairo_stroke(canvas);
    cairo_set_dash(canvas, NULL, 0, 0);
    for (size_t i = 0; i < count && count <= 25; i++) {
        double value = series_value(line, &epochs[i]);
        if (isfinite(value)) {
            cairo_arc(canvas, panel_x(self, i, count), panel_y(self, value), 2.6, 0, 6.2832);
            cairo_fill(canvas);
        }
    }
}

/* Whether a line has a point: a training without validation has no such values. */
static int has_values(const series *line, const svit_trainer_event *epochs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (isfinite(series_value(line, &epochs[i])))
            return 1;
    return 0;
}

/* Draws the names of the lines that have points below the panel, two in a row. */
static void draw_legend(cairo_t *canvas, const panel *self, const svit_trainer_event *epochs,
                        size_t count)
{
    size_t drawn = 0;
    for (size_t i = 0; i < self->count; i++) {
        if (!has_values(&self->lines[i], epochs, count))
            continue;
        double left = self->left + 50 + 200.0 * (double)(drawn % 2);
        double y = PANEL_TOP + PANEL_HEIGHT + 70 + 22.0 * (double)(drawn / 2);
        drawn++;
        set_pen(canvas, &self->lines[i]);
        cairo_move_to(canvas, left, y);
        cairo_line_to(canvas, left + 32, y);
        cairo_stroke(canvas);
        cairo_set_dash(canvas, NULL, 0, 0);
        canvas_text(canvas, self->lines[i].name, left + 42, y + 4, 12, CANVAS_LEFT);
    }
}

static void draw_panel(cairo_t *canvas, const panel *self, const svit_trainer_event *epochs,
                       size_t count)
{
    canvas_text(canvas, self->title, self->left + PANEL_WIDTH / 2.0, PANEL_TOP - 18, 16,
                CANVAS_CENTRE);
    draw_values_axis(canvas, self);
    draw_epochs_axis(canvas, self, count);
    for (size_t i = self->count; i-- > 0;)
        draw_series(canvas, self, &self->lines[i], epochs, count);
    draw_legend(canvas, self, epochs, count);
}

static void draw_both(cairo_t *canvas, const svit_trainer_event *epochs, size_t count)
{
    panel loss = {.title = "Loss", .lines = loss_lines, .count = 2, .left = 70};
    panel accuracy = {
        .title = "Accuracy, %", .lines = accuracy_lines, .count = 4, .left = 70 + 560};
    panel_range(&loss, epochs, count, epochs[0].train_loss, epochs[0].train_loss);
    panel_range(&accuracy, epochs, count, 100, 100);
    draw_panel(canvas, &loss, epochs, count);
    draw_panel(canvas, &accuracy, epochs, count);
}

static svit_status read_history(svit_trainer_event **epochs, struct program *self,
                                const svit_trainer *trainer, size_t count)
{
    *epochs = calloc(count, sizeof **epochs);
    if (!*epochs)
        return program_fail(self, SVIT_E_MEMORY, "no memory for a history of %zu epochs", count);
    for (size_t i = 0; i < count; i++)
        TRY(svit_trainer_history(trainer, i, &(*epochs)[i], sizeof **epochs, &self->err));
    return SVIT_OK;
}

svit_status curves_draw(struct program *self, const svit_trainer *trainer, const char *path)
{
    size_t count = svit_trainer_history_count(trainer);
    svit_trainer_event *epochs = NULL;
    if (count == 0)
        return SVIT_OK;
    svit_status status = read_history(&epochs, self, trainer, count);
    if (status == SVIT_OK) {
        cairo_t *canvas = canvas_create(WIDTH, HEIGHT);
        draw_both(canvas, epochs, count);
        status = canvas_write(self, canvas, path);
    }
    free(epochs);
    return status;
}
