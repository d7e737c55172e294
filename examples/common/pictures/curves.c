/* Draws learning curves as a picture. */
#include "pictures/curves.h"

#include "pictures/plot.h"

#include <math.h>
#include <stdlib.h>

/* What is drawn of svit_trainer_event: the first two as loss, the others as accuracy. */
static const struct {
    plot_line line;
    size_t offset;
} columns[] = {
    {{"training", 0.12, 0.40, 0.70, 0, NULL, 0, 1}, offsetof(svit_trainer_event, train_loss)},
    {{"validation", 0.85, 0.37, 0.05, 0, NULL, 0, 1}, offsetof(svit_trainer_event, val_loss)},
    {{"training, top-1", 0.12, 0.40, 0.70, 0, NULL, 0, 100},
     offsetof(svit_trainer_event, train_top1)},
    {{"validation, top-1", 0.85, 0.37, 0.05, 0, NULL, 0, 100},
     offsetof(svit_trainer_event, val_top1)},
    {{"training, top-5", 0.12, 0.40, 0.70, 1, NULL, 0, 100},
     offsetof(svit_trainer_event, train_top5)},
    {{"validation, top-5", 0.85, 0.37, 0.05, 1, NULL, 0, 100},
     offsetof(svit_trainer_event, val_top5)},
};
enum { COLUMNS = sizeof columns / sizeof *columns, LOSSES = 2 };

/* Reads the history into values[COLUMNS][count]. */
static svit_status read_history(double *values, struct program *self, const svit_trainer *trainer,
                                size_t count)
{
    for (size_t i = 0; i < count; i++) {
        svit_trainer_event event;
        TRY(svit_trainer_history(trainer, i, &event, sizeof event, &self->err));
        for (size_t column = 0; column < COLUMNS; column++) {
            const void *value = (const char *)&event + columns[column].offset;
            values[column * count + i] = *(const double *)value;
        }
    }
    return SVIT_OK;
}

static svit_status draw(struct program *self, const double *values, size_t count, const char *path)
{
    plot_line lines[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++) {
        lines[i] = columns[i].line;
        lines[i].values = values + i * count;
        lines[i].count = count;
    }
    const plot_panel panels[] = {
        {"Loss", lines, LOSSES, NAN, NAN},
        {"Accuracy, %", lines + LOSSES, COLUMNS - LOSSES, NAN, 100},
    };
    return plot_draw(self, panels, 2, path);
}

svit_status curves_draw(struct program *self, const svit_trainer *trainer, const char *path)
{
    size_t count = svit_trainer_history_count(trainer);
    if (count == 0)
        return SVIT_OK;
    double *values = calloc(count, COLUMNS * sizeof *values);
    if (!values)
        return program_fail(self, SVIT_E_MEMORY, "no memory for a history of %zu epochs", count);
    svit_status status = read_history(values, self, trainer, count);
    if (status == SVIT_OK)
        status = draw(self, values, count, path);
    free(values);
    return status;
}
