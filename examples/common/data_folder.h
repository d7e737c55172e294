/* Folders of images as data sets. */
#ifndef EXAMPLE_DATA_FOLDER_H
#define EXAMPLE_DATA_FOLDER_H

#include "data_option.h"

/* Opens the splits asked for. Where `folder` has train/ with classes in it, that is the training
 * split, val/ (valid/, validation/) and test/ the others, and a part of train/, of `fraction` of
 * its images, stands for each of these two that is not there. Where it has none, its subfolders are
 * the classes, and both parts are taken from them. Splits with folders of their own must have the
 * same classes. Parts are dealt out by the program's seed. */
svit_status data_folder_open(data_parts *out, struct program *self, const char *folder,
                             double fraction, const svit_pipeline_config *pipeline,
                             unsigned wanted);

#endif
