/* Draws a confusion matrix. */
#include "pictures/confusion_picture.h"

#include "pictures/canvas.h"

#include <inttypes.h>
#include <stdio.h>

enum { MOST_NAMED = 20, MOST_CLASSES = 1000, NAME_WIDTH = 110, TOP = 60, MARGIN = 20 };

/* Where the squares are. */
typedef struct layout {
    size_t classes;
    int side; /* of a square in pixels */
    int left, top;
    int named; /* 1: the squares have counts, and rows and columns have names */
} layout;

static layout plan(size_t classes)
{
    int named = classes <= MOST_NAMED;
    int side = named ? 56 : classes <= 200 ? 6 : 2;
    return (layout){classes, side, named ? NAME_WIDTH + MARGIN : MARGIN + 20,
                    named ? TOP + 24 : TOP, named};
}

static double part_of_row(const uint64_t *row, size_t classes, size_t column)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < classes; k++)
        sum += row[k];
    return sum ? (double)row[column] / (double)sum : 0;
}

/* White for 0, a dark blue for 1. */
static void draw_square(cairo_t *canvas, const layout *at, size_t row, size_t column, double part)
{
    cairo_set_source_rgb(canvas, 1 - 0.92 * part, 1 - 0.75 * part, 1 - 0.45 * part);
    cairo_rectangle(canvas, at->left + (double)column * at->side, at->top + (double)row * at->side,
                    at->side, at->side);
    cairo_fill(canvas);
}

static void draw_count(cairo_t *canvas, const layout *at, size_t row, size_t column, uint64_t count)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, count);
    /* A light plate keeps the number readable on every colour. */
    double x = at->left + ((double)column + 0.5) * at->side;
    double y = at->top + ((double)row + 0.5) * at->side;
    cairo_set_source_rgba(canvas, 1, 1, 1, 0.7);
    cairo_rectangle(canvas, x - 20, y - 9, 40, 18);
    cairo_fill(canvas);
    canvas_text_within(canvas, text, x, y + 4, 12, CANVAS_CENTRE, 38);
}

static void draw_names(cairo_t *canvas, const layout *at, const class_list *classes)
{
    for (size_t i = 0; i < at->classes; i++) {
        char number[24];
        const char *name = class_list_label(number, classes, i);
        double middle = ((double)i + 0.5) * at->side;
        canvas_text_within(canvas, name, at->left - NAME_WIDTH / 2 - 6, at->top + middle + 4, 12,
                           CANVAS_CENTRE, NAME_WIDTH - 4);
        canvas_text_within(canvas, name, at->left + middle, at->top - 8, 11, CANVAS_CENTRE,
                           at->side - 4);
    }
}

svit_status confusion_picture_check(struct program *self, size_t classes)
{
    return classes <= MOST_CLASSES
               ? SVIT_OK
               : program_fail(self, SVIT_E_ARGUMENT,
                              "--confusion: %zu classes do not fit a picture; up to %d do, and a "
                              ".csv file takes all",
                              classes, MOST_CLASSES);
}

svit_status confusion_picture_draw(struct program *self, const uint64_t *matrix,
                                   const class_list *list, const char *path)
{
    const size_t classes = list->count;
    const layout at = plan(classes);
    int size = (int)classes * at.side;
    cairo_t *canvas = canvas_create(at.left + size + MARGIN, at.top + size + MARGIN);
    canvas_text(canvas, "true classes downwards, predicted classes to the right", at.left, 28, 14,
                CANVAS_LEFT);
    for (size_t i = 0; i < classes; i++)
        for (size_t k = 0; k < classes; k++) {
            const uint64_t *row = matrix + i * classes;
            draw_square(canvas, &at, i, k, part_of_row(row, classes, k));
            if (at.named && row[k])
                draw_count(canvas, &at, i, k, row[k]);
        }
    if (at.named)
        draw_names(canvas, &at, list);
    for (int edge = 0; edge <= size; edge += size) {
        canvas_line(canvas, at.left + edge, at.top, at.left + edge, at.top + size, 0.6);
        canvas_line(canvas, at.left, at.top + edge, at.left + size, at.top + edge, 0.6);
    }
    return canvas_write(self, canvas, path);
}
