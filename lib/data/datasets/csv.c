/* Reads CSV files in place: a field never grows by losing its quotes. */
#include "data/datasets/csv.h"

#include "base/files/file.h"
#include "base/text/utf8.h"
#include "data/datasets/path.h"

#include <string.h>

enum { LIMIT = 1 << 30 }; /* bytes of the largest file */

/* A position in text[bytes], behind which there is a NUL byte. */
typedef struct reader {
    const char *path;
    char *text;
    size_t bytes, at;
    size_t line; /* from 1 */
} reader;

/*@ predicate reading(reader *self) =
        \valid(self) && \valid(self->text + (0 .. self->bytes)) && self->at <= self->bytes &&
        self->bytes < SIZE_MAX && \separated(self, self->text + (0 .. self->bytes)); */

/*@ requires \valid_read(self) && (err == \null || \valid(err));
    assigns *err;
    ensures \result == SVIT_E_FORMAT; */
static svit_status fail_at(const reader *self, const char *what, svit_error *err)
{
    return sv_fail(err, SVIT_E_FORMAT, "'%s', line %zu: %s", self->path, self->line, what);
}

/*@ requires \valid_read(self) && (err == \null || \valid(err));
    assigns *err;
    ensures \result == SVIT_E_FORMAT; */
static svit_status fail_separator(const reader *self, char found, svit_error *err)
{
    return sv_fail(err, SVIT_E_FORMAT,
                   "'%s', line %zu: %s separate the fields; commas are accepted", self->path,
                   self->line, found == ';' ? "semicolons" : "tabs");
}

/*@ requires reading((reader *)self);
    assigns \nothing;
    ensures !\result ==> self->at < self->bytes; */
static bool at_line_end(const reader *self)
{
    return self->at == self->bytes || self->text[self->at] == '\n' || self->text[self->at] == '\r';
}

/* Whether a line ends at the position: LF, or CR of the old Mac, or both as one. */
/*@ requires reading((reader *)self) && self->at < self->bytes;
    assigns \nothing; */
static bool ends_line(const reader *self)
{
    const char *at = self->text + self->at;
    return *at == '\n' || (*at == '\r' && (self->at + 1 == self->bytes || at[1] != '\n'));
}

/* Moves past the end of a line. */
/*@ requires reading(self);
    assigns self->at, self->line;
    ensures reading(self) && self->at >= \old(self->at);
    ensures self->at > \old(self->at) || self->at == self->bytes; */
static void skip_line_end(reader *self)
{
    /*@ loop invariant reading(self) && self->at >= \at(self->at, Pre);
        loop assigns self->at; */
    while (self->at < self->bytes && !ends_line(self))
        self->at++;
    if (self->at < self->bytes)
        self->at++;
    self->line++;
}

/* Unquotes a field whose opening quote has been read; two quotes stand for one. *end becomes the
 * end of the field's text. Returns false if the quote does not end. */
/*@ requires reading(self) && \valid(end) && \separated(end, self, self->text + (0 .. self->bytes));
    assigns self->at, self->line, self->text[self->at .. self->bytes], *end;
    ensures reading(self) && self->at >= \old(self->at);
    ensures \result ==> \old(self->at) <= *end < self->at; */
static bool unquote(reader *self, size_t *end)
{
    size_t to = self->at;
    /*@ loop invariant reading(self) && \at(self->at, Pre) <= to <= self->at;
        loop assigns self->at, self->line, to, self->text[\at(self->at, Pre) .. self->bytes]; */
    for (; self->at < self->bytes; self->at++) {
        if (self->text[self->at] == '"') {
            if (self->at + 1 == self->bytes || self->text[self->at + 1] != '"') {
                self->at++;
                *end = to;
                return true;
            }
            self->at++;
        }
        self->line += ends_line(self);
        self->text[to++] = self->text[self->at];
    }
    return false;
}

/* Reads one field and moves to what follows it: a comma, the end of the line or of the file. *end
 * is where its NUL byte belongs; it may be the position itself, so it is written later. */
/*@ requires reading(self) && \valid(field) && \valid(end) && (err == \null || \valid(err));
    requires \separated(self, field, end, err, self->text + (0 .. self->bytes));
    assigns self->at, self->line, self->text[self->at .. self->bytes], *field, *end, *err;
    ensures reading(self) && self->at >= \old(self->at);
    ensures \result == SVIT_OK ==> \old(self->at) <= *field <= *end <= self->at; */
static svit_status read_field(reader *self, size_t *field, size_t *end, svit_error *err)
{
    if (self->at < self->bytes && self->text[self->at] == '"') {
        *field = ++self->at;
        if (!unquote(self, end))
            return fail_at(self, "a quote does not end", err);
        if (at_line_end(self))
            return SVIT_OK;
        const char next = self->text[self->at];
        if (next == ';' || next == '\t')
            return fail_separator(self, next, err);
        if (next != ',')
            return fail_at(self, "a comma or the end of the line must follow a closing quote", err);
        return SVIT_OK;
    }
    *field = self->at;
    /*@ loop invariant reading(self) && self->at >= *field;
        loop assigns self->at; */
    while (!at_line_end(self) && self->text[self->at] != ',')
        self->at++;
    *end = self->at;
    return SVIT_OK;
}

/* Refuses a header of one field with semicolons or tabs in it: the commas in the rows after it
 * would be those of decimal numbers. */
static svit_status check_header(const sv_csv *csv, const reader *self, svit_error *err)
{
    const char *found = strpbrk(csv->fields[0], ";\t");
    const reader header = {.path = self->path, .line = csv->lines[0]};
    return csv->columns == 1 && found ? fail_separator(&header, *found, err) : SVIT_OK;
}

/* Whether field[bytes] is UTF-8. */
/*@ requires \valid_read(field + (0 .. bytes - 1));
    assigns \nothing; */
static bool is_utf8(const char *field, size_t bytes)
{
    size_t at = 0;
    /*@ loop invariant at <= bytes;
        loop assigns at; */
    while (at < bytes) {
        const size_t length = sv_utf8_length(field + at, bytes - at);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

/* Reads field `number` of the row that begins on `line`, moves past what ends it and ends it with a
 * NUL byte. *more: a comma followed. */
/*@ requires reading(self) && \valid(field) && \valid(more) && (err == \null || \valid(err));
    requires \separated(self, field, more, err, self->text + (0 .. self->bytes));
    assigns self->at, self->line, self->text[0 .. self->bytes], *field, *more, *err;
    ensures reading(self); */
static svit_status take_field(reader *self, char **field, bool *more, size_t line, size_t number,
                              svit_error *err)
{
    char *const text = self->text;
    size_t begin = 0, end = 0;
    SVIT_TRY(read_field(self, &begin, &end, err));
    const bool is_more = self->at < self->bytes && text[self->at] == ',';
    if (is_more)
        self->at++;
    else
        skip_line_end(self);
    text[end] = '\0';
    if (!is_utf8(text + begin, end - begin))
        return sv_fail(err, SVIT_E_FORMAT, "'%s', line %zu: field %zu is not UTF-8", self->path,
                       line, number);
    *field = text + begin;
    *more = is_more;
    return SVIT_OK;
}

/* Reads the fields of one line, of which there are *count. There is room for them (count_most);
 * that it suffices is checked all the same, so that no write depends on that count. */
/*@ requires \valid_read(csv) && reading(self) && (err == \null || \valid(err));
    requires \valid(csv->lines + (0 .. csv->line_capacity - 1));
    requires \valid(csv->fields + (0 .. csv->capacity - 1));
    requires \separated(csv, self, err, self->text + (0 .. self->bytes),
                        csv->lines + (0 .. csv->line_capacity - 1),
                        csv->fields + (0 .. csv->capacity - 1));
    requires \valid(count) && \separated(count, csv, self, err, self->text + (0 .. self->bytes),
                                        csv->lines + (0 .. csv->line_capacity - 1),
                                        csv->fields + (0 .. csv->capacity - 1));
    assigns self->at, self->line, self->text[0 .. self->bytes], *count, *err,
            csv->lines[0 .. csv->line_capacity - 1], csv->fields[0 .. csv->capacity - 1];
    ensures reading(self); */
static svit_status read_row(const sv_csv *csv, reader *self, size_t *count, svit_error *err)
{
    char **fields = csv->fields;
    const size_t capacity = csv->capacity, rows = csv->rows, columns = csv->columns;
    const size_t line = self->line;
    size_t found = 0;
    if (rows >= csv->line_capacity)
        return fail_at(self, "more lines than line ends", err);
    csv->lines[rows] = (uint32_t)line;
    /*@ loop invariant reading(self);
        loop assigns self->at, self->line, self->text[0 .. self->bytes], *err, more, found,
                     fields[0 .. capacity - 1]; */
    for (bool more = true; more; found++) {
        char *field = NULL;
        SVIT_TRY(take_field(self, &field, &more, line, found + 1, err));
        const size_t place = rows * columns + found;
        if (rows > 0 && found >= columns)
            continue;
        if (place >= capacity)
            return fail_at(self, "more fields than commas", err);
        fields[place] = field;
    }
    if (rows > 0 && found != columns)
        return sv_fail(err, SVIT_E_FORMAT,
                       "'%s', line %zu: it has %zu fields; the first line has %zu", self->path,
                       line, found, columns);
    *count = found;
    return SVIT_OK;
}

/* Sets the bounds of rows and fields: a text has at most one row for each line end, one field for
 * each line end and comma, and one more of both for the last line. */
/*@ requires \valid(csv) && \valid_read(csv->text + (0 .. csv->bytes - 1));
    requires \separated(csv, csv->text + (0 .. csv->bytes - 1));
    assigns csv->line_capacity, csv->capacity; */
static void count_most(sv_csv *csv)
{
    size_t commas = 0;
    csv->line_capacity = 1;
    /*@ loop invariant i <= csv->bytes;
        loop assigns i, commas, csv->line_capacity; */
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
    reader self = {.path = path,
                   .text = out->text,
                   .bytes = out->bytes,
                   .at = sv_mark_bytes(out->text),
                   .line = 1};
    while (self.at < self.bytes) {
        if (at_line_end(&self)) {
            skip_line_end(&self);
            continue;
        }
        size_t count = 0;
        SVIT_TRY(read_row(out, &self, &count, err));
        out->columns = count;
        if (out->rows++ == 0)
            SVIT_TRY(check_header(out, &self, err));
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
