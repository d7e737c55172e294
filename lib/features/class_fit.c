/* Adds one class to a classifier and leaves the others as they are. */
#include "base/size.h"
#include "base/text/names.h"
#include "base/text/utf8.h"
#include "base/threads/fp_env.h"
#include "config/config.h"
#include "features/classifier.h"

#include <shiftvit/load.h>

#include <float.h>
#include <math.h>
#include <string.h>

#define FIELD(field, kind) SV_FIELD(svit_class_config, field, kind)

static const sv_field FIELDS[] = {
    {FIELD(weight_decay, REAL), .min = 0, .max = DBL_MAX},
    {FIELD(new_weight, REAL), .min = 0, .max = 1e30, .min_is_open = 1},
    {FIELD(recall, REAL), .min = 0, .max = 1, .min_is_open = 1},
};
static const svit_class_config DEFAULTS = {.weight_decay = 0.1, .new_weight = 2, .recall = 0.6};

static const sv_config_type TYPE = {
    SV_CONFIG(svit_class_config, FIELDS, "the configuration of a new class"),
    .reserved = offsetof(svit_class_config, reserved), .defaults = &DEFAULTS,
    .null_is_default = true};

SV_CONFIG_FUNCTIONS(svit_class_config, TYPE)

/* One call. */
typedef struct addition {
    svit_model *model;
    sv_classifier classifier;
    const svit_features *features, *old;
    svit_class_config config;
    double *logits; /* [samples] of find_rivals: the largest old logits, with old features their
                       log-sum-exp, 0 for several labels */
    double *w;      /* [channels + 1] */
    size_t samples, channels;
    char **names; /* [classes + 1]; NULL: none */
} addition;

/* Copies the names of the old classes and the new one. */
static svit_status copy_names(addition *self, const char *name, svit_error *err)
{
    const sv_allocator *allocator = &self->model->context->allocator;
    const size_t classes = self->classifier.classes;
    const char **list;
    if (name && !sv_utf8_valid(name))
        return sv_fail(err, SVIT_E_ARGUMENT, "name is '%.64s', which is not UTF-8", name);
    if (!name || !self->model->classes)
        return SVIT_OK;
    for (size_t k = 0; k < classes; k++)
        if (strcmp(self->model->classes[k], name) == 0)
            return sv_fail(err, SVIT_E_ARGUMENT, "the model has a class '%.64s' already", name);
    SVIT_TRY(sv_allocate_array(allocator, (void **)&list, classes + 1, sizeof *list, "class names",
                               err));
    memcpy(list, self->model->classes, classes * sizeof *list);
    list[classes] = name;
    svit_status status =
        sv_names_copy(&self->names, allocator, list, classes + 1, "class_names", err);
    sv_release(allocator, list, (classes + 1) * sizeof *list);
    return status;
}

static svit_status allocate(addition *self, svit_error *err)
{
    const sv_allocator *allocator = &self->model->context->allocator;
    if (!sv_size_add(&self->samples, self->features->count, self->old ? self->old->count : 0))
        return sv_fail(err, SVIT_E_MEMORY, "the logits of all features do not fit memory");
    SVIT_TRY(sv_allocate_array(allocator, (void **)&self->logits, self->samples,
                               sizeof *self->logits, "logits", err));
    return sv_allocate_array(allocator, (void **)&self->w, self->channels + 1, sizeof *self->w,
                             "the row of a class", err);
}

static void release(addition *self)
{
    const sv_allocator *allocator = &self->model->context->allocator;
    sv_names_free(allocator, self->names, self->classifier.classes + 1);
    sv_release(allocator, self->w, (self->channels + 1) * sizeof *self->w);
    sv_release(allocator, self->logits, self->samples * sizeof *self->logits);
}

/* Computes what the new logit is compared with. A label of several, each with a sigmoid, stands
 * alone: it is found above 0, a probability of 1/2, whatever the others are. */
static void find_rivals(addition *self)
{
    const svit_features *features = self->features, *old = self->old;
    sv_pool *pool = features->context->pool;
    if (svit_model_output(self->model) == SVIT_OUTPUT_SIGMOID)
        return; /* the logits are 0 since their allocation */
    sv_classifier_logits(&self->classifier, pool, features->values, features->count,
                         old ? NULL : self->logits, old ? self->logits : NULL);
    if (old)
        sv_classifier_logits(&self->classifier, pool, old->values, old->count, NULL,
                             self->logits + features->count);
}

static svit_status find_row(addition *self, svit_error *err)
{
    const svit_features *features = self->features, *old = self->old;
    find_rivals(self);
    if (!old)
        return sv_class_from_mean(self->w, &self->classifier, features, self->logits,
                                  self->config.recall, err);
    return sv_class_from_regression(self->w, self->classifier.classes, features, old, self->logits,
                                    &self->config, err);
}

/* Each of several heads gets its part of the row, times their number, since logits are averaged. */
static double element(const addition *self, size_t k)
{
    return k < self->channels ? self->w[k] * (double)self->classifier.heads : self->w[k];
}

static svit_status check_row(const addition *self, svit_error *err)
{
    for (size_t k = 0; k <= self->channels; k++)
        if (!isfinite((float)element(self, k)))
            return sv_fail(err, SVIT_E_NUMERIC,
                           "the row of the new class is not finite; its element %zu is %g", k,
                           element(self, k));
    return SVIT_OK;
}

/* Grows the classifier and writes the row. After the growth nothing can fail. */
static svit_status grow(addition *self, svit_error *err)
{
    svit_model *model = self->model;
    const size_t old = self->classifier.classes, part = self->classifier.part;
    SVIT_TRY(svit_model_add_classes(model, 1, 0, err));
    sv_classifier_find(&self->classifier, model, NULL); /* which has moved */
    for (size_t h = 0; h < self->classifier.heads; h++) {
        float *row = model->weights + self->classifier.weights[h]->offset + old * part;
        for (size_t i = 0; i < part; i++)
            row[i] = (float)element(self, h * part + i);
        model->weights[self->classifier.biases[h]->offset + old] =
            (float)element(self, self->channels);
    }
    sv_model_touch(model);
    sv_model_take_names(model, self->names);
    self->names = NULL;
    return SVIT_OK;
}

static svit_status check(addition *self, svit_error *err)
{
    SVIT_TRY(sv_classifier_find(&self->classifier, self->model, err));
    if (svit_model_output(self->model) == SVIT_OUTPUT_LOGITS)
        return sv_fail(err, SVIT_E_STATE,
                       "the model predicts numbers, to which no class is added; "
                       "svit_model_set_output says what it predicts");
    SVIT_TRY(sv_model_check_alone(self->model, "its head changes", err));
    self->channels = self->classifier.heads * self->classifier.part;
    SVIT_TRY(sv_features_check_model(self->features, self->model, self->channels,
                                     "the set of the new class", err));
    if (self->old)
        SVIT_TRY(sv_features_check_model(self->old, self->model, self->channels,
                                         "the set of the old classes", err));
    return svit_context_check(self->features->context, err);
}

static svit_status add(addition *self, const char *name, svit_error *err)
{
    SVIT_TRY(copy_names(self, name, err));
    SVIT_TRY(allocate(self, err));
    sv_fp_env before = sv_fp_env_begin();
    svit_status status = find_row(self, err);
    sv_fp_env_end(before);
    if (status == SVIT_OK)
        status = check_row(self, err);
    return status == SVIT_OK ? grow(self, err) : status;
}

SVIT_API svit_status svit_model_fit_class(svit_model *model, const char *name,
                                          const svit_features *features, const svit_features *old,
                                          const svit_class_config *config, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(model);
    SV_REQUIRE(features);
    addition self = {.model = model, .features = features, .old = old};
    SVIT_TRY(sv_config_read(&TYPE, &self.config, config, err));
    SVIT_TRY(check(&self, err));
    svit_status status = add(&self, name, err);
    release(&self);
    return status;
}
