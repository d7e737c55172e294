/* The shift of ShiftViT in plain loops. The model's functions are in plain_model.h. */
#ifndef PLAIN_SHIFTVIT_H
#define PLAIN_SHIFTVIT_H

#include <stddef.h>

/* The shift of a feature map. `group` is the number of channels of each of the four groups. */
typedef struct plain_shift {
    size_t images, height, width, channels, group, pixels;
    int crop; /* SVIT_SHIFT_KERAS */
} plain_shift;

/* x[images, height, width, channels] -> y; dy -> dx, which it overwrites. */
void plain_shift_forward(double *y, const double *x, const plain_shift *shift);
void plain_shift_backward(double *dx, const double *dy, const plain_shift *shift);

#endif
