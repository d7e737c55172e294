/* How much arithmetic a model is, counted from its configuration. */
#ifndef EXAMPLE_WORK_COUNT_H
#define EXAMPLE_WORK_COUNT_H

#include <shiftvit/model.h>

/* Floating-point operations of one picture's matrix products, a multiply-add counted as 2; norms,
 * GELU and the rest are not counted. Training is the forward, and for the backward the gradients
 * of weights and of inputs, each as much again, but for the input gradient of the first layer,
 * which nobody needs. shiftvit-cifar10: 0.2078 and 0.6220 GFLOP. */
double work_count_forward(const svit_model_config *config);
double work_count_training(const svit_model_config *config);

#endif
