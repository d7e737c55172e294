/* Stores the options of a training run in its folder, so that --resume DIR needs no other
 * option. */
#ifndef EXAMPLE_RUN_FILE_H
#define EXAMPLE_RUN_FILE_H

#include "program.h"

#include <jansson.h>

/* Writes the description of a run, which the trainer stores in checkpoints and in run.json, to
 * *text: the version, `options` (long option name to value, both texts) and `config` (the model
 * configuration as JSON, for information). Free it with free(). */
svit_status run_file_text(char **text, struct program *self, const json_t *options,
                          const char *config);

/* Locks the folder with svit_folder_lock_create. SVIT_E_STATE: it holds a run and `may_be_used` is
 * 0. *out is set whenever the lock is held, also after this failure. */
svit_status run_file_lock(svit_folder_lock **out, struct program *self, const char *folder,
                          int may_be_used);

/* Builds a command line from the stored options of the run in `folder`, followed by
 * argv[1..argc-1], which override them. Free the list with run_file_free. */
svit_status run_file_arguments(struct program *self, const char *folder, int argc, char **argv,
                               int *argument_count, char ***arguments);

/* Frees a list of run_file_arguments. NULL is allowed. */
void run_file_free(int argument_count, char **arguments);

#endif
