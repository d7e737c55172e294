/* The factors of the classes in the loss: the caller's, or those that give the classes of the
 * training set equal shares. */
#include "data/datasets/dataset_ops.h"
#include "trainer/trainer.h"

#include <float.h>

/* The samples of each class; one with targets counts with its parts. */
typedef struct shares {
    double *of_class; /* [classes] */
    double all;       /* their sum */
    size_t present;   /* classes that have some */
    float *targets;   /* [classes] of a sample; NULL with labels */
} shares;

static svit_status add_samples(shares *self, const svit_dataset *training, svit_error *err)
{
    for (size_t i = 0; i < training->count; i++) {
        int32_t label = 0;
        if (self->targets)
            SVIT_TRY(svit_dataset_targets(training, i, self->targets, err));
        else
            SVIT_TRY(svit_dataset_label(training, i, &label, err));
        for (size_t k = 0; self->targets && k < training->classes; k++)
            self->of_class[k] += (double)self->targets[k];
        self->of_class[label] += self->targets ? 0 : 1;
    }
    for (size_t k = 0; k < training->classes; k++) {
        self->all += self->of_class[k];
        self->present += self->of_class[k] > 0;
    }
    return SVIT_OK;
}

/* The factor of a class: with binary targets the negatives by the positives; else such that the
 * classes have equal shares and the samples a mean of 1. 1 where that is no number above 0. */
static float factor_of(const shares *self, size_t class, int32_t loss, size_t samples)
{
    const double own = self->of_class[class];
    const double other =
        loss == SVIT_LOSS_BINARY ? (double)samples - own : self->all / (double)self->present;
    const double factor = other / own;
    return factor >= (double)FLT_MIN && factor <= (double)FLT_MAX ? (float)factor : 1;
}

static svit_status balance(svit_trainer *trainer, const svit_dataset *training, svit_error *err)
{
    shares self = {0};
    const size_t classes = trainer->classes;
    sv_arrays arrays = {.allocator = &trainer->context->allocator};
    if (!training->has_targets)
        SVIT_TRY(sv_dataset_check_labels(training, "class_weighting 'balanced'", err));
    svit_status status =
        sv_arrays_add(&arrays, &self.of_class, classes, sizeof(double), "samples of classes", err);
    if (status == SVIT_OK && training->has_targets)
        status = sv_arrays_add(&arrays, &self.targets, classes, sizeof(float), "targets", err);
    if (status == SVIT_OK)
        status = add_samples(&self, training, err);
    for (size_t k = 0; status == SVIT_OK && k < classes; k++)
        trainer->objective.class_weights[k] =
            factor_of(&self, k, trainer->config.loss, training->count);
    sv_arrays_free(&arrays);
    return status;
}

svit_status sv_trainer_set_class_weights(svit_trainer *trainer, const svit_dataset *training,
                                         svit_error *err)
{
    const svit_trainer_config *config = &trainer->config;
    const size_t classes = trainer->classes, given = config->class_weight_count;
    const bool balanced = config->class_weighting == SVIT_CLASS_WEIGHTING_BALANCED;
    if (given && given != classes)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "there are %zu class_weights; the model has %zu classes", given, classes);
    if (!given && !balanced)
        return SVIT_OK;
    SVIT_TRY(sv_arrays_add(&trainer->arrays, &trainer->objective.class_weights, classes,
                           sizeof(float), "weights of classes", err));
    if (balanced)
        return balance(trainer, training, err);
    for (size_t k = 0; k < classes; k++)
        trainer->objective.class_weights[k] = (float)config->class_weights[k];
    return SVIT_OK;
}
