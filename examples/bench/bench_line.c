/* The output lines of shiftvit-bench, one JSON object each, and their statistics. */
#include "bench_line.h"
#include "program/json_line.h"

#include <stdio.h>
#include <stdlib.h>

json_t *bench_build(const svit_context *context)
{
    char text[8192] = "{}";
    svit_context_describe(context, text, sizeof text, NULL, NULL);
    return json_loads(text, 0, NULL);
}

json_t *bench_line_new(const svit_context *context, const char *work, uint32_t threads)
{
    json_t *build = bench_build(context);
    json_t *line = json_pack("{s:s, s:I, s:O*, s:O*}", "work", work, "threads", (json_int_t)threads,
                             "cpu", json_object_get(build, "cpu"), "instruction_set",
                             json_object_get(build, "instruction_set"));
    json_decref(build);
    return line;
}

void bench_line_real(json_t *line, const char *key, double value)
{
    json_object_set_new(line, key, json_real(value));
}

void bench_line_print(json_t *line)
{
    json_line_print(line, 6);
}

static int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

void sort_reals(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_reals);
}

double sorted_quantile(const double *sorted, size_t count, double part)
{
    const double place = (double)(count - 1) * part;
    const size_t below = (size_t)place;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}
