/* shiftvit-bench --work limits: the peak arithmetic and bandwidth, by the number of threads. */
#ifndef EXAMPLE_BENCH_LIMITS_H
#define EXAMPLE_BENCH_LIMITS_H

#include "program/program.h"

/* Prints one JSON object a line for 1, 2, 3, 4, 8, 16, ... threads up to those of the context. */
void bench_limits(const struct program *program);

#endif
