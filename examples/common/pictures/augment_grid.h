/* Draws what steps of augmentation make of images: a row for each image, the image itself first. */
#ifndef EXAMPLE_AUGMENT_GRID_H
#define EXAMPLE_AUGMENT_GRID_H

#include "program/program.h"

enum { AUGMENT_IMAGES = 8, AUGMENT_VERSIONS = 8 };

/* Brings up to eight image files to size x size pixels and draws them with eight augmented versions
 * each, those of the first eight epochs with the program's seed, to the PNG file `out`. `steps` is
 * the list of steps as JSON, as in svit_pipeline_config_from_json. Mixup and CutMix mix the rows.
 * Fills the pixels along each side of the picture. */
svit_status augment_grid_draw(struct program *self, const char *const *images, size_t count,
                              size_t size, const char *steps, const char *out, size_t sides[2]);

#endif
