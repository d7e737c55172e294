/* Prints loss and accuracy in the same form in all programs. */
#include "results.h"

#include "shown.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

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

svit_status results_evaluate(struct program *self, svit_model *model, svit_dataset *data,
                             const char *spec, const char *name, size_t batch, int32_t compute)
{
    svit_pipeline_config pipeline;
    double loss = 0;
    double top1 = 0;
    double top5 = 0;
    TRY(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, &self->err));
    TRY(svit_evaluate_with_compute(self->context, model, data, &pipeline, batch, compute, &loss,
                                   &top1, &top5, &self->err));
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
