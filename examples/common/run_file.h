/* run.json: the options of a training run, so that --resume DIR alone is enough. */
#ifndef EXAMPLE_RUN_FILE_H
#define EXAMPLE_RUN_FILE_H

#include "program.h"

#include <jansson.h>

/* Writes folder/run.json: `options` maps an option's long name to its value, a text; `config` is
 * the model's configuration as JSON, for the reader. */
svit_status run_file_save(struct program *self, const char *folder, const json_t *options,
                          const char *config);

/* A command line of its options, followed by argv[1..argc-1], which therefore win. Free
 * the list with run_file_free. */
svit_status run_file_arguments(struct program *self, const char *folder, int argc, char **argv,
                               int *argument_count, char ***arguments);
void run_file_free(int argument_count, char **arguments);

#endif
