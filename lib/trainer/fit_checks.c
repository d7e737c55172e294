/* What the images and the classes of a dataset must be for a model. */
#include "base/text/names.h"
#include "data/datasets/dataset_ops.h"
#include "trainer/trainer.h"

static svit_status check_classes(const svit_model *model, const svit_dataset *dataset,
                                 const char *what, svit_error *err)
{
    const size_t classes = svit_dataset_classes(dataset), outputs = model->config.num_classes;
    if (classes > outputs)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s has %zu classes; the model has %zu", what, classes,
                       outputs);
    if (svit_dataset_has_targets(dataset) && classes != outputs)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s has %zu targets for each sample; the model has %zu outputs, and "
                       "these are equally many",
                       what, classes, outputs);
    return SVIT_OK;
}

/* Fails if the dataset has another class name than the model has at its place, because its labels
 * would mean other classes. A training set that names every class names the model anew. Without
 * names in the model, those of the training set are all that is known of its labels. */
static svit_status check_names(const svit_model *model, const svit_dataset *training,
                               const svit_dataset *dataset, svit_error *err)
{
    const bool anew = training && training->names &&
                      (training->classes == model->config.num_classes || !model->classes);
    const char *const *names = anew ? training->names : (const char *const *)model->classes;
    const size_t known = anew ? training->classes : model->config.num_classes;
    if (!names || !dataset->names)
        return SVIT_OK;
    if (anew && model->classes && dataset == training)
        return sv_names_check_moved(names, (const char *const *)model->classes, known, "training",
                                    &model->context->allocator, err);
    const size_t k = sv_names_common(names, known, dataset->names, dataset->classes);
    if (k == known || k == dataset->classes)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "class %zu of %s is '%.60s', of the dataset '%.60s'; the class names must be "
                   "the same, as svit_dataset_match_classes makes them",
                   k, anew ? "training" : "the model", names[k], dataset->names[k]);
}

svit_status sv_trainer_check_fit(const svit_model *model, const svit_dataset *training,
                                 const svit_dataset *dataset, const char *what, bool reads_labels,
                                 svit_error *err)
{
    const svit_model_config *config = &model->config;
    if (svit_dataset_count(dataset) < 1)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s has no samples; at least 1 is needed", what);
    if (svit_dataset_channels(dataset) != config->in_channels)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s has images of %zu channels; the model's in_channels is %u", what,
                       svit_dataset_channels(dataset), config->in_channels);
    /* A model that reconstructs images reads neither labels nor targets. */
    if (config->mask_ratio > 0 || (!reads_labels && !svit_dataset_has_targets(dataset)))
        return SVIT_OK;
    SVIT_TRY(check_classes(model, dataset, what, err));
    return reads_labels ? check_names(model, training, dataset, err) : SVIT_OK;
}
