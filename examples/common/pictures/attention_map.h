/* The attention map of an image: how much each patch is attended to in the last layer. */
#ifndef EXAMPLE_ATTENTION_MAP_H
#define EXAMPLE_ATTENTION_MAP_H

#include "program/program.h"

/* A model with a session for one image, and its arrays. Start from zero. */
typedef struct attention_map {
    svit_model *model;
    svit_session *session;
    svit_model_config config;
    svit_pipeline_config pipeline;
    size_t heads, tokens; /* class, distillation and register tokens included, which come first */
    size_t rows, columns; /* of patches */
    int class_query;      /* 1: the map is that of the class token, which the head reads */
    float *input, *logits, *attention;
    float *values; /* [rows, columns]: the map of the last image, scaled to 0..1 */
} attention_map;

/* Creates the session of a model, which stays borrowed. `name` is its file. SVIT_E_ARGUMENT: the
 * model has no attention. SVIT_E_UNSUPPORTED: it has fewer tokens than patches. */
svit_status attention_map_open(attention_map *self, struct program *program, svit_model *model,
                               const char *name);

/* Frees what was opened, also after a failure. */
void attention_map_close(attention_map *self);

/* Computes `values` of an image file: the attention to each patch, averaged over heads and queries.
 * Where the head reads the class token, that is the only query; otherwise all patches are. */
svit_status attention_map_run(attention_map *self, struct program *program, const char *path);

#endif
