/* The batches of a run, and whether a dataset has what its loss takes. */
#include "trainer/batch.h"

#include "data/loading/batcher.h"
#include "losses/loss.h"
#include "models/config.h"

#include <math.h>

bool sv_objective_needs_targets(const sv_objective *objective, const svit_loader *loader)
{
    return objective->loss != SVIT_LOSS_CROSS_ENTROPY || svit_loader_has_targets(loader);
}

/* What is accepted where cross-entropy is not. */
#define OTHER_LOSSES                                                                               \
    "loss=binary (several labels, each from 0 to 1) and loss=mse (numbers) are accepted"

/* An image whose targets are looked at, for messages. */
typedef struct checked_row {
    const svit_dataset *dataset;
    const float *values; /* [classes] */
    size_t index;
    const char *what; /* "training" */
} checked_row;

/* Fails because target `k` is not what a loss takes, and names the image's file, if it is one. */
static svit_status fail_target(const checked_row *row, size_t k, const char *accepted,
                               svit_error *err)
{
    const char *name = svit_dataset_class_name(row->dataset, k);
    char *path = NULL;
    SVIT_TRY(sv_dataset_path(row->dataset, row->index, &path, err));
    const svit_status status = sv_fail(
        err, SVIT_E_ARGUMENT, "%s: target %zu%s%.20s%s of image %zu%s%s%s is %g; %s", row->what, k,
        name ? " ('" : "", name ? name : "", name ? "')" : "", row->index, path ? " ('" : "",
        path ? path : "", path ? "')" : "", (double)row->values[k], accepted);
    sv_release_text(&row->dataset->context->allocator, path);
    return status;
}

/* Fails unless a row of targets is at least 0 and has the sum 1, about: a table may have rounded
 * thirds. */
static svit_status check_probabilities(const checked_row *row, svit_error *err)
{
    static const char ACCEPTED[] =
        "cross-entropy takes probabilities, whose sum is 1; " OTHER_LOSSES;
    const double tolerance = 0.05;
    double sum = 0;
    for (size_t k = 0; k < row->dataset->classes; k++) {
        if (!(row->values[k] >= 0))
            return fail_target(row, k, ACCEPTED, err);
        sum += (double)row->values[k];
    }
    if (fabs(sum - 1) <= tolerance)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT, "%s: the targets of image %zu have the sum %g; %s",
                   row->what, row->index, sum, ACCEPTED);
}

/* Fails unless each target is from 0 to 1. */
static svit_status check_labels(const checked_row *row, svit_error *err)
{
    for (size_t k = 0; k < row->dataset->classes; k++)
        if (!(row->values[k] >= 0 && row->values[k] <= 1))
            return fail_target(row, k, "loss=binary takes 0 to 1", err);
    return SVIT_OK;
}

svit_status sv_objective_check(const sv_objective *objective, const svit_dataset *dataset,
                               const char *what, svit_context *context, svit_error *err)
{
    const bool is_binary = objective->loss == SVIT_LOSS_BINARY;
    if (objective->loss != SVIT_LOSS_CROSS_ENTROPY && !is_binary)
        return SVIT_OK;
    if (!is_binary && objective->classes == 1)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s: the model has one output, whose cross-entropy is always 0; two "
                       "or more classes, " OTHER_LOSSES,
                       what);
    if (!svit_dataset_has_targets(dataset))
        return SVIT_OK;
    float *values;
    SVIT_TRY(sv_allocate_array(&context->allocator, (void **)&values, dataset->classes,
                               sizeof *values, "targets", err));
    checked_row row = {dataset, values, 0, what};
    svit_status status = SVIT_OK;
    for (; status == SVIT_OK && row.index < dataset->count; row.index++) {
        status = svit_dataset_targets(dataset, row.index, values, err);
        if (status == SVIT_OK)
            status = (is_binary ? check_labels : check_probabilities)(&row, err);
    }
    sv_release(&context->allocator, values, dataset->classes * sizeof *values);
    return status;
}

svit_status sv_objective_open_loader(svit_loader **out, const sv_objective *objective,
                                     svit_dataset *dataset, const svit_pipeline_config *pipeline,
                                     const svit_loader_config *config, svit_error *err)
{
    /* Balanced sampling does read labels, and refuses targets. */
    if (!objective->masked || !dataset->has_targets || config->sampling == SVIT_SAMPLING_BALANCED)
        return svit_loader_create(out, dataset, pipeline, config, err);
    svit_dataset *images;
    SVIT_TRY(svit_dataset_slice(&images, dataset, 0, dataset->count, err));
    images->has_targets = false;
    svit_status status = svit_loader_create(out, images, pipeline, config, err);
    svit_dataset_free(images);
    return status;
}

/* targets = the pixels x of each patch as (x - mean) / sqrt(variance + 1e-6) (He et al. 2021). */
static void fill_pixels(float *targets, const float *image, const svit_model_config *config)
{
    const size_t side = config->patch_size, line = side * config->in_channels, count = side * line;
    const size_t columns = config->input_width / side, patches = sv_model_patches(config);
    for (size_t p = 0; p < patches; p++, targets += count) {
        const float *patch = image + p / columns * columns * count + p % columns * line;
        double mean = 0, squares = 0;
        for (size_t i = 0; i < count; i++) {
            targets[i] = patch[i / line * columns * line + i % line];
            mean += targets[i] / (double)count;
        }
        for (size_t i = 0; i < count; i++)
            squares += (targets[i] - mean) * (targets[i] - mean);
        const double deviation = sqrt(squares / (double)(count - (count > 1)) + 1e-6);
        for (size_t i = 0; i < count; i++)
            targets[i] = (float)((targets[i] - mean) / deviation);
    }
}

/* Images of samples with targets, or that are mixed; the label of one is its largest target. */
static svit_status next_targets(sv_batch *batch, size_t classes, svit_loader *loader,
                                svit_error *err)
{
    SVIT_TRY(svit_loader_next_targets(loader, batch->images, batch->targets, &batch->n, err));
    for (size_t i = 0; i < batch->n; i++)
        batch->labels[i] = (int32_t)sv_largest_index(batch->targets + i * classes, classes);
    return SVIT_OK;
}

svit_status sv_batch_next(sv_batch *batch, const sv_objective *objective, svit_loader *loader,
                          svit_error *err)
{
    const size_t classes = objective->classes;
    if (batch->targets && !objective->masked && svit_loader_has_targets(loader))
        return next_targets(batch, classes, loader, err);
    SVIT_TRY(svit_loader_next(loader, batch->images, batch->labels, &batch->n, err));
    if (objective->masked)
        for (size_t i = 0; i < batch->n; i++)
            fill_pixels(batch->targets + i * classes, batch->images + i * classes,
                        objective->masked);
    else if (batch->targets) /* the model may have more classes than the dataset */
        sv_labels_expand(batch->targets, batch->labels, batch->n, classes);
    return SVIT_OK;
}
