/* Draws a confusion matrix. */
#ifndef EXAMPLE_CONFUSION_PICTURE_H
#define EXAMPLE_CONFUSION_PICTURE_H

#include "data/class_list.h"

/* Fails with SVIT_E_ARGUMENT if a picture has no room for so many classes. */
svit_status confusion_picture_check(struct program *self, size_t classes);

/* Draws matrix[classes, classes], rows true and columns predicted classes, as a PNG file. A square
 * is the darker, the larger its part of the row is. Up to 20 classes have their names and counts.
 * confusion_picture_check accepts their number. */
svit_status confusion_picture_draw(struct program *self, const uint64_t *matrix,
                                   const class_list *classes, const char *path);

#endif
