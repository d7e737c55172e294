/* The output lines of shiftvit-bench, one JSON object each, and their statistics. */
#ifndef EXAMPLE_BENCH_LINE_H
#define EXAMPLE_BENCH_LINE_H

#include <shiftvit/context.h>

#include <jansson.h>
#include <stddef.h>

/* Returns svit_context_describe as a JSON object, or NULL if there is not enough memory. Free it
 * with json_decref. */
json_t *bench_build(const svit_context *context);

/* Returns a new line with "work" and "threads", and "cpu" and "instruction_set" from
 * svit_context_describe. */
json_t *bench_line_new(const svit_context *context, const char *work, uint32_t threads);

/* Adds a number to the line. */
void bench_line_real(json_t *line, const char *key, double value);

/* Prints the line at once and frees it. */
void bench_line_print(json_t *line);

/* Sorts values in ascending order. */
void sort_reals(double *values, size_t count);

/* Returns the quantile `part` of sorted values, linear between two: 0.5 is the median. */
double sorted_quantile(const double *sorted, size_t count, double part);

#endif
