/* Stores the options of a training run in its folder, so that --resume DIR needs no other
 * option. */
#ifndef EXAMPLE_RUN_FILE_H
#define EXAMPLE_RUN_FILE_H

#include "data/data_option.h"

#include <jansson.h>

/* Writes the description of a run, which the trainer stores in checkpoints and in run.json, to
 * *text: the version, `options` (long option name to value, both texts), which images were split at
 * random if `data` was, which parts were drawn, `config` (the model's configuration as JSON) and
 * `training` (svit_training_to_json). Free it with free(). */
svit_status run_file_text(char **text, struct program *self, const json_t *options,
                          const data_splits *data, const char *config, const char *training);

/* Reads what a run, of this description, has stored of its splits, for data_check_drawn: nothing
 * if it is of a version before 0.4.0. */
void run_file_drawn(data_drawn *out, const json_t *run);

#define RUN_CHECKPOINT_FILE "checkpoint.safetensors"

/* What the program writes to the folder of a run, beside the files of the trainer. */
#define RUN_MODEL_FILE "model.safetensors"
#define RUN_CURVES_FILE "curves.png"
enum { RUN_RESULT_FILES = 2 };
extern const char *const run_result_files[RUN_RESULT_FILES]; /* both */

/* What the trainer writes there with the setting `tensorboard`. */
#define RUN_EVENTS_FILE "events.out.tfevents.shiftvit"

/* Locks the folder with svit_folder_lock_create. SVIT_E_STATE: it holds a run, or a file that the
 * run of these settings would replace, which its `existing` does not allow. *out is set whenever
 * the lock is held, also after this failure. */
svit_status run_file_lock(svit_folder_lock **out, struct program *self, const char *folder,
                          const svit_trainer_config *trainer);

/* Reads the run.json of `folder` into *out, a new reference; NULL if there is none. SVIT_E_FORMAT:
 * it has no "options". */
svit_status run_file_json(json_t **out, struct program *self, const char *folder);

/* What the folder of a run has stored. */
typedef struct run_file {
    int argument_count;
    char **arguments; /* a command line: the stored options, followed by those of the caller */
    int capacity;     /* of `arguments` */
    char *training;   /* the settings as JSON; NULL: the run was written by version 0.1 */
    data_drawn drawn;
    int begins_by_rule; /* 1: run_file_read_start has read where weights came from whose file said
                           what the model is */
} run_file;

/* Reads the description of the run in `folder`. Its command line ends with argv[1..argc-1], which
 * override the stored options. Free it with run_file_free. */
svit_status run_file_read(run_file *out, struct program *self, const char *folder, int argc,
                          char **argv);

/* What a command line has, so that it is not taken from another run. */
typedef struct run_file_given {
    int has_start; /* --init-from */
    int has_data;  /* --data */
    int has_model; /* --preset */
} run_file_given;

/* Reads from a run.json at `path`, likewise, where the run's weights came from and the options of
 * its data, unless the command line has its own; out->arguments stays NULL if the file has
 * neither. */
svit_status run_file_read_start(run_file *out, struct program *self, const char *path,
                                const run_file_given *given, int argc, char **argv);

/* Allocates the argument --NAME=VALUE of a stored option. SVIT_E_FORMAT: its value is no text. */
svit_status run_file_argument(char **out, struct program *self, const char *name,
                              const json_t *value);

/* Frees what run_file_read or run_file_read_start read. A cleared struct is allowed. */
void run_file_free(run_file *self);

#endif
