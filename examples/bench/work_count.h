/* How much arithmetic a model is, counted from its configuration. */
#ifndef EXAMPLE_WORK_COUNT_H
#define EXAMPLE_WORK_COUNT_H

#include <shiftvit/model.h>

/* Floating-point operations of one image's matrix products, those of attention included, a
 * multiply-add counted as 2; norms, softmax, GELU and the rest are not counted, nor the scores that
 * a backward works out again. Training is the forward, and for the backward the gradients of both
 * factors, each as much again, but for the input gradient of a first layer, which nobody needs.
 * GFLOP forward and training: shiftvit-cifar10 0.2078 and 0.6220, vit-cifar100 0.4028 and 1.2063,
 * slvit-cifar100 0.4107 and 1.2321. */
double work_count_forward(const svit_model_config *config);
double work_count_training(const svit_model_config *config);

/* Whether a ViT's attention ends in a projection. */
int work_count_has_projection(const svit_model_config *config);

#endif
