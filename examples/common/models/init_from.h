/* Starts a training from the weights of another model. */
#ifndef EXAMPLE_INIT_FROM_H
#define EXAMPLE_INIT_FROM_H

#include "settings/config_option.h"

/* Copies to `model` the parameters of the model file or folder `given` that have the same names and
 * shapes, with adapters merged. The classifier keeps its initial weights if the numbers of classes
 * differ, which is said on stderr unless --quiet is given. Any other difference fails with a
 * message that names the parameter; `model` may then have a part of the weights. A file without a
 * configuration is read with that of `model`. `config` has the options that say what `given` is;
 * only a run that starts again (repeats_rule) reads the names of other libraries than timm. */
svit_status init_from(struct program *self, svit_model *model, const config_option *config,
                      const char *given);

/* Opens the model that `given` names, without being told what it is, for a training: adapters are
 * merged, and fields of the model that --set gives are changed. */
svit_status init_model(svit_model **out, struct program *self, const config_option *config,
                       const char *given);

/* Lets the classifier start anew if the file's classes have names and are not those of `data`;
 * where a run starts again that init_model and init_head began, also if they have none. */
svit_status init_other_classes(struct program *self, svit_model *model, const config_option *option,
                               const char *given, const svit_dataset *data);

/* Gives the model a classifier for the classes of `data`, unless it has one of the same names.
 * SVIT_E_ARGUMENT: the options give another number of classes. */
svit_status init_head(struct program *self, const config_option *option, svit_model *model,
                      const svit_dataset *data);

#endif
