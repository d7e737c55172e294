/* The matrix products of a training step, derived from the configuration of the model. */
#ifndef EXAMPLE_MATMUL_LIST_H
#define EXAMPLE_MATMUL_LIST_H

#include <shiftvit/benchmark.h>
#include <shiftvit/model.h>

enum { MATMULS_MAX = 96 };

typedef struct listed_matmul {
    char name[64]; /* for example "stage 3 up, weight gradient" */
    svit_matmul product;
    uint64_t count; /* products of size m x n x k in a step; each head counts by itself */
} listed_matmul;

typedef struct matmul_list {
    listed_matmul products[MATMULS_MAX];
    size_t count;
} matmul_list;

/* Lists the products of a step with `batch` images in the order of the layers: forward, input
 * gradient and weight gradient of each. Products of the same shape, such as those of the blocks of
 * a stage, are one entry. The list has exactly the operations of work_count_training. */
void matmul_list_build(matmul_list *list, const svit_model_config *config, size_t batch);

#endif
