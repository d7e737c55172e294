/* The option --model: a model file, the folder of a training run, or a checkpoint of another
 * library. */
#ifndef EXAMPLE_MODEL_PATH_H
#define EXAMPLE_MODEL_PATH_H

#include "program/path_text.h"
#include "settings/config_option.h"

/* The files of weights in a folder, the preferred first, as svit_model_open takes them; NULL at the
 * end. */
extern const char *const model_path_files[];

/* The file of PEFT's adapters, which says in another one beside it which model it changes. */
extern const char model_path_adapter[];

/* Returns 1 if a path is that of an index of weights in several files. */
int model_path_is_index(const char *path);

/* Writes the path of the file that `given`, the value of `option`, names to path[PATH_CAPACITY]:
 * `given` itself, or in a folder the adapter of PEFT, or else the first of model_path_files. Prints
 * which of them was taken on stderr, unless --quiet is given. */
svit_status model_path(struct program *self, char *path, const char *option, const char *given);

/* Finds the file without printing it. */
svit_status model_path_of(struct program *self, char *path, const char *option, const char *given);

/* Does that for --model. */
svit_status model_path_find(struct program *self, char *path, const char *given);

/* Fails with SVIT_E_IO if nothing is there. */
svit_status model_path_check(struct program *self, const char *given);

/* Returns 1 if the model is in several files, which svit_model_open alone reads: an index of
 * weights, or an adapter of PEFT in a folder. `path` is what model_path has found. */
int model_path_is_several(const char *path, const char *given);

/* Prints that the model is `path`, if `given` is the folder that holds it. */
void model_path_note(const struct program *self, const char *path, const char *given);

/* Opens a model in several files, or under another library's names, that `stated` describes, but
 * for the fields of `without`, a list that ends with NULL. Fields that the files or their tensors
 * contradict are an error. */
svit_status model_open_several(svit_model **out, struct program *self, const config_option *config,
                               const svit_model_config *stated, const char *const *without,
                               const char *given);

/* Opens the model that `given` names: a model file or a run's folder, or a checkpoint of another
 * library, as svit_model_open does with --name, --prefix and --set. If `config` has a preset or a
 * file, its configuration is used instead of the one in the model file, which may have none.
 * SVIT_E_ARGUMENT: --set gives a field another value than a file that states it. */
svit_status model_open(svit_model **out, struct program *self, const config_option *config,
                       const char *given);

/* The same, but --set may give other values, to which the caller changes the model. */
svit_status model_open_to_change(svit_model **out, struct program *self,
                                 const config_option *config, const char *given);

/* Says that the logits of a model without a classifier are features, which are taken for `what`. */
svit_status model_note_features(struct program *self, const svit_model *model, const char *what);

/* Gives a model without a pipeline that of the run.json or the preset in `config`, if there is one.
 */
svit_status model_take_pipeline(svit_model *model, struct program *self,
                                const config_option *config);

/* Says that the model, which is written to a file, has no pipeline: programs that read images
 * refuse it. */
void model_note_pipeline(const struct program *self, const svit_model *model,
                         const config_option *config);

/* Does model_take_pipeline, and reads the pipeline. SVIT_E_ARGUMENT: there is none. */
svit_status model_pipeline(svit_model *model, struct program *self, const config_option *config,
                           svit_pipeline_config *pipeline);

#endif
