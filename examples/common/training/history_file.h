/* Reads the history.csv of a training. */
#ifndef EXAMPLE_HISTORY_FILE_H
#define EXAMPLE_HISTORY_FILE_H

#include "program/program.h"

/* The columns that are read. */
enum {
    HISTORY_TRAIN_LOSS,
    HISTORY_VAL_LOSS,
    HISTORY_TRAIN_TOP1,
    HISTORY_VAL_TOP1,
    HISTORY_COLUMNS
};

typedef struct history_file {
    double
        *values; /* [HISTORY_COLUMNS][stride], the first `epochs` of each; NaN: empty in the file */
    size_t epochs, stride;
} history_file;

/* Reads a file of svit_trainer, or a file with the same columns in any order. Free with
 * history_free. SVIT_E_FORMAT: a column is missing, a row is not as long as the first line, a value
 * is no number, or there is no row. */
svit_status history_read(history_file *self, struct program *program, const char *path);
void history_free(history_file *self);

/* The values of one column. */
const double *history_column(const history_file *self, int column);

#endif
