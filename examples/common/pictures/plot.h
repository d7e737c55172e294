/* Draws panels side by side, each with lines over the epochs of trainings. */
#ifndef EXAMPLE_PLOT_H
#define EXAMPLE_PLOT_H

#include "program/program.h"

/* One line of a panel. */
typedef struct plot_line {
    const char *name;
    double red, green, blue; /* 0 to 1 */
    int dashed;
    const double *values; /* one for each epoch, from the first; NaN: no point */
    size_t count;
    double factor; /* of the values: 100 for fractions on an axis in percent */
} plot_line;

/* A panel and the range that its value axis covers at least; NaN: what the lines need. */
typedef struct plot_panel {
    const char *title;
    const plot_line *lines;
    size_t count;
    double min, max;
} plot_panel;

/* Draws panels to a PNG file. A line without a point is not in the legend. */
svit_status plot_draw(struct program *self, const plot_panel *panels, size_t count,
                      const char *path);

#endif
