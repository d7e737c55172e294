/* Draws panels side by side, each with lines over the epochs of trainings. */
#include "pictures/plot.h"

#include "pictures/canvas.h"

#include <math.h>
#include <stdio.h>

enum {
    PANEL_TOP = 56,
    PANEL_HEIGHT = 330,
    PANEL_WIDTH = 450,
    PANEL_LEFT = 70,
    PANEL_DISTANCE = 560,
    LEGEND_TOP = 70, /* of the first row, below the panel */
    LEGEND_ROW = 22,
    LEGEND_COLUMN = 200,
    LEGEND_MARGIN = 50,
    LEGEND_SAMPLE = 32, /* the length of the piece of a line */
    MARKED = 25         /* lines of so many epochs have marks */
};

/* The axes of a panel. */
typedef struct axes {
    double left;
    double min, max, step; /* of values */
    int decimals;
    size_t epochs;
} axes;

/* Returns 1, 2 or 5 times a power of ten, so that about `wanted` steps cover `range`. */
static double round_step(double range, double wanted)
{
    double raw = range / wanted;
    double power = pow(10, floor(log10(raw)));
    double mantissa = raw / power;
    return power * (mantissa <= 1 ? 1 : mantissa <= 2 ? 2 : mantissa <= 5 ? 5 : 10);
}

static double line_value(const plot_line *line, size_t index)
{
    return line->values[index] * line->factor;
}

/* Whether a point can be drawn: no training has such numbers, but a file may. */
static int is_drawn(const plot_line *line, size_t index)
{
    return isfinite(line_value(line, index)) && fabs(line_value(line, index)) < 1e30;
}

/* The range of an axis from `min` to `max`, large enough for steps that are different numbers. */
static double axis_range(double min, double max)
{
    const double largest = fmax(fabs(min), fabs(max));
    const double range = max - min;
    return range > 1e-9 * largest && range > 1e-30 ? range : fmax(1, 1e-9 * largest);
}

static axes axes_for(const plot_panel *panel, double left)
{
    double min = panel->min, max = panel->max;
    axes self = {.left = left};
    for (size_t i = 0; i < panel->count; i++) {
        const plot_line *line = &panel->lines[i];
        self.epochs = line->count > self.epochs ? line->count : self.epochs;
        /* fmin and fmax prefer a number to NaN. */
        for (size_t j = 0; j < line->count; j++)
            if (is_drawn(line, j)) {
                min = fmin(min, line_value(line, j));
                max = fmax(max, line_value(line, j));
            }
    }
    min = isfinite(min) ? min : 0;
    max = isfinite(max) ? max : min;
    const double range = axis_range(min, max);
    self.step = round_step(range, 6);
    self.min = floor(min / self.step) * self.step;
    self.max = ceil((min + range) / self.step) * self.step;
    self.decimals = self.step >= 1 ? 0 : (int)ceil(-log10(self.step) - 1e-9);
    return self;
}

static double value_y(const axes *self, double value)
{
    double part = (value - self->min) / (self->max - self->min);
    return PANEL_TOP + PANEL_HEIGHT * (1 - part);
}

/* Returns the x of epoch number `index`, from 0. A single epoch is in the middle. */
static double epoch_x(const axes *self, size_t index)
{
    double part = self->epochs > 1 ? (double)index / (double)(self->epochs - 1) : 0.5;
    return self->left + PANEL_WIDTH * part;
}

static void draw_values_axis(cairo_t *canvas, const axes *self)
{
    char text[32];
    size_t steps = (size_t)lround((self->max - self->min) / self->step);
    for (size_t i = 0; i <= steps; i++) {
        double value = self->min + (double)i * self->step;
        double y = round(value_y(self, value)) + 0.5;
        canvas_line(canvas, self->left, y, self->left + PANEL_WIDTH, y, 0.88);
        snprintf(text, sizeof text, "%.*f", self->decimals, value);
        canvas_text(canvas, text, self->left - 8, y + 4, 12, CANVAS_RIGHT);
    }
}

static void draw_epochs_axis(cairo_t *canvas, const axes *self)
{
    char text[32];
    double bottom = PANEL_TOP + PANEL_HEIGHT;
    size_t step = (size_t)fmax(1, round_step((double)self->epochs, 8));
    for (size_t epoch = self->epochs > step ? step : 1; epoch <= self->epochs; epoch += step) {
        double x = round(epoch_x(self, epoch - 1)) + 0.5;
        canvas_line(canvas, x, bottom, x, bottom + 5, 0.4);
        snprintf(text, sizeof text, "%zu", epoch);
        canvas_text(canvas, text, x, bottom + 20, 12, CANVAS_CENTRE);
    }
    canvas_line(canvas, self->left, bottom + 0.5, self->left + PANEL_WIDTH, bottom + 0.5, 0.4);
    canvas_text(canvas, "epoch", self->left + PANEL_WIDTH / 2.0, bottom + 44, 13, CANVAS_CENTRE);
}

static void set_pen(cairo_t *canvas, const plot_line *line)
{
    const double dashes[] = {6, 4};
    cairo_set_source_rgb(canvas, line->red, line->green, line->blue);
    cairo_set_line_width(canvas, line->dashed ? 1.5 : 2);
    cairo_set_dash(canvas, dashes, line->dashed ? 2 : 0, 0);
}

static void draw_line(cairo_t *canvas, const axes *self, const plot_line *line)
{
    set_pen(canvas, line);
    cairo_new_path(canvas);
    for (size_t i = 0; i < line->count; i++)
        if (is_drawn(line, i))
            cairo_line_to(canvas, epoch_x(self, i), value_y(self, line_value(line, i)));
    cairo_stroke(canvas);
    cairo_set_dash(canvas, NULL, 0, 0);
    for (size_t i = 0; i < line->count && self->epochs <= MARKED; i++)
        if (is_drawn(line, i)) {
            cairo_arc(canvas, epoch_x(self, i), value_y(self, line_value(line, i)), 2.6, 0, 6.2832);
            cairo_fill(canvas);
        }
}

/* Whether a line has a point: a training without validation has no such values. */
static int has_points(const plot_line *line)
{
    for (size_t i = 0; i < line->count; i++)
        if (is_drawn(line, i))
            return 1;
    return 0;
}

static size_t legend_rows(const plot_panel *panel)
{
    size_t entries = 0;
    for (size_t i = 0; i < panel->count; i++)
        entries += (size_t)has_points(&panel->lines[i]);
    return (entries + 1) / 2;
}

/* Draws the names of the lines that have points below the panel, two in a row. */
static void draw_legend(cairo_t *canvas, const axes *self, const plot_panel *panel)
{
    size_t drawn = 0;
    for (size_t i = 0; i < panel->count; i++) {
        const plot_line *line = &panel->lines[i];
        if (!has_points(line))
            continue;
        double left = self->left + LEGEND_MARGIN + LEGEND_COLUMN * (double)(drawn % 2);
        double y = PANEL_TOP + PANEL_HEIGHT + LEGEND_TOP + LEGEND_ROW * (double)(drawn / 2);
        drawn++;
        set_pen(canvas, line);
        cairo_move_to(canvas, left, y);
        cairo_line_to(canvas, left + LEGEND_SAMPLE, y);
        cairo_stroke(canvas);
        cairo_set_dash(canvas, NULL, 0, 0);
        canvas_text_within(canvas, line->name, left + LEGEND_SAMPLE + 10, y + 4, 12, CANVAS_LEFT,
                           LEGEND_COLUMN - LEGEND_SAMPLE - 18);
    }
}

static void draw_panel(cairo_t *canvas, const plot_panel *panel, double left)
{
    axes self = axes_for(panel, left);
    canvas_text(canvas, panel->title, left + PANEL_WIDTH / 2.0, PANEL_TOP - 18, 16, CANVAS_CENTRE);
    draw_values_axis(canvas, &self);
    draw_epochs_axis(canvas, &self);
    for (size_t i = panel->count; i-- > 0;)
        draw_line(canvas, &self, &panel->lines[i]);
    draw_legend(canvas, &self, panel);
}

svit_status plot_draw(struct program *self, const plot_panel *panels, size_t count,
                      const char *path)
{
    size_t rows = 0;
    for (size_t i = 0; i < count; i++) {
        size_t needed = legend_rows(&panels[i]);
        rows = needed > rows ? needed : rows;
    }
    int width = PANEL_DISTANCE * (int)count;
    int height = PANEL_TOP + PANEL_HEIGHT + LEGEND_TOP + LEGEND_ROW * (int)rows;
    cairo_t *canvas = canvas_create(width, height);
    for (size_t i = 0; i < count; i++)
        draw_panel(canvas, &panels[i], PANEL_LEFT + PANEL_DISTANCE * (double)i);
    return canvas_write(self, canvas, path);
}
