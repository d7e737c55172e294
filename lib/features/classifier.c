/* The last layer of a model's head: where its parameters are, and its logits. */
#include "features/classifier.h"

#include "base/size.h"
#include "models/architecture.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Rows of the features of one task. */
enum { ROW_BLOCK = 16 };

/* Each linear layer of a classifier has a bias (sv_scope_classifier). */
static void find_parameters(sv_classifier *out, const sv_parameter_table *table)
{
    size_t weights = 0, biases = 0;
    for (size_t i = 0; i < table->count; i++) {
        const sv_parameter *parameter = &table->list[i];
        if (!parameter->classes)
            continue;
        if (parameter->desc.rank == 1 && biases < SV_CLASSIFIER_HEADS)
            out->biases[biases++] = parameter;
        else if (weights < SV_CLASSIFIER_HEADS)
            out->weights[weights++] = parameter;
    }
    assert(biases == weights);
    out->heads = weights;
    out->part = weights > 0 ? (size_t)out->weights[0]->desc.shape[1] : 0;
}

svit_status sv_classifier_find(sv_classifier *out, const svit_model *model, svit_error *err)
{
    const svit_model_config *config = &model->config;
    if (!config->classifier)
        return sv_fail(err, SVIT_E_STATE,
                       "the model has no classifier; svit_model_replace_head gives it one");
    if (config->head_layers > 0)
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "the classifier has %u hidden layers; a class is added to one without",
                       config->head_layers);
    *out = (sv_classifier){.model = model, .classes = config->num_classes};
    find_parameters(out, &model->parameters);
    return SVIT_OK;
}

svit_status sv_features_check_model(const svit_features *features, const svit_model *model,
                                    size_t channels, const char *what, svit_error *err)
{
    char description[SV_MODEL_DESCRIPTION];
    if (features->channels != channels)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s has %zu channels; the classifier of the model reads %zu", what,
                       features->channels, channels);
    if (features->layer[0] && strcmp(features->layer, "features") != 0)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s is of the layer '%.40s'; a classifier reads the layer 'features'", what,
                       features->layer);
    sv_model_describe(description, model);
    if (features->model[0] && strcmp(features->model, description) != 0)
        sv_context_warn(model->context, "the features are those of another model");
    return SVIT_OK;
}

static double logit(const sv_classifier *self, const float *x, size_t k)
{
    const float *all = self->model->weights;
    double sum = 0;
    for (size_t h = 0; h < self->heads; h++, x += self->part) {
        const float *w = all + self->weights[h]->offset + k * self->part;
        sum += (double)all[self->biases[h]->offset + k];
        for (size_t i = 0; i < self->part; i++)
            sum += (double)w[i] * (double)x[i];
    }
    return sum / (double)self->heads;
}

typedef struct logits_task {
    const sv_classifier *classifier;
    const float *values;
    size_t count;
    double *max, *log_sum_exp;
} logits_task;

/* The log-sum-exp is kept relative to the largest logit so far. */
static void compute_rows(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const logits_task *self = argument;
    const sv_classifier *classifier = self->classifier;
    const size_t c = classifier->heads * classifier->part;
    const size_t end = sv_size_min((task + 1) * ROW_BLOCK, self->count);
    for (size_t i = task * ROW_BLOCK; i < end; i++) {
        double max = -INFINITY, sum = 0;
        for (size_t k = 0; k < classifier->classes; k++) {
            const double z = logit(classifier, self->values + i * c, k);
            sum = z > max ? sum * exp(max - z) + 1 : sum + exp(z - max);
            max = fmax(max, z);
        }
        if (self->max)
            self->max[i] = max;
        if (self->log_sum_exp)
            self->log_sum_exp[i] = max + log(sum);
    }
}

void sv_classifier_logits(const sv_classifier *self, sv_pool *pool, const float *values,
                          size_t count, double *max, double *log_sum_exp)
{
    logits_task task = {self, values, count, max, log_sum_exp};
    sv_pool_run(pool, compute_rows, &task, (count + ROW_BLOCK - 1) / ROW_BLOCK);
}

double sv_classifier_mean_norm(const sv_classifier *self)
{
    double total = 0;
    for (size_t k = 0; k < self->classes; k++) {
        double square = 0;
        for (size_t h = 0; h < self->heads; h++) {
            const float *w = self->model->weights + self->weights[h]->offset + k * self->part;
            for (size_t i = 0; i < self->part; i++)
                square += (double)w[i] * (double)w[i];
        }
        total += sqrt(square) / (double)self->heads;
    }
    return total / (double)self->classes;
}
