/* The matrix products of a model's training step, counted from its configuration. */
#ifndef EXAMPLE_MATMUL_LIST_H
#define EXAMPLE_MATMUL_LIST_H

#include <shiftvit/benchmark.h>
#include <shiftvit/model.h>

enum { MATMULS_MAX = 96 };

typedef struct listed_matmul {
    char name[64]; /* "stage 3 up, weight gradient" */
    svit_matmul product;
    uint64_t count; /* a step, of the size m x n x k; heads are counted one by one */
} listed_matmul;

typedef struct matmul_list {
    listed_matmul products[MATMULS_MAX];
    size_t count;
} matmul_list;

/* Of a batch of `batch` images, in the order of the layers: forward, input gradient, weight
 * gradient of each; products of one shape, those of a stage's blocks say, are one. What
 * work_count_training counts is here, and nothing else. */
void matmul_list_build(matmul_list *list, const svit_model_config *config, size_t batch);

#endif
