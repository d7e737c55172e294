/* Model configurations as options name them: --preset, --config, --set. */
#ifndef EXAMPLE_CONFIG_OPTION_H
#define EXAMPLE_CONFIG_OPTION_H

#include "program.h"

enum { CONFIG_SETS = 64 };

/* What the options say. Start from CONFIG_OPTION_INIT. */
typedef struct config_option {
    const char *preset;
    const char *file;              /* NULL: the preset's configuration */
    const char *sets[CONFIG_SETS]; /* FIELD=VALUE */
    size_t set_count;
} config_option;

#define CONFIG_OPTION_INIT                                                                         \
    {                                                                                              \
        .preset = "shiftvit-cifar10"                                                               \
    }

/* A child parser for these options and --list-presets; its input is a `config_option *`. */
extern const struct argp config_argp;

/* The configuration. Its number of classes follows the data (`classes`, 0 = unknown) where
 * neither the file nor --set says it. */
svit_status config_resolve(svit_model_config *out, struct program *self,
                           const config_option *option, size_t classes);

/* The preset's pipeline made to fit: its output is the model's input, with the preset's margin
 * for the crop, and its source the size of the data's images. `data` NULL, for images of many
 * sizes: the source step brings them to the size of the resize by their shorter side, and the
 * resize itself changes nothing. */
void config_fit_pipeline(svit_pipeline_config *pipeline, const svit_model_config *model,
                         const svit_dataset *data);

/* 1 where the preset is one of the Keras ViT example, which normalises images by the mean and
 * variance of whatever it is trained on. */
int config_wants_statistics(const svit_model_config *preset);

/* The configuration as JSON text; free with free(). */
svit_status config_text(char **text, struct program *self, const svit_model_config *config);

#endif
