/* What the images and the classes of a dataset must be for a model. */
#include "data/datasets/dataset_ops.h"
#include "trainer/trainer.h"

#include <string.h>

static svit_status check_classes(const svit_model *model, const svit_dataset *dataset,
                                 const char *what, svit_error *err)
{
    const size_t classes = svit_dataset_classes(dataset), outputs = model->config.num_classes;
    if (classes > outputs && model->config.mask_ratio == 0)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s has %zu classes; the model has %zu", what, classes,
                       outputs);
    if (svit_dataset_has_targets(dataset) && classes != outputs)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s has %zu targets for each sample; the model has %zu outputs, and "
                       "these are equally many",
                       what, classes, outputs);
    return SVIT_OK;
}

svit_status sv_trainer_check_fit(const svit_model *model, const svit_dataset *dataset,
                                 const char *what, bool reads_labels, svit_error *err)
{
    const svit_model_config *config = &model->config;
    if (svit_dataset_count(dataset) < 1)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s has no samples; at least 1 is needed", what);
    if (svit_dataset_channels(dataset) != config->in_channels)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s has images of %zu channels; the model's in_channels is %u", what,
                       svit_dataset_channels(dataset), config->in_channels);
    return reads_labels || svit_dataset_has_targets(dataset)
               ? check_classes(model, dataset, what, err)
               : SVIT_OK;
}

svit_status sv_trainer_check_names(const char *const *names, size_t count, const char *of,
                                   const svit_dataset *dataset, svit_error *err)
{
    const char *const *found = dataset->names;
    const size_t found_count = dataset->classes;
    size_t k = 0;
    if (!names || !found)
        return SVIT_OK;
    while (k < count && k < found_count && strcmp(names[k], found[k]) == 0)
        k++;
    if (k == count && k == found_count)
        return SVIT_OK;
    return sv_fail(
        err, SVIT_E_ARGUMENT,
        "class %zu of %s is '%.60s', of the dataset '%.60s'; the class names must be the "
        "same, as svit_dataset_match_classes makes them",
        k, of, k < count ? names[k] : "none", k < found_count ? found[k] : "none");
}
