/* Reads the history.csv of a training. */
#include "training/history_file.h"

#include "program/path_text.h"
#include "program/shown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[HISTORY_COLUMNS] = {
    [HISTORY_TRAIN_LOSS] = "train_loss",
    [HISTORY_VAL_LOSS] = "val_loss",
    [HISTORY_TRAIN_TOP1] = "train_top1",
    [HISTORY_VAL_TOP1] = "val_top1",
};

/* A file while it is read. */
typedef struct reader {
    struct program *program;
    const char *path;
    char *rest; /* the lines that were not read yet */
    size_t line, fields;
    size_t fields_of[HISTORY_COLUMNS]; /* the number of each column's field in a line */
} reader;

/* Returns the next line, which ends at its NUL, or NULL. */
static char *next_line(reader *self)
{
    if (*self->rest == '\0')
        return NULL;
    char *line = self->rest;
    char *end = strchrnul(line, '\n');
    self->rest = *end ? end + 1 : end;
    *end = '\0';
    if (end > line && end[-1] == '\r')
        end[-1] = '\0';
    self->line++;
    return line;
}

static svit_status read_names(reader *self)
{
    char *line = next_line(self), *field;
    for (int i = 0; i < HISTORY_COLUMNS; i++)
        self->fields_of[i] = SIZE_MAX;
    while (line && (field = strsep(&line, ",")) != NULL) {
        for (int i = 0; i < HISTORY_COLUMNS; i++)
            if (strcmp(field, names[i]) == 0)
                self->fields_of[i] = self->fields;
        self->fields++;
    }
    for (int i = 0; i < HISTORY_COLUMNS; i++)
        if (self->fields_of[i] == SIZE_MAX)
            return program_fail(self->program, SVIT_E_FORMAT,
                                "'%s' is no history of a training: its first line has no column %s",
                                self->path, names[i]);
    return SVIT_OK;
}

static svit_status read_value(const reader *self, const char *field, double *value)
{
    char *end;
    *value = *field ? strtod(field, &end) : NAN;
    if (*field == '\0' || *end == '\0')
        return SVIT_OK;
    char shown[SHOWN_CAPACITY];
    return program_fail(self->program, SVIT_E_FORMAT, "'%s', line %zu: '%.80s' is no number",
                        self->path, self->line, shown_text(shown, field));
}

/* Reads a line into row[HISTORY_COLUMNS]. */
static svit_status read_row(const reader *self, char *line, double *row)
{
    size_t fields = 0;
    for (char *field; (field = strsep(&line, ",")) != NULL; fields++)
        for (int i = 0; i < HISTORY_COLUMNS; i++)
            if (self->fields_of[i] == fields)
                TRY(read_value(self, field, &row[i]));
    if (fields != self->fields)
        return program_fail(self->program, SVIT_E_FORMAT,
                            "'%s', line %zu: %zu values where the first line names %zu", self->path,
                            self->line, fields, self->fields);
    return SVIT_OK;
}

/* The epochs of the file are at most the lines of its rest. */
static size_t count_lines(const char *text)
{
    size_t lines = 1;
    while ((text = strchr(text, '\n')) != NULL) {
        text++;
        lines++;
    }
    return lines;
}

static svit_status read_rows(history_file *self, reader *from)
{
    TRY(read_names(from));
    size_t most = count_lines(from->rest);
    self->values = calloc(most, HISTORY_COLUMNS * sizeof *self->values);
    if (!self->values)
        return program_fail(from->program, SVIT_E_MEMORY, "no memory for '%s'", from->path);
    self->stride = most;
    for (char *line; (line = next_line(from)) != NULL; self->epochs++) {
        double row[HISTORY_COLUMNS];
        TRY(read_row(from, line, row));
        for (int i = 0; i < HISTORY_COLUMNS; i++)
            self->values[(size_t)i * most + self->epochs] = row[i];
    }
    if (self->epochs == 0)
        return program_fail(from->program, SVIT_E_FORMAT, "'%s' has no epoch", from->path);
    return SVIT_OK;
}

svit_status history_read(history_file *self, struct program *program, const char *path)
{
    char *text;
    *self = (history_file){0};
    TRY(path_read_text(program, path, &text));
    reader from = {.program = program, .path = path, .rest = text};
    svit_status status = read_rows(self, &from);
    free(text);
    if (status != SVIT_OK)
        history_free(self);
    return status;
}

void history_free(history_file *self)
{
    free(self->values);
    *self = (history_file){0};
}

const double *history_column(const history_file *self, int column)
{
    return self->values + (size_t)column * self->stride;
}
