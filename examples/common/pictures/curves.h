/* Draws learning curves as a picture. */
#ifndef EXAMPLE_CURVES_H
#define EXAMPLE_CURVES_H

#include "program/program.h"

/* Draws the trainer's history to a PNG file: loss on the left, accuracy on the right, training and
 * validation in each. Nothing is written before the first epoch is complete. */
svit_status curves_draw(struct program *self, const svit_trainer *trainer, const char *path);

#endif
