/* A line of shiftvit-bench: one JSON object; and the statistics of its figures. */
#ifndef EXAMPLE_BENCH_LINE_H
#define EXAMPLE_BENCH_LINE_H

#include <shiftvit/context.h>

#include <jansson.h>
#include <stddef.h>

/* What the library says of its build; NULL where there is no memory. The caller's to let go. */
json_t *bench_build(const svit_context *context);

/* A new line with "work", "threads", and in the library's own words "cpu" and "instruction_set". */
json_t *bench_line_new(const svit_context *context, const char *work, uint32_t threads);

void bench_line_real(json_t *line, const char *key, double value);

/* Prints it at once, and frees it. */
void bench_line_print(json_t *line);

void sort_reals(double *values, size_t count);

/* The value below which a part of the sorted values lies: 0.5 for the median. */
double sorted_quantile(const double *sorted, size_t count, double part);

#endif
