/* Opens image files as a data set: a folder, a CSV list, or shards. */
#ifndef EXAMPLE_DATA_FOLDER_H
#define EXAMPLE_DATA_FOLDER_H

#include "data/data_option.h"

/* Opens the splits in `wanted`, a sum of WANT_*. If `folder` has subfolders for splits
 * (split_folders_find), these are the splits. If that to validate or that to test is missing,
 * `fraction` of the images that train takes its place. Without such subfolders, those of `folder`
 * are the classes, and both splits are taken from them. data_draw_splits chooses the images. A
 * split may lack classes of the training split, but has no others. WANT_WHOLE, alone, is all of
 * `folder` as it is. SVIT_E_ARGUMENT: it has splits. */
svit_status data_folder_open(data_splits *out, struct program *self, const char *folder,
                             double fraction, const svit_pipeline_config *pipeline,
                             unsigned wanted);

/* Fails with SVIT_E_ARGUMENT if the folder, from which `train` was opened, has one class alone, of
 * which a classifier learns nothing, and says whether the classes lie a folder deeper. */
svit_status data_folder_check_classes(struct program *self, const char *folder,
                                      const svit_dataset *train);

/* Opens the splits in `wanted` of images that the CSV file `path` lists (svit_dataset_list). If the
 * file is called train.csv, val.csv and test.csv beside it are the other splits. What is missing is
 * taken from `path` as data_folder_open does. */
svit_status data_list_open(data_splits *out, struct program *self, const char *path,
                           double fraction, const svit_pipeline_config *pipeline, unsigned wanted);

/* Opens the splits in `wanted` of shards (svit_dataset_shards). If the name of the file in
 * `pattern` begins with "train", val*.tar and test*.tar beside it are the other splits. What is
 * missing is taken from `pattern` as data_folder_open does, and keeps the order of the shards. */
svit_status data_shards_open(data_splits *out, struct program *self, const char *pattern,
                             double fraction, const svit_pipeline_config *pipeline,
                             unsigned wanted);

#endif
