/* Draws images under a map of how far their patches are from what a memory knows. */
#ifndef EXAMPLE_ANOMALY_MAPS_H
#define EXAMPLE_ANOMALY_MAPS_H

#include "program/program.h"

/* An image and the largest distance of its patches. */
typedef struct anomaly_score {
    size_t image; /* its number in the data set */
    float score;
} anomaly_score;

/* Fails with SVIT_E_IO if the folder cannot be written to, or cannot be made where the rest of its
 * path is missing. */
svit_status anomaly_maps_check_place(struct program *self, const char *folder);

/* Fails with SVIT_E_ARGUMENT if the pictures of anomaly_maps_draw would replace one another, an
 * image of the data set, or another file that these programs have not drawn. */
svit_status anomaly_maps_check(struct program *self, const char *folder,
                               const svit_dataset *images);

/* Draws every image of a data set of files to NAME.png in `folder`, which is created, where NAME is
 * the name of its file without the ending. The colours are distances[samples of `patches`], from
 * the smallest to the largest of all images. `model` has computed the patches. */
svit_status anomaly_maps_draw(struct program *self, const char *folder, const svit_dataset *images,
                              const svit_features *patches, const float *distances,
                              const svit_model *model, const svit_pipeline_config *pipeline);

#endif
