/* Counts the arithmetic of a model from its configuration. */
#ifndef EXAMPLE_WORK_COUNT_H
#define EXAMPLE_WORK_COUNT_H

#include <shiftvit/model.h>

/* Returns the floating-point operations of all matmuls, attention included, in the forward pass of
 * one image (svit_model_multiply_adds, which counts as 2); 0 if the configuration is not accepted.
 * Examples: shiftvit-cifar10
 * 0.2078e9, vit-cifar100 0.4028e9, slvit-cifar100 0.4107e9. */
double work_count_forward(const svit_model_config *config);

/* Returns the same for a training step: the forward pass and the gradients of both operands of each
 * matmul, without the input gradient of a layer whose input is the image. Recomputed attention
 * scores do not count. Examples: shiftvit-cifar10 0.6220e9, vit-cifar100 1.2063e9,
 * slvit-cifar100 1.2321e9. */
double work_count_training(const svit_model_config *config);

/* Whether the attention of a ViT ends in a projection. */
int work_count_has_projection(const svit_model_config *config);

#endif
