/* A folder of images of one class. */
#ifndef EXAMPLE_IMAGE_FOLDER_H
#define EXAMPLE_IMAGE_FOLDER_H

#include "program/program.h"

/* Opens every image in `folder` (path_is_image), in byte order of their names, as a data set of one
 * class. Subfolders are passed over, and so is curves.png of a training run. Images are read as
 * those of svit_dataset_list. Free *out with svit_dataset_free. */
svit_status image_folder_open(svit_dataset **out, struct program *self, const char *folder,
                              const svit_pipeline_config *pipeline);

#endif
