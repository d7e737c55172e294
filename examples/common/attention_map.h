/* Where a model looks: the last layer's attention over an image. */
#ifndef EXAMPLE_ATTENTION_MAP_H
#define EXAMPLE_ATTENTION_MAP_H

#include "program.h"

/* A model of its own with a session for one image. Start from zero. */
typedef struct attention_map {
    svit_model *model;
    svit_session *session;
    svit_pipeline_config pipeline;
    size_t heads, tokens; /* the class token is a token */
    size_t rows, columns; /* of patches */
    int class_token;      /* 1: token 0 is no patch */
    float *input, *logits, *attention;
    float *values; /* [rows, columns] of the last image, from 0, the least, to 1, the most */
} attention_map;

/* Reads the model; SVIT_E_ARGUMENT where it has no attention. */
svit_status attention_map_open(attention_map *self, struct program *program, const char *model);

/* What was opened, if anything. */
void attention_map_close(attention_map *self);

/* Fills `values`: how much of each patch is taken, the mean over heads and over the tokens that
 * take; with a class token, what that one takes. */
svit_status attention_map_run(attention_map *self, struct program *program,
                              const svit_image *image);

#endif
