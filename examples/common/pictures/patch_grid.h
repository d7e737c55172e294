/* Draws the patches of an image and of its shifted copies, each copy as a grid with gaps. */
#ifndef EXAMPLE_PATCH_GRID_H
#define EXAMPLE_PATCH_GRID_H

#include "program/program.h"

enum { PATCH_COPIES = 5 };

/* The output of svit_patches_f32 for a square image, with values in 0..255. */
typedef struct patch_set {
    const float *patches; /* [side * side, patch, patch, copies, 3] */
    size_t side;          /* patches along a side */
    size_t patch;         /* pixels along a side */
    size_t copies;        /* 1 or PATCH_COPIES */
} patch_set;

/* The titles of the copies in the order SVIT_SPT_KERAS. */
extern const char *const patch_copy_names[PATCH_COPIES];

/* Draws the image and the grid of each copy to a PNG file. */
svit_status patch_grid_draw(struct program *self, const patch_set *set, const char *path);

#endif
