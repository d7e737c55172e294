/* Prints loss and accuracy in the same form in all programs. */
#include "results.h"

#include "shown.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void print_object(json_t *object)
{
    json_dumpf(object, stdout, JSON_REAL_PRECISION(9));
    putchar('\n');
    fflush(stdout);
    json_decref(object);
}

json_t *results_text(const char *text)
{
    char shown[SHOWN_CAPACITY];
    json_t *string = json_string(text);
    return string ? string : json_string(shown_text(shown, text));
}

/* Returns null for NaN, which JSON does not have. */
static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Loss and accuracy with test-time augmentation. */
static svit_status evaluate_augmented(struct program *self, svit_model *model, svit_dataset *data,
                                      const svit_pipeline_config *pipeline, size_t batch,
                                      int32_t compute, int32_t tta, double result[3])
{
    svit_model_config config;
    TRY(svit_model_get_config(model, &config, sizeof config, &self->err));
    size_t n = svit_dataset_count(data), classes = config.num_classes;
    float *logits = calloc(n, classes * sizeof *logits), loss = 0;
    int32_t *labels = calloc(n, sizeof *labels);
    uint64_t top1 = 0, top5 = 0;
    svit_status status =
        logits && labels
            ? svit_evaluate_logits(self->context, model, data, pipeline, batch, compute, tta,
                                   logits, labels, &self->err)
            : program_fail(self, SVIT_E_MEMORY, "no memory for the logits of %zu images", n);
    if (status == SVIT_OK)
        status = svit_cross_entropy(logits, labels, n, classes, 0, &loss, NULL, &self->err);
    if (status == SVIT_OK)
        status = svit_count_top1(logits, labels, n, classes, &top1, &self->err);
    if (status == SVIT_OK)
        status = svit_count_top_k(logits, labels, n, classes, 5, &top5, &self->err);
    result[0] = (double)loss;
    result[1] = (double)top1 / (double)n;
    result[2] = (double)top5 / (double)n;
    free(labels);
    free(logits);
    return status;
}

svit_status results_evaluate(struct program *self, svit_model *model, svit_dataset *data,
                             const char *spec, const char *name, size_t batch, int32_t compute,
                             int32_t tta)
{
    svit_pipeline_config pipeline;
    double result[3] = {0, 0, 0};
    TRY(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, &self->err));
    if (tta == SVIT_TTA_NONE)
        TRY(svit_evaluate_with_compute(self->context, model, data, &pipeline, batch, compute,
                                       &result[0], &result[1], &result[2], &self->err));
    else
        TRY(evaluate_augmented(self, model, data, &pipeline, batch, compute, tta, result));
    double loss = result[0], top1 = result[1], top5 = result[2];
    if (self->json)
        print_object(json_pack("{s:o, s:s, s:I, s:o, s:f, s:f}", "data", results_text(spec),
                               "split", name, "images", (json_int_t)svit_dataset_count(data),
                               "loss", real_or_null(loss), "top1", top1, "top5", top5));
    else
        printf("%s: loss %.4f top-1 %.2f %% top-5 %.2f %%\n", name, loss, 100 * top1, 100 * top5);
    return SVIT_OK;
}

void results_epoch(const svit_trainer_event *event)
{
    print_object(json_pack("{s:I, s:o, s:f, s:f, s:o, s:o, s:o, s:f, s:f, s:f}", "epoch",
                           (json_int_t)event->epoch, "train_loss", real_or_null(event->train_loss),
                           "train_top1", event->train_top1, "train_top5", event->train_top5,
                           "val_loss", real_or_null(event->val_loss), "val_top1",
                           real_or_null(event->val_top1), "val_top5", real_or_null(event->val_top5),
                           "learning_rate", event->learning_rate, "images_per_second",
                           event->images_per_second, "seconds", event->seconds));
}
