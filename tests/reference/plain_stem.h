/* The convolutional stem of a ShiftViT or a ViT in plain loops: a convolution of 3 x 3 pixels to
 * half the channels, a GELU, a second one to all of them. */
#ifndef PLAIN_STEM_H
#define PLAIN_STEM_H

#include "plain_operations.h"

typedef struct plain_stem {
    plain_convolution conv1, conv2;
    double *pre_gelu, *hidden;   /* [images, rows, columns, dim / 2] between the two */
    double *dpre_gelu, *dhidden; /* their gradients */
} plain_stem;

/* A convolution with 3 x 3 taps and one line of zeros on all sides. */
plain_convolution plain_taps3(size_t images, size_t height, size_t width, size_t channels,
                              size_t stride, size_t out);

plain_stem plain_add_stem(plain_model *m);

/* m->x -> y[images, rows, columns, dim]; its gradient dy -> m->dx. */
void plain_stem_forward(const plain_model *m, double *y, const plain_stem *of);
void plain_stem_backward(const plain_model *m, const double *dy, const plain_stem *of);

#endif
