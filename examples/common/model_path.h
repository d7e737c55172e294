/* Where --model takes a file, it takes a training run's folder as well. */
#ifndef EXAMPLE_MODEL_PATH_H
#define EXAMPLE_MODEL_PATH_H

#include "config_option.h"
#include "path_text.h"

/* The model file that `given` names, into path[PATH_CAPACITY]: the file itself, or of a run's
 * folder the best weights by validation, else the final ones, else those of the checkpoint. Says
 * on stderr which one was taken, but for --quiet. */
svit_status model_path(struct program *self, char *path, const char *given);

/* Loads the model that `given` names. A weight file without a configuration needs one: `config`
 * says it where its preset, file or sets are given, and goes before the file's own. */
svit_status model_open(svit_model **out, struct program *self, const config_option *config,
                       const char *given);

/* 1 where `folder` is that of a training run. */
int model_path_is_run(const char *folder);

#endif
