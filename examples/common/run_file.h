/* The folder of a training run, and its options, so that --resume DIR alone is enough. */
#ifndef EXAMPLE_RUN_FILE_H
#define EXAMPLE_RUN_FILE_H

#include "program.h"

#include <jansson.h>

/* What the trainer keeps as the run's description and writes to run.json: `options` maps an
 * option's long name to its value, a text; `config` is the model's configuration as JSON, for the
 * reader. Free *text with free(). */
svit_status run_file_text(char **text, struct program *self, const json_t *options,
                          const char *config);

/* Claims the folder for a run, as svit_folder_lock_create does; it then refuses one that holds a
 * run, but for `may_be_used`. *out is set wherever there is a claim. */
svit_status run_file_lock(svit_folder_lock **out, struct program *self, const char *folder,
                          int may_be_used);

/* A command line of the options of the run in `folder`, followed by argv[1..argc-1], which
 * therefore win. Free the list with run_file_free. */
svit_status run_file_arguments(struct program *self, const char *folder, int argc, char **argv,
                               int *argument_count, char ***arguments);
void run_file_free(int argument_count, char **arguments);

#endif
