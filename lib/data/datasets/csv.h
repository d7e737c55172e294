/* Tables of text: CSV files as RFC 4180 describes them, with a header line. */
#ifndef SV_CSV_H
#define SV_CSV_H

#include "base/memory.h"
#include "base/status.h"

typedef struct sv_csv {
    char *text; /* the file, in which the fields were unquoted and ended with NUL bytes */
    size_t bytes;
    char **fields;   /* [rows, columns] in `text`; row 0 is the header */
    uint32_t *lines; /* [rows] the line, from 1, on which each row begins */
    size_t rows, columns;
    size_t capacity, line_capacity; /* elements of `fields` and of `lines` */
} sv_csv;

/* Reads a file. Fields may be quoted; empty lines are skipped; a line ends with LF, CR or both.
 * SVIT_E_FORMAT, with the number of the line, if a row has another number of fields than the
 * header, if semicolons or tabs separate them, if a quote does not end, or if a line is not UTF-8.
 * The caller frees *out with sv_csv_free, also after a failure. */
svit_status sv_csv_read(sv_csv *out, const sv_allocator *allocator, const char *path,
                        svit_error *err);
void sv_csv_free(const sv_allocator *allocator, sv_csv *csv);

/* The field of a row and column. */
const char *sv_csv_field(const sv_csv *csv, size_t row, size_t column);

#endif
