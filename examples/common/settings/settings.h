/* The settings that --config and --set give: fields of the model's configuration and of the
 * training, told apart by the names that the library lists. */
#ifndef EXAMPLE_SETTINGS_H
#define EXAMPLE_SETTINGS_H

#include "settings/config_option.h"

#include <jansson.h>
#include <stdio.h>

/* JSON objects that have only the fields that the options give. Free with settings_free. */
typedef struct settings {
    json_t *model;    /* fields of svit_model_config_from_json */
    json_t *training; /* fields of svit_training_from_json, but for those in `sizes` */
    json_t *sizes;    /* what --set gives of the sizes of images (is_size): it stays when a pipeline
                           is fitted to a model, as a preset's and a file's are */
    int has_model_file; /* 1: the file has fields of a model */
    int is_run;         /* 1: the file is a run.json, which has every setting of its training */
} settings;

/* Reads the file of --config, then applies each --set. The file is a model's configuration, the
 * settings of a training, both in one object, or a run.json. Settings of a training are refused if
 * the program has no use for them, except in a run.json. The message names an unknown field and the
 * most similar known one. */
svit_status settings_read(settings *out, struct program *self, const config_option *option);

/* Removes settings of a training that have the values which they have by default. */
svit_status settings_drop_defaults(settings *self, struct program *program);

/* Frees the objects. A cleared struct is allowed. */
void settings_free(settings *self);

/* Writes the fields that --set and --config accept to `stream`: those of the training if the
 * program takes them, then those of each architecture, with types, defaults and accepted values. */
void settings_print_fields(FILE *stream, int takes_training);

#endif
