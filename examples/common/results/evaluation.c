/* What a model computes for a data set. */
#include "results/evaluation.h"

#include "data/class_list.h"

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

svit_status evaluation_texts(svit_predictor **out, struct program *self, svit_model *model,
                             const evaluation_how *how)
{
    svit_predictor_config config;
    *out = NULL;
    if (!svit_model_text_class_name(model, 0))
        return SVIT_OK;
    TRY(svit_predictor_config_init(&config, sizeof config));
    config.max_batch = (uint32_t)how->batch;
    config.compute = how->compute;
    config.tta = how->tta;
    config.output = SVIT_OUTPUT_LOGITS;
    return svit_predictor_create_from_model(out, model, &config, &self->err);
}

/* Reads n samples of the data set to pixels[n, height, width, channels] and labels[n]. */
static svit_status read_samples(struct program *self, const svit_dataset *data, size_t first,
                                size_t n, uint8_t *pixels, int32_t *labels)
{
    const size_t bytes =
        svit_dataset_height(data) * svit_dataset_width(data) * svit_dataset_channels(data);
    for (size_t i = 0; i < n; i++)
        TRY(svit_dataset_sample(data, first + i, pixels + i * bytes, &labels[i], &self->err));
    return SVIT_OK;
}

/* The logits of classes that are texts, a batch at a time. */
static svit_status find_text_logits(evaluation *out, struct program *self, const svit_dataset *data,
                                    const evaluation_how *how)
{
    const size_t height = svit_dataset_height(data), width = svit_dataset_width(data);
    uint8_t *pixels = calloc(how->batch, height * width * svit_dataset_channels(data));
    svit_status status = SVIT_OK;
    if (!pixels)
        return program_fail(self, SVIT_E_MEMORY, "no memory for %zu images", how->batch);
    for (size_t first = 0, n; first < out->n && status == SVIT_OK; first += n) {
        n = out->n - first < how->batch ? out->n - first : how->batch;
        status = read_samples(self, data, first, n, pixels, out->labels + first);
        if (status == SVIT_OK)
            status = svit_predict_u8(how->texts, pixels, n, height, width,
                                     out->logits + first * out->classes, &self->err);
    }
    free(pixels);
    return status;
}

static svit_status find_logits(evaluation *out, struct program *self, svit_model *model,
                               svit_dataset *data, const evaluation_how *how)
{
    svit_pipeline_config pipeline;
    if (how->texts)
        return find_text_logits(out, self, data, how);
    TRY(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, &self->err));
    return svit_evaluate_logits(self->context, model, data, &pipeline, how->batch, how->compute,
                                how->tta, out->logits, out->labels, &self->err);
}

svit_status evaluation_run(evaluation *out, struct program *self, svit_model *model,
                           svit_dataset *data, const evaluation_how *how)
{
    svit_model_config config;
    TRY(svit_model_get_config(model, &config, sizeof config, &self->err));
    *out = (evaluation){.loss_kind = how->loss,
                        .n = svit_dataset_count(data),
                        .classes =
                            how->texts ? svit_predictor_classes(how->texts) : config.num_classes};
    if (how->loss == SVIT_LOSS_CROSS_ENTROPY && out->classes == 1)
        return program_fail(self, SVIT_E_ARGUMENT,
                            "the model has one output, whose cross-entropy is always 0; --loss "
                            "binary and --loss mse are accepted");
    TRY(allocate(out, self,
                 how->loss != SVIT_LOSS_CROSS_ENTROPY || svit_dataset_has_targets(data)));
    TRY(read_targets(out, self, data));
    TRY(find_logits(out, self, model, data, how));
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
