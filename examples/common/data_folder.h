/* Opens image files as a data set: a folder, or a CSV list. */
#ifndef EXAMPLE_DATA_FOLDER_H
#define EXAMPLE_DATA_FOLDER_H

#include "data_option.h"

/* Opens the splits in `wanted`, a sum of WANT_*. If `folder` has a train/ with class folders, that
 * is the training split, val/ (or valid/, validation/) is the validation split, and test/ is the
 * test split. If val/ or test/ is missing, `fraction` of the images in train/ takes its place.
 * Without train/, the subfolders of `folder` are the classes, and both splits are taken from them.
 * Images are chosen at random with the program's seed. All folders must have the same classes. */
svit_status data_folder_open(data_splits *out, struct program *self, const char *folder,
                             double fraction, const svit_pipeline_config *pipeline,
                             unsigned wanted);

/* Opens the splits in `wanted` of images that the CSV file `path` lists (svit_dataset_list). If the
 * file is called train.csv, val.csv and test.csv beside it are the other splits. What is missing is
 * taken from `path` as data_folder_open does. */
svit_status data_list_open(data_splits *out, struct program *self, const char *path,
                           double fraction, const svit_pipeline_config *pipeline, unsigned wanted);

#endif
