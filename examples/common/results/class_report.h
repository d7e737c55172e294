/* How a classifier does by class: a table, the confusion matrix, and every prediction. */
#ifndef EXAMPLE_CLASS_REPORT_H
#define EXAMPLE_CLASS_REPORT_H

#include "data/class_list.h"
#include "results/evaluation.h"

/* Prints a line for each class on stdout: images, of which right, accuracy, and how many of the
 * images that were given this class have it (precision); then the mean accuracy over classes. With
 * --json an object for each class, and one for the mean. */
svit_status class_report_print(struct program *self, const evaluation *of,
                               const class_list *classes);

/* Writes the confusion matrix to a file: as a table if its name ends in .csv, with a row for each
 * true class and a column for each predicted one, and as a picture if it ends in .png. */
svit_status class_report_confusion(struct program *self, const evaluation *of,
                                   const class_list *classes, const char *path);

/* Writes a CSV file with a line for each image of `data`: its path, or its number if the images are
 * no files; its label, the predicted class and the probability of that, or its targets and the
 * model's outputs. */
svit_status class_report_predictions(struct program *self, const evaluation *of,
                                     const class_list *classes, const svit_dataset *data,
                                     const char *path);

#endif
