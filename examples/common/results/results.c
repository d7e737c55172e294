/* Prints loss and accuracy in the same form in all programs. */
#include "results/results.h"

#include "program/json_line.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The fraction of samples whose label is among the k largest logits. Of targets the largest one
 * counts as the label. */
static svit_status top_fraction(struct program *self, const evaluation *of, size_t k, double *out)
{
    uint64_t count = 0;
    for (size_t i = 0; of->targets && i < of->n; i++) {
        const float *row = of->targets + i * of->classes;
        of->labels[i] = 0;
        for (size_t j = 1; j < of->classes; j++)
            if (row[j] > row[of->labels[i]])
                of->labels[i] = (int32_t)j;
    }
    if (k == 1)
        TRY(svit_count_top1(of->logits, of->labels, of->n, of->classes, &count, &self->err));
    else
        TRY(svit_count_top_k(of->logits, of->labels, of->n, of->classes, k, &count, &self->err));
    *out = (double)count / (double)of->n;
    return SVIT_OK;
}

/* One measure of an evaluation. */
typedef struct measure {
    const char *name, *key; /* in the line and in JSON */
    double value;
    int is_fraction; /* 1: the line shows per cent */
} measure;

enum { MOST_MEASURES = 5 };

/* The mean over classes of the average precision, without classes that are never present. */
static svit_status mean_precision(struct program *self, const evaluation *of, double *out)
{
    double *precision = calloc(of->classes, sizeof *precision), sum = 0;
    if (!precision)
        return program_fail(self, SVIT_E_MEMORY, "no memory for %zu classes", of->classes);
    svit_status status = svit_average_precision(self->context, of->logits, of->targets, of->n,
                                                of->classes, precision, &self->err);
    size_t present = 0;
    for (size_t k = 0; status == SVIT_OK && k < of->classes; k++)
        if (!isnan(precision[k])) {
            sum += precision[k];
            present++;
        }
    *out = present ? sum / (double)present : NAN;
    free(precision);
    return status;
}

/* Fills the measures that suit the loss, after the loss itself. *count receives their number. */
static svit_status measure_all(struct program *self, const evaluation *of,
                               measure out[MOST_MEASURES], size_t *count)
{
    double a = 0, b = 0, c = 0, d = 0, e = 0;
    if (of->loss_kind == SVIT_LOSS_CROSS_ENTROPY) {
        TRY(top_fraction(self, of, 1, &a));
        TRY(top_fraction(self, of, 5, &b));
        out[0] = (measure){"top-1", "top1", a, 1};
        out[1] = (measure){"top-5", "top5", b, 1};
        *count = 2;
    } else if (of->loss_kind == SVIT_LOSS_BINARY) {
        TRY(svit_multilabel_metrics(of->logits, of->targets, of->n, of->classes, &a, &b, &c, &d,
                                    &self->err));
        TRY(mean_precision(self, of, &e));
        out[0] = (measure){"labels", "element_accuracy", a, 1};
        out[1] = (measure){"images", "exact_match", b, 1};
        out[2] = (measure){"micro-F1", "micro_f1", c, 0};
        out[3] = (measure){"macro-F1", "macro_f1", d, 0};
        out[4] = (measure){"mAP", "mean_average_precision", e, 0};
        *count = 5;
    } else {
        TRY(svit_regression_errors(of->logits, of->targets, of->n, of->classes, &a, &b,
                                   &self->err));
        out[0] = (measure){"MAE", "mean_absolute_error", a, 0};
        out[1] = (measure){"RMSE", "root_mean_square_error", b, 0};
        *count = 2;
    }
    return SVIT_OK;
}

svit_status results_print(struct program *self, const evaluation *of, const char *spec,
                          const char *name)
{
    measure measures[MOST_MEASURES];
    size_t count = 0;
    TRY(measure_all(self, of, measures, &count));
    if (self->json) {
        json_t *object =
            json_pack("{s:o, s:s, s:I, s:o}", "data", json_line_text(spec), "split", name, "images",
                      (json_int_t)of->n, "loss", json_line_real((double)of->loss));
        for (size_t i = 0; i < count; i++)
            json_object_set_new(object, measures[i].key, json_line_real(measures[i].value));
        json_line_print(object, JSON_LINE_DIGITS);
        return SVIT_OK;
    }
    printf("%s: loss %.4f", name, (double)of->loss);
    for (size_t i = 0; i < count; i++)
        if (measures[i].is_fraction)
            printf(" %s %.2f %%", measures[i].name, 100 * measures[i].value);
        else
            printf(" %s %.4f", measures[i].name, measures[i].value);
    putchar('\n');
    return SVIT_OK;
}

svit_status results_evaluate(struct program *self, svit_model *model, svit_dataset *data,
                             const char *spec, const char *name, const evaluation_how *how)
{
    evaluation result = {0};
    svit_status status = evaluation_run(&result, self, model, data, how);
    if (status == SVIT_OK)
        status = results_print(self, &result, spec, name);
    evaluation_free(&result);
    return status;
}

void results_epoch(const svit_trainer_event *event)
{
    json_t *object = json_pack(
        "{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:f, s:f}", "epoch",
        (json_int_t)event->epoch, "train_loss", json_line_real(event->train_loss), "train_top1",
        json_line_real(event->train_top1), "train_top5", json_line_real(event->train_top5),
        "val_loss", json_line_real(event->val_loss), "val_top1", json_line_real(event->val_top1),
        "val_top5", json_line_real(event->val_top5), "learning_rate", event->learning_rate,
        "images_per_second", event->images_per_second, "seconds", event->seconds, "pflop",
        event->pflop);
    json_line_print(object, JSON_LINE_DIGITS);
}
