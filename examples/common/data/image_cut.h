/* Images that a model sees the middle of. */
#ifndef EXAMPLE_IMAGE_CUT_H
#define EXAMPLE_IMAGE_CUT_H

#include "program/program.h"

/* Writes the part of the height, part[0], and of the width, part[1], of an image that the source
 * step of `pipeline` keeps, in its middle. */
void image_cut_part(double part[2], size_t height, size_t width,
                    const svit_pipeline_config *pipeline);

/* Says on stderr if one of the first images of a data set of files loses parts in the source step,
 * unless --quiet is given. */
svit_status image_cut_note(struct program *self, const svit_dataset *images,
                           const svit_pipeline_config *pipeline);

#endif
