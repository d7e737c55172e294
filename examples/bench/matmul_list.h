/* The matmuls of a training step, derived from the configuration of the model. */
#ifndef EXAMPLE_MATMUL_LIST_H
#define EXAMPLE_MATMUL_LIST_H

#include <shiftvit/benchmark.h>
#include <shiftvit/model.h>

enum { MATMULS_MAX = 96 };

typedef struct listed_matmul {
    char name[64]; /* for example "stage 3 up, weight gradient" */
    svit_matmul matmul;
    uint64_t count; /* matmuls of this shape in a step; each head of each image counts as one */
} listed_matmul;

typedef struct matmul_list {
    listed_matmul matmuls[MATMULS_MAX];
    size_t count;
} matmul_list;

/* Lists the matmuls of a step with `batch` images in the order of the layers: forward, input
 * gradient and weight gradient of each. Matmuls of the same shape, such as those of the blocks of a
 * stage, are one entry. The list has exactly the operations of work_count_training; it is empty if
 * this file cannot list the model's architecture. */
void matmul_list_build(matmul_list *list, const svit_model_config *config, size_t batch);

#endif
