/* The options that select a model configuration: --preset, --config, --set; and those that tell
 * what a checkpoint is: --name, --prefix, --explain. */
#ifndef EXAMPLE_CONFIG_OPTION_H
#define EXAMPLE_CONFIG_OPTION_H

#include "program/program.h"

#include <jansson.h>

enum { CONFIG_SETS = 64 };

/* The values of the options. Start from CONFIG_OPTION_INIT. */
typedef struct config_option {
    const char *preset;
    int preset_given;              /* 0: it is the program's default, or NULL */
    const char *file;              /* NULL: the preset's configuration */
    const char *sets[CONFIG_SETS]; /* FIELD=VALUE */
    size_t set_count;
    const char *name, *prefix, *base; /* of a checkpoint: svit_open_options; NULL: not given */
    const char *opens;                /* what messages call the file: "IN"; NULL: "--model" */
    int repeats_rule; /* 1: --config is the run.json of a run that was not told what its checkpoint
                           is, and that starts again from it */
    int explain;      /* 1: print what a checkpoint was found to be, and from what */
    int takes_training; /* 1: --config and --set accept settings of a training too */
} config_option;

#define CONFIG_OPTION_INIT                                                                         \
    {                                                                                              \
        .preset = "shiftvit-cifar10"                                                               \
    }

/* A child parser for these options and --list-presets; its input is a `config_option *`. */
extern const struct option_table config_table;

/* The same with the options of checkpoints. */
extern const struct option_table checkpoint_table;

/* Fails if options say how to find out what a checkpoint is, beside --preset or --config, which say
 * what it is. */
svit_status config_refuse_checkpoint(struct program *self, const config_option *option);

/* Returns 1 if an option says something of the model. */
int config_is_given(const config_option *option);

/* Builds the configuration from the options: the file's fields are on top of those of the preset,
 * unless it names an architecture and no preset is given. Unless the file or --set gives
 * num_classes, it becomes `classes`, the number of the data set; 0 means that it is unknown. */
svit_status config_resolve(svit_model_config *out, struct program *self,
                           const config_option *option, size_t classes);

/* Writes to *named whether the options say what the model is: by a preset, or by fields of a model
 * in the file. */
svit_status config_names_model(int *named, struct program *self, const config_option *option);

/* Writes to *gives whether --config or --set gives this field of the model or the training. */
svit_status config_gives(int *gives, struct program *self, const config_option *option,
                         const char *setting);

/* Changes the fields of a model's configuration that --set gives. */
svit_status config_change(svit_model_config *config, struct program *self,
                          const config_option *option);

/* Writes to *same whether two configurations are equal in every field. */
svit_status config_is_same(int *same, struct program *self, const svit_model_config *a,
                           const svit_model_config *b);

/* Writes to *same whether the fields that --set gives leave the model's configuration as it is, and
 * to *changed the configuration with them. */
svit_status config_change_model(int *same, svit_model_config *changed, struct program *self,
                                const svit_model *model, const config_option *config);

/* Gives the settings of a training their defaults. */
svit_status config_init_training(svit_trainer_config *trainer, svit_optimizer_config *optimizer,
                                 svit_pipeline_config *pipeline);

/* Builds the settings of a training: those of the preset (without one, those that the three structs
 * have) or, unless it is NULL, of `resumed`, the stored settings of a run as JSON; then those of
 * --config and --set, and the fields of `last`, which other options give (NULL: none). All of them
 * together are checked, so that what a later one replaces limits nothing. The channels and the
 * output of a new run's pipeline are those of the model's input, and the margin of the crop stays,
 * unless --set gives another size. `model` is that of --init-from; NULL: that of the options, or,
 * without a preset, none is known yet: sizes that --set gives and settings that depend on the
 * channels are left out. */
svit_status config_resolve_training(svit_trainer_config *trainer, svit_optimizer_config *optimizer,
                                    svit_pipeline_config *pipeline, struct program *self,
                                    const config_option *option, const char *resumed,
                                    const svit_model_config *model, const json_t *last);

/* Writes the fields of the model that --set gives as a JSON object to *text; NULL if there are
 * none. Free it with free(). */
svit_status config_set_text(char **text, struct program *self, const config_option *option);

/* Fails if --config or --set give fields of the model, which is fixed in a resumed run. */
svit_status config_refuse_model(struct program *self, const config_option *option);

/* Writes the settings of a training as JSON text to *text; free it with free(). */
svit_status training_text(char **text, struct program *self, const svit_trainer_config *trainer,
                          const svit_optimizer_config *optimizer,
                          const svit_pipeline_config *pipeline);

enum { ARCHITECTURE_NAME = 32 };

/* Writes the name of the configuration's architecture, as in JSON, to `name`. */
svit_status config_architecture(char name[ARCHITECTURE_NAME], struct program *self,
                                const svit_model_config *config);

/* Writes the configuration as JSON text to *text; free it with free(). */
svit_status config_text(char **text, struct program *self, const svit_model_config *config);

#endif
