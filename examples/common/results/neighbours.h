/* The images of a folder that are nearest to others, as a list and as a picture. */
#ifndef EXAMPLE_NEIGHBOURS_H
#define EXAMPLE_NEIGHBOURS_H

#include "program/program.h"

/* What is searched, and where. */
typedef struct neighbours_option {
    const char *folder;  /* of the images that are found */
    const char *queries; /* the folder of the images whose neighbours they are */
    size_t count;        /* neighbours of each query */
    const char *grid;    /* the picture to draw, or NULL */
} neighbours_option;

enum { NEIGHBOURS_MOST = 20 };

/* Prints for each query the images of the folder with the most similar features, by their cosine
 * similarity and without the query itself, and draws those of the first queries. `on_bad` is one of
 * ON_BAD_*, for the images of both folders. */
svit_status neighbours_print(struct program *self, svit_model *model,
                             const svit_pipeline_config *pipeline,
                             const svit_features_config *features, const neighbours_option *option,
                             int32_t on_bad);

#endif
