/* How a classifier does by class. */
#include "results/class_report.h"
#include "program/json_line.h"

#include "pictures/confusion_picture.h"
#include "program/shown.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static svit_status count_confusion(struct program *self, const evaluation *of, uint64_t **out)
{
    *out = calloc(of->classes, of->classes * sizeof **out);
    if (!*out)
        return program_fail(self, SVIT_E_MEMORY, "no memory for the counts of %zu classes",
                            of->classes);
    return svit_confusion_matrix(of->logits, of->labels, of->n, of->classes, *out, &self->err);
}

/* The counts of one class. */
typedef struct class_counts {
    uint64_t images, right, given; /* `given`: images for which this class was predicted */
} class_counts;

static class_counts count_class(const uint64_t *matrix, size_t classes, size_t class)
{
    class_counts out = {.right = matrix[class * classes + class]};
    for (size_t k = 0; k < classes; k++) {
        out.images += matrix[class * classes + k];
        out.given += matrix[k * classes + class];
    }
    return out;
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

/* Prints a fraction as per cent, or "-" for NaN: a class without images, or never predicted. */
static const char *percent(char text[16], double fraction)
{
    if (isnan(fraction))
        snprintf(text, 16, "%8s", "-");
    else
        snprintf(text, 16, "%6.2f %%", 100 * fraction);
    return text;
}

static void print_class(const struct program *self, const char *name, class_counts counts)
{
    char shown[SHOWN_CAPACITY];
    double accuracy = ratio(counts.right, counts.images);
    double precision = ratio(counts.right, counts.given);
    if (self->json) {
        json_t *object =
            json_pack("{s:s, s:I, s:I, s:o, s:o}", "class", name, "images",
                      (json_int_t)counts.images, "right", (json_int_t)counts.right, "accuracy",
                      json_line_real(accuracy), "precision", json_line_real(precision));
        json_line_print(object, JSON_LINE_DIGITS);
        return;
    }
    char texts[2][16];
    printf("%-24s %6" PRIu64 " images  %6" PRIu64 " right  accuracy %s  precision %s\n",
           shown_text(shown, name), counts.images, counts.right, percent(texts[0], accuracy),
           percent(texts[1], precision));
}

svit_status class_report_print(struct program *self, const evaluation *of,
                               const class_list *classes)
{
    uint64_t *matrix = NULL;
    svit_status status = count_confusion(self, of, &matrix);
    double sum = 0;
    size_t present = 0;
    for (size_t class = 0; status == SVIT_OK && class < of->classes; class ++) {
        char number[24];
        class_counts counts = count_class(matrix, of->classes, class);
        print_class(self, class_list_label(number, classes, class), counts);
        if (counts.images) {
            sum += ratio(counts.right, counts.images);
            present++;
        }
    }
    const double mean = sum / (double)present;
    if (status == SVIT_OK && self->json)
        json_line_print(json_pack("{s:o}", "mean_class_accuracy", json_line_real(mean)),
                        JSON_LINE_DIGITS);
    else if (status == SVIT_OK)
        printf("mean accuracy of the classes: %.2f %%\n", 100 * mean);
    free(matrix);
    return status;
}

/* A CSV text that grows in memory and is written at once. */
typedef struct table_file {
    FILE *stream;
    char *text;
    size_t bytes;
} table_file;

static svit_status table_open(table_file *self, struct program *program)
{
    *self = (table_file){0};
    self->stream = open_memstream(&self->text, &self->bytes);
    return self->stream ? SVIT_OK : program_fail(program, SVIT_E_MEMORY, "no memory for a table");
}

/* Puts a field, `front` and `text`, in quotes if it needs them (RFC 4180). */
static void put_field(FILE *out, const char *front, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fprintf(out, "%s%s", front, text);
        return;
    }
    fprintf(out, "\"%s", front);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

static void put_text(FILE *out, const char *text)
{
    put_field(out, "", text);
}

/* Ends a table, and writes it to a file if `status`, that of its making, is SVIT_OK. */
static svit_status table_write(table_file *self, struct program *program, const char *path,
                               svit_status status)
{
    int failed = ferror(self->stream) | fclose(self->stream);
    if (status == SVIT_OK)
        status = failed ? program_fail(program, SVIT_E_MEMORY, "no memory for a table")
                        : svit_file_replace(path, self->text, self->bytes, &program->err);
    free(self->text);
    return status;
}

static void put_matrix(FILE *out, const uint64_t *matrix, const class_list *classes)
{
    const size_t count = classes->count;
    char number[24];
    fputs("label", out);
    for (size_t k = 0; k < count; k++) {
        putc(',', out);
        put_text(out, class_list_label(number, classes, k));
    }
    putc('\n', out);
    for (size_t i = 0; i < count; i++) {
        put_text(out, class_list_label(number, classes, i));
        for (size_t k = 0; k < count; k++)
            fprintf(out, ",%" PRIu64, matrix[i * count + k]);
        putc('\n', out);
    }
}

static svit_status write_matrix(struct program *self, const uint64_t *matrix,
                                const class_list *classes, const char *path)
{
    if (has_ending(path, ".png"))
        return confusion_picture_draw(self, matrix, classes, path);
    table_file table;
    TRY(table_open(&table, self));
    put_matrix(table.stream, matrix, classes);
    return table_write(&table, self, path, SVIT_OK);
}

svit_status class_report_confusion(struct program *self, const evaluation *of,
                                   const class_list *classes, const char *path)
{
    uint64_t *matrix = NULL;
    svit_status status = count_confusion(self, of, &matrix);
    if (status == SVIT_OK)
        status = write_matrix(self, matrix, classes, path);
    free(matrix);
    return status;
}

/* The logarithm of the sum of a row's exponentials, with which exp(logit - it) is the softmax. */
static double log_sum(const evaluation *of, size_t sample)
{
    const float *row = of->logits + sample * of->classes;
    const double most = (double)row[evaluation_predicted(of, sample)];
    double sum = 0;
    for (size_t k = 0; k < of->classes; k++)
        sum += exp((double)row[k] - most);
    return most + log(sum);
}

/* What names an image in a table: its path, or its number if the images are no files. */
typedef struct image_names {
    const svit_dataset *data;
    int are_paths;
    char *path; /* of the last image */
    size_t capacity;
} image_names;

/* Reads the path of an image; "" if it is no file. */
static svit_status read_path(image_names *self, struct program *program, size_t index)
{
    size_t needed = 0;
    TRY(svit_dataset_path(self->data, index, NULL, 0, &needed, &program->err));
    if (needed > self->capacity) {
        char *larger = realloc(self->path, needed);
        if (!larger)
            return program_fail(program, SVIT_E_MEMORY, "no memory for a path");
        self->path = larger;
        self->capacity = needed;
    }
    return svit_dataset_path(self->data, index, self->path, self->capacity, NULL, &program->err);
}

static svit_status put_image(FILE *out, image_names *names, struct program *program, size_t index)
{
    if (!names->are_paths) {
        fprintf(out, "%zu", index);
        return SVIT_OK;
    }
    TRY(read_path(names, program, index));
    put_text(out, names->path);
    return SVIT_OK;
}

static svit_status put_predicted(FILE *out, image_names *names, struct program *program,
                                 const evaluation *of, const class_list *classes)
{
    char number[24];
    fprintf(out, "%s,label,predicted,probability\n", names->are_paths ? "path" : "image");
    for (size_t i = 0; i < of->n; i++) {
        size_t class = evaluation_predicted(of, i);
        TRY(put_image(out, names, program, i));
        putc(',', out);
        put_text(out, class_list_label(number, classes, (size_t)of->labels[i]));
        putc(',', out);
        put_text(out, class_list_label(number, classes, class));
        fprintf(out, ",%.6g\n", exp((double)of->logits[i * of->classes + class] - log_sum(of, i)));
    }
    return SVIT_OK;
}

static void put_output_names(FILE *out, const evaluation *of, const class_list *classes)
{
    char number[24];
    for (size_t k = 0; k < of->classes; k++) {
        const char *name = class_list_label(number, classes, k);
        putc(',', out);
        put_text(out, name);
        putc(',', out);
        put_field(out, "output of ", name);
    }
    putc('\n', out);
}

/* What the model makes of a logit: a probability, or with a loss of numbers the number. `sum` is
 * the row's log_sum. */
static double output(const evaluation *of, size_t sample, size_t class, double sum)
{
    const double logit = (double)of->logits[sample * of->classes + class];
    switch (of->loss_kind) {
    case SVIT_LOSS_CROSS_ENTROPY:
        return exp(logit - sum);
    case SVIT_LOSS_BINARY:
        return 1 / (1 + exp(-logit));
    default:
        return logit;
    }
}

/* Two columns for each target: what it is, and what the model makes of it. */
static svit_status put_outputs(FILE *out, image_names *names, struct program *program,
                               const evaluation *of, const class_list *classes)
{
    fputs(names->are_paths ? "path" : "image", out);
    put_output_names(out, of, classes);
    for (size_t i = 0; i < of->n; i++) {
        const double sum = log_sum(of, i);
        TRY(put_image(out, names, program, i));
        for (size_t k = 0; k < of->classes; k++)
            fprintf(out, ",%.9g,%.9g", (double)of->targets[i * of->classes + k],
                    output(of, i, k, sum));
        putc('\n', out);
    }
    return SVIT_OK;
}

svit_status class_report_predictions(struct program *self, const evaluation *of,
                                     const class_list *classes, const svit_dataset *data,
                                     const char *path)
{
    table_file table;
    image_names names = {.data = data};
    TRY(table_open(&table, self));
    svit_status status = read_path(&names, self, 0);
    names.are_paths = status == SVIT_OK && names.path[0] != '\0';
    if (status == SVIT_OK)
        status = of->targets ? put_outputs(table.stream, &names, self, of, classes)
                             : put_predicted(table.stream, &names, self, of, classes);
    free(names.path);
    return table_write(&table, self, path, status);
}
