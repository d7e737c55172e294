/* What a model computes for a data set. */
#include "evaluation.h"

#include <math.h>
#include <stdlib.h>

const char *const evaluation_loss_names[] = {"cross-entropy", "binary", "mse", NULL};

static svit_status allocate(evaluation *self, struct program *program, int32_t with_targets)
{
    self->logits = calloc(self->n, self->classes * sizeof *self->logits);
    self->labels = calloc(self->n, sizeof *self->labels);
    if (with_targets)
        self->targets = calloc(self->n, self->classes * sizeof *self->targets);
    if (!self->logits || !self->labels || (with_targets && !self->targets))
        return program_fail(program, SVIT_E_MEMORY, "no memory for the logits of %zu images",
                            self->n);
    return SVIT_OK;
}

static svit_status find_loss(evaluation *self, struct program *program)
{
    svit_error *err = &program->err;
    const size_t n = self->n, classes = self->classes;
    if (self->loss_kind == SVIT_LOSS_BINARY)
        return svit_binary_cross_entropy(self->logits, self->targets, NULL, n, classes, 0,
                                         &self->loss, NULL, err);
    if (self->loss_kind == SVIT_LOSS_MSE)
        return svit_mean_squared_error(self->logits, self->targets, n, classes, &self->loss, NULL,
                                       err);
    if (self->targets)
        return svit_cross_entropy_soft(self->logits, self->targets, n, classes, &self->loss, NULL,
                                       err);
    return svit_cross_entropy(self->logits, self->labels, n, classes, 0, &self->loss, NULL, err);
}

/* Whether numbers are at least 0 and have the sum 1, about, as the trainer checks it. */
static int is_probability(const float *row, size_t classes)
{
    double sum = 0;
    for (size_t k = 0; k < classes; k++) {
        if (!(row[k] >= 0))
            return 0;
        sum += (double)row[k];
    }
    return fabs(sum - 1) <= 0.05;
}

/* A data set may have fewer classes than the model; targets are as wide as its logits. */
static svit_status read_targets(evaluation *self, struct program *program, const svit_dataset *data)
{
    if (!self->targets)
        return SVIT_OK;
    if (svit_dataset_classes(data) != self->classes)
        return program_fail(program, SVIT_E_ARGUMENT,
                            "the data has %zu classes or targets, the model %zu outputs; this loss "
                            "needs equally many",
                            svit_dataset_classes(data), self->classes);
    for (size_t i = 0; i < self->n; i++) {
        float *row = self->targets + i * self->classes;
        TRY(svit_dataset_targets(data, i, row, &program->err));
        if (self->loss_kind == SVIT_LOSS_CROSS_ENTROPY && !is_probability(row, self->classes))
            return program_fail(
                program, SVIT_E_ARGUMENT,
                "the numbers of image %zu are no probabilities, which cross-entropy "
                "takes; --loss binary and --loss mse are accepted",
                i);
    }
    return SVIT_OK;
}

svit_status evaluation_run(evaluation *out, struct program *self, svit_model *model,
                           svit_dataset *data, const evaluation_how *how)
{
    svit_model_config config;
    svit_pipeline_config pipeline;
    TRY(svit_model_get_config(model, &config, sizeof config, &self->err));
    TRY(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, &self->err));
    *out = (evaluation){
        .loss_kind = how->loss, .n = svit_dataset_count(data), .classes = config.num_classes};
    if (how->loss == SVIT_LOSS_CROSS_ENTROPY && out->classes == 1)
        return program_fail(self, SVIT_E_ARGUMENT,
                            "the model has one output, whose cross-entropy is always 0; --loss "
                            "binary and --loss mse are accepted");
    TRY(allocate(out, self,
                 how->loss != SVIT_LOSS_CROSS_ENTROPY || svit_dataset_has_targets(data)));
    TRY(read_targets(out, self, data));
    TRY(svit_evaluate_logits(self->context, model, data, &pipeline, how->batch, how->compute,
                             how->tta, out->logits, out->labels, &self->err));
    return find_loss(out, self);
}

void evaluation_free(evaluation *self)
{
    free(self->logits);
    free(self->labels);
    free(self->targets);
    *self = (evaluation){0};
}

size_t evaluation_predicted(const evaluation *self, size_t sample)
{
    const float *row = self->logits + sample * self->classes;
    size_t best = 0;
    for (size_t k = 1; k < self->classes; k++)
        if (row[k] > row[best])
            best = k;
    return best;
}
