/* Reads CSV files in place: a field never grows by losing its quotes. */
#include "data/datasets/csv.h"

#include "base/files/file.h"
#include "base/text/utf8.h"

#include <string.h>

enum { LIMIT = 1 << 30 }; /* bytes of the largest file */

/* A position in the text. */
typedef struct reader {
    const char *path;
    char *at;
    const char *end;
    size_t line; /* from 1 */
} reader;

static svit_status fail_at(const reader *self, const char *what, svit_error *err)
{
    return sv_fail(err, SVIT_E_FORMAT, "'%s', line %zu: %s", self->path, self->line, what);
}

static svit_status fail_separator(const reader *self, char found, svit_error *err)
{
    return sv_fail(err, SVIT_E_FORMAT,
                   "'%s', line %zu: %s separate the fields; commas are accepted", self->path,
                   self->line, found == ';' ? "semicolons" : "tabs");
}

static bool at_line_end(const reader *self)
{
    return self->at == self->end || *self->at == '\n' || *self->at == '\r';
}

/* Whether a line ends at `at`: LF, or CR of the old Mac, or both as one. */
static bool ends_line(const char *at, const char *end)
{
    return *at == '\n' || (*at == '\r' && (at + 1 == end || at[1] != '\n'));
}

/* Moves past the end of a line. */
static void skip_line_end(reader *self)
{
    while (self->at < self->end && !ends_line(self->at, self->end))
        self->at++;
    if (self->at < self->end)
        self->at++;
    self->line++;
}

/* Unquotes a field whose opening quote has been read; two quotes stand for one. Returns the end of
 * the field's text; NULL if the quote does not end. */
static char *unquote(reader *self)
{
    char *to = self->at;
    for (; self->at < self->end; self->at++) {
        if (*self->at == '"') {
            if (self->at + 1 == self->end || self->at[1] != '"') {
                self->at++;
                return to;
            }
            self->at++;
        }
        self->line += ends_line(self->at, self->end);
        *to++ = *self->at;
    }
    return NULL;
}

/* Reads one field and moves to what follows it: a comma, the end of the line or of the file. *end
 * is where its NUL byte belongs; it may be the position itself, so it is written later. */
static svit_status read_field(reader *self, char **field, char **end, svit_error *err)
{
    if (self->at < self->end && *self->at == '"') {
        *field = ++self->at;
        *end = unquote(self);
        if (!*end)
            return fail_at(self, "a quote does not end", err);
        if (!at_line_end(self) && (*self->at == ';' || *self->at == '\t'))
            return fail_separator(self, *self->at, err);
        if (!at_line_end(self) && *self->at != ',')
            return fail_at(self, "a comma or the end of the line must follow a closing quote", err);
        return SVIT_OK;
    }
    *field = self->at;
    while (!at_line_end(self) && *self->at != ',')
        self->at++;
    *end = self->at;
    return SVIT_OK;
}

/* Refuses a header of one field with semicolons or tabs in it: the commas in the rows after it
 * would be those of decimal numbers. */
static svit_status check_header(const sv_csv *csv, const reader *self, svit_error *err)
{
    const char *found = strpbrk(csv->fields[0], ";\t");
    const reader header = {self->path, NULL, NULL, csv->lines[0]};
    return csv->columns == 1 && found ? fail_separator(&header, *found, err) : SVIT_OK;
}

/* Reads the fields of one line. */
static svit_status read_row(sv_csv *csv, reader *self, svit_error *err)
{
    size_t count = 0, line = self->line;
    csv->lines[csv->rows] = (uint32_t)line;
    for (bool more = true; more; count++) {
        char *field = NULL, *end = NULL;
        SVIT_TRY(read_field(self, &field, &end, err));
        more = self->at < self->end && *self->at == ',';
        if (more)
            self->at++;
        else
            skip_line_end(self);
        *end = '\0';
        if (!sv_utf8_valid(field))
            return sv_fail(err, SVIT_E_FORMAT, "'%s', line %zu: field %zu is not UTF-8", self->path,
                           line, count + 1);
        if (csv->rows == 0 || count < csv->columns)
            csv->fields[csv->rows * csv->columns + count] = field;
    }
    if (csv->rows > 0 && count != csv->columns)
        return sv_fail(err, SVIT_E_FORMAT,
                       "'%s', line %zu: it has %zu fields; the first line has %zu", self->path,
                       line, count, csv->columns);
    if (csv->rows == 0)
        csv->columns = count;
    csv->rows++;
    return csv->rows == 1 ? check_header(csv, self, err) : SVIT_OK;
}

/* Sets the bounds of rows and fields: a text has at most one row for each line end, one field for
 * each line end and comma, and one more of both for the last line. */
static void count_most(sv_csv *csv)
{
    size_t commas = 0;
    csv->line_capacity = 1;
    for (size_t i = 0; i < csv->bytes; i++) {
        commas += csv->text[i] == ',';
        csv->line_capacity += csv->text[i] == '\n' || csv->text[i] == '\r';
    }
    csv->capacity = csv->line_capacity + commas;
}

svit_status sv_csv_read(sv_csv *out, const sv_allocator *allocator, const char *path,
                        svit_error *err)
{
    *out = (sv_csv){0};
    void *memory = NULL;
    SVIT_TRY(sv_file_read(&memory, &out->bytes, allocator, path, LIMIT, err));
    out->text = memory;
    if (memchr(out->text, '\0', out->bytes))
        return sv_fail(err, SVIT_E_FORMAT, "'%s' has a NUL byte; it is no CSV file", path);
    count_most(out);
    SVIT_TRY(sv_allocate_array(allocator, &memory, out->line_capacity, sizeof *out->lines,
                               "the lines of a CSV file", err));
    out->lines = memory;
    SVIT_TRY(sv_allocate_array(allocator, &memory, out->capacity, sizeof *out->fields,
                               "the fields of a CSV file", err));
    out->fields = memory;
    reader self = {path, out->text, out->text + out->bytes, 1};
    static const char MARK[] = "\xEF\xBB\xBF"; /* which some programs put before UTF-8 */
    if (strncmp(out->text, MARK, sizeof MARK - 1) == 0)
        self.at += sizeof MARK - 1;
    while (self.at < self.end) {
        if (at_line_end(&self))
            skip_line_end(&self);
        else
            SVIT_TRY(read_row(out, &self, err));
    }
    return SVIT_OK;
}

void sv_csv_free(const sv_allocator *allocator, sv_csv *csv)
{
    sv_release(allocator, csv->lines, csv->line_capacity * sizeof *csv->lines);
    sv_release(allocator, csv->fields, csv->capacity * sizeof *csv->fields);
    if (csv->text)
        sv_release(allocator, csv->text, csv->bytes + 1);
    *csv = (sv_csv){0};
}

const char *sv_csv_field(const sv_csv *csv, size_t row, size_t column)
{
    return csv->fields[row * csv->columns + column];
}
